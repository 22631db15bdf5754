//! What pods ask for, each kind once. Pods of one origin share a spec in memory, so they are told apart by address, and
//! what was made of a spec is kept from look to look.

use super::facts::{Facts, Named};
use super::pod::{Claim, PodFacts};
use super::volume::{ClaimFacts, ClassFacts, VolumeFacts, Volumes};
use ostler_model::kube::{LabelSelector, PodSpec};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

/// What nobody has any more is looked for whenever so many have come; in tests it is done all the time.
const SWEEP_MIN: usize = if cfg!(test) { 8 } else { 1024 };

/// A kind of pod, for as long as the epoch lasts.
pub(super) type Kind = u32;

/// All kinds of pods.
#[derive(Debug, Default)]
pub(super) struct Specs {
    /// Kinds by the address of the spec that they were made of. A weak hold keeps the address from being used again.
    made: Known<PodSpec>,
    /// The same of pods with claims, by the address of their facts.
    claimed: Known<PodFacts>,
    /// Each kind has one number.
    kinds: BTreeMap<Arc<PodSpec>, Kind>,
    /// Whether each kind is in the next list.
    wanted: Vec<bool>,
    /// Labels that selectors ask for: others are left out of what is made.
    asked: BTreeSet<Arc<str>>,
    /// Those of them that selectors of budgets ask for.
    by_budgets: BTreeSet<Arc<str>>,
    /// What claims were looked up in.
    storage: Storage,
    /// What was remembered of pods holds for one epoch.
    epoch: u64,
}

/// All that decides what a claim means.
type Storage = (Named<ClaimFacts>, Named<VolumeFacts>, Named<ClassFacts>);

/// Kinds by origin.
#[derive(Debug)]
struct Known<T> {
    all: HashMap<usize, (Weak<T>, Kind)>,
    sweep_at: usize,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), sweep_at: SWEEP_MIN }
    }
}

impl<T> Known<T> {
    fn get(&self, origin: &Arc<T>) -> Option<Kind> {
        self.all.get(&address(origin)).map(|(_, kind)| *kind)
    }
    fn put(&mut self, origin: &Arc<T>, kind: Kind) {
        if self.all.len() >= self.sweep_at {
            self.all.retain(|_, (origin, _)| origin.strong_count() > 0);
            self.sweep_at = (self.all.len() * 2).max(SWEEP_MIN);
        }
        self.all.insert(address(origin), (Arc::downgrade(origin), kind));
    }
}

/// Where it lies.
fn address<T>(of: &Arc<T>) -> usize {
    Arc::as_ptr(of).addr()
}

impl Specs {
    /// Begins a list of these facts.
    pub(super) fn begin(&mut self, facts: &Facts) {
        // Each kind that was ever there has a number: once most are gone, the numbers begin anew.
        let listed = self.wanted.iter().filter(|wanted| **wanted).count();
        if self.wanted.len() > listed * 2 + SWEEP_MIN {
            self.forget_kinds();
        }
        self.by_budgets.clear();
        let selectors = facts.budgets.iter().filter_map(|(_, budget)| budget.selector.as_ref());
        selectors.for_each(|selector| add_keys(selector, &mut self.by_budgets));
        let (claims, volumes, classes) = &self.storage;
        if *claims != facts.claims || *volumes != facts.volumes || *classes != facts.classes {
            self.storage = (facts.claims.clone(), facts.volumes.clone(), facts.classes.clone());
            self.claimed = Known::default();
            self.epoch += 1;
        }
        self.wanted.fill(false);
    }

    fn forget_kinds(&mut self) {
        (self.made, self.claimed) = (Known::default(), Known::default());
        self.kinds.clear();
        self.wanted.clear();
        self.epoch += 1;
    }

    /// What was remembered of pods holds for one epoch.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Were the kinds that are wanted made with just those labels that selectors ask for? If not, they are forgotten,
    /// to be made anew.
    pub(super) fn is_whole(&mut self) -> bool {
        let mut asked = self.by_budgets.clone();
        for (spec, _) in self.kinds.iter().filter(|(_, kind)| self.wanted[**kind as usize]) {
            let terms = spec.affinity.iter().chain(&spec.anti_affinity).chain(&spec.avoids);
            let affine = terms.filter_map(|term| term.selector.as_ref());
            let spread = spec.spread.iter().filter_map(|spread| spread.selector.as_ref());
            affine.chain(spread).for_each(|selector| add_keys(selector, &mut asked));
        }
        let whole = asked == self.asked;
        if !whole {
            self.asked = asked;
            self.forget_kinds();
        }
        whole
    }

    /// The kind of a pod.
    pub(super) fn of_pod(&mut self, pod: &Arc<PodFacts>) -> Kind {
        if pod.claims.is_empty() {
            return self.of_spec(&pod.spec);
        }
        self.claimed.get(pod).unwrap_or_else(|| {
            let kind = self.kind(self.with_claims(&pod.spec, &pod.claims));
            self.claimed.put(pod, kind);
            kind
        })
    }

    fn of_spec(&mut self, spec: &Arc<PodSpec>) -> Kind {
        self.made.get(spec).unwrap_or_else(|| {
            let kind = self.kind(spec.clone());
            self.made.put(spec, kind);
            kind
        })
    }

    /// The kind of pods of a template.
    pub(super) fn of_template(&mut self, spec: &Arc<PodSpec>, claims: &[Claim]) -> Kind {
        let spec = if claims.is_empty() { spec.clone() } else { self.with_claims(spec, claims) };
        self.kind(spec)
    }

    fn with_claims(&self, spec: &PodSpec, claims: &[Claim]) -> Arc<PodSpec> {
        let (claimed, volumes, classes) = &self.storage;
        let volumes = Volumes { claims: claimed, volumes, classes };
        let mut full = spec.clone();
        for claim in claims {
            let (need, odd) = volumes.need(&full.namespace, claim);
            full.volumes.push(need);
            full.volumes.extend(volumes.beside(&full.namespace, claim));
            full.unjudged = full.unjudged.or(odd);
        }
        full.volumes.sort();
        Arc::new(full)
    }

    /// Labels that no selector asks for are left out: pods that differ in nothing else (their names, say) are equal to
    /// the scheduler.
    fn kind(&mut self, mut spec: Arc<PodSpec>) -> Kind {
        if !spec.labels.keys().all(|key| self.asked.contains(key)) {
            Arc::make_mut(&mut spec).labels.retain(|key, _| self.asked.contains(key));
        }
        let next = Kind::try_from(self.wanted.len()).unwrap_or(Kind::MAX);
        let kind = *self.kinds.entry(spec).or_insert(next);
        if kind == next {
            self.wanted.push(false);
        }
        kind
    }

    /// The kind is to be in the list.
    pub(super) fn want(&mut self, kind: Kind) {
        self.wanted[kind as usize] = true;
    }

    /// The list in its order, and the place of each kind that is wanted.
    pub(super) fn list(&self) -> (Vec<PodSpec>, Vec<u32>) {
        let mut places = vec![0; self.wanted.len()];
        let mut list = Vec::new();
        for (spec, &kind) in self.kinds.iter().filter(|(_, kind)| self.wanted[**kind as usize]) {
            places[kind as usize] = u32::try_from(list.len()).unwrap_or(u32::MAX);
            list.push(PodSpec::clone(spec));
        }
        (list, places)
    }
}

/// Adds the labels that a selector asks for.
fn add_keys(selector: &LabelSelector, keys: &mut BTreeSet<Arc<str>>) {
    let all = selector.labels.keys().chain(selector.requirements.iter().map(|requirement| &requirement.key));
    for key in all {
        if !keys.contains(key) {
            keys.insert(key.clone());
        }
    }
}
