//! Starting a machine's first process so that a crash at any instant leaves no doubt.
//!
//! Between `fork` and `exec` a process carries no mark yet. If Ostler dies just then, a later life could look for
//! the mark, find nothing, and start a second process. So the machine has a lock file, locked by Ostler and handed
//! to the process as its standard input: the lock belongs to the open file, which the process shares from its
//! first instant. A record that says `starting` means, in this order: the lock is held → a start is under way;
//! a process carries the mark → started; otherwise → nothing was started.

use crate::environment::Start;
use crate::record::Dir;
use ostler_model::CloudId;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Ostler's own variables, secrets among them, begin so; machines do not get them.
const OWN_PREFIX: &str = "OSTLER_";

/// Starts the process in a group of its own, with its output in the machine's log.
pub(crate) fn spawn(dir: &Dir, id: &CloudId, start: &Start) -> io::Result<Child> {
    let lock = File::create(dir.start_lock(id)).and_then(|_| File::open(dir.start_lock(id)))?;
    lock.lock()?;
    let log = new_log(dir, id)?;
    let mut command = Command::new(&start.argv[0]);
    command.args(&start.argv[1..]);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(OWN_PREFIX.as_bytes()))
    {
        command.env_remove(name);
    }
    command.envs(&start.environment);
    command.stdin(lock).stdout(log.try_clone()?).stderr(log);
    // A signal for Ostler's own group (Ctrl-C) is not for its machines.
    command.process_group(0);
    command.spawn()
}

/// Is a start of this machine under way that another life of Ostler began?
pub(crate) fn is_under_way(dir: &Dir, id: &CloudId) -> bool {
    File::open(dir.start_lock(id)).is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Written at its end always, so that it can be cut while the machine writes.
fn new_log(dir: &Dir, id: &CloudId) -> io::Result<File> {
    File::create(dir.log(id))?;
    OpenOptions::new().append(true).open(dir.log(id))
}

/// Keeps a log within bounds: what there is becomes the old log, and the machine goes on in an empty one. What
/// it writes between the two steps is lost.
pub(crate) fn bound_log(dir: &Dir, id: &CloudId, max_bytes: u64) -> io::Result<()> {
    let path = dir.log(id);
    if std::fs::metadata(&path)?.len() > max_bytes {
        std::fs::copy(&path, dir.old_log(id))?;
        OpenOptions::new().write(true).open(&path)?.set_len(0)?;
    }
    Ok(())
}
