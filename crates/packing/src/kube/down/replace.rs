//! Cheaper machines in the place of dearer ones.

use super::Going;
use super::moving::Mover;
use super::order::Values;
use crate::kube::problem::{Decision, Keep, Replacement};
use crate::kube::world::World;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub(super) fn cheaper<'a>(
    _world: &mut World<'a>,
    _values: &Values,
    _mover: &mut Mover,
    _kept: &mut BTreeMap<usize, Keep>,
    _go: &mut Going<'a>,
    _decision: &Decision,
) -> Vec<Replacement> {
    Vec::new()
}
