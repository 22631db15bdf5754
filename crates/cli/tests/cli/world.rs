//! What the scripts run in: a directory of their own, and an Ostler that answers with the fixture.

use crate::fixture::Fixture;
use expect_test::Expect;
use ostler_console::{ReadModel, Secret, serve};
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// A directory, and perhaps a served fixture. Everything ends with it.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    served: Option<(Runtime, SocketAddr)>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().expect("a directory"), served: None }
    }

    /// With an Ostler that answers, on a free port.
    pub(crate) fn serving(token: Option<&str>) -> Self {
        Self::serving_this(Arc::new(Fixture { ready: Ok(()), alive: Ok(()) }), token)
    }

    pub(crate) fn serving_this(model: Arc<dyn ReadModel>, token: Option<&str>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(serve(listener, model, token.and_then(Secret::new), std::future::pending()));
        Self { served: Some((runtime, address)), ..Self::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where the Ostler of this world answers; a closed port if there is none.
    pub(crate) fn api(&self) -> String {
        self.served.as_ref().map_or_else(|| "http://127.0.0.1:1".to_owned(), |(_, at)| format!("http://{at}"))
    }

    /// The binary, in the directory, with nothing of the surrounding environment.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler"));
        command.current_dir(self.path()).env_clear().env("OSTLER_API", self.api()).env("HOME", self.path());
        command.args(args.split(' ').filter(|arg| !arg.is_empty()).map(|arg| arg.replace('~', " ")));
        command
    }

    /// Runs it (arguments are parted by blanks, `~` stands for a blank within one) and compares what comes.
    pub(crate) fn check(&self, args: &str, expected: Expect) {
        expected.assert_eq(&self.shown(&self.command(args).output().expect("it runs")));
    }

    /// All that came, without what is different each time.
    pub(crate) fn shown(&self, output: &Output) -> String {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !stderr.is_empty() {
            let _ = write!(text, "--- stderr\n{stderr}");
        }
        let _ = writeln!(text, "--- exit {}", output.status.code().unwrap_or(-1));
        text.replace(&self.api(), "API").replace(&self.path().display().to_string(), "DIR")
    }
}
