//! Lines 84 to 87: the record of one instance.

use ostler_lifecycle::{Event, Instance, State, StateName};
use ostler_model::{LaunchCause, NodeKind, Timestamp};

/// A record begins as a wish or as a machine that was found, and by no other way.
#[test]
fn b84_a_new_record_begins_queued_or_allocated() {
    let wish = Instance::queued("i".into(), 1, "p".into(), LaunchCause::Min, Timestamp(1));
    assert_eq!((wish.state(), wish.kind()), (&State::Queued, NodeKind::Worker));
    let found = Instance::adopted("j".into(), 2, "p".into(), NodeKind::Head, "c".into(), Timestamp(1));
    assert_eq!((found.state(), found.kind()), (&State::Allocated { cloud: "c".into() }, NodeKind::Head));
}

#[test]
fn b86_status_time() {
    let mut i = Instance::queued("i".into(), 1, "p".into(), LaunchCause::Min, Timestamp(1));
    let asked = Event::LaunchRequested { launch_hash: String::new() };
    for (event, at) in [(&asked, 2), (&Event::LaunchRequeued, 3), (&asked, 4)] {
        i.transition(event, Timestamp(at)).expect("legal");
    }
    let times = i.history().iter().map(|entered| (entered.state, entered.at.0)).collect::<Vec<_>>();
    let (queued, requested) = (StateName::Queued, StateName::Requested);
    assert_eq!(times, [(queued, 1), (requested, 2), (queued, 3), (requested, 4)]);
}

/// A machine is there exactly in the states that carry its id.
#[test]
fn b87_is_cloud_instance_allocated() {
    let mut i = Instance::queued("i".into(), 1, "p".into(), LaunchCause::Min, Timestamp(1));
    assert_eq!(i.state().cloud(), None);
    let way = [
        (Event::LaunchRequested { launch_hash: String::new() }, None),
        (Event::Allocated { cloud: "c".into() }, Some("c")),
        (Event::NodeUp { node: "n".into() }, Some("c")),
        (Event::NodeDraining, Some("c")),
        (Event::NodeGone { cause: ostler_model::EndCause::NodeDead }, Some("c")),
        (Event::TerminationRequested { cause: ostler_model::EndCause::NodeDead }, Some("c")),
        (Event::MachineGone { cause: ostler_model::EndCause::Vanished }, None),
    ];
    for (event, cloud) in way {
        i.transition(&event, Timestamp(2)).expect("legal");
        assert_eq!(i.state().cloud().map(ostler_model::CloudId::as_str), cloud, "after {event}");
    }
}
