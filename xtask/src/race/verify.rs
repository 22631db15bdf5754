//! Is a plan right? From the two files alone, by the rules of `tools/bench-kubernetes/generate.py`: nothing
//! of the planner is used here, and the scenario is read as plain JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What a plan comes to.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) name: String,
    pub(super) faults: Vec<String>,
    pub(super) new_nodes: usize,
    pub(super) removed: usize,
    pub(super) left: usize,
    /// Of the new nodes, ten-thousandths of a unit: the files have four digits.
    pub(super) price: i64,
    /// Of all nodes after.
    pub(super) after: i64,
}

impl Verdict {
    pub(super) fn line(&self) -> String {
        format!(
            "{}: {} faults, {} new nodes for {}, {} removed, price after {}, {} pods left",
            self.name,
            self.faults.len(),
            self.new_nodes,
            money(self.price),
            self.removed,
            money(self.after),
            self.left
        )
    }
}

fn money(price: i64) -> String {
    format!("{}.{:04}", price / 10_000, price % 10_000)
}

/// One node after the plan.
struct Node<'f> {
    name: String,
    labels: BTreeMap<&'f str, &'f str>,
    taints: Vec<&'f Value>,
    free: [i64; 3],
    apps: BTreeMap<usize, u64>,
    /// Those that the plan put here.
    added: BTreeMap<usize, u64>,
    there: bool,
}

/// Checks a plan against its scenario.
pub(super) fn check(scenario: &str, plan: &str) -> Result<Verdict, String> {
    let file: Value = serde_json::from_str(scenario).map_err(|e| format!("no scenario: {e}"))?;
    let plan: Value = serde_json::from_str(plan).map_err(|e| format!("no plan: {e}"))?;
    let types = list(&file, "types")?;
    let mut nodes: Vec<Node<'_>> = Vec::new();
    let mut kinds: Vec<usize> = Vec::new();
    let existing = list(&file, "nodes")?;
    for one in existing {
        let kind = index(&one["type"], types.len(), "a node's type")?;
        nodes.push(node(one["name"].as_str().unwrap_or_default(), &types[kind], Some(one)));
        kinds.push(kind);
    }
    let new = list(&plan, "new_nodes")?;
    for (n, kind) in new.iter().enumerate() {
        let kind = index(kind, types.len(), "a new node's type")?;
        nodes.push(node(&format!("new-{n:06}"), &types[kind], None));
        kinds.push(kind);
    }
    let mut faults = Vec::new();
    let removed = list(&plan, "removed")?;
    for gone in removed {
        let gone = index(gone, nodes.len(), "a node that is gone")?;
        if !nodes[gone].there {
            faults.push(format!("{} is removed twice", nodes[gone].name));
        }
        nodes[gone].there = false;
    }
    let apps = list(&file, "apps")?;
    let left = place(&mut nodes, apps, list(&file, "pods")?, list(&plan, "pods")?, &mut faults)?;
    spread(&nodes, existing.len(), apps, &mut faults);
    bounds(&nodes, &kinds, types, &mut faults);
    let price = |n: usize| (types[kinds[n]]["price"].as_f64().unwrap_or(0.0) * 10_000.0).round() as i64;
    Ok(Verdict {
        name: file["name"].as_str().unwrap_or_default().to_owned(),
        faults,
        new_nodes: new.len(),
        removed: removed.len(),
        left,
        price: (existing.len()..nodes.len()).map(price).sum(),
        after: (0..nodes.len()).filter(|&n| nodes[n].there).map(price).sum(),
    })
}

fn list<'v>(value: &'v Value, name: &str) -> Result<&'v Vec<Value>, String> {
    value[name].as_array().ok_or_else(|| format!("{name} is missing or no list"))
}

fn index(value: &Value, count: usize, what: &str) -> Result<usize, String> {
    let index = value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|&n| n < count);
    index.ok_or_else(|| format!("{what} is {value}, which is not there"))
}

fn node<'f>(name: &str, kind: &'f Value, own: Option<&'f Value>) -> Node<'f> {
    let field = |name: &str| own.map(|own| &own[name]).filter(|v| !v.is_null()).unwrap_or(&kind[name]);
    let amount = |name: &str| field(name).as_i64().unwrap_or(0);
    let labels = field("labels").as_object().into_iter().flatten();
    Node {
        name: name.to_owned(),
        labels: labels.filter_map(|(key, value)| Some((&**key, value.as_str()?))).collect(),
        taints: field("taints").as_array().into_iter().flatten().collect(),
        free: [amount("cpu_m"), amount("mem_mi"), amount("pods")],
        apps: BTreeMap::new(),
        added: BTreeMap::new(),
        there: true,
    }
}

/// Puts every pod where the plan says; how many are nowhere. Only pods that have moved or are new are judged
/// by selector and taints, room counts for all.
fn place(
    nodes: &mut [Node<'_>],
    apps: &[Value],
    pods: &[Value],
    planned: &[Value],
    faults: &mut Vec<String>,
) -> Result<usize, String> {
    if pods.len() != planned.len() {
        return Err(format!("the plan places {} pods, the scenario has {}", planned.len(), pods.len()));
    }
    let mut left = 0;
    let mut changed: BTreeSet<usize> = BTreeSet::new();
    for (n, (pod, planned)) in pods.iter().zip(planned).enumerate() {
        let app = index(&pod[0], apps.len(), "a pod's app")?;
        let before = pod[1].as_i64().unwrap_or(-1);
        let Some(now) = planned.as_i64().filter(|&now| now >= 0) else {
            left += 1;
            if before >= 0 {
                faults.push(format!("pod {n} had a place and has none"));
            }
            continue;
        };
        let now = usize::try_from(now).ok().filter(|&now| now < nodes.len());
        let now = now.ok_or_else(|| format!("pod {n} is on a node that is not there"))?;
        let node = &mut nodes[now];
        if !node.there {
            faults.push(format!("pod {n} is on {}, which is removed", node.name));
        }
        let of = &apps[app];
        for (free, name) in node.free.iter_mut().zip(["cpu_m", "mem_mi", ""]) {
            *free -= of[name].as_i64().unwrap_or(i64::from(name.is_empty()));
        }
        *node.apps.entry(app).or_default() += 1;
        if before != now as i64 {
            changed.insert(now);
            *node.added.entry(app).or_default() += 1;
            if let Some(why) = refuses(node, of) {
                faults.push(format!("pod {n} may not be on {}: {why}", node.name));
            }
        }
    }
    for &n in &changed {
        if nodes[n].free.iter().any(|&free| free < 0) {
            faults.push(format!("{} holds more than it has: {:?} is left", nodes[n].name, nodes[n].free));
        }
    }
    Ok(left)
}

fn refuses(node: &Node<'_>, app: &Value) -> Option<String> {
    for (key, value) in app["node_selector"].as_object().into_iter().flatten() {
        let has = if key == "kubernetes.io/hostname" {
            Some(&*node.name)
        } else {
            node.labels.get(&**key).copied()
        };
        if has != value.as_str() {
            return Some(format!("it asks for {key}={value}"));
        }
    }
    let tolerations = app["tolerations"].as_array();
    let bears = |taint: &Value| {
        tolerations.into_iter().flatten().any(|one| {
            let any = |name: &str| one[name].as_str().is_none_or(str::is_empty);
            (any("effect") || one["effect"] == taint["effect"])
                && (any("key") || one["key"] == taint["key"])
                && (one["operator"] == "Exists"
                    || one["value"].as_str().unwrap_or("") == taint["value"].as_str().unwrap_or(""))
        })
    };
    let hard = node.taints.iter().filter(|taint| taint["effect"] != "PreferNoSchedule");
    hard.filter(|taint| !bears(taint)).map(|taint| format!("taint {taint}")).next()
}

/// Pods that must lie evenly do, over all nodes that they could be on. Those on nodes of the file may have been bound
/// before the new ones came: then these do not count.
fn spread(nodes: &[Node<'_>], existing: usize, apps: &[Value], faults: &mut Vec<String>) {
    for (n, app) in apps.iter().enumerate() {
        for rule in app["spread"].as_array().into_iter().flatten() {
            let key = rule["key"].as_str().unwrap_or_default();
            let most = rule["max_skew"].as_u64().unwrap_or(1);
            let (all, before) = (places(nodes, n, app, key), places(&nodes[..existing], n, app, key));
            let skew = |places: &BTreeMap<&str, Count>, value: &str| {
                let least = places.values().map(|place| place.pods).min().unwrap_or(0);
                places.get(value).map_or(0, |place| place.pods - least)
            };
            for (value, place) in all.iter().filter(|(_, place)| place.added > 0) {
                let too_many = skew(&all, value) > most;
                let early = before.get(value).is_some_and(|early| early.added == place.added);
                if too_many && !(early && skew(&before, value) <= most) {
                    let skew = skew(&all, value);
                    faults.push(format!("{} lies unevenly over {key}: {skew} more in {value}", app["name"]));
                }
            }
        }
    }
}

/// Pods of an app in one place.
#[derive(Default)]
struct Count {
    pods: u64,
    /// Those that the plan put there.
    added: u64,
}

/// Pods of an app by the value of a label, over the nodes that the app could be on.
fn places<'n>(nodes: &'n [Node<'_>], n: usize, app: &Value, key: &str) -> BTreeMap<&'n str, Count> {
    let mut places: BTreeMap<&str, Count> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node.there) {
        let selected = app["node_selector"].as_object().into_iter().flatten();
        let mut selected = selected.map(|(key, value)| node.labels.get(&**key).copied() == value.as_str());
        let value =
            if key == "kubernetes.io/hostname" { Some(&*node.name) } else { node.labels.get(key).copied() };
        if let Some(value) = value.filter(|_| selected.all(|holds| holds)) {
            let place = places.entry(value).or_default();
            place.pods += node.apps.get(&n).copied().unwrap_or(0);
            place.added += node.added.get(&n).copied().unwrap_or(0);
        }
    }
    places
}

fn bounds(nodes: &[Node<'_>], kinds: &[usize], types: &[Value], faults: &mut Vec<String>) {
    for (kind, of) in types.iter().enumerate() {
        let count = (0..nodes.len()).filter(|&n| kinds[n] == kind && nodes[n].there).count() as u64;
        if count > of["max"].as_u64().unwrap_or(u64::MAX) || count < of["min"].as_u64().unwrap_or(0) {
            faults.push(format!("{count} nodes of {}, outside of {}..{}", of["name"], of["min"], of["max"]));
        }
    }
}
