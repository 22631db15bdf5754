//! Against a real control plane (`make kube-lab`): what is seen, how nodes are let go, what is told; with
//! no more rights than `deploy/rbac.yaml` gives.
#![allow(clippy::print_stdout, reason = "how long things took, for people")]

mod drains;
mod looks;
mod outage;
mod tells;
mod world;
