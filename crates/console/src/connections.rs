//! Connections and their bounds: a client that is slow, greedy or gone costs one of a fixed number of places, for
//! a bounded time.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The bounds.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Connections at one time; more wait in the kernel's queue. A browser opens six, a scraper one.
    connections: usize,
    /// From the first byte (or the end of the last answer) to the end of the request's head.
    head: Duration,
    /// A connection is closed after this long, so that a client that does not read its answers leaves at last.
    life: Duration,
    /// What is under way when a connection is to close has this long to end.
    closing: Duration,
}

const LIMITS: Limits = Limits {
    connections: 64,
    head: Duration::from_secs(10),
    life: Duration::from_secs(60),
    closing: Duration::from_secs(2),
};

/// Bytes of a request's head. Nothing here needs a large one.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Header fields of a request.
const HEADERS_MAX: usize = 64;
/// Pause after the system refused to accept a connection (it is out of files): it would refuse again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(crate) async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()> + Send) {
    serve_within(LIMITS, listener, router, shutdown).await;
}

async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stop, stopping) = watch::channel(false);
    let mut open = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
            (place, listener.accept().await)
        };
        tokio::select! {
            (place, accepted) = next => match accepted {
                Ok((stream, _)) => drop(open.spawn(talk(limits, stream, router.clone(), place, stopping.clone()))),
                Err(error) => {
                    tracing::warn!(%error, "a connection to the API could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            () = &mut shutdown => break,
        }
        while open.try_join_next().is_some() {}
    }
    stop.send_replace(true);
    let _ = timeout(limits.closing, async { while open.join_next().await.is_some() {} }).await;
}

/// One connection, to its end.
async fn talk(
    limits: Limits,
    stream: TcpStream,
    router: Router,
    _place: OwnedSemaphorePermit,
    mut stopping: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    tokio::select! {
        _ = &mut connection => return,
        () = sleep(limits.life) => {}
        _ = stopping.wait_for(|stop| *stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(limits.closing, connection).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;

    const SHORT: Duration = Duration::from_millis(50);
    const PATIENCE: Duration = Duration::from_secs(20);

    /// A server with such limits; it ends when the sender is dropped.
    async fn server(limits: Limits) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let router = Router::new().route("/", get(async || "here"));
        let shutdown = async { drop(stopped.await) };
        (address, stop, tokio::spawn(serve_within(limits, listener, router, shutdown)))
    }

    async fn opened(address: SocketAddr, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(sent.as_bytes()).await.expect("sent");
        stream
    }

    /// What comes until the other side closes.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("closed in time");
        drop(read); // a reset closes too
        String::from_utf8_lossy(&text).into_owned()
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_is_not_waited_for() {
        let (address, _stop, _) = server(Limits { head: SHORT, ..LIMITS }).await;
        let text = rest(opened(address, "GET / HTTP/1.1\r\nHost: ").await).await;
        assert!(!text.contains("here"), "{text}");
    }

    #[tokio::test]
    async fn an_idle_connection_ends_with_its_life() {
        let (address, _stop, _) = server(Limits { life: SHORT, ..LIMITS }).await;
        let text = rest(opened(address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await).await;
        assert!(text.contains("here"), "{text}");
    }

    #[tokio::test]
    async fn connections_beyond_the_bound_wait_for_a_place() {
        let (address, _stop, _) = server(Limits { connections: 1, ..LIMITS }).await;
        let first = opened(address, "GET / HTTP/1.1\r\nHost: x\r\n").await;
        let mut second = opened(address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let waits = timeout(SHORT, second.read_u8()).await;
        assert!(waits.is_err(), "answered without a place");
        drop(first);
        assert!(rest(second).await.contains("here"));
    }

    #[tokio::test]
    async fn a_large_head_is_refused() {
        let (address, _stop, _) = server(LIMITS).await;
        let head =
            format!("GET / HTTP/1.1\r\nHost: x\r\nX-Large: {}\r\n\r\n", "x".repeat(2 * HEAD_BYTES_MAX));
        let text = rest(opened(address, &head).await).await;
        assert!(!text.contains("here"), "{text}");
        let many = "X-Many: x\r\n".repeat(2 * HEADERS_MAX);
        let text = rest(opened(address, &format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n")).await).await;
        assert!(text.starts_with("HTTP/1.1 431"), "{text}");
    }

    #[tokio::test]
    async fn it_ends_when_told_and_leaves_no_connection_open() {
        let (address, stop, served) = server(LIMITS).await;
        let mut stream = opened(address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        timeout(PATIENCE, stream.read_u8()).await.expect("in time").expect("an answer");
        drop(stop);
        timeout(PATIENCE, served).await.expect("in time").expect("no panic");
        assert!(rest(stream).await.contains("here"));
    }
}
