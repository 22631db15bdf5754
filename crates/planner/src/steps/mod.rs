//! The steps of a plan in the order in which they run, one file each.
//!
//! 1. `session`: is it still the same control plane?
//! 2. `machines`: what the providers list, against our records.
//! 3. `nodes`: what the workload lists, against our records.
//! 4. `outcomes`: how effects ended.
//! 5. `overdue`: records that do not move on.
//! 6. `scale`: which machines should exist for this demand; `target`: for this number of workers.
//! 7. `terminate`: machines whose node is gone.
//! 8. `launch`: which queued launches may go.
//! 9. `install`: machines that are up and must be prepared.
//! 10. `say`: what is wrong and stays wrong.
//! 11. `forget`: final records that have been kept for long enough.

mod forget;
mod install;
mod kube;
mod launch;
mod machines;
mod nodes;
mod outcomes;
mod overdue;
mod problem;
mod remove;
mod say;
mod scale;
mod session;
mod target;
mod terminate;

pub(crate) use forget::forget;
pub(crate) use install::install;
pub(crate) use kube::kube;
pub(crate) use launch::launch;
pub(crate) use machines::machines;
pub(crate) use nodes::nodes;
pub(crate) use outcomes::outcomes;
pub(crate) use overdue::overdue;
pub(crate) use say::say;
pub(crate) use scale::scale;
pub(crate) use session::session;
pub(crate) use target::target;
pub(crate) use terminate::terminate;
