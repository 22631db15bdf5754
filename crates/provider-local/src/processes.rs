//! The processes of this host: which of them are a machine's, and how one is signalled.

use crate::environment::{STATE_ID, TOKEN};
use crate::record::Leader;
use ostler_model::LaunchToken;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};

/// No process has more variables and arguments than the kernel lets `exec` pass.
const MAX_ENVIRONMENT: u64 = 8 << 20;

/// One process, as it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// Clock ticks from boot to its start.
    pub(crate) start: u64,
    /// Ended, and its parent has not asked how.
    pub(crate) zombie: bool,
    pub(crate) mark: Mark,
}

/// What the variables of a process say about whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A machine of this state directory.
    Ours(LaunchToken),
    /// A machine of another state directory.
    Theirs,
    /// It has variables, ours are not among them.
    None,
    /// It may not be read, or there is nothing to read: some programs write their title over it.
    Unreadable,
}

/// Everything that runs, at about one moment.
#[derive(Debug)]
pub(crate) struct Table(BTreeMap<i32, Process>);

impl Process {
    /// Is this, alive, the first process of a machine? (The boot is the caller's to compare.) A process that has
    /// variables and not ours is not, whatever its number and start time.
    pub(crate) fn is(&self, leader: &Leader) -> bool {
        self.pid == leader.pid
            && self.start == leader.start
            && !self.zombie
            && matches!(self.mark, Mark::Ours(_) | Mark::Unreadable)
    }
}

impl Table {
    /// Looks at all processes. One that ends meanwhile is left out.
    pub(crate) fn read(site: &str) -> io::Result<Self> {
        let mut table = BTreeMap::new();
        for entry in fs::read_dir("/proc")? {
            let pid = entry?.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(process) = pid.and_then(|pid| look(pid, site)) {
                table.insert(process.pid, process);
            }
        }
        Ok(Self(table))
    }

    /// The living processes of a machine: those that carry its mark, the group of its first process, and the
    /// descendants of both. Never ourselves, never another machine's.
    pub(crate) fn members(&self, token: &LaunchToken, leader: Option<&Leader>) -> Vec<&Process> {
        let group = leader.filter(|leader| self.runs(leader)).map(|leader| leader.pid);
        let may_be = |p: &&Process| match &p.mark {
            Mark::Ours(its) => its == token,
            Mark::Theirs => false,
            Mark::None | Mark::Unreadable => p.pid != std::process::id() as i32,
        };
        let candidates: Vec<&Process> = self.0.values().filter(|p| !p.zombie).filter(may_be).collect();
        let is_root = |p: &&&Process| matches!(p.mark, Mark::Ours(_)) || Some(p.group) == group;
        let mut inside: BTreeSet<i32> = candidates.iter().filter(is_root).map(|p| p.pid).collect();
        let mut size = 0;
        while inside.len() > size {
            size = inside.len();
            inside.extend(
                candidates.iter().filter(|p| inside.contains(&p.parent)).map(|p| p.pid).collect::<Vec<_>>(),
            );
        }
        candidates.into_iter().filter(|p| inside.contains(&p.pid)).collect()
    }

    /// Tokens of this state directory that some living process carries, each with one such process.
    pub(crate) fn marked(&self) -> BTreeMap<LaunchToken, i32> {
        let token = |p: &Process| match &p.mark {
            Mark::Ours(token) if !p.zombie => Some((token.clone(), p.pid)),
            _ => None,
        };
        self.0.values().filter_map(token).collect()
    }

    fn runs(&self, leader: &Leader) -> bool {
        self.0.get(&leader.pid).is_some_and(|process| process.is(leader))
    }
}

/// The one process, without a look at all the others.
pub(crate) fn look(pid: i32, site: &str) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut process = parse(pid, &stat)?;
    process.mark = mark(&environ(pid), site);
    Some(process)
}

/// The variables with which a process was started; empty if they cannot be read.
pub(crate) fn variables(pid: i32) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(&environ(pid)).into_owned();
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.split('\0').filter_map(pair).collect()
}

fn environ(pid: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ"));
    match file.and_then(|file| file.take(MAX_ENVIRONMENT).read_to_end(&mut bytes)) {
        Ok(_) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Reads `/proc/PID/stat`. The name of the program stands in parentheses and may hold anything, so what counts
/// begins after the last one.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        mark: Mark::Unreadable,
    })
}

/// Done for each process at each look, so it copies nothing.
fn mark(environ: &[u8], site: &str) -> Mark {
    let (mut id, mut token, mut any) = (None, None, false);
    for line in environ.split(|byte| *byte == 0) {
        let Some(equals) = line.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = (&line[..equals], &line[equals + 1..]);
        any = true;
        if name == STATE_ID.as_bytes() {
            id = Some(value);
        } else if name == TOKEN.as_bytes() {
            token = Some(value);
        }
    }
    match (id, token.and_then(|token| std::str::from_utf8(token).ok())) {
        (Some(id), Some(token)) if id == site.as_bytes() => Mark::Ours(token.into()),
        (Some(_), _) => Mark::Theirs,
        _ if any => Mark::None,
        _ => Mark::Unreadable,
    }
}

/// Signals exactly the process that was looked at, or nobody: the descriptor holds on to one process, and after
/// it is open the start time shows which one that is.
pub(crate) fn signal(process: &Process, signal: Signal) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(process.pid) else { return Ok(()) };
    let gone =
        |error: rustix::io::Errno| if error == rustix::io::Errno::SRCH { Ok(()) } else { Err(error.into()) };
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(error) => return gone(error),
    };
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    if parse(process.pid, &stat).is_none_or(|found| found.start != process.start) {
        return Ok(());
    }
    pidfd_send_signal(descriptor, signal).or_else(gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// One process a line: `pid parent group mark`; the first process of machine `t` is 100, started at 5.
    fn check(table: &str, expected: Expect) {
        let process = |line: &str| {
            let words: Vec<_> = line.split_whitespace().collect();
            let number = |n: usize| words[n].parse().expect("a number");
            let mark = match words[3] {
                "none" => Mark::None,
                "unreadable" => Mark::Unreadable,
                "theirs" => Mark::Theirs,
                token => Mark::Ours(token.into()),
            };
            let (start, zombie) = (if words.contains(&"reused") { 6 } else { 5 }, words.contains(&"zombie"));
            (number(0), Process { pid: number(0), parent: number(1), group: number(2), start, zombie, mark })
        };
        let table = Table(table.lines().filter(|line| !line.trim().is_empty()).map(process).collect());
        let leader = Leader { pid: 100, start: 5, boot: String::new() };
        let members = table.members(&"t".into(), Some(&leader));
        expected.assert_eq(&format!("{:?}", members.iter().map(|p| p.pid).collect::<Vec<_>>()));
    }

    #[test]
    fn marks_groups_and_descendants_are_members() {
        check(
            "1   0   1   unreadable
             100 1   100 t
             101 100 100 t
             102 1   102 t
             103 101 100 none
             104 103 104 none
             105 1   100 unreadable
             200 1   200 none",
            expect!["[100, 101, 102, 103, 104, 105]"],
        );
    }

    #[test]
    fn others_and_the_dead_are_not() {
        check(
            "100 1   100 t zombie
             101 1   100 none
             102 1   102 other
             103 1   103 theirs",
            expect!["[]"],
        );
        check(
            "100 1   100 t
             101 100 101 theirs
             102 101 102 none
             103 100 103 other",
            expect!["[100]"],
        );
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        check("100 1 100 none reused\n101 100 100 none", expect!["[]"]);
        check("100 1 100 none\n101 100 100 none", expect!["[]"]);
        check("100 1 100 unreadable\n101 100 100 none", expect!["[100, 101]"]);
    }

    #[test]
    fn a_mark_is_read_from_the_variables() {
        let read = |text: &str| mark(text.as_bytes(), "site");
        assert_eq!(read("A=1\0OSTLER_STATE_ID=site\0OSTLER_LAUNCH_TOKEN=t\0"), Mark::Ours("t".into()));
        assert_eq!(read("OSTLER_STATE_ID=other\0OSTLER_LAUNCH_TOKEN=t"), Mark::Theirs);
        assert_eq!(read("OSTLER_STATE_ID=site\0"), Mark::Theirs);
        assert_eq!(read("OSTLER_LAUNCH_TOKEN=t\0"), Mark::None);
        assert_eq!(read("A=OSTLER_STATE_ID=site\0A=\0"), Mark::None);
        assert_eq!(read(""), Mark::Unreadable);
        assert_eq!(read("a title\0\0\0\0"), Mark::Unreadable);
    }

    #[test]
    fn a_stat_line_is_read_whatever_the_program_is_called() {
        let stat = "7 (a) b) S 1 2 3 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 987 0 0";
        let found = parse(7, stat).expect("a good line");
        assert_eq!((found.parent, found.group, found.start, found.zombie), (1, 2, 987, false));
        assert_eq!(parse(7, "7 (a"), None);
        assert_eq!(parse(7, "7 (a) S 1"), None);
    }

    #[test]
    fn we_find_ourselves() {
        let me = look(std::process::id() as i32, "site").expect("we run");
        assert!(!me.zombie && me.start > 0);
    }
}
