//! What Ray says, in and out: text of its messages in, text of our words out.

use expect_test::{Expect, expect};
use ostler_model::WorkloadState;
use ostler_testkit::gcs::{head, node_id, worker};
use ostler_workload_ray::map::workload_state;
use ostler_workload_ray::proto::autoscaler::{
    Affinity, BundleSelector, ClusterResourceConstraint, ClusterResourceState, GangResourceRequest,
    LabelConstraint, LabelSelector, NodeState, NodeStatus, PlacementConstraint, ResourceRequest,
    ResourceRequestByCount,
};
use std::fmt::Write;

fn check(state: ClusterResourceState, expected: Expect) {
    expected.assert_eq(&text(&workload_state(state)));
}

/// A state as a person would write it down.
fn text(state: &WorkloadState) -> String {
    let mut out = String::new();
    for n in state.nodes.iter() {
        let (id, cloud) = (&n.id.as_str()[..4], n.cloud.as_ref().map_or("-", |c| c.as_str()));
        let pool = n.pool.as_ref().map_or("-", |p| p.as_str());
        let head = if n.head { " head" } else { "" };
        let _ = write!(out, "node {id} {cloud} {pool}{head} {:?} idle {}: {}", n.status, n.idle, n.available);
        let _ = writeln!(out, " of {}; {:?} {:?}", n.total, n.labels, n.activity);
    }
    for t in &state.demand.tasks {
        let _ = writeln!(out, "task {} x {} selectors {}", t.count, t.shape, t.shape.selectors.len());
    }
    for g in &state.demand.gangs {
        let bundles = |bundles: &[ostler_model::Bundle]| {
            bundles.iter().map(|b| format!("{} x {}", b.count, b.shape)).collect::<Vec<_>>().join("; ")
        };
        let _ = writeln!(out, "gang {} {}: {}", g.id, g.strategy, bundles(&g.bundles));
        for fallback in &g.fallbacks {
            let _ = writeln!(out, "  or {}", bundles(fallback));
        }
    }
    for f in &state.demand.floors {
        let tasks: Vec<_> = f.tasks.iter().map(|t| format!("{} x {}", t.count, t.shape)).collect();
        let _ = writeln!(out, "floor {}", tasks.join("; "));
    }
    for skipped in &state.skipped {
        let _ = writeln!(out, "skipped {skipped}");
    }
    out
}

fn nodes(nodes: Vec<NodeState>) -> ClusterResourceState {
    ClusterResourceState { node_states: nodes, ..Default::default() }
}

/// `CPU=1,GPU=0.5`.
fn request(bundle: &str) -> ResourceRequest {
    let pairs = bundle.split(',').filter_map(|pair| pair.split_once('='));
    let resources_bundle =
        pairs.map(|(name, amount)| (name.into(), amount.parse().expect("a number"))).collect();
    ResourceRequest { resources_bundle, ..Default::default() }
}

fn with_selectors(request: ResourceRequest, selectors: &[&[(&str, i32, &str)]]) -> ResourceRequest {
    let constraint = |&(key, operator, value): &(&str, i32, &str)| LabelConstraint {
        label_key: key.into(),
        operator,
        label_values: vec![value.into()],
    };
    let selector = |terms: &&[(&str, i32, &str)]| LabelSelector {
        label_constraints: terms.iter().map(constraint).collect(),
    };
    ResourceRequest { label_selectors: selectors.iter().map(selector).collect(), ..request }
}

fn counted(request: ResourceRequest, count: i64) -> ResourceRequestByCount {
    ResourceRequestByCount { request: Some(request), count }
}

fn gang(details: &str, requests: Vec<ResourceRequest>) -> ClusterResourceState {
    let gang = GangResourceRequest { requests, details: details.into(), ..Default::default() };
    ClusterResourceState { pending_gang_resource_requests: vec![gang], ..Default::default() }
}

fn strict(request: ResourceRequest, pack: bool) -> ResourceRequest {
    let label = Some(Affinity { label_name: "_PG_ab12".into(), label_value: String::new() });
    let none = PlacementConstraint::default();
    let constraint = if pack {
        PlacementConstraint { affinity: label, ..none }
    } else {
        PlacementConstraint { anti_affinity: label, ..none }
    };
    ResourceRequest { placement_constraints: vec![constraint], ..request }
}

#[test]
fn nodes_come_in_the_order_of_their_ids_with_dynamic_labels_on_top() {
    let labelled = NodeState {
        labels: [("zone".to_owned(), "a".to_owned()), ("x".to_owned(), "old".to_owned())].into(),
        dynamic_labels: [("_PG_ab".to_owned(), String::new()), ("x".to_owned(), "new".to_owned())].into(),
        node_activity: vec!["Busy workers on node.".into()],
        ..worker(2, "cpu", 4.0, NodeStatus::Running)
    };
    check(
        nodes(vec![head(), labelled, worker(1, "cpu", 4.0, NodeStatus::Idle)]),
        expect![[r#"
            node 0101 c-1 cpu Idle idle 1 min: CPU 4, memory 8000000000 of CPU 4, memory 8000000000; {} []
            node 0202 c-2 cpu Running idle 0 ms: memory 8000000000 of CPU 4, memory 8000000000; {"_PG_ab": "", "x": "new", "zone": "a"} ["Busy workers on node."]
            node ffff head head head Idle idle 1 min: memory 8000000000, node:__internal_head__ 1 of memory 8000000000, node:__internal_head__ 1; {} []
        "#]],
    );
}

#[test]
fn a_dead_node_a_nameless_one_and_an_unknown_status_are_nodes_too() {
    let dead = NodeState { node_id: node_id(1), status: NodeStatus::Dead.into(), ..Default::default() };
    let unknown = NodeState { node_id: node_id(2), status: 9, ..Default::default() };
    let unset = NodeState { node_id: node_id(3), idle_duration_ms: -5, ..Default::default() };
    check(
        nodes(vec![dead, unknown, unset]),
        expect![[r#"
            node 0101 - - Dead idle 0 ms: nothing of nothing; {} []
            node 0202 - - Unknown(9) idle 0 ms: nothing of nothing; {} []
            node 0303 - - Unknown(0) idle 0 ms: nothing of nothing; {} []
        "#]],
    );
}

#[test]
fn a_senseless_node_costs_itself_only() {
    let bad = |n, total: f64, available: f64| NodeState {
        total_resources: [("CPU".to_owned(), total)].into(),
        available_resources: [("CPU".to_owned(), available)].into(),
        ..worker(n, "cpu", 1.0, NodeStatus::Idle)
    };
    let nameless = NodeState { node_id: vec![], ..worker(5, "cpu", 1.0, NodeStatus::Idle) };
    let more_free_than_there_is = bad(4, 1.0, 2.0);
    check(
        nodes(vec![
            bad(1, f64::NAN, 0.0),
            bad(2, 1.0, -1.0),
            bad(3, f64::INFINITY, 0.0),
            more_free_than_there_is,
            nameless,
        ]),
        expect![[r#"
            node 0404 c-4 cpu Idle idle 1 min: CPU 2 of CPU 1; {} []
            skipped node 01010101010101010101010101010101010101010101010101010101 (c-1): total CPU is NaN
            skipped node 02020202020202020202020202020202020202020202020202020202 (c-2): available CPU is -1
            skipped node 03030303030303030303030303030303030303030303030303030303 (c-3): total CPU is inf
            skipped node of instance "c-5": it has no id
        "#]],
    );
}

#[test]
fn a_flood_of_senseless_records_is_named_in_part() {
    let state = workload_state(nodes(vec![NodeState::default(); 250]));
    assert_eq!((state.skipped.len(), state.skipped.last().map(String::as_str)), (101, Some("and 150 more")));
}

#[test]
fn equal_requests_are_one_entry_and_empty_selectors_stay() {
    let selected = with_selectors(request("CPU=1"), &[&[("zone", 1, "a"), ("spot", 2, "yes")], &[]]);
    let plain = with_selectors(request("CPU=1"), &[&[]]);
    check(
        ClusterResourceState {
            pending_resource_requests: vec![
                counted(plain.clone(), 2),
                counted(selected, 1),
                counted(plain, 3),
                counted(request("CPU=1,GPU=0"), 1),
                counted(request("CPU=0.0001,ssd=0.33333"), 1),
            ],
            ..Default::default()
        },
        expect![[r#"
            task 5 x CPU 1 selectors 1
            task 1 x CPU 1 where zone in (a), spot not in (yes) selectors 2
            task 1 x CPU 1, GPU 0 selectors 0
            task 1 x CPU 0.0001, ssd 0.3333 selectors 0
        "#]],
    );
}

#[test]
fn a_senseless_request_costs_itself_only() {
    let odd = with_selectors(request("CPU=1"), &[&[("zone", 7, "a")]]);
    check(
        ClusterResourceState {
            pending_resource_requests: vec![
                counted(request("CPU=NaN"), 1),
                counted(request("CPU=1"), 0),
                counted(request("CPU=1"), -3),
                counted(odd, 1),
                ResourceRequestByCount { request: None, count: 1 },
                counted(request("CPU=2"), i64::MAX),
                counted(request("CPU=2"), i64::MAX),
                counted(request("CPU=2"), i64::MAX),
            ],
            cluster_resource_constraints: vec![ClusterResourceConstraint {
                resource_requests: vec![counted(request("CPU=1"), 3), counted(request("GPU=-1"), 1)],
            }],
            ..Default::default()
        },
        expect![[r#"
            task 18446744073709551615 x CPU 2 selectors 0
            floor 3 x CPU 1
            skipped request whose CPU is NaN
            skipped request CPU 1: its count is 0
            skipped request CPU 1: its count is -3
            skipped request whose label zone has the unknown operator 7
            skipped request without a shape
            skipped request_resources: request whose GPU is -1
        "#]],
    );
}

#[test]
fn the_strategy_is_in_the_constraints_or_in_the_text() {
    let two = || vec![request("CPU=1"), request("CPU=1"), request("GPU=1")];
    let strictly = |pack| two().into_iter().map(|r| strict(r, pack)).collect();
    check(
        gang("ab12:STRICT_PACK|PENDING", strictly(true)),
        expect![[r#"
        gang ab12 STRICT_PACK: 2 x CPU 1; 1 x GPU 1
    "#]],
    );
    check(
        gang("", strictly(false)),
        expect![[r#"
        gang ab12 STRICT_SPREAD: 2 x CPU 1; 1 x GPU 1
    "#]],
    );
    check(
        gang("ab12:SPREAD|RESCHEDULING", two()),
        expect![[r#"
        gang ab12 SPREAD: 2 x CPU 1; 1 x GPU 1
    "#]],
    );
    check(
        gang("ab12:PACK|PENDING", two()),
        expect![[r#"
        gang ab12 PACK: 2 x CPU 1; 1 x GPU 1
    "#]],
    );
    check(
        gang("ab12:PACK|PENDING", vec![]),
        expect![[r#"
        skipped placement group ab12: it has no bundles
    "#]],
    );
    check(
        gang("ab12:PACK|PENDING", vec![request("CPU=1"), request("CPU=NaN")]),
        expect![[r#"
        skipped placement group ab12: bundle whose CPU is NaN
    "#]],
    );
}

#[test]
fn bundles_with_labels_win_and_the_others_are_fallbacks() {
    let choice = |zone| BundleSelector {
        resource_requests: vec![with_selectors(request("CPU=1"), &[&[("zone", 1, zone)]]); 2],
    };
    let gang = GangResourceRequest {
        requests: vec![request("CPU=1"), request("CPU=1")],
        details: "ab12:PACK|PENDING".into(),
        bundle_selectors: vec![choice("a"), choice("b")],
    };
    check(
        ClusterResourceState { pending_gang_resource_requests: vec![gang], ..Default::default() },
        expect![[r#"
            gang ab12 PACK: 2 x CPU 1 where zone in (a)
              or 2 x CPU 1 where zone in (b)
        "#]],
    );
}
