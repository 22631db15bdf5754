//! The `ostler` binary in front of a real Kubernetes control plane: pods are bound by the real scheduler, made by
//! the real controllers, and run by a kubelet of pretence. After each scenario: no pod is lost, none waits that
//! could run, no disruption budget was ever broken, no pool was ever over its bound.

mod adoption;
mod choice;
mod demand;
mod deploy;
mod external;
mod eye;
mod faults;
mod growth;
mod headroom;
mod leaders;
mod make;
mod ostler;
mod removal;
mod rights;
mod shadow;
mod told;
mod watch;
mod world;
