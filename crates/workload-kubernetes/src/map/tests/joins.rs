//! What is kept from look to look changes nothing: each look is the same as one that knows nothing of the others.

use super::{Facts, NOW};
use crate::map::{Joiner, Key, PodFacts, Shared, workload_state};
use ostler_model::{Millis, NodeId, NodeStatus, Timestamp, WorkloadState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Objects that change, read as the watches do.
#[derive(Default)]
struct World {
    facts: Facts,
    shared: Shared,
}

impl World {
    /// One object comes, is another now, or goes.
    fn change(&mut self, random: &mut Random) {
        let object = match random.below(24) {
            0 | 1 => node(random),
            2 => csi_node(random),
            3 => budget(random),
            4 => claim(random),
            5 => volume(random),
            6 => class(random),
            7 => daemon(random),
            8 => buffer(random),
            9 => template(random),
            10 => namespace(random),
            _ => pod(random),
        };
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        let (kind, key) =
            (object["kind"].as_str().expect("a kind"), (text("namespace").into(), text("name").into()));
        match kind {
            _ if random.below(4) == 0 => self.facts.remove(kind, key),
            "Pod" => self.put_pod(key, object),
            _ => self.facts.put(object),
        }
    }

    fn put_pod(&mut self, key: Key, object: Value) {
        let before = self.facts.pods.good.get(&key).cloned();
        self.facts.put(object);
        let now =
            self.facts.pods.good.get_mut(&key).filter(|now| before.is_none_or(|b| !Arc::ptr_eq(&b, now)));
        now.into_iter().for_each(|now| *now = self.shared.pod(PodFacts::clone(now)).into());
    }
}

fn node(random: &mut Random) -> Value {
    let draining = random.below(3) == 0;
    // Of a taint whose effect nobody knows, the node cannot be read.
    let effect = random.one(&["NoSchedule", "NoSchedule", "NoSchedule", "NoIdea"]);
    let taints = if draining { json!([{"key": "ostler.dev/drain", "effect": effect}]) } else { json!([]) };
    let marks = if draining { json!({"ostler.dev/evict-until": "2026-01-01T00:20:00Z"}) } else { json!({}) };
    json!({"kind": "Node", "metadata": {"name": format!("n{}", random.below(12)), "annotations": marks},
        "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": random.one(&["True", "True", "False", "Unknown"])}]}})
}

fn csi_node(random: &mut Random) -> Value {
    json!({"kind": "CSINode", "metadata": {"name": format!("n{}", random.below(12))},
        "spec": {"drivers": [{"name": "ebs", "nodeID": "i", "allocatable": {"count": random.below(3)}}]}})
}

fn budget(random: &mut Random) -> Value {
    json!({"kind": "PodDisruptionBudget", "metadata": {"namespace": "a", "name": random.one(&["one", "other"])},
        "spec": {"selector": {"matchLabels": {(random.one(&["app", "tier", "own"])): "x"}}}})
}

fn claim(random: &mut Random) -> Value {
    json!({"kind": "PersistentVolumeClaim", "metadata": {"namespace": "a", "name": random.one(&["data", "p-1-v"])},
        "spec": {"storageClassName": random.one(&["fast", "slow"]), "volumeName": random.one(&["", "disk"])}})
}

fn volume(random: &mut Random) -> Value {
    json!({"kind": "PersistentVolume", "metadata": {"name": "disk"}, "status": {"phase": "Bound"},
        "spec": {"capacity": {"storage": "1Gi"}, "csi": {"driver": random.one(&["ebs", "nfs"]), "volumeHandle": "v"}}})
}

fn class(random: &mut Random) -> Value {
    json!({"kind": "StorageClass", "metadata": {"name": random.one(&["fast", "slow"])}, "provisioner": "ebs",
        "volumeBindingMode": random.one(&["Immediate", "WaitForFirstConsumer"])})
}

fn daemon(random: &mut Random) -> Value {
    let labels = json!({(random.one(&["app", "tier"])): "x"});
    json!({"kind": "DaemonSet", "metadata": {"namespace": "a", "name": random.one(&["p", "q"]), "uid": "set"},
        "spec": {"selector": {}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c"}], "volumes": volumes(random)}}}})
}

fn buffer(random: &mut Random) -> Value {
    json!({"kind": "CapacityBuffer", "metadata": {"namespace": "a", "name": "room"},
        "spec": {"podTemplateRef": {"name": random.one(&["there", "nowhere"])}, "replicas": random.below(3)}})
}

fn template(random: &mut Random) -> Value {
    json!({"kind": "PodTemplate", "metadata": {"namespace": "a", "name": "there"},
        "template": {"metadata": {"labels": {"app": random.one(&["x", "y"])}},
            "spec": {"containers": [{"name": "c"}], "topologySpreadConstraints": spread(random)}}})
}

fn namespace(random: &mut Random) -> Value {
    json!({"kind": "Namespace", "metadata": {"name": "a", "labels": {"team": random.one(&["red", "blue"])}}})
}

fn pod(random: &mut Random) -> Value {
    let name = format!("p-{}", random.below(12));
    let size = match random.below(4) {
        0 => format!("{}m", random.below(4_000)), // most are of a kind that was never seen before
        _ => random.one(&["1", "500m", "lots"]).to_owned(), // "lots" cannot be read
    };
    let mut pod = json!({"kind": "Pod",
        "metadata": {"namespace": random.one(&["a", "b"]), "name": name, "uid": random.one(&["u", "v"]),
            "creationTimestamp": "2026-01-01T00:09:30Z", "annotations": {},
            "labels": {"app": random.one(&["x", "y"]), "own": name}},
        "spec": {"priority": random.below(2), "volumes": volumes(random),
            "topologySpreadConstraints": spread(random),
            "containers": [{"name": "c", "resources": {"requests": {"cpu": size}}}]}});
    if random.below(3) > 0 {
        pod["spec"]["nodeName"] = format!("n{}", random.below(12)).into();
    }
    match random.below(5) {
        0 => {
            let until = format!("2026-01-01T00:{}:00Z", 10 + random.below(10));
            pod["metadata"]["deletionTimestamp"] = until.into();
        }
        1 => {
            let delay = random.one(&["45s", "10m", "2m"]);
            pod["metadata"]["annotations"]["ostler.dev/pod-scale-up-delay"] = delay.into();
        }
        2 => {
            pod["metadata"]["ownerReferences"] = json!([{"kind": "DaemonSet", "name": "p", "uid": "set",
                "controller": true, "apiVersion": "apps/v1"}]);
        }
        3 => pod["spec"]["schedulingGates"] = json!([{"name": "gate"}]),
        _ => {}
    }
    pod
}

fn volumes(random: &mut Random) -> Value {
    match random.below(8) {
        0 => json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
        1 => {
            json!([{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}])
        }
        _ => json!([]),
    }
}

fn spread(random: &mut Random) -> Value {
    if random.below(8) > 0 {
        return json!([]);
    }
    json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {(random.one(&["app", "own", "tier"])): "x"}}}])
}

#[test]
fn what_is_kept_changes_nothing() {
    (0..20).for_each(|seed| look_at_a_world(seed, 150));
}

fn look_at_a_world(seed: u64, steps: usize) {
    let (mut random, mut world, mut joiner) = (Random(seed), World::default(), Joiner::default());
    let (mut idle_since, mut held, mut now) = (BTreeMap::new(), Vec::new(), NOW);
    for step in 0..steps {
        (0..random.below(4)).for_each(|_| world.change(&mut random));
        now = now + Millis(random.below(3) * 4_000);
        let look = joiner.join(&world.facts, &idle_since, now);
        assert_eq!(look, workload_state(&world.facts, &idle_since, now), "seed {seed}, step {step}");
        let next = joiner.next().unwrap_or(now + Millis::secs(3_600));
        let until_then = workload_state(&world.facts, &idle_since, Timestamp(next.0 - 1));
        assert_eq!(
            timeless(&look),
            timeless(&until_then),
            "seed {seed}, step {step}: time alone changes it sooner"
        );
        let idle = look.nodes.iter().filter(|node| node.status == NodeStatus::Idle);
        let since = |id: &NodeId| idle_since.get(id).copied().unwrap_or(now);
        idle_since = idle.map(|node| (node.id.clone(), since(&node.id))).collect();
        // Others have some looks for longer than the next one.
        if random.below(3) == 0 {
            held.push(look);
        }
        if random.below(2) == 0 {
            held.clear();
        }
    }
}

/// A look without what counts time.
fn timeless(look: &WorkloadState) -> WorkloadState {
    let mut look = look.clone();
    Arc::make_mut(&mut look.nodes).iter_mut().for_each(|node| node.idle = Millis(0));
    let pods = &mut Arc::make_mut(look.cluster.as_mut().expect("a cluster")).pods;
    pods.iter_mut().for_each(|pod| pod.ignored = pod.ignored.as_ref().map(|_| "for some reason".into()));
    look
}

#[test]
fn the_moment_at_which_time_changes_a_look_is_told() {
    let yaml = |delay: &str| {
        json!({"kind": "Pod", "metadata": {"namespace": "a", "name": "p", "creationTimestamp": "2026-01-01T00:10:00Z",
            "annotations": {"ostler.dev/pod-scale-up-delay": delay}}, "spec": {"containers": [{"name": "c"}]}})
    };
    let (mut facts, mut joiner) = (Facts::default(), Joiner::default());
    facts.put(yaml("30s"));
    let waits = |state: &WorkloadState| state.cluster.as_ref().expect("a cluster").pods[0].ignored.is_some();
    assert!(waits(&joiner.join(&facts, &BTreeMap::new(), NOW)));
    let at: Timestamp = joiner.next().expect("its delay ends");
    assert_eq!(at, NOW + Millis::secs(30));
    assert!(waits(&joiner.join(&facts, &BTreeMap::new(), Timestamp(at.0 - 1))));
    assert!(!waits(&joiner.join(&facts, &BTreeMap::new(), at)));
    assert_eq!(joiner.next(), None, "it is over");
}
