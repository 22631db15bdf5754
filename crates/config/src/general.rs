//! `ostler.yaml` to a configuration.

use crate::configuration::{
    Configuration, PoolConfig, ProviderConfig, RayConfig, StoreConfig, WorkloadConfig, WorkloadKind,
};
use crate::environment::Host;
use crate::mistake::{Code, Notes, nearest};
use crate::pools::{PoolParts, check_total, pool_parts};
use crate::providers::{Providers, providers};
use crate::read::{Named, Section};
use crate::service::{api, deadlines, store};
use crate::table::ostler as table;
use crate::tree::{self, Node};
use crate::value::Limit;
use crate::{kubernetes, polars, ray};
use ostler_model::{Policy, Pool, PoolId, ProviderId, Scoring, Timeouts, WorkloadId};
use std::path::Path;
use std::rc::Rc;

type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<String, String>;

pub(crate) fn read(notes: &Notes<'_>, root: Rc<Node>, host: &Host<'_>, read: ReadFile<'_>) -> Configuration {
    let root = Section::root(notes, &table::ROOT, root);
    let stem = host.file.file_stem().map_or_else(|| "ostler".into(), |stem| stem.to_string_lossy());
    let store = store(&root.section("store"), host, &stem);
    let mut providers = providers(&root, host, &store);
    let named = root.named("workloads");
    check_one_address(notes, host, named.len());
    let mut workloads = Vec::new();
    for one in &named {
        if one.section.has_knob("kubeconfig") {
            workloads.push(kubernetes::workload(one, host, &providers));
        } else if one.section.has_knob("rest") {
            workloads.push(polars::workload(one, host, &providers));
        } else if one.section.has("cluster_yaml") {
            workloads.extend(from_cluster_file(one, host, read, &store, &mut providers));
        } else {
            workloads.push(workload(one, host, &providers));
        }
    }
    polars::check_apart(&named, &workloads);
    let api = api(&root.section("api"), host);
    Configuration { workloads, providers, store, api, deadlines: deadlines(&root.section("deadlines")) }
}

fn check_one_address(notes: &Notes<'_>, host: &Host<'_>, workloads: usize) {
    if host.overrides.address.is_some() && workloads > 1 {
        let message = format!("`--address` is given, and there are {workloads} workloads");
        notes.outside(
            "command line",
            Code::Conflict,
            message,
            "say `address` in the file, for each workload",
        );
    }
}

fn workload(one: &Named<'_, '_>, host: &Host<'_>, providers: &Providers) -> WorkloadConfig {
    let id = WorkloadId::from(one.name.as_str());
    let pools: Vec<PoolConfig> =
        one.section.named("pools").iter().map(|pool| self::pool(pool, &id, providers)).collect();
    let policy = policy(&one.section.section("policy"), host, &pools);
    WorkloadConfig { id, kind: WorkloadKind::Ray(ray_config(&one.section, host)), policy, pools }
}

fn ray_config(section: &Section<'_, '_>, host: &Host<'_>) -> RayConfig {
    RayConfig {
        address: host.gcs(section.notes, section.get("address")),
        auth: host.auth(section.notes, &section.section("auth")),
        poll_interval: section.need("poll_interval"),
    }
}

/// A workload whose policy, pools and provider stand in a cluster file of Ray.
fn from_cluster_file(
    one: &Named<'_, '_>,
    host: &Host<'_>,
    read: ReadFile<'_>,
    store: &StoreConfig,
    providers: &mut Providers,
) -> Option<WorkloadConfig> {
    let (section, notes) = (&one.section, one.section.notes);
    for key in ["policy", "pools"].into_iter().filter(|key| section.has(key)) {
        let message = format!("`{}` is given, and `cluster_yaml` too", section.name_of(key));
        notes.error(Code::Conflict, section.key_place(key), message, "keep one of them");
    }
    let reached = ray_config(section, host);
    let path = host.path(&section.get::<String>("cluster_yaml")?);
    let text = match read(&path) {
        Ok(text) => text,
        Err(reason) => {
            let message = format!("`{}` cannot be read: {reason}", path.display());
            notes.error(Code::Unreadable, section.place("cluster_yaml"), message, "");
            return None;
        }
    };
    let name = path.display().to_string();
    let inner = Notes::on(&name, &text);
    let there = Host { file: &path, ..*host };
    let provider = ProviderId::new(format!("{}-local", one.name));
    let cluster =
        tree::parse(&text, &inner).map(|root| ray::cluster(&inner, root, &there, Some(&one.name), &provider));
    notes.include(inner);
    let cluster = cluster?;
    if let Some(local) = cluster.provider {
        providers.insert(provider.clone(), ProviderConfig::Local(local.settled(store, &provider)));
    }
    Some(WorkloadConfig { kind: WorkloadKind::Ray(reached), ..cluster.workload })
}

fn pool(one: &Named<'_, '_>, workload: &WorkloadId, providers: &Providers) -> PoolConfig {
    let PoolParts { id, provider, min, max, launch_hash } = pool_parts(one, providers);
    let section = &one.section;
    let idle_timeout = section.get::<Limit>("idle_timeout").and_then(|limit| limit.0.or(Some(NEVER)));
    let pool = Pool {
        id,
        workload: workload.clone(),
        provider,
        resources: section.need("resources"),
        labels: section.need("labels"),
        min,
        max,
        idle_timeout,
        priority: section.need("priority"),
        launch_hash,
        instance_type: section.need("instance_type"),
        node: None,
    };
    PoolConfig { pool, template: section.json("template") }
}

/// A pool that never goes idle although the workload's nodes do: a hundred years, since `None` means the
/// workload's timeout.
const NEVER: ostler_model::Millis = ostler_model::Millis(3_200_000_000_000);

fn policy(section: &Section<'_, '_>, host: &Host<'_>, pools: &[PoolConfig]) -> Policy {
    let head_pool: Option<String> = section.get("head_pool");
    if let Some(name) = &head_pool {
        let names = || pools.iter().map(|pool| pool.pool.id.as_str());
        if !names().any(|pool| pool == name) {
            let message = format!("`{}`: there is no pool `{name}`", section.name_of("head_pool"));
            section.notes.error(
                Code::UnknownPool,
                section.place("head_pool"),
                message,
                nearest(name, names()),
            );
        }
    }
    let max_workers = section.get("max_workers");
    check_total(section, "max_workers", max_workers, pools);
    let scoring = match section.need::<String>("scoring").as_str() {
        "ray-exact" => Scoring::RayExact,
        _ => Scoring::Ray,
    };
    Policy {
        scoring: host.overrides.scoring.unwrap_or(scoring),
        head_pool: head_pool.map(PoolId::from),
        max_workers,
        idle_timeout: section.need::<Limit>("idle_timeout").0,
        pending_idle_timeout: section.need::<Limit>("pending_idle_timeout").0,
        upscaling_speed_percent: section.need("upscaling_speed"),
        max_concurrent_launches: section.need("max_concurrent_launches"),
        replace_outdated: section.need("replace_outdated"),
        conserve_gpu: section.need("conserve_gpu"),
        availability_recovery: section.need("availability_recovery"),
        launch_backoff: section.need("launch_backoff"),
        launch_backoff_max: section.need("launch_backoff_max"),
        drain_grace: section.need("drain_grace"),
        install: false,
        blind_pools: std::collections::BTreeSet::new(),
        kube: None,
        timeouts: timeouts(&section.section("timeouts")),
    }
}

fn timeouts(section: &Section<'_, '_>) -> Timeouts {
    Timeouts {
        request: section.need("request"),
        request_retries: section.need("request_retries"),
        allocate: section.need("allocate"),
        install: section.need("install"),
        drain_request: section.need("drain_request"),
        terminate: section.need("terminate"),
        node_missing: section.need("node_missing"),
        warn: section.need("warn"),
    }
}
