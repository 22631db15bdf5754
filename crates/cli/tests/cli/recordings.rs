//! `plan` and `replay`: recorded passes, planned again.

use crate::world::World;
use expect_test::expect;
use ostler_model::{
    Demand, Labels, Node, NodeStatus, Observed, Policy, Pool, Quantity, Resources, Shape, Task, Timestamp,
    WorkloadState,
};
use ostler_planner::{Memory, Snapshot, plan};
use ostler_wire::Recording;
use std::collections::BTreeMap;

const NOW: Timestamp = Timestamp(1_790_000_000_000);

fn resources(amounts: &[(&str, i64)]) -> Resources {
    amounts.iter().map(|&(name, amount)| (name, Quantity::units(amount))).collect()
}

fn pool(id: &str, max: u32, amounts: &[(&str, i64)]) -> Pool {
    Pool {
        id: id.into(),
        workload: "demo".into(),
        provider: "local".into(),
        resources: resources(amounts),
        labels: Labels::new(),
        min: 0,
        max,
        idle_timeout: None,
        priority: 0,
        launch_hash: "h".to_owned(),
        instance_type: String::new(),
        node: None,
    }
}

fn head() -> Node {
    Node {
        id: "0101".into(),
        cloud: None,
        pool: Some("head".into()),
        head: true,
        status: NodeStatus::Running,
        idle: ostler_model::Millis(0),
        total: resources(&[("CPU", 1)]),
        available: Resources::default(),
        labels: Labels::new(),
        address: "10.0.0.1".to_owned(),
        instance_type: String::new(),
        activity: Vec::new(),
    }
}

/// A cluster with a busy head, and tasks that wait for such resources.
fn snapshot(tasks: &[(&[(&str, i64)], u64)]) -> Snapshot {
    let task = |&(amounts, count): &(&[(&str, i64)], u64)| Task {
        shape: Shape { resources: resources(amounts), selectors: Vec::new() },
        count,
    };
    let state = WorkloadState {
        version: 1,
        session: "s1".to_owned(),
        nodes: vec![head()].into(),
        demand: Demand { tasks: tasks.iter().map(task).collect(), ..Demand::default() },
        ..WorkloadState::default()
    };
    Snapshot {
        now: NOW,
        workload: "demo".into(),
        policy: Policy { head_pool: Some("head".into()), ..Policy::default() },
        pools: vec![
            pool("head", 0, &[("CPU", 1)]),
            pool("small", 4, &[("CPU", 1)]),
            pool("large", 4, &[("CPU", 4)]),
        ],
        state: Some(Observed { at: NOW, result: Ok(state) }),
        listings: BTreeMap::from([("local".into(), Observed { at: NOW, result: Ok(Vec::new()) })]),
        reports: Vec::new(),
        instances: Vec::new(),
        memory: Memory { seed: 42, session: "s1".to_owned(), ..Memory::default() },
    }
}

/// Two right recordings: nothing to do, and two waiting tasks of which one is too large for any pool.
fn recorded(world: &World) {
    let quiet = snapshot(&[]);
    let grow = snapshot(&[(&[("CPU", 3)], 1), (&[("GPU", 1)], 2)]);
    for (name, snapshot) in [("demo-1.json", quiet), ("demo-2.json", grow)] {
        let planned = plan(&snapshot);
        write(world, name, &Recording::new(snapshot, Some(planned)).to_text());
    }
}

fn write(world: &World, name: &str, text: &str) {
    std::fs::write(world.path().join(name), text).expect("written");
}

#[test]
fn a_plan_in_words() {
    let world = World::new();
    recorded(&world);
    world.check("plan demo-2.json", expect![[r#"
        Plan for demo at 2026-09-21T14:13:20Z

        Steps
          INSTANCE      POOL   WHAT              WHY
          i-0000002a-1  large  created           wanted for waiting requests [launch_demand]
          i-0000002a-1  large  launch_requested  handed to the provider [launch_turn]

        Notes
          ABOUT         HOW BAD  WHAT
          demand GPU 1  warning  head is the head's and gives no workers; small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0) [infeasible]

        Without a place
          DEMAND  KIND    COUNT  WHY
          GPU 1   demand  2      head is the head's and gives no workers; small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0)

        Machines after it
          INSTANCE      POOL   STATE      WHY
          i-0000002a-1  large  requested
        --- exit 0
    "#]]);
    world.check(
        "plan demo-1.json",
        expect![[r#"
        Plan for demo at 2026-09-21T14:13:20Z
        Nothing is to be done.
        --- exit 0
    "#]],
    );
    world.check(
        "plan demo-2.json --diff",
        expect![[r#"
        The plans are the same.
        --- exit 0
    "#]],
    );
}

#[test]
fn a_plan_for_programs_is_the_recorded_one_byte_for_byte() {
    let world = World::new();
    recorded(&world);
    let text = std::fs::read_to_string(world.path().join("demo-2.json")).expect("it is there");
    let recording = Recording::from_text(&text).expect("a recording");
    let output = world.command("plan demo-2.json --format json").output().expect("it runs");
    let expected = Recording::plan_text(&recording.plan.expect("it was planned"));
    assert!(String::from_utf8_lossy(&output.stdout) == expected && output.status.success());
}

#[test]
fn a_plan_that_differs_from_the_recorded_one() {
    let world = World::new();
    let (recorded, now) = (snapshot(&[(&[("CPU", 1)], 2)]), snapshot(&[(&[("CPU", 3)], 2)]));
    write(&world, "other.json", &Recording::new(now.clone(), Some(plan(&recorded))).to_text());
    world.check(
        "plan other.json --diff",
        expect![[r#"
            Steps
            - i-0000002a-1  small  created  wanted for waiting requests [launch_demand]
            - i-0000002a-2  small  created  wanted for waiting requests [launch_demand]
            - i-0000002a-1  small  launch_requested  handed to the provider [launch_turn]
            + i-0000002a-1  large  created  wanted for waiting requests [launch_demand]
            + i-0000002a-2  large  created  wanted for waiting requests [launch_demand]
            + i-0000002a-1  large  launch_requested  handed to the provider [launch_turn]
            Machines after it
            - i-0000002a-1  small  requested
            - i-0000002a-2  small  queued  waits: its pool grows by at most 1 at a time [held_speed]
            + i-0000002a-1  large  requested
            + i-0000002a-2  large  queued  waits: its pool grows by at most 1 at a time [held_speed]
            --- exit 1
        "#]],
    );
    world.check(
        "plan other.json --diff --format json",
        expect![[r#"
            {
              "same": false,
              "differences": [
                {
                  "section": "Steps",
                  "removed": [
                    "i-0000002a-1  small  created  wanted for waiting requests [launch_demand]",
                    "i-0000002a-2  small  created  wanted for waiting requests [launch_demand]",
                    "i-0000002a-1  small  launch_requested  handed to the provider [launch_turn]"
                  ],
                  "added": [
                    "i-0000002a-1  large  created  wanted for waiting requests [launch_demand]",
                    "i-0000002a-2  large  created  wanted for waiting requests [launch_demand]",
                    "i-0000002a-1  large  launch_requested  handed to the provider [launch_turn]"
                  ]
                },
                {
                  "section": "Machines after it",
                  "removed": [
                    "i-0000002a-1  small  requested",
                    "i-0000002a-2  small  queued  waits: its pool grows by at most 1 at a time [held_speed]"
                  ],
                  "added": [
                    "i-0000002a-1  large  requested",
                    "i-0000002a-2  large  queued  waits: its pool grows by at most 1 at a time [held_speed]"
                  ]
                }
              ]
            }
            --- exit 1
        "#]],
    );
    world.check(
        "replay other.json",
        expect![[r#"
            other.json differs
            Steps
            - i-0000002a-1  small  created  wanted for waiting requests [launch_demand]
            - i-0000002a-2  small  created  wanted for waiting requests [launch_demand]
            - i-0000002a-1  small  launch_requested  handed to the provider [launch_turn]
            + i-0000002a-1  large  created  wanted for waiting requests [launch_demand]
            + i-0000002a-2  large  created  wanted for waiting requests [launch_demand]
            + i-0000002a-1  large  launch_requested  handed to the provider [launch_turn]
            Machines after it
            - i-0000002a-1  small  requested
            - i-0000002a-2  small  queued  waits: its pool grows by at most 1 at a time [held_speed]
            + i-0000002a-1  large  requested
            + i-0000002a-2  large  queued  waits: its pool grows by at most 1 at a time [held_speed]

            1 planned again, 1 differ
            machines wanted: 2 recorded, 2 now
            machines removed: 0 recorded, 0 now
            --- exit 1
        "#]],
    );
    write(&world, "failed.json", &Recording::new(now, None).to_text());
    world.check("plan failed.json --diff", expect![[r#"
        --- stderr
        error: failed.json holds no plan, since planning failed when it was recorded: there is nothing to compare with. Give a --policy to compare two policies [OSTLER-U007]
        --- exit 3
    "#]]);
    world.check(
        "replay failed.json",
        expect![[r#"
        failed.json: planning failed when it was recorded, and works now
        1 planned again, 0 differ
        machines wanted: 0 recorded, 2 now
        machines removed: 0 recorded, 0 now
        --- exit 0
    "#]],
    );
}

#[test]
fn another_policy() {
    let world = World::new();
    recorded(&world);
    world.check("plan demo-2.json --diff --policy ray-exact", expect![[r#"
        Notes
        - demand GPU 1  warning  head is the head's and gives no workers; small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0) [infeasible]
        + demand GPU 1  warning  head is too small (GPU: asks 1, a machine has 0); small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0) [infeasible]
        Without a place
        - GPU 1  demand  2  head is the head's and gives no workers; small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0)
        + GPU 1  demand  2  head is too small (GPU: asks 1, a machine has 0); small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0)
        --- exit 1
    "#]]);
    world.check("replay . --policy ray-exact", expect![[r#"
        demo-2.json differs
        Notes
        - demand GPU 1  warning  head is the head's and gives no workers; small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0) [infeasible]
        + demand GPU 1  warning  head is too small (GPU: asks 1, a machine has 0); small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0) [infeasible]
        Without a place
        - GPU 1  demand  2  head is the head's and gives no workers; small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0)
        + GPU 1  demand  2  head is too small (GPU: asks 1, a machine has 0); small is too small (GPU: asks 1, a machine has 0); large is too small (GPU: asks 1, a machine has 0)

        2 planned again, 1 differ
        machines wanted: 1 recorded, 1 now
        machines removed: 0 recorded, 0 now
        --- exit 1
    "#]]);
}

#[test]
fn a_directory_planned_again() {
    let world = World::new();
    world.check(
        "replay .",
        expect![[r#"
        --- stderr
        error: there are no recordings (*.json) in .: `ostler run --record DIR` writes them [OSTLER-U008]
        --- exit 3
    "#]],
    );
    recorded(&world);
    world.check(
        "replay .",
        expect![[r#"
        2 planned again, 0 differ
        machines wanted: 1 recorded, 1 now
        machines removed: 0 recorded, 0 now
        --- exit 0
    "#]],
    );
    write(&world, "demo-3.json", "{\"format\": 1");
    write(&world, "demo-4.json", "{\"format\": 7}");
    world.check("replay .", expect![[r#"
        2 planned again, 0 differ, 2 cannot be read
        machines wanted: 1 recorded, 1 now
        machines removed: 0 recorded, 0 now
        --- stderr
        error: ./demo-3.json: the recording cannot be read: EOF while parsing an object at line 1 column 12. Was it written by Ostler, and is it whole? [OSTLER-W001]
        error: ./demo-4.json: the recording has format 7, this Ostler reads format 1. Use the Ostler that wrote it [OSTLER-W002]
        --- exit 3
    "#]]);
    world.check("replay . --format json", expect![[r#"
        {"file":"demo-1.json","same":true,"launches":[0,0],"removals":[0,0],"differences":[]}
        {"file":"demo-2.json","same":true,"launches":[1,1],"removals":[0,0],"differences":[]}
        --- stderr
        error: ./demo-3.json: the recording cannot be read: EOF while parsing an object at line 1 column 12. Was it written by Ostler, and is it whole? [OSTLER-W001]
        error: ./demo-4.json: the recording has format 7, this Ostler reads format 1. Use the Ostler that wrote it [OSTLER-W002]
        --- exit 3
    "#]]);
    world.check("plan demo-3.json", expect![[r#"
        --- stderr
        error: demo-3.json: the recording cannot be read: EOF while parsing an object at line 1 column 12. Was it written by Ostler, and is it whole? [OSTLER-W001]
        --- exit 3
    "#]]);
    world.check("plan missing.json", expect![[r#"
        --- stderr
        error: cannot read missing.json: No such file or directory (os error 2). Check the path and the rights [OSTLER-U001]
        --- exit 3
    "#]]);
}
