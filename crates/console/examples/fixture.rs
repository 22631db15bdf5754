//! Serves the fixture of the tests, to work on the page: `cargo run -p ostler-console --example fixture [ADDRESS [TOKEN]]`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use fixture::Fixture;
use ostler_console::{Secret, serve};
use std::sync::Arc;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8271".to_owned());
    let token = args.next().and_then(|text| Secret::new(&text));
    let listener = tokio::net::TcpListener::bind(&address).await?;
    let model = Fixture { ready: Ok(()), alive: Ok(()) };
    serve(listener, Arc::new(model), token, std::future::pending()).await;
    Ok(())
}
