//! Which parts of the cases decide anything: each is left out in turn, and the answers that change are counted. A part
//! that changes none could be judged wrongly without anybody seeing it.

use std::fmt;

use serde_json::{Value, json};

use crate::kube_case;

/// Something that a filter looks at, and how a case is without it.
struct Part {
    filter: &'static str,
    name: &'static str,
    without: fn(&mut Value),
}

impl Part {
    fn fits_without(&self, case: &Value) -> Result<Vec<bool>, String> {
        let mut case = case.clone();
        (self.without)(&mut case);
        fits(&case)
    }
}

/// How many pairs a part decides.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    /// Pairs that would fit without it.
    no: usize,
    /// Pairs that would not.
    yes: usize,
    /// The smallest case that it decides something in: how many pairs that has, and its line.
    example: Option<(usize, usize)>,
}

/// The parts with their weights.
pub(crate) struct Weights {
    pairs: usize,
    weights: Vec<Weight>,
}

impl Weights {
    pub(crate) fn new() -> Self {
        Self { pairs: 0, weights: vec![Weight::default(); PARTS.len()] }
    }

    /// Weighs the parts in one more case, which is on this line.
    pub(crate) fn add(&mut self, case: &Value, line: usize) -> Result<(), String> {
        let whole = fits(case)?;
        self.pairs += whole.len();
        for (part, weight) in PARTS.iter().zip(&mut self.weights) {
            let without = part.fits_without(case)?;
            let both = || whole.iter().zip(&without);
            let no = both().filter(|&(&with, &without)| !with && without).count();
            let yes = both().filter(|&(&with, &without)| with && !without).count();
            weight.no += no;
            weight.yes += yes;
            if no + yes > 0 && weight.example.is_none_or(|(pairs, _)| whole.len() < pairs) {
                weight.example = Some((whole.len(), line));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<21} {:<32} {:>6} {:>6} {:>7} {:>6}", "filter", "part", "no", "yes", "%", "line")?;
        for (part, weight) in PARTS.iter().zip(&self.weights) {
            let Part { filter, name, .. } = part;
            let Weight { no, yes, example } = weight;
            let share = (no + yes) * 10_000 / self.pairs.max(1);
            let share = format!("{}.{:02}", share / 100, share % 100);
            let line = example.map_or_else(|| "-".to_owned(), |(_, line)| line.to_string());
            writeln!(f, "{filter:<21} {name:<32} {no:>6} {yes:>6} {share:>7} {line:>6}")?;
        }
        writeln!(
            f,
            "of {} pairs: would fit without the part (no), would not (yes), and the line of a",
            self.pairs
        )?;
        write!(f, "small case in which it decides")
    }
}

/// Which pairs fit, pod by pod.
fn fits(case: &Value) -> Result<Vec<bool>, String> {
    Ok(kube_case::judge(case)?.iter().flatten().map(Result::is_ok).collect())
}

const PARTS: &[Part] = &[
    part("NodeUnschedulable", "cordon", |case| remove(case, "nodes/*/spec", "unschedulable")),
    part("TaintToleration", "NoSchedule", |case| taints_without(case, "NoSchedule")),
    part("TaintToleration", "NoExecute", |case| taints_without(case, "NoExecute")),
    part("TaintToleration", "tolerates any value (Exists)", |case| tolerations_without(case, &["Exists"])),
    part("TaintToleration", "tolerates one value (Equal)", |case| tolerations_without(case, &["Equal", ""])),
    part("TaintToleration", "tolerates numbers (Gt, Lt)", |case| tolerations_without(case, &["Gt", "Lt"])),
    part("TaintToleration", "tolerates one effect", |case| remove(case, "*/*/spec/tolerations/*", "effect")),
    part("NodeAffinity", "nodeSelector", |case| remove(case, "*/*/spec", "nodeSelector")),
    part("NodeAffinity", "In", |case| affinity_without(case, "In")),
    part("NodeAffinity", "NotIn", |case| affinity_without(case, "NotIn")),
    part("NodeAffinity", "Exists", |case| affinity_without(case, "Exists")),
    part("NodeAffinity", "DoesNotExist", |case| affinity_without(case, "DoesNotExist")),
    part("NodeAffinity", "Gt", |case| affinity_without(case, "Gt")),
    part("NodeAffinity", "Lt", |case| affinity_without(case, "Lt")),
    part("NodeAffinity", "matchFields", |case| remove(case, NODE_TERMS, "matchFields")),
    part("NodePorts", "port", |case| {
        remove(case, "*/*/spec/containers/*", "ports");
        remove(case, "*/*/spec/initContainers/*", "ports");
    }),
    part("NodePorts", "port of a sidecar", |case| remove(case, "*/*/spec/initContainers/*", "ports")),
    part("NodePorts", "address", |case| remove(case, "*/*/spec/containers/*/ports/*", "hostIP")),
    part("NodePorts", "protocol", |case| remove(case, "*/*/spec/containers/*/ports/*", "protocol")),
    part("NodeResourcesFit", "cpu", |case| requests_without(case, "cpu")),
    part("NodeResourcesFit", "memory", |case| requests_without(case, "memory")),
    part("NodeResourcesFit", "ephemeral-storage", |case| requests_without(case, "ephemeral-storage")),
    part("NodeResourcesFit", "huge pages", |case| requests_without(case, "hugepages-2Mi")),
    part("NodeResourcesFit", "extended resource", |case| requests_without(case, "example.com/gpu")),
    part("NodeResourcesFit", "number of pods", |case| {
        each(case, "nodes/*/status/allocatable", |list| list["pods"] = json!("1000"));
    }),
    part("NodeResourcesFit", "init container", |case| containers_without(case, false)),
    part("NodeResourcesFit", "sidecar", |case| containers_without(case, true)),
    part("NodeResourcesFit", "overhead", |case| remove(case, "*/*/spec", "overhead")),
    part("NodeResourcesFit", "requests of the whole pod", |case| remove(case, "*/*/spec", "resources")),
    part("NodeResourcesFit", "resize", |case| {
        for field in ["containerStatuses", "initContainerStatuses", "resources", "allocatedResources"] {
            remove(case, "pods/*/status", field);
        }
    }),
    part("NodeResourcesFit", "resize that cannot be", |case| remove(case, "pods/*/status", "conditions")),
    part("VolumeRestrictions", "ReadWriteOncePod", |case| {
        each(case, "claims/*/spec", |claim| claim["accessModes"] = json!(["ReadWriteOnce"]));
    }),
    part("NodeVolumeLimits", "limit", |case| remove(case, "csinodes/*/spec/drivers/*", "allocatable")),
    part("NodeVolumeLimits", "volume of a driver once built in", |case| {
        remove(case, "volumes/*/spec", "awsElasticBlockStore");
        remove(case, "volumes/*/spec", "gcePersistentDisk");
    }),
    part("VolumeBinding", "node affinity of a volume", |case| remove(case, "volumes/*/spec", "nodeAffinity")),
    part("VolumeBinding", "allowedTopologies", |case| remove(case, "classes/*", "allowedTopologies")),
    part("VolumeBinding", "the node that was chosen", |case| {
        remove(case, "claims/*/metadata/annotations", "volume.kubernetes.io/selected-node");
    }),
    part("VolumeBinding", "a free volume", |case| {
        retain(case, "volumes", |volume| volume["spec"]["storageClassName"] != "by-hand");
    }),
    part("VolumeBinding", "a claim that is missing", |case| {
        let missing = json!({"claimName": "nowhere"});
        retain(case, "probes/*/spec/volumes", |volume| volume["persistentVolumeClaim"] != missing);
    }),
    part("VolumeZone", "labels of a volume", |case| remove(case, "volumes/*/metadata", "labels")),
    part("PodTopologySpread", "constraint", |case| remove(case, "*/*/spec", "topologySpreadConstraints")),
    part("PodTopologySpread", "maxSkew above one", |case| {
        each(case, SPREAD, |rule| rule["maxSkew"] = json!(1))
    }),
    part("PodTopologySpread", "minDomains", |case| remove(case, SPREAD, "minDomains")),
    part("PodTopologySpread", "nodeAffinityPolicy", |case| remove(case, SPREAD, "nodeAffinityPolicy")),
    part("PodTopologySpread", "nodeTaintsPolicy", |case| remove(case, SPREAD, "nodeTaintsPolicy")),
    part("PodTopologySpread", "matchLabelKeys", |case| remove(case, SPREAD, "matchLabelKeys")),
    part("PodTopologySpread", "a pod that is being deleted", |case| {
        remove(case, "pods/*/metadata", "deletionTimestamp");
    }),
    part("InterPodAffinity", "affinity", |case| remove(case, "probes/*/spec/affinity", "podAffinity")),
    part("InterPodAffinity", "anti-affinity", |case| {
        remove(case, "probes/*/spec/affinity", "podAntiAffinity")
    }),
    part("InterPodAffinity", "anti-affinity of who is there", |case| {
        remove(case, "pods/*/spec/affinity", "podAntiAffinity");
    }),
    part("InterPodAffinity", "namespaces", |case| remove(case, POD_TERMS, "namespaces")),
    part("InterPodAffinity", "namespaceSelector", |case| remove(case, POD_TERMS, "namespaceSelector")),
    part("InterPodAffinity", "matchLabelKeys", |case| {
        each(case, POD_TERMS, |t| unmerge(t, "matchLabelKeys"))
    }),
    part("InterPodAffinity", "mismatchLabelKeys", |case| {
        each(case, POD_TERMS, |term| unmerge(term, "mismatchLabelKeys"));
    }),
    part("NodeDeclaredFeatures", "declared feature", |case| {
        remove(case, "nodes/*/status", "declaredFeatures")
    }),
    part("(all)", "nominated pod", |case| remove(case, "pods/*/status", "nominatedNodeName")),
    part("(all)", "priority of a nominated pod", |case| {
        each(case, "pods/*/spec", |spec| spec["priority"] = json!(1000));
    }),
    part("(all)", "filters switched off", |case| case["off"] = json!([])),
];

const NODE_TERMS: &str = "*/*/spec/affinity/nodeAffinity/*/nodeSelectorTerms/*";
const POD_TERMS: &str = "*/*/spec/affinity/*/requiredDuringSchedulingIgnoredDuringExecution/*";
const SPREAD: &str = "*/*/spec/topologySpreadConstraints/*";

const fn part(filter: &'static str, name: &'static str, without: fn(&mut Value)) -> Part {
    Part { filter, name, without }
}

// ---- how to leave something out ----

/// Everything on a path of fields; `*` is all of a list or of an object.
fn each(value: &mut Value, path: &str, change: impl Fn(&mut Value)) {
    fn walk(value: &mut Value, path: &str, change: &dyn Fn(&mut Value)) {
        let Some((first, rest)) = path.split_once('/').or((!path.is_empty()).then_some((path, ""))) else {
            return change(value);
        };
        match value {
            Value::Array(list) if first == "*" => list.iter_mut().for_each(|one| walk(one, rest, change)),
            Value::Object(map) if first == "*" => map.values_mut().for_each(|one| walk(one, rest, change)),
            Value::Object(map) => map.get_mut(first).into_iter().for_each(|one| walk(one, rest, change)),
            _ => {}
        }
    }
    walk(value, path, &change);
}

fn remove(case: &mut Value, path: &str, field: &str) {
    each(case, path, |object| drop(object.as_object_mut().and_then(|object| object.remove(field))));
}

fn retain(case: &mut Value, path: &str, keep: impl Fn(&Value) -> bool) {
    each(case, path, |list| {
        if let Some(list) = list.as_array_mut() {
            list.retain(|one| keep(one));
        }
    });
}

fn taints_without(case: &mut Value, effect: &str) {
    retain(case, "nodes/*/spec/taints", |taint| taint["effect"] != effect);
}

fn tolerations_without(case: &mut Value, operators: &[&str]) {
    let is = |toleration: &Value| operators.contains(&toleration["operator"].as_str().unwrap_or_default());
    retain(case, "*/*/spec/tolerations", |toleration| !is(toleration));
}

/// A requirement that always holds stands in the place of each that is left out: a term with none holds nowhere.
fn affinity_without(case: &mut Value, operator: &str) {
    each(case, &format!("{NODE_TERMS}/matchExpressions/*"), |requirement| {
        if requirement["operator"] == operator {
            *requirement = json!({"key": "nobody-has-it", "operator": "DoesNotExist"});
        }
    });
}

fn requests_without(case: &mut Value, resource: &str) {
    for path in ["*/*/spec/*/*/resources/requests", "*/*/spec/resources/requests", "*/*/spec/overhead"] {
        remove(case, path, resource);
    }
}

fn containers_without(case: &mut Value, sidecars: bool) {
    retain(case, "*/*/spec/initContainers", |one| (one["restartPolicy"] == "Always") != sidecars);
}

/// The API server has merged these keys into the selector, as its last requirement.
fn unmerge(term: &mut Value, field: &str) {
    if term.as_object_mut().and_then(|term| term.remove(field)).is_some()
        && let Some(list) = term["labelSelector"]["matchExpressions"].as_array_mut()
    {
        list.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube_case::tests::kept;

    /// What the kept cases do not decide by, we could judge wrongly unseen.
    #[test]
    fn every_part_decides_something_in_the_kept_cases() {
        let mut idle: Vec<&Part> = PARTS.iter().collect();
        for case in kept().into_values().flatten() {
            let whole = fits(&case).unwrap();
            idle.retain(|part| part.fits_without(&case).unwrap() == whole);
        }
        let idle: Vec<_> = idle.iter().map(|part| (part.filter, part.name)).collect();
        assert_eq!(idle, []);
    }
}
