//! REST: `GET /scale_config`, `POST /scale_to`, and the description of both.

mod body;
mod openapi;
mod problem;

pub(crate) use body::is_name;
pub(crate) use problem::Problem;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use ostler_model::Scale;
use ostler_workload::{Door, Outcome};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Wishes that are read at one time: each may take its body's limit in memory.
const READ_AT_ONCE: usize = 32;
/// How long the first picture is waited for, right after a start. Reading the records takes milliseconds.
const FIRST_WITHIN: Duration = Duration::from_secs(4);

#[derive(Debug)]
struct Service {
    door: Arc<Door>,
    path: String,
    max_body_bytes: usize,
    reading: Semaphore,
}

/// The service below a path.
pub(crate) fn router(door: Arc<Door>, path: &str, max_body_bytes: usize) -> Router {
    let reading = Semaphore::new(READ_AT_ONCE);
    let service = Service { door, path: path.to_owned(), max_body_bytes, reading };
    let routes = Router::new()
        .route("/scale_config", get(scale_config))
        .route("/scale_to", post(scale_to))
        .route("/openapi.json", get(describe))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .with_state(Arc::new(service));
    let based = if path.is_empty() { routes } else { Router::new().nest(path, routes) };
    based.fallback(async || Problem::not_found())
}

/// What is shown, from memory: it waits for no provider, no plan and no disk.
async fn scale_config(State(service): State<Arc<Service>>) -> Response {
    let mut shown = service.door.shown();
    let first = *shown.borrow_and_update();
    let scale = match first {
        Some(scale) => Some(scale),
        None => {
            let first = tokio::time::timeout(FIRST_WITHIN, shown.wait_for(Option::is_some)).await;
            first.ok().and_then(Result::ok).and_then(|shown| *shown)
        }
    };
    match scale {
        Some(scale) => json(picture(scale)),
        None => Problem::unavailable().into_response(),
    }
}

async fn scale_to(State(service): State<Arc<Service>>, request: Request<Body>) -> Response {
    let Ok(reading) = service.reading.try_acquire() else { return Problem::overloaded().into_response() };
    let wish = match body::wish(request, service.max_body_bytes).await {
        Ok(wish) => wish,
        Err(problem) => return problem.into_response(),
    };
    drop(reading);
    match service.door.ask(wish).await {
        Outcome::Accepted => StatusCode::NO_CONTENT.into_response(),
        Outcome::Refused(why) => Problem::conflict(&why).into_response(),
        Outcome::TooManyNames => Problem::too_many_names().into_response(),
        Outcome::Unavailable => Problem::unavailable().into_response(),
        Outcome::Overloaded => Problem::overloaded().into_response(),
    }
}

async fn describe(State(service): State<Arc<Service>>) -> Response {
    json(openapi::document(&service.path).to_string())
}

/// In the order of the specification's example.
fn picture(scale: Scale) -> String {
    let Scale { desired, available, min, max } = scale;
    format!("{{\"desired\":{desired},\"available\":{available},\"min\":{min},\"max\":{max}}}")
}

fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
