//! Scaling events in Ray's event log and on the screens of its drivers.
//!
//! Ray's own autoscaler writes `<session>/logs/events/event_AUTOSCALER.log`, one JSON object in a line. The
//! dashboard reads every file there with `AUTOSCALER` in its name; the head's log monitor reads that one file
//! and publishes its lines, and each driver prints their messages. We publish the lines ourselves, which needs
//! no file and works from any host, and write a log that only the dashboard reads, so nothing shows twice.
//! For a version of Ray whose channel we do not know, the log has the name that the log monitor reads.

use crate::link::Caller;
use crate::proto::gcs::internal_pub_sub_gcs_service_client::InternalPubSubGcsServiceClient as InternalPubSub;
use crate::proto::gcs::observability_pub_sub_service_client::ObservabilityPubSubServiceClient as ObservabilityPubSub;
use crate::proto::gcs::{GcsPublishReply, GcsPublishRequest, LogBatch, PubMessage};
use ostler_workload::{Event, Severity};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use tonic::{Response, Status};

/// Events of one publication at most; a scaling pass has a handful.
const EVENTS_MAX: usize = 100;
/// The log is begun anew when it is larger, its one predecessor is kept.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// How one version of Ray numbers the channel on which log lines reach drivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLayout {
    /// Up to 2.49.
    V2_48,
    /// 2.50 to 2.55.
    V2_50,
    /// 2.56.
    V2_56,
    /// From 2.57.
    V2_57,
}

impl LogLayout {
    /// The layout of a version, e.g. `2.60.0`; `None` for versions that were not looked at.
    pub(crate) fn of(ray_version: &str) -> Option<Self> {
        let mut parts = ray_version.split('.').map(|part| part.parse::<u32>());
        match (parts.next()?.ok()?, parts.next()?.ok()?) {
            (2, 48..=49) => Some(Self::V2_48),
            (2, 50..=55) => Some(Self::V2_50),
            (2, 56) => Some(Self::V2_56),
            (2, 57..=60) => Some(Self::V2_57),
            _ => None,
        }
    }

    fn message(self, batch: LogBatch) -> PubMessage {
        let channel_type = if self == Self::V2_57 { 7 } else { 8 };
        let empty = PubMessage { channel_type, ..PubMessage::default() };
        match self {
            Self::V2_48 => PubMessage { log_batch_2_48: Some(batch), ..empty },
            Self::V2_50 | Self::V2_56 => PubMessage { log_batch_2_50: Some(batch), ..empty },
            Self::V2_57 => PubMessage { log_batch_2_57: Some(batch), ..empty },
        }
    }

    /// Has every driver print the messages of these lines.
    pub(crate) async fn publish(
        self,
        caller: &Caller,
        head_address: String,
        lines: Vec<String>,
    ) -> Result<Response<GcsPublishReply>, Status> {
        let batch = LogBatch { ip: head_address, pid: "autoscaler".into(), lines, ..LogBatch::default() };
        let request = caller.request(GcsPublishRequest { pub_messages: vec![self.message(batch)] });
        match self {
            Self::V2_48 | Self::V2_50 => {
                InternalPubSub::new(caller.channel.clone()).gcs_publish(request).await
            }
            Self::V2_56 | Self::V2_57 => {
                ObservabilityPubSub::new(caller.channel.clone()).gcs_publish(request).await
            }
        }
    }
}

/// Events as the lines that Ray reads.
pub(crate) fn lines(events: &[Event]) -> Vec<String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let dropped = events.len().saturating_sub(EVENTS_MAX);
    let mut lines: Vec<String> =
        events.iter().skip(dropped).map(|event| line(event, host.trim(), &id())).collect();
    if let (1.., Some(last)) = (dropped, events.last()) {
        let text = format!("{dropped} earlier scaling events are not shown.");
        lines.insert(0, line(&Event { text, ..last.clone() }, host.trim(), &id()));
    }
    lines
}

fn line(event: &Event, host: &str, id: &str) -> String {
    serde_json::json!({
        "event_id": id,
        "source_type": "AUTOSCALER",
        "source_hostname": host,
        "source_pid": std::process::id(),
        "severity": severity(event.severity),
        "label": "",
        "message": event.text,
        "timestamp": (event.at.0 / 1000).to_string(),
        "custom_fields": {},
    })
    .to_string()
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "INFO",
        Severity::Warning => "WARNING",
        Severity::Error => "ERROR",
    }
}

/// 36 hex digits that no other event has. The standard library's hash keys are random, which is enough here.
fn id() -> String {
    let random = || format!("{:016x}", RandomState::new().hash_one(0));
    let mut id = random() + &random() + &random();
    id.truncate(36);
    id
}

/// The event log of one Ray session.
#[derive(Debug)]
pub(crate) struct EventLog(PathBuf);

impl EventLog {
    /// The log in a session's directory; `None` if that is not on this host. `spoken`: the lines are published
    /// too, so the log monitor must not read them.
    pub(crate) fn of(session_dir: &Path, spoken: bool) -> Option<Self> {
        let logs = session_dir.join("logs");
        let name = if spoken { "event_AUTOSCALER_OSTLER.log" } else { "event_AUTOSCALER.log" };
        logs.is_dir().then(|| Self(logs.join("events").join(name)))
    }

    /// Adds lines. The log is a convenience: what goes wrong with it is said and goes no further.
    pub(crate) async fn append(&self, lines: &[String]) {
        let (path, text) = (self.0.clone(), lines.join("\n") + "\n");
        let written = tokio::task::spawn_blocking(move || append(&path, &text)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(path = %self.0.display(), %error, "the event log of Ray cannot be written");
        }
    }
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    if std::fs::metadata(path).is_ok_and(|file| file.len() > LOG_BYTES_MAX) {
        // `.old` and not `.old.log`, so that nobody takes the old lines for news.
        std::fs::rename(path, path.with_extension("old"))?;
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::Timestamp;

    #[test]
    fn versions_have_their_layout() {
        let layouts = [
            "2.48.0",
            "2.50.1",
            "2.55.0",
            "2.56.0",
            "2.57.0",
            "2.60.0rc1",
            "2.61.0",
            "3.0.0.dev0",
            "",
            "x.y",
        ]
        .map(|version| format!("{version}: {:?}", LogLayout::of(version)));
        expect_test::expect![[r#"
            2.48.0: Some(V2_48)
            2.50.1: Some(V2_50)
            2.55.0: Some(V2_50)
            2.56.0: Some(V2_56)
            2.57.0: Some(V2_57)
            2.60.0rc1: Some(V2_57)
            2.61.0: None
            3.0.0.dev0: None
            : None
            x.y: None"#]]
        .assert_eq(&layouts.join("\n"));
    }

    #[test]
    fn an_event_is_one_line_that_ray_reads() {
        let text = "Adding 2 node(s) of type \"cpu\".\nsecond line".to_owned();
        let event = Event { at: Timestamp(1_700_000_000_123), severity: Severity::Warning, text };
        let line = line(&event, "host", "0123").replace(&std::process::id().to_string(), "PID");
        expect_test::expect![[
            r#"{"custom_fields":{},"event_id":"0123","label":"","message":"Adding 2 node(s) of type \"cpu\".\nsecond line","severity":"WARNING","source_hostname":"host","source_pid":PID,"source_type":"AUTOSCALER","timestamp":"1700000000"}"#
        ]]
        .assert_eq(&line);
        assert_eq!((id().len(), id() == id()), (36, false));
    }

    #[test]
    fn a_flood_keeps_its_end() {
        let event = |n| Event { at: Timestamp(n), severity: Severity::Info, text: format!("event {n}") };
        let lines = lines(&(0..EVENTS_MAX as u64 + 5).map(event).collect::<Vec<_>>());
        assert_eq!(lines.len(), EVENTS_MAX + 1);
        assert!(lines[0].contains("5 earlier scaling events are not shown"), "{}", lines[0]);
        assert!(lines.last().is_some_and(|l| l.contains("event 104")));
    }
}
