//! Cases of kube-scheduler's filters, as `tools/kube-oracle` writes them: one world a line, in Kubernetes' own objects,
//! which are read as the watch of a real cluster reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_model::Timestamp;
use ostler_model::kube::{Cluster, Filter, KubePolicy};
use ostler_packing::kube::ledger::Ledger;
use ostler_packing::problem::Unfit;
use ostler_workload_kubernetes::map::{self, Facts, Named};
use serde_json::Value;

/// How many pairs of a pod and a node were compared, and where we and the scheduler differ.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) pairs: usize,
    /// Pairs that fit.
    pub(crate) fits: usize,
    /// How often each filter was the one to say no.
    pub(crate) noes: BTreeMap<String, usize>,
    /// Pods that we do not judge, and say so.
    pub(crate) unjudged: usize,
    pub(crate) differences: Vec<String>,
}

impl Outcome {
    /// Counts another's too.
    pub(crate) fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.fits += other.fits;
        self.unjudged += other.unjudged;
        self.differences.extend(other.differences);
        for (filter, count) in other.noes {
            *self.noes.entry(filter).or_default() += count;
        }
    }
}

/// Judges one world.
pub(crate) fn compare(line: &str) -> Result<Outcome, String> {
    let case: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let policy = KubePolicy { filters_off: off(&case)?, ..KubePolicy::default() };
    let cluster = cluster(&case)?;
    let ledger = Ledger::new(&cluster, &policy);
    let mut outcome = Outcome::default();
    let nodes: Vec<&str> = list(&case, "nodes").iter().map(name).collect();
    let rows = list(&case, "verdicts");
    for (probe, row) in list(&case, "probes").iter().zip(rows) {
        let spec = spec_of(&cluster, probe).ok_or_else(|| format!("{} is lost", name(probe)))?;
        for (node, verdict) in nodes.iter().zip(row.as_array().map_or(&[][..], |row| row)) {
            let theirs = verdict.as_str().ok_or("a verdict is no text")?;
            let ix = ledger.node(node).ok_or_else(|| format!("node {node} is lost"))?;
            let ours = ledger.fit(spec, ix);
            outcome.pairs += 1;
            outcome.fits += usize::from(theirs.is_empty());
            if !theirs.is_empty() {
                *outcome.noes.entry(theirs.trim_start_matches('*').to_owned()).or_default() += 1;
            }
            if matches!(ours, Err(Unfit::CannotJudge { .. })) {
                outcome.unjudged += 1;
            } else if !agrees(&ours, theirs) {
                let theirs = if theirs.is_empty() { "fits" } else { theirs };
                let told = format!("{} on {node}: the scheduler says {theirs}, we say {ours:?}", name(probe));
                outcome.differences.push(told);
            }
        }
    }
    Ok(outcome)
}

/// The same answer, and the same filter where the filters were asked one by one (a star: the pod as a whole was turned
/// away before). That a claim will find no volume anywhere, we see before the scheduler does.
fn agrees(ours: &Result<(), Unfit>, theirs: &str) -> bool {
    match (ours, theirs) {
        (Ok(()), "") => true,
        (Ok(()), _) | (Err(_), "") => false,
        (Err(Unfit::VolumeMissing { .. }), _) => true,
        (Err(why), _) => theirs.starts_with('*') || filters(why).contains(&theirs),
    }
}

/// The filters that a reason may come from.
fn filters(why: &Unfit) -> &'static [&'static str] {
    match why {
        Unfit::TooLarge { .. } | Unfit::NoRoom { .. } => &["NodeResourcesFit"],
        Unfit::Unschedulable => &["NodeUnschedulable"],
        Unfit::Taint { .. } => &["TaintToleration"],
        Unfit::NodeSelector { .. } => &["NodeAffinity"],
        Unfit::Port { .. } => &["NodePorts"],
        Unfit::Affinity { .. } | Unfit::AntiAffinity { .. } => &["InterPodAffinity"],
        Unfit::Spread { .. } => &["PodTopologySpread"],
        Unfit::VolumePlace { .. } => &["VolumeBinding", "VolumeZone"],
        Unfit::VolumeLimit { .. } => &["NodeVolumeLimits"],
        Unfit::VolumeInUse { .. } => &["VolumeRestrictions"],
        Unfit::Feature { .. } => &["NodeDeclaredFeatures"],
        _ => &[],
    }
}

fn list<'c>(case: &'c Value, field: &str) -> &'c [Value] {
    case[field].as_array().map_or(&[], |list| list)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or("")
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or("")
}

fn off(case: &Value) -> Result<BTreeSet<Filter>, String> {
    let read = |filter: &Value| serde_json::from_value(filter.clone()).map_err(|error| error.to_string());
    list(case, "off").iter().map(read).collect()
}

/// What a probe asks for, by place in the specs.
fn spec_of(cluster: &Cluster, probe: &Value) -> Option<u32> {
    let is = |pod: &&ostler_model::kube::Pod| {
        let spec = &cluster.specs[pod.spec as usize];
        *pod.name == *name(probe) && *spec.namespace == *namespace(probe)
    };
    cluster.pods.iter().find(is).map(|pod| pod.spec)
}

/// The objects of a case as one look at a cluster, its probes among the waiting pods.
fn cluster(case: &Value) -> Result<Cluster, String> {
    let read = |object: Value| map::pod(object).and_then(|pod| pod.ok_or_else(|| "it has ended".to_owned()));
    let mut pods = read_all(case, "pods", read)?;
    pods.good.extend(read_all(case, "probes", read)?.good);
    let facts = Facts {
        pods,
        nodes: read_all(case, "nodes", map::node)?,
        csi_nodes: read_all(case, "csinodes", map::csi_node)?,
        claims: read_all(case, "claims", map::volume_claim)?,
        volumes: read_all(case, "volumes", map::persistent_volume)?,
        classes: read_all(case, "classes", map::class)?,
        namespaces: read_all(case, "namespaces", map::namespace)?,
        ..Facts::default()
    };
    let state = map::workload_state(&facts, &BTreeMap::new(), Timestamp::default());
    let cluster = state.cluster.ok_or("no cluster came of it")?;
    Ok(Arc::unwrap_or_clone(cluster))
}

fn read_all<T>(
    case: &Value,
    field: &str,
    read: impl Fn(Value) -> Result<T, String>,
) -> Result<Named<T>, String> {
    let mut all = Named::default();
    for object in list(case, field) {
        let (namespace, name) = (namespace(object), name(object));
        let facts = read(object.clone()).map_err(|why| format!("{field} {namespace}/{name}: {why}"))?;
        all.good.insert((namespace.into(), name.into()), Arc::new(facts));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Filters that a kept file must have a no of; all of them say yes in it as well.
    const FILTERS: [&str; 11] = [
        "InterPodAffinity",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    ];

    /// Cases that the filters of kube-scheduler wrote, a file for each version: all agree, and every filter said no to
    /// some of them.
    #[test]
    fn the_filters_of_every_version_agree() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/kube-oracle/cases");
        let mut versions = Vec::new();
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            let version = file.file_stem().unwrap().to_string_lossy().into_owned();
            let mut sum = Outcome::default();
            for line in std::fs::read_to_string(&file).unwrap().lines() {
                sum.add(compare(line).unwrap());
            }
            assert_eq!(sum.differences, Vec::<String>::new(), "{version}");
            assert!(sum.pairs >= 450 && sum.fits * 6 > sum.pairs, "{version}: {} of {}", sum.fits, sum.pairs);
            assert_eq!(sum.unjudged, 0, "{version}");
            let declares = (version != "v1.34").then_some("NodeDeclaredFeatures");
            for filter in FILTERS.into_iter().chain(declares) {
                assert!(sum.noes.contains_key(filter), "{version}: no case of {filter}");
            }
            versions.push(version);
        }
        assert!(versions.contains(&"v1.37".to_owned()), "{versions:?}");
    }

    /// The comparison can fail: a verdict that is turned round is found.
    #[test]
    fn a_wrong_verdict_is_found() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/kube-oracle/cases/v1.37.jsonl");
        let text = std::fs::read_to_string(file).unwrap();
        let mut case: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let verdict = &mut case["verdicts"][0][0];
        *verdict = if verdict == "" { "NodePorts".into() } else { "".into() };
        assert_eq!(compare(&case.to_string()).unwrap().differences.len(), 1);
    }
}
