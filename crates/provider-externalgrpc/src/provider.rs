//! The trait in front of the groups.

use crate::book::Launch;
use crate::config::{Config, Group, group_of, groups_of};
use crate::error::{NO_ANSWER, NOT_OURS, NOT_SEEN, refuse};
use crate::group::{Herd, Server, ago, millis};
use crate::ledger::{FileStorage, Ledger, Storage};
use crate::look::{Look, Seen};
use async_trait::async_trait;
use ostler_model::{CloudId, CloudInstance, CloudPhase, FailureClass, LaunchToken, Millis, NodeKind};
use ostler_provider::{Capabilities, LaunchSpec, Listing, Provider, ProviderError, ServedPool, tags};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

/// Groups that are looked at at the same time: quick with many groups, and no storm for the server.
const LOOKS_AT_ONCE: usize = 8;
/// The rest of a call beyond its longest wait.
const SLACK: Millis = Millis::secs(2);
/// Without a launch that waits, the groups are seen to after so many polls.
const POLLS_PER_ROUND: u32 = 5;
/// From an accepted end to the end, at slow clouds.
const GONE_WITHIN: Millis = Millis::secs(15 * 60);

/// Machines of a server's node groups, see the [crate]. A clone is the same provider. Needs a Tokio runtime.
#[derive(Debug, Clone)]
pub struct ExternalGrpcProvider {
    core: Arc<Core>,
    _janitor: Arc<Janitor>,
}

#[derive(Debug)]
struct Core {
    config: Config,
    server: Arc<Server>,
    ledger: Ledger,
    /// The groups that Ostler works with, by the server's id. All others of the server are left alone.
    herds: RwLock<Arc<Herds>>,
}

type Herds = BTreeMap<String, Arc<Herd>>;

/// Ends with the last provider.
#[derive(Debug)]
struct Janitor(JoinHandle<()>);

impl Drop for Janitor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ExternalGrpcProvider {
    /// Takes over the ledger. The server is not asked yet; it may be down. Waits up to 2 s for another Ostler
    /// that is just leaving. Dropping it leaves all machines as they are.
    ///
    /// # Errors
    /// `OSTLER-P301` a knob is wrong, `OSTLER-P302` the ledger cannot be used, `OSTLER-P303` another Ostler
    /// has it.
    pub async fn open(config: Config) -> Result<Self, ProviderError> {
        config.check()?;
        let storage = FileStorage::open(&config.state_file).await?;
        Self::open_with(config, Arc::new(storage))
    }

    /// The same, with the ledger in another place than a file; `state_file` only names it in errors.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(config: Config, storage: Arc<dyn Storage>) -> Result<Self, ProviderError> {
        config.check()?;
        let server = Arc::new(Server::new(&config)?);
        let ledger = Ledger::open(storage, &config.state_file)?;
        let core = Arc::new(Core { config, server, ledger, herds: RwLock::default() });
        let janitor = tokio::spawn(see_to(Arc::downgrade(&core), core.config.timing.poll * POLLS_PER_ROUND));
        Ok(Self { core, _janitor: Arc::new(Janitor(janitor)) })
    }
}

/// Sees to what waits and to what broke, whether or not anybody calls.
async fn see_to(core: Weak<Core>, round: Duration) {
    loop {
        tokio::time::sleep(round).await;
        let Some(core) = core.upgrade() else { return };
        for herd in core.herds().values().filter(|herd| herd.needs_care()) {
            if let Err(error) = herd.advance(ago(round)).await {
                tracing::debug!(group = herd.group.group, %error, "cannot see to a group");
            }
        }
    }
}

impl Core {
    /// Nobody waits longer than was said.
    async fn bounded<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>>,
        late: impl FnOnce(Duration) -> ProviderError,
    ) -> Result<T, ProviderError> {
        let limit = self.config.patience();
        tokio::time::timeout(limit, call).await.unwrap_or_else(|_| Err(late(limit)))
    }

    fn slow(&self, call: &str, limit: Duration) -> ProviderError {
        let text = format!("{}: {call}: not done in {limit:?}; ask again", self.config.address);
        refuse(FailureClass::Transient, NO_ANSWER, text)
    }

    fn herds(&self) -> Arc<Herds> {
        self.herds.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A group that stays keeps what it has under way.
    fn serve(&self, groups: Vec<Group>) {
        let old = self.herds();
        let herd = |group: Group| {
            let same = old.get(&group.group).filter(|herd| herd.group == group).cloned();
            let new = || {
                Arc::new(Herd::new(
                    group.clone(),
                    self.config.timing,
                    self.server.clone(),
                    self.ledger.clone(),
                ))
            };
            (group.group.clone(), same.unwrap_or_else(new))
        };
        let herds = Arc::new(groups.into_iter().map(herd).collect());
        *self.herds.write().unwrap_or_else(PoisonError::into_inner) = herds;
    }

    fn herd(&self, group: &str) -> Option<Arc<Herd>> {
        self.herds().get(group).cloned()
    }

    /// The group that a launch is for.
    fn herd_for(&self, spec: &LaunchSpec) -> Result<Arc<Herd>, ProviderError> {
        let id = group_of(&spec.pool, &spec.template)?;
        let herd = self.herd(&id).filter(|h| h.group.pool == spec.pool && h.group.workload == spec.workload);
        herd.ok_or_else(|| {
            let text = format!(
                "pool {} of {}: group {id:?} is not configured for it; name the group under template.group",
                spec.pool, spec.workload
            );
            refuse(FailureClass::Permanent, NOT_OURS, text)
        })
    }

    /// All groups, or none.
    async fn look_at_all(&self) -> Result<Vec<(Arc<Herd>, Arc<Look>)>, ProviderError> {
        let asked = Instant::now();
        self.server.refresh(asked).await?;
        let permits = Arc::new(Semaphore::new(LOOKS_AT_ONCE));
        let mut tasks = JoinSet::new();
        for (n, herd) in self.herds().values().cloned().enumerate() {
            let permits = permits.clone();
            tasks.spawn(async move {
                let _permit = permits.acquire().await;
                let look = herd.look(asked).await?;
                Ok::<_, ProviderError>((n, herd, look))
            });
        }
        let mut looks = BTreeMap::new();
        while let Some(done) = tasks.join_next().await {
            let (n, herd, look) = done.map_err(|why| {
                let text = format!("a look did not end: {why}; it is safe to ask again");
                refuse(FailureClass::Transient, NO_ANSWER, text)
            })??;
            looks.insert(n, (herd, look));
        }
        Ok(looks.into_values().collect())
    }

    async fn list(&self) -> Result<Listing, ProviderError> {
        let looks = self.look_at_all().await?;
        let book = self.ledger.book();
        let (mut instances, mut skipped) = (BTreeMap::new(), Vec::new());
        for (herd, look) in looks {
            skipped.extend(look.odd.iter().cloned());
            let Some(shelf) = book.groups.get(&herd.group.group) else { continue };
            for (id, seen) in &look.machines {
                // A later look had it no more.
                let Some(machine) = shelf.machines.get(id) else { continue };
                let described = describe(&herd, id, seen, machine);
                if let Some(first) = instances.insert(id.clone(), described) {
                    skipped.push(format!("{id} is listed in two groups, {} among them", herd.group.group));
                    instances.insert(id.clone(), first);
                }
            }
        }
        Ok(Listing { instances: instances.into_values().collect(), skipped })
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        let book = self.ledger.book();
        let known = book.groups.iter().find(|(_, shelf)| shelf.machines.contains_key(id));
        if let Some((group, _)) = known {
            return match self.herd(group) {
                Some(herd) => herd.terminate(id).await,
                None => Ok(()), // its group is ours no more
            };
        }
        if id.as_str().is_empty() {
            return Ok(());
        }
        let looks = self.look_at_all().await?;
        match looks.iter().find(|(_, look)| look.machines.contains_key(id)) {
            Some((herd, _)) => herd.terminate(id).await,
            None => Ok(()),
        }
    }
}

fn describe(herd: &Herd, id: &CloudId, seen: &Seen, machine: &crate::book::Machine) -> CloudInstance {
    let launch = machine.launch.as_ref();
    let ends = machine.is_ending() || machine.trouble.is_some();
    CloudInstance {
        id: id.clone(),
        workload: herd.group.workload.clone(),
        pool: herd.group.pool.clone(),
        launched_for: launch.map(|launch| (launch.instance.clone(), launch.attempt)),
        kind: launch.map_or(NodeKind::Worker, Launch::kind),
        phase: if ends { CloudPhase::Stopping } else { seen.phase },
        created_at: None,
        address: id.as_str().rsplit('/').next().unwrap_or_default().to_owned(),
    }
}

#[async_trait]
impl Provider for ExternalGrpcProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            joins_by_itself: true,
            chooses_victims: false,
            answers_within: Millis(millis(self.core.config.patience()).0.saturating_add(SLACK.0)),
            // A launch is answered by what was listed; a look that began before may end after it.
            appears_within: millis(self.core.config.timeout),
            gone_within: GONE_WITHIN,
        }
    }

    fn configure(&self, pools: &[ServedPool]) -> Result<(), ProviderError> {
        self.core.serve(groups_of(pools)?);
        Ok(())
    }

    async fn list(&self) -> Result<Listing, ProviderError> {
        self.core.bounded(self.core.list(), |limit| self.core.slow("list", limit)).await
    }

    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        // The wire carries no tags; ours are in the ledger, and the user's are for clouds that have them.
        tags::write("", spec, token)?;
        let herd = self.core.herd_for(spec)?;
        let late = |limit| {
            let group = &herd.group.group;
            let text =
                format!("group {group}: {token} is asked for and not seen in {limit:?}; it is waited for");
            refuse(FailureClass::Transient, NOT_SEEN, text)
        };
        self.core.bounded(herd.obtain(Launch::of(spec, token)), late).await
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        self.core.bounded(self.core.terminate(id), |limit| self.core.slow("terminate", limit)).await
    }

    fn details(&self, id: &CloudId) -> Option<String> {
        let book = self.core.ledger.book();
        let (group, shelf) = book.groups.iter().find(|(_, shelf)| shelf.machines.contains_key(id))?;
        let trouble = shelf.machines.get(id)?.trouble.as_ref();
        let trouble = trouble.map(|trouble| format!(", could not be made: {}", trouble.text));
        Some(format!("node group {group} of {}{}", self.core.config.address, trouble.unwrap_or_default()))
    }
}
