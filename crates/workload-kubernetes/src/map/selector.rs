//! Selectors.

use super::arcs;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use ostler_model::kube::{
    Field, LabelOperator, LabelRequirement, LabelSelector, NodeOperator, NodeRequirement, NodeSelector,
    NodeSelectorTerm,
};

/// A label selector. An operator that nobody knows cannot be judged: the error names it.
pub(super) fn label_selector(selector: meta::LabelSelector) -> Result<LabelSelector, String> {
    let requirements = selector.match_expressions.into_iter().flatten();
    Ok(LabelSelector {
        labels: super::labels(selector.match_labels),
        requirements: requirements.map(label_requirement).collect::<Result<_, _>>()?,
    })
}

fn label_requirement(requirement: meta::LabelSelectorRequirement) -> Result<LabelRequirement, String> {
    let operator = match requirement.operator.as_str() {
        "In" => LabelOperator::In,
        "NotIn" => LabelOperator::NotIn,
        "Exists" => LabelOperator::Exists,
        "DoesNotExist" => LabelOperator::DoesNotExist,
        other => {
            return Err(format!("the selector operator {other} of label {} is not known", requirement.key));
        }
    };
    Ok(LabelRequirement { key: requirement.key.into(), operator, values: arcs(requirement.values) })
}

/// A node selector. What is not known in it is carried, and named beside it.
pub(super) fn node_selector(selector: core::NodeSelector, odd: &mut Option<String>) -> NodeSelector {
    NodeSelector(selector.node_selector_terms.into_iter().map(|term| node_term(term, odd)).collect())
}

fn node_term(term: core::NodeSelectorTerm, odd: &mut Option<String>) -> NodeSelectorTerm {
    let labels = term.match_expressions.into_iter().flatten();
    let labels: Vec<_> = labels.map(|r| (Field::Label(r.key.as_str().into()), r)).collect();
    let fields = term.match_fields.into_iter().flatten().map(|r| {
        if r.key != "metadata.name" {
            odd.get_or_insert(format!("the node field {} is not known", r.key));
        }
        (Field::Name, r)
    });
    let fields: Vec<_> = fields.collect();
    let all = labels.into_iter().chain(fields);
    let requirements = all.map(|(field, requirement)| node_requirement(field, requirement, odd));
    NodeSelectorTerm { requirements: requirements.collect() }
}

fn node_requirement(
    field: Field,
    requirement: core::NodeSelectorRequirement,
    odd: &mut Option<String>,
) -> NodeRequirement {
    let operator = match requirement.operator.as_str() {
        "In" => NodeOperator::In,
        "NotIn" => NodeOperator::NotIn,
        "Exists" => NodeOperator::Exists,
        "DoesNotExist" => NodeOperator::DoesNotExist,
        "Gt" => NodeOperator::Gt,
        "Lt" => NodeOperator::Lt,
        other => {
            odd.get_or_insert(format!("the node affinity operator {other} is not known"));
            NodeOperator::Unknown
        }
    };
    NodeRequirement { field, operator, values: arcs(requirement.values) }
}
