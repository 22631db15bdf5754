//! What is said of workloads that are scaled to a number (Polars).

use crate::world::World;
use expect_test::expect;
use ostler_console::{Counters, ReadModel};
use ostler_wire::Status;
use std::sync::Arc;

/// Four clusters: one that asked for more than it can have, one whose provider chooses its victims, one that has
/// never asked, and one whose scheduler asks for no more.
#[derive(Debug)]
struct Clusters;

impl ReadModel for Clusters {
    fn status(&self) -> Status {
        serde_json::from_str(include_str!("../data/polars.json")).expect("the fixture is a status")
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

fn world() -> World {
    World::serving_this(Arc::new(Clusters), None)
}

#[test]
fn status() {
    world().check("status", expect![[r#"
        Ostler 0.1.0, running for 2 h 5 min

        Workload analytics (polars), seen 0.4 s ago, planned 0.3 s ago
          12 workers asked for 2 s ago; 10 aimed for, 2 ready, short of 6; from 1 to 10

          POOL    MIN  MAX  MACHINES                                         TROUBLE
          spot    0    6    1 running                                        not asked for another 9 s: its machines end before or just after their node is up; it rests
          steady  1    4    1 queued, 1 allocated, 1 running, 1 terminating  not asked for another 4 s: 4 of 4 instances are in use (quota)

          INSTANCE      POOL    STATE        FOR     NODE          WHY
          i-0000002a-1  spot    running      1 h     i-0000002a-1  whoever asked for workers wants this one kept [kept]
          i-0000002a-2  steady  terminating  2 s     i-0000002a-2  it was named as one that should go [removed_asked]
          i-0000002a-3  steady  running      10 min  i-0000002a-3  one of the number of workers that is aimed for [kept]
          i-0000002a-4  steady  allocated    20 s    -             on its way [kept]
          i-0000002a-5  steady  queued       1 s     -             waits: machines on their way out still take the room [held_room]

        Workload group (polars), seen 0.4 s ago, planned 0.3 s ago
          2 workers asked for 1 min ago; 2 aimed for, 2 ready; from 0 to 8

          POOL   MIN  MAX  MACHINES   TROUBLE
          fleet  0    8    2 running  -

          INSTANCE       POOL   STATE    FOR     NODE           WHY
          i-0000002a-21  fleet  running  15 min  i-0000002a-21  whoever asked for workers wants this one kept [kept]
          i-0000002a-22  fleet  running  15 min  i-0000002a-22  protected, or not ours to judge [kept]

        Workload new (polars), seen 0.4 s ago, planned 0.3 s ago
          no number of workers asked for yet; 0 aimed for, 0 ready; from 0 to 8

          POOL    MIN  MAX  MACHINES  TROUBLE
          worker  0    8    none      -

        Workload quiet (polars), seen 0.4 s ago, planned 0.3 s ago
          1 workers asked for 15 min ago; 1 aimed for, 1 ready; from 0 to 8

          POOL    MIN  MAX  MACHINES   TROUBLE
          worker  0    8    1 running  -

          INSTANCE       POOL    STATE    FOR     NODE           WHY
          i-0000002a-11  worker  running  15 min  i-0000002a-11  one of the number of workers that is aimed for [kept]

        PROVIDER  MACHINES  LISTED     TROUBLE
        cloud     7         0.2 s ago  -
        --- exit 0
    "#]]);
}

/// What was asked for last, what was clamped and protected, and why it is not there yet: a pool whose workers crash,
/// a pool whose quota is used up.
#[test]
fn a_cluster_that_cannot_have_what_it_asked_for() {
    world().check(
        "explain workload:analytics",
        expect![[r#"
            workload analytics
              it is seen and planned

              kind                 polars
              seen                 0.4 s ago
              planned              0.3 s ago
              nodes                2
              machines             5
              asked for            12 workers, 1 s ago (wish 7); it has asked for nothing else since
              clamped              to 10, the bounds are 1 and 10
              must stay            i-0000002a-1
              go first             i-0000002a-2
              aimed for            10, of which 2 are ready
              bounds of all pools  1 to 10
              short of             6 that no pool can give just now
            --- exit 0
        "#]],
    );
    world().check(
        "explain pool:spot",
        expect![[r#"
            pool spot of analytics
              not asked for another 9 s: its machines end before or just after their node is up; it rests

              bounds               0 to 6
              asked for            12 workers, 1 s ago (wish 7); it has asked for nothing else since
              clamped              to 10, the bounds are 1 and 10
              must stay            i-0000002a-1
              go first             i-0000002a-2
              aimed for            10, of which 2 are ready
              bounds of all pools  1 to 10
              short of             6 that no pool can give just now
              i-0000002a-1         running for 1 h: whoever asked for workers wants this one kept [kept]
            --- exit 0
        "#]],
    );
    world().check("explain pool:steady", expect![[r#"
        pool steady of analytics
          not asked for another 4 s: 4 of 4 instances are in use (quota)

          bounds               1 to 4
          asked for            12 workers, 1 s ago (wish 7); it has asked for nothing else since
          clamped              to 10, the bounds are 1 and 10
          must stay            i-0000002a-1
          go first             i-0000002a-2
          aimed for            10, of which 2 are ready
          bounds of all pools  1 to 10
          short of             6 that no pool can give just now
          i-0000002a-2         terminating for 2 s: it was named as one that should go [removed_asked]
          i-0000002a-3         running for 10 min: one of the number of workers that is aimed for [kept]
          i-0000002a-4         allocated for 20 s: on its way [kept]
          i-0000002a-5         queued for 1 s: waits: machines on their way out still take the room [held_room]
        --- exit 0
    "#]]);
}

/// Why one worker is kept, goes, stays, is not ready, or waits.
#[test]
fn workers() {
    for (worker, why) in [
        ("i-0000002a-1", "wants this one kept"),
        ("i-0000002a-2", "named as one that should go"),
        ("i-0000002a-3", "one of the number of workers that is aimed for"),
        ("i-0000002a-4", "on its way"),
        ("i-0000002a-5", "machines on their way out still take the room"),
    ] {
        let output = world().command(&format!("explain {worker}")).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(why), "{worker}: no {why:?} in {text}");
    }
    world().check(
        "explain i-0000002a-1",
        expect![[r#"
        instance i-0000002a-1 of analytics
          running for 1 h
          because whoever asked for workers wants this one kept [kept]
            The machine stays.

          pool           spot
          made for       target
          machine        m-1
          node           i-0000002a-1
          node's status  running
          address        10.0.0.1
        --- exit 0
    "#]],
    );
}

#[test]
fn a_cluster_whose_provider_chooses_itself() {
    world().check("explain workload:group", expect![[r#"
        workload group
          it is seen and planned

          kind                 polars
          seen                 0.4 s ago
          planned              0.3 s ago
          nodes                2
          machines             2
          asked for            2 workers, 59 s ago (wish 3)
          must stay            i-0000002a-21
          refused              1 workers, 4 s ago, with 1 that must stay: pool fleet cannot spare them, its provider chooses itself
          aimed for            2, of which 2 are ready
          bounds of all pools  0 to 8
        --- exit 0
    "#]]);
}

/// The autoscaler does not guess: as long as nobody asks for more there is nothing more.
#[test]
fn a_scheduler_that_does_not_ask() {
    world().check(
        "explain workload:new",
        expect![[r#"
        workload new
          it is seen and planned

          kind                 polars
          seen                 0.4 s ago
          planned              0.3 s ago
          nodes                0
          machines             0
          asked for            nothing yet: what runs stays
          aimed for            0, of which 0 are ready
          bounds of all pools  0 to 8
        --- exit 0
    "#]],
    );
    world().check(
        "explain pool:worker --workload quiet",
        expect![[r#"
            pool worker of quiet
              it has 1 running

              bounds               0 to 8
              asked for            1 workers, 14 min 59 s ago (wish 1); it has asked for nothing else since
              aimed for            1, of which 1 are ready
              bounds of all pools  0 to 8
              i-0000002a-11        running for 15 min: one of the number of workers that is aimed for [kept]
            --- exit 0
        "#]],
    );
}
