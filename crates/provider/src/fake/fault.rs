//! Faults on order.

use ostler_model::{FailureClass, Millis, PoolId};

/// The next `times` calls that match meet this trouble. Faults are used up in the order in which they were
/// ordered, one for each call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which calls.
    pub call: Call,
    /// Only calls about this pool; `None` is all. A listing is about no pool.
    pub pool: Option<PoolId>,
    /// How many calls.
    pub times: u32,
    /// What happens to them.
    pub trouble: Trouble,
}

/// A method of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// [`Provider::list`](crate::Provider::list)
    List,
    /// [`Provider::launch`](crate::Provider::launch)
    Launch,
    /// [`Provider::terminate`](crate::Provider::terminate)
    Terminate,
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It fails with this class; nothing is done.
    Refuse(FailureClass),
    /// All is done, and the caller gets [`FailureClass::Transient`].
    LoseAnswer,
    /// All is done at once, and the answer comes this much later.
    Slow(Millis),
    /// It is answered at once, and a listing shows what was done this much later than usual. No meaning for a listing.
    Lag(Millis),
}

/// Takes the first fault that matches, and counts it down.
pub(super) fn take(faults: &mut Vec<Fault>, call: Call, pool: Option<&PoolId>) -> Option<Trouble> {
    let matches = |f: &Fault| f.call == call && (f.pool.is_none() || f.pool.as_ref() == pool);
    let at = faults.iter().position(matches)?;
    let trouble = faults[at].trouble;
    faults[at].times = faults[at].times.saturating_sub(1);
    if faults[at].times == 0 {
        faults.remove(at);
    }
    Some(trouble)
}
