//! InterPodAffinity: pods that the pod must be with, pods that it must not be with, and pods that must not be with it.

use super::{No, Question, Verdict};
use crate::kube::ledger::NO_VALUE;

pub(super) fn respected(question: &Question<'_, '_>) -> Verdict {
    with_others(question)?;
    apart(question, &question.kind.anti, true)?;
    apart(question, &question.kind.avoids, true)?;
    apart(question, &question.kind.in_antis, false)
}

/// One pod or several must be in the node's place of each term, and be meant by all the terms. The first of a group
/// that means itself may be anywhere that has the labels.
fn with_others(question: &Question<'_, '_>) -> Verdict {
    let Some(group) = question.kind.affinity else { return Ok(()) };
    let counts = question.ledger.affinity(group);
    let topology = &question.ledger.topology;
    let here = question.at.0 as usize;
    let nominated = question.nominated().any(|(_, kind)| kind.in_affinities.binary_search(&group).is_ok());
    let mut missing = None;
    for (ix, term) in question.spec.affinity.iter().enumerate() {
        let key = topology.key(&term.topology);
        let value = topology.value(here, key);
        if value == NO_VALUE {
            return Err(No::Affinity(ix));
        }
        if !nominated && counts.pods(key, value) == 0 {
            missing = missing.or(Some(ix));
        }
    }
    let first_of_its_group =
        || counts.is_nowhere() && !nominated && question.kind.in_affinities.binary_search(&group).is_ok();
    match missing {
        Some(ix) if !first_of_its_group() => Err(No::Affinity(ix)),
        _ => Ok(()),
    }
}

/// In the node's place of each of these terms there must be no pod that it means (if the terms are the pod's `own`),
/// or none that has it.
fn apart(question: &Question<'_, '_>, terms: &[u32], own: bool) -> Verdict {
    for &term in terms {
        let counts = question.ledger.anti(term);
        let value = question.ledger.topology.value(question.at.0 as usize, counts.key);
        if value == NO_VALUE {
            continue;
        }
        let pods = if own { &counts.meant } else { &counts.holders };
        let nominated = || {
            question.nominated().any(|(_, kind)| {
                if own { kind.in_antis.binary_search(&term).is_ok() } else { kind.anti.contains(&term) }
            })
        };
        if pods.get(value) > 0 || (own || looks_further(question)) && nominated() {
            return Err(No::AntiAffinity(counts.key));
        }
    }
    Ok(())
}

/// The scheduler leaves the whole filter out for a pod without terms that no pod which is placed turns away anywhere;
/// then those of nominated pods do not count either.
fn looks_further(question: &Question<'_, '_>) -> bool {
    let kind = question.kind;
    kind.affinity.is_some()
        || !kind.anti.is_empty()
        || !kind.avoids.is_empty()
        || kind.in_antis.iter().any(|&term| !question.ledger.anti(term).holders.is_empty())
}
