//! The nodes of a Kubernetes cluster.

use crate::common::{check, general};
use expect_test::expect;
use ostler_config::{ProviderConfig, WorkloadKind};
use ostler_model::kube::{DrainReason, Expander, Filter, Share};
use ostler_model::{Millis, Price, Scoring};

const WHOLE: &str = "
workloads:
  prod:
    kind: kubernetes
    kubeconfig: admin.conf
    expander: priority
    max_nodes: 9
    filters_off: [PodTopologySpread]
    scale_down:
      unneeded: 2s
      utilization_threshold: 40
      budgets:
        night: {nodes: '10%', per: topology.kubernetes.io/zone, days: [mon, sun], from: '22:30', lasts: 8h, reasons: [underused]}
    drain: {settle: 500ms, timeout: 30s}
    lease: {duration: 10s}
    pools:
      general:
        provider: sim
        max: 10
        resources: {cpu: 3.92, memory: 15Gi}
        labels: {topology.kubernetes.io/zone: a}
        taints: ['dedicated=special:NoSchedule', 'slow:PreferNoSchedule']
        price: 0.192
        attach_limits: {disk.example: 25}
        headroom: {count: 2, shape: {cpu: 1, memory: 2Gi}}
      any:
        provider: sim
        min: 4
        max: 5
        labels: {kind: any}
        offerings:
          small: {max: 3, resources: {cpu: 2, memory: 4Gi, pods: 30}, price: 0.1, labels: {size: s}}
          large: {resources: {cpu: 8, memory: 16Gi}, price: 0.4, instance_type: x.large}
providers:
  sim: {type: kwok}
";

#[test]
fn everything_is_understood() {
    let configuration = general(WHOLE).expect("nothing is wrong").configuration;
    let workload = &configuration.workloads[0];
    let WorkloadKind::Kubernetes(kubernetes) = &workload.kind else { panic!("a Kubernetes cluster") };
    assert_eq!(kubernetes.settle, Millis(500));
    assert_eq!(kubernetes.lease.as_ref().map(|lease| lease.name.as_str()), Some("ostler"));
    assert!(matches!(&configuration.providers["sim"], ProviderConfig::Kwok(_)));
    let policy = &workload.policy;
    assert_eq!((policy.scoring, policy.max_workers), (Scoring::Kubernetes, Some(9)));
    assert_eq!(policy.drain_grace, Millis::secs(30));
    let kube = policy.kube.as_deref().expect("it is a Kubernetes cluster");
    assert_eq!((kube.expander, kube.utilization_threshold_percent), (Expander::Priority, 40));
    assert!(kube.filters_off.contains(&Filter::PodTopologySpread));
    let budget = &kube.budgets[0];
    assert_eq!(budget.reasons, [DrainReason::Underused].into());
    assert_eq!((budget.nodes, budget.windows[0].from), (Share::Percent(10), Millis::secs(22 * 3600 + 1800)));
    assert_eq!(kube.headroom[0].pool.as_str(), "general");
    let mut text = String::new();
    for pool in &workload.pools {
        let node = pool.pool.node.as_deref().expect("it is a pool of nodes");
        let taints: Vec<String> = node.taints.iter().map(ToString::to_string).collect();
        let labels: Vec<String> = pool.pool.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        text += &format!(
            "{} {}..{} {} | {} | {} | {} {:?} {:?} {}\n",
            pool.pool.id,
            pool.pool.min,
            pool.pool.max,
            pool.pool.resources,
            labels.join(" "),
            taints.join(" "),
            node.price,
            node.group.as_deref(),
            node.group_max,
            pool.pool.instance_type,
        );
    }
    expect![[r#"
        general 0..10 cpu 3.92, memory 16106127360, pods 110 | topology.kubernetes.io/zone=a | dedicated=special:NoSchedule slow:PreferNoSchedule | 0.192 None None 
        any/small 3..3 cpu 2, memory 4294967296, pods 30 | kind=any size=s |  | 0.1 Some("any") Some(5) 
        any/large 1..5 cpu 8, memory 17179869184, pods 110 | kind=any |  | 0.4 Some("any") Some(5) x.large
    "#]]
    .assert_eq(&text);
    assert_eq!(workload.pools[0].pool.node.as_deref().map(|node| node.price), Some(Price(192_000)));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let text = "
workloads:
  prod:
    kind: kubernetes
    filters_off: [PodTopologySpred]
    scale_down:
      budgets:
        a: {nodes: many, days: [monday], from: '25:00', reasons: [emty]}
    pools:
      general: {provider: sim, max: 1, taints: [dedicated], price: cheap, template: {boot: soon}}
      few: {provider: sim, min: 3, max: 5, offerings: {a: {max: 1}, b: {max: 1}}}
providers:
  sim: {type: kwok}
  ext: {type: externalgrpc, address: 'localhost:1', cert_file: a}
";
    check(
        general(text),
        expect![[r#"
            error: `workloads.prod.filters_off`: there is no filter `PodTopologySpred` [OSTLER-C016]
             --> ostler.yaml:5:18
            5 |     filters_off: [PodTopologySpred]
              |                  ^
             hint: did you mean `PodTopologySpread`?

            error: `workloads.prod.scale_down.budgets.a.nodes`: `many` is no number of nodes [OSTLER-C015]
             --> ostler.yaml:8:20
            8 |         a: {nodes: many, days: [monday], from: '25:00', reasons: [emty]}
              |                    ^^^^
             hint: write `"3"` or `"10%"`

            error: `workloads.prod.scale_down.budgets.a.days`: `monday` is no day [OSTLER-C015]
             --> ostler.yaml:8:32
            8 |         a: {nodes: many, days: [monday], from: '25:00', reasons: [emty]}
              |                                ^
             hint: write `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`

            error: `workloads.prod.scale_down.budgets.a.from` is no time of the day [OSTLER-C015]
             --> ostler.yaml:8:48
            8 |         a: {nodes: many, days: [monday], from: '25:00', reasons: [emty]}
              |                                                ^^^^^^^
             hint: write `"22:30"`

            error: `workloads.prod.scale_down.budgets.a.reasons`: there is no reason `emty` [OSTLER-C016]
             --> ostler.yaml:8:66
            8 |         a: {nodes: many, days: [monday], from: '25:00', reasons: [emty]}
              |                                                                  ^
             hint: did you mean `empty`?

            error: `workloads.prod.pools.general.taints`: `dedicated` is no taint [OSTLER-C015]
              --> ostler.yaml:10:48
            10 |       general: {provider: sim, max: 1, taints: [dedicated], price: cheap, template: {boot: soon}}
               |                                                ^
             hint: write `KEY=VALUE:NoSchedule`, `KEY:NoExecute`, or `…:PreferNoSchedule`

            error: `workloads.prod.pools.general.price`: expected a number of at least 0, found a text [OSTLER-C013]
              --> ostler.yaml:10:68
            10 |       general: {provider: sim, max: 1, taints: [dedicated], price: cheap, template: {boot: soon}}
               |                                                                    ^^^^^

            error: `workloads.prod.pools.general.template.boot`: `soon` is not a length of time [OSTLER-C015]
              --> ostler.yaml:10:92
            10 |       general: {provider: sim, max: 1, taints: [dedicated], price: cheap, template: {boot: soon}}
               |                                                                                            ^^^^
             hint: write a number and its unit, such as `500ms`, `30s`, `5min`, `1h30m` or `1d`

            error: `workloads.prod.pools.few.min` is 3, `max of all offerings` is 2 [OSTLER-C020]
              --> ostler.yaml:11:33
            11 |       few: {provider: sim, min: 3, max: 5, offerings: {a: {max: 1}, b: {max: 1}}}
               |                                 ^
             hint: raise the one or lower the other

            error: `providers.ext.cert_file` and `providers.ext.key_file` go together [OSTLER-C012]
              --> ostler.yaml:14:3
            14 |   ext: {type: externalgrpc, address: 'localhost:1', cert_file: a}
               |   ^^^
             hint: give both or none

            10 errors"#]],
    );
}

#[test]
fn amounts_are_read_as_kubernetes_writes_them() {
    let text = "
workloads:
  prod:
    kind: kubernetes
    pools:
      general:
        provider: sim
        max: 1
        resources: {cpu: 3920m, memory: 14Gi, ephemeral-storage: 2P, pods: '110', example.com/big: 2k}
providers:
  sim: {type: kwok}
";
    let loaded = general(text).expect("nothing is wrong");
    let resources = &loaded.configuration.workloads[0].pools[0].pool.resources;
    let said: Vec<String> = resources.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    expect![[r#"
        cpu=3.92
        ephemeral-storage=2000000000000000
        example.com/big=2000
        memory=15032385536
        pods=110"#]]
    .assert_eq(&said.join("\n"));
    check(
        general(&text.replace("3920m", "3920u").replace("14Gi", "1.5m")),
        expect![[r#"
        error: `workloads.prod.pools.general.resources`: `cpu`: `3920u` is no amount [OSTLER-C015]
         --> ostler.yaml:9:26
        9 |         resources: {cpu: 3920u, memory: 1.5m, ephemeral-storage: 2P, pods: '110', example.com/big: 2k}
          |                          ^^^^^
         hint: write a number; also `500m`, and for bytes `512MiB` or `8Gi`

        error: `workloads.prod.pools.general.resources`: `memory`: `1.5m` is no amount [OSTLER-C015]
         --> ostler.yaml:9:41
        9 |         resources: {cpu: 3920u, memory: 1.5m, ephemeral-storage: 2P, pods: '110', example.com/big: 2k}
          |                                         ^^^^
         hint: write a number; also `500m`, and for bytes `512MiB` or `8Gi`

        2 errors"#]],
    );
}

/// Of simulated nodes all that they are made of, of an offering its own; of other providers' machines nothing.
#[test]
fn the_launch_hash_follows_what_a_node_is_made_of() {
    let hashes = |text: &str| -> Vec<String> {
        let configuration = general(text).unwrap_or_else(|mistakes| panic!("{mistakes}")).configuration;
        configuration.workloads[0].pools.iter().map(|pool| pool.pool.launch_hash.clone()).collect()
    };
    let text = |pool: &str, offering: &str, provider: &str| {
        format!(
            "workloads: {{prod: {{kind: kubernetes, pools: {{
               p: {{provider: x, max: 9, resources: {{cpu: 4}}, labels: {{a: b}}, taints: ['a=b:NoSchedule']{pool}}},
               g: {{provider: x, max: 9, labels: {{a: b}}, offerings: {{s: {{resources: {{cpu: 2}}{offering}}}, l: {{}}}}}}
             }}}}}}
providers: {{x: {{{provider}}}}}
"
        )
    };
    let kwok = "type: kwok";
    let first = hashes(&text("", "", kwok));
    for (same, with) in [("max: 9", "max: 8"), ("max: 9", "min: 1, max: 9, price: 7, priority: 3")] {
        assert_eq!(hashes(&text("", "", kwok).replace(same, with)), first, "{with}");
    }
    let headroom = ", headroom: {count: 1, shape: {cpu: 1}}";
    assert_eq!(hashes(&text(headroom, "", kwok)), first);
    for (what, with) in [("cpu: 4", "cpu: 8"), ("NoSchedule", "NoExecute"), ("['a=b:NoSchedule']", "[]")] {
        let changed = hashes(&text("", "", kwok).replace(what, with));
        assert_ne!(changed[0], first[0], "{with}");
        assert_eq!(changed[1..], first[1..], "{with}");
    }
    for more in [", instance_type: big", ", template: {boot: 2s}"] {
        let changed = hashes(&text(more, "", kwok));
        assert!(changed[0] != first[0] && changed[1..] == first[1..], "{more}");
        let changed = hashes(&text("", more, kwok));
        assert!(changed[0] == first[0] && changed[1] != first[1] && changed[2] == first[2], "{more}");
    }
    let changed = hashes(&text("", "", kwok).replace("labels: {a: b}", "labels: {a: c}"));
    assert!(changed.iter().zip(&first).all(|(new, old)| new != old));
    let changed = hashes(&text("", "", kwok).replace("cpu: 2", "cpu: 3"));
    assert!(changed[0] == first[0] && changed[1] != first[1] && changed[2] == first[2]);
    let external = "type: externalgrpc, address: 'localhost:1'";
    let first = hashes(&text("", "", external));
    assert_eq!(hashes(&text("", "", external).replace("cpu: 4", "cpu: 8").replace("a: b", "a: c")), first);
}
