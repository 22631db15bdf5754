//! The door of a workload that is asked from outside (Polars): wishes come in, the picture is shown.
//!
//! The door decides nothing. A wish goes to the loop, which answers once it is written; what is shown is put there
//! by the loop and read without waiting for anybody.

use ostler_model::{Scale, Wish};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// Wishes that wait for the loop. More are turned away at once.
const WAITING_MAX: usize = 256;
/// How long a wish may take. Who asks waits five seconds (Polars), and hears from us before that.
const PATIENCE: Duration = Duration::from_secs(4);

/// What became of a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is written, and holds.
    Accepted,
    /// It cannot be done as it is; nothing has changed. The text says why.
    Refused(String),
    /// It lists more names than can be remembered; nothing has changed.
    TooManyNames,
    /// Not now: ask again.
    Unavailable,
    /// Too many ask at once: ask again later.
    Overloaded,
}

/// A wish on its way to the loop.
#[derive(Debug)]
pub struct Asked {
    /// What is wished.
    pub wish: Wish,
    /// How long the one who asked still waits.
    pub patience: Duration,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Outcome>,
}

/// The loop's end of the door.
pub type Inbox = mpsc::Receiver<Asked>;

/// See the module.
#[derive(Debug)]
pub struct Door {
    wishes: mpsc::Sender<Asked>,
    inbox: Mutex<Option<Inbox>>,
    shown: watch::Sender<Option<Scale>>,
    changed: Notify,
}

impl Default for Door {
    fn default() -> Self {
        let (wishes, inbox) = mpsc::channel(WAITING_MAX);
        let shown = watch::Sender::new(None);
        Self { wishes, inbox: Mutex::new(Some(inbox)), shown, changed: Notify::new() }
    }
}

impl Door {
    /// Passes a wish on and waits for what becomes of it; for no machine, and never longer than 4 s.
    pub async fn ask(&self, wish: Wish) -> Outcome {
        let (answer, answered) = oneshot::channel();
        match self.wishes.try_send(Asked { wish, patience: PATIENCE, answer }) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => return Outcome::Overloaded,
            Err(mpsc::error::TrySendError::Closed(_)) => return Outcome::Unavailable,
        }
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => Outcome::Unavailable,
        }
    }

    /// What is shown; `None` until the records have been read for the first time.
    pub fn shown(&self) -> watch::Receiver<Option<Scale>> {
        self.shown.subscribe()
    }

    /// Shows this from now on; nobody is woken if it is what is shown already.
    pub fn show(&self, scale: Scale) {
        self.shown.send_if_modified(|shown| shown.replace(scale) != Some(scale));
    }

    /// The loop's end. The first who asks gets it.
    pub fn inbox(&self) -> Option<Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Something about the nodes has changed: the loop should look.
    pub fn knock(&self) {
        self.changed.notify_one();
    }

    /// Waits until somebody knocks.
    pub async fn knocked(&self) {
        self.changed.notified().await;
    }
}
