//! What Ostler says about its workload, as text to compare.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A workload of the status document.
#[derive(Debug, Clone)]
pub struct Picture(pub Value);

impl Picture {
    /// Its records by pool and state, in the order of the alphabet: `gpu 1 running, small 2 requested`.
    pub fn machines(&self) -> String {
        let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for record in self.records() {
            let text = |name: &str| record[name].as_str().expect("a text");
            *counts.entry((text("pool"), text("state"))).or_default() += 1;
        }
        let lines: Vec<_> = counts.iter().map(|((pool, state), n)| format!("{pool} {n} {state}")).collect();
        lines.join(", ")
    }
    /// The records that are not final.
    pub fn records(&self) -> impl Iterator<Item = &Value> {
        self.0["report"]["instances"].as_array().into_iter().flatten()
    }
    /// The machines of records, by the provider's id.
    pub fn clouds(&self) -> BTreeSet<String> {
        self.records().filter_map(|record| record["cloud"].as_str().map(str::to_owned)).collect()
    }
    /// Machines of the nodes that Ray lists as alive, without the head.
    pub fn nodes(&self) -> BTreeSet<String> {
        let nodes = self.0["nodes"].as_array().into_iter().flatten();
        let alive = nodes.filter(|node| node["head"] != true && node["status"] != "dead");
        alive.filter_map(|node| node["cloud"].as_str().map(str::to_owned)).collect()
    }
    /// The first record of a pool in a state.
    pub fn record(&self, pool: &str, state: &str) -> Option<&Value> {
        self.records().find(|record| record["pool"] == pool && record["state"] == state)
    }
    /// A pool of the report.
    pub fn pool(&self, name: &str) -> &Value {
        let mut pools = self.0["report"]["pools"].as_array().into_iter().flatten();
        pools.find(|pool| pool["pool"] == name).unwrap_or(&Value::Null)
    }
    /// There is a plan, and nothing waits.
    pub fn is_served(&self) -> bool {
        let none = |name: &str| self.0["demand"][name].as_array().is_some_and(Vec::is_empty);
        self.0["report"].is_object() && none("tasks") && none("gangs")
    }
}
