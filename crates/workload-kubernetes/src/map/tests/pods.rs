//! Pods.

use super::{Release, check, pod};
use expect_test::expect;
use ostler_model::kube::{AffinityTerm, LabelSelector};

#[test]
fn a_plain_pod() {
    check(
        r#"
apiVersion: v1
kind: Pod
metadata:
  name: web-7d4b9c6f5-x2x9k
  namespace: shop
  uid: 6d0c5f5e-0000-4000-8000-000000000001
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {app: web, pod-template-hash: 7d4b9c6f5}
  ownerReferences:
  - {apiVersion: apps/v1, kind: ReplicaSet, name: web-7d4b9c6f5, uid: rs-1, controller: true, blockOwnerDeletion: true}
spec:
  containers:
  - name: web
    image: nginx
    resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {memory: 128Mi}}
    ports: [{containerPort: 80, protocol: TCP}]
  restartPolicy: Always
  terminationGracePeriodSeconds: 30
  schedulerName: default-scheduler
  priority: 0
  preemptionPolicy: PreemptLowerPriority
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available"}]
"#,
        &expect![[r#"
            spec 0 {namespace: shop, requests: {cpu: 0.25, memory: 67108864, pods: 1}, scheduler: default-scheduler, tolerations: [{effect: no_execute, key: node.kubernetes.io/not-ready}, {effect: no_execute, key: node.kubernetes.io/unreachable}]}
            pod {created_at: 1767225600000, eviction: {grace: 30000}, name: web-7d4b9c6f5-x2x9k, owner: {kind: ReplicaSet, name: web-7d4b9c6f5, uid: rs-1}, uid: 6d0c5f5e-0000-4000-8000-000000000001}
        "#]],
    );
}

#[test]
fn pods_that_differ_in_nothing_that_counts_share_a_spec() {
    check(
        r#"
kind: Pod
metadata: {name: job-1-a, namespace: batch, labels: {job-name: job-1}}
spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
---
kind: Pod
metadata: {name: job-2-b, namespace: batch, labels: {job-name: job-2}}
spec: {containers: [{name: c, resources: {requests: {cpu: 1000m}}}]}
---
kind: Pod
metadata: {name: other, namespace: elsewhere}
spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
"#,
        &expect![[r#"
            spec 0 {namespace: batch, requests: {cpu: 1, pods: 1}, scheduler: default-scheduler}
            spec 1 {namespace: elsewhere, requests: {cpu: 1, pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: job-1-a}
            pod {eviction: {grace: 30000}, name: job-2-b}
            pod {eviction: {grace: 30000}, name: other, spec: 1}
        "#]],
    );
}

#[test]
fn a_label_that_a_budget_asks_for_tells_pods_apart() {
    check(
        r#"
kind: Pod
metadata: {name: a, namespace: batch, labels: {app: a, version: "1"}}
spec: {containers: [{name: c}]}
---
kind: Pod
metadata: {name: b, namespace: batch, labels: {app: b, version: "2"}}
spec: {containers: [{name: c}]}
---
kind: PodDisruptionBudget
metadata: {name: a, namespace: batch, generation: 1}
spec: {selector: {matchLabels: {app: a}}, maxUnavailable: 1}
status: {observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 0, expectedPods: 1}
"#,
        &expect![[r#"
            spec 0 {labels: {app: a}, namespace: batch, requests: {pods: 1}, scheduler: default-scheduler}
            spec 1 {labels: {app: b}, namespace: batch, requests: {pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: a}
            pod {eviction: {grace: 30000}, name: b, spec: 1}
            budget {allowed: 1, name: a, namespace: batch, selector: {labels: {app: a}}}
        "#]],
    );
}

#[test]
fn init_containers_sidecars_and_overhead() {
    // start: sidecar 100m, then 1 + 100m, then the next sidecar 200m more; running: 500m + 300m; so 1.1
    // CPU, + 0.25.
    check(
        r#"
kind: Pod
metadata: {name: p, namespace: default}
spec:
  initContainers:
  - {name: proxy, restartPolicy: Always, resources: {requests: {cpu: 100m, memory: 50Mi}}}
  - {name: setup, resources: {requests: {cpu: 1, memory: 10Mi, example.com/fpga: 1}}}
  - {name: logs, restartPolicy: Always, resources: {requests: {cpu: 200m}}}
  containers:
  - {name: a, resources: {requests: {cpu: 300m, memory: 100Mi}}}
  - {name: b, resources: {requests: {cpu: 200m, memory: "1e8", ephemeral-storage: 1Gi, nvidia.com/gpu: "1", hugepages-2Mi: 4Mi}}}
  overhead: {cpu: 250m, memory: 1Mi}
  runtimeClassName: kata
"#,
        &expect![[r#"
            spec 0 {namespace: default, requests: {cpu: 1.35, ephemeral-storage: 1073741824, example.com/fpga: 1, hugepages-2Mi: 4194304, memory: 258334976, nvidia.com/gpu: 1, pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn requests_of_the_whole_pod() {
    check(
        r#"
kind: Pod
metadata: {name: p, namespace: default}
spec:
  resources: {requests: {cpu: 3, memory: 1Gi}, limits: {cpu: 4}}
  containers:
  - {name: a, resources: {requests: {cpu: 300m, memory: 100Mi, ephemeral-storage: 5Gi}}}
"#,
        &expect![[r#"
            spec 0 {namespace: default, requests: {cpu: 3, ephemeral-storage: 5368709120, memory: 1073741824, pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn amounts_are_rounded_up_after_they_are_summed() {
    check(
        r#"
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers:
  - {name: a, resources: {requests: {cpu: 400u, memory: 100m}}}
  - {name: b, resources: {requests: {cpu: 500u, memory: 0.2}}}
  - {name: c, resources: {requests: {cpu: 0, memory: "0", unknown: 3}}}
"#,
        &expect![[r#"
            spec 0 {namespace: default, requests: {cpu: 0.001, memory: 1, pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn resizing_in_place() {
    check(
        r#"
kind: Pod
metadata: {name: grows, namespace: default}
spec:
  nodeName: n1
  containers:
  - {name: a, resources: {requests: {cpu: 2, memory: 1Gi}}}
status:
  phase: Running
  conditions: [{type: PodResizePending, status: "True", reason: Deferred}]
  containerStatuses:
  - {name: a, image: i, imageID: i, ready: true, restartCount: 0, allocatedResources: {cpu: 1, memory: 1Gi}, resources: {requests: {cpu: 1, memory: 1Gi}}}
---
kind: Pod
metadata: {name: shrinks, namespace: default}
spec:
  nodeName: n1
  containers:
  - {name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}
status:
  phase: Running
  containerStatuses:
  - {name: a, image: i, imageID: i, ready: true, restartCount: 0, allocatedResources: {cpu: 1, memory: 1Gi}, resources: {requests: {cpu: 3, memory: 1Gi}}}
---
kind: Pod
metadata: {name: cannot, namespace: default}
spec:
  nodeName: n1
  containers:
  - {name: a, resources: {requests: {cpu: 64, memory: 1Gi}}}
status:
  phase: Running
  conditions: [{type: PodResizePending, status: "True", reason: Infeasible}]
  containerStatuses:
  - {name: a, image: i, imageID: i, ready: true, restartCount: 0, allocatedResources: {cpu: 4, memory: 1Gi}, resources: {requests: {cpu: 4, memory: 1Gi}}}
"#,
        &expect![[r#"
            spec 0 {namespace: default, requests: {cpu: 2, memory: 1073741824, pods: 1}, scheduler: default-scheduler}
            spec 1 {namespace: default, requests: {cpu: 3, memory: 1073741824, pods: 1}, scheduler: default-scheduler}
            spec 2 {namespace: default, requests: {cpu: 4, memory: 1073741824, pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: cannot, node: n1, spec: 2}
            pod {eviction: {grace: 30000}, name: grows, node: n1}
            pod {eviction: {grace: 30000}, name: shrinks, node: n1, spec: 1}
        "#]],
    );
}

/// What a pod counts as, by the rules of a release.
fn counted(yaml: &str, minor: &str) -> String {
    let object = serde_saphyr::from_str(yaml).expect("YAML");
    let facts = pod(object, Release::of(minor)).expect("a pod").expect("one that runs");
    facts.spec.requests.to_string()
}

/// The most for each container before 1.37, and the most of the sums from then on; a pod as a whole is resized from 1.36
/// on. The sums are those of `k8s.io/component-helpers/resource` of each release.
#[test]
fn resizing_counts_differently_from_release_to_release() {
    let two_containers = r#"
metadata: {name: p, namespace: default}
spec:
  nodeName: n1
  initContainers:
  - {name: ends, resources: {requests: {cpu: 1}}}
  containers:
  - {name: grows, resources: {requests: {cpu: 3}}}
  - {name: shrinks, resources: {requests: {cpu: 1}}}
status:
  initContainerStatuses:
  - {name: ends, image: i, imageID: i, ready: true, restartCount: 0, resources: {requests: {cpu: 9}}}
  containerStatuses:
  - {name: grows, image: i, imageID: i, ready: true, restartCount: 0, resources: {requests: {cpu: 1}}}
  - {name: shrinks, image: i, imageID: i, ready: true, restartCount: 0, resources: {requests: {cpu: 2}}}
"#;
    assert_eq!(counted(two_containers, "34"), "cpu 5, pods 1");
    assert_eq!(counted(two_containers, "36"), "cpu 5, pods 1");
    assert_eq!(counted(two_containers, "37"), "cpu 9, pods 1", "what the init container has counts too");

    let as_a_whole = r#"
metadata: {name: p, namespace: default}
spec:
  nodeName: n1
  resources: {requests: {cpu: 2}}
  containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]
status:
  allocatedResources: {cpu: 3}
  resources: {requests: {cpu: 4, memory: 2Gi}}
"#;
    assert_eq!(counted(as_a_whole, "34"), "cpu 2, memory 1073741824, pods 1");
    assert_eq!(counted(as_a_whole, "36"), "cpu 4, memory 1073741824, pods 1");
    assert_eq!(counted(as_a_whole, "37"), "cpu 4, memory 2147483648, pods 1");
}

/// Up to 1.36 the scheduler takes some selectors of namespaces for all namespaces, in the terms of the pod that it
/// places.
#[test]
fn namespaces_mean_more_to_some_releases() {
    let yaml = r#"
metadata: {name: p, namespace: default}
spec:
  containers: []
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {}, namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}
      - {topologyKey: zone, labelSelector: {}, namespaceSelector: {matchLabels: {team: a}}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {}, namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}}
      - {topologyKey: zone, labelSelector: {}, namespaceSelector: {}}
"#;
    let read = |minor: &str| {
        let object = serde_saphyr::from_str(yaml).expect("YAML");
        pod(object, Release::of(minor)).expect("a pod").expect("one that waits").spec
    };
    let everywhere = |terms: &[AffinityTerm]| -> usize {
        terms.iter().filter(|term| term.namespace_selector == Some(LabelSelector::default())).count()
    };
    let (old, new) = (read("36"), read("37"));
    assert_eq!((everywhere(&new.affinity), everywhere(&new.anti_affinity), new.avoids.len()), (0, 1, 0));
    assert_eq!(
        (everywhere(&old.affinity), everywhere(&old.anti_affinity)),
        (1, 1),
        "how others see it is the same"
    );
    assert_eq!((everywhere(&old.avoids), old.avoids.len()), (1, 1), "what it looks at is not");
    assert_eq!(*read("33"), *new, "the fault came with 1.34");
}

#[test]
fn where_a_pod_may_be() {
    check(
        r#"
kind: Pod
metadata: {name: p, namespace: ml, labels: {app: train, rev: "7"}}
spec:
  nodeSelector: {disk: ssd}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: cpus, operator: Gt, values: ["4"]}
          - {key: arch, operator: NotIn, values: [arm64]}
          - {key: gpu, operator: Exists}
        - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        preference: {matchExpressions: [{key: x, operator: Exists}]}
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: cache}}, namespaces: [infra]}
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}, namespaceSelector: {}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchExpressions:
          - {key: app, operator: In, values: [train]}
          - {key: rev, operator: In, values: ["7"]}
        matchLabelKeys: [rev]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: x}}
  topologySpreadConstraints:
  - {topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeTaintsPolicy: Honor, labelSelector: {matchLabels: {app: train}}, matchLabelKeys: [rev, absent]}
  - {topologyKey: kubernetes.io/hostname, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: Ignore}
  - {topologyKey: kubernetes.io/hostname, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: train}}}
  tolerations:
  - {key: gpu, value: "yes", effect: NoSchedule}
  - {operator: Exists}
  - {key: sla, operator: Gt, value: "950", effect: NoExecute}
  containers:
  - name: c
    ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 53, hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}, {containerPort: 9}]
  initContainers:
  - {name: side, restartPolicy: Always, ports: [{containerPort: 7, hostPort: 7, protocol: SCTP}]}
  - {name: once, ports: [{containerPort: 8, hostPort: 8}]}
"#,
        &expect![[r#"
            spec 0 {affinity: [{namespaces: [infra], selector: {labels: {app: cache}}, topology: topology.kubernetes.io/zone}, {selector: {labels: {app: db}}, topology: kubernetes.io/hostname}], anti_affinity: [{namespaces: [ml], selector: {requirements: [{key: app, operator: in, values: [train]}, {key: rev, operator: in, values: [7]}]}, topology: kubernetes.io/hostname}], labels: {app: train, rev: 7}, namespace: ml, node_affinity: [{requirements: [{field: {label: cpus}, operator: gt, values: [4]}, {field: {label: arch}, operator: not_in, values: [arm64]}, {field: {label: gpu}, operator: exists}]}, {requirements: [{field: name, operator: in, values: [n1]}]}], node_selector: {disk: ssd}, ports: [{port: 8080, protocol: tcp}, {port: 7, protocol: sctp}, {address: 10.0.0.1, port: 53, protocol: udp}], requests: {pods: 1}, scheduler: default-scheduler, spread: [{max_skew: 2, topology: kubernetes.io/hostname}, {honor_affinity: yes, honor_taints: yes, max_skew: 1, min_domains: 3, selector: {labels: {app: train}, requirements: [{key: rev, operator: in, values: [7]}]}, topology: topology.kubernetes.io/zone}], tolerations: [-, {effect: no_schedule, key: gpu, value: yes}, {compare: greater, effect: no_execute, key: sla, value: 950}]}
            pod {eviction: {grace: 30000}, name: p}
        "#]],
    );
}

#[test]
fn what_nobody_can_judge_is_said() {
    check(
        r#"
kind: Pod
metadata: {name: a-device, namespace: default}
spec: {containers: [{name: c}], resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]}
---
kind: Pod
metadata: {name: b-group, namespace: default}
spec: {containers: [{name: c}], schedulingGroup: {podGroupName: g}}
---
kind: Pod
metadata: {name: c-operator, namespace: default}
spec:
  containers: [{name: c}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near, values: [b]}]}]}}}
---
kind: Pod
metadata: {name: d-toleration, namespace: default}
spec: {containers: [{name: c}], tolerations: [{key: a, operator: Sometimes}]}
---
kind: Pod
metadata: {name: e-disk, namespace: default}
spec: {containers: [{name: c}], volumes: [{name: d, gcePersistentDisk: {pdName: x}}]}
---
kind: Pod
metadata: {name: f-selector, namespace: default}
spec:
  containers: [{name: c}]
  topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Like}]}}]
"#,
        &expect![[r#"
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, unjudged: it claims devices (resourceClaims)}
            spec 1 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, unjudged: it is placed together with its group (schedulingGroup)}
            spec 2 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, unjudged: its volume d names a disk itself (gcePersistentDisk)}
            spec 3 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, unjudged: the selector operator Like of label a is not known}
            spec 4 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler, unjudged: the toleration operator Sometimes is not known}
            spec 5 {namespace: default, node_affinity: [{requirements: [{field: {label: a}, operator: unknown, values: [b]}]}], requests: {pods: 1}, scheduler: default-scheduler, unjudged: the node affinity operator Near is not known}
            pod {eviction: {grace: 30000}, name: a-device}
            pod {eviction: {grace: 30000}, name: b-group, spec: 1}
            pod {eviction: {grace: 30000}, name: c-operator, spec: 5}
            pod {eviction: {grace: 30000}, name: d-toleration, spec: 4}
            pod {eviction: {grace: 30000}, name: e-disk, spec: 2}
            pod {eviction: {grace: 30000}, name: f-selector, spec: 3}
        "#]],
    );
}

#[test]
fn what_keeps_a_pod_where_it_is() {
    check(
        r#"
kind: Pod
metadata:
  name: a-forbidden
  annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}
spec: {nodeName: n1, containers: [{name: c}]}
---
kind: Pod
metadata:
  name: b-allowed
  annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}
spec: {nodeName: n1, containers: [{name: c}], volumes: [{name: tmp, emptyDir: {}}]}
---
kind: Pod
metadata:
  name: c-completes
  annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: on-completion}
spec: {nodeName: n1, terminationGracePeriodSeconds: 3600, containers: [{name: c}]}
---
kind: Pod
metadata: {name: d-karpenter, annotations: {karpenter.sh/do-not-disrupt: "true"}}
spec: {nodeName: n1, containers: [{name: c}]}
---
kind: Pod
metadata: {name: e-for-a-while, creationTimestamp: "2026-01-01T00:00:00Z", annotations: {karpenter.sh/do-not-disrupt: 15m}}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Running, startTime: "2026-01-01T00:01:00Z"}
---
kind: Pod
metadata: {name: f-ours, annotations: {ostler.dev/safe-to-evict: "true", cluster-autoscaler.kubernetes.io/safe-to-evict: "false"}}
spec: {nodeName: n1, containers: [{name: c}]}
---
kind: Pod
metadata: {name: g-storage, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "cache, tmp"}}
spec: {nodeName: n1, containers: [{name: c}], volumes: [{name: cache, emptyDir: {}}, {name: host, hostPath: {path: /x}}]}
---
kind: Pod
metadata: {name: h-given-up, annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "cache,tmp"}}
spec: {nodeName: n1, containers: [{name: c}], volumes: [{name: cache, emptyDir: {}}, {name: mem, emptyDir: {medium: Memory}}]}
---
kind: Pod
metadata: {name: i-job, ownerReferences: [{kind: Job, apiVersion: batch/v1, name: j, uid: u, controller: true}]}
spec: {nodeName: n1, containers: [{name: c}]}
---
kind: Pod
metadata: {name: j-not-a-controller, ownerReferences: [{kind: ConfigMap, apiVersion: v1, name: j, uid: u}]}
spec: {nodeName: n1, containers: [{name: c}]}
---
kind: Pod
metadata: {name: k-leaving, deletionTimestamp: "2026-01-01T00:09:00Z"}
spec: {nodeName: n1, containers: [{name: c}]}
---
kind: Pod
metadata: {name: kube-proxy-n1, namespace: kube-system, annotations: {kubernetes.io/config.mirror: abc, kubernetes.io/config.source: file}}
spec: {nodeName: n1, containers: [{name: c}]}
"#,
        &expect![[r#"
            spec 0 {requests: {pods: 1}, scheduler: default-scheduler}
            spec 1 {namespace: kube-system, requests: {pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: a-forbidden, node: n1}
            pod {eviction: {grace: 30000, local_storage: yes, safe: yes}, name: b-allowed, node: n1}
            pod {eviction: {grace: 3600000, on_completion: yes}, name: c-completes, node: n1}
            pod {eviction: {grace: 30000}, name: d-karpenter, node: n1}
            pod {created_at: 1767225600000, eviction: {grace: 30000, not_before: 1767226560000}, name: e-for-a-while, node: n1}
            pod {eviction: {grace: 30000, safe: yes}, name: f-ours, node: n1}
            pod {eviction: {grace: 30000, local_storage: yes}, name: g-storage, node: n1}
            pod {eviction: {grace: 30000}, name: h-given-up, node: n1}
            pod {eviction: {grace: 30000}, name: i-job, node: n1, owner: {kind: Job, name: j, uid: u}}
            pod {eviction: {grace: 30000}, name: j-not-a-controller, node: n1}
            pod {eviction: {grace: 30000}, name: k-leaving, node: n1, terminating: yes}
            pod {eviction: {grace: 30000}, name: kube-proxy-n1, node: n1, owner: {kind: Node, name: n1}, spec: 1}
        "#]],
    );
}

#[test]
fn pods_that_wait_for_something_else_and_pods_that_have_ended() {
    check(
        r#"
kind: Pod
metadata: {name: a-gated, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: c}], schedulingGates: [{name: example.com/quota}, {name: kueue.x-k8s.io/admission}]}
---
kind: Pod
metadata: {name: b-delayed, creationTimestamp: "2026-01-01T00:05:00Z", annotations: {cluster-autoscaler.kubernetes.io/pod-scale-up-delay: 600s}}
spec: {containers: [{name: c}]}
---
kind: Pod
metadata: {name: c-delay-over, creationTimestamp: "2026-01-01T00:05:00Z", annotations: {cluster-autoscaler.kubernetes.io/pod-scale-up-delay: 300s}}
spec: {containers: [{name: c}]}
---
kind: Pod
metadata: {name: d-told, annotations: {ostler.dev/no-scale-up: waits for the night}}
spec: {containers: [{name: c}]}
---
kind: Pod
metadata: {name: e-nominated}
spec: {priority: 100, preemptionPolicy: Never, schedulerName: other, containers: [{name: c}]}
status: {phase: Pending, nominatedNodeName: n1}
---
kind: Pod
metadata: {name: f-done}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Succeeded}
---
kind: Pod
metadata: {name: g-failed}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Failed}
"#,
        &expect![[r#"
            spec 0 {requests: {pods: 1}, scheduler: default-scheduler}
            spec 1 {never_preempts: yes, priority: 100, requests: {pods: 1}, scheduler: other}
            pod {created_at: 1767225600000, eviction: {grace: 30000}, ignored: scheduling gates: example.com/quota, kueue.x-k8s.io/admission, name: a-gated}
            pod {created_at: 1767225900000, eviction: {grace: 30000}, ignored: its scale-up delay ends in 5 min, name: b-delayed}
            pod {created_at: 1767225900000, eviction: {grace: 30000}, name: c-delay-over}
            pod {eviction: {grace: 30000}, ignored: waits for the night, name: d-told}
            pod {eviction: {grace: 30000}, name: e-nominated, nominated: n1, spec: 1}
        "#]],
    );
}

#[test]
fn one_that_makes_no_sense_is_named_and_costs_nobody_else() {
    check(
        r#"
kind: Pod
metadata: {name: a-negative, namespace: default}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "-1"}}}]}
---
kind: Pod
metadata: {name: b-no-amount, namespace: default}
spec: {containers: [{name: c, resources: {requests: {memory: lots}}}]}
---
kind: Pod
metadata: {name: c-no-list, namespace: default}
spec: {containers: 7}
---
kind: Pod
metadata: {name: d-no-spec, namespace: default}
---
kind: Pod
metadata: {name: e-unknown-fields, namespace: default, colour: red}
spec: {containers: [{name: c, mood: good}], horoscope: [1]}
---
kind: Node
metadata: {name: n1}
status:
  conditions: [{type: Ready, status: "True"}]
  allocatable: {cpu: 4, pods: 110}
"#,
        &expect![[r#"
            worker {activity: [default/a-negative, which cannot be read], available: {cpu: 4, pods: 110}, id: n1, status: running, total: {cpu: 4, pods: 110}}
            node {allocatable: {cpu: 4, pods: 110}, held: pod default/a-negative on it cannot be read, id: n1, ready: yes}
            spec 0 {namespace: default, requests: {pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: e-unknown-fields}
            skipped pod default/a-negative: container c: cpu is -1, below zero
            skipped pod default/b-no-amount: container c: memory: "lots" is not an amount
            skipped pod default/c-no-list: invalid type: integer `7`, expected a sequence
            skipped pod default/d-no-spec: it has no spec
        "#]],
    );
}

#[test]
fn what_the_node_must_declare() {
    check(
        r#"
kind: Pod
metadata: {name: a}
spec:
  hostNetwork: true
  hostUsers: false
  containers:
  - name: c
    volumeMounts: [{name: v, mountPath: /v, bindMountOptions: [noexec]}]
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [3]}}]
"#,
        &expect![[r#"
            spec 0 {features: [RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport, VolumeBindMountOptions], requests: {pods: 1}, scheduler: default-scheduler}
            pod {eviction: {grace: 30000}, name: a}
        "#]],
    );
}
