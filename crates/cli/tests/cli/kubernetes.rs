//! What is said of the nodes of a Kubernetes cluster.

use crate::world::World;
use expect_test::expect;
use ostler_console::{Counters, ReadModel};
use ostler_wire::Status;
use std::sync::Arc;

/// One cluster: a node that works, one that boots for four pods, and two pods that bring none.
#[derive(Debug)]
struct Cluster;

impl ReadModel for Cluster {
    fn status(&self) -> Status {
        serde_json::from_str(include_str!("../data/kubernetes.json")).expect("the fixture is a status")
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

fn check(command: &str, expected: expect_test::Expect) {
    World::serving_this(Arc::new(Cluster), None).check(command, expected);
}

#[test]
fn status() {
    check(
        "status",
        expect![[r#"
        Ostler 0.1.0, running for 6 s

        Workload demo (kubernetes), seen 0.2 s ago, planned 0.2 s ago

          POOL   MIN  MAX  MACHINES     TROUBLE
          large  0    6    1 allocated  -
          small  0    6    1 running    -

          INSTANCE      POOL   STATE      FOR  NODE                    WHY
          i-c96dbfe0-2  small  running    2 s  small-24a3cda73ba3a586  used at 75 % [node_kept]
          i-c96dbfe0-5  large  allocated  2 s  -                       on its way [node_kept]

          DEMAND                                                             KIND  COUNT  STATE
          waiting pods with a place on nodes that are there or on their way  pod   4      has a place
          default/gated-0                                                    pod   1      no place for 1: brings no node: scheduling gates: example.com/quota
          default/spare-0                                                    pod   1      no place for 1: brings no node: its priority -20 is below -10 (`expendable_below`)

        PROVIDER  MACHINES  LISTED   TROUBLE
        sim       2         1 s ago  -
        --- exit 0
    "#]],
    );
}

#[test]
fn explain_pods_that_bring_no_node() {
    check(
        "explain gated",
        expect![[r#"
        pod 0: default/gated-0 of demo
          it brings no node
          because scheduling gates: example.com/quota [pod_ignored]
            The pod brings no node.

          asked for  1 × pod
        --- exit 0
    "#]],
    );
    check(
        "explain spare-0",
        expect![[r#"
        pod 1: default/spare-0 of demo
          it brings no node
          because its priority -20 is below -10 (`expendable_below`) [pod_ignored]
            The pod brings no node.

          asked for  1 × pod
        --- exit 0
    "#]],
    );
}
