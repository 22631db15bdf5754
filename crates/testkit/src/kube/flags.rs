//! The flags of each server.

use super::pki::Pki;
use super::{Component, audit};
use std::path::Path;

/// Services get addresses from here, pods from elsewhere.
const SERVICES: &str = "10.96.0.0/16";

/// Ports on loopback.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) peer: u16,
    pub(crate) api: u16,
    pub(crate) scheduler: u16,
    pub(crate) controllers: u16,
}

/// How a server is started.
pub(crate) fn of(component: Component, ports: Ports, pki: &Pki, dir: &Path) -> Vec<String> {
    match component {
        Component::Etcd => etcd(ports, dir),
        Component::ApiServer => api_server(ports, pki, dir),
        Component::Scheduler => client("scheduler", ports.scheduler, ports, pki),
        Component::ControllerManager => {
            let mut flags = client("controllers", ports.controllers, ports, pki);
            flags.push(format!("--service-account-private-key-file={}", pki.file("accounts.key")));
            flags.push(format!("--root-ca-file={}", pki.file("ca.crt")));
            // Each controller with its own rights, as in a real cluster.
            flags.push("--use-service-account-credentials".into());
            flags
        }
    }
}

fn etcd(ports: Ports, dir: &Path) -> Vec<String> {
    let (client, peer) =
        (format!("http://127.0.0.1:{}", ports.etcd), format!("http://127.0.0.1:{}", ports.peer));
    vec![
        format!("--data-dir={}", dir.join("etcd").display()),
        "--name=lab".into(),
        "--log-level=warn".into(),
        // The host may lose power: then the test is lost too.
        "--unsafe-no-fsync".into(),
        "--quota-backend-bytes=4294967296".into(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=lab={peer}"),
    ]
}

fn api_server(ports: Ports, pki: &Pki, dir: &Path) -> Vec<String> {
    vec![
        format!("--audit-policy-file={}", dir.join(audit::POLICY_FILE).display()),
        format!("--audit-log-path={}", dir.join(audit::LOG_FILE).display()),
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.api),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        // A Service may not point to loopback, which is all there is.
        "--endpoint-reconciler-type=none".into(),
        format!("--tls-cert-file={}", pki.file("server.crt")),
        format!("--tls-private-key-file={}", pki.file("server.key")),
        format!("--token-auth-file={}", pki.file("tokens.csv")),
        "--authorization-mode=Node,RBAC".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", pki.file("accounts.pub")),
        format!("--service-account-signing-key-file={}", pki.file("accounts.key")),
        format!("--service-cluster-ip-range={SERVICES}"),
        "--allow-privileged=true".into(),
        "--profiling=false".into(),
    ]
}

/// What the two clients of the API server have in common.
fn client(user: &str, port: u16, ports: Ports, pki: &Pki) -> Vec<String> {
    let kubeconfig = pki.kubeconfig_of(user, ports.api).display().to_string();
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        // One of each: with an election a restart would wait for the old lease.
        "--leader-elect=false".into(),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=2000".into(),
    ]
}
