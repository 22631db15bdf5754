//! Tags and errors, text by text.

use ostler_model::{Failure, FailureClass, LaunchToken, NodeKind};
use ostler_provider::{LaunchSpec, ProviderError, tags};
use std::collections::BTreeMap;

fn spec() -> LaunchSpec {
    LaunchSpec {
        workload: "w".into(),
        pool: "p".into(),
        instance: "i".into(),
        attempt: 2,
        kind: NodeKind::Head,
        instance_type: "m".into(),
        resources: Default::default(),
        labels: Default::default(),
        tags: BTreeMap::from([("team".into(), "blue".into())]),
        template: serde_json::Value::Null,
        environment: BTreeMap::from([("RAY_AUTH_TOKEN".into(), "a-secret".into())]),
    }
}

#[test]
fn tags_are_read_as_they_were_written() {
    let written = tags::write("site", &spec(), &LaunchToken::from("i.2")).expect("good tags");
    assert_eq!(written["team"], "blue");
    let read = tags::read("site", &written).expect("of this site").expect("whole");
    assert_eq!((read.workload.as_str(), read.pool.as_str(), read.token.as_str()), ("w", "p", "i.2"));
    assert_eq!((read.launched_for, read.kind), (("i".into(), 2), NodeKind::Head));
    assert_eq!(tags::read("another", &written), None);
    assert_eq!(tags::read("site", &BTreeMap::new()), None);
}

#[test]
fn a_missing_or_wrong_tag_is_named() {
    let whole = tags::write("site", &spec(), &LaunchToken::from("i.2")).expect("good tags");
    for key in [tags::WORKLOAD, tags::POOL, tags::INSTANCE, tags::ATTEMPT, tags::KIND, tags::TOKEN] {
        let mut tags = whole.clone();
        tags.remove(key);
        assert_eq!(tags::read("site", &tags), Some(Err(format!("tag {key:?} is missing"))));
    }
    for key in [tags::ATTEMPT, tags::KIND] {
        let mut tags = whole.clone();
        tags.insert(key.into(), "odd".into());
        let why = tags::read("site", &tags).expect("of this site").expect_err("wrong");
        assert!(why.contains(key) && why.contains("odd"), "{why}");
    }
}

#[test]
fn a_failure_keeps_class_message_and_code() {
    let error = ProviderError::new(FailureClass::Quota, "OSTLER-P999", "too many");
    let expected = Failure { class: FailureClass::Quota, message: "too many [OSTLER-P999]".into() };
    assert_eq!(Failure::from(error), expected);
}

#[test]
fn no_secret_in_a_printed_spec() {
    let text = format!("{:?}", spec());
    assert!(text.contains("RAY_AUTH_TOKEN") && !text.contains("a-secret"), "{text}");
}
