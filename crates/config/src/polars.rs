//! The part of `ostler.yaml` about a Polars cluster.

use crate::configuration::{
    Network, PolarsConfig, PolarsProbe, PolarsProbeKind, PolarsRest, PolarsTls, PoolConfig, WorkloadConfig,
    WorkloadKind,
};
use crate::environment::Host;
use crate::mistake::Code;
use crate::pools::{PoolParts, check_total, pool_parts};
use crate::providers::Providers;
use crate::read::{Named, Section};
use crate::value::Command;
use ostler_model::{Millis, Policy, Scoring, Timeouts, WorkloadId};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

pub(crate) fn workload(one: &Named<'_, '_>, host: &Host<'_>, providers: &Providers) -> WorkloadConfig {
    let section = &one.section;
    let id = WorkloadId::from(one.name.as_str());
    let pools = section.named("pools").iter().map(|one| pool(one, &id, providers)).collect::<Vec<_>>();
    let config = config(section, host);
    check_total(section, "max_workers", section.get("max_workers"), &pools);
    WorkloadConfig { id, kind: WorkloadKind::Polars(Box::new(config)), policy: policy(section), pools }
}

fn pool(one: &Named<'_, '_>, workload: &WorkloadId, providers: &Providers) -> PoolConfig {
    let PoolParts { id, provider, min, max, launch_hash } = pool_parts(one, providers);
    let section = &one.section;
    let pool = ostler_model::Pool {
        id,
        workload: workload.clone(),
        provider,
        resources: section.need("resources"),
        labels: section.need("labels"),
        min,
        max,
        idle_timeout: None,
        priority: 0,
        launch_hash,
        instance_type: section.need("instance_type"),
        node: None,
    };
    PoolConfig { pool, template: section.json("template") }
}

fn policy(section: &Section<'_, '_>) -> Policy {
    let ready = section.section("ready");
    Policy {
        scoring: Scoring::Target,
        max_workers: section.get("max_workers"),
        idle_timeout: None,
        max_concurrent_launches: section.need("max_concurrent_launches"),
        launch_backoff: section.need("launch_backoff"),
        launch_backoff_max: section.need("launch_backoff_max"),
        timeouts: Timeouts {
            request: section.need("launch_timeout"),
            // A second attempt would start a second worker of the same name; a new record has a new one.
            request_retries: 0,
            allocate: ready.need("start_deadline"),
            node_missing: ready.need("lost_after"),
            terminate: section.need("terminate_timeout"),
            ..Timeouts::default()
        },
        ..Policy::default()
    }
}

fn config(section: &Section<'_, '_>, host: &Host<'_>) -> PolarsConfig {
    let access = section.section("access");
    let config = PolarsConfig {
        rest: section.has("rest").then(|| rest(&section.section("rest"), host)),
        grpc: section.has("grpc").then(|| listen(&section.section("grpc"))),
        tls: section.has("tls").then(|| tls(&section.section("tls"), host)),
        token_file: access.get::<String>("token_file").map(|path| host.path(&path)),
        networks: networks(&access),
        insecure: access.need("insecure"),
        max_body_bytes: section.need::<u32>("max_body_bytes") as usize,
        probe: probe(&section.section("ready")),
    };
    if config.rest.is_none() && config.grpc.is_none() {
        let message = format!("`{}`: neither `rest` nor `grpc` is given", section.name_of("rest"));
        let hint = "say where the scheduler asks, such as `rest: {listen: 127.0.0.1:4001}`";
        section.notes.error(Code::MissingKey, section.at, message, hint);
    }
    check_open(section, &config);
    config
}

/// Others than this host may ask only if something keeps strangers out.
fn check_open(section: &Section<'_, '_>, config: &PolarsConfig) {
    let known = config.tls.as_ref().is_some_and(|tls| tls.client_ca_file.is_some());
    let guarded = known || config.token_file.is_some() || !config.networks.is_empty() || config.insecure;
    let shared = config.rest.as_ref().map(|rest| rest.listen) == config.grpc;
    let rest = config.rest.as_ref().filter(|rest| rest.secret_path_file.is_none() || shared);
    let open = |address: &SocketAddr| !address.ip().is_loopback() && !guarded;
    for (key, address) in [("rest", rest.map(|rest| rest.listen)), ("grpc", config.grpc)] {
        if let Some(address) = address.filter(open) {
            let message = format!(
                "`{}` would listen on {address}, for other hosts, without any protection",
                section.name_of(key)
            );
            let hint = "say `access` with `networks` or a `token_file`, `tls` with a `client_ca_file`, for REST a `secret_path_file`, or `insecure: true`";
            section.notes.error(Code::OpenApi, section.place(key), message, hint);
        }
    }
}

fn tls(section: &Section<'_, '_>, host: &Host<'_>) -> PolarsTls {
    PolarsTls {
        certificate_file: host.path(&section.need::<String>("certificate_file")),
        key_file: host.path(&section.need::<String>("key_file")),
        client_ca_file: section.get::<String>("client_ca_file").map(|file| host.path(&file)),
    }
}

fn rest(section: &Section<'_, '_>, host: &Host<'_>) -> PolarsRest {
    let path: String = section.need("path");
    let path = path.trim_end_matches('/').to_owned();
    let fits = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    if !path.is_empty() && (!path.starts_with('/') || path.contains("//") || !path.chars().all(fits)) {
        let message = format!("`{}`: `{path}` is no path", section.name_of("path"));
        let hint = "begin with `/`; use letters, digits, `-`, `_`, `.` and `~`";
        section.notes.error(Code::BadForm, section.place("path"), message, hint);
    }
    let secret_path_file = section.get::<String>("secret_path_file").map(|file| host.path(&file));
    if secret_path_file.is_some() && section.has("path") {
        let message = format!("`{}` is given, and `secret_path_file` too", section.name_of("path"));
        section.notes.error(Code::Conflict, section.key_place("path"), message, "keep one of them");
    }
    PolarsRest { listen: listen(section), path, secret_path_file }
}

fn listen(section: &Section<'_, '_>) -> SocketAddr {
    let text = section.need::<String>("listen");
    let parsed = text.replace("localhost:", "127.0.0.1:").parse();
    // One that is no address at all has been told of already.
    if parsed.is_err() && !text.is_empty() {
        let message = format!("`{}`: `{text}` has no IP address", section.name_of("listen"));
        let hint = "write `IP:PORT`, such as `127.0.0.1:4001`";
        section.notes.error(Code::BadForm, section.place("listen"), message, hint);
    }
    parsed.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)))
}

fn networks(section: &Section<'_, '_>) -> Vec<Network> {
    let texts: Vec<String> = section.need("networks");
    let mut networks = Vec::new();
    for text in texts {
        match network(&text) {
            Some(network) => networks.push(network),
            None => {
                let message = format!("`{}`: `{text}` is no network", section.name_of("networks"));
                let hint = "write `10.1.0.0/16`, or one address";
                section.notes.error(Code::BadForm, section.place("networks"), message, hint);
            }
        }
    }
    networks
}

fn network(text: &str) -> Option<Network> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(most), |bits| bits.parse().ok().filter(|bits| *bits <= most))?;
    Some(Network { address, bits })
}

fn probe(section: &Section<'_, '_>) -> PolarsProbe {
    let kind: String = section.need("probe");
    let port: Option<u32> = section.get("port");
    let port = port.and_then(|port| u16::try_from(port).ok());
    let command: Option<Command> = section.get("command");
    let needs = |key: &str, there: bool| {
        if !there && !section.has(key) {
            let message = format!("`{}` is missing", section.name_of(key));
            section.notes.error(
                Code::MissingKey,
                section.place("probe"),
                message,
                format!("the probe `{kind}` needs it"),
            );
        }
    };
    let (interval, timeout): (Millis, Millis) = (section.need("interval"), section.need("timeout"));
    let what = match kind.as_str() {
        "tcp" => {
            needs("port", port.is_some());
            PolarsProbeKind::Tcp(port.unwrap_or_default())
        }
        "http" => {
            needs("port", port.is_some());
            PolarsProbeKind::Http(port.unwrap_or_default(), section.need("path"))
        }
        "command" => {
            needs("command", command.is_some());
            PolarsProbeKind::Command(command.unwrap_or(Command::Words(Vec::new())))
        }
        _ => PolarsProbeKind::Running,
    };
    PolarsProbe { kind: what, interval, timeout }
}

/// Services that share an address must lie below paths of their own, and gRPC has none. A connection is secured
/// before its first request says what it is for, so they must have the same `tls`.
pub(crate) fn check_apart(named: &[Named<'_, '_>], workloads: &[WorkloadConfig]) {
    let mut rest = BTreeMap::new();
    let mut grpc = BTreeMap::new();
    let mut secured = BTreeMap::new();
    for workload in workloads {
        let WorkloadKind::Polars(config) = &workload.kind else { continue };
        for address in config.rest.iter().map(|rest| rest.listen).chain(config.grpc) {
            let (other, tls) = secured.entry(address).or_insert((&workload.id, &config.tls));
            if *tls != &config.tls {
                clash(
                    named,
                    workload,
                    "tls",
                    &format!("is not that of `{other}`, which has the same address"),
                );
            }
        }
        let place = config.rest.as_ref().map(|rest| (rest.listen, &rest.path, &rest.secret_path_file));
        let earlier = [
            ("rest", place.and_then(|place| rest.insert(place, &workload.id))),
            ("grpc", config.grpc.and_then(|address| grpc.insert(address, &workload.id))),
        ];
        for (key, other) in earlier.into_iter().filter_map(|(key, other)| Some((key, other?))) {
            clash(named, workload, key, &format!("is where `{other}` is served already"));
        }
    }
}

fn clash(named: &[Named<'_, '_>], workload: &WorkloadConfig, key: &str, what: &str) {
    let Some(one) = named.iter().find(|one| one.name == workload.id.as_str()) else { return };
    let message = format!("`{}` {what}", one.section.name_of(key));
    let hint = match key {
        "tls" => "give both the same `tls`, or each its own port",
        _ => "give each its own port, or for REST its own `path`",
    };
    one.section.notes.error(Code::Conflict, one.section.place(key), message, hint);
}
