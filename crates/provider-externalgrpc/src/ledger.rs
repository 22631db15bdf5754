//! The book on disk: whole or not at all, and on the disk before anything that follows from it is done.

use crate::book::{Book, Shelf};
use crate::error::{NOT_WRITTEN, STATE, TAKEN, refuse};
use ostler_model::FailureClass;
use ostler_provider::ProviderError;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What this version writes.
const FORMAT: u32 = 1;
/// A machine takes some hundred bytes.
const BYTES_MAX: u64 = 256 << 20;
/// An Ostler that is just leaving is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Where a ledger lies. Calls may block. One provider at a time has it: the one that is made of it.
pub trait Storage: Send + Sync + fmt::Debug {
    /// What was saved last; `None` at first.
    ///
    /// # Errors
    /// It cannot be read.
    fn load(&self) -> io::Result<Option<Vec<u8>>>;
    /// Keeps this in place of what is there: after a crash at any moment one of the two is loaded, and once
    /// it has answered this one.
    ///
    /// # Errors
    /// It may or may not be kept.
    fn save(&self, bytes: &[u8]) -> io::Result<()>;
}

/// A file, for one Ostler at a time.
#[derive(Debug)]
pub struct FileStorage {
    path: PathBuf,
    // Held for as long as we live; the kernel lets go of it when we die.
    _lock: File,
}

impl FileStorage {
    /// Takes the file over; its directory is made if it is not there. Waits up to 2 s for another Ostler that
    /// is just leaving.
    ///
    /// # Errors
    /// `OSTLER-P302` it cannot be used, `OSTLER-P303` another Ostler uses it.
    pub async fn open(path: &Path) -> Result<Self, ProviderError> {
        let path = std::path::absolute(path).map_err(|why| unusable(path, &why))?;
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(|why| unusable(&path, &why))?;
        }
        let until = Instant::now() + LOCK_PATIENCE;
        let mut file = path.clone().into_os_string();
        file.push(".lock");
        let file = File::create(&file).map_err(|why| unusable(&path, &why))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { path, _lock: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let text = format!(
                        "{}: another Ostler has this ledger; stop that one, or give this one another",
                        path.display()
                    );
                    return Err(refuse(FailureClass::Permanent, TAKEN, text));
                }
                Err(TryLockError::Error(why)) => return Err(unusable(&path, &why)),
            }
        }
    }
}

impl Storage for FileStorage {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        // The rename itself is on the disk once its directory is.
        self.path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }
}

/// The book, and where it is kept. A clone is the same.
#[derive(Clone)]
pub(crate) struct Ledger {
    storage: Arc<dyn Storage>,
    /// Readers never wait for the disk.
    book: Arc<RwLock<Arc<Book>>>,
    writing: Arc<Mutex<()>>,
    queue: Arc<Mutex<Vec<Change>>>,
}

/// A change that waits to be made.
struct Change {
    group: String,
    apply: Box<dyn FnOnce(&mut Shelf) + Send>,
    outcome: Outcome,
}

/// Whether a change is on disk; `None` until it was tried.
type Outcome = Arc<Mutex<Option<Result<(), String>>>>;

impl Ledger {
    /// Reads what is there.
    pub(crate) fn open(storage: Arc<dyn Storage>, place: &Path) -> Result<Self, ProviderError> {
        let book = match storage.load().map_err(|why| unusable(place, &why))? {
            None => Book { format: FORMAT, ..Book::default() },
            Some(bytes) => read(&bytes).map_err(|why| unusable(place, &why))?,
        };
        let book = Arc::new(RwLock::new(Arc::new(book)));
        Ok(Self { storage, book, writing: Arc::default(), queue: Arc::default() })
    }

    /// The book as it is on disk.
    pub(crate) fn book(&self) -> Arc<Book> {
        self.book.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it says of a group.
    pub(crate) fn read<T>(&self, group: &str, look: impl FnOnce(&Shelf) -> T) -> T {
        match self.book().groups.get(group) {
            Some(shelf) => look(shelf),
            None => look(&Shelf::default()),
        }
    }

    /// Changes what it says of a group; on disk when this has ended. Changes that come together are written
    /// together. A caller that waits no longer stops nothing, so a change must be right whenever it comes.
    ///
    /// # Errors
    /// `OSTLER-P304`, transient: nothing follows from the change yet.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        group: &str,
        change: impl FnOnce(&mut Shelf) -> T + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (answer, outcome) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let slot = answer.clone();
        let apply = Box::new(move |shelf: &mut Shelf| *lock(&slot) = Some(change(shelf)));
        lock(&self.queue).push(Change { group: group.to_owned(), apply, outcome: outcome.clone() });
        let ledger = self.clone();
        let done = tokio::task::spawn_blocking(move || ledger.write(&outcome)).await;
        let done = done.map_err(|why| why.to_string()).and_then(|written| written);
        let answer = lock(&answer).take();
        done.and_then(|()| answer.ok_or_else(|| "it was not tried".into())).map_err(|why| not_written(&why))
    }

    /// Makes the changes that wait, until the one with this outcome is made.
    fn write(&self, outcome: &Outcome) -> Result<(), String> {
        let _one = lock(&self.writing);
        if let Some(done) = lock(outcome).take() {
            return done;
        }
        let changes = std::mem::take(&mut *lock(&self.queue));
        let mut new = Book::clone(&self.book());
        let outcomes: Vec<_> = changes.into_iter().map(|change| change.make(&mut new)).collect();
        let written = self.keep(new).map_err(|why| why.to_string());
        for one in &outcomes {
            *lock(one) = Some(written.clone());
        }
        // A change that panicked has taken those with it that waited.
        lock(outcome).take().unwrap_or_else(|| Err("another change failed".into()))
    }

    fn keep(&self, new: Book) -> io::Result<()> {
        if *self.book() != new {
            self.storage.save(&serde_json::to_vec(&new)?)?;
            *self.book.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        }
        Ok(())
    }
}

impl Change {
    fn make(self, book: &mut Book) -> Outcome {
        let shelf = book.groups.entry(self.group).or_default();
        let mut new = Shelf::clone(shelf);
        (self.apply)(&mut new);
        if **shelf != new {
            *shelf = Arc::new(new);
        }
        self.outcome
    }
}

impl fmt::Debug for Ledger {
    /// Where it lies; what it says is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("storage", &self.storage).finish_non_exhaustive()
    }
}

/// Whoever panicked under a lock left whole values: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(bytes: &[u8]) -> Result<Book, io::Error> {
    let odd = |why: String| {
        io::Error::other(format!(
            "{why}; give the file that Ostler wrote, or remove it and lose whose is what"
        ))
    };
    let book: Book = serde_json::from_slice(bytes).map_err(|why| odd(why.to_string()))?;
    if book.format != FORMAT {
        return Err(odd(format!("its format is {}, and this Ostler knows {FORMAT}", book.format)));
    }
    Ok(book)
}

fn unusable(path: &Path, why: &io::Error) -> ProviderError {
    refuse(FailureClass::Permanent, STATE, format!("ledger {}: {why}", path.display()))
}

fn not_written(why: &dyn fmt::Display) -> ProviderError {
    let text = format!("the ledger cannot be written: {why}; make room beside it, and nothing was done");
    refuse(FailureClass::Transient, NOT_WRITTEN, text)
}
