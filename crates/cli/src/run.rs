//! `ostler run`: the daemon.

use crate::args::{Format, RunArgs};
use crate::exit::{Exit, Trouble};
use ostler_config::{Configuration, Loaded, Overrides};
use ostler_console::Secret;
use ostler_daemon::{Board, Claims, Loader, Loss, Options, RealOutside, Rim};
use ostler_store::SqliteStore;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Runs until it is stopped.
pub(crate) fn run(args: RunArgs) -> Result<Exit, Trouble> {
    start_log(args.log_format);
    let loader = Arc::new(Files::new(args));
    let configuration = loader.read().map_err(Trouble::Configuration)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| trouble(format!("the runtime cannot start: {error} [OSTLER-D010]")))?;
    runtime.block_on(daemon(loader, configuration))
}

async fn daemon(loader: Arc<Files>, configuration: Configuration) -> Result<Exit, Trouble> {
    let shutdown = signalled()?;
    let mut shutdown = std::pin::pin!(shutdown);
    let held = tokio::select! {
        held = ostler_daemon::lead(&configuration) => held.map_err(trouble)?,
        () = &mut shutdown => return Ok(Exit::Done),
    };
    let store_path = configuration.store.path.clone();
    let store = SqliteStore::open(&store_path, configuration.store.journal_entries).map_err(trouble)?;
    let (api, lease) = (configuration.api.clone(), configuration.store.lease);
    let secret = secret(api.token_file.as_deref())?;
    let listener = TcpListener::bind(api.listen).await.map_err(|error| {
        let reason = error.to_string();
        trouble(ostler_daemon::DaemonError::Listen { address: api.listen, reason })
    })?;
    let address = listener.local_addr().unwrap_or(api.listen);
    let rim = Arc::new(Rim::new(Arc::new(RealOutside::default()), configuration).map_err(trouble)?);
    let options = Options {
        rim,
        store: Box::new(store),
        lease,
        claims: Claims::of(&held),
        record: loader.args.record.clone(),
        rescue: store_path.with_extension("rescue"),
        loader,
    };
    let (stop, stopped) = watch::channel(false);
    let mut console = None;
    let mut loss = None;
    let ending = async {
        tokio::select! {
            () = shutdown => {}
            lost = ostler_daemon::lost(&held) => loss = Some(lost),
        }
    };
    let ended = ostler_daemon::run(
        options,
        |board: Arc<Board>| {
            tracing::info!(api = %format!("http://{address}"), store = %store_path.display(), "Ostler runs");
            console = Some(tokio::spawn(ostler_console::serve(listener, board, secret, until_true(stopped))));
        },
        ending,
    )
    .await;
    for lease in held {
        lease.release().await;
    }
    let _ = stop.send(true);
    if let Some(console) = console {
        let _ = console.await;
    }
    ended.map_err(trouble)?;
    match loss {
        // Nobody may lead now: whoever supervises this one is to start it again.
        Some(Loss::NotRenewed) => {
            return Err(trouble(
                "the Lease could not be renewed within two thirds of its duration, so this Ostler has stopped before \
                 another may lead. Can the API server be reached? Start it again [OSTLER-D014]",
            ));
        }
        Some(Loss::Taken) => tracing::warn!("another Ostler leads now; this one stops"),
        None => {}
    }
    tracing::info!("stopped; the machines stay, the next start finds them");
    Ok(Exit::Done)
}

fn trouble(error: impl std::fmt::Display) -> Trouble {
    Trouble::Daemon(error.to_string())
}

async fn until_true(mut flag: watch::Receiver<bool>) {
    let _ = flag.wait_for(|stop| *stop).await;
}

/// Ends with the first signal that asks us to stop.
fn signalled() -> Result<impl Future<Output = ()>, Trouble> {
    let listen = |kind| signal(kind).map_err(|error| trouble(format!("no signals: {error} [OSTLER-D010]")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn secret(file: Option<&Path>) -> Result<Option<Secret>, Trouble> {
    let Some(file) = file else { return Ok(None) };
    let text = std::fs::read_to_string(file)
        .map_err(|error| Trouble::Unreadable { path: file.to_owned(), reason: error.to_string() })?;
    let empty =
        || trouble(format!("the token file {} is empty. Put a token into it [OSTLER-D011]", file.display()));
    Secret::new(&text).map(Some).ok_or_else(empty)
}

/// The log goes to stderr; `OSTLER_LOG` sets its filter.
fn start_log(format: Format) {
    use tracing_subscriber::{EnvFilter, fmt};
    let filter = EnvFilter::try_from_env("OSTLER_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match format {
        Format::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        Format::Json => builder.json().flatten_event(true).init(),
    }
}

/// The configuration's files.
#[derive(Debug)]
struct Files {
    args: RunArgs,
    overrides: Overrides,
    /// Files that the newest configuration named, beside the one of the command line.
    named: Mutex<Vec<PathBuf>>,
}

impl Files {
    fn new(args: RunArgs) -> Self {
        let overrides = Overrides {
            address: args.address.clone(),
            store_path: args.store.clone(),
            listen: args.listen,
            scoring: args.policy.map(Into::into),
            look_only: false,
            shadow: args.shadow,
        };
        Self { args, overrides, named: Mutex::default() }
    }

    fn path(&self) -> &Path {
        let given = self.args.file.as_deref().or(self.args.ray.as_deref());
        given.expect("the arguments require one of the two")
    }

    /// Reads everything; warnings go to the log.
    fn read(&self) -> Result<Configuration, String> {
        let path = self.path();
        let text = read_file(path).map_err(|reason| format!("error: {reason}"))?;
        let env = |name: &str| std::env::var(name).ok();
        let loaded = if self.args.ray.is_some() {
            ostler_config::load_ray(&text, path, &env, &self.overrides)
        } else {
            let mut named = Mutex::new(Vec::new());
            let read = |path: &Path| {
                named.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
                read_file(path)
            };
            let loaded = ostler_config::load(&text, path, &env, &read, &self.overrides);
            let named = std::mem::take(named.get_mut().unwrap_or_else(PoisonError::into_inner));
            *self.named.lock().unwrap_or_else(PoisonError::into_inner) = named;
            loaded
        };
        let Loaded { configuration, warnings } = loaded.map_err(|mistakes| mistakes.to_string())?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        Ok(configuration)
    }
}

pub(crate) fn read_file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| {
        format!("cannot read {}: {error}. Check the path and the rights [OSTLER-U001]", path.display())
    })
}

impl Loader for Files {
    fn files(&self) -> Vec<PathBuf> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        [self.path()].into_iter().map(Path::to_owned).chain(named.iter().cloned()).collect()
    }

    fn load(&self) -> Result<Configuration, String> {
        self.read()
    }
}
