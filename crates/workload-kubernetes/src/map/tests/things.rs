//! Budgets, daemons, namespaces, buffers.

use super::check;
use expect_test::expect;

#[test]
fn budgets() {
    check(
        r#"
kind: PodDisruptionBudget
metadata: {name: a, namespace: default, generation: 2}
spec: {selector: {matchExpressions: [{key: app, operator: In, values: [x, z]}]}, minAvailable: 1}
status: {observedGeneration: 2, disruptionsAllowed: 3, currentHealthy: 4, desiredHealthy: 1, expectedPods: 4}
---
kind: PodDisruptionBudget
metadata: {name: b-stale, namespace: default, generation: 3}
spec: {selector: {}, minAvailable: 1}
status: {observedGeneration: 2, disruptionsAllowed: 3, currentHealthy: 4, desiredHealthy: 1, expectedPods: 4}
---
kind: PodDisruptionBudget
metadata: {name: c-new, namespace: default, generation: 1}
spec: {maxUnavailable: 50%}
"#,
        &expect![[r#"
            budget {allowed: 3, name: a, namespace: default, selector: {requirements: [{key: app, operator: in, values: [x, z]}]}}
            budget {name: b-stale, namespace: default}
            budget {name: c-new, namespace: default}
        "#]],
    );
}

#[test]
fn daemons_with_what_their_controller_adds() {
    check(
        r#"
kind: DaemonSet
metadata: {name: node-exporter, namespace: monitoring, uid: d1}
spec:
  selector: {matchLabels: {app: ne}}
  template:
    metadata: {labels: {app: ne}}
    spec:
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: linux}
      tolerations: [{operator: Exists}]
      containers:
      - {name: ne, resources: {limits: {cpu: 100m, memory: 64Mi}, requests: {cpu: 50m}}, ports: [{containerPort: 9100}]}
---
kind: DaemonSet
metadata: {name: critical, namespace: kube-system, uid: d2}
spec:
  selector: {matchLabels: {app: c}}
  template:
    metadata: {labels: {app: c}}
    spec: {priorityClassName: system-node-critical, containers: [{name: c}]}
---
kind: DaemonSet
metadata: {name: of-a-class, namespace: kube-system, uid: d3}
spec:
  selector: {matchLabels: {app: k}}
  template:
    metadata: {labels: {app: k}}
    spec: {priorityClassName: important, containers: [{name: c}]}
---
kind: Pod
metadata: {name: of-a-class-1, namespace: kube-system, ownerReferences: [{kind: DaemonSet, apiVersion: apps/v1, name: of-a-class, uid: d3, controller: true}]}
spec: {nodeName: n1, priority: 5000, containers: [{name: c}]}
---
kind: DaemonSet
metadata: {name: leaving, namespace: kube-system, uid: d4, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec:
  selector: {matchLabels: {app: k}}
  template:
    metadata: {labels: {app: k}}
    spec: {containers: [{name: c}]}
"#,
        &expect![[r#"
            spec 0 {namespace: kube-system, priority: 5000, requests: {pods: 1}, scheduler: default-scheduler}
            spec 1 {namespace: kube-system, priority: 5000, requests: {pods: 1}, scheduler: default-scheduler, tolerations: [{effect: no_schedule, key: node.kubernetes.io/disk-pressure}, {effect: no_schedule, key: node.kubernetes.io/memory-pressure}, {effect: no_execute, key: node.kubernetes.io/not-ready}, {effect: no_schedule, key: node.kubernetes.io/pid-pressure}, {effect: no_execute, key: node.kubernetes.io/unreachable}, {effect: no_schedule, key: node.kubernetes.io/unschedulable}]}
            spec 2 {namespace: kube-system, priority: 2000001000, requests: {pods: 1}, scheduler: default-scheduler, tolerations: [{effect: no_schedule, key: node.kubernetes.io/disk-pressure}, {effect: no_schedule, key: node.kubernetes.io/memory-pressure}, {effect: no_execute, key: node.kubernetes.io/not-ready}, {effect: no_schedule, key: node.kubernetes.io/pid-pressure}, {effect: no_execute, key: node.kubernetes.io/unreachable}, {effect: no_schedule, key: node.kubernetes.io/unschedulable}]}
            spec 3 {namespace: monitoring, node_selector: {kubernetes.io/os: linux}, ports: [{port: 9100, protocol: tcp}], requests: {cpu: 0.05, memory: 67108864, pods: 1}, scheduler: default-scheduler, tolerations: [-, {effect: no_schedule, key: node.kubernetes.io/disk-pressure}, {effect: no_schedule, key: node.kubernetes.io/memory-pressure}, {effect: no_schedule, key: node.kubernetes.io/network-unavailable}, {effect: no_execute, key: node.kubernetes.io/not-ready}, {effect: no_schedule, key: node.kubernetes.io/pid-pressure}, {effect: no_execute, key: node.kubernetes.io/unreachable}, {effect: no_schedule, key: node.kubernetes.io/unschedulable}]}
            pod {eviction: {grace: 30000}, name: of-a-class-1, node: n1, owner: {kind: DaemonSet, name: of-a-class, uid: d3}}
            daemon {name: kube-system/critical, spec: 2}
            daemon {name: kube-system/of-a-class, spec: 1}
            daemon {name: monitoring/node-exporter, spec: 3}
        "#]],
    );
}

#[test]
fn a_template_is_completed_as_the_api_server_would() {
    check(
        r#"
kind: PodTemplate
metadata: {name: t, namespace: default}
template:
  metadata: {labels: {app: web, rev: "3"}}
  spec:
    resources: {limits: {memory: 2Gi, cpu: 8}}
    affinity:
      podAntiAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
        - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [rev], mismatchLabelKeys: [app]}
    topologySpreadConstraints:
    - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [rev]}
    containers: [{name: c, resources: {requests: {cpu: 2}, limits: {example.com/gpu: 1}}}]
---
kind: CapacityBuffer
metadata: {name: b, namespace: default}
spec: {podTemplateRef: {name: t}, replicas: 3}
"#,
        &expect![[r#"
            spec 0 {anti_affinity: [{namespaces: [default], selector: {labels: {app: web}, requirements: [{key: rev, operator: in, values: [3]}, {key: app, operator: not_in, values: [web]}]}, topology: kubernetes.io/hostname}], labels: {app: web, rev: 3}, namespace: default, requests: {cpu: 2, example.com/gpu: 1, memory: 2147483648, pods: 1}, scheduler: default-scheduler, spread: [{honor_affinity: yes, max_skew: 1, selector: {requirements: [{key: rev, operator: in, values: [3]}]}, topology: zone}]}
            headroom {count: 3, name: default/b}
        "#]],
    );
}

#[test]
fn room_that_is_to_be_kept_free() {
    check(
        r#"
kind: PodTemplate
metadata: {name: t, namespace: default}
template: {spec: {containers: [{name: c, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}}
---
kind: Deployment
metadata: {name: web, namespace: default}
spec: {replicas: 25, selector: {}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}
---
kind: CapacityBuffer
metadata: {name: a-limits, namespace: default}
spec: {podTemplateRef: {name: t}, limits: {cpu: 2, memory: 3Gi}}
---
kind: CapacityBuffer
metadata: {name: b-capped, namespace: default}
spec: {podTemplateRef: {name: t}, replicas: 100, limits: {cpu: 2}}
---
kind: CapacityBuffer
metadata: {name: c-percentage, namespace: default}
spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: web}, percentage: 10}
---
kind: CapacityBuffer
metadata: {name: d-other-strategy, namespace: default}
spec: {podTemplateRef: {name: t}, replicas: 1, provisioningStrategy: example.com/none}
---
kind: CapacityBuffer
metadata: {name: e-no-template, namespace: default}
spec: {podTemplateRef: {name: absent}, replicas: 1}
---
kind: CapacityBuffer
metadata: {name: f-no-thing, namespace: default}
spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: absent}, percentage: 1}
---
kind: CapacityBuffer
metadata: {name: g-odd, namespace: default}
spec: {podTemplateRef: {name: t}, replicas: -4}
---
kind: CapacityBuffer
metadata: {name: h-worked-out, namespace: default}
spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: web}, percentage: 10}
status: {replicas: 7, podTemplateRef: {name: t}}
---
kind: CapacityBuffer
metadata: {name: i-nothing, namespace: default}
spec: {}
"#,
        &expect![[r#"
            spec 0 {namespace: default, requests: {cpu: 0.5, memory: 1073741824, pods: 1}, scheduler: default-scheduler}
            spec 1 {namespace: default, requests: {cpu: 1, pods: 1}, scheduler: default-scheduler}
            headroom {count: 3, name: default/a-limits}
            headroom {count: 4, name: default/b-capped}
            headroom {count: 3, name: default/c-percentage, spec: 1}
            headroom {count: 7, name: default/h-worked-out}
            skipped CapacityBuffer default/g-odd: invalid value: integer `-4`, expected u32
            skipped CapacityBuffer default/e-no-template: the PodTemplate absent is not there
            skipped CapacityBuffer default/f-no-thing: Deployment absent cannot be read
            skipped CapacityBuffer default/i-nothing: it names neither a template nor a thing with pods
        "#]],
    );
}

#[test]
fn namespaces_with_their_labels() {
    check(
        r#"
kind: Namespace
metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop, team: a}}
---
kind: Namespace
metadata: {name: bare}
"#,
        &expect![[r#"
            namespace [bare, -]
            namespace [shop, {kubernetes.io/metadata.name: shop, team: a}]
        "#]],
    );
}
