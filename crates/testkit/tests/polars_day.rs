//! A day of a Polars cluster in virtual time, with the real service before Ostler's engine and a provider that fails:
//! no query may fail by Ostler's doing.
#![allow(clippy::print_stdout, reason = "progress of a long test")]

use ostler_testkit::polars::client::Client;
use ostler_testkit::polars::random::Random;
use ostler_testkit::polars::scheduler::{Scheduler, Settings};
use ostler_testkit::polars::world::{Faults, World};

const DAY_S: u64 = 24 * 3600;
const MAX: u32 = 10;

/// Queries come and go by chance, never more than fit together, now and then one that wants more than there may be.
async fn day(over_grpc: bool, seed: u64) {
    let settings = Settings { pushed: false, ..Settings::default() };
    let scheduler = Scheduler::start(settings).expect("it has its number of workers");
    // Each shorter than a query waits for its workers: whatever fails then failed by Ostler's doing.
    let faults =
        Faults { outage: 60_000, no_capacity: 150_000, never_ready: 60, kill: 900, refused_commit: 50 };
    let (mut world, rest, grpc) = World::new(MAX, scheduler, faults, seed);
    let client = if over_grpc { Client::grpc(grpc) } else { Client::Rest(rest) };
    let mut chance = Random(seed);
    let seconds = std::env::var("DAY_S").ok().and_then(|text| text.parse().ok()).unwrap_or(DAY_S);
    for second in 0..seconds {
        if chance.once_in(70) {
            let wants =
                if chance.once_in(50) { 100 } else { u32::try_from(chance.between(1, 6)).expect("small") };
            let demand = world.scheduler.demand();
            let fits = demand + wants <= 2 * MAX || demand == 0;
            if fits {
                world.scheduler.submit(world.now, Some(wants), chance.between(10_000, 400_000));
            }
        }
        if second % 7200 == 7199 {
            world.scheduler.leader_changes(world.now);
        }
        let before = world.scheduler.failed.len();
        world.step(&client, 1000).await;
        if world.scheduler.failed.len() > before {
            println!("{}", world.records());
        }
    }
    let (finished, failed) = (world.scheduler.finished, &world.scheduler.failed);
    let (accepted, lives) = (world.scheduler.accepted, world.lives);
    println!("{finished} queries, {accepted} requests accepted, {lives} lives, failed: {failed:?}");
    assert_eq!(
        world.wronged,
        Vec::<String>::new(),
        "workers that held a query, or were to be kept, were ended"
    );
    assert!(failed.is_empty(), "{failed:?}");
    assert!(
        finished > 500 && accepted > 100 && lives > 20,
        "{finished} queries, {accepted} requests, {lives} lives"
    );
}

#[tokio::test]
async fn a_day_over_rest() {
    day(false, 1).await;
}

#[tokio::test]
async fn a_day_over_grpc() {
    day(true, 2).await;
}
