//! The client of a running Ostler's API.

use crate::args::ApiArgs;
use crate::exit::Trouble;
use crate::files;
use ostler_console::Secret;
use ostler_wire::Status;
use std::time::Duration;
use ureq::Agent;

/// A status of 10,000 nodes has about 20 MB.
const STATUS_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of a file with a token.
const TOKEN_BYTES_MAX: u64 = 64 * 1024;
/// For the whole call.
const DEADLINE: Duration = Duration::from_secs(10);

/// Asks a running Ostler again and again.
#[derive(Debug)]
pub(crate) struct Api {
    agent: Agent,
    url: String,
    token: Option<Secret>,
}

impl Api {
    pub(crate) fn new(args: &ApiArgs) -> Result<Self, Trouble> {
        if !args.api.starts_with("http://") {
            return Err(Trouble::NoUrl { url: args.api.clone() });
        }
        let token = match &args.token_file {
            Some(path) => Secret::new(&files::text(path, TOKEN_BYTES_MAX)?),
            None => None,
        };
        let config = Agent::config_builder()
            .timeout_global(Some(DEADLINE))
            .http_status_as_error(false)
            .max_redirects(0)
            // The proxy of the environment is for the world outside, not for our own API.
            .proxy(None);
        Ok(Self { agent: config.build().into(), url: args.api.trim_end_matches('/').to_owned(), token })
    }

    /// Everything about it, as it is now.
    pub(crate) fn status(&self) -> Result<Status, Trouble> {
        let url = &self.url;
        let no_answer =
            |error: ureq::Error| Trouble::NoAnswer { url: url.clone(), reason: error.to_string() };
        let not_ostler = |reason: String| Trouble::NotOstler { url: url.clone(), reason };
        let mut request = self.agent.get(format!("{url}/api/v1/status"));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {}", token.expose()));
        }
        let mut answer = request.call().map_err(no_answer)?;
        match answer.status().as_u16() {
            200 => {}
            401 => return Err(Trouble::Refused { url: url.clone() }),
            status => return Err(not_ostler(format!("it answered with status {status}"))),
        }
        let text =
            answer.body_mut().with_config().limit(STATUS_BYTES_MAX).read_to_string().map_err(no_answer)?;
        read(&text).map_err(not_ostler)
    }
}

fn read(text: &str) -> Result<Status, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format == u64::from(Status::FORMAT) => {
            serde_json::from_value(value).map_err(|error| error.to_string())
        }
        Some(format) => {
            Err(format!("its status has format {format}, this one reads format {}", Status::FORMAT))
        }
        None => Err("its answer is no status".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser;
    use ostler_config::{Overrides, load_ray};
    use std::path::Path;

    /// What `run` listens on and what the other commands ask must be the same, untold.
    #[test]
    fn the_usual_address_is_the_one_that_is_listened_on() {
        let text = "{cluster_name: a, provider: {type: ostler-local, command: x}, available_node_types: {h: {resources: {CPU: 1}, node_config: {}}}}";
        let loaded = load_ray(text, Path::new("a.yaml"), &|_| None, &Overrides::default());
        let listen = loaded.unwrap_or_else(|mistakes| panic!("{mistakes}")).configuration.api.listen;
        let Command::Status(status) = Cli::parse_from(["ostler", "status"]).command else { panic!("status") };
        assert_eq!(status.api_address(), format!("http://{listen}"));
    }
}
