//! Ray's cluster file to a configuration, with Ray's defaults and environment variables.

use crate::configuration::{
    Configuration, PoolConfig, ProviderConfig, RayConfig, WorkloadConfig, WorkloadKind,
};
use crate::environment::Host;
use crate::hash::launch_hash;
use crate::mistake::{Code, Notes, nearest};
use crate::pools::{check_bounds, check_command, check_total};
use crate::providers::{self, Unsettled};
use crate::read::{Named, Section, check_strict_name};
use crate::service;
use crate::table::{ostler, ray as table};
use crate::tree::Node;
use ostler_model::{Millis, Policy, Pool, PoolId, ProviderId, Timeouts, WorkloadId};
use std::rc::Rc;

/// What a cluster file says.
pub(crate) struct Cluster {
    pub(crate) workload: WorkloadConfig,
    /// `None` if its provider was refused.
    pub(crate) provider: Option<Unsettled>,
}

/// The short form: one cluster file is the whole configuration.
pub(crate) fn read(notes: &Notes<'_>, root: Rc<Node>, host: &Host<'_>) -> Configuration {
    let id = ProviderId::from("local");
    let Cluster { workload, provider } = cluster(notes, root, host, None, &id);
    let store = service::store(&Section::absent(notes, &ostler::STORE), host, workload.id.as_str());
    let providers = provider
        .map(|local| (id.clone(), ProviderConfig::Local(local.settled(&store, &id))))
        .into_iter()
        .collect();
    Configuration {
        workloads: vec![workload],
        providers,
        store,
        api: service::api(&Section::absent(notes, &ostler::API), host),
        deadlines: service::deadlines(&Section::absent(notes, &ostler::DEADLINES)),
    }
}

/// Reads a cluster file. `name` is the workload's if it has one already, else it is `cluster_name`.
pub(crate) fn cluster(
    notes: &Notes<'_>,
    root: Rc<Node>,
    host: &Host<'_>,
    name: Option<&str>,
    provider_id: &ProviderId,
) -> Cluster {
    let root = Section::root(notes, &table::ROOT, root);
    let cluster_name: String = root.need("cluster_name");
    if let Some(hint) = check_strict_name(&cluster_name).filter(|_| !cluster_name.is_empty()) {
        let message = format!("`cluster_name`: `{cluster_name}` is no name");
        notes.error(Code::BadForm, root.place("cluster_name"), message, hint);
    }
    let id = WorkloadId::from(name.unwrap_or(&cluster_name));
    let provider = if host.overrides.look_only { None } else { root.tagged("provider") };
    let local = provider.as_ref().map(|section| providers::local(section, host, "stop_grace_s"));
    warn_without_effect(&root);
    let types = root.named("available_node_types");
    let head = head_type(&root, &types);
    let context = Context { root: &root, local: local.as_ref(), workload: &id, provider: provider_id };
    let pools: Vec<PoolConfig> = types.iter().map(|one| context.pool(one, head.as_deref())).collect();
    let policy = policy(&root, provider.as_ref(), host, head, &pools);
    let kind = WorkloadKind::Ray(reached(notes, host));
    Cluster { workload: WorkloadConfig { id, kind, policy, pools }, provider: local }
}

fn reached(notes: &Notes<'_>, host: &Host<'_>) -> RayConfig {
    let knobs = Section::absent(notes, &ostler::RAY);
    RayConfig {
        address: host.gcs(notes, None),
        auth: host.auth(notes, &Section::absent(notes, &ostler::AUTH)),
        poll_interval: host
            .seconds(notes, table::UPDATE_INTERVAL_S, 1)
            .unwrap_or_else(|| knobs.need("poll_interval")),
    }
}

fn warn_without_effect(root: &Section<'_, '_>) {
    for key in table::WITHOUT_EFFECT.iter().filter(|key| root.has(key)) {
        let empty = match root.json(key) {
            serde_json::Value::Object(map) => map.is_empty(),
            serde_json::Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty {
            let message = format!("`{key}` is known to Ray and has no effect here");
            let hint = if key.ends_with("_commands") { "`provider.command` starts a machine" } else { "" };
            root.notes.warning(Code::NoEffect, root.key_place(key), message, hint);
        }
    }
}

/// The head's node type: as said, or the only one.
fn head_type(root: &Section<'_, '_>, types: &[Named<'_, '_>]) -> Option<String> {
    let names = || types.iter().map(|one| one.name.as_str());
    let said: Option<String> = root.get("head_node_type");
    match (&said, types) {
        (Some(name), _) if !names().any(|other| other == name) => {
            let message = format!("`head_node_type`: there is no node type `{name}`");
            root.notes.error(
                Code::UnknownPool,
                root.place("head_node_type"),
                message,
                nearest(name, names()),
            );
        }
        (None, [only]) => return Some(only.name.clone()),
        (None, [_, _, ..]) => {
            let message = "`head_node_type` is missing, and there are several node types".to_owned();
            root.notes.error(Code::MissingKey, root.at, message, "say which of them the head is");
        }
        _ => {}
    }
    said
}

struct Context<'a, 'n, 't> {
    root: &'a Section<'n, 't>,
    local: Option<&'a Unsettled>,
    workload: &'a WorkloadId,
    provider: &'a ProviderId,
}

impl Context<'_, '_, '_> {
    fn pool(&self, one: &Named<'_, '_>, head: Option<&str>) -> PoolConfig {
        let section = &one.section;
        let is_head = head == Some(one.name.as_str());
        let most = if is_head { 0 } else { self.root.need("max_workers") };
        let (min, max) = (section.need("min_workers"), section.get("max_workers").unwrap_or(most));
        check_bounds(section, "min_workers", min, "max_workers", max);
        if let Some(provider) = self.local {
            let own = section.section_by("node_config", &ostler::LOCAL_TEMPLATE);
            check_command(section, &own, provider.local.command.as_ref(), max);
        }
        let pool = Pool {
            id: PoolId::from(one.name.as_str()),
            workload: self.workload.clone(),
            provider: self.provider.clone(),
            resources: section.need("resources"),
            labels: section.need("labels"),
            min,
            max,
            idle_timeout: section.get("idle_timeout_s"),
            priority: section.need("priority"),
            launch_hash: self.hash(section, is_head),
            instance_type: String::new(),
            node: None,
        };
        PoolConfig { pool, template: section.json("node_config") }
    }

    /// Everything that makes a machine what it is. Not its capacity and labels: they are promises about it.
    fn hash(&self, section: &Section<'_, '_>, is_head: bool) -> String {
        let root = self.root;
        for key in ["initialization_commands", "worker_setup_commands"] {
            section.get::<Vec<String>>(key);
        }
        let or_general = |key: &str| if section.has(key) { section.json(key) } else { root.json(key) };
        let (setup, start) = match is_head {
            true => (root.json("head_setup_commands"), "head_start_ray_commands"),
            false => (or_general("worker_setup_commands"), "worker_start_ray_commands"),
        };
        launch_hash(&serde_json::json!({
            "node_config": section.json("node_config"),
            "provider": self.local.map(|provider| providers::local_parts(&provider.local)),
            "initialization_commands": or_general("initialization_commands"),
            "setup_commands": [root.json("setup_commands"), setup],
            "start_ray_commands": root.json(start),
        }))
    }
}

fn policy(
    root: &Section<'_, '_>,
    provider: Option<&Section<'_, '_>>,
    host: &Host<'_>,
    head: Option<String>,
    pools: &[PoolConfig],
) -> Policy {
    let notes = root.notes;
    check_commands(root);
    let max_workers: u32 = root.need("max_workers");
    if root.has("cluster_name") && !root.has("max_workers") {
        let message =
            format!("`max_workers` is not said, so Ray's default of {max_workers} holds for all together");
        notes.warning(Code::RayDefault, root.at, message, "say `max_workers`");
    }
    check_total(root, "max_workers", Some(max_workers), pools);
    let count = |name| host.at_least(notes, name, 0).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let standard = Policy::default();
    Policy {
        scoring: host.overrides.scoring.unwrap_or(standard.scoring),
        head_pool: head.map(PoolId::from),
        max_workers: Some(max_workers),
        idle_timeout: root.get("idle_timeout_minutes"),
        pending_idle_timeout: pending_idle(notes, host),
        upscaling_speed_percent: root.need("upscaling_speed"),
        max_concurrent_launches: count(table::MAX_CONCURRENT_LAUNCHES)
            .unwrap_or(standard.max_concurrent_launches),
        replace_outdated: !provider.is_none_or(|section| section.need("disable_launch_config_check")),
        conserve_gpu: host.whole(notes, table::CONSERVE_GPU_NODES).map_or(standard.conserve_gpu, |n| n != 0),
        availability_recovery: host
            .seconds(notes, table::AVAILABILITY_RECOVERY_S, 0)
            .unwrap_or(standard.availability_recovery),
        timeouts: timeouts(notes, host),
        ..standard
    }
}

/// Lists of commands are hashed as they are; here they are read for their mistakes.
fn check_commands(root: &Section<'_, '_>) {
    for knob in table::ROOT.knobs.iter().filter(|knob| knob.name.ends_with("_commands")) {
        root.get::<Vec<String>>(knob.name);
    }
}

/// Negative is never.
fn pending_idle(notes: &Notes<'_>, host: &Host<'_>) -> Option<Millis> {
    let seconds = host.whole(notes, table::PENDING_IDLE_S)?;
    u64::try_from(seconds).ok().map(|seconds| Millis::secs(seconds.min(3_200_000_000)))
}

fn timeouts(notes: &Notes<'_>, host: &Host<'_>) -> Timeouts {
    let standard = Timeouts::default();
    let seconds = |name, otherwise| host.seconds(notes, name, 0).unwrap_or(otherwise);
    let retries = host.at_least(notes, table::REQUEST_RETRIES, 0);
    Timeouts {
        request: seconds(table::REQUEST_S, standard.request),
        request_retries: retries.map_or(standard.request_retries, |n| u32::try_from(n).unwrap_or(u32::MAX)),
        allocate: seconds(table::ALLOCATE_S, standard.allocate),
        install: seconds(table::INSTALL_S, standard.install),
        drain_request: seconds(table::DRAIN_REQUEST_S, standard.drain_request),
        terminate: seconds(table::TERMINATE_S, standard.terminate),
        warn: seconds(table::WARN_S, standard.warn),
        ..standard
    }
}
