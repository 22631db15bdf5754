//! Machines that are processes on this host: a command, started once for each machine, with all that it starts.
//!
//! How a machine is known: each of its processes inherits two variables, `OSTLER_STATE_ID` (which state
//! directory) and `OSTLER_LAUNCH_TOKEN` (which launch); `/proc/PID/environ` shows them. Also of the machine are the
//! process group of its first process, while that one lives, and every descendant. A machine is gone when none of
//! them is left. Out of reach is a process that removed both variables, and left the group or outlived its ancestors
//! (`env -i` as the first process, say).
//!
//! How it survives `kill -9` at any moment: a record is on disk before the process is started, and the process
//! holds a lock of the machine from its first instant (see `spawn.rs`), so that a later life of Ostler sees either
//! nothing, a start under way, or the process; it never starts a second one. Machines go on while Ostler is away.
//! Under systemd this needs `KillMode=process`, or stopping Ostler's unit stops its machines.
//!
//! How it never touches another's process: a process number means nothing by itself. The first process is known by
//! number, start time and boot; a signal goes through a descriptor of the process that was looked at.
//!
//! | variable of each machine | holds |
//! |---|---|
//! | `RAY_CLOUD_INSTANCE_ID` | the machine's id at this provider |
//! | `RAY_NODE_TYPE_NAME`, `OSTLER_POOL` | the pool |
//! | `RAY_CLOUD_INSTANCE_TYPE_NAME` | the machine type |
//! | `OSTLER_WORKLOAD`, `OSTLER_INSTANCE_ID`, `OSTLER_ATTEMPT` | for whom it was launched |
//! | `OSTLER_NODE_KIND` | `head` or `worker` |
//! | `OSTLER_NUM_CPUS`, `OSTLER_NUM_GPUS` | amounts, `0` if none |
//! | `OSTLER_MEMORY`, `OSTLER_OBJECT_STORE_MEMORY` | bytes; not set if the pool does not say |
//! | `OSTLER_RESOURCES` | all other resources, as `ray start --resources` wants them: `{"TPU":4.0}` |
//! | `OSTLER_LABELS` | `key=value,key=value`, as `ray start --labels` wants them |
//! | what the workload adds | e.g. `RAY_ADDRESS` |
//!
//! A command as one text is run by `/bin/sh -c`, where `$OSTLER_POOL` is at hand; in a command as a list each
//! `${OSTLER_POOL}` is replaced. A worker of Ray:
//!
//! ```sh
//! exec ray start --block --address="$RAY_ADDRESS" --num-cpus="$OSTLER_NUM_CPUS" --num-gpus="$OSTLER_NUM_GPUS" \
//!   --resources="$OSTLER_RESOURCES" ${OSTLER_LABELS:+--labels="$OSTLER_LABELS"} ${OSTLER_MEMORY:+--memory="$OSTLER_MEMORY"}
//! ```
//!
//! Ray wants whole amounts of a node's custom resources; what its command says is in the machine's log.
//!
//! Linux only: it reads `/proc`.

mod config;
mod environment;
mod host;
mod janitor;
mod machine;
mod processes;
mod provider;
mod record;
mod spawn;

pub use config::{Command, Environment, LocalConfig, LocalTemplate};
pub use provider::LocalProvider;
