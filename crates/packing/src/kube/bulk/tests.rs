extern crate std;
use super::*;
use std::prelude::v1::*;
use std::{format, println};

fn load(name: &str) {
    let text = std::fs::read_to_string(format!("/tmp/sc/{name}.json")).unwrap();
    let v: serde_json::Value = serde_json::from_str(&text).unwrap();
    let apps = v["apps"].as_array().unwrap();
    let types = v["types"].as_array().unwrap();
    let ok = |a: &serde_json::Value, t: &serde_json::Value| {
        let sel = a["node_selector"].as_object().unwrap();
        sel.iter().all(|(k, v)| &t["labels"][k] == v)
            && (t["taints"].as_array().unwrap().is_empty()
                || !a["tolerations"].as_array().unwrap().is_empty())
    };
    let kinds: Vec<Kind> = types
        .iter()
        .map(|t| Kind {
            has: vec![
                t["cpu_m"].as_i64().unwrap(),
                t["mem_mi"].as_i64().unwrap() << 20,
                t["pods"].as_i64().unwrap(),
            ],
            price: (t["price"].as_f64().unwrap() * 1e6).round() as u64,
            room: 20000,
            share: None,
            priority: 0,
            doubtful: false,
            here: 0,
        })
        .collect();
    let start = std::time::Instant::now();
    let mut merged: std::collections::BTreeMap<(i64, i64, Bits), usize> = Default::default();
    let mut groups: Vec<Group> = vec![];
    let mut app_group = vec![];
    for a in apps {
        let kb: Bits = types.iter().enumerate().filter(|(_, t)| ok(a, t)).map(|(n, _)| n).collect();
        let key = (a["cpu_m"].as_i64().unwrap(), a["mem_mi"].as_i64().unwrap(), kb.clone());
        let n = *merged.entry(key.clone()).or_insert_with(|| {
            groups.push(Group { ask: vec![key.0, key.1 << 20, 1], count: 0, kinds: kb });
            groups.len() - 1
        });
        app_group.push(n);
    }
    let mut free: Vec<Vec<i64>> = v["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| kinds[n["type"].as_u64().unwrap() as usize].has.clone())
        .collect();
    for p in v["pods"].as_array().unwrap() {
        let g = app_group[p[0].as_u64().unwrap() as usize];
        let n = p[1].as_i64().unwrap();
        if n < 0 {
            groups[g].count += 1;
        } else {
            for c in 0..3 {
                free[n as usize][c] -= groups[g].ask[c];
            }
        }
    }
    let mut spares: Vec<Spare> = v["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .zip(free)
        .map(|(n, free)| Spare { free, class: n["type"].as_u64().unwrap() as usize })
        .collect();
    spares.sort_by_key(|s| s.free[0]);
    let takes: Vec<Bits> = (0..kinds.len())
        .map(|k| (0..groups.len()).filter(|&g| groups[g].count > 0 && groups[g].kinds.has(k)).collect())
        .collect();
    let read = start.elapsed();
    let start = std::time::Instant::now();
    let mut left: Vec<u64> = groups.iter().map(|g| g.count).collect();
    spare(&groups, &takes, &spares, &mut left);
    let t1 = start.elapsed();
    for (g, l) in groups.iter_mut().zip(&left) {
        g.count = *l;
    }
    groups.retain(|g| g.count > 0);
    let ask = Ask { groups: &groups, kinds: &kinds, shares: &[], total: u64::MAX, choice: Choice::Cost };
    let p = pack(&ask);
    println!(
        "{name}: groups {} read {read:?} spare {t1:?} all {:?} nodes {} batches {} left {} price {:.2}",
        groups.len(),
        start.elapsed(),
        p.machines(),
        p.batches.len(),
        p.unplaced(),
        p.price(&kinds) as f64 / 1e6
    );
}

#[test]
fn measure() {
    for f in
        ["up-S-5", "up-S-50", "up-S-400", "up-M-5", "up-M-50", "up-M-400", "up-L-50", "up-XL-50", "up-XL-400"]
    {
        load(f);
    }
}
