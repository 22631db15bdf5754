//! Against a real control plane (`make kube-lab`): what is seen, how nodes are let go, what is told; with no more
//! rights than `deploy/rbac.yaml` gives.

mod drains;
mod looks;
mod outage;
mod tells;
mod world;
