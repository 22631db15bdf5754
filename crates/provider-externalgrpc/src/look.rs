//! What a server shows of a group, in our words: pure.

use crate::book::Trouble;
use crate::error::{TOO_MUCH, cut, of_creation, refuse};
use crate::proto::Instance;
use crate::proto::instance_status::InstanceState;
use ostler_model::{CloudId, CloudPhase, FailureClass};
use ostler_provider::ProviderError;
use std::collections::BTreeMap;

/// Machines of a group at most; an answer with more is refused. The largest Kubernetes clusters have a tenth
/// of it.
pub(crate) const MACHINES_MAX: usize = 50_000;
/// Bytes of a machine's id at most.
const ID_MAX: usize = 1_024;

/// The machines of a group at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Look {
    pub(crate) machines: BTreeMap<CloudId, Seen>,
    /// Those that cannot be understood, each with the reason.
    pub(crate) odd: Vec<String>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) phase: CloudPhase,
    /// It could not be made.
    pub(crate) trouble: Option<Trouble>,
}

impl Seen {
    pub(crate) fn is_deleting(&self) -> bool {
        self.phase == CloudPhase::Stopping
    }

    /// It is up or coming.
    pub(crate) fn is_good(&self) -> bool {
        !self.is_deleting() && self.trouble.is_none()
    }
}

/// From the server's answer.
pub(crate) fn look(group: &str, instances: Vec<Instance>) -> Result<Look, ProviderError> {
    if instances.len() > MACHINES_MAX {
        let text = format!(
            "group {group}: {} machines are listed, more than {MACHINES_MAX}; split the group",
            instances.len()
        );
        return Err(refuse(FailureClass::Permanent, TOO_MUCH, text));
    }
    let mut look = Look::default();
    for instance in instances {
        let id = &instance.id;
        if id.is_empty() || id.len() > ID_MAX || id.chars().any(char::is_control) {
            look.odd.push(format!("group {group}: {:?} is no id of a machine; it is left out", cut(id)));
        } else if look.machines.contains_key(id.as_str()) {
            look.odd.push(format!("group {group}: {id} is listed twice; the first stands"));
        } else {
            look.machines.insert(CloudId::from(id.as_str()), seen(&instance));
        }
    }
    Ok(look)
}

fn seen(instance: &Instance) -> Seen {
    let Some(status) = &instance.status else { return Seen { phase: CloudPhase::Running, trouble: None } };
    let phase = match status.instance_state() {
        InstanceState::InstanceCreating => CloudPhase::Pending,
        InstanceState::InstanceDeleting => CloudPhase::Stopping,
        // A server that does not say has no others than nodes.
        InstanceState::InstanceRunning | InstanceState::Unspecified => CloudPhase::Running,
    };
    let info = status.error_info.as_ref().filter(|info| !info.error_code.is_empty());
    let trouble = info.filter(|_| phase == CloudPhase::Pending).map(|info| Trouble {
        class: of_creation(info),
        text: format!("{}: {}", cut(&info.error_code), cut(&info.error_message)),
    });
    Seen { phase, trouble }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{InstanceErrorInfo, InstanceStatus};
    use expect_test::expect;

    fn instance(id: &str, state: i32, code: &str) -> Instance {
        let error_info = (!code.is_empty()).then(|| InstanceErrorInfo {
            error_code: code.into(),
            error_message: "why\nit failed".into(),
            instance_error_class: 1,
        });
        Instance { id: id.into(), status: Some(InstanceStatus { instance_state: state, error_info }) }
    }

    #[test]
    fn states_and_errors_are_understood() {
        let empty = InstanceErrorInfo { instance_error_class: 1, ..InstanceErrorInfo::default() };
        let status = InstanceStatus { instance_state: 2, error_info: Some(empty) };
        let instances = vec![
            Instance { id: "a-no-status".into(), status: None },
            instance("b-unspecified", 0, ""),
            instance("c-running", 1, "OLD"),
            instance("d-creating", 2, ""),
            instance("e-failed", 2, "STOCKOUT"),
            instance("f-deleting", 3, "OLD"),
            instance("g-unknown", 77, ""),
            Instance { id: "h-empty-code".into(), status: Some(status) },
        ];
        let look = look("g", instances).expect("not too many");
        let lines = look.machines.iter().map(|(id, seen)| {
            let trouble = seen.trouble.as_ref().map(|t| format!(" {:?} {}", t.class, t.text));
            format!("{id}: {:?}{}\n", seen.phase, trouble.unwrap_or_default())
        });
        expect![[r#"
            a-no-status: Running
            b-unspecified: Running
            c-running: Running
            d-creating: Pending
            e-failed: Pending OutOfCapacity STOCKOUT: why it failed
            f-deleting: Stopping
            g-unknown: Running
            h-empty-code: Pending
        "#]]
        .assert_eq(&lines.collect::<String>());
    }
}
