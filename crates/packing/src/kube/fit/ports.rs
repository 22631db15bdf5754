//! NodePorts: ports of the host that the pod takes must be free.

use super::{No, Question, Verdict};
use ostler_model::kube::HostPort;

/// All addresses of the host.
const ANY: &str = "0.0.0.0";

pub(super) fn free(question: &Question<'_, '_>) -> Verdict {
    if question.kind.ports.is_empty() {
        return Ok(());
    }
    let ports = &question.ledger.ports;
    let nominated = question.nominated().flat_map(|(_, kind)| kind.ports.iter().copied());
    let taken = question.node.ports.iter().map(|&(port, _)| port).chain(nominated);
    for taken in taken {
        for &wanted in &question.kind.ports {
            let wanted = &ports[wanted as usize];
            if conflict(wanted, &ports[taken as usize]) {
                return Err(No::Port(wanted.port));
            }
        }
    }
    Ok(())
}

fn conflict(one: &HostPort, other: &HostPort) -> bool {
    one.port == other.port
        && one.protocol == other.protocol
        && (one.address == other.address || &*one.address == ANY || &*other.address == ANY)
}
