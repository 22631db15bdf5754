//! Ostler in front of real Rays. Needs `make ray-env`; `OSTLER_BIN` names the binary, else it is built.
//!
//! Clusters run one after the other, and each serves a whole story, since a head takes its seconds to start.

mod bad_input;
mod drain;
mod faults;
mod growth;
mod kill;
mod random;
mod refused;
mod shown;
mod versions;
