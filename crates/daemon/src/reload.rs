//! The configuration is read again when its files change; a bad new one is refused, and the old one stays.

use ostler_config::Configuration;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;

/// Files are looked at this often. Editors and configuration tools replace files in many ways; a look at what is
/// there now sees them all.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Reads the configuration.
pub trait Loader: Send + Sync + Debug {
    /// The files that it depends on.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads it anew.
    ///
    /// # Errors
    /// All mistakes at once, as text for people.
    fn load(&self) -> Result<Configuration, String>;
}

/// Sends each good new configuration, until nobody listens.
pub(crate) async fn watch(loader: std::sync::Arc<dyn Loader>, configurations: mpsc::Sender<Configuration>) {
    let mut seen = stamps(loader.files());
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let found = stamps(loader.files());
        if found == seen {
            if configurations.is_closed() {
                return;
            }
            continue;
        }
        seen = found;
        match loader.load() {
            Ok(configuration) => {
                if configurations.send(configuration).await.is_err() {
                    return;
                }
            }
            Err(mistakes) => {
                tracing::error!("the changed configuration is refused, the old one stays:\n{mistakes}");
            }
        }
    }
}

/// What tells whether a file is another than before.
type Stamp = (PathBuf, Option<(SystemTime, u64, u64)>);

fn stamps(files: Vec<PathBuf>) -> Vec<Stamp> {
    files.into_iter().map(|file| (file.clone(), stamp(&file))).collect()
}

fn stamp(file: &Path) -> Option<(SystemTime, u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(file).ok()?;
    Some((meta.modified().ok()?, meta.len(), meta.ino()))
}
