//! The scaling service over real sockets.

mod common;
mod hostile;
mod service;
mod tls;
