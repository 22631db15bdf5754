//! TaintToleration, and the toleration part of NodeUnschedulable.

use ostler_model::kube::{Compare, PodSpec, Taint, TaintEffect, Toleration};

/// The taint that a cordoned node is as good as.
const CORDONED: &str = "node.kubernetes.io/unschedulable";

/// The first taint that keeps the pod away.
pub fn first_untolerated<'t>(taints: &'t [Taint], spec: &PodSpec) -> Option<&'t Taint> {
    taints
        .iter()
        .filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        .find(|taint| !tolerated(&spec.tolerations, &taint.key, &taint.value, taint.effect))
}

/// Does the pod bear a node that is cordoned?
pub fn bears_cordon(spec: &PodSpec) -> bool {
    tolerated(&spec.tolerations, CORDONED, "", TaintEffect::NoSchedule)
}

fn tolerated(tolerations: &[Toleration], key: &str, value: &str, effect: TaintEffect) -> bool {
    tolerations.iter().any(|toleration| bears(toleration, key, value, effect))
}

fn bears(toleration: &Toleration, key: &str, value: &str, effect: TaintEffect) -> bool {
    if toleration.effect.is_some_and(|one| one != effect) {
        return false;
    }
    if toleration.key.as_ref().is_some_and(|one| &**one != key) {
        return false;
    }
    match (&toleration.value, toleration.compare) {
        (None, None) => true,
        (Some(wanted), None) => &**wanted == value,
        (wanted, Some(compare)) => {
            let bound = wanted.as_deref().and_then(decimal);
            match (decimal(value), bound, compare) {
                (Some(has), Some(bound), Compare::Greater) => has > bound,
                (Some(has), Some(bound), Compare::Less) => has < bound,
                _ => false,
            }
        }
    }
}

/// A whole number as these operators take it: no plus, no leading zeros, no minus zero.
fn decimal(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits == "0" && text == "0" || !digits.starts_with('0');
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain && all { text.parse().ok() } else { None }
}
