//! NodeAffinity: the pod's node selector and its required node affinity.

use ostler_model::kube::{Field, NodeOperator, NodeRequirement, NodeSelector, NodeSelectorTerm, PodSpec};

/// What a selector can see of a node.
pub trait Place {
    /// The value of a label.
    fn label(&self, key: &str) -> Option<&str>;
    /// The node's name; `None` where selectors of fields see nothing and hold (volumes).
    fn name(&self) -> Option<&str>;
}

/// Is the node what the pod's node selector and required affinity ask for?
pub fn allows(spec: &PodSpec, node: &impl Place) -> bool {
    spec.node_selector.iter().all(|(key, value)| node.label(key) == Some(value))
        && spec.node_affinity.as_ref().is_none_or(|selector| matches(selector, node))
}

/// Does one of the terms hold?
pub fn matches(selector: &NodeSelector, node: &impl Place) -> bool {
    selector.0.iter().any(|term| term_holds(term, node))
}

/// The label that keeps the pod away, if there is a single one to name; empty otherwise.
pub fn wanted_label<'s>(spec: &'s PodSpec, node: &impl Place) -> &'s str {
    let selector = spec.node_selector.iter().find(|(key, value)| node.label(key) != Some(value));
    if let Some((key, _)) = selector {
        return key;
    }
    match spec.node_affinity.as_ref().map(|selector| &selector.0[..]) {
        Some([term]) => term
            .requirements
            .iter()
            .find(|requirement| !holds(requirement, node).unwrap_or(false))
            .map_or("", |requirement| match &requirement.field {
                Field::Label(key) => key,
                Field::Name => "metadata.name",
            }),
        _ => "",
    }
}

/// A term without requirements holds nowhere, nor does one with a requirement that makes no sense.
fn term_holds(term: &NodeSelectorTerm, node: &impl Place) -> bool {
    let mut all = !term.requirements.is_empty();
    for requirement in &term.requirements {
        match holds(requirement, node) {
            None => return false,
            Some(one) => all &= one,
        }
    }
    all
}

/// Does the requirement hold? `None` if it makes no sense.
fn holds(requirement: &NodeRequirement, node: &impl Place) -> Option<bool> {
    let values = &requirement.values[..];
    let key = match &requirement.field {
        Field::Label(key) => key,
        Field::Name => return name_holds(requirement, node),
    };
    if !values.iter().all(|value| is_label_value(value)) {
        return None;
    }
    let found = node.label(key);
    let listed = |value: &str| values.iter().any(|one| &**one == value);
    match requirement.operator {
        NodeOperator::In if !values.is_empty() => Some(found.is_some_and(listed)),
        NodeOperator::NotIn if !values.is_empty() => Some(!found.is_some_and(listed)),
        NodeOperator::Exists if values.is_empty() => Some(found.is_some()),
        NodeOperator::DoesNotExist if values.is_empty() => Some(found.is_none()),
        NodeOperator::Gt => compares(values, found, |has, bound| has > bound),
        NodeOperator::Lt => compares(values, found, |has, bound| has < bound),
        _ => None,
    }
}

/// Can a label have this value? Numbers below zero cannot, so that nothing compares with them.
fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}

/// A field takes `In` and `NotIn` with exactly one value.
fn name_holds(requirement: &NodeRequirement, node: &impl Place) -> Option<bool> {
    let [value] = &requirement.values[..] else { return None };
    let is = node.name().map(|name| name == &**value);
    match requirement.operator {
        NodeOperator::In => Some(is.unwrap_or(true)),
        NodeOperator::NotIn => Some(!is.unwrap_or(false)),
        _ => None,
    }
}

fn compares(
    values: &[alloc::sync::Arc<str>],
    found: Option<&str>,
    order: fn(i64, i64) -> bool,
) -> Option<bool> {
    let [bound] = values else { return None };
    let bound: i64 = bound.parse().ok()?;
    Some(found.and_then(|text| text.parse().ok()).is_some_and(|has| order(has, bound)))
}
