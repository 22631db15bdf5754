//! The contract in front of the API server.

use crate::config::{KwokConfig, KwokTemplate};
use crate::kubelet::Kubelet;
use crate::node::{self, NodeSpec};
use async_trait::async_trait;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, PartialObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use ostler_model::{CloudId, CloudInstance, CloudPhase, FailureClass, LaunchToken, Millis};
use ostler_provider::{Capabilities, LaunchSpec, Listing, Provider, ProviderError, tags};
use std::fmt;

/// The namespace of the leases of nodes.
pub(crate) const LEASES: &str = "kube-node-lease";
/// Nodes in one answer of a listing, without what they say of themselves; an answer is a megabyte at the most.
const PAGE: u32 = 500;

/// Simulated nodes of one site, see the [crate]. Needs a Tokio runtime; its kubelet ends when it is dropped, and
/// all nodes stay.
pub struct KwokProvider {
    client: Client,
    site: String,
    kubelet: Kubelet,
}

impl fmt::Debug for KwokProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KwokProvider").field("site", &self.site).finish_non_exhaustive()
    }
}

impl KwokProvider {
    /// Reads the way into the cluster, and starts the kubelet of the site. The cluster is not asked yet.
    ///
    /// # Errors
    /// `OSTLER-P201` the site cannot be the value of a label, `OSTLER-P202` there is no way into the cluster.
    pub async fn open(config: KwokConfig) -> Result<Self, ProviderError> {
        let no_way = |why: &dyn fmt::Display| {
            let message =
                format!("provider of simulated nodes: no way into the cluster: {why}; give `kubeconfig`");
            ProviderError::new(FailureClass::Permanent, "OSTLER-P202", message)
        };
        let way = match &config.kubeconfig {
            Some(path) => {
                let file = Kubeconfig::read_from(path).map_err(|why| no_way(&why))?;
                let options =
                    KubeConfigOptions { context: config.context.clone(), ..KubeConfigOptions::default() };
                Config::from_custom_kubeconfig(file, &options).await.map_err(|why| no_way(&why))?
            }
            None => Config::incluster().map_err(|why| no_way(&why))?,
        };
        let client = Client::try_from(way.clone()).map_err(|why| no_way(&why))?;
        let site = checked(config.site)?;
        let kubelet = Kubelet::start_apart(&site, way).map_err(|why| no_way(&why))?;
        Ok(Self { client, site, kubelet })
    }

    /// With a client that is there.
    ///
    /// # Errors
    /// `OSTLER-P201` the site cannot be the value of a label.
    pub fn with_client(site: impl Into<String>, client: Client) -> Result<Self, ProviderError> {
        let site = checked(site.into())?;
        let kubelet = Kubelet::start(&site, client.clone());
        Ok(Self { client, site, kubelet })
    }

    /// Makes a node that no Ostler launched, with a kubelet as the others have; the answer is its id.
    ///
    /// # Errors
    /// `OSTLER-P201` if it cannot be made so, and as [`launch`](Provider::launch).
    pub async fn add_node(&self, spec: NodeSpec) -> Result<CloudId, ProviderError> {
        let node = spec.object(&self.site, node::now())?;
        let name = node.name_any();
        self.nodes().create(&PostParams::default(), &node).await.map_err(|why| failed(&name, &why))?;
        Ok(CloudId::new(node::id_of(&self.site, &name)))
    }

    /// The kubelet of the site.
    pub fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }

    fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }
    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), LEASES)
    }

    fn read(&self, node: &PartialObjectMeta<Node>) -> Option<Result<CloudInstance, String>> {
        let name = node.name_any();
        let skip = |why: String| format!("node {name}: {why}");
        let tagged = match tags::read(&self.site, node.annotations())? {
            Ok(tagged) => tagged,
            Err(why) => return Some(Err(skip(why))),
        };
        let behaviour = node::behaviour(&node.metadata);
        let ending = node::annotated(&node.metadata, node::ENDED, None);
        let booting = node::now().0 < behaviour.asked_at.saturating_add(behaviour.boot.0);
        let phase = match (ending || node.metadata.deletion_timestamp.is_some(), booting) {
            (true, _) => CloudPhase::Stopping,
            (false, true) => CloudPhase::Pending,
            (false, false) => CloudPhase::Running,
        };
        let created_at = node.metadata.creation_timestamp.as_ref().map(node::moment);
        Some(Ok(CloudInstance {
            id: CloudId::new(node::id_of(&self.site, &name)),
            workload: tagged.workload,
            pool: tagged.pool,
            launched_for: Some(tagged.launched_for),
            kind: tagged.kind,
            phase,
            created_at,
            address: node::host_address(&name),
        }))
    }
}

#[async_trait]
impl Provider for KwokProvider {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            joins_by_itself: true,
            chooses_victims: false,
            answers_within: Millis::secs(10),
            appears_within: Millis(0),
            // Its pods go first, many at a time.
            gone_within: Millis::secs(30),
        }
    }

    async fn list(&self) -> Result<Listing, ProviderError> {
        let mut listing = Listing::default();
        let mut params = ListParams::default().labels(&format!("{}={}", node::SITE, self.site)).limit(PAGE);
        loop {
            let page = self.nodes().list_metadata(&params).await.map_err(|why| failed("the nodes", &why))?;
            for node in &page.items {
                match self.read(node) {
                    Some(Ok(machine)) => listing.instances.push(machine),
                    Some(Err(why)) => listing.skipped.push(why),
                    None => {}
                }
            }
            match page.metadata.continue_.filter(|more| !more.is_empty()) {
                Some(more) => params = params.continue_token(&more),
                None => break,
            }
        }
        listing.instances.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(listing)
    }

    async fn launch(&self, spec: &LaunchSpec, token: &LaunchToken) -> Result<CloudId, ProviderError> {
        let template = KwokTemplate::from_value(spec.pool.as_str(), &spec.template)?;
        let refusal = template.refuse;
        let wanted =
            NodeSpec::of_launch(&self.site, spec, token, template)?.object(&self.site, node::now())?;
        let name = wanted.name_any();
        let id = CloudId::new(node::id_of(&self.site, &name));
        // A lease says that the node has been there, or is.
        if self.leases().get_opt(&name).await.map_err(|why| failed(&name, &why))?.is_some() {
            return Ok(id);
        }
        if let Some(refusal) = refusal {
            let message =
                format!("pool {}: launches are refused, as its template says (`refuse`)", spec.pool);
            return Err(ProviderError::new(refusal.into(), "OSTLER-P203", message));
        }
        match self.nodes().create(&PostParams::default(), &wanted).await {
            Ok(_) => Ok(id),
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                let there = self.nodes().get_opt(&name).await.map_err(|why| failed(&name, &why))?;
                let ours = |node: &Node| {
                    node.annotations().get(tags::TOKEN).map(String::as_str) == Some(token.as_str())
                };
                // Gone already is gone after it was there.
                if there.is_none_or(|node| ours(&node)) {
                    return Ok(id);
                }
                let message = format!("node {name} is there and is not ours; remove it, or rename the pool");
                Err(ProviderError::new(FailureClass::Permanent, "OSTLER-P204", message))
            }
            Err(why) => Err(failed(&name, &why)),
        }
    }

    async fn terminate(&self, id: &CloudId) -> Result<(), ProviderError> {
        let Some(name) = node::name_in(&self.site, id.as_str()) else { return Ok(()) };
        // What was never a name is refused by the API server, and is no machine.
        if name.len() > 253 || name.contains(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c)) {
            return Ok(());
        }
        let Some(node) = self.nodes().get_opt(name).await.map_err(|why| failed(name, &why))? else {
            return Ok(());
        };
        if node.labels().get(node::SITE) != Some(&self.site)
            || node::annotated(&node.metadata, node::ENDED, None)
        {
            return Ok(());
        }
        let patch = serde_json::json!({ "metadata": { "annotations": { (node::ENDED): "true" } } });
        match self.nodes().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(why) => Err(failed(name, &why)),
        }
    }

    fn details(&self, id: &CloudId) -> Option<String> {
        let name = node::name_in(&self.site, id.as_str())?;
        Some(format!("simulated: kubectl describe node {name}"))
    }
}

/// The name of a site, if it can be the value of a label.
fn checked(site: String) -> Result<String, ProviderError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let good = site.len() <= 63 && site.chars().all(plain);
    if good && ends(site.chars().next()) && ends(site.chars().next_back()) {
        return Ok(site);
    }
    let message = format!(
        "provider of simulated nodes: site {site:?}: give 1 to 63 letters, digits, dashes, dots and underscores, the \
         first and the last a letter or a digit"
    );
    Err(ProviderError::new(FailureClass::Permanent, "OSTLER-P201", message))
}

/// What an error of the API server means for a caller.
pub(crate) fn failed(what: &str, why: &kube::Error) -> ProviderError {
    let class = match why {
        kube::Error::Api(status) => match status.code {
            401 | 403 => FailureClass::Denied,
            429 => FailureClass::Throttled,
            400..=499 => FailureClass::Permanent,
            _ => FailureClass::Transient,
        },
        _ => FailureClass::Transient,
    };
    let message = format!("{what}: the API server says: {why}");
    ProviderError::new(class, "OSTLER-P205", message)
}
