//! Selectors of nodes and of pods, with every operator that Kubernetes has.

use crate::label::Labels;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Any of the terms must hold; without terms none does (a required node affinity of no terms matches nothing).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeSelector(pub Vec<NodeSelectorTerm>);

/// All requirements must hold; a term without any holds nowhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NodeSelectorTerm {
    /// On labels and on fields alike, in the order in which they are written.
    pub requirements: Vec<NodeRequirement>,
}

/// One condition on one label or field of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeRequirement {
    /// What is looked at.
    pub field: Field,
    /// How it is compared.
    pub operator: NodeOperator,
    /// With these; one whole number for `Gt` and `Lt`, none for `Exists` and `DoesNotExist`.
    pub values: Vec<Arc<str>>,
}

/// What of a node is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The value of this label.
    Label(Arc<str>),
    /// `metadata.name`.
    Name,
}

/// How a [`NodeRequirement`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOperator {
    /// Is one of the values.
    In,
    /// Is missing or none of the values.
    NotIn,
    /// Is there.
    Exists,
    /// Is missing.
    DoesNotExist,
    /// Is a whole number above the value.
    Gt,
    /// Is a whole number below the value.
    Lt,
    /// An operator that we do not know; the rim carries its pods as ones that cannot be judged.
    Unknown,
}

/// A selector of pods or namespaces by their labels: all of it must hold, and nothing at all holds for everything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct LabelSelector {
    /// These labels have these values.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// And these conditions hold.
    pub requirements: Vec<LabelRequirement>,
}

/// One condition on one label of a pod or namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LabelRequirement {
    /// The label.
    pub key: Arc<str>,
    /// How it is compared.
    pub operator: LabelOperator,
    /// With these.
    pub values: Vec<Arc<str>>,
}

/// How a [`LabelRequirement`] compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelOperator {
    /// Is one of the values.
    In,
    /// Is missing or none of the values.
    NotIn,
    /// Is there.
    Exists,
    /// Is missing.
    DoesNotExist,
}

impl LabelSelector {
    /// Do these labels satisfy all of it?
    pub fn matches(&self, labels: &Labels) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

impl LabelRequirement {
    /// Do these labels satisfy it?
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            LabelOperator::In => value.is_some_and(|value| self.values.contains(value)),
            LabelOperator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
        }
    }
}
