//! A node of the virtual cluster.

use ostler_model::{
    CloudId, Labels, Millis, Node, NodeId, NodeStatus, PoolId, Quantity, Resources, Shape, Timestamp,
};

/// One member of the cluster.
#[derive(Debug, Clone)]
pub struct VirtualNode {
    /// Its id.
    pub id: NodeId,
    /// Its machine; the head has none that a provider lists.
    pub cloud: Option<CloudId>,
    /// Its pool.
    pub pool: Option<PoolId>,
    /// How it is, in truth.
    pub life: Life,
    /// The control plane does not know it again before this time.
    pub hidden_until: Timestamp,
    /// Since when nothing runs on it.
    pub idle_since: Timestamp,
    /// Requests that run on it.
    pub running: u64,
    pub(super) total: Resources,
    pub(super) free: Resources,
    pub(super) labels: Labels,
}

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Takes work.
    Up,
    /// Takes no new work, and dies once it is empty or at the deadline.
    Draining {
        /// When the drain began.
        since: Timestamp,
        /// When what still runs is cut off.
        deadline: Option<Timestamp>,
    },
    /// Its machine is gone, and nobody has noticed.
    Lost {
        /// When it is noticed.
        noticed_at: Timestamp,
    },
    /// Gone.
    Dead {
        /// Since when.
        at: Timestamp,
    },
}

impl VirtualNode {
    pub(super) fn is_head(&self) -> bool {
        self.cloud.is_none()
    }

    /// Takes work, and the control plane knows it.
    pub fn is_up(&self, now: Timestamp) -> bool {
        self.life == Life::Up && self.hidden_until <= now
    }

    pub(super) fn fits(&self, shape: &Shape) -> bool {
        let labels = shape.selectors.is_empty() || shape.selectors.iter().any(|s| s.matches(&self.labels));
        labels && shape.resources.iter().all(|(name, amount)| amount <= self.free.get(name))
    }

    pub(super) fn take(&mut self, shape: &Shape) {
        for (name, amount) in shape.resources.iter() {
            let free = self.free.0.entry(name.clone()).or_default();
            *free = free.saturating_sub(amount);
        }
        self.running += 1;
    }

    pub(super) fn give_back(&mut self, shape: &Shape, now: Timestamp) {
        self.free.add(&shape.resources);
        self.running = self.running.saturating_sub(1);
        if self.running == 0 {
            self.idle_since = now;
        }
    }

    fn idle(&self, now: Timestamp) -> Millis {
        if self.running == 0 { now.since(self.idle_since) } else { Millis(0) }
    }

    /// As the control plane shows it; `None` if it does not know it.
    pub(super) fn shown(&self, now: Timestamp) -> Option<Node> {
        if now < self.hidden_until {
            return None;
        }
        let status = match self.life {
            Life::Dead { .. } => NodeStatus::Dead,
            Life::Draining { .. } => NodeStatus::Draining,
            Life::Up | Life::Lost { .. } if self.running > 0 => NodeStatus::Running,
            Life::Up | Life::Lost { .. } => NodeStatus::Idle,
        };
        let mut available = self.free.clone();
        available.0.retain(|_, amount| *amount > Quantity::ZERO); // an absent name is used up
        Some(Node {
            id: self.id.clone(),
            cloud: self.cloud.clone(),
            pool: self.pool.clone(),
            head: self.is_head(),
            status,
            idle: self.idle(now),
            total: self.total.clone(),
            available,
            labels: self.labels.clone(),
            address: String::new(),
            instance_type: String::new(),
            activity: Vec::new(),
        })
    }
}
