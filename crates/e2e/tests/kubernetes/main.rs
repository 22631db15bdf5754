//! The `ostler` binary in front of a real Kubernetes control plane: pods are bound by the real scheduler, made by
//! the real controllers, and run by a kubelet of pretence. After each scenario: no pod is lost, none waits that
//! could run, no disruption budget was ever broken, no pool was ever over its bound.

mod demand;
mod deploy;
mod eye;
mod faults;
mod growth;
mod make;
mod removal;
mod watch;
mod world;
