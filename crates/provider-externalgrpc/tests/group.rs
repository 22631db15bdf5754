//! What groups of machines do to those who ask them: names of cases are those of trouble that others have
//! had.

mod common;

use common::{Place, launch, launch_all, listed, ms, spec, try_launch, until};
use ostler_model::{CloudPhase, FailureClass, LaunchToken};
use ostler_provider::Provider;
use ostler_provider_externalgrpc::double::{Fault, Fleet};
use tonic::Code;

const STOCKOUT: (&str, &str, i32) = ("STOCKOUT", "no such machine in zone a", 1);

#[tokio::test]
async fn k22_what_cannot_be_made_is_refused_and_counts_no_longer() {
    let place = Place::new(Fleet { failing: Some(STOCKOUT), ..Fleet::default() }).await;
    let provider = place.open().await;
    let error = try_launch(&provider, "i", 1).await.expect_err("it could not be made");
    assert_eq!((error.class, error.code), (FailureClass::OutOfCapacity, "OSTLER-P308"));
    assert!(error.message.contains("STOCKOUT: no such machine in zone a"), "{error}");
    until("the size falls with it", async || place.target() == 0).await;
    until("it is gone", async || listed(&provider).await.is_empty()).await;
    assert_eq!(place.changes(), ["increase g +1", "delete g m-1"]);

    place.fleet(|fleet| fleet.failing = None);
    let id = try_launch(&provider, "i", 2).await.expect("the next attempt is a new wish");
    assert_eq!(id.as_str(), "cloud:///g/m-2");
    assert_eq!(place.target(), 1);
}

#[tokio::test]
async fn k22_a_refused_token_can_be_asked_again() {
    let place = Place::new(Fleet { failing: Some(("QUOTA", "8 CPUs", 1)), ..Fleet::default() }).await;
    let provider = place.open().await;
    let error = try_launch(&provider, "i", 1).await.expect_err("it could not be made");
    assert_eq!(error.class, FailureClass::Quota);
    place.fleet(|fleet| fleet.failing = None);
    let id = try_launch(&provider, "i", 1).await.expect("it can be made now");
    assert_eq!(try_launch(&provider, "i", 1).await, Ok(id));
    assert_eq!(place.target(), 1);
}

#[tokio::test]
async fn k22_an_end_of_a_broken_machine_that_is_not_heard_is_asked_again() {
    let place = Place::new(Fleet { failing: Some(STOCKOUT), ..Fleet::default() }).await;
    place.cloud.world(|world| {
        world.fault(
            "NodeGroupDeleteNodes",
            &[Fault::Status(Code::Unavailable), Fault::Status(Code::Internal)],
        );
    });
    let provider = place.open().await;
    try_launch(&provider, "i", 1).await.expect_err("it could not be made");
    until("the size falls, though nobody calls", async || place.target() == 0).await;
    assert_eq!(place.changes(), ["increase g +1", "delete g m-1"]);
}

#[tokio::test]
async fn k28_what_does_not_come_is_taken_back_once() {
    let mut place = Place::new(Fleet { dry: true, ..Fleet::default().with(&["a", "b"]) }).await;
    place.config.timing.patience = ms(100);
    place.config.timeout = ms(2_000);
    place.config.timing.give_up_after = ms(4_000);
    let provider = place.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for instance in ["i", "j", "k"] {
        let provider = provider.clone();
        tasks.spawn(async move { try_launch(&provider, instance, 1).await });
    }
    until("the size grew", async || place.target() == 5).await;
    // One of three appears.
    place.fleet(|fleet| fleet.dry = false);
    until("one came", async || place.alive().len() >= 3).await;
    place.fleet(|fleet| fleet.dry = true);
    let came = place.alive().len() as i32;
    let outcomes = tasks.join_all().await;
    let given_up = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    for error in given_up {
        assert_eq!((error.class, error.code), (FailureClass::OutOfCapacity, "OSTLER-P310"), "{error}");
    }
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count() as i32, came - 2);
    assert_eq!(place.target(), came, "the size is what there is");
    tokio::time::sleep(ms(500)).await;
    assert_eq!(place.target(), came, "and is not lowered again");
    assert_eq!(place.count("NodeGroupDecreaseTargetSize"), u32::from(came < 5));
}

#[tokio::test]
async fn k28_a_size_whose_answer_was_lost_is_taken_back_once() {
    let mut place = Place::new(Fleet { dry: true, ..Fleet::default() }).await;
    place.config.timeout = ms(1_000);
    place.config.timing.give_up_after = ms(1_500);
    place.cloud.world(|world| world.fault("NodeGroupDecreaseTargetSize", &[Fault::LostAnswer]));
    let provider = place.open().await;
    let error = try_launch(&provider, "i", 1).await.expect_err("nothing comes");
    assert_eq!(error.code, "OSTLER-P310", "{error}");
    assert_eq!(place.changes(), ["increase g +1", "decrease g -1"]);
}

#[tokio::test]
async fn k28_taking_back_leaves_what_the_cloud_replaces() {
    let mut place = Place::new(Fleet { dry: true, ..Fleet::default().with(&["a", "b", "c", "d"]) }).await;
    place.config.timeout = ms(1_000);
    place.config.timing.give_up_after = ms(1_500);
    place.cloud.world(|world| world.fault("NodeGroupDecreaseTargetSize", &[Fault::LostAnswer]));
    let provider = place.open().await;
    assert_eq!(listed(&provider).await.len(), 4);
    place.fleet(|fleet| fleet.machines.truncate(1));
    let error = try_launch(&provider, "i", 1).await.expect_err("nothing comes");
    assert_eq!(error.code, "OSTLER-P310", "{error}");
    assert_eq!((place.changes(), place.target()), (vec!["decrease g -1".to_owned()], 3));
}

#[tokio::test]
async fn k67_a_repeated_end_lowers_the_size_once() {
    let place = Place::new(Fleet { notices: ms(600), ..Fleet::default() }).await;
    let mut provider = place.open().await;
    let ids = launch_all(&provider, &["i", "j", "k"]).await;
    for round in 0..10 {
        provider.terminate(&ids[0]).await.expect("accepted");
        if round == 5 {
            drop(provider);
            provider = place.open().await;
        }
    }
    let shown = listed(&provider).await.into_iter().find(|(id, ..)| *id == ids[0].as_str());
    assert_eq!(shown.map(|(.., phase)| phase), Some(CloudPhase::Stopping), "the cloud has not noticed yet");
    assert_eq!((place.count("NodeGroupDeleteNodes"), place.target()), (1, 2));
    until("it is gone", async || listed(&provider).await.len() == 2).await;
    provider.terminate(&ids[0]).await.expect("it has ended");
    assert_eq!((place.count("NodeGroupDeleteNodes"), place.target(), place.alive().len()), (1, 2, 2));
}

#[tokio::test]
async fn k67_an_end_whose_answer_was_lost_is_not_asked_again() {
    let mut place = Place::new(Fleet { notices: ms(60_000), ..Fleet::default() }).await;
    place.config.timeout = ms(1_000);
    let provider = place.open().await;
    let ids = launch_all(&provider, &["i", "j"]).await;
    place.cloud.world(|world| world.fault("NodeGroupDeleteNodes", &[Fault::LostAnswer]));
    let error = provider.terminate(&ids[0]).await.expect_err("no answer");
    assert_eq!((error.class, error.code), (FailureClass::Transient, "OSTLER-P305"));
    provider.terminate(&ids[0]).await.expect("the size says that it was heard");
    assert_eq!((place.count("NodeGroupDeleteNodes"), place.target()), (1, 1));
}

#[tokio::test]
async fn what_is_heard_late_is_not_asked_for_twice() {
    let mut place = Place::new(Fleet { notices: ms(60_000), ..Fleet::default() }).await;
    place.config.timeout = ms(300);
    place.config.timing.settle = ms(20_000);
    for call in ["NodeGroupIncreaseSize", "NodeGroupDeleteNodes"] {
        place.cloud.world(|world| world.fault(call, &[Fault::Late(ms(900))]));
    }
    let provider = place.open().await;
    let id = launch(&provider, "i").await;
    launch(&provider, "j").await;
    until("its end is accepted", async || provider.terminate(&id).await.is_ok()).await;
    assert_eq!(place.changes(), ["increase g +1", "increase g +1", "delete g m-1"]);
    assert_eq!(place.target(), 1);
}

#[tokio::test]
async fn k28_what_is_taken_back_late_is_taken_back_once() {
    let mut place = Place::new(Fleet { dry: true, ..Fleet::default() }).await;
    place.config.timeout = ms(300);
    place.config.timing.settle = ms(20_000);
    place.config.timing.give_up_after = ms(4_000);
    place.cloud.world(|world| world.fault("NodeGroupDecreaseTargetSize", &[Fault::Late(ms(900))]));
    let provider = place.open().await;
    let mut code = "";
    until("it is given up", async || {
        code = try_launch(&provider, "i", 1).await.expect_err("nothing comes").code;
        code == "OSTLER-P310"
    })
    .await;
    assert_eq!(place.changes(), ["increase g +1", "decrease g -1"]);
}

#[tokio::test]
async fn k67_an_end_that_was_not_heard_is_asked_again() {
    let place = Place::new(Fleet::default()).await;
    let provider = place.open().await;
    let ids = launch_all(&provider, &["i", "j"]).await;
    place.cloud.world(|world| world.fault("NodeGroupDeleteNodes", &[Fault::Status(Code::Unavailable)]));
    provider.terminate(&ids[0]).await.expect_err("not heard");
    let error = provider.terminate(&ids[0]).await.expect_err("it may still be heard");
    assert_eq!((error.class, place.count("NodeGroupDeleteNodes")), (FailureClass::Transient, 1), "{error}");
    until("it is asked again", async || provider.terminate(&ids[0]).await.is_ok()).await;
    until("it is gone", async || listed(&provider).await.len() == 1).await;
    assert_eq!((place.count("NodeGroupDeleteNodes"), place.target()), (2, 1));
}

#[tokio::test]
async fn k67_an_end_that_never_comes_is_said_and_costs_no_other_machine() {
    let mut place = Place::new(Fleet { notices: ms(60_000), ..Fleet::default() }).await;
    place.config.timing.ask_again_after = ms(50);
    let provider = place.open().await;
    let ids = launch_all(&provider, &["i", "j"]).await;
    provider.terminate(&ids[0]).await.expect("accepted");
    tokio::time::sleep(ms(100)).await;
    let error = provider.terminate(&ids[0]).await.expect_err("it is still listed, and no longer counted");
    assert_eq!(error.code, "OSTLER-P313");
    assert_eq!((place.count("NodeGroupDeleteNodes"), place.target()), (1, 1));
}

#[tokio::test]
async fn k68_what_the_cloud_replaces_is_used_first() {
    let place = Place::new(Fleet { appears: ms(300), ..Fleet::default().with(&["a", "b", "c"]) }).await;
    let provider = place.open().await;
    assert_eq!(listed(&provider).await.len(), 3);
    // Two vanish, and the group makes others in their place.
    place.fleet(|fleet| fleet.machines.truncate(1));
    assert_eq!(listed(&provider).await.len(), 1);
    let ids = launch_all(&provider, &["i", "j"]).await;
    assert_eq!((ids.len(), place.target()), (2, 3));
    assert_eq!(place.changes(), [""; 0], "nothing was asked for");
    launch(&provider, "k").await;
    assert_eq!(place.changes(), ["increase g +1"], "beyond it, something is");
}

#[tokio::test]
async fn machines_that_were_there_are_adopted_and_not_given_away() {
    let place = Place::new(Fleet::default().with(&["a", "b"])).await;
    let provider = place.open().await;
    // Before anything was listed.
    let id = launch(&provider, "i").await;
    assert_eq!(id.as_str(), "cloud:///g/m-1");
    until("it runs", async || listed(&provider).await.iter().all(|(.., p)| *p == CloudPhase::Running)).await;
    let all = listed(&provider).await;
    let whose: Vec<_> = all.iter().map(|(id, whose, _)| (id.as_str(), whose.as_deref())).collect();
    assert_eq!(whose, [("a", None), ("b", None), ("cloud:///g/m-1", Some("i"))]);
    provider.terminate(&"a".into()).await.expect("an adopted machine can be ended");
    until("it is gone", async || listed(&provider).await.len() == 2).await;
    assert_eq!(place.changes(), ["increase g +1", "delete g a"]);
}

#[tokio::test]
async fn why_a_machine_cannot_be_made_is_said_where_a_person_looks() {
    let place = Place::new(Fleet::default().with(&["a"])).await;
    let provider = place.open().await;
    let id = launch(&provider, "i").await;
    place.fleet(|fleet| {
        fleet.notices = ms(60_000);
        let machine =
            fleet.machines.iter_mut().find(|machine| machine.id == id.as_str()).expect("it is there");
        machine.failed = Some(STOCKOUT);
    });
    assert_eq!(listed(&provider).await[1], (id.to_string(), Some("i".into()), CloudPhase::Stopping));
    let details = provider.details(&id).expect("it is known");
    assert!(details.contains("node group g of ") && details.contains("STOCKOUT"), "{details}");
    until("it is ended, though nobody asks", async || place.target() == 1).await;
    assert_eq!(provider.details(&"unknown".into()), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn launches_at_once_share_their_calls() {
    let place = Place::new(Fleet { appears: ms(300), ..Fleet::default() }).await;
    let provider = place.open().await;
    let names: Vec<String> = (0..24).map(|n| format!("i-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut ids = launch_all(&provider, &names).await;
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), place.target(), place.alive().len()), (24, 24, 24));
    let calls = place.count("NodeGroupIncreaseSize");
    assert!(calls < 12, "{calls} calls for 24 machines");
}

#[tokio::test]
async fn a_new_attempt_takes_the_place_of_the_one_before() {
    let mut place = Place::new(Fleet { dry: true, ..Fleet::default() }).await;
    place.config.timeout = ms(500);
    place.config.timing.patience = ms(0);
    let provider = place.open().await;
    for attempt in 1..=3 {
        let error = try_launch(&provider, "i", attempt).await.expect_err("nothing comes");
        assert_eq!(error.class, FailureClass::Transient, "{error}");
    }
    place.fleet(|fleet| fleet.dry = false);
    until("it is there", async || try_launch(&provider, "i", 3).await.is_ok()).await;
    assert_eq!(place.changes(), ["increase g +1"]);
    assert_eq!(listed(&provider).await.len(), 1);
    assert_eq!(provider.list().await.expect("a listing").instances[0].launched_for, Some(("i".into(), 3)));
}

#[tokio::test]
async fn a_full_group_refuses_what_is_too_much() {
    let place = Place::new(Fleet { max: 2, ..Fleet::default() }).await;
    let provider = place.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for instance in ["i", "j", "k", "l"] {
        let provider = provider.clone();
        tasks.spawn(async move { try_launch(&provider, instance, 1).await });
    }
    let (made, refused): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len(), place.target()), (2, 2, 2));
    for error in refused.into_iter().filter_map(Result::err) {
        assert_eq!((error.class, error.code), (FailureClass::Quota, "OSTLER-P309"));
    }
}

#[tokio::test]
async fn a_refused_size_refuses_the_launch_by_its_class() {
    let place = Place::new(Fleet::default()).await;
    let provider = place.open().await;
    for (code, class) in [
        (Code::ResourceExhausted, FailureClass::OutOfCapacity),
        (Code::PermissionDenied, FailureClass::Denied),
        (Code::InvalidArgument, FailureClass::Permanent),
    ] {
        place.cloud.world(|world| world.fault("NodeGroupIncreaseSize", &[Fault::Status(code)]));
        let error = try_launch(&provider, "i", 1).await.expect_err("refused");
        assert_eq!((error.class, error.code), (class, "OSTLER-P306"), "{error}");
    }
    assert_eq!(place.target(), 0);
    launch(&provider, "i").await;
    assert_eq!(place.changes(), ["increase g +1"], "what was refused is not waited for");
}

#[tokio::test]
async fn a_size_whose_answer_was_lost_or_is_shown_late_is_not_asked_for_twice() {
    let lag = ms(300);
    let mut place = Place::new(Fleet { lag, appears: ms(700), ..Fleet::default() }).await;
    place.config.timeout = ms(300);
    place.config.timing.settle = ms(20_000);
    place.cloud.world(|world| world.fault("NodeGroupIncreaseSize", &[Fault::LostAnswer]));
    let provider = place.open().await;
    launch_all(&provider, &["i", "j"]).await;
    assert_eq!((place.target(), place.alive().len()), (2, 2));
}

#[tokio::test]
async fn a_machine_that_is_missing_from_one_listing_is_the_same_again() {
    let place = Place::new(Fleet::default()).await;
    let provider = place.open().await;
    let id = launch(&provider, "i").await;
    let machines = place.cloud.world(|world| {
        let fleet = world.fleets.get_mut("g").expect("it is there");
        (fleet.target, fleet.dry) = (0, true);
        std::mem::take(&mut fleet.machines)
    });
    assert_eq!(listed(&provider).await, []);
    assert_eq!(launch(&provider, "i").await, id, "its token is known");
    place.fleet(|fleet| (fleet.target, fleet.machines) = (1, machines));
    assert_eq!(listed(&provider).await[0].1.as_deref(), Some("i"));
}

#[tokio::test]
async fn a_listing_is_whole_or_an_error() {
    let place = Place::new(Fleet::default().with(&["a"])).await;
    let provider = place.open().await;
    for call in ["Refresh", "NodeGroupNodes"] {
        place.cloud.world(|world| world.fault(call, &[Fault::Status(Code::Internal)]));
        let error = provider.list().await.expect_err("not whole");
        assert!(error.class == FailureClass::Transient && error.message.contains(call), "{error}");
    }
    place.fleet(|fleet| *fleet = std::mem::take(fleet).with(&["b", "b", ""]));
    let listing = provider.list().await.expect("whole, but for two");
    let ids: Vec<_> = listing.instances.iter().map(|machine| machine.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(
        listing.skipped,
        [
            "group g: b is listed twice; the first stands",
            "group g: \"\" is no id of a machine; it is left out"
        ]
    );
}

#[tokio::test]
async fn a_minimum_of_the_group_is_said() {
    let place = Place::new(Fleet { min: 1, ..Fleet::default().with(&["a"]) }).await;
    let provider = place.open().await;
    for _ in 0..2 {
        let error = provider.terminate(&"a".into()).await.expect_err("the group keeps it");
        assert_eq!((error.class, error.code), (FailureClass::Permanent, "OSTLER-P306"));
        assert!(error.message.contains("minimum"), "{error}");
    }
    assert_eq!(listed(&provider).await, [("a".into(), None, CloudPhase::Running)]);
}

#[tokio::test]
async fn a_pool_has_the_group_of_its_template_or_of_its_name() {
    let place = Place::new(Fleet::default()).await;
    let provider = place.open().await;
    for (template, code, word) in [
        (serde_json::Value::Null, "OSTLER-P311", "group \"p\""),
        (serde_json::json!({"group": "theirs"}), "OSTLER-P311", "theirs"),
        (serde_json::json!({"grup": "g"}), "OSTLER-P301", "grup"),
    ] {
        let spec = ostler_provider::LaunchSpec { template, ..spec("i") };
        let error = provider.launch(&spec, &LaunchToken::of(&spec.instance, 1)).await.expect_err("refused");
        assert!(error.code == code && error.message.contains(word), "{error}");
    }
    assert_eq!(place.cloud.world(|world| world.calls.len()), 0, "nothing was asked");
}
