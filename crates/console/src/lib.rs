//! The HTTP read model: status, health, readiness, metrics, and the page. It decides nothing and changes nothing.
//!
//! - [`serve`] answers on a listener what a [`ReadModel`] knows; `docs/reference/api.md` lists the paths.
//! - [`View`] is a status in words, the same words on the page and on the command line.

mod connections;
mod guard;
mod metrics;
mod page;
mod problem;
mod read_model;
mod routes;
mod view;
mod words;

pub use guard::Secret;
pub use read_model::{Counters, JournalLine, LaunchCount, ReadModel};
pub use view::{
    DemandView, MachineView, NodeView, PoolView, ProviderView, View, WorkloadView, demand_views, view,
};
pub use words::{Why, ago, meaning, span, unfit, utc};

use std::future::Future;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves until `shutdown` is ready, then lets requests under way end for a moment.
///
/// With a token every path but `/healthz` asks for `Authorization: Bearer`. Without one only requests that name
/// this host by an IP address or as `localhost` are answered, so that a foreign page in a browser of this host
/// cannot read the API through a name of its own.
pub async fn serve(
    listener: TcpListener,
    model: Arc<dyn ReadModel>,
    token: Option<Secret>,
    shutdown: impl Future<Output = ()> + Send,
) {
    connections::serve(listener, routes::router(model, token), shutdown).await;
}
