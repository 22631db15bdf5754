//! The connection to one life of a GCS: made when it is needed, thrown away when it breaks or when the cluster
//! behind it is another one.

use crate::config::Config;
use crate::error::{explain, is_connection_trouble, is_wrong_cluster, permanent, timed_out, transient};
use crate::greeting::{self, Greeting};
use ostler_workload::WorkloadError;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

/// A GCS that is away is tried again after this long at first, then after twice as long each time …
const BACKOFF_MIN: Duration = Duration::from_millis(250);
/// … up to this: a GCS that is back is noticed within it.
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// What every call carries.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) channel: Channel,
    pub(crate) token: Option<MetadataValue<Ascii>>,
    pub(crate) cluster: Option<MetadataValue<Ascii>>,
}

impl Caller {
    /// A request with its headers. Ray's own client names the cluster in each call, so that a GCS that has
    /// come back as another cluster refuses it instead of mixing the two up.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let headers = request.metadata_mut();
        self.token.iter().for_each(|token| drop(headers.insert("authorization", token.clone())));
        self.cluster.iter().for_each(|id| drop(headers.insert("ray_cluster_id", id.clone())));
        request
    }
}

/// One life of the GCS.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) caller: Caller,
    pub(crate) greeting: Greeting,
}

/// The way to the GCS.
#[derive(Debug)]
pub(crate) struct Link {
    config: Config,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<Arc<Session>>,
    away: Option<Away>,
}

#[derive(Debug)]
struct Away {
    error: WorkloadError,
    retry_at: Instant,
    delay: Duration,
}

impl Link {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, state: Mutex::default() }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// One call, in the session that is there or a new one. If the cluster behind the address was replaced, the
    /// call is made once more, in a session with the new one.
    pub(crate) async fn call<T, F>(
        &self,
        name: &'static str,
        make: impl Fn(Arc<Session>) -> F,
    ) -> Result<T, WorkloadError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let mut session = self.session().await?;
        let mut outcome = self.attempt(name, make(Arc::clone(&session))).await;
        if matches!(&outcome, Err(Trouble::WrongCluster(_))) {
            tracing::info!(address = self.config.address, "Ray's GCS was restarted or replaced");
            self.forget(&session).await;
            session = self.session().await?;
            outcome = self.attempt(name, make(Arc::clone(&session))).await;
        }
        match outcome {
            Ok(reply) => Ok(reply),
            Err(Trouble::Connection(error)) => {
                self.lost(&session, error.clone()).await;
                Err(error)
            }
            Err(Trouble::WrongCluster(error) | Trouble::Answer(error)) => Err(error),
        }
    }

    async fn attempt<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Trouble> {
        let (address, limit) = (&self.config.address, self.config.call_timeout);
        match timeout(limit, call).await {
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            Ok(Err(status)) => Err(Trouble::of(address, name, &status)),
            // A connection that swallows calls may be dead without knowing it: the next call gets a new one.
            Err(_) => Err(Trouble::Connection(timed_out(address, name, limit))),
        }
    }

    /// The session that is there, or a new one.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, WorkloadError> {
        let mut state = self.state.lock().await;
        if let Some(session) = &state.session {
            return Ok(Arc::clone(session));
        }
        if let Some(away) = state.away.as_ref().filter(|away| Instant::now() < away.retry_at) {
            return Err(away.error.clone());
        }
        match self.open().await {
            Ok(session) => {
                let session = Arc::new(session);
                if state.away.take().is_some() {
                    tracing::info!(address = self.config.address, "Ray's GCS is back");
                }
                state.session = Some(Arc::clone(&session));
                Ok(session)
            }
            Err(error) => {
                state.fail(&self.config.address, error.clone());
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<Session, WorkloadError> {
        let limit = self.config.call_timeout;
        let token = self.config.token.find()?.map(|token| token.header()).transpose()?;
        let caller = Caller { channel: channel(&self.config)?, token, cluster: None };
        let greeted = timeout(limit, greeting::greet(&self.config, caller)).await;
        let (caller, greeting) =
            greeted.map_err(|_| timed_out(&self.config.address, "GetClusterId", limit))??;
        Ok(Session { caller, greeting })
    }

    async fn forget(&self, old: &Arc<Session>) {
        let mut state = self.state.lock().await;
        if state.session.as_ref().is_some_and(|current| Arc::ptr_eq(current, old)) {
            state.session = None;
        }
    }

    async fn lost(&self, old: &Arc<Session>, error: WorkloadError) {
        self.forget(old).await;
        let mut state = self.state.lock().await;
        if state.session.is_none() {
            state.fail(&self.config.address, error);
        }
    }
}

impl State {
    /// Remembers that the GCS is away, and says so once.
    fn fail(&mut self, address: &str, error: WorkloadError) {
        let delay = match &self.away {
            Some(away) => (away.delay * 2).min(BACKOFF_MAX),
            None => {
                tracing::warn!(address, %error, "Ray's GCS does not answer; trying again");
                BACKOFF_MIN
            }
        };
        self.away = Some(Away { error, retry_at: Instant::now() + delay, delay });
    }
}

enum Trouble {
    WrongCluster(WorkloadError),
    Connection(WorkloadError),
    Answer(WorkloadError),
}

impl Trouble {
    fn of(address: &str, call: &str, status: &Status) -> Self {
        let error = explain(address, call, status);
        if is_wrong_cluster(status) {
            Self::WrongCluster(error)
        } else if is_connection_trouble(status) {
            Self::Connection(error)
        } else {
            Self::Answer(error)
        }
    }
}

/// A channel that connects with its first call.
fn channel(config: &Config) -> Result<Channel, WorkloadError> {
    let bad = |why: String| {
        permanent("ray.address", format!("{:?} is not HOST:PORT of a GCS: {why}", config.address))
    };
    let (host, port) = config.address.rsplit_once(':').ok_or_else(|| bad("it has no port".into()))?;
    if host.is_empty() || port.parse::<u16>().is_err() {
        return Err(bad("write e.g. 10.0.0.1:6379".into()));
    }
    let endpoint =
        Endpoint::from_shared(format!("http://{}", config.address)).map_err(|e| bad(e.to_string()))?;
    Ok(endpoint.connect_timeout(config.call_timeout).tcp_nodelay(true).connect_lazy())
}

/// For the greeting, where no session is there yet.
pub(crate) fn refused(config: &Config, call: &'static str) -> impl Fn(Status) -> WorkloadError {
    let address = config.address.clone();
    move |status| explain(&address, call, &status)
}

/// A reply that lacks what it must have.
pub(crate) fn odd(config: &Config, what: &str) -> WorkloadError {
    transient("ray.protocol", format!("Ray's GCS at {} answered without {what}", config.address))
}
