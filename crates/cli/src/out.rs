//! Where results go: stdout, buffered, in plain text unless it is a terminal.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

/// Standard output of a command.
#[derive(Debug)]
pub(crate) struct Out {
    inner: BufWriter<Stdout>,
    /// May it be redrawn?
    pub(crate) terminal: bool,
    /// May headings be bold?
    bold: bool,
}

impl Out {
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let bold = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { terminal, bold, inner: BufWriter::new(stdout) }
    }

    /// Writes a line. Control characters, which a foreign text may hold to play tricks on a terminal, are replaced.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.inner, "{}", text.replace(|c: char| c.is_control(), "\u{FFFD}"))
    }

    /// Writes lines.
    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(line.as_ref()))
    }

    /// Writes a line that stands out.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        if !self.bold {
            return self.line(text);
        }
        self.inner.write_all(b"\x1b[1m")?;
        self.line(text)?;
        self.inner.write_all(b"\x1b[0m")
    }

    /// Begins a new picture: over the old one on a terminal, below it elsewhere.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        self.inner.write_all(if self.terminal { b"\x1b[H\x1b[2J\x1b[3J" } else { b"" })
    }

    /// Writes a text that is known to be ours, as it is.
    pub(crate) fn verbatim(&mut self, text: &str) -> io::Result<()> {
        self.inner.write_all(text.as_bytes())
    }

    /// Writes a value as JSON over several lines.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.inner, value)?;
        self.inner.write_all(b"\n")
    }

    /// Writes a value as JSON on one line.
    pub(crate) fn json_line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.inner, value)?;
        self.inner.write_all(b"\n")
    }

    /// Lets the reader see everything now.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
