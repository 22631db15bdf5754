//! All machines of one state directory: a synchronous core under one lock, which the provider and the janitor share.

use crate::config::LocalConfig;
use crate::environment;
use crate::machine::Machine;
use crate::processes::{self, Process, Table};
use crate::record::{Dir, Leader, Record, Stage, id_of};
use crate::spawn;
use ostler_model::{CloudId, FailureClass, LaunchToken, Timestamp};
use ostler_provider::{LaunchSpec, Listing, ProviderError, tags};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Records of ended machines that are kept, the newest. A launch is repeated within minutes; this is days of a
/// busy host, and a megabyte or so.
const ENDED_KEPT: usize = 1_000;
/// Logs are larger, and read while the end is news.
const ENDED_LOGS_KEPT: usize = 50;
/// Between two looks at a machine that ends. Each is a walk over `/proc`, a few milliseconds.
const TICK: Duration = Duration::from_millis(100);
/// A process of a killed Ostler may hold the directory's lock for the instant between its fork and exec.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub(crate) struct Host {
    config: LocalConfig,
    dir: Dir,
    site: String,
    boot: String,
    machines: Mutex<BTreeMap<CloudId, Machine>>,
    odd: Vec<String>,
    // Held for as long as we live; the kernel lets go of it when we die.
    _lock: File,
}

type Machines = BTreeMap<CloudId, Machine>;

impl Host {
    /// Takes over a state directory and finds its machines again.
    pub(crate) fn open(config: LocalConfig) -> Result<Self, ProviderError> {
        config.check()?;
        let path = config.state_dir.clone();
        let unusable = |error: io::Error| {
            let message =
                format!("state directory {}: {error}; give one that can be written", path.display());
            ProviderError::new(FailureClass::Permanent, "OSTLER-P102", message)
        };
        let dir = Dir::make(&config.state_dir).map_err(unusable)?;
        let lock = own(&dir)?;
        let site = dir.site().map_err(unusable)?;
        let boot =
            std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(unusable)?.trim().to_owned();
        let (records, _) = dir.load().map_err(unusable)?;
        let machines = records.into_iter().map(|record| (record.id.clone(), Machine::new(record))).collect();
        let mut host =
            Self { config, dir, site, boot, machines: Mutex::new(machines), odd: Vec::new(), _lock: lock };
        host.adopt_lost()?;
        // What still cannot be read has no process.
        host.odd = host.dir.load().map_err(unusable)?.1;
        Ok(host)
    }

    pub(crate) fn config(&self) -> &LocalConfig {
        &self.config
    }

    pub(crate) fn list(&self) -> Result<Listing, ProviderError> {
        let mut machines = self.machines();
        self.refresh(&mut machines)?;
        let mut listing = Listing { instances: Vec::new(), skipped: self.odd.clone() };
        for (id, machine) in machines.iter_mut().filter(|(_, m)| !m.record.has_ended() || !m.shown) {
            machine.shown = true;
            if let Err(error) = spawn::bound_log(&self.dir, id, self.config.max_log_bytes) {
                tracing::debug!(machine = %id, %error, "cannot bound a log");
            }
            match tags::read(&self.site, &machine.record.tags) {
                Some(Ok(tagged)) => listing.instances.push(machine.describe(tagged)),
                Some(Err(why)) => listing.skipped.push(format!("{id}: {why}")),
                None => listing.skipped.push(format!("{id}: its record is of another state directory")),
            }
        }
        Ok(listing)
    }

    pub(crate) fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        let id = id_of(token)?;
        let tags = tags::write(&self.site, spec, token)?;
        let mut machines = self.machines();
        if machines.get(&id).is_some_and(|machine| machine.record.stage == Stage::Starting) {
            self.refresh(&mut machines)?;
        }
        if machines.contains_key(&id) {
            return Ok(id);
        }
        let start = environment::start(&self.config, &self.site, &id, spec, token)?;
        self.expect_room(&mut machines)?;
        let record = Record {
            id: id.clone(),
            token: token.clone(),
            tags,
            asked_at: now(),
            leader: None,
            stage: Stage::Starting,
        };
        self.dir.save(&record).map_err(|error| not_written(&id, &error))?;
        let machine = self.start(record, &start).inspect_err(|_| self.dir.forget(&id))?;
        machines.insert(id.clone(), machine);
        Ok(id)
    }

    pub(crate) fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        let mut machines = self.machines();
        let Some(machine) = machines.get_mut(id) else { return Ok(()) };
        if matches!(machine.record.stage, Stage::Starting | Stage::Running) {
            let asked = Record { stage: Stage::Stopping { since: now() }, ..machine.record.clone() };
            self.dir.save(&asked).map_err(|error| not_written(id, &error))?;
            machine.record = asked;
            machine.shown = true; // whoever ends it knows that it is there
        }
        Ok(())
    }

    /// Where a person finds more.
    pub(crate) fn details(&self, id: &CloudId) -> Option<String> {
        let machines = self.machines();
        let log = self.dir.log(id);
        let process = match &machines.get(id)?.record {
            Record { leader: Some(leader), stage: Stage::Running | Stage::Stopping { .. }, .. } => {
                format!("process {}, ", leader.pid)
            }
            _ => String::new(),
        };
        Some(format!("{process}log {}", log.display()))
    }

    /// Helps ending machines along; gives the time until it should be called again, if any is left.
    pub(crate) fn tick(&self) -> Option<Duration> {
        let mut machines = self.machines();
        let stopping = |machine: &Machine| matches!(machine.record.stage, Stage::Stopping { .. });
        if !machines.values().any(stopping) {
            return None;
        }
        // Trouble with /proc passes or shows in `list`; a machine that should end is not given up for it.
        if let Err(error) = self.refresh(&mut machines).and_then(|()| self.signal_stopping(&mut machines)) {
            tracing::warn!(%error, "cannot end machines");
        }
        machines.values().any(stopping).then_some(TICK)
    }

    fn signal_stopping(&self, machines: &mut Machines) -> Result<(), ProviderError> {
        let table = self.table()?;
        for (id, machine) in machines.iter_mut() {
            let Stage::Stopping { since } = machine.record.stage else { continue };
            let left = self.config.stop_grace().0.saturating_sub(now().since(since).0);
            let kill_at = *machine.kill_at.get_or_insert(Instant::now() + Duration::from_millis(left));
            let members = table.members(&machine.record.token, self.leader(machine));
            let failed = if Instant::now() >= kill_at {
                members.iter().filter_map(|p| processes::signal(p, Signal::KILL).err()).next()
            } else {
                machine.tell(&members)
            };
            if let Some(error) = failed {
                tracing::warn!(machine = %id, %error, "cannot signal a process of a machine that should end");
            }
        }
        Ok(())
    }

    /// Looks which machines live. Those whose first process runs cost one look; only others need the whole table.
    fn refresh(&self, machines: &mut Machines) -> Result<(), ProviderError> {
        let mut doubtful = Vec::new();
        for (id, machine) in machines.iter_mut().filter(|(_, machine)| !machine.record.has_ended()) {
            machine.reap();
            if !self.runs(machine) {
                doubtful.push((id.clone(), spawn::is_under_way(&self.dir, id)));
            }
        }
        if doubtful.is_empty() {
            return Ok(());
        }
        let before = machines.values().filter(|machine| machine.record.has_ended()).count();
        self.settle(machines, doubtful)?;
        self.prune(machines, before);
        Ok(())
    }

    /// Decides about machines whose first process does not run; each with: is a start of it under way?
    fn settle(&self, machines: &mut Machines, doubtful: Vec<(CloudId, bool)>) -> Result<(), ProviderError> {
        // After the locks were looked at: a start that ended in between shows its mark by now.
        let table = self.table()?;
        let mut missing = Vec::new();
        for (id, under_way) in doubtful {
            let Some(machine) = machines.get_mut(&id) else { continue };
            let members = table.members(&machine.record.token, None);
            if !members.is_empty() {
                self.found(machine, &members);
            } else if !(under_way && machine.record.leader.is_none()) {
                missing.push((id, machine.record.token.clone()));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        // A process may slip through one walk: its number can lie before its parent's, and the parent end meanwhile.
        let again = self.table()?;
        missing.retain(|(_, token)| again.members(token, None).is_empty());
        missing.iter().for_each(|(id, _)| self.ended(machines, id));
        Ok(())
    }

    fn ended(&self, machines: &mut Machines, id: &CloudId) {
        match machines.get_mut(id) {
            // Never started: a repeated launch may.
            Some(machine) if machine.record.stage == Stage::Starting => {
                machines.remove(id);
                self.dir.forget(id);
            }
            Some(machine) => {
                machine.record.stage = Stage::Ended { at: now() };
                self.keep(&machine.record);
            }
            None => {}
        }
    }

    fn found(&self, machine: &mut Machine, members: &[&Process]) {
        let before = machine.record.clone();
        if machine.record.stage == Stage::Starting {
            machine.record.stage = Stage::Running;
        }
        if machine.record.leader.is_none() {
            machine.record.leader = oldest_leader(members).map(|p| self.leader_of(p));
        }
        if machine.record != before {
            self.keep(&machine.record);
        }
    }

    fn start(&self, record: Record, start: &environment::Start) -> Result<Machine, ProviderError> {
        let child = spawn::spawn(&self.dir, &record.id, start).map_err(|error| not_started(start, &error))?;
        let mut machine = Machine::new(record);
        let pid = child.id() as i32;
        machine.record.leader = processes::look(pid, &self.site).map(|process| self.leader_of(&process));
        machine.record.stage = Stage::Running;
        machine.child = Some(child);
        machine.shown = false;
        // If this fails the record on disk says `starting`, and a later life finds the process by its mark.
        self.keep(&machine.record);
        Ok(machine)
    }

    /// Machines whose record was lost, from what their processes carry.
    fn adopt_lost(&self) -> Result<(), ProviderError> {
        let table = self.table()?;
        let mut machines = self.machines();
        for (token, pid) in table.marked() {
            let lives = |machine: &Machine| !machine.record.has_ended();
            let known = id_of(&token).is_ok_and(|id| machines.get(&id).is_some_and(lives));
            let found = Record::from_environment(&self.site, &processes::variables(pid), now());
            if let Some(record) = found.filter(|_| !known) {
                tracing::warn!(machine = %record.id, "a machine without a record was found by its processes");
                self.keep(&record);
                machines.insert(record.id.clone(), Machine::new(record));
            }
        }
        Ok(())
    }

    /// Ended machines are forgotten at last, the oldest first. `before` is how many had ended at the last time.
    fn prune(&self, machines: &mut Machines, before: usize) {
        let ended = |(id, machine): (&CloudId, &Machine)| match machine.record.stage {
            Stage::Ended { at } => Some((at, id.clone())),
            _ => None,
        };
        let mut ended: Vec<_> = machines.iter().filter_map(ended).collect();
        ended.sort_by(|a, b| b.cmp(a));
        let new = ended.len().saturating_sub(before);
        for (_, id) in ended.iter().skip(ENDED_LOGS_KEPT).take(new) {
            self.dir.forget_logs(id);
        }
        for (_, id) in ended.iter().skip(ENDED_KEPT) {
            machines.remove(id);
            self.dir.forget(id);
        }
    }

    fn expect_room(&self, machines: &mut Machines) -> Result<(), ProviderError> {
        let max = self.config.max_machines;
        let full = |machines: &Machines| {
            machines.values().filter(|machine| !machine.record.has_ended()).count() >= max as usize
        };
        if full(machines) {
            self.refresh(machines)?;
        }
        if !full(machines) {
            return Ok(());
        }
        let message = format!("all {max} local machines exist; raise max_machines or end some");
        Err(ProviderError::new(FailureClass::Quota, "OSTLER-P107", message))
    }

    /// The machine's first process, if it is of this boot.
    fn leader<'a>(&self, machine: &'a Machine) -> Option<&'a Leader> {
        machine.record.leader.as_ref().filter(|leader| leader.boot == self.boot)
    }

    /// Does its first process run? Our own child that we have not reaped does; others are looked at.
    fn runs(&self, machine: &Machine) -> bool {
        let looked_at =
            |leader: &Leader| processes::look(leader.pid, &self.site).is_some_and(|p| p.is(leader));
        machine.child.is_some() || self.leader(machine).is_some_and(looked_at)
    }

    fn leader_of(&self, process: &Process) -> Leader {
        Leader { pid: process.pid, start: process.start, boot: self.boot.clone() }
    }

    fn table(&self) -> Result<Table, ProviderError> {
        Table::read(&self.site).map_err(|error| {
            let message =
                format!("/proc cannot be read: {error}; local machines need a Linux host that shows it");
            ProviderError::new(FailureClass::Transient, "OSTLER-P109", message)
        })
    }

    fn keep(&self, record: &Record) {
        if let Err(error) = self.dir.save(record) {
            tracing::warn!(machine = %record.id, %error, "cannot write a record; its processes still say whose they are");
        }
    }

    // Whoever panicked under the lock left whole records: each change is one assignment.
    fn machines(&self) -> MutexGuard<'_, Machines> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks the state directory for us alone.
fn own(dir: &Dir) -> Result<File, ProviderError> {
    let path = dir.path().display();
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match File::create(dir.lock())
            .map_err(TryLockError::Error)
            .and_then(|file| file.try_lock().map(|()| file))
        {
            Ok(file) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "state directory {path}: another Ostler runs on it; stop that one, or give another"
                );
                return Err(ProviderError::new(FailureClass::Permanent, "OSTLER-P103", message));
            }
            Err(TryLockError::Error(error)) => {
                let message = format!("state directory {path}: {error}; give one that can be written");
                return Err(ProviderError::new(FailureClass::Permanent, "OSTLER-P102", message));
            }
        }
    }
}

/// Among the processes of a machine that was found again: the oldest that leads a group.
fn oldest_leader<'a>(members: &[&'a Process]) -> Option<&'a Process> {
    members.iter().copied().filter(|p| p.pid == p.group).min_by_key(|p| (p.start, p.pid))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_millis() as u64)
}

fn not_written(id: &CloudId, error: &io::Error) -> ProviderError {
    let message = format!("{id}: its record cannot be written: {error}; make room in the state directory");
    ProviderError::new(FailureClass::Transient, "OSTLER-P108", message)
}

fn not_started(start: &environment::Start, error: &io::Error) -> ProviderError {
    use io::ErrorKind as Kind;
    let class = match error.kind() {
        Kind::PermissionDenied => FailureClass::Denied,
        Kind::WouldBlock | Kind::OutOfMemory | Kind::StorageFull => FailureClass::OutOfCapacity,
        _ => FailureClass::Permanent,
    };
    let message = format!("{:?} cannot be started: {error}; check `command`", start.argv[0]);
    ProviderError::new(class, "OSTLER-P110", message)
}
