//! What goes wrong with the cluster, on order.

use super::{Life, VirtualRay};
use ostler_model::{Millis, Node, NodeId, NodeStatus, Quantity, Timestamp};

/// Orders that are open.
#[derive(Debug, Clone, Default)]
pub(super) struct Trouble {
    head_up_at: Timestamp,
    silent_until: Timestamp,
    unknown_until: Timestamp,
    bad_until: Timestamp,
    never_join: u32,
    reject_drains: u32,
}

/// What becomes of the nodes when the head is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejoin {
    /// They tell the new head of themselves, this long after it is up, and their work goes on.
    Same(Millis),
    /// They start again on the same machines as new nodes; their work fails.
    Anew(Millis),
    /// They die; their machines stay.
    Never,
}

impl Trouble {
    pub(super) fn is_head_up(&self, now: Timestamp) -> bool {
        self.head_up_at <= now
    }
    pub(super) fn answers(&self, now: Timestamp) -> bool {
        self.is_head_up(now) && self.silent_until <= now
    }
    pub(super) const fn takes_never_join(&mut self) -> bool {
        take(&mut self.never_join)
    }
    pub(super) const fn takes_rejected_drain(&mut self) -> bool {
        take(&mut self.reject_drains)
    }

    /// Spoils what is shown, and names what cannot be shown at all. The first worker stands for any.
    pub(super) fn distort(&self, now: Timestamp, nodes: &mut [Node]) -> Vec<String> {
        let first = nodes.iter_mut().find(|node| !node.head && node.status.is_up());
        if let Some(node) = first {
            if now < self.unknown_until {
                node.status = NodeStatus::Unknown(99);
            }
            if now < self.bad_until {
                node.available = node.total.clone();
                for amount in node.available.0.values_mut() {
                    *amount += Quantity::ONE;
                }
            }
        }
        if now < self.bad_until { vec!["a node without an id".to_owned()] } else { Vec::new() }
    }
}

const fn take(left: &mut u32) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

impl VirtualRay {
    /// The next `count` machines that come up never become nodes.
    pub const fn order_never_join(&mut self, count: u32) {
        self.trouble.never_join += count;
    }
    /// The next `count` drains of idle nodes are refused.
    pub const fn order_rejected_drains(&mut self, count: u32) {
        self.trouble.reject_drains += count;
    }
    /// Looks and drains fail until then; the cluster itself works on.
    pub fn order_silence(&mut self, until: Timestamp) {
        self.trouble.silent_until = self.trouble.silent_until.max(until);
    }
    /// A node shows a status that nobody knows, until then.
    pub fn order_unknown_status(&mut self, until: Timestamp) {
        self.trouble.unknown_until = self.trouble.unknown_until.max(until);
    }
    /// A node shows more free than it has, and a record cannot be read, until then.
    pub fn order_bad_records(&mut self, until: Timestamp) {
        self.trouble.bad_until = self.trouble.bad_until.max(until);
    }
    /// Takes back every order that is open.
    pub fn heal(&mut self, now: Timestamp) {
        let head_up_at = self.trouble.head_up_at.min(now);
        self.trouble = Trouble { head_up_at, ..Trouble::default() };
    }

    /// The head goes, and a new one is up after `down`: a new session that knows no node before it rejoins.
    pub fn replace_head(&mut self, now: Timestamp, down: Millis, rejoin: Rejoin) {
        let up_at = now + down;
        self.session += 1;
        self.trouble.head_up_at = up_at;
        let workers: Vec<_> = self.nodes.values().filter(|node| !node.is_head()).cloned().collect();
        for node in workers {
            match rejoin {
                Rejoin::Same(after) if matches!(node.life, Life::Up) => {
                    if let Some(node) = self.nodes.get_mut(&node.id) {
                        node.hidden_until = up_at + after;
                    }
                }
                Rejoin::Anew(after) if matches!(node.life, Life::Up | Life::Draining { .. }) => {
                    self.vanish(&node.id, now);
                    if let Some((_, joins_at)) = node.cloud.as_ref().and_then(|c| self.met.get_mut(c)) {
                        *joins_at = Some(up_at + after);
                    }
                }
                _ => self.vanish(&node.id, now),
            }
        }
    }

    /// A node that the new head never hears of.
    fn vanish(&mut self, id: &NodeId, now: Timestamp) {
        self.die(id, now, None);
        self.nodes.remove(id);
    }
}
