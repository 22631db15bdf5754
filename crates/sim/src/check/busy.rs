//! `busy`: no work fails because Ostler took its machine for idle, or for something that it was not.

use super::Check;
use crate::world::World;
use ostler_model::{EndCause, Millis};

#[derive(Debug, Default)]
pub(super) struct Busy {
    seen: usize,
}

impl Check for Busy {
    fn name(&self) -> &'static str {
        "busy"
    }

    fn after(&mut self, world: &World) -> Result<(), String> {
        let new = &world.ray.killed[self.seen..];
        self.seen = world.ray.killed.len();
        for killed in new {
            if let Some(cause) =
                killed.by_us.filter(|cause| !may_cost_work(*cause) && !is_unseen(world, *cause))
            {
                return Err(format!(
                    "{} at work on {} failed: it was ended as {cause}",
                    killed.work, killed.node
                ));
            }
        }
        Ok(())
    }
}

/// A node that shows no status that we know, and then no longer shows at all, has never joined for us.
fn is_unseen(world: &World, cause: EndCause) -> bool {
    cause == EndCause::NeverJoined && world.now < world.odd_until + LONG_AFTER
}

/// The time-out of a machine without a node, and the time for its end to arrive.
const LONG_AFTER: Millis = Millis::secs(60);

/// Only what a person asked for may cost work, and that after its time to leave is over.
const fn may_cost_work(cause: EndCause) -> bool {
    matches!(cause, EndCause::MaxPerPool | EndCause::MaxTotal | EndCause::Outdated | EndCause::Asked)
}
