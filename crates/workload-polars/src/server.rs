//! Listening, with bounds: a client that is slow, greedy or gone costs one of a fixed number of places.

use crate::config::Config;
use crate::error::PolarsError;
use crate::guard::Guard;
use crate::rest::Problem;
use crate::sockets::{Serving, Site, Sockets};
use crate::tls::{self, Secured, Tls};
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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;
use tonic::Code;
use tower::ServiceExt;

/// Connections at one time. A scheduler has one or two, and many schedulers' streams stay open.
const CONNECTIONS_MAX: usize = 4096;
/// From the first byte to the end of a request's head.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// From a connection to the keys that both agree on. The scheduler gives up after five seconds.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Calls of one HTTP/2 connection at one time.
const STREAMS_MAX: u32 = 256;
/// Bytes of one HTTP/2 connection that may have come and not been taken yet.
const WINDOW: u32 = 128 * 1024;
/// A peer that is silent is asked whether it still lives, and given up if it does not answer.
const PING_EVERY: Duration = Duration::from_secs(30);
/// How long it may take to answer that.
const PING_WITHIN: Duration = Duration::from_secs(10);
/// Pause after the system refused to accept a connection (it is out of files): it would refuse again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What is served, for as long as this is there.
#[derive(Debug)]
pub(crate) struct Servers {
    _all: Vec<Serving>,
}

/// What one service serves on one address.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) rest: Option<Router>,
    /// What stands before REST's paths.
    pub(crate) path: String,
    pub(crate) grpc: Option<Router>,
    pub(crate) tls: Option<Arc<Tls>>,
    guard: Guard,
}

impl Served {
    /// Does REST's path lie below ours?
    pub(crate) fn serves(&self, path: &str) -> bool {
        let below = path.strip_prefix(&self.path);
        self.rest.is_some() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Servers {
    pub(crate) fn start(config: &Config, door: &Arc<Door>, sockets: &Sockets) -> Result<Self, PolarsError> {
        let all = served(config, door)?;
        let all = all.into_iter().map(|(address, served)| sockets.serve(address, served));
        Ok(Self { _all: all.collect::<Result<_, _>>()? })
    }
}

fn served(config: &Config, door: &Arc<Door>) -> Result<BTreeMap<SocketAddr, Served>, PolarsError> {
    let mut all: BTreeMap<SocketAddr, Served> = BTreeMap::new();
    let tls = config.tls.clone().map(Tls::start).transpose()?;
    if let Some(rest) = &config.rest {
        let secret = rest.secret && config.grpc != Some(rest.listen);
        let guard = Guard::new(config, rest.listen, secret)?;
        let router = rest::router(door.clone(), &rest.path, config.max_body_bytes);
        let path = rest.path.clone();
        all.insert(rest.listen, Served { rest: Some(router), path, grpc: None, tls: tls.clone(), guard });
    }
    if let Some(address) = config.grpc {
        let guard = Guard::new(config, address, false)?;
        let router = grpc::router(door.clone(), config.max_body_bytes);
        let fresh = Served { rest: None, path: String::new(), grpc: None, tls, guard };
        all.entry(address).or_insert(fresh).grpc = Some(router);
    }
    Ok(all)
}

/// Takes connections in, for as long as anybody serves here.
pub(crate) async fn listen(listener: TcpListener, site: Weak<Site>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new(); // dropped with this task, and with it every connection
    loop {
        let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, peer)) => {
                let site = site.clone();
                open.spawn(async move {
                    talk(stream, peer.ip(), site).await;
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
async fn talk(stream: TcpStream, peer: IpAddr, site: Weak<Site>) {
    let _ = stream.set_nodelay(true);
    let Some(tls) = site.upgrade().map(|site| site.tls()) else { return };
    let Some(tls) = tls else { return serve(stream, peer, Secured::Plain, site).await };
    match tokio::time::timeout(HANDSHAKE_WITHIN, secure(&tls, stream)).await {
        Ok(Ok(stream)) => serve(stream, peer, tls.secures(), site).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS with a caller of the scaling service"),
        Err(_) => tracing::debug!(%peer, "a caller of the scaling service took too long over TLS"),
    }
}

/// Who speaks plain HTTP is told so in plain HTTP.
async fn secure(tls: &Tls, mut stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    const ANSWER: &str = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n\
                          this port speaks TLS: use https:// [OSTLER-L014]\n";
    if tls::begins(&stream).await? {
        return tls.accept(stream).await;
    }
    stream.write_all(ANSWER.as_bytes()).await?;
    stream.shutdown().await?;
    // What was not read when a socket is closed makes the system take back what was written.
    let mut rest = stream.take(HEAD_BYTES_MAX as u64);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Err(std::io::Error::other("it speaks plain HTTP"))
}

/// A connection over which requests come.
async fn serve<S>(stream: S, peer: IpAddr, secured: Secured, site: Weak<Site>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
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
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_WITHIN);
    let asked = Arc::new(AtomicBool::new(false));
    let asks = asked.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        asks.store(true, Ordering::Relaxed);
        let site = site.clone();
        async move { Ok::<_, Infallible>(answer(&site, peer, secured, request.map(Body::new)).await) }
    });
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = match tokio::time::timeout(HEAD_WITHIN, connection.as_mut()).await {
        Ok(ended) => ended,
        Err(_) if asked.load(Ordering::Relaxed) => connection.await,
        // Whoever connects and asks nothing takes a place from others.
        Err(_) => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(HANDSHAKE_WITHIN, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection to the scaling service ended");
    }
}

async fn answer(site: &Weak<Site>, peer: IpAddr, secured: Secured, request: Request<Body>) -> Response<Body> {
    let by_grpc = is_grpc(request.headers());
    let refusal = |code, message: &str, problem: fn() -> Problem| match by_grpc {
        true => grpc::status(code, message),
        false => problem().into_response(),
    };
    let served = site.upgrade().and_then(|site| match by_grpc {
        true => site.grpc(),
        false => site.rest(request.uri().path()),
    });
    let router =
        served.as_ref().and_then(|served| if by_grpc { served.grpc.clone() } else { served.rest.clone() });
    let Some((served, router)) = served.zip(router) else {
        return refusal(
            Code::Unimplemented,
            "gRPC is served on another port [OSTLER-L012]",
            Problem::not_found,
        );
    };
    if !served.guard.trusts(secured) {
        let message = "the connection is older than the configuration: connect by TLS [OSTLER-L015]";
        return refusal(Code::PermissionDenied, message, Problem::unsecured);
    }
    if !served.guard.admits(peer) {
        return refusal(Code::PermissionDenied, "this address may not ask [OSTLER-L010]", Problem::forbidden);
    }
    if !served.guard.knows(request.headers()) {
        let message = "the token is missing or wrong [OSTLER-L011]";
        return refusal(Code::Unauthenticated, message, Problem::unauthorized);
    }
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/grpc"))
}
