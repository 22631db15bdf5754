//! Cases of kube-scheduler's filters, as `tools/kube-oracle` writes them: one world a line, in Kubernetes' own objects,
//! which are read as the watch of a real cluster reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_model::Timestamp;
use ostler_model::kube::{Cluster, Filter, KubePolicy};
use ostler_packing::kube::ledger::Ledger;
use ostler_packing::problem::Unfit;
use ostler_workload_kubernetes::map::{self, Facts, Named, Release};
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

/// What we say about each probe of a world, node by node.
pub(crate) fn judge(case: &Value) -> Result<Vec<Vec<Result<(), Unfit>>>, String> {
    let policy = KubePolicy { filters_off: off(case)?, ..KubePolicy::default() };
    let cluster = cluster(case)?;
    let ledger = Ledger::new(&cluster, &policy);
    let node = |node| ledger.node(name(node)).ok_or_else(|| format!("node {} is lost", name(node)));
    let nodes: Vec<_> = list(case, "nodes").iter().map(node).collect::<Result<_, _>>()?;
    let row = |probe| {
        let spec = spec_of(&cluster, probe).ok_or_else(|| format!("{} is lost", name(probe)))?;
        Ok(nodes.iter().map(|&node| ledger.fit(spec, node)).collect())
    };
    list(case, "probes").iter().map(row).collect()
}

/// Judges one world, and compares with what the scheduler said.
pub(crate) fn compare(case: &Value) -> Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let nodes: Vec<&str> = list(case, "nodes").iter().map(name).collect();
    let rows = judge(case)?.into_iter().zip(list(case, "verdicts"));
    for (probe, (ours, theirs)) in list(case, "probes").iter().zip(rows) {
        let theirs = theirs.as_array().map_or(&[][..], |row| row);
        for ((ours, theirs), node) in ours.into_iter().zip(theirs).zip(&nodes) {
            let theirs = theirs.as_str().ok_or("a verdict is no text")?;
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
        Unfit::TooLarge { .. } | Unfit::TakenByDaemons { .. } | Unfit::NoRoom { .. } => &["NodeResourcesFit"],
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

/// Of a version as Kubernetes' modules have it (`v1.36.3`).
fn release(case: &Value) -> Release {
    let version = case["version"].as_str().unwrap_or_default();
    Release::of(version.split('.').nth(1).unwrap_or_default())
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
    let release = release(case);
    let read = |object: Value| {
        map::pod(object, release).and_then(|pod| pod.ok_or_else(|| "it has ended".to_owned()))
    };
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
pub(crate) mod tests {
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

    /// The cases that the filters of kube-scheduler wrote and that are kept, by version.
    pub(crate) fn kept() -> BTreeMap<String, Vec<Value>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/kube-oracle/cases");
        let read = |file: std::io::Result<std::fs::DirEntry>| {
            let file = file.unwrap().path();
            let text = std::fs::read_to_string(&file).unwrap();
            let cases = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            (file.file_stem().unwrap().to_string_lossy().into_owned(), cases)
        };
        std::fs::read_dir(&folder).unwrap().map(read).collect()
    }

    /// All agree, and every filter said no to some of them.
    #[test]
    fn the_filters_of_every_version_agree() {
        let kept = kept();
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["v1.34", "v1.36", "v1.37"]);
        for (version, cases) in kept {
            let mut sum = Outcome::default();
            for case in &cases {
                assert!(case["version"].as_str().unwrap().starts_with(&version), "{version}");
                sum.add(compare(case).unwrap());
            }
            assert_eq!(sum.differences, Vec::<String>::new(), "{version}");
            assert!(sum.pairs >= 450 && sum.fits * 6 > sum.pairs, "{version}: {} of {}", sum.fits, sum.pairs);
            assert_eq!(sum.unjudged, 0, "{version}");
            let declares = (version != "v1.34").then_some("NodeDeclaredFeatures");
            for filter in FILTERS.into_iter().chain(declares) {
                assert!(sum.noes.contains_key(filter), "{version}: no case of {filter}");
            }
        }
    }

    /// The comparison can fail: a verdict that is turned round is found.
    #[test]
    fn a_wrong_verdict_is_found() {
        let mut case = kept().remove("v1.37").unwrap().swap_remove(0);
        let verdict = &mut case["verdicts"][0][0];
        *verdict = if verdict == "" { "NodePorts".into() } else { "".into() };
        assert_eq!(compare(&case).unwrap().differences.len(), 1);
    }
}
