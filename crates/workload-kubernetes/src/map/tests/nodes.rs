//! Nodes.

use super::{NOW, check, look};
use crate::map::{Facts, workload_state};
use expect_test::expect;
use ostler_model::{Millis, NodeStatus};

#[test]
fn a_node_at_work() {
    check(
        r#"
apiVersion: v1
kind: Node
metadata:
  name: ip-10-0-1-7.eu-central-1.compute.internal
  creationTimestamp: "2025-12-31T23:00:00Z"
  labels:
    kubernetes.io/hostname: ip-10-0-1-7.eu-central-1.compute.internal
    node.kubernetes.io/instance-type: m6i.large
    topology.kubernetes.io/zone: eu-central-1a
    ostler.dev/pool: general
spec:
  providerID: aws:///eu-central-1a/i-0abc
  taints: [{key: dedicated, value: shop, effect: NoSchedule}, {key: a, effect: PreferNoSchedule}]
status:
  allocatable: {cpu: 1930m, memory: 7291Mi, pods: "29", ephemeral-storage: "18242267924", hugepages-1Gi: "0"}
  capacity: {cpu: "2", memory: 8Gi, pods: "29"}
  addresses: [{type: Hostname, address: x}, {type: InternalIP, address: 10.0.1.7}]
  declaredFeatures: [RestartAllContainersOnContainerExits]
  conditions:
  - {type: MemoryPressure, status: "False"}
  - {type: Ready, status: "True", lastTransitionTime: "2025-12-31T23:01:00Z", lastHeartbeatTime: "2026-01-01T00:09:00Z"}
---
kind: CSINode
metadata: {name: ip-10-0-1-7.eu-central-1.compute.internal}
spec: {drivers: [{name: ebs.csi.aws.com, nodeID: i-0abc, allocatable: {count: 26}}, {name: nfs.csi.k8s.io, nodeID: x}]}
---
kind: Pod
metadata: {name: web, namespace: shop}
spec: {nodeName: ip-10-0-1-7.eu-central-1.compute.internal, containers: [{name: c, resources: {requests: {cpu: 500m, memory: 291Mi}}}]}
---
kind: Pod
metadata: {name: fluentd-x, namespace: kube-system, ownerReferences: [{kind: DaemonSet, apiVersion: apps/v1, name: fluentd, uid: d, controller: true}]}
spec: {nodeName: ip-10-0-1-7.eu-central-1.compute.internal, containers: [{name: c, resources: {requests: {cpu: 30m}}}]}
"#,
        &expect![[r#"
            worker {activity: [shop/web], address: 10.0.1.7, available: {cpu: 1.4, ephemeral-storage: 18242267924, hugepages-1Gi: 0, memory: 7340032000, pods: 27}, cloud: aws:///eu-central-1a/i-0abc, id: ip-10-0-1-7.eu-central-1.compute.internal, instance_type: m6i.large, labels: {kubernetes.io/hostname: ip-10-0-1-7.eu-central-1.compute.internal, node.kubernetes.io/instance-type: m6i.large, ostler.dev/pool: general, topology.kubernetes.io/zone: eu-central-1a}, pool: general, status: running, total: {cpu: 1.93, ephemeral-storage: 18242267924, hugepages-1Gi: 0, memory: 7645167616, pods: 29}}
            node {allocatable: {cpu: 1.93, ephemeral-storage: 18242267924, hugepages-1Gi: 0, memory: 7645167616, pods: 29}, attach_limits: {ebs.csi.aws.com: 26}, created_at: 1767222000000, features: [RestartAllContainersOnContainerExits], id: ip-10-0-1-7.eu-central-1.compute.internal, labels: {kubernetes.io/hostname: ip-10-0-1-7.eu-central-1.compute.internal, node.kubernetes.io/instance-type: m6i.large, ostler.dev/pool: general, topology.kubernetes.io/zone: eu-central-1a}, ready: yes, ready_since: 1767222060000, taints: [{effect: prefer_no_schedule, key: a}, {effect: no_schedule, key: dedicated, value: shop}]}
            spec 0 {namespace: kube-system, requests: {cpu: 0.03, pods: 1}, scheduler: default-scheduler}
            spec 1 {namespace: shop, requests: {cpu: 0.5, memory: 305135616, pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: fluentd-x, node: ip-10-0-1-7.eu-central-1.compute.internal, owner: {kind: DaemonSet, name: fluentd, uid: d}}
            pod {eviction: {grace: 30000}, name: web, node: ip-10-0-1-7.eu-central-1.compute.internal, spec: 1}
        "#]],
    );
}

/// The statuses of nodes, each of which is told by this much YAML under its metadata and beside it.
fn statuses(nodes: &[(&str, &str)]) -> Vec<(String, NodeStatus, Option<String>)> {
    let yaml: Vec<_> =
        nodes.iter().map(|(name, rest)| format!("kind: Node\nmetadata: {{name: {name}, {rest}\n")).collect();
    let state = look(&yaml.join("\n---\n"));
    let cluster = state.cluster.unwrap();
    let held = |n: usize| cluster.nodes[n].held.as_ref().map(ToString::to_string);
    state.nodes.iter().enumerate().map(|(n, node)| (node.id.to_string(), node.status, held(n))).collect()
}

const READY: &str = "conditions: [{type: Ready, status: 'True'}], allocatable: {cpu: 4}";

#[test]
fn when_a_node_counts_as_up() {
    let nodes = [
        ("a", format!("}}\nstatus: {{{READY}}}")),
        ("b-says-nothing", "}".to_owned()),
        (
            "c-not-ready",
            "}\nstatus: {conditions: [{type: Ready, status: 'False'}], allocatable: {cpu: 4}}".to_owned(),
        ),
        (
            "d-taint-of-the-kubelet",
            format!(
                "}}\nspec: {{taints: [{{key: node.kubernetes.io/not-ready, effect: NoSchedule}}]}}\nstatus: {{{READY}}}"
            ),
        ),
        (
            "e-taint-of-a-peer",
            format!(
                "}}\nspec: {{taints: [{{key: startup-taint.cluster-autoscaler.kubernetes.io/x, effect: NoSchedule}}]}}\nstatus: {{{READY}}}"
            ),
        ),
        (
            "f-taint-to-stay",
            format!(
                "}}\nspec: {{taints: [{{key: example.com/agent, value: other, effect: NoSchedule}}]}}\nstatus: {{{READY}}}"
            ),
        ),
        ("g-cordoned", format!("}}\nspec: {{unschedulable: true}}\nstatus: {{{READY}}}")),
    ];
    let nodes: Vec<_> = nodes.iter().map(|(name, rest)| (*name, rest.as_str())).collect();
    let seen: Vec<_> =
        statuses(&nodes).into_iter().map(|(name, status, _)| format!("{name} {status:?}")).collect();
    expect![[r#"
        a Idle
        b-says-nothing NotReady
        c-not-ready NotReady
        d-taint-of-the-kubelet NotReady
        e-taint-of-a-peer NotReady
        f-taint-to-stay Idle
        g-cordoned Idle
    "#]]
    .assert_eq(&(seen.join("\n") + "\n"));
}

/// A taint of the start that comes back (the network's agent is restarted) says nothing of the kubelet: what is on the
/// node runs on, and the node is not one that has lost touch.
#[test]
fn a_taint_of_the_start_is_no_silence() {
    let taint = "spec: {taints: [{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]}";
    let state = look(&format!("kind: Node\nmetadata: {{name: a}}\n{taint}\nstatus: {{{READY}}}"));
    assert_eq!(state.nodes[0].status, NodeStatus::NotReady);
    assert!(state.cluster.unwrap().nodes[0].ready);
}

#[test]
fn who_holds_a_node() {
    let nodes = [
        ("a", "}".to_owned()),
        ("b", "annotations: {cluster-autoscaler.kubernetes.io/scale-down-disabled: 'true'}}".to_owned()),
        ("c", "annotations: {cluster-autoscaler.kubernetes.io/scale-down-disabled: 'false'}}".to_owned()),
        ("d", "annotations: {karpenter.sh/do-not-disrupt: 'true'}}".to_owned()),
        ("e", "annotations: {ostler.dev/scale-down-disabled: 'true'}}".to_owned()),
        (
            "f",
            "}\nspec: {taints: [{key: ToBeDeletedByClusterAutoscaler, value: '1', effect: NoSchedule}]}"
                .to_owned(),
        ),
    ];
    let nodes: Vec<_> = nodes.iter().map(|(name, rest)| (*name, rest.as_str())).collect();
    let seen: Vec<_> =
        statuses(&nodes).into_iter().map(|(name, _, held)| format!("{name} {held:?}")).collect();
    expect![[r#"
        a None
        b Some("annotation cluster-autoscaler.kubernetes.io/scale-down-disabled")
        c None
        d Some("annotation karpenter.sh/do-not-disrupt")
        e Some("annotation ostler.dev/scale-down-disabled")
        f Some("another autoscaler removes it (taint ToBeDeletedByClusterAutoscaler)")
    "#]]
    .assert_eq(&(seen.join("\n") + "\n"));
}

#[test]
fn a_drain_from_its_taint_to_its_end() {
    check(
        r#"
kind: Node
metadata: {name: a-checked, annotations: {ostler.dev/drain-reason: idle}}
spec: {taints: [{key: ostler.dev/drain, value: idle, effect: NoSchedule}, {key: x, effect: NoSchedule}]}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Node
metadata: {name: b-drained, annotations: {ostler.dev/evict-until: "2026-01-01T00:20:00Z"}}
spec: {taints: [{key: ostler.dev/drain, value: idle, effect: NoSchedule}]}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Node
metadata: {name: c-draining, annotations: {ostler.dev/evict-until: "2026-01-01T00:20:00Z"}}
spec: {taints: [{key: ostler.dev/drain, value: preemption, effect: NoSchedule}]}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Pod
metadata: {name: c-daemon, ownerReferences: [{kind: DaemonSet, apiVersion: apps/v1, name: d, uid: d, controller: true}]}
spec: {nodeName: c-draining, containers: [{name: c}]}
---
kind: Pod
metadata: {name: c-leaving, deletionTimestamp: "2026-01-01T00:09:00Z"}
spec: {nodeName: c-draining, containers: [{name: c}]}
---
kind: Node
metadata: {name: d-silent, annotations: {ostler.dev/evict-until: "2026-01-01T00:20:00Z"}}
spec: {taints: [{key: ostler.dev/drain, value: preemption, effect: NoSchedule}]}
status: {conditions: [{type: Ready, status: Unknown}]}
---
kind: Pod
metadata: {name: d-was-to-be-gone, deletionTimestamp: "2026-01-01T00:09:00Z"}
spec: {nodeName: d-silent, containers: [{name: c}]}
---
kind: Node
metadata: {name: e-mark-without-taint, annotations: {ostler.dev/evict-until: "2026-01-01T00:20:00Z"}}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Node
metadata: {name: f-odd-pod, annotations: {ostler.dev/evict-until: "2026-01-01T00:20:00Z"}}
spec: {taints: [{key: ostler.dev/drain, value: idle, effect: NoSchedule}]}
status: {conditions: [{type: Ready, status: "True"}]}
---
kind: Pod
metadata: {name: f-odd}
spec: {nodeName: f-odd-pod, containers: [{name: c, resources: {requests: {cpu: what}}}]}
"#,
        &expect![[r#"
            worker {id: a-checked, status: idle}
            worker {id: b-drained, status: drained}
            worker {activity: [c-leaving], id: c-draining, status: draining}
            worker {activity: [d-was-to-be-gone], id: d-silent, status: drained}
            worker {id: e-mark-without-taint, status: idle}
            worker {activity: [f-odd, which cannot be read], id: f-odd-pod, status: draining}
            node {draining: yes, id: a-checked, ready: yes, taints: [{effect: no_schedule, key: x}]}
            node {draining: yes, id: b-drained, ready: yes}
            node {draining: yes, id: c-draining, ready: yes}
            node {draining: yes, id: d-silent}
            node {id: e-mark-without-taint, ready: yes}
            node {draining: yes, held: pod f-odd on it cannot be read, id: f-odd-pod, ready: yes}
            spec 0 {requests: {pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: c-daemon, node: c-draining, owner: {kind: DaemonSet, name: d, uid: d}}
            pod {eviction: {grace: 30000}, name: c-leaving, node: c-draining, terminating: yes}
            pod {eviction: {grace: 30000}, name: d-was-to-be-gone, node: d-silent, terminating: yes}
            skipped pod f-odd: container c: cpu: "what" is not an amount
        "#]],
    );
}

#[test]
fn an_odd_node_is_named() {
    check(
        r#"
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "-4"}}
---
kind: Node
metadata: {name: b}
spec: {taints: [{key: x, effect: Perhaps}]}
---
kind: Node
metadata: {name: c, labels: {node-role.kubernetes.io/control-plane: ""}}
"#,
        &expect![[r#"
            worker {head: yes, id: c, status: not_ready}
            node {id: c}
            skipped node a: cpu is -4, below zero
            skipped node b: the effect "Perhaps" of its taint x is not known
        "#]],
    );
}

#[test]
fn idle_for_as_long_as_is_known() {
    let yaml = format!("kind: Node\nmetadata: {{name: a}}\nstatus: {{{READY}}}");
    let mut facts = Facts::default();
    facts.put(serde_saphyr::from_str(&yaml).unwrap());
    let idle = |since: &[(&str, u64)]| {
        let since = since.iter().map(|&(name, secs)| (name.into(), NOW - Millis::secs(secs))).collect();
        workload_state(&facts, &since, NOW).nodes[0].idle
    };
    assert_eq!(idle(&[("a", 90)]), Millis::secs(90));
    assert_eq!(idle(&[("b", 90)]), Millis(0));
}
