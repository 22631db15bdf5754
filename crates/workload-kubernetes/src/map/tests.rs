//! Objects as they are in clusters, in; what is made of them, out.

mod joins;
mod nodes;
mod pods;
mod things;
mod volumes;

use super::*;
use expect_test::Expect;
use ostler_model::{NodeId, WorkloadState};

/// 2026-01-01T00:10:00Z.
const NOW: Timestamp = Timestamp(1_767_226_200_000);

/// What is made of the objects in a text of YAML documents.
fn look(yaml: &str) -> WorkloadState {
    let documents = yaml.split("\n---\n").filter(|text| !text.trim().is_empty());
    let objects: Vec<Value> = documents.map(|text| serde_saphyr::from_str(text).expect("YAML")).collect();
    let mut backwards = objects.clone();
    backwards.reverse();
    let state = workload_state(&facts(objects), &BTreeMap::new(), NOW);
    assert_eq!(state, workload_state(&facts(backwards), &BTreeMap::new(), NOW), "order does not matter");
    state
}

fn facts(objects: Vec<Value>) -> Facts {
    let mut facts = Facts::default();
    for object in objects {
        facts.put(object);
    }
    facts
}

impl Facts {
    fn put(&mut self, object: Value) {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key: Key = (text("/metadata/namespace").into(), text("/metadata/name").into());
        let on = Some(text("/spec/nodeName")).filter(|name| !name.is_empty()).map(NodeId::from);
        match text("/kind").as_str() {
            "Pod" => keep(&mut self.pods, key, pod(object, Release::NEWEST), on),
            "Node" => keep(&mut self.nodes, key, node(object).map(Some), None),
            "CSINode" => keep(&mut self.csi_nodes, key, csi_node(object).map(Some), None),
            "PodDisruptionBudget" => keep(&mut self.budgets, key, budget(object).map(Some), None),
            "PersistentVolumeClaim" => keep(&mut self.claims, key, volume_claim(object).map(Some), None),
            "PersistentVolume" => keep(&mut self.volumes, key, persistent_volume(object).map(Some), None),
            "StorageClass" => keep(&mut self.classes, key, class(object).map(Some), None),
            "DaemonSet" => keep(&mut self.daemons, key, daemon(object, Release::NEWEST), None),
            "Namespace" => keep(&mut self.namespaces, key, namespace(object).map(Some), None),
            "CapacityBuffer" => keep(&mut self.buffers, key, buffer(object), None),
            "PodTemplate" => {
                keep(&mut self.templates, key, template(object, Release::NEWEST).map(Some), None)
            }
            "Deployment" => {
                let (namespace, name) = key;
                let at = ScalableRef { group: "apps".into(), kind: "Deployment".into(), namespace, name };
                self.scalables.insert(at, scalable(object, Release::NEWEST).expect("a Deployment").into());
            }
            other => panic!("no kind {other:?}"),
        }
    }

    fn remove(&mut self, kind: &str, key: Key) {
        match kind {
            "Pod" => keep(&mut self.pods, key, Ok(None), None),
            "Node" => keep(&mut self.nodes, key, Ok(None), None),
            "CSINode" => keep(&mut self.csi_nodes, key, Ok(None), None),
            "PodDisruptionBudget" => keep(&mut self.budgets, key, Ok(None), None),
            "PersistentVolumeClaim" => keep(&mut self.claims, key, Ok(None), None),
            "PersistentVolume" => keep(&mut self.volumes, key, Ok(None), None),
            "StorageClass" => keep(&mut self.classes, key, Ok(None), None),
            "DaemonSet" => keep(&mut self.daemons, key, Ok(None), None),
            "Namespace" => keep(&mut self.namespaces, key, Ok(None), None),
            "CapacityBuffer" => keep(&mut self.buffers, key, Ok(None), None),
            "PodTemplate" => keep(&mut self.templates, key, Ok(None), None),
            other => panic!("no kind {other:?}"),
        }
    }
}

fn keep<T: PartialEq>(named: &mut Named<T>, key: Key, read: Result<Option<T>, String>, on: Option<NodeId>) {
    named.set(key, read.map_err(|why| (why.into(), on)));
}

/// Everything that is not nothing, a line for each thing.
fn shown(state: &WorkloadState) -> String {
    let mut lines = Vec::new();
    let mut line =
        |kind: &str, value: Value| lines.push(format!("{kind} {}", brief(value).unwrap_or_default()));

    let cluster = state.cluster.as_ref().expect("a cluster");
    state.nodes.iter().for_each(|node| line("worker", json(node)));
    cluster.nodes.iter().for_each(|node| line("node", json(node)));
    cluster.specs.iter().enumerate().for_each(|(n, spec)| line(&format!("spec {n}"), json(spec)));
    cluster.pods.iter().for_each(|pod| line("pod", json(pod)));
    cluster.namespaces.iter().for_each(|namespace| line("namespace", json(namespace)));
    cluster.daemons.iter().for_each(|daemon| line("daemon", json(daemon)));
    cluster.budgets.iter().for_each(|budget| line("budget", json(budget)));
    cluster.headroom.iter().for_each(|headroom| line("headroom", json(headroom)));
    state.skipped.iter().for_each(|skipped| line("skipped", json(skipped)));
    lines.join("\n") + "\n"
}

fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("JSON")
}

/// JSON without quotes around names, and without what is empty, false, zero or null.
fn brief(value: Value) -> Option<String> {
    Some(match value {
        Value::Null | Value::Bool(false) => return None,
        Value::Bool(true) => "yes".to_owned(),
        Value::Number(number) if number.as_u64() == Some(0) => return None,
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => text,
        Value::Array(list) if list.is_empty() => return None,
        Value::Array(list) => {
            let list: Vec<_> =
                list.into_iter().map(|one| brief(one).unwrap_or_else(|| "-".to_owned())).collect();
            format!("[{}]", list.join(", "))
        }
        Value::Object(fields) => {
            let fields =
                fields.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", brief(value)?)));
            let fields: Vec<_> = fields.collect();
            if fields.is_empty() {
                return None;
            }
            format!("{{{}}}", fields.join(", "))
        }
    })
}

fn check(yaml: &str, expect: &Expect) {
    expect.assert_eq(&shown(&look(yaml)));
}
