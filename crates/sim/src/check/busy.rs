//! `busy`: no work fails because Ostler took its machine for idle, or for something that it was not.

use super::Check;
use crate::world::World;
use ostler_model::EndCause;

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
            if let Some(cause) = killed.by_us.filter(|cause| !may_cost_work(*cause)) {
                return Err(format!(
                    "{} at work on {} failed: it was ended as {cause}",
                    killed.work, killed.node
                ));
            }
        }
        Ok(())
    }
}

/// Only what a person asked for may cost work, and that after its time to leave is over.
const fn may_cost_work(cause: EndCause) -> bool {
    matches!(cause, EndCause::MaxPerPool | EndCause::MaxTotal | EndCause::Outdated | EndCause::Asked)
}
