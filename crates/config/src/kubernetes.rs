//! The part of `ostler.yaml` about the nodes of a Kubernetes cluster.

use crate::configuration::{
    KubeLease, KubernetesConfig, PoolConfig, ProviderConfig, WorkloadConfig, WorkloadKind,
};
use crate::environment::Host;
use crate::hash::launch_hash;
use crate::mistake::{Code, nearest};
use crate::pools::{PoolParts, check_bounds, check_total, pool_parts};
use crate::providers::Providers;
use crate::read::{Named, Section};
use ostler_model::kube::{
    DrainBudget, DrainReason, DrainRules, Expander, Filter, KubePolicy, NodeTemplate, PODS, PoolHeadroom,
    Share, Taint, TaintEffect, WhilePending, Window,
};
use ostler_model::{
    Labels, Millis, Policy, Pool, PoolId, Price, Quantity, Resources, Scoring, Timeouts, WorkloadId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Pods that a node takes if nothing is said: the kubelet's own default.
const PODS_DEFAULT: i64 = 110;

pub(crate) fn workload(one: &Named<'_, '_>, host: &Host<'_>, providers: &Providers) -> WorkloadConfig {
    let section = &one.section;
    let id = WorkloadId::from(one.name.as_str());
    let named = section.named("pools");
    let pools: Vec<PoolConfig> = named.iter().flat_map(|one| pool(one, &id, providers)).collect();
    check_total(section, "max_nodes", section.get("max_nodes"), &pools);
    let headroom = named.iter().filter_map(headroom).collect();
    let policy = policy(section, host, headroom);
    let lease = section.has("lease").then(|| {
        let lease = section.section("lease");
        KubeLease { name: lease.need("name"), duration: lease.need("duration") }
    });
    let batch = section.section("batch");
    let config = KubernetesConfig {
        connection: crate::providers::kubernetes(section, host),
        namespace: section.need("namespace"),
        lease,
        settle: section.section("drain").need("settle"),
        batch_idle: batch.need("idle"),
        batch_max: batch.need("max"),
    };
    WorkloadConfig { id, kind: WorkloadKind::Kubernetes(Box::new(config)), policy, pools }
}

/// Which cluster, for a workload or for a provider that makes nodes in it.
/// The pool, or each of its offerings as a pool that shares its bounds.
fn pool(one: &Named<'_, '_>, workload: &WorkloadId, providers: &Providers) -> Vec<PoolConfig> {
    let parts = pool_parts(one, providers);
    let section = &one.section;
    let simulated = matches!(providers.get(&parts.provider), Some(ProviderConfig::Kwok(_)));
    let offerings = section.named("offerings");
    if offerings.is_empty() {
        let node = template(section, section, None, None);
        return vec![pool_of(section, section, parts, workload, node, simulated)];
    }
    let group: Arc<str> = one.name.as_str().into();
    let mut min = parts.min;
    let offering = |offering: &Named<'_, '_>| {
        let own = &offering.section;
        let max = own.get("max").map_or(parts.max, |own: u32| own.min(parts.max));
        let own_min = min.min(max);
        min -= own_min;
        let node = template(section, own, Some(group.clone()), Some(parts.max));
        let parts = PoolParts {
            id: PoolId::new(format!("{}/{}", one.name, offering.name)),
            provider: parts.provider.clone(),
            min: own_min,
            max,
            launch_hash: launch_hash(&serde_json::json!([parts.launch_hash, own.json("template")])),
        };
        pool_of(section, own, parts, workload, node, simulated)
    };
    let pools: Vec<PoolConfig> = offerings.iter().map(offering).collect();
    if parts.min <= parts.max {
        check_bounds(section, "min", parts.min, "max of all offerings", parts.min - min);
    }
    pools
}

fn pool_of(
    section: &Section<'_, '_>,
    own: &Section<'_, '_>,
    parts: PoolParts,
    workload: &WorkloadId,
    node: NodeTemplate,
    simulated: bool,
) -> PoolConfig {
    let PoolParts { id, provider, min, max, launch_hash } = parts;
    let from = |key: &str| if own.has(key) { own } else { section };
    let mut resources: Resources = from("resources").need("resources");
    if !resources.0.is_empty() {
        resources.0.entry(PODS.into()).or_insert(Quantity::units(PODS_DEFAULT));
    }
    let mut labels: Labels = section.need("labels");
    labels.extend(own.need::<Labels>("labels"));
    let mut pool = Pool {
        id,
        workload: workload.clone(),
        provider,
        resources,
        labels,
        min,
        max,
        idle_timeout: None,
        priority: section.need("priority"),
        launch_hash,
        instance_type: from("instance_type").need("instance_type"),
        node: Some(Box::new(node)),
    };
    let mut template = from("template").json("template");
    if simulated {
        pool.launch_hash = simulated_hash(&pool, &template);
        with_taints(&mut template, pool.node.as_deref());
    }
    PoolConfig { pool, template }
}

/// What a simulated node is made of. Of other providers the machine is theirs, and so is what it is made of.
fn simulated_hash(pool: &Pool, template: &serde_json::Value) -> String {
    let taints = pool.node.iter().flat_map(|node| &node.taints).map(ToString::to_string);
    let amounts = pool.resources.iter().map(|(name, amount)| (name.to_string(), amount.to_string()));
    launch_hash(&serde_json::json!({
        "template": template,
        "labels": pool.labels,
        "taints": taints.collect::<BTreeSet<_>>(),
        "resources": amounts.collect::<BTreeMap<_, _>>(),
        "instance_type": pool.instance_type,
    }))
}

/// A simulated node is made with the taints of its pool.
fn with_taints(template: &mut serde_json::Value, node: Option<&NodeTemplate>) {
    let Some(node) = node else { return };
    if template.is_null() {
        *template = serde_json::json!({});
    }
    let texts = |taints: &[Taint]| taints.iter().map(ToString::to_string).collect::<Vec<_>>();
    if let Some(template) = template.as_object_mut() {
        for (key, taints) in [("taints", &node.taints), ("startup_taints", &node.startup_taints)] {
            template.entry(key).or_insert_with(|| serde_json::json!(texts(taints)));
        }
    }
}

fn template(
    section: &Section<'_, '_>,
    own: &Section<'_, '_>,
    group: Option<Arc<str>>,
    group_max: Option<u32>,
) -> NodeTemplate {
    let from = |key: &str| if own.has(key) { own } else { section };
    let limits: Resources = section.need("attach_limits");
    let limit = |(driver, count): (&Arc<str>, Quantity)| {
        (driver.clone(), u32::try_from(count.as_ten_thousandths() / 10_000).unwrap_or(u32::MAX))
    };
    NodeTemplate {
        taints: taints(from("taints"), "taints"),
        startup_taints: taints(section, "startup_taints"),
        attach_limits: limits.iter().map(limit).collect(),
        price: from("price").need::<Price>("price"),
        group,
        group_max,
    }
}

fn taints(section: &Section<'_, '_>, key: &str) -> Vec<Taint> {
    let texts: Vec<String> = section.need(key);
    let taint = |text: &String| {
        let taint = taint(text);
        if taint.is_none() {
            let message = format!("`{}`: `{text}` is no taint", section.name_of(key));
            let hint = "write `KEY=VALUE:NoSchedule`, `KEY:NoExecute`, or `…:PreferNoSchedule`";
            section.notes.error(Code::BadForm, section.place(key), message, hint);
        }
        taint
    };
    texts.iter().filter_map(taint).collect()
}

fn taint(text: &str) -> Option<Taint> {
    let (name, effect) = text.rsplit_once(':')?;
    let effect = match effect {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return None,
    };
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    (!key.is_empty()).then(|| Taint { key: key.into(), value: value.into(), effect })
}

fn headroom(one: &Named<'_, '_>) -> Option<PoolHeadroom> {
    let section = one.section.has("headroom").then(|| one.section.section("headroom"))?;
    let offerings = one.section.named("offerings");
    let pool = match offerings.first() {
        Some(first) => format!("{}/{}", one.name, first.name),
        None => one.name.clone(),
    };
    let mut shape: Resources = section.need("shape");
    shape.0.entry(PODS.into()).or_insert(Quantity::ONE);
    Some(PoolHeadroom { pool: PoolId::new(pool), shape, count: section.need("count") })
}

fn policy(section: &Section<'_, '_>, host: &Host<'_>, headroom: Vec<PoolHeadroom>) -> Policy {
    Policy {
        scoring: Scoring::Kubernetes,
        max_workers: section.get("max_nodes"),
        idle_timeout: None,
        // Pods say how many nodes are needed; growing step by step would only make them wait.
        upscaling_speed_percent: u32::MAX,
        max_concurrent_launches: section.need("max_concurrent_launches"),
        replace_outdated: section.need("replace_outdated"),
        launch_backoff: section.need("launch_backoff"),
        launch_backoff_max: section.need("launch_backoff_max"),
        drain_grace: section.section("drain").need("timeout"),
        kube: Some(Box::new(kube_policy(section, host, headroom))),
        timeouts: Timeouts {
            request: section.need("launch_timeout"),
            allocate: section.need("node_timeout"),
            terminate: section.need("terminate_timeout"),
            ..Timeouts::default()
        },
        ..Policy::default()
    }
}

fn kube_policy(section: &Section<'_, '_>, host: &Host<'_>, headroom: Vec<PoolHeadroom>) -> KubePolicy {
    let down = section.section("scale_down");
    let default = KubePolicy::default();
    let schedulers = section.get::<Vec<String>>("schedulers");
    KubePolicy {
        expander: match section.need::<String>("expander").as_str() {
            "least-waste" => Expander::LeastWaste,
            "priority" => Expander::Priority,
            "most-pods" => Expander::MostPods,
            _ => Expander::Cost,
        },
        utilization_threshold_percent: down.need("utilization_threshold"),
        unneeded: down.need("unneeded"),
        unready: down.need("unready"),
        delay_after_add: down.need("delay_after_add"),
        delay_after_failure: down.need("delay_after_failure"),
        new_pod_delay: section.need("new_pod_delay"),
        scale_down: down.need("enabled"),
        consolidate: down.need("consolidate"),
        min_saving_percent: down.need("min_saving"),
        while_pending: match down.need::<String>("while_pending").as_str() {
            "strict" => WhilePending::Strict,
            _ => WhilePending::Reachable,
        },
        budgets: down.named("budgets").iter().filter_map(|one| budget(&one.section)).collect(),
        drain: DrainRules {
            evict_local_storage: down.need("local_storage"),
            evict_uncontrolled: down.need("uncontrolled"),
            let_jobs_finish: down.need("let_jobs_finish"),
        },
        schedulers: schedulers.map_or(default.schedulers, |names| names.into_iter().map(Arc::from).collect()),
        expendable_below: section.need("expendable_below"),
        filters_off: filters(section),
        headroom,
        shadow: host.overrides.shadow || section.need("shadow"),
    }
}

fn filters(section: &Section<'_, '_>) -> BTreeSet<Filter> {
    chosen(section, "filters_off", "filter", &Filter::ALL, Filter::name)
}

/// Those of `all` that a list names.
fn chosen<T: Copy + Ord>(
    section: &Section<'_, '_>,
    key: &str,
    what: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> BTreeSet<T> {
    let names: Vec<String> = section.need(key);
    let known = |name: &String| {
        let found = all.iter().copied().find(|one| name_of(*one) == name);
        if found.is_none() {
            let message = format!("`{}`: there is no {what} `{name}`", section.name_of(key));
            let hint = nearest(name, all.iter().map(|one| name_of(*one)));
            section.notes.error(Code::UnknownChoice, section.place(key), message, hint);
        }
        found
    };
    names.iter().filter_map(known).collect()
}

fn budget(section: &Section<'_, '_>) -> Option<DrainBudget> {
    let text: String = section.need("nodes");
    let nodes = match text.strip_suffix('%') {
        Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Share::Percent),
        None => text.parse().ok().map(Share::Count),
    };
    if nodes.is_none() && !text.is_empty() {
        let message = format!("`{}`: `{text}` is no number of nodes", section.name_of("nodes"));
        section.notes.error(Code::BadForm, section.place("nodes"), message, "write `\"3\"` or `\"10%\"`");
    }
    let sometimes = section.has("days") || section.has("from");
    let windows = sometimes.then(|| window(section)).into_iter().collect();
    let per = section.get::<String>("per").map(Arc::from);
    let reasons = chosen(section, "reasons", "reason", &DrainReason::ALL, DrainReason::name);
    Some(DrainBudget { nodes: nodes?, per, reasons, windows })
}

fn window(section: &Section<'_, '_>) -> Window {
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let names: Vec<String> = section.need("days");
    let mut days = BTreeSet::new();
    for name in names {
        match DAYS.iter().position(|day| *day == name) {
            Some(day) => drop(days.insert(day as u8)),
            None => {
                let message = format!("`{}`: `{name}` is no day", section.name_of("days"));
                let hint = "write `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`";
                section.notes.error(Code::BadForm, section.place("days"), message, hint);
            }
        }
    }
    let from = section.get::<String>("from").map_or(Some(Millis(0)), |text| time_of_day(&text));
    if from.is_none() {
        let message = format!("`{}` is no time of the day", section.name_of("from"));
        section.notes.error(Code::BadForm, section.place("from"), message, "write `\"22:30\"`");
    }
    Window { days, from: from.unwrap_or_default(), lasts: section.need("lasts") }
}

fn time_of_day(text: &str) -> Option<Millis> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then(|| Millis::secs(hours * 3600 + minutes * 60))
}
