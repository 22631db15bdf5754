//! A thread that helps ending machines along, whether or not anybody looks.

use crate::host::Host;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Ends that are asked for together are begun together: each look for processes is a walk over `/proc`.
const GATHER: Duration = Duration::from_millis(20);

/// Wakes the janitor; the janitor leaves when the last one of these is gone.
#[derive(Debug, Clone)]
pub(crate) struct Bell(SyncSender<()>);

impl Bell {
    pub(crate) fn ring(&self) {
        // Full: it has been rung already. Disconnected: the thread is gone, and a later life goes on.
        match self.0.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }
}

/// Starts the janitor; it begins with what an earlier life left.
pub(crate) fn hire(host: &Arc<Host>) -> std::io::Result<Bell> {
    let (sender, receiver) = sync_channel(1);
    let host = Arc::downgrade(host);
    std::thread::Builder::new().name("ostler-local".into()).spawn(move || work(&host, &receiver))?;
    let bell = Bell(sender);
    bell.ring();
    Ok(bell)
}

fn work(host: &Weak<Host>, bell: &Receiver<()>) {
    let mut rest: Option<Duration> = None;
    loop {
        let rung = match rest {
            None => bell.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(time) => bell.recv_timeout(time),
        };
        let Some(host) = host.upgrade() else { return };
        if rung == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        std::thread::sleep(GATHER);
        rest = host.tick();
    }
}
