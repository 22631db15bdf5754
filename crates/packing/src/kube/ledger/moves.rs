//! What changes a ledger, and how it is taken back.

use super::node::{self, Node, Placed};
use super::{Ledger, NodeIx};
use crate::kube::fit::taints;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use ostler_model::kube::KubeNode;

/// A moment of a ledger, to go back to with [`Ledger::back_to`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "a mark does nothing by itself"]
pub struct Mark(usize);

/// One change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// So many pods were put on a node.
    Placed {
        spec: u32,
        node: NodeIx,
        count: u32,
    },
    /// The pod at this place of the node's list was taken off it.
    Unplaced {
        spec: u32,
        node: NodeIx,
        at: u32,
    },
    Added,
    Removed(NodeIx),
    Restored(NodeIx),
    Withdrawn(u32),
}

impl<'a> Ledger<'a> {
    /// This moment.
    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Takes back everything since the mark, newest first. Marks that were made since are worthless afterwards.
    pub fn back_to(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            match self.log.pop() {
                Some(Op::Placed { spec, node, count }) => self.unseat_last(spec, node, count),
                Some(Op::Unplaced { spec, node, at }) => {
                    let placed = Placed { spec, terminating: false };
                    self.count(placed, node, 1);
                    let pods = &mut self.nodes[node.at()].pods;
                    pods.push(placed);
                    let last = pods.len() - 1;
                    pods.swap(at as usize, last);
                }
                Some(Op::Added) => self.pop_node(),
                Some(Op::Removed(node)) => self.revive(node),
                Some(Op::Restored(node)) => self.leave(node),
                Some(Op::Withdrawn(ix)) => {
                    let nomination = &mut self.nominations[ix as usize];
                    nomination.active = true;
                    self.nodes[nomination.node.at()].awaited += 1;
                }
                None => break,
            }
        }
    }

    /// Puts a pod on a node, whether it fits or not; `false` if there is no such node or spec.
    pub fn place(&mut self, spec: u32, node: NodeIx) -> bool {
        self.place_many(spec, node, 1)
    }

    /// Puts so many equal pods on a node.
    pub fn place_many(&mut self, spec: u32, node: NodeIx, count: u32) -> bool {
        if !self.is_there(node) || self.kinds.len() <= spec as usize {
            return false;
        }
        let placed = Placed { spec, terminating: false };
        self.count(placed, node, i64::from(count));
        self.nodes[node.at()].pods.extend((0..count).map(|_| placed));
        self.log.push(Op::Placed { spec, node, count });
        true
    }

    /// Takes a pod like this off a node; `false` if there is none (one that terminates stays).
    pub fn unplace(&mut self, spec: u32, node: NodeIx) -> bool {
        if !self.is_there(node) {
            return false;
        }
        let wanted = Placed { spec, terminating: false };
        let pods = &mut self.nodes[node.at()].pods;
        let Some(at) = pods.iter().rposition(|&pod| pod == wanted) else { return false };
        pods.swap_remove(at);
        self.count(wanted, node, -1);
        self.log.push(Op::Unplaced { spec, node, at: at as u32 });
        true
    }

    /// A node that is not there yet, with the daemon pods that will run on it. It is given a name, and the label of
    /// the host's name unless it has one.
    pub fn add_node(&mut self, facts: &'a KubeNode) -> NodeIx {
        let ix = self.nodes.len();
        // No label can have this value, so no pod asks for it.
        let name: Arc<str> = alloc::format!("{}~{ix}", facts.id).into();
        let class = self.statics.class(facts);
        let node = self.push_node(Node::new(facts, Some(name), class));
        self.log.push(Op::Added);
        self.place_daemons(node);
        node
    }

    /// Puts the daemon pods on a node that belong there and have room, as if none were there: those of the highest
    /// priority first.
    pub fn place_daemons(&mut self, node: NodeIx) {
        let cluster = self.cluster;
        let mut daemons: Vec<_> = cluster.daemons.iter().collect();
        daemons
            .sort_by_key(|daemon| (self.spec(daemon.spec).map(|spec| Reverse(spec.priority)), &daemon.name));
        for daemon in daemons {
            if self.wants_daemon(daemon.spec, node) && self.fits(daemon.spec, node) {
                self.place(daemon.spec, node);
            }
        }
    }

    /// Would a DaemonSet with such pods have one on this node, room or not?
    pub fn wants_daemon(&self, spec: u32, node: NodeIx) -> bool {
        let (Some(kind), Some(there), Some(spec)) = (self.kind(spec), self.at(node), self.spec(spec)) else {
            return false;
        };
        let facts = self.statics.facts(kind.group, there);
        facts.affinity() && taints::first_untolerated(&there.facts.taints, spec).is_none()
    }

    /// Takes a node and all that is on it out of the world; `false` if it was not there.
    pub fn remove_node(&mut self, node: NodeIx) -> bool {
        if !self.is_there(node) {
            return false;
        }
        self.leave(node);
        self.log.push(Op::Removed(node));
        true
    }

    /// Puts a node that was taken out back into the world, with all that was on it; `false` if none was.
    pub fn restore_node(&mut self, node: NodeIx) -> bool {
        if self.is_there(node) || self.nodes.len() <= node.at() {
            return false;
        }
        self.revive(node);
        self.log.push(Op::Restored(node));
        true
    }

    /// The nomination of this pod, by place in [`ostler_model::kube::Cluster::pods`], does not count any more;
    /// `false` if it has none.
    pub fn withdraw(&mut self, pod: u32) -> bool {
        let at = self.nominations.iter().position(|one| one.pod == pod && one.active);
        let Some(at) = at else { return false };
        self.nominations[at].active = false;
        self.nodes[self.nominations[at].node.at()].awaited -= 1;
        self.log.push(Op::Withdrawn(at as u32));
        true
    }

    fn leave(&mut self, node: NodeIx) {
        self.for_pods_of(node, -1);
        for scope in &mut self.spreads.scopes {
            scope.leave(node.at(), &self.topology);
        }
        self.nodes[node.at()].alive = false;
    }

    fn revive(&mut self, node: NodeIx) {
        self.nodes[node.at()].alive = true;
        for scope in &mut self.spreads.scopes {
            scope.enter(node.at(), &self.topology);
        }
        self.for_pods_of(node, 1);
    }

    /// Counts everything on a node once more or once less, its list as it is.
    fn for_pods_of(&mut self, node: NodeIx, by: i64) {
        let pods = core::mem::take(&mut self.nodes[node.at()].pods);
        for &pod in &pods {
            self.count(pod, node, by);
        }
        self.nodes[node.at()].pods = pods;
    }

    /// A pod that is bound.
    pub(crate) fn seat(&mut self, spec: u32, node: NodeIx, terminating: bool) {
        let placed = Placed { spec, terminating };
        self.count(placed, node, 1);
        self.nodes[node.at()].pods.push(placed);
    }

    fn unseat_last(&mut self, spec: u32, node: NodeIx, count: u32) {
        self.count(Placed { spec, terminating: false }, node, -i64::from(count));
        let pods = &mut self.nodes[node.at()].pods;
        pods.truncate(pods.len() - count as usize);
    }

    pub(crate) fn push_node(&mut self, node: Node<'a>) -> NodeIx {
        let ix = self.nodes.len();
        self.capacity.extend(self.resources.capacity(node.facts));
        let start = self.free.len();
        self.free.extend_from_slice(&self.capacity[start..]);
        self.topology.push(&node);
        for scope in &mut self.spreads.scopes {
            scope.push(ix, &node, &self.topology, &self.statics);
        }
        self.nodes.push(node);
        NodeIx(ix as u32)
    }

    /// Takes back [`Self::push_node`] of a node that is empty again.
    fn pop_node(&mut self) {
        let Some(node) = self.nodes.pop() else { return };
        let ix = self.nodes.len();
        for scope in &mut self.spreads.scopes {
            scope.leave(ix, &self.topology);
            scope.pop();
        }
        self.topology.pop(&node);
        self.free.truncate(ix * self.resources.len());
        self.capacity.truncate(ix * self.resources.len());
    }

    /// Counts `by` more of such a pod on a node, everywhere but in the node's list.
    fn count(&mut self, pod: Placed, node: NodeIx, by: i64) {
        let columns = self.resources.len();
        let request = &self.resources.requests[pod.spec as usize * columns..][..columns];
        for (free, request) in self.free[node.at() * columns..].iter_mut().zip(request) {
            // Amounts are bounded so that no real sum wraps; if one did, going back would still be exact.
            *free = free.wrapping_sub(request.wrapping_mul(by));
        }
        let kind = &self.kinds[pod.spec as usize];
        let there = &mut self.nodes[node.at()];
        for &port in &kind.ports {
            node::count(&mut there.ports, port, by);
        }
        for volume in &kind.volumes {
            node::count(&mut there.volumes, volume.volume, by);
            let uses = &mut self.volume_uses[volume.volume as usize];
            *uses = u32::try_from(i64::from(*uses) + by).unwrap_or(0);
        }
        let at = node.at();
        if !pod.terminating {
            for &group in &kind.in_spreads {
                self.spreads.add(group, at, &self.topology, by);
            }
        }
        for &group in &kind.in_affinities {
            self.affinities.add(group, at, &self.topology, by);
        }
        for &term in &kind.in_antis {
            self.antis.add_meant(term, at, &self.topology, by);
        }
        for &term in &kind.anti {
            self.antis.add_holder(term, at, &self.topology, by);
        }
    }
}
