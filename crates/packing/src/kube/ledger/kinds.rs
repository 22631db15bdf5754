//! What the ledger knows of each spec beforehand: which counts it looks at, and which it changes.

use super::table::Topology;
use super::{counts, scope};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use ostler_model::Labels;
use ostler_model::kube::{AffinityTerm, HostPort, LabelOperator, LabelSelector, PodSpec, Spread, VolumeNeed};

/// One spec.
#[derive(Debug, Default)]
pub(crate) struct Kind {
    /// Its group in the answers about what never changes.
    pub(crate) group: u32,
    /// Only resources and what never changes decide about it.
    pub(crate) plain: bool,
    /// The count of each of its spread rules, and whether it is of the like itself.
    pub(crate) spread: Vec<(u32, bool)>,
    /// The count of its affinity.
    pub(crate) affinity: Option<u32>,
    /// Its own terms of anti-affinity.
    pub(crate) anti: Vec<u32>,
    /// Those that count only while it looks for a place.
    pub(crate) avoids: Vec<u32>,
    /// Counts of spread that it is counted in; sorted, as the next two.
    pub(crate) in_spreads: Vec<u32>,
    /// Lists of affinity terms that all mean it.
    pub(crate) in_affinities: Vec<u32>,
    /// Terms of anti-affinity that mean it.
    pub(crate) in_antis: Vec<u32>,
    /// Ports, by number of the ledger, each once.
    pub(crate) ports: Vec<u32>,
    /// Volumes, each once.
    pub(crate) volumes: Vec<VolumeUse>,
}

/// One volume of a spec.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VolumeUse {
    /// Its number in the ledger.
    pub(crate) volume: u32,
    /// Its place in the spec.
    pub(crate) need: u32,
}

/// Everything that is numbered while the kinds are made.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) spreads: counts::Spreads,
    pub(crate) affinities: counts::Affinities,
    pub(crate) antis: counts::Antis,
    pub(crate) ports: Vec<HostPort>,
    pub(crate) drivers: Vec<&'a str>,
    rules: BTreeMap<scope::Rule, u32>,
    spread_of: BTreeMap<(&'a str, &'a Option<LabelSelector>, u32), u32>,
    affinity_of: BTreeMap<&'a [AffinityTerm], u32>,
    anti_of: BTreeMap<&'a AffinityTerm, u32>,
    port_of: BTreeMap<HostPort, u32>,
    volume_of: BTreeMap<(bool, &'a str, &'a str), u32>,
}

impl<'a> Found<'a> {
    /// Looks at every spec.
    pub(crate) fn of(
        specs: &[&'a PodSpec],
        groups: &[u32],
        topology: &Topology,
        namespaces: &BTreeMap<Arc<str>, Labels>,
    ) -> Self {
        let mut found = Self::default();
        for (&spec, &group) in specs.iter().zip(groups) {
            let kind = Kind {
                group,
                spread: found.spreads_of(spec, group, topology),
                affinity: found.affinity_of(spec, topology),
                anti: spec.anti_affinity.iter().map(|term| found.anti_of(term, topology)).collect(),
                avoids: spec.avoids.iter().map(|term| found.anti_of(term, topology)).collect(),
                ports: found.ports_of(spec),
                volumes: found.volumes_of(spec),
                ..Kind::default()
            };
            found.kinds.push(kind);
        }
        found.match_all(specs, namespaces);
        found
    }

    fn spreads_of(&mut self, spec: &'a PodSpec, group: u32, topology: &Topology) -> Vec<(u32, bool)> {
        let mut keys: Vec<u32> = spec.spread.iter().map(|rule| topology.key(&rule.topology)).collect();
        keys.sort_unstable();
        keys.dedup();
        let asks = !spec.node_selector.is_empty() || spec.node_affinity.is_some();
        let use_of = |spread: &'a Spread, found: &mut Self| {
            let (affinity, taints) = (spread.honor_affinity && asks, spread.honor_taints);
            let rule = scope::Rule {
                key: topology.key(&spread.topology),
                keys: keys.clone(),
                group: (affinity || taints).then_some(group),
                affinity,
                taints,
            };
            let scopes = &mut found.spreads.scopes;
            let scope = *found.rules.entry(rule).or_insert_with_key(|rule| {
                scopes.push(scope::Scope::new(rule.clone()));
                scopes.len() as u32 - 1
            });
            let groups = &mut found.spreads.groups;
            let key = (&*spec.namespace, &spread.selector, scope);
            let count = *found.spread_of.entry(key).or_insert_with(|| {
                groups.push(counts::Spread::new(scope));
                groups.len() as u32 - 1
            });
            (count, spread.selector.as_ref().is_some_and(|selector| selector.matches(&spec.labels)))
        };
        spec.spread.iter().map(|spread| use_of(spread, self)).collect()
    }

    fn affinity_of(&mut self, spec: &'a PodSpec, topology: &Topology) -> Option<u32> {
        let terms = &spec.affinity[..];
        if terms.is_empty() {
            return None;
        }
        let known = &mut self.affinities.0;
        Some(*self.affinity_of.entry(terms).or_insert_with(|| {
            known
                .push(counts::Affinity::new(terms.iter().map(|term| topology.key(&term.topology)).collect()));
            known.len() as u32 - 1
        }))
    }

    fn anti_of(&mut self, term: &'a AffinityTerm, topology: &Topology) -> u32 {
        let known = &mut self.antis.0;
        *self.anti_of.entry(term).or_insert_with(|| {
            known.push(counts::Anti::new(topology.key(&term.topology)));
            known.len() as u32 - 1
        })
    }

    fn ports_of(&mut self, spec: &PodSpec) -> Vec<u32> {
        let mut ports = BTreeSet::new();
        for port in spec.ports.iter().filter(|port| port.port > 0) {
            let mut port = port.clone();
            if port.address.is_empty() {
                port.address = "0.0.0.0".into();
            }
            let known = &mut self.ports;
            ports.insert(*self.port_of.entry(port).or_insert_with_key(|port| {
                known.push(port.clone());
                known.len() as u32 - 1
            }));
        }
        ports.into_iter().collect()
    }

    fn volumes_of(&mut self, spec: &'a PodSpec) -> Vec<VolumeUse> {
        let mut uses: BTreeMap<u32, u32> = BTreeMap::new();
        for (need, volume) in (0..).zip(&spec.volumes) {
            let key = match volume {
                VolumeNeed::Bound { volume, driver, .. } => (true, &**driver, &**volume),
                VolumeNeed::Unbound { claim, driver, .. } => (false, &**driver, &**claim),
                VolumeNeed::Zone { .. } | VolumeNeed::Missing { .. } => continue,
            };
            let drivers = &mut self.drivers;
            let number = *self.volume_of.entry(key).or_insert_with(|| {
                drivers.push(key.1);
                drivers.len() as u32 - 1
            });
            uses.entry(number).or_insert(need);
        }
        uses.into_iter().map(|(volume, need)| VolumeUse { volume, need }).collect()
    }

    /// Finds, for each selector, the specs that it means.
    fn match_all(&mut self, specs: &[&'a PodSpec], namespaces: &BTreeMap<Arc<str>, Labels>) {
        let term_selectors = self.affinity_of.keys().flat_map(|terms| terms.iter());
        let term_selectors = term_selectors.chain(self.anti_of.keys().copied()).map(|term| &term.selector);
        let selectors = self.spread_of.keys().map(|&(_, selector, _)| selector).chain(term_selectors);
        let index = Index::of(specs, selectors.flatten());
        for (&(namespace, selector, _), &group) in &self.spread_of {
            let Some(selector) = selector else { continue };
            // The scheduler takes a selector that holds for everything as one that counts nothing.
            if selector.labels.is_empty() && selector.requirements.is_empty() {
                continue;
            }
            for spec in index.candidates(selector) {
                let one = specs[spec as usize];
                if *one.namespace == *namespace && selector.matches(&one.labels) {
                    self.kinds[spec as usize].in_spreads.push(group);
                }
            }
        }
        for (terms, &group) in &self.affinity_of {
            let Some(first) = terms.first().and_then(|term| term.selector.as_ref()) else { continue };
            for spec in index.candidates(first) {
                let one = specs[spec as usize];
                if terms.iter().all(|term| means(term, one, namespaces)) {
                    self.kinds[spec as usize].in_affinities.push(group);
                }
            }
        }
        for (term, &group) in &self.anti_of {
            let Some(selector) = &term.selector else { continue };
            for spec in index.candidates(selector) {
                if means(term, specs[spec as usize], namespaces) {
                    self.kinds[spec as usize].in_antis.push(group);
                }
            }
        }
        for kind in &mut self.kinds {
            kind.in_spreads.sort_unstable();
            kind.in_affinities.sort_unstable();
            kind.in_antis.sort_unstable();
        }
    }
}

/// Does the term mean such a pod?
fn means(term: &AffinityTerm, spec: &PodSpec, namespaces: &BTreeMap<Arc<str>, Labels>) -> bool {
    let in_namespace = || {
        term.namespaces.contains(&spec.namespace)
            || term.namespace_selector.as_ref().is_some_and(|selector| {
                namespaces
                    .get(&spec.namespace)
                    .map_or_else(|| selector.matches(&Labels::new()), |labels| selector.matches(labels))
            })
    };
    term.selector.as_ref().is_some_and(|selector| selector.matches(&spec.labels)) && in_namespace()
}

/// Specs by label, for those labels that selectors begin with.
struct Index<'s> {
    by_label: BTreeMap<(&'s str, &'s str), Vec<u32>>,
    all: u32,
}

impl<'s> Index<'s> {
    fn of<'x>(specs: &[&'s PodSpec], selectors: impl Iterator<Item = &'x LabelSelector>) -> Self {
        let keys: BTreeSet<&Arc<str>> = selectors.flat_map(keys).collect();
        let mut by_label: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
        for (ix, spec) in (0..).zip(specs) {
            for key in &keys {
                if let Some((key, value)) = spec.labels.get_key_value(*key) {
                    by_label.entry((key, value)).or_default().push(ix);
                }
            }
        }
        Self { by_label, all: specs.len() as u32 }
    }

    fn with<'i>(&'i self, key: &'i str, value: &'i str) -> &'i [u32] {
        self.by_label.get(&(key, value)).map_or(&[], |list| list)
    }

    /// Specs among which are all that the selector means; each once.
    fn candidates(&self, selector: &LabelSelector) -> Vec<u32> {
        let labels = selector.labels.iter().map(|(key, value)| self.with(key, value));
        if let Some(fewest) = labels.min_by_key(|list| list.len()) {
            return fewest.to_vec();
        }
        let listed = selector.requirements.iter().find(|one| one.operator == LabelOperator::In);
        listed.map_or_else(
            || (0..self.all).collect(),
            |one| {
                let values: BTreeSet<&Arc<str>> = one.values.iter().collect();
                values.into_iter().flat_map(|value| self.with(&one.key, value)).copied().collect()
            },
        )
    }
}

/// Labels that a selector asks a value of.
fn keys(selector: &LabelSelector) -> impl Iterator<Item = &Arc<str>> {
    let listed = selector.requirements.iter().filter(|one| one.operator == LabelOperator::In);
    selector.labels.keys().chain(listed.map(|one| &one.key))
}
