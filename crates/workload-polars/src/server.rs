//! Listening, with bounds: a client that is slow, greedy or gone costs one of a fixed number of places.

use crate::config::Config;
use crate::error::PolarsError;
use crate::guard::Guard;
use crate::rest::Problem;
use crate::sockets::Sockets;
use crate::{grpc, rest};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, header};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use ostler_workload::Door;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tower::ServiceExt;

/// Connections at one time. A scheduler has one or two, and many schedulers' streams stay open.
const CONNECTIONS_MAX: usize = 4096;
/// From the first byte to the end of a request's head.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Calls of one HTTP/2 connection at one time.
const STREAMS_MAX: u32 = 256;
/// A peer that is silent is asked whether it still lives, and given up if it does not answer.
const PING_EVERY: Duration = Duration::from_secs(30);
/// How long it may take to answer that.
const PING_WITHIN: Duration = Duration::from_secs(10);
/// Pause after the system refused to accept a connection (it is out of files): it would refuse again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The tasks that listen. They end with this.
#[derive(Debug)]
pub(crate) struct Servers(Vec<JoinHandle<()>>);

/// What one address serves.
#[derive(Debug, Clone)]
struct Served {
    rest: Option<Router>,
    grpc: Option<Router>,
    guard: Guard,
}

impl Servers {
    pub(crate) fn start(config: &Config, door: &Arc<Door>, sockets: &Sockets) -> Result<Self, PolarsError> {
        let mut tasks = Self(Vec::new());
        for (address, served) in served(config, door)? {
            let socket = sockets.listen(address)?;
            let cannot = |error: std::io::Error| PolarsError::Listen { address, reason: error.to_string() };
            let own = socket.try_clone().map_err(cannot)?;
            let listener = TcpListener::from_std(own).map_err(cannot)?;
            tasks.0.push(tokio::spawn(async move {
                let _kept = socket; // so that the next service of this address finds it
                listen(listener, Arc::new(served)).await;
            }));
        }
        Ok(tasks)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

fn served(config: &Config, door: &Arc<Door>) -> Result<BTreeMap<SocketAddr, Served>, PolarsError> {
    let mut all: BTreeMap<SocketAddr, Served> = BTreeMap::new();
    if let Some(rest) = &config.rest {
        let secret = rest.secret && config.grpc != Some(rest.listen);
        let guard = Guard::new(config, rest.listen, secret)?;
        let router = rest::router(door.clone(), &rest.path, config.max_body_bytes);
        all.insert(rest.listen, Served { rest: Some(router), grpc: None, guard });
    }
    if let Some(address) = config.grpc {
        let guard = Guard::new(config, address, false)?;
        let router = grpc::router(door.clone(), config.max_body_bytes);
        let served = all.entry(address).or_insert(Served { rest: None, grpc: None, guard });
        served.grpc = Some(router);
    }
    Ok(all)
}

async fn listen(listener: TcpListener, served: Arc<Served>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new(); // dropped with this task, and with it every connection
    loop {
        let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, peer)) => {
                let served = served.clone();
                open.spawn(async move {
                    talk(stream, peer.ip(), served).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the scaling service could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while open.try_join_next().is_some() {}
    }
}

/// One connection, to its end.
async fn talk(stream: TcpStream, peer: IpAddr, served: Arc<Served>) {
    let _ = stream.set_nodelay(true);
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(true);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WITHIN);
    let service = service_fn(move |request: Request<Incoming>| {
        let served = served.clone();
        async move { Ok::<_, Infallible>(answer(&served, peer, request.map(Body::new)).await) }
    });
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%peer, %error, "a connection to the scaling service ended");
    }
}

async fn answer(served: &Served, peer: IpAddr, request: Request<Body>) -> Response<Body> {
    let by_grpc = is_grpc(request.headers());
    let (router, nowhere) = match by_grpc {
        true => (&served.grpc, grpc::status(tonic::Code::Unimplemented, "gRPC is served on another port")),
        false => (&served.rest, Problem::not_found().into_response()),
    };
    if !served.guard.admits(peer) {
        return match by_grpc {
            true => grpc::status(tonic::Code::PermissionDenied, "this address may not ask [OSTLER-L010]"),
            false => Problem::forbidden().into_response(),
        };
    }
    if !served.guard.knows(request.headers()) {
        return match by_grpc {
            true => grpc::status(tonic::Code::Unauthenticated, "the token is missing or wrong [OSTLER-L011]"),
            false => Problem::unauthorized().into_response(),
        };
    }
    match router {
        Some(router) => match router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        None => nowhere,
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/grpc"))
}
