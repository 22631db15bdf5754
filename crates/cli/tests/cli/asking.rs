//! `status` and `explain`: what is asked of a running Ostler.

use crate::fixture::STATUS;
use crate::world::World;
use expect_test::expect;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn status_in_short() {
    World::serving(None).check("status", expect![[r#"
        Ostler 0.1.0, running for 2 h 5 min

        Workload batch (ray), seen 2 s ago, planned 1 s ago
          It cannot be seen, and nothing is decided: 10.0.9.1:6379 does not answer (transient) [held_unobserved]

          POOL  MIN  MAX  MACHINES  TROUBLE
          cpu   0    3    none      -

        Workload demo (ray), seen 0.4 s ago, planned 0.3 s ago
          Left aside: node 09090909 belongs to a pool that the configuration no longer has

          POOL  MIN  MAX  MACHINES                                      TROUBLE
          head  0    0    1 running                                     -
          cpu   1    5    1 queued, 1 requested, 2 running, 1 draining  -
          gpu   0    2    none                                          not asked for another 25 s: no p3.2xlarge left in zone a (out_of_capacity)

          INSTANCE      POOL  STATE      FOR        NODE          WHY
          i-0000002a-1  head  running    2 h 3 min  010101010101  it is the head [kept]
          i-0000002a-2  cpu   running    1 h        020202020202  something runs on it [kept]
          i-0000002a-3  cpu   running    10 min     030303030303  idle, but not for long enough [kept]
          i-0000002a-5  cpu   draining   8 s        050505050505  idle for longer than the timeout, and nothing needs it [removed_idle]
          i-0000002a-6  cpu   requested  21 s       -             on its way [kept]
          i-0000002a-7  cpu   queued     1 s        -             waits: 1 launches are under way, the most that may be [held_concurrent]

          DEMAND                           KIND   COUNT  STATE
          CPU 1                            task   12     has a place
          CPU 1, GPU 1                     task   3      no place for 3: head is the head's and gives no workers; cpu is too small (GPU: asks 1, a machine has 0); gpu was refused by its provider a moment ago
          STRICT_SPREAD pg-7: 2 × (CPU 2)  gang   1      has a place
          standing request: 1 × (CPU 4)    floor  1      has a place

        PROVIDER  MACHINES  LISTED         TROUBLE
        local     4         0.2 s ago      -
        spot      0         1 min 1 s ago  the credentials have expired (denied)
        --- exit 0
    "#]]);
}

#[test]
fn status_with_the_nodes() {
    World::serving(None).check("status -v", expect![[r#"
        Ostler 0.1.0, running for 2 h 5 min

        Workload batch (ray), seen 2 s ago, planned 1 s ago
          session unknown
          It cannot be seen, and nothing is decided: 10.0.9.1:6379 does not answer (transient) [held_unobserved]

          POOL  MIN  MAX  MACHINES  TROUBLE
          cpu   0    3    none      -

        Workload demo (ray), seen 0.4 s ago, planned 0.3 s ago
          session session_2026-09-21_10-13-20_1
          Left aside: node 09090909 belongs to a pool that the configuration no longer has

          POOL  MIN  MAX  MACHINES                                      TROUBLE
          head  0    0    1 running                                     -
          cpu   1    5    1 queued, 1 requested, 2 running, 1 draining  -
          gpu   0    2    none                                          not asked for another 25 s: no p3.2xlarge left in zone a (out_of_capacity)

          INSTANCE      POOL  STATE      FOR        MADE FOR  MACHINE  NODE                                                      WHY
          i-0000002a-1  head  running    2 h 3 min  -         m-1      01010101010101010101010101010101010101010101010101010101  it is the head [kept]
          i-0000002a-2  cpu   running    1 h        min       m-2      02020202020202020202020202020202020202020202020202020202  something runs on it [kept]
          i-0000002a-3  cpu   running    10 min     demand    m-3      03030303030303030303030303030303030303030303030303030303  idle, but not for long enough [kept]
          i-0000002a-5  cpu   draining   8 s        demand    m-5      05050505050505050505050505050505050505050505050505050505  idle for longer than the timeout, and nothing needs it [removed_idle]
          i-0000002a-6  cpu   requested  21 s       gang      -        -                                                         on its way [kept]
          i-0000002a-7  cpu   queued     1 s        demand    -        -                                                         waits: 1 launches are under way, the most that may be [held_concurrent]

          NODE                                                             POOL  STATUS    IDLE       ADDRESS   TYPE       USED                                      ACTIVITY
          01010101010101010101010101010101010101010101010101010101 (head)  head  running   -          10.0.0.1  m5.large   CPU 0 of 2, memory 0 B of 4.0 GiB         the head
          02020202020202020202020202020202020202020202020202020202         cpu   running   -          10.0.0.2  m5.xlarge  CPU 3.5 of 4, memory 4.0 GiB of 16.0 GiB  Busy workers on node.
          03030303030303030303030303030303030303030303030303030303         cpu   idle      2 min 5 s  10.0.0.3  m5.xlarge  CPU 0 of 4, memory 0 B of 16.0 GiB        -
          05050505050505050505050505050505050505050505050505050505         cpu   draining  -          10.0.0.5  m5.xlarge  CPU 0 of 4, memory 0 B of 16.0 GiB        -
          09090909090909090909090909090909090909090909090909090909         old   idle      15 min     10.0.0.9  -          CPU 0 of 1                                -

          DEMAND                           KIND   COUNT  STATE
          CPU 1                            task   12     has a place
          CPU 1, GPU 1                     task   3      no place for 3: head is the head's and gives no workers; cpu is too small (GPU: asks 1, a machine has 0); gpu was refused by its provider a moment ago
          STRICT_SPREAD pg-7: 2 × (CPU 2)  gang   1      has a place
          standing request: 1 × (CPU 4)    floor  1      has a place

        PROVIDER  MACHINES  LISTED         TROUBLE
        local     4         0.2 s ago      -
        spot      0         1 min 1 s ago  the credentials have expired (denied)
        --- exit 0
    "#]]);
}

#[test]
fn status_for_programs_is_the_document() {
    let output = World::serving(None).command("status --format json").output().expect("it runs");
    let (shown, fixture): (serde_json::Value, serde_json::Value) =
        (serde_json::from_slice(&output.stdout).expect("JSON"), serde_json::from_str(STATUS).expect("JSON"));
    assert!(shown == fixture && output.status.success());
}

#[test]
fn status_again_and_again() {
    let world = World::serving(None);
    let mut child =
        world.command("status --watch --format json").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for _ in 0..2 {
        let line = lines.next().expect("a picture").expect("text");
        assert!(line.starts_with("{\"format\":1,"), "{line}");
    }
    // The reader goes away: that is the end, and no error.
    drop(lines);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn nobody_answers() {
    World::new().check("status", expect![[r#"
        --- stderr
        error: no Ostler answers at API: io: Connection refused (os error 111). Is `ostler run` running, and is this its address (--api)? [OSTLER-U002]
        --- exit 3
    "#]]);
    World::new().check("explain cpu", expect![[r#"
        --- stderr
        error: no Ostler answers at API: io: Connection refused (os error 111). Is `ostler run` running, and is this its address (--api)? [OSTLER-U002]
        --- exit 3
    "#]]);
    World::new().check("status --api https://127.0.0.1:1", expect![[r#"
        --- stderr
        error: https://127.0.0.1:1 is no address of an API, which is plain HTTP: write `http://HOST:PORT` (--api) [OSTLER-U011]
        --- exit 3
    "#]]);
    World::new().check("status --api nonsense", expect![[r#"
        --- stderr
        error: nonsense is no address of an API, which is plain HTTP: write `http://HOST:PORT` (--api) [OSTLER-U011]
        --- exit 3
    "#]]);
}

#[test]
fn somebody_else_answers() {
    let world = World::serving(None);
    world.check(&format!("status --api {}/elsewhere", world.api()), expect![[r#"
        --- stderr
        error: what answers at API/elsewhere is not an Ostler of this kind: it answered with status 404. Check --api [OSTLER-U004]
        --- exit 3
    "#]]);
}

#[test]
fn the_token_must_be_right() {
    let world = World::serving(Some("s3cret"));
    world.check(
        "status",
        expect![[r#"
        --- stderr
        error: the Ostler at API wants its token: give the right one with --token-file [OSTLER-U003]
        --- exit 3
    "#]],
    );
    std::fs::write(world.path().join("wrong"), "guess\n").expect("written");
    world.check(
        "status --token-file wrong",
        expect![[r#"
        --- stderr
        error: the Ostler at API wants its token: give the right one with --token-file [OSTLER-U003]
        --- exit 3
    "#]],
    );
    world.check("status --token-file missing", expect![[r#"
        --- stderr
        error: cannot read missing: No such file or directory (os error 2). Check the path and the rights [OSTLER-U001]
        --- exit 3
    "#]]);
    std::fs::write(world.path().join("right"), "s3cret\n").expect("written");
    let output = world.command("status --token-file right").output().expect("it runs");
    assert!(output.status.success());
}

#[test]
fn explain_demand_that_waits() {
    World::serving(None).check(
        "explain gpu --workload demo",
        expect![[r#"
        pool gpu of demo
          not asked for another 25 s: no p3.2xlarge left in zone a (out_of_capacity)

          each machine  CPU 8, GPU 1
          bounds        0 to 2
          cannot take   3 × CPU 1, GPU 1: it was refused by its provider a moment ago
        --- exit 0
    "#]],
    );
    World::serving(None).check("explain demand:GPU", expect![[r#"
        task 1: CPU 1, GPU 1 of demo
          no pool can take 3 of 3
          because head is the head's and gives no workers; cpu is too small (GPU: asks 1, a machine has 0); gpu was refused by its provider a moment ago [infeasible]
            No pool can take this demand.
            The list says why for each pool: add a pool, raise a maximum, or ask for less.

          asked for  3 × task
          pool gpu   not asked for another 25 s: no p3.2xlarge left in zone a (out_of_capacity)
        --- exit 0
    "#]]);
}

#[test]
fn explain_demand_that_has_a_place() {
    World::serving(None).check("explain demand:CPU~1", expect![[r#"
        task 0: CPU 1 of demo
          it has a place: on what exists, or on a machine that is on its way

          asked for   12 × task
          on its way  i-0000002a-6 (cpu), requested for 21 s: on its way [kept]
          on its way  i-0000002a-7 (cpu), queued for 1 s: waits: 1 launches are under way, the most that may be [held_concurrent]
        --- exit 0
    "#]]);
}

#[test]
fn explain_demand_by_its_index() {
    World::serving(None).check("explain 0", expect![[r#"
        task 0: CPU 1 of demo
          it has a place: on what exists, or on a machine that is on its way

          asked for   12 × task
          on its way  i-0000002a-6 (cpu), requested for 21 s: on its way [kept]
          on its way  i-0000002a-7 (cpu), queued for 1 s: waits: 1 launches are under way, the most that may be [held_concurrent]

        gang 0: STRICT_SPREAD pg-7: 2 × (CPU 2) of demo
          it has a place: on what exists, or on a machine that is on its way

          asked for   1 × gang
          on its way  i-0000002a-6 (cpu), requested for 21 s: on its way [kept]
          on its way  i-0000002a-7 (cpu), queued for 1 s: waits: 1 launches are under way, the most that may be [held_concurrent]

        floor 0: standing request: 1 × (CPU 4) of demo
          it has a place: on what exists, or on a machine that is on its way

          asked for   1 × floor
          on its way  i-0000002a-6 (cpu), requested for 21 s: on its way [kept]
          on its way  i-0000002a-7 (cpu), queued for 1 s: waits: 1 launches are under way, the most that may be [held_concurrent]
        --- exit 0
    "#]]);
}

#[test]
fn explain_machines() {
    // By its id, by the beginning of its node's id, by its address, by the provider's id.
    World::serving(None).check(
        "explain i-0000002a-2",
        expect![[r#"
        instance i-0000002a-2 of demo
          running for 1 h
          because something runs on it [kept]
            The machine stays.

          pool           cpu
          made for       min
          machine        m-2
          node           02020202020202020202020202020202020202020202020202020202
          node's status  running
          address        10.0.0.2
          machine type   m5.xlarge
          used           CPU 3.5 of 4, memory 4.0 GiB of 16.0 GiB
          activity       Busy workers on node.
          look at        /var/log/ostler/m-2.log
        --- exit 0
    "#]],
    );
    World::serving(None).check(
        "explain node:0303",
        expect![[r#"
        instance i-0000002a-3 of demo
          running for 10 min
          because idle, but not for long enough [kept]
            The machine stays.

          pool           cpu
          made for       demand
          machine        m-3
          node           03030303030303030303030303030303030303030303030303030303
          node's status  idle
          idle for       2 min 5 s
          address        10.0.0.3
          machine type   m5.xlarge
          used           CPU 0 of 4, memory 0 B of 16.0 GiB
        --- exit 0
    "#]],
    );
    World::serving(None).check(
        "explain 10.0.0.5",
        expect![[r#"
        instance i-0000002a-5 of demo
          draining for 8 s
          because idle for longer than the timeout, and nothing needs it [removed_idle]
            The node was idle for longer than its timeout and nothing needs it.

          pool           cpu
          made for       demand
          machine        m-5
          node           05050505050505050505050505050505050505050505050505050505
          node's status  draining
          address        10.0.0.5
          machine type   m5.xlarge
          used           CPU 0 of 4, memory 0 B of 16.0 GiB
        --- exit 0
    "#]],
    );
    World::serving(None).check(
        "explain i-0000002a-7",
        expect![[r#"
        instance i-0000002a-7 of demo
          queued for 1 s
          because waits: 1 launches are under way, the most that may be [held_concurrent]
            A launch waits, since as many are under way as may be.
            Raise max_concurrent_launches if the provider can take more.

          pool      cpu
          made for  demand
        --- exit 0
    "#]],
    );
    World::serving(None).check(
        "explain 10.0.0.9",
        expect![[r#"
        node 09090909090909090909090909090909090909090909090909090909 of demo
          a node without a record of ours: it is left alone

          node           09090909090909090909090909090909090909090909090909090909
          node's status  idle
          idle for       15 min
          address        10.0.0.9
          used           CPU 0 of 1
        --- exit 0
    "#]],
    );
}

#[test]
fn explain_pools_workloads_and_providers() {
    World::serving(None).check("explain pool:cpu --workload demo", expect![[r#"
        pool cpu of demo
          it has 1 queued, 1 requested, 2 running, 1 draining

          each machine  CPU 4
          bounds        1 to 5
          i-0000002a-2  running for 1 h: something runs on it [kept]
          i-0000002a-3  running for 10 min: idle, but not for long enough [kept]
          i-0000002a-5  draining for 8 s: idle for longer than the timeout, and nothing needs it [removed_idle]
          i-0000002a-6  requested for 21 s: on its way [kept]
          i-0000002a-7  queued for 1 s: waits: 1 launches are under way, the most that may be [held_concurrent]
          cannot take   3 × CPU 1, GPU 1: it is too small (GPU: asks 1, a machine has 0)
        --- exit 0
    "#]]);
    World::serving(None).check(
        "explain batch",
        expect![[r#"
        workload batch
          it cannot be seen: 10.0.9.1:6379 does not answer (transient)
          because the workload cannot be observed: 10.0.9.1:6379 does not answer (transient) [held_unobserved]
            Nothing is decided for the workload while it cannot be observed.
            Is it up, is the address right, is the token right?

          kind      ray
          seen      2 s ago
          planned   1 s ago
          nodes     0
          machines  0
        --- exit 0
    "#]],
    );
    World::serving(None).check(
        "explain spot",
        expect![[r#"
        provider spot
          it cannot be listed: the credentials have expired (denied)
          because provider spot: the credentials have expired (denied) [held_provider_failure]
            Nothing is decided for the provider's pools while it cannot be listed.
            The message says why.

          listed    1 min 1 s ago
          machines  0
        --- exit 0
    "#]],
    );
}

#[test]
fn explain_for_programs() {
    World::serving(None).check(
        "explain pool:gpu --format json",
        expect![[r#"
        [
          {
            "kind": "pool",
            "name": "gpu",
            "workload": "demo",
            "summary": "not asked for another 25 s: no p3.2xlarge left in zone a (out_of_capacity)",
            "reasons": [],
            "facts": [
              {
                "name": "each machine",
                "value": "CPU 8, GPU 1"
              },
              {
                "name": "bounds",
                "value": "0 to 2"
              },
              {
                "name": "cannot take",
                "value": "3 × CPU 1, GPU 1: it was refused by its provider a moment ago"
              }
            ],
            "journal": []
          }
        ]
        --- exit 0
    "#]],
    );
}

#[test]
fn explain_what_is_not_there() {
    World::serving(None).check(
        "explain tpu",
        expect![[r#"
        --- stderr
        nothing is called `tpu`: `ostler status -v` shows what there is [OSTLER-U010]
        --- exit 1
    "#]],
    );
    World::serving(None).check("explain cpu --store missing.db", expect![[r#"
        --- stderr
        error: cannot open the store missing.db: there is no such store. Check that its directory can be written [OSTLER-S001]
        --- exit 3
    "#]]);
}
