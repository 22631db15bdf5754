//! What is served where. `docs/reference/api.md` says it for people.

use crate::guard::{Secret, guard};
use crate::metrics;
use crate::page::Page;
use crate::problem::Problem;
use crate::read_model::ReadModel;
use crate::view::view;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use std::sync::Arc;

/// What every request may look at.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) model: Arc<dyn ReadModel>,
    pub(crate) token: Option<Secret>,
    pub(crate) page: Page,
}

type Model = State<Arc<Shared>>;

pub(crate) fn router(model: Arc<dyn ReadModel>, token: Option<Secret>) -> Router {
    let shared = Arc::new(Shared { model, token, page: Page::assemble() });
    Router::new()
        .route("/", get(page))
        .route("/api/v1/status", get(status))
        .route("/api/v1/view", get(in_words))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .fallback(async || Problem::NoSuchPath)
        .method_not_allowed_fallback(async || Problem::ReadOnly)
        .layer(from_fn_with_state(shared.clone(), guard))
        .with_state(shared)
}

async fn page(State(shared): Model) -> Response {
    shared.page.shown()
}

async fn status(State(shared): Model) -> Response {
    Json(shared.model.status()).into_response()
}

async fn in_words(State(shared): Model) -> Response {
    let mut view = view(&shared.model.status());
    view.events = shared.model.recent();
    Json(view).into_response()
}

async fn healthz(State(shared): Model) -> Response {
    match shared.model.alive() {
        Ok(()) => Json(json!({"alive": true})).into_response(),
        Err(why) => Problem::NotAlive(why).into_response(),
    }
}

async fn readyz(State(shared): Model) -> Response {
    match shared.model.ready() {
        Ok(()) => Json(json!({"ready": true})).into_response(),
        Err(why) => Problem::NotReady(why).into_response(),
    }
}

async fn scrape(State(shared): Model) -> Response {
    match metrics::text(shared.model.clone()) {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => Problem::Broken(error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    /// The page is written by hand; what it must not miss is guarded here.
    #[test]
    fn the_page_of_the_api_names_every_path_and_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/api.md");
        let page = std::fs::read_to_string(path).expect("docs/reference/api.md is there");
        let routes =
            include_str!("routes.rs").split(".route(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let codes =
            include_str!("problem.rs").split("\"OSTLER-").skip(1).filter_map(|rest| rest.split('"').next());
        for word in routes.chain(codes).filter(|word| word.len() < 20) {
            assert!(page.contains(word), "docs/reference/api.md does not name {word}");
        }
    }
}
