//! How a decision is compared with Ray's.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::Serialize;

use super::format::{Case, Expected, Gang, PlacementConstraint, Request, Rule, Scene};

/// A policy that decides on cases.
pub trait Decider {
    /// A new case begins: forget all.
    fn start(&mut self);

    /// What it decides, and the records on which Ray would fail, left out of the decision.
    fn decide(&mut self, case: &Case, scene: &Scene) -> (Answer, Vec<Blamed>);
}

/// A record that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    /// Which.
    pub part: Part,
    /// Its name, if it has one.
    pub name: String,
    /// Why: the code of the fault.
    pub code: String,
}

impl fmt::Display for Blamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Part::NodeType(name) => write!(f, "node type {name}")?,
            Part::Instance(index) => write!(f, "instances[{index}]")?,
            Part::Request(index) => write!(f, "pending_resource_requests[{index}]")?,
            Part::Gang(index) => write!(f, "gang_requests[{index}]")?,
            Part::Constraint(index) => write!(f, "cluster_constraints[0].resource_requests[{index}]")?,
        }
        let name = if self.name.is_empty() { String::new() } else { format!(" {}", self.name) };
        write!(f, "{name} [{}]", self.code)
    }
}

/// A record of a scene.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "by index, or by name")]
pub enum Part {
    NodeType(String),
    Instance(usize),
    Request(usize),
    Gang(usize),
    Constraint(usize),
}

/// A decision in the form in which it is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// By type: how many are launched.
    pub launch: BTreeMap<String, u64>,
    /// Instance and cause, with how often.
    pub end: BTreeMap<String, u64>,
    /// Request as JSON, with how many.
    pub infeasible_requests: BTreeMap<String, u64>,
    /// Indices; of gangs that are alike the first ones.
    pub infeasible_gangs: Vec<usize>,
    /// 0 or 1.
    pub infeasible_constraints: u64,
}

impl Answer {
    /// Ray's decision.
    pub fn of(expected: &Expected, gangs: &[Gang]) -> Self {
        let mut answer = Self { infeasible_constraints: expected.infeasible_constraints, ..Self::default() };
        answer.launch.extend(expected.to_launch.iter().map(|(name, count)| (name.clone(), *count)));
        answer.launch.retain(|_, count| *count > 0);
        for end in &expected.to_terminate {
            answer.end(&end.instance_id, &end.cause);
        }
        for request in &expected.infeasible_resource_requests {
            answer.leave(request, request.count);
        }
        answer.infeasible_gangs(gangs, &expected.infeasible_gang);
        answer
    }

    /// Adds the end of an instance.
    pub fn end(&mut self, instance: &str, cause: &str) {
        *self.end.entry(format!("{instance} {cause}")).or_default() += 1;
    }

    /// Adds requests that no node took.
    pub fn leave(&mut self, request: &Request, count: u64) {
        #[derive(Serialize)]
        struct Plain<'a> {
            resources: BTreeMap<&'a str, f64>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            label_selectors: &'a [Vec<Rule>],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            placement_constraints: &'a [PlacementConstraint],
        }
        let resources = request.resources.0.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
        let (label_selectors, placement_constraints) =
            (&request.label_selectors, &request.placement_constraints);
        let plain = Plain { resources, label_selectors, placement_constraints };
        let json = serde_json::to_string(&plain).expect("names and numbers");
        *self.infeasible_requests.entry(json).or_default() += count;
    }

    /// Sets the gangs that were not placed. Of gangs that are alike Ray's answer does not say which.
    pub fn infeasible_gangs(&mut self, gangs: &[Gang], infeasible: &[usize]) {
        let mut free: Vec<usize> = (0..gangs.len()).collect();
        self.infeasible_gangs.clear();
        for &gang in infeasible {
            let alike = free.iter().position(|&other| gangs[other] == gangs[gang]);
            self.infeasible_gangs.push(free.remove(alike.expect("a gang is like itself")));
        }
        self.infeasible_gangs.sort_unstable();
    }

    fn differences(&self, got: &Self) -> String {
        let mut text = String::new();
        difference(&mut text, "to_launch", &self.launch, &got.launch);
        difference(&mut text, "to_terminate", &self.end, &got.end);
        let (mine, theirs) = (&self.infeasible_requests, &got.infeasible_requests);
        difference(&mut text, "infeasible_resource_requests", mine, theirs);
        difference(&mut text, "infeasible_gang", &self.infeasible_gangs, &got.infeasible_gangs);
        let (mine, theirs) = (&self.infeasible_constraints, &got.infeasible_constraints);
        difference(&mut text, "infeasible_constraints", mine, theirs);
        text
    }
}

fn difference<T: PartialEq + fmt::Debug>(text: &mut String, field: &str, expected: &T, got: &T) {
    if expected != got {
        let written = write!(text, "\n  {field}\n    expected {expected:?}\n    got      {got:?}");
        written.expect("a string takes all");
    }
}

/// How a case came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As Ray decided, or, where Ray fails, as it decides without the records named here.
    Passed(Vec<String>),
    /// What differs.
    Failed(String),
}

/// Decides on a case and compares.
pub fn check(case: &Case, decider: &mut dyn Decider) -> Verdict {
    let mut notes = Vec::new();
    decider.start();
    for (index, scene) in case.scenes().iter().enumerate() {
        if let Err(difference) = check_scene(case, scene, decider, &mut notes) {
            let step = if case.steps.is_empty() { String::new() } else { format!("\n  step {index}") };
            return Verdict::Failed(format!("{step}{difference}"));
        }
    }
    Verdict::Passed(notes)
}

fn check_scene(
    case: &Case,
    scene: &Scene,
    decider: &mut dyn Decider,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let expected = scene.expected.as_ref().ok_or("\n  no `expected` to compare with")?;
    let (got, blamed) = decider.decide(case, scene);
    if let Some(error) = &expected.error {
        let names: Vec<String> = blamed.iter().map(ToString::to_string).collect();
        notes.push(format!("Ray raises {} {}: left out {}", error.kind, error.message, names.join(", ")));
        return check_without(case, scene, decider, &got, &blamed);
    }
    let outcomes = || std::iter::once(expected).chain(&scene.expected_alternatives);
    if outcomes().any(|expected| Answer::of(expected, &scene.gang_requests) == got) {
        return Ok(());
    }
    let mut text = Answer::of(expected, &scene.gang_requests).differences(&got);
    blamed.iter().for_each(|blamed| text.push_str(&format!("\n  left out {blamed}")));
    Err(text)
}

/// Where Ray fails: the decision must be the one on the scene without the bad records, and that scene must be good.
fn check_without(
    case: &Case,
    scene: &Scene,
    decider: &mut dyn Decider,
    got: &Answer,
    blamed: &[Blamed],
) -> Result<(), String> {
    if blamed.is_empty() {
        return Err("\n  Ray raises an error here; no record was named for it".into());
    }
    let (mut case, mut scene) = (case.clone(), scene.clone());
    let mut parts: Vec<&Part> = blamed.iter().map(|blamed| &blamed.part).collect();
    parts.sort_unstable();
    let gangs = scene.gang_requests.clone();
    let mut kept: Vec<usize> = (0..gangs.len()).collect();
    for part in parts.into_iter().rev() {
        remove(&mut case, &mut scene, &mut kept, part);
    }
    decider.start();
    let (mut clean, blamed) = decider.decide(&case, &scene);
    let infeasible: Vec<usize> = clean.infeasible_gangs.iter().map(|&gang| kept[gang]).collect();
    clean.infeasible_gangs(&gangs, &infeasible);
    match blamed.first() {
        Some(blamed) => Err(format!("\n  without the records left out, {blamed} is left out too")),
        None if clean != *got => Err(clean.differences(got)),
        None => Ok(()),
    }
}

fn remove(case: &mut Case, scene: &mut Scene, gangs: &mut Vec<usize>, part: &Part) {
    match part {
        Part::NodeType(name) => case.config.node_types.0.retain(|(known, _)| known != name),
        Part::Instance(index) => drop(scene.instances.remove(*index)),
        Part::Request(index) => drop(scene.pending_resource_requests.remove(*index)),
        Part::Gang(index) => {
            scene.gang_requests.remove(*index);
            gangs.remove(*index);
        }
        Part::Constraint(index) => drop(scene.cluster_constraints[0].resource_requests.remove(*index)),
    }
}
