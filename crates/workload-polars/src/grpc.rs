//! gRPC: the same two calls, as `compute_scaling.client.v1.ScalingService`.

use crate::proto::scaling_service_server::{ScalingService, ScalingServiceServer};
use crate::proto::{DESCRIPTORS, ScaleConfigRequest, ScaleConfigResponse, ScaleToRequest, ScaleToResponse};
use crate::rest::is_name;
use crate::timely::Timely;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware::{self, Next};
use ostler_model::{InstanceId, Scale, Wish};
use ostler_workload::{Door, Outcome};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};
use tonic::service::Routes;
use tonic::{Code, Request, Response, Status};

/// Wishes that are read at one time: each may take the limit of a message in memory.
const READ_AT_ONCE: usize = 32;
/// The one call whose message may be large.
const LARGE_CALL: &str = "/compute_scaling.client.v1.ScalingService/ScaleTo";

/// The service, with reflection and health beside it.
pub(crate) fn router(door: Arc<Door>, max_body_bytes: usize) -> Router {
    let service = ScalingServiceServer::new(Service { door }).max_decoding_message_size(max_body_bytes);
    let reflect = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // Whoever listens here serves: there is no other state to report.
    let health = tonic_health::server::HealthService::from_health_reporter(healthy());
    let mut routes =
        Routes::new(service).add_service(tonic_health::pb::health_server::HealthServer::new(health));
    if let (Ok(v1), Ok(v1alpha)) = (reflect().build_v1(), reflect().build_v1alpha()) {
        routes = routes.add_service(v1).add_service(v1alpha);
    }
    let reading = Arc::new(Semaphore::new(READ_AT_ONCE));
    routes.prepare().into_axum_router().layer(middleware::from_fn_with_state(reading, bounded))
}

/// A wish takes one of the places until its message is there, and must be there in time.
async fn bounded(
    State(reading): State<Arc<Semaphore>>,
    request: axum::extract::Request,
    next: Next,
) -> axum::response::Response {
    if request.uri().path() != LARGE_CALL {
        return next.run(request).await;
    }
    match reading.try_acquire_owned() {
        Ok(place) => next.run(request.map(|body| Body::new(Timely::new(body, place)))).await,
        Err(_) => status(Code::Unavailable, "too many ask at once; ask again [OSTLER-L027]"),
    }
}

fn healthy() -> tonic_health::server::HealthReporter {
    let reporter = tonic_health::server::HealthReporter::new();
    let name = <ScalingServiceServer<Service> as tonic::server::NamedService>::NAME;
    let (setting, told) = (reporter.clone(), name.to_owned());
    tokio::spawn(async move {
        setting.set_service_status(told, tonic_health::ServingStatus::Serving).await;
    });
    reporter
}

#[derive(Debug)]
struct Service {
    door: Arc<Door>,
}

#[tonic::async_trait]
impl ScalingService for Service {
    async fn scale_to(&self, request: Request<ScaleToRequest>) -> Result<Response<ScaleToResponse>, Status> {
        match self.door.ask(wish(request.into_inner())).await {
            Outcome::Accepted => Ok(Response::new(ScaleToResponse {})),
            Outcome::Refused(why) => Err(Status::failed_precondition(format!("{why} [OSTLER-L025]"))),
            Outcome::TooManyNames => Err(Status::invalid_argument("too many names in a list [OSTLER-L024]")),
            Outcome::Unavailable => Err(Status::unavailable("not now, ask again [OSTLER-L026]")),
            Outcome::Overloaded => Err(Status::unavailable("too many ask at once [OSTLER-L027]")),
        }
    }

    type ScaleConfigStream =
        std::pin::Pin<Box<dyn Stream<Item = Result<ScaleConfigResponse, Status>> + Send>>;

    /// The picture at once, and again after each change. Who reads slowly gets the newest.
    async fn scale_config(
        &self,
        _request: Request<ScaleConfigRequest>,
    ) -> Result<Response<Self::ScaleConfigStream>, Status> {
        let changes =
            WatchStream::new(self.door.shown()).filter_map(|shown| shown.map(|scale| Ok(message(scale))));
        Ok(Response::new(Box::pin(changes)))
    }
}

fn wish(request: ScaleToRequest) -> Wish {
    let names = |list: Option<crate::proto::scale_to_request::ValueList>| -> BTreeSet<InstanceId> {
        let values = list.map(|list| list.values).unwrap_or_default();
        values.into_iter().filter(|name| is_name(name)).map(InstanceId::from).collect()
    };
    Wish {
        amount: request.amount,
        keep: names(request.workers_to_keep),
        delete: names(request.workers_to_delete),
    }
}

const fn message(scale: Scale) -> ScaleConfigResponse {
    ScaleConfigResponse { desired: scale.desired, available: scale.available, min: scale.min, max: scale.max }
}

/// An answer that is a status and nothing else.
pub(crate) fn status(code: Code, message: &str) -> axum::http::Response<Body> {
    Status::new(code, message).into_http()
}
