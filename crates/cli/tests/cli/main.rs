//! Scripts of the command line: the real binary with arguments → stdout, stderr and exit code, as golden text.

mod asking;
mod calling;
mod check;
mod journal;
mod kubernetes;
mod polars;
mod recordings;
mod world;

#[path = "../../../console/tests/fixture/mod.rs"]
mod fixture;
