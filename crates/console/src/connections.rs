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

/// Connections at one time; more wait in the kernel's queue. A browser opens six, a scraper one.
const CONNECTIONS_MAX: usize = 64;
/// From the first byte (or the end of the last answer) to the end of the request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a request's head. Nothing here needs a large one.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Header fields of a request.
const HEADERS_MAX: usize = 64;
/// A connection is closed after this long, so that a client that does not read its answers leaves at last.
const LIFE_MAX: Duration = Duration::from_secs(60);
/// What is under way when a connection is to close has this long to end.
const CLOSING: Duration = Duration::from_secs(2);
/// Pause after the system refused to accept a connection (it is out of files): it would refuse again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(crate) async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()> + Send) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
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
                Ok((stream, _)) => drop(open.spawn(talk(stream, router.clone(), place, stopping.clone()))),
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
    let _ = timeout(CLOSING, async { while open.join_next().await.is_some() {} }).await;
}

/// One connection, to its end.
async fn talk(
    stream: TcpStream,
    router: Router,
    _place: OwnedSemaphorePermit,
    mut stopping: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    tokio::select! {
        _ = &mut connection => return,
        () = sleep(LIFE_MAX) => {}
        _ = stopping.wait_for(|stop| *stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(CLOSING, connection).await;
}
