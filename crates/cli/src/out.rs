//! Where results go: stdout, buffered, in plain text unless it is a terminal.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

/// Standard output of a command.
#[derive(Debug)]
pub(crate) struct Out {
    inner: BufWriter<Stdout>,
    /// May use colours and redraw?
    pub(crate) terminal: bool,
}

impl Out {
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        Self { terminal: stdout.is_terminal(), inner: BufWriter::new(stdout) }
    }

    /// Writes a text as it is.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.inner.write_all(text.as_bytes())
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.inner, "{text}")
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
