//! The API server's own record of who asked for what: of the service accounts that tests make, and of nobody else.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// Files in the directory of a control plane.
pub(crate) const POLICY_FILE: &str = "audit.yaml";
pub(crate) const LOG_FILE: &str = "audit.log";

/// The first rule that fits counts, and nothing is written for whom none fits. A watch is written when it begins.
const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, userGroups: ['system:serviceaccounts:kube-system']}
- {level: Metadata, userGroups: ['system:serviceaccounts']}
";

/// A request as the API server has answered it. It is written down before the answer is sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` …
    pub verb: String,
    /// Group of the API; empty for the core.
    pub group: String,
    /// Resource, with its part: `pods/eviction`; the path if it is about none.
    pub resource: String,
    /// Where; empty for things that have no namespace, and for all namespaces.
    pub namespace: String,
    /// Which one; empty for all.
    pub name: String,
    /// The answer.
    pub code: u16,
}

pub(crate) fn write_policy(dir: &Path) {
    fs::write(dir.join(POLICY_FILE), POLICY).expect("a policy can be written");
}

pub(crate) fn requests(dir: &Path, user: &str) -> Vec<Request> {
    let log = fs::read_to_string(dir.join(LOG_FILE)).unwrap_or_default();
    // The last line may be half written.
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["user"]["username"] == user).map(|event| request(&event)).collect()
}

fn request(event: &Value) -> Request {
    let (on, text) = (&event["objectRef"], |value: &Value| value.as_str().unwrap_or_default().to_owned());
    let resource = match (text(&on["resource"]), text(&on["subresource"])) {
        (resource, _) if resource.is_empty() => text(&event["requestURI"]),
        (resource, part) if part.is_empty() => resource,
        (resource, part) => format!("{resource}/{part}"),
    };
    Request {
        verb: text(&event["verb"]),
        group: text(&on["apiGroup"]),
        resource,
        namespace: text(&on["namespace"]),
        name: text(&on["name"]),
        code: event["responseStatus"]["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
    }
}
