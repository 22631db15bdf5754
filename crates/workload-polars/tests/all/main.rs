//! The scaling service over real sockets.

mod common;
mod conformance;
mod hostile;
mod service;
mod tls;
