//! What Ostler itself is told: its store, its API, its deadlines.

use crate::configuration::{ApiConfig, Deadlines, StoreConfig};
use crate::environment::Host;
use crate::mistake::Code;
use crate::read::Section;
use std::net::{Ipv4Addr, SocketAddr};

pub(crate) fn store(section: &Section<'_, '_>, host: &Host<'_>, name: &str) -> StoreConfig {
    let in_file = section.get::<String>("path").map(|path| host.path(&path));
    let path = host.overrides.store_path.clone().or(in_file).unwrap_or_else(|| host.default_store(name));
    StoreConfig { path, journal_entries: section.need("journal_entries"), lease: section.need("lease") }
}

pub(crate) fn api(section: &Section<'_, '_>, host: &Host<'_>) -> ApiConfig {
    let notes = section.notes;
    let text = section.need::<String>("listen");
    let parsed = text.replace("localhost:", "127.0.0.1:").parse::<SocketAddr>();
    if parsed.is_err() && section.has("listen") {
        let message = format!("`{}`: `{text}` has no IP address", section.name_of("listen"));
        notes.error(
            Code::BadForm,
            section.place("listen"),
            message,
            "write `IP:PORT`, such as `127.0.0.1:8270`",
        );
    }
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listen = host.overrides.listen.unwrap_or_else(|| parsed.unwrap_or(loopback));
    let token_file = section.get::<String>("token_file").map(|path| host.path(&path));
    if !listen.ip().is_loopback() && token_file.is_none() {
        let message = format!("the API would listen on {listen}, for other hosts, without a token");
        let hint = "say `api.token_file`, or listen on 127.0.0.1";
        match host.overrides.listen {
            Some(_) => notes.outside("command line", Code::OpenApi, message, hint),
            None => notes.error(Code::OpenApi, section.place("listen"), message, hint),
        }
    }
    ApiConfig { listen, token_file }
}

pub(crate) fn deadlines(section: &Section<'_, '_>) -> Deadlines {
    Deadlines {
        observe: section.need("observe"),
        publish: section.need("publish"),
        drain: section.need("drain"),
        list: section.need("list"),
        launch: section.need("launch"),
        terminate: section.need("terminate"),
    }
}
