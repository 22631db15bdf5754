//! Makes a ledger from a cluster.

use super::kinds::Found;
use super::node::Node;
use super::statics::Statics;
use super::table::{Resources, Topology};
use super::{Ledger, Nomination, Off};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use ostler_model::kube::{Cluster, Filter, PodSpec};

pub(crate) fn ledger<'a>(cluster: &'a Cluster, off: Off, extra: &'a [PodSpec]) -> Ledger<'a> {
    let specs: Vec<&PodSpec> = cluster.specs.iter().chain(extra).collect();
    let resources = Resources::of(&specs);
    let topology = Topology::of(&specs);
    let (statics, groups) = Statics::of(&specs);
    let found = Found::of(&specs, &groups, &topology, &cluster.namespaces);
    let mut ledger = Ledger {
        cluster,
        kinds: found.kinds,
        off,
        resources,
        topology,
        statics,
        spreads: found.spreads,
        affinities: found.affinities,
        antis: found.antis,
        ports: found.ports,
        volume_uses: vec![0; found.drivers.len()],
        drivers: found.drivers,
        nodes: Vec::with_capacity(cluster.nodes.len()),
        by_name: BTreeMap::new(),
        free: Vec::new(),
        capacity: Vec::new(),
        nominations: Vec::new(),
        log: Vec::new(),
        specs,
    };
    ledger.find_plain();
    for facts in &cluster.nodes {
        let class = ledger.statics.class(facts);
        let ix = ledger.push_node(Node::new(facts, None, class));
        ledger.by_name.entry(facts.id.as_str()).or_insert(ix.0);
    }
    ledger.seat_pods();
    ledger
}

impl Ledger<'_> {
    fn find_plain(&mut self) {
        let on = |filter| self.on(filter);
        let (ports, spread, affinity) =
            (on(Filter::NodePorts), on(Filter::PodTopologySpread), on(Filter::InterPodAffinity));
        let columns = on(Filter::NodeResourcesFit);
        for (kind, spec) in self.kinds.iter_mut().zip(&self.specs) {
            let no_ports = !ports || kind.ports.is_empty();
            let no_spread = !spread || kind.spread.is_empty();
            let own_terms = kind.affinity.is_some() || !kind.anti.is_empty() || !kind.avoids.is_empty();
            let no_affinity = !affinity || !own_terms && kind.in_antis.is_empty();
            kind.plain = columns
                && no_ports
                && no_spread
                && no_affinity
                && spec.volumes.is_empty()
                && spec.unjudged.is_none();
        }
    }

    /// Puts every bound pod on its node, and notes those that are nominated.
    fn seat_pods(&mut self) {
        let cluster = self.cluster;
        for (ix, pod) in (0..).zip(&cluster.pods) {
            if self.kinds.len() <= pod.spec as usize {
                continue;
            }
            if let Some(node) = &pod.node {
                if let Some(node) = self.node(node.as_str()) {
                    self.seat(pod.spec, node, pod.terminating);
                }
            } else if let Some(node) = pod.nominated.as_ref().filter(|_| !pod.terminating)
                && let Some(node) = self.node(node.as_str())
            {
                self.nodes[node.at()].awaited += 1;
                self.nominations.push(Nomination { pod: ix, spec: pod.spec, node, active: true });
            }
        }
    }
}
