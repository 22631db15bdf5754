//! What is known of all objects, kind by kind.

use super::node::NodeFacts;
use super::pod::PodFacts;
use super::policy::{BufferFacts, DaemonFacts, ScalableFacts, ScalableRef, TemplateFacts};
use super::volume::{ClaimFacts, ClassFacts, CsiFacts, VolumeFacts};
use ostler_model::kube::Budget;
use ostler_model::{Labels, NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names of skipped objects are for people: a flood of them helps nobody.
const SKIPPED_MAX: usize = 100;

/// Namespace (empty for things that have none) and name.
pub type Key = (Arc<str>, Arc<str>);

/// Why an object cannot be read, and the node that it is on.
pub type Odd = (Arc<str>, Option<NodeId>);

/// All objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<T> {
    /// Those that can be read.
    pub good: BTreeMap<Key, Arc<T>>,
    /// The others.
    pub bad: BTreeMap<Key, Odd>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { good: BTreeMap::new(), bad: BTreeMap::new() }
    }
}

impl<T: PartialEq> Named<T> {
    /// Puts what was read in its place (`None`: nothing is there); is anything other than before? What is the same
    /// stays the same in memory.
    pub fn set(&mut self, key: Key, read: Result<Option<T>, Odd>) -> bool {
        match read {
            Ok(Some(facts)) => {
                let odd = self.bad.remove(&key).is_some();
                if self.good.get(&key).is_some_and(|known| **known == facts) {
                    return odd;
                }
                self.good.insert(key, Arc::new(facts));
                true
            }
            Ok(None) => {
                let good = self.good.remove(&key).is_some();
                self.bad.remove(&key).is_some() || good
            }
            Err(odd) => {
                let good = self.good.remove(&key).is_some();
                self.bad.insert(key, odd.clone()).as_ref() != Some(&odd) || good
            }
        }
    }
}

impl<T> Named<T> {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.good.get(&(namespace.into(), name.into()))
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &T)> {
        self.good.iter().map(|(key, facts)| (key, &**facts))
    }
}

/// What is known of everything.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "each is the kind of that name")]
pub struct Facts {
    pub pods: Named<PodFacts>,
    pub nodes: Named<NodeFacts>,
    pub csi_nodes: Named<CsiFacts>,
    pub budgets: Named<Budget>,
    pub claims: Named<ClaimFacts>,
    pub volumes: Named<VolumeFacts>,
    pub classes: Named<ClassFacts>,
    pub daemons: Named<DaemonFacts>,
    pub namespaces: Named<Labels>,
    pub buffers: Named<BufferFacts>,
    pub templates: Named<TemplateFacts>,
    pub scalables: BTreeMap<ScalableRef, Arc<ScalableFacts>>,
}

impl Facts {
    /// Why objects are left out, the first of them.
    pub(super) fn skipped(&self) -> Vec<String> {
        fn of<'a, T>(kind: &'a str, named: &'a Named<T>) -> impl Iterator<Item = String> + 'a {
            named.bad.iter().map(move |(key, (why, _))| format!("{kind} {}: {why}", written(key)))
        }
        let all = of("pod", &self.pods).chain(of("node", &self.nodes)).chain(of("CSINode", &self.csi_nodes));
        let all = all.chain(of("PodDisruptionBudget", &self.budgets)).chain(of("DaemonSet", &self.daemons));
        let all =
            all.chain(of("PersistentVolumeClaim", &self.claims)).chain(of("PersistentVolume", &self.volumes));
        let all = all.chain(of("StorageClass", &self.classes)).chain(of("namespace", &self.namespaces));
        all.chain(of("CapacityBuffer", &self.buffers)).chain(of("PodTemplate", &self.templates)).collect()
    }
}

/// As people write it.
pub(super) fn written((namespace, name): &Key) -> String {
    in_words(namespace, name)
}

/// The same.
pub(super) fn in_words(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// As many as people read.
pub(super) fn bounded(mut skipped: Vec<String>) -> Vec<String> {
    let more = skipped.len().saturating_sub(SKIPPED_MAX);
    if more > 0 {
        skipped.truncate(SKIPPED_MAX);
        skipped.push(format!("and {more} more"));
    }
    skipped
}
