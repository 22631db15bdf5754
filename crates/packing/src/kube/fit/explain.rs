//! Puts a no into words.

use super::{No, node_affinity, taints};
use crate::kube::ledger::{Ledger, NodeIx};
use crate::problem::Unfit;
use alloc::string::{String, ToString};
use ostler_model::Quantity;
use ostler_model::kube::{PodSpec, VolumeNeed};

pub(super) fn unfit(ledger: &Ledger<'_>, number: u32, node: NodeIx, no: No) -> Unfit {
    let Some(spec) = ledger.spec(number) else {
        return Unfit::CannotJudge { what: "a pod whose spec is not known".into() };
    };
    let topology = |label: Option<&str>| label.unwrap_or_default().to_string();
    match no {
        No::UnknownSpec => Unfit::CannotJudge { what: "a pod whose spec is not known".into() },
        No::UnknownNode => Unfit::CannotJudge { what: "a node that is not there".into() },
        No::Unjudged => Unfit::CannotJudge { what: spec.unjudged.as_deref().unwrap_or_default().into() },
        No::Unschedulable => Unfit::Unschedulable,
        No::Taint => Unfit::Taint { taint: taint(ledger, spec, node) },
        No::NodeAffinity => {
            let label = ledger.at(node).map_or("", |node| node_affinity::wanted_label(spec, node));
            Unfit::NodeSelector { label: label.into() }
        }
        No::Port(port) => Unfit::Port { port },
        No::Resource(column) => resource(ledger, number, node, column),
        No::VolumeMissing(ix) => Unfit::VolumeMissing { what: volume(spec, ix) },
        No::VolumeInUse(ix) => Unfit::VolumeInUse { volume: volume(spec, ix) },
        No::VolumePlace(ix) => Unfit::VolumePlace { volume: volume(spec, ix) },
        No::VolumeLimit(ix) => Unfit::VolumeLimit { driver: driver(spec, ix) },
        No::Spread(ix) => Unfit::Spread { topology: topology(spec.spread.get(ix).map(|one| &*one.topology)) },
        No::Affinity(ix) => {
            Unfit::Affinity { topology: topology(spec.affinity.get(ix).map(|one| &*one.topology)) }
        }
        No::AntiAffinity(key) => Unfit::AntiAffinity { topology: topology(Some(ledger.topology_key(key))) },
        No::Feature => {
            let has = ledger.at(node).map(|node| &node.facts.features);
            let missing = spec.features.iter().find(|one| has.is_none_or(|has| !has.contains(*one)));
            Unfit::Feature { feature: topology(missing.map(|one| &**one)) }
        }
    }
}

fn taint(ledger: &Ledger<'_>, spec: &PodSpec, node: NodeIx) -> String {
    let taint = ledger.at(node).and_then(|node| taints::first_untolerated(&node.facts.taints, spec));
    taint.map(ToString::to_string).unwrap_or_default()
}

fn resource(ledger: &Ledger<'_>, number: u32, node: NodeIx, column: usize) -> Unfit {
    let get = |row: &[i64]| row.get(column).copied().unwrap_or(0);
    let amount = |value: i64| {
        if column == 0 { Quantity::ten_thousandths(i128::from(value) * 10) } else { Quantity::units(value) }
    };
    let asked = get(ledger.request(number));
    let (has, free) = (get(ledger.capacity(node)), get(ledger.free(node)));
    let resource = ledger.resource_names().get(column).map(|name| name.to_string()).unwrap_or_default();
    if asked > has {
        Unfit::TooLarge { resource, asked: amount(asked), has: amount(has) }
    } else {
        Unfit::NoRoom { resource, asked: amount(asked), free: amount(free) }
    }
}

fn volume(spec: &PodSpec, ix: usize) -> String {
    spec.volumes.get(ix).map_or_else(String::new, |need| match need {
        VolumeNeed::Bound { volume, .. } | VolumeNeed::Zone { volume, .. } => volume.to_string(),
        VolumeNeed::Unbound { claim, .. } => claim.to_string(),
        VolumeNeed::Missing { what } => what.to_string(),
    })
}

fn driver(spec: &PodSpec, ix: usize) -> String {
    match spec.volumes.get(ix) {
        Some(VolumeNeed::Bound { driver, .. } | VolumeNeed::Unbound { driver, .. }) => driver.to_string(),
        _ => String::new(),
    }
}
