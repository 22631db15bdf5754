//! What a pod asks for, as the scheduler counts it.
//!
//! Containers add up. Init containers run one after the other before them, those that restart (sidecars)
//! from their turn on: so each init container needs its own beside the sidecars before it, and the pod
//! needs the most of all that. Requests of the whole pod replace the sum, the overhead comes on top. A pod
//! that has a node is counted by the most of what it asks for, what it was given and what it has (resizing
//! in place), in a way that differs between releases.

use super::Release;
use super::quantity::{Amounts, add, amounts, counted, largest};
use k8s_openapi::api::core::v1::{Container, ContainerStatus, PodSpec, PodStatus, ResourceRequirements};
use ostler_model::kube::PODS;
use ostler_model::{Quantity, Resources};

/// The effective request. `template`: defaults that the API server gives to pods are not in it yet.
pub(super) fn effective(
    spec: &PodSpec,
    status: Option<&PodStatus>,
    template: bool,
    release: Release,
) -> Result<Resources, String> {
    let mut sum = match status {
        None => total(spec, |container| asked(container, template))?,
        Some(status) if release.sums_before_most() => resized(spec, status)?,
        Some(status) => total(spec, |container| most(spec, container, status))?,
    };
    if let Some(whole) = &spec.resources {
        let status = status.filter(|_| release.resizes_pods());
        of_the_whole(whole, status, template, release, &mut sum)?;
    }
    add(&mut sum, &amounts(spec.overhead.as_ref()).map_err(|why| format!("overhead: {why}"))?);
    let mut resources = counted(&sum);
    resources.0.retain(|_, amount| !amount.is_zero());
    resources.0.insert(PODS.into(), Quantity::ONE);
    Ok(resources)
}

/// The most of three sums over the containers; the kubelet tells two of them for the pod as a whole, or not yet.
fn resized(spec: &PodSpec, status: &PodStatus) -> Result<Amounts, String> {
    let infeasible = resize_is_infeasible(status);
    let told = status.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let (given, held) = match (&status.allocated_resources, told) {
        (Some(given), Some(held)) => (amounts(Some(given))?, amounts(Some(held))?),
        _ => (
            total(spec, |container| given(container, status, infeasible))?,
            total(spec, |container| held(container, status, infeasible))?,
        ),
    };
    let mut most =
        if infeasible { Amounts::new() } else { total(spec, |container| asked(container, false))? };
    largest(&mut most, &given);
    largest(&mut most, &held);
    Ok(most)
}

/// The most for one container, as releases before 1.37 have it: only once the kubelet says what it has, and not for
/// init containers that end.
fn most(spec: &PodSpec, container: &Container, status: &PodStatus) -> Result<Amounts, String> {
    let asked = asked(container, false)?;
    let ends =
        !restarts(container) && spec.init_containers.iter().flatten().any(|one| one.name == container.name);
    let told = status_of(container, status).and_then(|own| Some((own, own.resources.as_ref()?)));
    let Some((own, held)) = told.filter(|_| !ends) else { return Ok(asked) };
    let mut most = if resize_is_infeasible(status) { Amounts::new() } else { asked };
    largest(&mut most, &amounts(held.requests.as_ref())?);
    largest(&mut most, &amounts(own.allocated_resources.as_ref())?);
    Ok(most)
}

/// The sum over a pod's containers, each of which asks for what `of` says.
fn total(spec: &PodSpec, of: impl Fn(&Container) -> Result<Amounts, String>) -> Result<Amounts, String> {
    let named =
        |container: &Container| of(container).map_err(|why| format!("container {}: {why}", container.name));
    let mut sum = Amounts::new();
    for container in &spec.containers {
        add(&mut sum, &named(container)?);
    }
    let (mut sidecars, mut start) = (Amounts::new(), Amounts::new());
    for container in spec.init_containers.iter().flatten() {
        let mut own = named(container)?;
        if restarts(container) {
            add(&mut sum, &own);
            add(&mut sidecars, &own);
            largest(&mut start, &sidecars);
        } else {
            add(&mut own, &sidecars);
            largest(&mut start, &own);
        }
    }
    largest(&mut sum, &start);
    Ok(sum)
}

/// A sidecar: an init container that runs on.
pub(super) fn restarts(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn asked(container: &Container, template: bool) -> Result<Amounts, String> {
    let Some(resources) = &container.resources else { return Ok(Amounts::new()) };
    let mut requests = amounts(resources.requests.as_ref())?;
    if template {
        for (name, limit) in amounts(resources.limits.as_ref())? {
            requests.entry(name).or_insert(limit);
        }
    }
    Ok(requests)
}

fn status_of<'a>(container: &Container, status: &'a PodStatus) -> Option<&'a ContainerStatus> {
    let of =
        |list: &'a Option<Vec<ContainerStatus>>| list.iter().flatten().find(|s| s.name == container.name);
    of(&status.container_statuses).or_else(|| of(&status.init_container_statuses))
}

fn given(container: &Container, status: &PodStatus, infeasible: bool) -> Result<Amounts, String> {
    match status_of(container, status).and_then(|status| status.allocated_resources.as_ref()) {
        Some(given) => amounts(Some(given)),
        None if infeasible => Ok(Amounts::new()),
        None => asked(container, false),
    }
}

fn held(container: &Container, status: &PodStatus, infeasible: bool) -> Result<Amounts, String> {
    let own = status_of(container, status);
    match own.and_then(|status| status.resources.as_ref()).and_then(|resources| resources.requests.as_ref()) {
        Some(held) => amounts(Some(held)),
        None => given(container, status, infeasible),
    }
}

fn resize_is_infeasible(status: &PodStatus) -> bool {
    let pending = status.conditions.iter().flatten().find(|condition| condition.type_ == "PodResizePending");
    pending.is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
}

/// Requests of the whole pod replace those of its containers: CPU, memory and huge pages only.
fn of_the_whole(
    whole: &ResourceRequirements,
    status: Option<&PodStatus>,
    template: bool,
    release: Release,
    sum: &mut Amounts,
) -> Result<(), String> {
    let requests = || amounts(whole.requests.as_ref()).map_err(|why| format!("pod requests: {why}"));
    let mut asked = requests()?;
    if template {
        let limits = amounts(whole.limits.as_ref()).map_err(|why| format!("pod limits: {why}"))?;
        for (name, limit) in limits {
            let of_containers = sum.get(&name).copied();
            asked.entry(name).or_insert(of_containers.unwrap_or(limit));
        }
    }
    if !asked.keys().any(|name| may_be_of_the_whole(name)) {
        return Ok(());
    }
    if let Some(status) = status
        && let Some(resources) = &status.resources
    {
        let mut most = if resize_is_infeasible(status) { Amounts::new() } else { asked.clone() };
        largest(&mut most, &amounts(resources.requests.as_ref())?);
        largest(&mut most, &amounts(status.allocated_resources.as_ref())?);
        if !release.sums_before_most() {
            // Only what the pod asks for as a whole counts so then, and all of that does.
            most = asked.into_keys().map(|name| most.remove_entry(&name).unwrap_or((name, 0))).collect();
        }
        asked = most;
    }
    sum.extend(asked.into_iter().filter(|(name, _)| may_be_of_the_whole(name)));
    Ok(())
}

fn may_be_of_the_whole(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}
