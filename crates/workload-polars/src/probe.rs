//! One question to one worker.

use crate::config::{Probe, ProbeKind};
use ostler_model::{CloudInstance, CloudPhase};
use std::process::Stdio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

/// Is the worker ready? Trouble of any kind is a no; the next question may be answered otherwise.
pub(crate) async fn is_ready(probe: &Probe, name: &str, machine: &CloudInstance) -> bool {
    let host = if machine.address.is_empty() { "127.0.0.1" } else { &machine.address };
    let asked = async {
        match &probe.kind {
            ProbeKind::Running => machine.phase == CloudPhase::Running,
            ProbeKind::Tcp(port) => TcpStream::connect((host, *port)).await.is_ok(),
            ProbeKind::Http(port, path) => get(host, *port, path).await.unwrap_or(false),
            ProbeKind::Command(words) => command(words, name, host).await,
        }
    };
    timeout(probe.timeout, asked).await.unwrap_or(false)
}

/// A GET by hand: only the status line matters, whatever follows.
async fn get(host: &str, port: u16, path: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect((host, port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; 12]; // "HTTP/1.1 200"
    stream.read_exact(&mut status).await?;
    Ok(status.starts_with(b"HTTP/1.") && status[9] == b'2')
}

async fn command(words: &[String], name: &str, host: &str) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).env("OSTLER_INSTANCE_ID", name).env("OSTLER_ADDRESS", host);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.status().await.is_ok_and(|status| status.success())
}
