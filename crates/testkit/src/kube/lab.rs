//! One control plane: its start, its servers that may be killed and started again, the ways in.

use super::flags::{self, Ports};
use super::pki::Pki;
use super::{Component, Request, audit, program};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// A server is ready within this time, on a loaded machine too.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(25);
/// Directories of control planes begin so; then comes the process that owns it.
const PREFIX: &str = "ostler-lab-";

/// How a control plane differs from the usual one.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// More flags for a server.
    pub flags: BTreeMap<Component, Vec<String>>,
}

/// A control plane. Its servers end when it is dropped, and when this process ends, however it does.
#[derive(Debug)]
pub struct Lab {
    options: Options,
    program: PathBuf,
    dir: PathBuf,
    ports: Ports,
    pki: Pki,
    admin: PathBuf,
    servers: Mutex<BTreeMap<Component, Child>>,
}

impl Lab {
    /// Starts one and waits until it is ready.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts one and waits until it is ready.
    pub async fn with(options: Options) -> Self {
        let dir = own_directory();
        let pki = Pki::make(&dir.join("keys"));
        audit::write_policy(&dir);
        let [etcd, peer, api, scheduler, controllers] = free_ports();
        let ports = Ports { etcd, peer, api, scheduler, controllers };
        let admin = pki.kubeconfig_of("admin", api);
        let servers = Mutex::default();
        let lab = Self { options, program: program(), dir, ports, pki, admin, servers };
        for component in Component::ALL {
            lab.spawn(component);
            if component == Component::ApiServer {
                lab.wait_until_ready().await;
            }
        }
        // The controllers are at work: pods can be made.
        let accounts: Api<ServiceAccount> = Api::namespaced(lab.client().await, "default");
        lab.wait("the controllers", async || accounts.get_opt("default").await.is_ok_and(|it| it.is_some()))
            .await;
        lab
    }

    /// The one that all tests of this process share, started when it is first asked for. What a test makes in it,
    /// it makes in a namespace and under node names of its own.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Lab> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    /// The way in for an administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.admin
    }

    /// A client for an administrator, of the current runtime.
    pub async fn client(&self) -> Client {
        client_of(&self.admin).await
    }

    /// The way in for a service account that is there, for an hour.
    pub async fn kubeconfig_of(&self, namespace: &str, account: &str) -> PathBuf {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await, namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let made = accounts.create_token_request(account, &PostParams::default(), &request).await;
        let status = made.expect("a service account").status.expect("an answer");
        let token = status.token.expect("a token");
        self.pki.kubeconfig(&format!("{namespace}.{account}"), self.ports.api, &token)
    }

    /// Runs kubectl as an administrator to its end.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command.arg("kubectl").arg(format!("--kubeconfig={}", self.admin.display())).args(arguments);
        command.stdin(Stdio::null()).output().expect("kubectl can be started")
    }

    /// What the scheduler or the controllers count (`/metrics`), as an administrator sees it.
    pub async fn metrics(&self, component: Component) -> Result<String, kube::Error> {
        let port = match component {
            Component::Etcd => self.ports.etcd,
            Component::ApiServer => self.ports.api,
            Component::Scheduler => self.ports.scheduler,
            Component::ControllerManager => self.ports.controllers,
        };
        let file = Kubeconfig::read_from(&self.admin).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let mut config = config.expect("a good kubeconfig");
        config.cluster_url = format!("https://127.0.0.1:{port}").parse().expect("an address");
        // Each makes a certificate of its own when it starts.
        config.accept_invalid_certs = true;
        let request = http::Request::get("/metrics").body(Vec::new()).expect("a request");
        Client::try_from(config)?.request_text(request).await
    }

    /// Where its servers write their logs.
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// What a server has said, in all of its lives.
    pub fn log(&self, component: Component) -> String {
        fs::read_to_string(self.log_path(component)).unwrap_or_default()
    }

    /// The process of a server, while it runs.
    pub fn pid(&self, component: Component) -> Option<u32> {
        self.servers().get(&component).map(Child::id)
    }

    /// What a service account has asked of the API server so far, in order of the answers.
    pub fn requests_of(&self, namespace: &str, account: &str) -> Vec<Request> {
        audit::requests(&self.dir, &format!("system:serviceaccount:{namespace}:{account}"))
    }

    /// `kill -9` of a server.
    pub fn kill(&self, component: Component) {
        if let Some(mut child) = self.servers().remove(&component) {
            let _ = child.kill(); // it may have ended by itself
            let _ = child.wait();
        }
    }

    /// Starts a server that was killed; for the API server waits until it answers.
    pub async fn revive(&self, component: Component) {
        self.kill(component);
        self.spawn(component);
        if matches!(component, Component::Etcd | Component::ApiServer) {
            self.wait_until_ready().await;
        }
    }

    fn spawn(&self, component: Component) {
        let log = OpenOptions::new().create(true).append(true).open(self.log_path(component));
        let log = log.expect("a log file");
        let more = self.options.flags.get(&component).into_iter().flatten();
        let child = Command::new(&self.program)
            .arg(component.name())
            .args(flags::of(component, self.ports, &self.pki, &self.dir))
            .args(more)
            // It ends with this pipe, see `tools/kube-lab/main.go`.
            .env("KUBE_LAB_LEASH", "stdin")
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .current_dir(&self.dir)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        self.servers().insert(component, child);
    }

    async fn wait_until_ready(&self) {
        let client = self.client().await;
        self.wait("the API server", async || {
            let request = http::Request::get("/readyz").body(Vec::new()).expect("a request");
            client.request_text(request).await.is_ok_and(|text| text == "ok")
        })
        .await;
    }

    /// Waits for something that comes while all servers run.
    async fn wait(&self, what: &str, look: impl AsyncFn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !look().await {
            for (component, child) in self.servers().iter_mut() {
                let ended = child.try_wait().expect("it can be asked");
                assert!(
                    ended.is_none(),
                    "{component} ended: {ended:?}\n{}",
                    last_lines(&self.log(*component))
                );
            }
            let said = || last_lines(&self.log(Component::ApiServer));
            assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}; it says:\n{}", said());
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn log_path(&self, component: Component) -> PathBuf {
        self.dir.join(format!("{component}.log"))
    }

    // A map of children is whole whoever panicked.
    fn servers(&self) -> MutexGuard<'_, BTreeMap<Component, Child>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for component in Component::ALL.into_iter().rev() {
            self.kill(component);
        }
        remove(&self.dir);
    }
}

/// A client from a kubeconfig, of the current runtime.
pub async fn client_of(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a good kubeconfig")).expect("a client")
}

/// Polls until it is so; fails after `patience` with what was last seen.
pub async fn wait_until(what: &str, patience: Duration, look: impl AsyncFn() -> Result<(), String>) {
    let begun = Instant::now();
    loop {
        let Err(seen) = look().await else { return };
        assert!(begun.elapsed() < patience, "waited {patience:?} for {what}; last seen: {seen}");
        tokio::time::sleep(PAUSE * 4).await;
    }
}

fn last_lines(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

fn free_ports<const N: usize>() -> [u16; N] {
    // All at once, so that they differ.
    let sockets: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind(("127.0.0.1", 0)).expect("a free port"));
    sockets.map(|socket| socket.local_addr().expect("a bound port").port())
}

/// A new directory, named after this process. A process that was killed could not remove its own: that is done
/// here, once nobody owns it.
fn own_directory() -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let place = std::env::temp_dir();
    for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(owner_of);
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            remove(&entry.path());
        }
    }
    let name = format!("{PREFIX}{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let dir = place.join(name);
    fs::create_dir(&dir).expect("a new directory");
    dir
}

/// The process that a directory of ours is named after.
fn owner_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Removes a directory of ours, as well as it can be.
fn remove(dir: &Path) {
    let ours = dir.file_name().and_then(|name| name.to_str()).is_some_and(|name| owner_of(name).is_some());
    if ours {
        let _ = fs::remove_dir_all(dir); // the next one tries again
    }
}
