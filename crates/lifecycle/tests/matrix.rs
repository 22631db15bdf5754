//! Every state × every event, against the edges of Ray 2.60.0.

use expect_test::expect;
use ostler_lifecycle::{Event, Instance, StateName, due_effect};
use ostler_model::{EndCause, Failure, FailureClass, LaunchCause, NodeKind, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

fn failure() -> Failure {
    Failure { class: FailureClass::Quota, message: "no".into() }
}

fn events() -> Vec<Event> {
    vec![
        Event::LaunchRequested { launch_hash: "hash".into() },
        Event::LaunchRequeued,
        Event::Withdrawn { cause: EndCause::MaxTotal },
        Event::Allocated { cloud: "c".into() },
        Event::LaunchFailed { failure: failure() },
        Event::AllocationTimedOut,
        Event::InstallStarted,
        Event::InstallFailed { failure: failure() },
        Event::NodeUp { node: "n".into() },
        Event::DrainRequested { cause: EndCause::Idle, deadline: None },
        Event::DrainCancelled,
        Event::NodeDraining,
        Event::NodeGone { cause: EndCause::NodeDead },
        Event::TerminationRequested { cause: EndCause::Idle },
        Event::TerminationFailed { failure: failure() },
        Event::MachineGone { cause: EndCause::Vanished },
    ]
}

/// One record in each state, reached by events alone.
fn one_of_each() -> BTreeMap<StateName, Instance> {
    let start = Timestamp(0);
    let mut found = BTreeMap::new();
    let queued = Instance::queued("i".into(), 1, "pool".into(), LaunchCause::Demand, start);
    let adopted = Instance::adopted("j".into(), 2, "pool".into(), NodeKind::Worker, "c".into(), start);
    let mut open = vec![queued, adopted];
    while let Some(instance) = open.pop() {
        if found.contains_key(&instance.state().name()) {
            continue;
        }
        for event in events() {
            let mut next = instance.clone();
            if next.transition(&event, Timestamp(1)).is_ok() {
                open.push(next);
            }
        }
        found.insert(instance.state().name(), instance);
    }
    found
}

#[test]
fn the_edges_are_rays() {
    let mut table = String::new();
    for (name, instance) in one_of_each() {
        let next: BTreeSet<&str> = events()
            .iter()
            .filter_map(|event| {
                let mut next = instance.clone();
                next.transition(event, Timestamp(1)).ok().map(|()| next.state().name().ray())
            })
            .collect();
        let next: Vec<&str> = next.into_iter().collect();
        table += &format!("{} -> {}\n", name.ray(), next.join(" "));
    }
    // The list of valid transitions of Ray 2.60.0, state by state.
    expect![[r#"
        QUEUED -> REQUESTED TERMINATED
        REQUESTED -> ALLOCATED ALLOCATION_FAILED QUEUED
        ALLOCATED -> ALLOCATION_TIMEOUT RAY_INSTALLING RAY_RUNNING RAY_STOPPED RAY_STOPPING TERMINATED TERMINATING
        RAY_INSTALLING -> RAY_INSTALL_FAILED RAY_RUNNING RAY_STOPPED TERMINATED TERMINATING
        RAY_RUNNING -> RAY_STOPPED RAY_STOPPING RAY_STOP_REQUESTED TERMINATED TERMINATING
        RAY_STOP_REQUESTED -> RAY_RUNNING RAY_STOPPED RAY_STOPPING TERMINATED
        RAY_STOPPING -> RAY_STOPPED TERMINATED TERMINATING
        RAY_STOPPED -> TERMINATED TERMINATING
        TERMINATING -> TERMINATED TERMINATION_FAILED
        TERMINATED -> 
        ALLOCATION_FAILED -> 
        ALLOCATION_TIMEOUT -> TERMINATED TERMINATING
        RAY_INSTALL_FAILED -> TERMINATED TERMINATING
        TERMINATION_FAILED -> TERMINATED TERMINATING
    "#]]
    .assert_eq(&table);
}

#[test]
fn an_illegal_event_changes_nothing() {
    for (name, instance) in one_of_each() {
        for event in events() {
            let mut next = instance.clone();
            if let Err(error) = next.transition(&event, Timestamp(5)) {
                assert_eq!(next, instance, "{error}");
                assert_eq!(error.from, name);
            } else {
                assert_eq!(next.epoch(), instance.epoch() + 1);
            }
        }
    }
}

#[test]
fn an_effect_follows_from_the_state_alone() {
    let mut table = String::new();
    for (name, instance) in one_of_each() {
        let effect = due_effect(&instance);
        assert_eq!(effect, due_effect(&instance.clone()));
        table += &match effect {
            Some(effect) => {
                format!("{name}: {}\n", format!("{:?}", effect.act).split(' ').next().unwrap_or(""))
            }
            None => format!("{name}: nothing\n"),
        };
    }
    expect![[r#"
        queued: nothing
        requested: Launch
        allocated: nothing
        installing: Install
        running: nothing
        drain_requested: Drain
        draining: nothing
        drained: nothing
        terminating: Terminate
        terminated: nothing
        allocation_failed: nothing
        allocation_timed_out: nothing
        install_failed: nothing
        termination_failed: nothing
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_new_attempt_has_a_new_token_and_time_never_runs_back() {
    let mut i = Instance::queued("i".into(), 1, "p".into(), LaunchCause::Min, Timestamp(10));
    i.transition(&Event::LaunchRequested { launch_hash: "h".into() }, Timestamp(11)).expect("legal");
    let first = i.token();
    i.transition(&Event::LaunchRequeued, Timestamp(5)).expect("legal");
    assert_eq!(i.since(), Timestamp(11));
    i.transition(&Event::LaunchRequested { launch_hash: "h".into() }, Timestamp(12)).expect("legal");
    assert_ne!(first, i.token());
    assert_eq!((i.attempt(), i.epoch()), (2, 3));
}

#[test]
fn a_refused_termination_is_repeated_ever_more_slowly_and_the_history_is_bounded() {
    let mut i = Instance::adopted("i".into(), 1, "p".into(), NodeKind::Worker, "c".into(), Timestamp(0));
    let mut waits = Vec::new();
    for round in 0..200 {
        i.transition(&Event::TerminationRequested { cause: EndCause::Idle }, Timestamp(round))
            .expect("legal");
        let effect = due_effect(&i).expect("terminate");
        waits.push(effect.not_before.since(i.since()).0 / 1000);
        i.transition(&Event::TerminationFailed { failure: failure() }, Timestamp(round)).expect("legal");
    }
    assert_eq!(waits[..8], [0, 1, 2, 4, 8, 16, 32, 60]);
    assert_eq!(waits[199], 60);
    assert_eq!(i.history().len(), ostler_lifecycle::HISTORY_MAX);
}

#[test]
fn a_drain_that_is_refused_again_and_again_is_asked_for_ever_more_slowly() {
    let mut i = Instance::adopted("i".into(), 1, "p".into(), NodeKind::Worker, "c".into(), Timestamp(0));
    i.transition(&Event::NodeUp { node: "n".into() }, Timestamp(0)).expect("legal");
    let mut waits = Vec::new();
    for second in [1, 2, 3, 4, 5, 6, 7, 8, 9, 5_000] {
        let at = Timestamp(second * 1000);
        i.transition(&Event::DrainRequested { cause: EndCause::Idle, deadline: None }, at).expect("legal");
        waits.push(due_effect(&i).expect("drain").not_before.since(i.since()).0 / 1000);
        i.transition(&Event::DrainCancelled, at).expect("legal");
    }
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60, 0]);
}

/// Ray never takes a drain back; a Kubernetes cluster does (`docs/adr/0007-kubernetes-nodes.md`).
#[test]
fn a_drain_can_be_taken_back() {
    let drain = Event::DrainRequested { cause: EndCause::Underused, deadline: None };
    let back = Event::UndrainRequested;
    let paths: [(&str, &[Event]); 6] = [
        ("left over", std::slice::from_ref(&back)),
        ("asked for", &[drain.clone(), back.clone()]),
        ("under way", &[drain.clone(), Event::NodeDraining, back.clone()]),
        ("asked twice", &[back.clone(), back.clone()]),
        ("done", &[drain.clone(), Event::NodeDraining, back.clone(), Event::DrainCancelled]),
        ("by the workload", &[drain, Event::NodeDraining, Event::DrainCancelled]),
    ];
    let mut text = String::new();
    for (name, events) in paths {
        let mut instance =
            Instance::adopted("j".into(), 2, "pool".into(), NodeKind::Worker, "c".into(), Timestamp(0));
        instance.transition(&Event::NodeUp { node: "n".into() }, Timestamp(1)).expect("an edge");
        for (n, event) in events.iter().enumerate() {
            instance.transition(event, Timestamp(2 + n as u64)).expect("an edge");
        }
        let act = due_effect(&instance).map(|effect| (effect.act, effect.not_before.since(instance.since())));
        text += &format!("{name}: {} {act:?}\n", instance.state().name());
    }
    expect![[r#"
        left over: undrain_requested Some((Undrain { node: "n" }, 0 ms))
        asked for: undrain_requested Some((Undrain { node: "n" }, 0 ms))
        under way: undrain_requested Some((Undrain { node: "n" }, 0 ms))
        asked twice: undrain_requested Some((Undrain { node: "n" }, 1 s))
        done: running None
        by the workload: running None
    "#]]
    .assert_eq(&text);
}
