//! What is written down about each machine, one small file for each.

use crate::environment as env;
use ostler_model::{CloudId, FailureClass, LaunchToken, Timestamp};
use ostler_provider::{ProviderError, tags};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A record is under a kilobyte, plus the user's tags.
const MAX_BYTES: u64 = 1 << 20;

/// One machine.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Record {
    pub(crate) id: CloudId,
    pub(crate) token: LaunchToken,
    /// As a cloud would keep them; the site is the id of the state directory.
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) asked_at: Timestamp,
    /// The first process; `None` until it is known, or if it is not known any more.
    pub(crate) leader: Option<Leader>,
    pub(crate) stage: Stage,
}

/// How far a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// Written before its process exists: whether there is one must be looked up.
    Starting,
    /// Its process was seen.
    Running,
    /// Its end was asked for.
    Stopping { since: Timestamp },
    /// No process was left. Kept so that its token makes no other machine.
    Ended { at: Timestamp },
}

/// Which process it was, beyond doubt: numbers are used again, a number with its start time is not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Leader {
    pub(crate) pid: i32,
    /// Clock ticks from boot.
    pub(crate) start: u64,
    /// Which boot, from the kernel's `boot_id`.
    pub(crate) boot: String,
}

impl Record {
    /// From the variables of a process whose record was lost; `None` if they do not say enough.
    pub(crate) fn from_environment(
        site: &str,
        variables: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Option<Self> {
        let token = LaunchToken::from(variables.get(env::TOKEN)?.as_str());
        let pairs = [
            (tags::WORKLOAD, env::WORKLOAD),
            (tags::POOL, env::POOL),
            (tags::INSTANCE, env::INSTANCE),
            (tags::ATTEMPT, env::ATTEMPT),
            (tags::KIND, env::KIND),
            (tags::TOKEN, env::TOKEN),
        ];
        let mut tags = BTreeMap::from([(tags::SITE.to_owned(), site.to_owned())]);
        for (tag, variable) in pairs {
            tags.insert(tag.to_owned(), variables.get(variable)?.clone());
        }
        tags::read(site, &tags)?.ok()?;
        let id = id_of(&token).ok()?;
        Some(Self { id, token, tags, asked_at: now, leader: None, stage: Stage::Running })
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended { .. })
    }
}

/// The id of the machine of this token. It is the name of its files, so the token must be a plain name.
pub(crate) fn id_of(token: &LaunchToken) -> Result<CloudId, ProviderError> {
    let text = token.as_str();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || text.len() > 128 || !text.chars().all(plain) {
        let message =
            format!("launch token {text:?}: give 1 to 128 letters, digits, dashes, dots and underscores");
        return Err(ProviderError::new(FailureClass::Permanent, "OSTLER-P104", message));
    }
    Ok(CloudId::new(format!("local-{text}")))
}

/// Where a state directory keeps what.
#[derive(Debug, Clone)]
pub(crate) struct Dir(PathBuf);

impl Dir {
    /// Makes what is missing, for the eyes of the owner alone: logs may hold secrets.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let dir = Self(std::path::absolute(path)?);
        for part in [dir.0.clone(), dir.0.join("machines"), dir.0.join("logs")] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(part)?;
        }
        Ok(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }
    fn record(&self, id: &CloudId) -> PathBuf {
        self.0.join(format!("machines/{id}.json"))
    }
    /// Locked while a machine starts, see [`crate::spawn`].
    pub(crate) fn start_lock(&self, id: &CloudId) -> PathBuf {
        self.0.join(format!("machines/{id}.lock"))
    }
    pub(crate) fn log(&self, id: &CloudId) -> PathBuf {
        self.0.join(format!("logs/{id}.log"))
    }
    pub(crate) fn old_log(&self, id: &CloudId) -> PathBuf {
        self.0.join(format!("logs/{id}.log.old"))
    }

    /// The directory's id, made up at its first use.
    pub(crate) fn site(&self) -> io::Result<String> {
        let path = self.0.join("site");
        match read(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            // Empty: the host crashed right after it was made, and with it all machines.
            Ok(_) | Err(_) => {
                let made = read(Path::new("/proc/sys/kernel/random/uuid"))?;
                replace(&path, made.as_bytes())?;
                Ok(made.trim().to_owned())
            }
        }
    }

    /// Writes a record, all or nothing.
    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        replace(&self.record(&record.id), &serde_json::to_vec_pretty(record)?)
    }

    /// Removes all files of a machine.
    pub(crate) fn forget(&self, id: &CloudId) {
        self.forget_logs(id);
        remove(&self.start_lock(id));
        remove(&self.record(id));
    }

    /// Removes its logs alone.
    pub(crate) fn forget_logs(&self, id: &CloudId) {
        remove(&self.log(id));
        remove(&self.old_log(id));
    }

    /// All records, and what is wrong with those that cannot be read.
    pub(crate) fn load(&self) -> io::Result<(Vec<Record>, Vec<String>)> {
        let (mut records, mut odd) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(self.0.join("machines"))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match self.load_one(&path) {
                Ok(record) => records.push(record),
                Err(why) => {
                    odd.push(format!("{}: {why}; if no such machine runs, remove it", path.display()))
                }
            }
        }
        odd.sort();
        Ok((records, odd))
    }

    fn load_one(&self, path: &Path) -> Result<Record, String> {
        let text = read(path).map_err(|why| why.to_string())?;
        let record: Record = serde_json::from_str(&text).map_err(|why| why.to_string())?;
        if self.record(&record.id) != path || id_of(&record.token).as_ref() != Ok(&record.id) {
            return Err("its name does not match its contents".into());
        }
        Ok(record)
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Whole or not at all, for readers and for a crash of Ostler. It is not forced to the disk: what a crash of the
/// *host* loses does not matter, since that ends all machines too.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(&new, path)
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot remove a file of an ended machine");
    }
}
