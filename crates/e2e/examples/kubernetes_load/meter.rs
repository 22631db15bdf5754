//! What each process has cost since a moment, and what Ostler says of its passes.

use ostler_e2e::{Spans, cpu_seconds, cpu_seconds_of_threads};
use ostler_testkit::kube::{Component, Lab};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Threads of Ostler's process that are the kubelets of simulated nodes, and their connection.
const KUBELETS: &str = "kwok-kubelet";
/// What is measured, in the order of the table.
pub(crate) const WHO: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-scheduler", "controller-manager", "kubelets (simulated)", "Ostler"];
/// The place of Ostler.
pub(crate) const OSTLER: usize = 5;

/// A moment: CPU seconds of each, so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Instant,
    cpu: [f64; WHO.len()],
}

impl Moment {
    pub(crate) fn now(lab: &Lab, ostler: u32) -> Self {
        let mut cpu = [0.0; WHO.len()];
        for (place, component) in cpu.iter_mut().zip(Component::ALL) {
            *place = cpu_seconds(lab.pid(component).expect("it runs"));
        }
        let kubelets = cpu_seconds_of_threads(ostler, KUBELETS);
        cpu[OSTLER - 1] = kubelets;
        cpu[OSTLER] = cpu_seconds(ostler) - kubelets;
        Self { at: Instant::now(), cpu }
    }

    /// What it took since then.
    pub(crate) fn since(self, then: Self) -> Cost {
        let cpu = std::array::from_fn(|n| self.cpu[n] - then.cpu[n]);
        Cost { wall: self.at - then.at, cpu }
    }
}

/// What a phase took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: [f64; WHO.len()],
}

impl Cost {
    /// Ostler's part of all but the simulation, in percent.
    pub(crate) fn share(&self) -> f64 {
        let all: f64 = self.cpu.iter().sum::<f64>() - self.cpu[OSTLER - 1];
        100.0 * self.cpu[OSTLER] / all
    }
}

/// How long each line of the log with this message says that something took, of the lines after so many.
pub(crate) fn spans(log: &Path, message: &str, after: usize) -> Spans {
    let text = fs::read_to_string(log).expect("the log can be read");
    Spans::of_log(text.lines().skip(after), message)
}

/// Lines of the log so far.
pub(crate) fn lines(log: &Path) -> usize {
    fs::read_to_string(log).expect("the log can be read").lines().count()
}

/// How many requests the API server has taken that were sorted by this FlowSchema.
pub(crate) async fn requests(lab: &Lab, schema: &str) -> f64 {
    let text = lab.metrics(Component::ApiServer).await.expect("the API server counts");
    let ours = |line: &&str| {
        line.starts_with("apiserver_flowcontrol_dispatched_requests_total{")
            && line.contains(&format!("flow_schema=\"{schema}\""))
    };
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
    text.lines().filter(ours).filter_map(value).sum()
}
