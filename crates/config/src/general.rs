//! `ostler.yaml` to a configuration.

use crate::configuration::{
    ApiConfig, Configuration, Deadlines, LocalProvider, PoolConfig, ProviderConfig, RayConfig, StoreConfig,
    WorkloadConfig, WorkloadKind,
};
use crate::environment::Host;
use crate::hash::launch_hash;
use crate::mistake::{Code, Notes};
use crate::ray;
use crate::read::{Named, Section, nearest};
use crate::table::{kubernetes, ostler as table};
use crate::tree::{self, Node};
use crate::value::{Command, Limit};
use ostler_model::{Policy, Pool, PoolId, ProviderId, Scoring, Timeouts, WorkloadId};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub(crate) type Providers = BTreeMap<ProviderId, ProviderConfig>;
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
            workloads.push(crate::kubernetes::workload(one, host, &providers));
        } else if one.section.has_knob("rest") {
            workloads.push(crate::polars::workload(one, host, &providers));
        } else if one.section.has("cluster_yaml") {
            workloads.extend(from_cluster_file(one, host, read, &store, &mut providers));
        } else {
            workloads.push(workload(one, host, &providers));
        }
    }
    crate::polars::check_apart(&named, &workloads);
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

pub(crate) fn check_bounds(section: &Section<'_, '_>, min_key: &str, min: u32, max_key: &str, max: u32) {
    if min > max {
        let message = format!("`{}` is {min}, `{max_key}` is {max}", section.name_of(min_key));
        section.notes.error(
            Code::MinAboveMax,
            section.place(min_key),
            message,
            "raise the one or lower the other",
        );
    }
}

/// What every kind of workload says of a pool.
pub(crate) struct PoolParts {
    pub(crate) id: PoolId,
    pub(crate) provider: ProviderId,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) launch_hash: String,
}

pub(crate) fn pool_parts(one: &Named<'_, '_>, providers: &Providers) -> PoolParts {
    let section = &one.section;
    let provider = ProviderId::from(section.need::<String>("provider"));
    let known = providers.get(provider.as_str());
    if known.is_none() && section.has("provider") {
        let message = format!("`{}`: there is no provider `{provider}`", section.name_of("provider"));
        let hint = nearest(provider.as_str(), providers.keys().map(ProviderId::as_str));
        section.notes.error(Code::UnknownProvider, section.place("provider"), message, hint);
    }
    let (min, max) = (section.need("min"), section.need("max"));
    if section.has("max") {
        check_bounds(section, "min", min, "max", max);
    }
    let parts = match known {
        Some(ProviderConfig::Local(local)) => {
            let own = section.section_by("template", &table::LOCAL_TEMPLATE);
            check_command(section, &own, local.command.as_ref(), max);
            serde_json::json!({ "provider": local_parts(local), "template": section.json("template") })
        }
        Some(ProviderConfig::Kwok(_)) => {
            crate::kubernetes::check_template(&section.section_by("template", &kubernetes::KWOK_TEMPLATE));
            serde_json::json!({ "template": section.json("template") })
        }
        Some(ProviderConfig::ExternalGrpc(_)) | None => serde_json::Value::Null,
    };
    PoolParts { id: PoolId::from(one.name.as_str()), provider, min, max, launch_hash: launch_hash(&parts) }
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

/// What of a local provider makes a machine what it is.
pub(crate) fn local_parts(local: &LocalProvider) -> serde_json::Value {
    let command = local.command.as_ref().map(|command| match command {
        Command::Shell(text) => serde_json::json!(text),
        Command::Words(words) => serde_json::json!(words),
    });
    serde_json::json!({ "command": command, "environment": local.environment })
}

/// A pool that may launch needs a command, its own or the provider's. Reads its own for its mistakes, too.
pub(crate) fn check_command(
    pool: &Section<'_, '_>,
    own: &Section<'_, '_>,
    general: Option<&Command>,
    max: u32,
) {
    let own_command: Option<Command> = own.get("command");
    own.get::<BTreeMap<String, String>>("environment");
    if own_command.is_none() && !own.has("command") && general.is_none() && max > 0 {
        let message =
            format!("`{}` is missing, and its provider has no `command` either", own.name_of("command"));
        pool.notes.error(
            Code::MissingKey,
            pool.at,
            message,
            "say what starts a machine, in one of the two places",
        );
    }
}

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

/// Minimums that no maximum allows are a warning: the maximum wins, as it does in planning.
pub(crate) fn check_total(section: &Section<'_, '_>, key: &str, most: Option<u32>, pools: &[PoolConfig]) {
    let sum: u64 = pools.iter().map(|pool| u64::from(pool.pool.min)).sum();
    if let Some(most) = most.filter(|most| sum > u64::from(*most)) {
        let message =
            format!("`{}` is {most}, the minimums of all pools together are {sum}", section.name_of(key));
        section.notes.warning(
            Code::MinAboveTotal,
            section.place(key),
            message,
            "not all minimums can be kept",
        );
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

fn providers(root: &Section<'_, '_>, host: &Host<'_>, store: &StoreConfig) -> Providers {
    let provider = |one: &Named<'_, '_>| {
        let id = ProviderId::from(one.name.as_str());
        let provider = if one.section.has_knob("kubeconfig") {
            ProviderConfig::Kwok(crate::kubernetes::cluster(&one.section, host))
        } else if one.section.has_knob("address") {
            ProviderConfig::ExternalGrpc(crate::kubernetes::external(&one.section, host))
        } else {
            ProviderConfig::Local(local(&one.section, host, "stop_grace").settled(store, &id))
        };
        (id, provider)
    };
    root.named("providers").iter().map(provider).collect()
}

/// A local provider whose place for state may still depend on where the store is.
pub(crate) struct Unsettled {
    pub(crate) local: LocalProvider,
    pub(crate) state_dir: Option<PathBuf>,
}

impl Unsettled {
    pub(crate) fn settled(self, store: &StoreConfig, id: &ProviderId) -> LocalProvider {
        let beside = || {
            let mut name = store.path.with_extension("").into_os_string();
            name.push(format!("-{id}"));
            name.into()
        };
        LocalProvider { state_dir: self.state_dir.unwrap_or_else(beside), ..self.local }
    }
}

pub(crate) fn local(section: &Section<'_, '_>, host: &Host<'_>, stop_grace: &str) -> Unsettled {
    // One that is there and is wrong counts as there: its mistake is told, and not once more for each pool.
    let command =
        section.get("command").or_else(|| section.has("command").then(|| Command::Words(Vec::new())));
    let local = LocalProvider {
        command,
        environment: section.need("environment"),
        stop_grace: section.need(stop_grace),
        state_dir: PathBuf::new(),
        max_machines: section.need("max_machines"),
    };
    Unsettled { local, state_dir: section.get::<String>("state_dir").map(|path| host.path(&path)) }
}

pub(crate) fn store(section: &Section<'_, '_>, host: &Host<'_>, name: &str) -> StoreConfig {
    let in_file = section.get::<String>("path").map(|path| host.path(&path));
    let path = host.overrides.store_path.clone().or(in_file).unwrap_or_else(|| host.default_store(name));
    StoreConfig { path, journal_entries: section.need("journal_entries"), lease: section.need("lease") }
}

pub(crate) fn api(section: &Section<'_, '_>, host: &Host<'_>) -> ApiConfig {
    let notes = section.notes;
    let text = section.need::<String>("listen");
    let parsed = text.replace("localhost:", "127.0.0.1:").parse::<SocketAddr>();
    if parsed.is_err() && section.has("listen") {
        let message = format!("`{}`: `{text}` has no IP address", section.name_of("listen"));
        notes.error(
            Code::BadForm,
            section.place("listen"),
            message,
            "write `IP:PORT`, such as `127.0.0.1:8270`",
        );
    }
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listen = host.overrides.listen.unwrap_or_else(|| parsed.unwrap_or(loopback));
    let token_file = section.get::<String>("token_file").map(|path| host.path(&path));
    if !listen.ip().is_loopback() && token_file.is_none() {
        let message = format!("the API would listen on {listen}, for other hosts, without a token");
        let hint = "say `api.token_file`, or listen on 127.0.0.1";
        match host.overrides.listen {
            Some(_) => notes.outside("command line", Code::OpenApi, message, hint),
            None => notes.error(Code::OpenApi, section.place("listen"), message, hint),
        }
    }
    ApiConfig { listen, token_file }
}

pub(crate) fn deadlines(section: &Section<'_, '_>) -> Deadlines {
    Deadlines {
        observe: section.need("observe"),
        publish: section.need("publish"),
        drain: section.need("drain"),
        list: section.need("list"),
        launch: section.need("launch"),
        terminate: section.need("terminate"),
    }
}
