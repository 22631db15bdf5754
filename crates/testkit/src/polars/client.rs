//! The scheduler's side of the wire, over REST and over gRPC.

use super::scheduler::{Answer, Call};
use ostler_workload_polars::proto;
use proto::scaling_service_client::ScalingServiceClient;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};

/// What the scheduler allows a request.
const WITHIN: Duration = Duration::from_secs(5);

/// One of the two ways.
#[derive(Debug, Clone)]
pub enum Client {
    /// REST at this address.
    Rest(SocketAddr),
    /// gRPC over this channel.
    Grpc(Channel),
}

impl Client {
    /// Over gRPC.
    ///
    /// # Panics
    /// If the address is none.
    pub fn grpc(address: SocketAddr) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address is a URI");
        Self::Grpc(endpoint.timeout(WITHIN).connect_lazy())
    }

    /// Makes a call.
    pub async fn call(&self, call: &Call) -> Answer {
        let answered = async {
            match self {
                Self::Rest(address) => rest(*address, call).await,
                Self::Grpc(channel) => grpc(channel.clone(), call).await,
            }
        };
        tokio::time::timeout(WITHIN, answered).await.unwrap_or(Answer::TryAgain)
    }
}

async fn rest(address: SocketAddr, call: &Call) -> Answer {
    let answer = match call {
        Call::Config => http(address, "GET", "/scale_config", "", "").await,
        Call::ScaleTo { amount, keep, delete } => {
            let body = json!({ "amount": amount, "workers_to_keep": keep, "workers_to_delete": delete });
            http(address, "POST", "/scale_to", "application/json", &body.to_string()).await
        }
    };
    match answer {
        Ok((200, body)) => config(&body).unwrap_or(Answer::Failed),
        Ok((204, _)) => Answer::Accepted,
        Ok((429, _)) | Err(_) => Answer::TryAgain,
        Ok(_) => Answer::Failed,
    }
}

fn config(body: &str) -> Option<Answer> {
    let value: Value = serde_json::from_str(body).ok()?;
    let number = |key: &str| u32::try_from(value.get(key)?.as_u64()?).ok();
    Some(Answer::Config(number("desired")?, number("available")?, number("min")?, number("max")?))
}

/// One request on a connection of its own: status and body.
///
/// # Errors
/// If there is no answer.
pub async fn http(
    address: SocketAddr,
    method: &str,
    path: &str,
    kind: &str,
    body: &str,
) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{kind}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let _ = stream.write_all(body.as_bytes()).await; // a server may answer before it has read all
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let bad = || std::io::Error::other(format!("no answer: {text:?}"));
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
    let (_, body) = text.split_once("\r\n\r\n").ok_or_else(bad)?;
    Ok((status, body.to_owned()))
}

async fn grpc(channel: Channel, call: &Call) -> Answer {
    let mut client = ScalingServiceClient::new(channel);
    let ended = match call {
        Call::Config => match client.scale_config(proto::ScaleConfigRequest {}).await {
            Ok(stream) => match stream.into_inner().message().await {
                Ok(Some(m)) => Ok(Answer::Config(m.desired, m.available, m.min, m.max)),
                Ok(None) => Ok(Answer::Failed),
                Err(status) => Err(status),
            },
            Err(status) => Err(status),
        },
        Call::ScaleTo { amount, keep, delete } => {
            let list = |names: &std::collections::BTreeSet<String>| {
                let values = names.iter().cloned().collect();
                (!names.is_empty()).then_some(proto::scale_to_request::ValueList { values })
            };
            let (workers_to_keep, workers_to_delete) = (list(keep), list(delete));
            let request = proto::ScaleToRequest { amount: *amount, workers_to_keep, workers_to_delete };
            client.scale_to(request).await.map(|_| Answer::Accepted)
        }
    };
    ended.unwrap_or_else(|status| match status.code() {
        tonic::Code::Unavailable => Answer::TryAgain,
        _ => Answer::Failed,
    })
}
