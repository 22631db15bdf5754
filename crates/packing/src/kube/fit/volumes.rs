//! VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone.

use super::{No, Question, Verdict};
use crate::kube::fit::node_affinity::matches;
use crate::kube::ledger::Nameless;
use ostler_model::kube::{Filter, VolumeNeed};

/// Somebody else must act before the pod can be placed anywhere?
pub(super) fn all_there(question: &Question<'_, '_>) -> Verdict {
    let needs = &question.spec.volumes;
    let missing = needs.iter().position(|need| matches!(need, VolumeNeed::Missing { .. }));
    let Some(missing) = missing else { return Ok(()) };
    let filters =
        [Filter::VolumeRestrictions, Filter::NodeVolumeLimits, Filter::VolumeBinding, Filter::VolumeZone];
    if filters.into_iter().any(|filter| question.on(filter)) {
        return Err(No::VolumeMissing(missing));
    }
    Ok(())
}

/// A volume for one pod alone must not be in use, on any node.
pub(super) fn not_in_use(question: &Question<'_, '_>) -> Verdict {
    for volume in &question.kind.volumes {
        let need = volume.need as usize;
        let exclusive = matches!(
            question.spec.volumes[need],
            VolumeNeed::Bound { exclusive: true, .. } | VolumeNeed::Unbound { exclusive: true, .. }
        );
        // Nominated pods do not count: the scheduler looks no further unless a pod that is placed uses it.
        if exclusive && question.ledger.volume_uses[volume.volume as usize] > 0 {
            return Err(No::VolumeInUse(need));
        }
    }
    Ok(())
}

/// The node must be able to attach those volumes that it has not attached yet; each counts once.
pub(super) fn within_limits(question: &Question<'_, '_>) -> Verdict {
    let limits = &question.node.facts.attach_limits;
    if limits.is_empty() || question.kind.volumes.is_empty() {
        return Ok(());
    }
    for volume in &question.kind.volumes {
        let driver = question.ledger.driver(volume.volume);
        let Some(&limit) = limits.get(driver) else { continue };
        if driver.is_empty() || is_attached(question, volume.volume) {
            continue;
        }
        let new = question.kind.volumes.iter().map(|one| one.volume);
        let new = new.filter(|&one| question.ledger.driver(one) == driver && !is_attached(question, one));
        if attached(question, driver) + new.count() > limit as usize {
            return Err(No::VolumeLimit(volume.need as usize));
        }
    }
    Ok(())
}

fn on_node(question: &Question<'_, '_>, volume: u32) -> bool {
    question.node.volumes.binary_search_by_key(&volume, |&(one, _)| one).is_ok()
}

fn is_attached(question: &Question<'_, '_>, volume: u32) -> bool {
    let mut nominated = question.nominated().flat_map(|(_, kind)| &kind.volumes);
    on_node(question, volume) || nominated.any(|one| one.volume == volume)
}

/// Volumes of the driver that are attached, each once.
fn attached(question: &Question<'_, '_>, driver: &str) -> usize {
    let of_driver = |&volume: &u32| question.ledger.driver(volume) == driver;
    let there = question.node.volumes.iter().map(|&(volume, _)| volume).filter(of_driver).count();
    let mut before: usize = 0;
    let coming = question.nominated().enumerate().map(|(ix, (_, kind))| {
        let earlier = |volume: u32| {
            let mut kinds = question.nominated().take(ix);
            kinds.any(|(_, kind)| kind.volumes.iter().any(|one| one.volume == volume))
        };
        let volumes = kind.volumes.iter().map(|one| one.volume).filter(of_driver);
        volumes.filter(|&volume| !on_node(question, volume) && !earlier(volume)).count()
    });
    before += coming.sum::<usize>();
    there + before
}

/// Every volume can be reached from the node, or made there.
pub(super) fn in_place(question: &Question<'_, '_>) -> Verdict {
    let needs = &question.spec.volumes;
    let nameless = Nameless(question.node);
    if question.on(Filter::VolumeBinding) {
        for (ix, need) in needs.iter().enumerate() {
            let reached = match need {
                // Fields of a volume's selector see nothing, and hold.
                VolumeNeed::Bound { nodes: Some(nodes), .. } => matches(nodes, &nameless),
                VolumeNeed::Unbound { nodes: Some(nodes), .. } => matches(nodes, question.node),
                _ => true,
            };
            if !reached {
                return Err(No::VolumePlace(ix));
            }
        }
    }
    if question.on(Filter::VolumeZone) {
        for (ix, need) in needs.iter().enumerate() {
            if matches!(need, VolumeNeed::Zone { nodes, .. } if !matches(nodes, &nameless)) {
                return Err(No::VolumePlace(ix));
            }
        }
    }
    Ok(())
}
