//! What a process costs, as `/proc` has it.

use std::fs;

/// `USER_HZ`, the same on every Linux that Ostler runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor seconds of a process, in user and in system mode, with those of its threads that have ended.
pub fn cpu_seconds(pid: u32) -> f64 {
    of_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs"))
}

/// The same of those threads of a process that have this name.
pub fn cpu_seconds_of_threads(pid: u32, name: &str) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    // A thread may end while we look.
    let stats = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter(|stat| stat.contains(&format!("({name})"))).map(|stat| of_stat(&stat)).sum()
}

fn of_stat(stat: &str) -> f64 {
    let (_, rest) = stat.rsplit_once(')').expect("a name in parentheses");
    let fields = rest.split_ascii_whitespace().skip(11).take(2);
    fields.map(|field| field.parse::<f64>().expect("ticks")).sum::<f64>() / TICKS_PER_SECOND
}

/// A line of `/proc/PID/status` (`VmRSS`, `VmHWM`), in millions of bytes.
pub fn megabytes(pid: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()).expect("a size");
    kib.parse::<f64>().expect("a number") * 1024.0 / 1e6
}

/// How many processes wanted a core in the last minute.
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").expect("Linux");
    text.split_ascii_whitespace().next().and_then(|field| field.parse().ok()).expect("a number")
}

/// How long something took each time, in milliseconds, in order of length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spans(Vec<f64>);

impl Spans {
    /// Of the lines of a log in JSON that say this, and how long it took (`micros`), without what failed.
    pub fn of_log<'l>(lines: impl Iterator<Item = &'l str>, message: &str) -> Self {
        let span = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            (line["message"] == message && line["failed"] != true).then(|| line["micros"].as_f64()).flatten()
        };
        let mut all: Vec<f64> = lines.filter_map(span).map(|micros| micros / 1e3).collect();
        all.sort_by(f64::total_cmp);
        Self(all)
    }
    /// How often.
    pub fn count(&self) -> usize {
        self.0.len()
    }
    /// The one in the middle; none is none.
    pub fn median(&self) -> f64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or(0.0)
    }
    /// The longest; none is none.
    pub fn longest(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }
    /// All together.
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}
