//! The calls of the protocol, each with a deadline and a class for what goes wrong.

use crate::config::{Config, Tls, wrong};
use crate::error::{NO_ANSWER, TOO_MUCH, of_status, refuse};
use crate::look::{Look, look};
use crate::proto::cloud_provider_client::CloudProviderClient;
use crate::proto::{self, ExternalGrpcNode};
use ostler_model::{CloudId, FailureClass};
use ostler_provider::ProviderError;
use std::time::Duration;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Response, Status};

/// Bytes of an answer at most: the machines that we take of a group, with room for their errors.
const ANSWER_MAX: usize = 32 << 20;
/// A connection that swallows everything is noticed, and made anew.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A connection that is made with its first call, and again when it breaks.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: String,
    timeout: Duration,
    inner: CloudProviderClient<Channel>,
}

/// How large a group may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) max: i64,
}

impl Client {
    pub(crate) fn new(config: &Config) -> Result<Self, ProviderError> {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let bad = |why: &dyn std::fmt::Display| wrong(format!("address {:?}: {why}", config.address));
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", config.address))
            .map_err(|why| bad(&why))?
            .connect_timeout(config.timeout)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(config.timeout)
            .keep_alive_while_idle(false);
        if let Some(tls) = &config.tls {
            // What it says of a wrong certificate holds nothing of the key.
            endpoint = endpoint.tls_config(tls_config(tls)?).map_err(|why| {
                wrong(format!("ca_file, cert_file or key_file cannot be used: {}", source(&why)))
            })?;
        }
        let inner = CloudProviderClient::new(endpoint.connect_lazy()).max_decoding_message_size(ANSWER_MAX);
        Ok(Self { address: config.address.clone(), timeout: config.timeout, inner })
    }

    pub(crate) async fn refresh(&self) -> Result<(), ProviderError> {
        let mut inner = self.inner.clone();
        self.call("Refresh", inner.refresh(proto::RefreshRequest {})).await.map(|_| ())
    }

    /// Bounds of one group; `None` if the server has no such group.
    pub(crate) async fn bounds(&self, group: &str) -> Result<Option<Bounds>, ProviderError> {
        let mut inner = self.inner.clone();
        let reply = self.call("NodeGroups", inner.node_groups(proto::NodeGroupsRequest {})).await?;
        let found = reply.node_groups.iter().find(|one| one.id == group);
        Ok(found.map(|one| Bounds { max: one.max_size.into() }))
    }

    pub(crate) async fn look(&self, group: &str) -> Result<Look, ProviderError> {
        let mut inner = self.inner.clone();
        let request = proto::NodeGroupNodesRequest { id: group.to_owned() };
        let reply = self.call("NodeGroupNodes", inner.node_group_nodes(request)).await?;
        look(group, reply.instances)
    }

    pub(crate) async fn target(&self, group: &str) -> Result<i64, ProviderError> {
        let mut inner = self.inner.clone();
        let request = proto::NodeGroupTargetSizeRequest { id: group.to_owned() };
        let reply = self.call("NodeGroupTargetSize", inner.node_group_target_size(request)).await?;
        Ok(reply.target_size.into())
    }

    pub(crate) async fn increase(&self, group: &str, by: i64) -> Result<(), ProviderError> {
        let mut inner = self.inner.clone();
        let request = proto::NodeGroupIncreaseSizeRequest { delta: narrow(by), id: group.to_owned() };
        self.call("NodeGroupIncreaseSize", inner.node_group_increase_size(request)).await.map(|_| ())
    }

    /// `by` is above zero, and is taken off.
    pub(crate) async fn decrease(&self, group: &str, by: i64) -> Result<(), ProviderError> {
        let mut inner = self.inner.clone();
        let request = proto::NodeGroupDecreaseTargetSizeRequest { delta: narrow(-by), id: group.to_owned() };
        self.call("NodeGroupDecreaseTargetSize", inner.node_group_decrease_target_size(request))
            .await
            .map(|_| ())
    }

    pub(crate) async fn delete(&self, group: &str, id: &CloudId) -> Result<(), ProviderError> {
        let mut inner = self.inner.clone();
        let name = id.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        let node = ExternalGrpcNode { provider_id: id.to_string(), name, ..ExternalGrpcNode::default() };
        let request = proto::NodeGroupDeleteNodesRequest { nodes: vec![node], id: group.to_owned() };
        self.call("NodeGroupDeleteNodes", inner.node_group_delete_nodes(request)).await.map(|_| ())
    }

    async fn call<T>(
        &self,
        name: &str,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, ProviderError> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            // So the library says that an answer is larger than we take; a server says it of a size.
            Ok(Err(status))
                if status.code() == Code::OutOfRange && status.message().contains("message length") =>
            {
                let text = format!(
                    "{}: {name}: the answer is larger than {} MiB; split the group",
                    self.address,
                    ANSWER_MAX >> 20
                );
                Err(refuse(FailureClass::Permanent, TOO_MUCH, text))
            }
            Ok(Err(status)) => Err(of_status(&self.address, name, &status)),
            Err(_) => {
                let text = format!(
                    "{}: {name}: no answer in {:?}; look at it, or raise `timeout`",
                    self.address, self.timeout
                );
                Err(refuse(FailureClass::Transient, NO_ANSWER, text))
            }
        }
    }
}

fn tls_config(tls: &Tls) -> Result<ClientTlsConfig, ProviderError> {
    let has = |pem: &[u8], what: &str| String::from_utf8_lossy(pem).contains(what);
    if !has(&tls.ca, "BEGIN CERTIFICATE") {
        return Err(wrong("ca_file holds no certificate in PEM; give the authority's".into()));
    }
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
    if let Some((cert, key)) = &tls.identity {
        if !has(cert, "BEGIN CERTIFICATE") || !has(key, "PRIVATE KEY") {
            return Err(wrong("cert_file or key_file holds no certificate or key in PEM; give both".into()));
        }
        config = config.identity(Identity::from_pem(cert, key));
    }
    Ok(config)
}

fn source(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A size is an `int32` on the wire; ours come from sizes and counts that fit.
fn narrow(by: i64) -> i32 {
    by.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}
