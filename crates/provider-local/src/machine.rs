//! One machine in memory: its record, and what this life of Ostler knows besides.

use crate::processes::{self, Process};
use crate::record::{Record, Stage};
use ostler_model::{CloudInstance, CloudPhase};
use ostler_provider::tags;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io;
use std::process::Child;
use std::time::Instant;

/// See the module.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) record: Record,
    /// Ours to reap, if this life started it.
    pub(crate) child: Option<Child>,
    /// Processes that got their SIGTERM, by number and start time.
    pub(crate) told: BTreeSet<(i32, u64)>,
    /// When SIGKILL follows; by a clock that nobody sets.
    pub(crate) kill_at: Option<Instant>,
    /// A listing has shown it. One that this life started is shown once even if it has ended by then: whoever
    /// launched it would else wait for it to appear.
    pub(crate) shown: bool,
}

impl Machine {
    pub(crate) fn new(record: Record) -> Self {
        Self { record, child: None, told: BTreeSet::new(), kill_at: None, shown: true }
    }

    /// Asks how our child ended, if it has, so that it does not stay a zombie.
    pub(crate) fn reap(&mut self) {
        if self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
            self.child = None;
        }
    }

    /// SIGTERM, once for each process: first the group of the first process, which ends the others in its own
    /// order; then what is left when that group is gone.
    pub(crate) fn tell(&mut self, members: &[&Process]) -> Option<io::Error> {
        let group = self.record.leader.as_ref().map(|leader| leader.pid);
        let in_group = members.iter().any(|p| Some(p.group) == group);
        let mut failed = None;
        for process in members.iter().filter(|p| !in_group || Some(p.group) == group) {
            if self.told.insert((process.pid, process.start)) {
                failed = processes::signal(process, Signal::TERM).err().or(failed);
            }
        }
        failed
    }

    pub(crate) fn describe(&self, tagged: tags::Tagged) -> CloudInstance {
        CloudInstance {
            id: self.record.id.clone(),
            workload: tagged.workload,
            pool: tagged.pool,
            launched_for: Some(tagged.launched_for),
            kind: tagged.kind,
            phase: match self.record.stage {
                Stage::Starting => CloudPhase::Pending,
                // Shown after its end: the last that there was to see of it.
                Stage::Running | Stage::Ended { .. } => CloudPhase::Running,
                Stage::Stopping { .. } => CloudPhase::Stopping,
            },
            created_at: Some(self.record.asked_at),
            address: "127.0.0.1".into(),
        }
    }
}
