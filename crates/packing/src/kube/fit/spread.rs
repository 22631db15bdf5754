//! PodTopologySpread: with the pod, no place may have more of its like than the one with the fewest and `maxSkew`.

use super::{No, Question, Verdict};
use crate::kube::ledger::{NO_VALUE, Scope, SpreadCount};
use ostler_model::kube::Spread;

pub(super) fn even(question: &Question<'_, '_>) -> Verdict {
    let rules = question.spec.spread.iter().zip(&question.kind.spread);
    for (ix, (rule, &(group, of_the_like))) in rules.enumerate() {
        let (count, scope) = question.ledger.spread(group);
        let place = question.ledger.topology.value(question.at.0 as usize, scope.key());
        if place == NO_VALUE || !holds(question, rule, count, scope, (group, place, of_the_like)) {
            return Err(No::Spread(ix));
        }
    }
    Ok(())
}

fn holds(
    question: &Question<'_, '_>,
    rule: &Spread,
    count: &SpreadCount,
    scope: &Scope,
    (group, place, of_the_like): (u32, u32, bool),
) -> bool {
    let counts = question.with_nominated && scope.counts(question.at.0 as usize);
    let more = if counts { nominated_like(question, rule, group) } else { 0 };
    let fewest = if scope.places() < rule.min_domains { 0 } else { count.fewest(scope, place, more) };
    let with_it = i64::from(count.pods(place)) + i64::from(more) + i64::from(of_the_like);
    with_it - i64::from(fewest) <= i64::from(rule.max_skew)
}

fn nominated_like(question: &Question<'_, '_>, rule: &Spread, group: u32) -> u32 {
    // A selector that holds for everything counts no pod that is there, but does count one that is added.
    let all = rule.selector.as_ref().is_some_and(|one| one.labels.is_empty() && one.requirements.is_empty());
    let same_namespace =
        |spec: u32| question.ledger.spec(spec).is_some_and(|spec| spec.namespace == question.spec.namespace);
    let like = question
        .nominated()
        .filter(|(spec, kind)| kind.in_spreads.binary_search(&group).is_ok() || all && same_namespace(*spec));
    like.count() as u32
}
