//! The ways of placing that are tried. The best answer of them all is taken (see [`super::choose`]).

use super::score::Rule;

/// One way.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// How machines that exist are compared.
    pub(super) existing: Rule,
    /// How new machines are compared.
    pub(super) fresh: Rule,
    /// Requests in Ray's order (amounts added up) and as it came among equals, or by their largest share.
    pub(super) raw_order: bool,
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
    /// The parts of a spread gang go to different machines where nothing is launched for it.
    pub(super) spread: bool,
    /// A new machine is replaced by a lighter one that takes the same.
    pub(super) shrink: bool,
}

/// Ray's way, on a state without machines that are leaving. What it places must be placed.
pub(super) const RAY: Variant = Variant {
    existing: Rule::Raw,
    fresh: Rule::Raw,
    raw_order: true,
    raw_victims: true,
    all_or_nothing: true,
    staged: false,
    in_turns: true,
    gangs_last: false,
    spread: false,
    shrink: false,
};

/// The documented way. Machines at work are filled first: what waits can start there at once, and what was
/// launched for the rest is found to suffice for it in the next decision.
pub(super) const DOCUMENTED: Variant = Variant {
    existing: Rule::Documented,
    fresh: Rule::Documented,
    raw_order: false,
    raw_victims: false,
    all_or_nothing: false,
    staged: true,
    in_turns: false,
    gangs_last: false,
    spread: true,
    shrink: true,
};

/// Others, the most promising first.
pub(super) const OTHERS: [Variant; 11] = [
    Variant { fresh: Rule::Value, ..DOCUMENTED },
    Variant { raw_order: true, fresh: Rule::Value, ..DOCUMENTED },
    Variant { fresh: Rule::Value, staged: false, ..DOCUMENTED },
    Variant { fresh: Rule::Value, gangs_last: true, ..DOCUMENTED },
    Variant { all_or_nothing: false, shrink: true, ..RAY },
    Variant { shrink: true, ..RAY },
    Variant { staged: true, ..RAY },
    Variant { staged: false, ..DOCUMENTED },
    Variant { raw_order: true, fresh: Rule::Value, staged: false, ..DOCUMENTED },
    Variant { existing: Rule::Raw, fresh: Rule::Value, raw_order: true, spread: false, ..DOCUMENTED },
    Variant { existing: Rule::Value, fresh: Rule::Value, spread: false, ..DOCUMENTED },
];
