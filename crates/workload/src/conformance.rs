//! The contract as tests. An implementation gives a [`Subject`], its own workload with something behind it
//! that the suite can change, and runs [`suite`]; each broken promise is named by the panic.

use crate::{DrainAnswer, DrainCause, DrainRequest, Event, Published, Severity, Workload, WorkloadError};
use async_trait::async_trait;
use ostler_model::{FailureClass, Millis, NodeId, NodeStatus, Timestamp, WorkloadState};
use std::time::Duration;

/// A change that was asked for shows within this time, and no call takes longer, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A workload with something behind it.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The workload under test.
    fn workload(&self) -> &dyn Workload;
    /// A worker on which nothing runs.
    async fn idle_node(&self) -> NodeId;
    /// A worker on which something runs.
    async fn busy_node(&self) -> NodeId;
    /// From now on the workload cannot be reached. `false`: this cannot be arranged.
    async fn cut(&self) -> bool;
    /// It can be reached again.
    async fn restore(&self);
}

/// Every promise of the contract, one after the other. Ends the idle node and drains the busy one.
pub async fn suite(subject: &dyn Subject) {
    looks_are_stable(subject).await;
    a_dropped_look_leaves_no_trace(subject).await;
    publications_are_idempotent(subject).await;
    an_outage_is_transient_and_passes(subject).await;
    a_busy_node_is_not_idle(subject).await;
    an_idle_node_goes_and_asking_twice_is_fine(subject).await;
    an_unknown_node_is_fine(subject).await;
    undrain_is_as_declared(subject).await;
}

async fn bounded<T>(what: &str, call: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, call).await.unwrap_or_else(|_| panic!("{what}: no answer in {PATIENCE:?}"))
}

async fn look(subject: &dyn Subject) -> WorkloadState {
    bounded("observe", subject.workload().observe()).await.expect("observe answers")
}

async fn drain(subject: &dyn Subject, node: &NodeId, cause: DrainCause) -> DrainAnswer {
    let request = DrainRequest { cause, message: "conformance".into(), deadline: None };
    bounded("drain", subject.workload().drain(node, &request)).await.expect("drain answers")
}

const IDLE: DrainCause = DrainCause::Idle { unused: Millis(1) };

async fn looks_are_stable(subject: &dyn Subject) {
    let (first, second) = (look(subject).await, look(subject).await);
    assert!(first.version <= second.version, "versions do not go down");
    assert_eq!(first.session, second.session, "one life, one session");
    let ids = |state: &WorkloadState| state.nodes.iter().map(|n| n.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first), ids(&second), "the same nodes in the same order");
}

async fn a_dropped_look_leaves_no_trace(subject: &dyn Subject) {
    for micros in [0, 1, 50, 500] {
        let _ = tokio::time::timeout(Duration::from_micros(micros), subject.workload().observe()).await;
    }
    look(subject).await;
}

async fn publications_are_idempotent(subject: &dyn Subject) {
    let told = |generation| {
        let event = Event { at: Timestamp(1), severity: Severity::Info, text: "conformance".into() };
        Published { generation, events: vec![event], ..Published::default() }
    };
    for generation in [2, 2, 1, 3] {
        let call = subject.workload();
        bounded("publish", call.publish(&told(generation)))
            .await
            .expect("publish answers, also an old generation");
    }
}

async fn an_outage_is_transient_and_passes(subject: &dyn Subject) {
    if !subject.cut().await {
        return;
    }
    let answer: Result<_, WorkloadError> =
        bounded("observe in an outage", subject.workload().observe()).await;
    let error = answer.expect_err("an outage is an error");
    assert_eq!(error.class, FailureClass::Transient, "{error}");
    subject.restore().await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while let Err(error) = bounded("observe after an outage", subject.workload().observe()).await {
        assert!(tokio::time::Instant::now() < deadline, "still away after the outage: {error}");
        tokio::time::sleep(PAUSE).await;
    }
}

async fn a_busy_node_is_not_idle(subject: &dyn Subject) {
    let busy = subject.busy_node().await;
    if !subject.workload().capabilities().rejects_busy_drain {
        return;
    }
    match drain(subject, &busy, IDLE).await {
        DrainAnswer::Rejected(reason) => assert!(!reason.is_empty(), "a rejection says why"),
        DrainAnswer::Accepted => panic!("a busy node was drained as an idle one"),
    }
    let state = look(subject).await;
    let node = state.nodes.iter().find(|n| n.id == busy).expect("the busy node stays");
    assert!(node.status.is_up(), "the busy node works on: {:?}", node.status);
}

async fn an_idle_node_goes_and_asking_twice_is_fine(subject: &dyn Subject) {
    let idle = subject.idle_node().await;
    for _ in 0..2 {
        assert_eq!(
            drain(subject, &idle, IDLE).await,
            DrainAnswer::Accepted,
            "an idle node may go, also twice"
        );
    }
    until(subject, "the drained node to leave", |state| {
        state.nodes.iter().find(|n| n.id == idle).is_none_or(|n| !n.status.is_up())
    })
    .await;
}

async fn an_unknown_node_is_fine(subject: &dyn Subject) {
    let unknown = NodeId::from("00".repeat(28));
    assert_eq!(drain(subject, &unknown, IDLE).await, DrainAnswer::Accepted);
    assert_eq!(drain(subject, &unknown, DrainCause::Preemption).await, DrainAnswer::Accepted);
}

async fn undrain_is_as_declared(subject: &dyn Subject) {
    let busy = subject.busy_node().await;
    if !subject.workload().capabilities().undrain {
        let error =
            bounded("undrain", subject.workload().undrain(&busy)).await.expect_err("undrain is not declared");
        assert_eq!(error.class, FailureClass::Permanent);
        return;
    }
    assert_eq!(drain(subject, &busy, DrainCause::Preemption).await, DrainAnswer::Accepted);
    bounded("undrain", subject.workload().undrain(&busy)).await.expect("undrain answers");
    until(subject, "the node to work again", |state| {
        state.nodes.iter().any(|n| n.id == busy && matches!(n.status, NodeStatus::Running | NodeStatus::Idle))
    })
    .await;
}

async fn until(subject: &dyn Subject, what: &str, holds: impl Fn(&WorkloadState) -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds(&look(subject).await) {
        assert!(tokio::time::Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
