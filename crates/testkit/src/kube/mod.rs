//! A real Kubernetes control plane for tests: etcd, kube-apiserver, kube-scheduler and kube-controller-manager as
//! processes of this host, on loopback, and their certain end. There is no kubelet and no container: nodes are
//! simulated by `ostler-provider-kwok`, whose pretence of a kubelet is all that moves pods.
//!
//! `make kube-lab` builds the program once (`tools/kube-lab`); a control plane is ready about five seconds after
//! its start and takes 700 MB, so tests of one process share one ([`Lab::shared`]).

mod audit;
mod flags;
mod lab;
mod large;
mod pki;

pub use audit::Request;
pub use lab::{Lab, Options, client_of, wait_until};
pub use large::{Large, POOL as LARGE_POOL};

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The servers, in the order of their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store behind the API server.
    Etcd,
    /// What everybody talks to.
    ApiServer,
    /// Binds pods to nodes.
    Scheduler,
    /// Deployments, node lifecycle, disruption budgets, garbage …
    ControllerManager,
}

impl Component {
    /// All of them, in the order of their start.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::Scheduler, Self::ControllerManager];

    /// Its name as a program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::Scheduler => "kube-scheduler",
            Self::ControllerManager => "kube-controller-manager",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The program with all servers and kubectl: `KUBE_LAB` of the environment, or what `make kube-lab` built.
pub fn program() -> PathBuf {
    if let Some(set) = std::env::var_os("KUBE_LAB").filter(|value| !value.is_empty()) {
        return set.into();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/kube-lab/build.sh");
    let asked = Command::new(&script).arg("--where").output();
    let output = asked.unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(path.is_file(), "there is no Kubernetes in {}: run `make kube-lab`", path.display());
    path
}
