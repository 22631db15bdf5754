//! Where nodes come from.

use ostler_model::{
    CloudId, CloudInstance, CloudPhase, FailureClass, InstanceId, LaunchToken, Millis, NodeKind, Pool,
    PoolId, Resources, Timestamp, WorkloadId,
};
use std::collections::{BTreeMap, BTreeSet};

/// How machines of one pool behave.
#[derive(Debug, Clone)]
pub struct Habits {
    /// From the launch until the node is ready.
    pub boot: Millis,
    /// From then until the node loses the taints of its start.
    pub startup: Millis,
    /// The node is there and never ready.
    pub never_ready: bool,
    /// Machines are gone before anybody lists them.
    pub fleeting: bool,
    /// Launches are refused so.
    pub refuse: Option<FailureClass>,
    /// Launches are refused once there are so many machines.
    pub stock: Option<usize>,
    /// What nodes let pods use, where that is not what the pool says.
    pub allocatable: Option<Resources>,
}

impl Default for Habits {
    fn default() -> Self {
        let (boot, startup) = (Millis::secs(60), Millis(0));
        Self {
            boot,
            startup,
            never_ready: false,
            fleeting: false,
            refuse: None,
            stock: None,
            allocatable: None,
        }
    }
}

/// A machine and when its node is ready.
#[derive(Debug, Clone)]
pub(crate) struct VirtualMachine {
    pub(crate) instance: CloudInstance,
    /// Its pool as it was when it was made.
    pub(crate) made_of: Pool,
    /// `None`: never.
    pub(crate) ready_at: Option<Timestamp>,
}

/// Machines, by id.
#[derive(Debug, Clone, Default)]
pub struct Cloud {
    pub(crate) machines: BTreeMap<CloudId, VirtualMachine>,
    /// Every token that ever made a machine.
    tokens: BTreeMap<String, CloudId>,
    /// By pool.
    pub habits: BTreeMap<PoolId, Habits>,
    /// Pools whose provider is not configured any more: nobody lists their machines.
    pub unlisted: BTreeSet<PoolId>,
    /// Machines that were ever made.
    pub made: usize,
    /// Launches that were asked for, refused ones too, by pool.
    pub asked: BTreeMap<PoolId, usize>,
}

impl Cloud {
    /// Makes a machine, once for each token.
    pub(crate) fn launch(
        &mut self,
        now: Timestamp,
        workload: &WorkloadId,
        pool: &Pool,
        record: (&InstanceId, u32),
        token: &LaunchToken,
    ) -> Result<(), FailureClass> {
        if self.tokens.contains_key(token.as_str()) {
            return Ok(());
        }
        *self.asked.entry(pool.id.clone()).or_insert(0) += 1;
        let habits = self.habits.get(&pool.id).cloned().unwrap_or_default();
        let there = self.machines.values().filter(|machine| machine.instance.pool == pool.id).count();
        if let Some(class) = habits.refuse {
            return Err(class);
        }
        if habits.stock.is_some_and(|stock| there >= stock) {
            return Err(FailureClass::OutOfCapacity);
        }
        self.made += 1;
        let id = CloudId::new(format!("m-{}", self.made));
        let instance = CloudInstance {
            id: id.clone(),
            workload: workload.clone(),
            pool: pool.id.clone(),
            launched_for: Some((record.0.clone(), record.1)),
            kind: NodeKind::Worker,
            phase: CloudPhase::Running,
            created_at: Some(now),
            address: String::new(),
        };
        let ready_at = (!habits.never_ready).then(|| now + habits.boot);
        if !habits.fleeting {
            let made_of = pool.clone();
            self.machines.insert(id.clone(), VirtualMachine { instance, made_of, ready_at });
        }
        self.tokens.insert(token.as_str().to_owned(), id);
        Ok(())
    }

    pub(crate) fn terminate(&mut self, id: &CloudId) {
        self.machines.remove(id);
    }

    /// Machines.
    pub fn len(&self) -> usize {
        self.machines.len()
    }

    /// Is there no machine?
    pub fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// Machines of a pool.
    pub fn count(&self, pool: &str) -> usize {
        self.machines.values().filter(|machine| machine.instance.pool.as_str() == pool).count()
    }
}
