//! The ways of placing that are tried. The best answer of them all is taken (see [`super::choose`]).

use super::order::Order;
use super::score::Rule;

/// One way.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// How machines that exist are compared.
    pub(super) existing: Rule,
    /// How new machines are compared.
    pub(super) fresh: Rule,
    /// In which order requests are placed.
    pub(super) order: Order,
    /// Machines over a bound go in Ray's order.
    pub(super) raw_victims: bool,
    /// A floor is met as a whole or not at all, and a gang has no other version, as in Ray.
    pub(super) all_or_nothing: bool,
    /// Machines at work are filled before those on their way.
    pub(super) staged: bool,
    /// Pools of equal score are taken in turns.
    pub(super) in_turns: bool,
    /// Requests are placed before gangs, which then take what is left.
    pub(super) gangs_last: bool,
    /// Floors get the room that demand leaves.
    pub(super) floors_last: bool,
    /// The parts of a spread gang go to different machines where nothing is launched for it.
    pub(super) spread: bool,
    /// A new machine is replaced by a lighter one that takes the same.
    pub(super) shrink: bool,
}

/// Ray's way, on a state without machines that are leaving. What it places must be placed.
pub(super) const RAY: Variant = Variant {
    existing: Rule::Raw,
    fresh: Rule::Raw,
    order: Order::Raw,
    raw_victims: true,
    all_or_nothing: true,
    staged: false,
    in_turns: true,
    gangs_last: false,
    floors_last: false,
    spread: false,
    shrink: false,
};

/// The documented way. Machines at work are filled first: what waits can start there at once, and what was
/// launched for the rest is found to suffice for it in the next decision.
pub(super) const DOCUMENTED: Variant = Variant {
    existing: Rule::Documented,
    fresh: Rule::Documented,
    order: Order::Documented,
    raw_victims: false,
    all_or_nothing: false,
    staged: true,
    in_turns: false,
    gangs_last: false,
    floors_last: false,
    spread: true,
    shrink: true,
};

/// Others, the most promising first.
pub(super) const OTHERS: [Variant; 14] = [
    VALUE,
    Variant { order: Order::Raw, ..VALUE },
    Variant { staged: false, ..VALUE },
    Variant { floors_last: true, ..VALUE },
    Variant { gangs_last: true, ..VALUE },
    Variant { all_or_nothing: false, shrink: true, ..RAY },
    Variant { all_or_nothing: false, floors_last: true, shrink: true, ..RAY },
    Variant { shrink: true, ..RAY },
    Variant { staged: true, ..RAY },
    Variant { staged: false, ..DOCUMENTED },
    Variant { order: Order::Raw, staged: false, ..VALUE },
    Variant { order: Order::Size, ..VALUE },
    Variant { existing: Rule::Raw, order: Order::Raw, spread: false, ..VALUE },
    Variant { existing: Rule::Value, order: Order::Size, spread: false, ..VALUE },
];

/// The most use for what new machines cost.
const VALUE: Variant = Variant { fresh: Rule::Value, ..DOCUMENTED };
