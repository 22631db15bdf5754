//! Volumes.

use super::{look, shown};
use expect_test::{Expect, expect};

const THINGS: &str = r#"
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
- matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a, b]}]
---
kind: StorageClass
metadata: {name: anywhere}
provisioner: kubernetes.io/gce-pd
volumeBindingMode: WaitForFirstConsumer
---
kind: StorageClass
metadata: {name: at-once}
provisioner: nfs.csi.k8s.io
volumeBindingMode: Immediate
---
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
kind: PersistentVolume
metadata: {name: pv-ebs, labels: {topology.kubernetes.io/zone: a}}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOncePod]
  storageClassName: fast
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: In, values: [a]}]}]}}
status: {phase: Bound}
---
kind: PersistentVolume
metadata: {name: pv-old, labels: {failure-domain.beta.kubernetes.io/zone: a__b}}
spec: {capacity: {storage: 10Gi}, awsElasticBlockStore: {volumeID: vol-2}}
---
kind: PersistentVolume
metadata: {name: pv-nfs}
spec: {capacity: {storage: 10Gi}, nfs: {server: s, path: /}}
---
kind: PersistentVolume
metadata: {name: local-1}
spec:
  capacity: {storage: 100Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
status: {phase: Available}
---
kind: PersistentVolume
metadata: {name: local-2}
spec:
  capacity: {storage: 500Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  storageClassName: local
  local: {path: /mnt}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]}]}}
status: {phase: Available}
---
kind: PersistentVolume
metadata: {name: local-taken}
spec: {capacity: {storage: 1Ti}, accessModes: [ReadWriteOnce], storageClassName: local, local: {path: /mnt}, claimRef: {namespace: default, name: somebody}}
status: {phase: Bound}
"#;

/// What a pod with this claim (more of its metadata; its spec) needs.
fn check(metadata: &str, spec: &str, expect: &Expect) {
    let pod = "kind: Pod\nmetadata: {name: p, namespace: default}\n\
               spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}";
    let claim = format!(
        "kind: PersistentVolumeClaim\nmetadata: {{name: c, namespace: default, {metadata}}}\nspec: {{{spec}}}"
    );
    let state = look(&format!("{THINGS}\n---\n{pod}\n---\n{claim}"));
    expect.assert_eq(&shown(&state));
}

const BOUND: &str = "annotations: {pv.kubernetes.io/bind-completed: 'yes'}";

#[test]
fn bound_where_its_zone_says() {
    check(
        BOUND,
        "volumeName: pv-ebs, accessModes: [ReadWriteOncePod], storageClassName: fast",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{bound: {driver: ebs.csi.aws.com, exclusive: yes, nodes: [{requirements: [{field: {label: topology.ebs.csi.aws.com/zone}, operator: in, values: [a]}]}], volume: ebs.csi.aws.com^vol-1}}, {zone: {nodes: [{requirements: [{field: {label: topology.kubernetes.io/zone}, operator: in, values: [a]}]}, {requirements: [{field: {label: failure-domain.beta.kubernetes.io/zone}, operator: does_not_exist}, {field: {label: failure-domain.beta.kubernetes.io/region}, operator: does_not_exist}, {field: {label: topology.kubernetes.io/zone}, operator: does_not_exist}, {field: {label: topology.kubernetes.io/region}, operator: does_not_exist}]}], volume: ebs.csi.aws.com^vol-1}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn bound_with_labels_of_before() {
    check(
        BOUND,
        "volumeName: pv-old, storageClassName: ''",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{bound: {driver: ebs.csi.aws.com, volume: pv-old}}, {zone: {nodes: [{requirements: [{field: {label: failure-domain.beta.kubernetes.io/zone}, operator: in, values: [a, b]}]}, {requirements: [{field: {label: failure-domain.beta.kubernetes.io/zone}, operator: does_not_exist}, {field: {label: topology.kubernetes.io/zone}, operator: in, values: [a, b]}]}, {requirements: [{field: {label: failure-domain.beta.kubernetes.io/zone}, operator: does_not_exist}, {field: {label: failure-domain.beta.kubernetes.io/region}, operator: does_not_exist}, {field: {label: topology.kubernetes.io/zone}, operator: does_not_exist}, {field: {label: topology.kubernetes.io/region}, operator: does_not_exist}]}], volume: pv-old}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn bound_and_reached_from_everywhere() {
    check(
        BOUND,
        "volumeName: pv-nfs",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{bound: {volume: pv-nfs}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
}

#[test]
fn made_where_the_class_allows() {
    check(
        "",
        "storageClassName: fast, resources: {requests: {storage: 1Gi}}",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, driver: ebs.csi.aws.com, nodes: [{requirements: [{field: {label: topology.kubernetes.io/zone}, operator: in, values: [a, b]}]}]}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
}

#[test]
fn made_anywhere() {
    check(
        "",
        "storageClassName: anywhere",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, driver: pd.csi.storage.gke.io}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
}

#[test]
fn made_where_the_scheduler_has_chosen() {
    check(
        "annotations: {volume.kubernetes.io/selected-node: n7}",
        "storageClassName: fast",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, driver: ebs.csi.aws.com, nodes: [{requirements: [{field: {label: topology.kubernetes.io/zone}, operator: in, values: [a, b]}, {field: name, operator: in, values: [n7]}]}]}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
}

#[test]
fn by_hand_where_one_is_free_that_would_do() {
    check(
        "",
        "storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, nodes: [{requirements: [{field: {label: kubernetes.io/hostname}, operator: in, values: [n1]}]}, {requirements: [{field: {label: kubernetes.io/hostname}, operator: in, values: [n2]}]}]}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
    check(
        "",
        "storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 200Gi}}",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, nodes: [{requirements: [{field: {label: kubernetes.io/hostname}, operator: in, values: [n2]}]}]}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
    check(
        "",
        "storageClassName: local, resources: {requests: {storage: 2Ti}}",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{missing: {what: claim default/c finds no free volume, and its class makes none}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
}

#[test]
fn what_somebody_must_act_on() {
    check(
        "",
        "storageClassName: at-once",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, driver: nfs.csi.k8s.io}}, {missing: {what: claim default/c is not bound yet}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
    check(
        "",
        "storageClassName: gone",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{missing: {what: claim default/c is not bound yet}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
    check(
        "",
        "volumeName: pv-ebs, storageClassName: fast",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{bound: {driver: ebs.csi.aws.com, volume: ebs.csi.aws.com^vol-1}}, {missing: {what: claim default/c is not bound to its volume pv-ebs yet}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
    check(
        BOUND,
        "volumeName: pv-gone",
        &expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{missing: {what: claim default/c is bound to the volume pv-gone, which is not there}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]],
    );
    check(
        "deletionTimestamp: '2026-01-01T00:00:00Z'",
        "storageClassName: fast",
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/c, driver: ebs.csi.aws.com}}, {missing: {what: claim default/c is being deleted, or its volume is lost}}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn a_claim_that_is_made_with_its_pod() {
    let pod = |class: &str| {
        let volume = format!(
            "{{name: scratch, ephemeral: {{volumeClaimTemplate: {{spec: {{storageClassName: {class}, \
             resources: {{requests: {{storage: 1Gi}}}}}}}}}}}}"
        );
        let pod = format!(
            "kind: Pod\nmetadata: {{name: p, namespace: default}}\n\
             spec: {{containers: [{{name: c}}], volumes: [{volume}]}}"
        );
        shown(&look(&format!("{THINGS}\n---\n{pod}")))
    };
    expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{unbound: {claim: default/p-scratch, driver: ebs.csi.aws.com, nodes: [{requirements: [{field: {label: topology.kubernetes.io/zone}, operator: in, values: [a, b]}]}]}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]].assert_eq(&pod("fast"));
    expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{missing: {what: claim default/p-scratch is not there yet}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]].assert_eq(&pod("at-once"));
    expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{missing: {what: claim default/p-scratch wants the class none-such, which is not there}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]].assert_eq(&pod("none-such"));
}

#[test]
fn a_claim_that_is_not_there() {
    let pod = "kind: Pod\nmetadata: {name: p, namespace: default}\n\
               spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}";
    expect![[r#"
        spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, volumes: [{missing: {what: claim default/c is not there}}]}
        pod {eviction: {grace: 30000}, name: p}
    "#]].assert_eq(&shown(&look(pod)));
}
