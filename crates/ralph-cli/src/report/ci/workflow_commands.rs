//! Commands that GitHub Actions reads in the output of a step. Text of agents and checks must not contain any.
use std::borrow::Cow;
use std::io::{self, Write};

/// Rewrites what GitHub would take for a command: `::name::` at the start of a line, and `##[name]` anywhere.
#[must_use]
pub(super) fn neutralise_commands(line: &str) -> String {
    let trimmed = line.trim_start();
    let line = match trimmed.strip_prefix("::") {
        Some(rest) => format!("{}: :{rest}", &line[..line.len() - trimmed.len()]),
        None => line.to_owned(),
    };
    line.replace("##[", "## [")
}

/// Returns text for people without commands, if GitHub Actions reads the output of this process.
#[must_use]
pub fn protect_from_commands(text: &str) -> Cow<'_, str> {
    match std::env::var("GITHUB_ACTIONS").as_deref() {
        Ok("true") => Cow::Owned(text.split('\n').map(neutralise_commands).collect::<Vec<_>>().join("\n")),
        Ok(_) | Err(_) => Cow::Borrowed(text),
    }
}

/// Writes lines without commands. Text without a newline waits for the rest of its line.
pub(super) struct CommandFreeWriter<W: Write> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> CommandFreeWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, line: Vec::new() }
    }

    /// Writes a line that ralph itself creates, unchanged.
    pub(super) fn write_command(&mut self, line: &str) {
        // A closed stream does not stop the run.
        let _ = self.flush_line().and_then(|()| writeln!(self.out, "{line}"));
    }

    fn flush_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Ok(());
        }
        self.out.write_all(neutralise_commands(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for CommandFreeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n' || *byte == b'\r') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || piece.ends_with(b"\r") {
                self.flush_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for CommandFreeWriter<W> {
    fn drop(&mut self) {
        let _ = self.flush_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&str]) -> String {
        let mut out = Vec::new();
        let mut writer = CommandFreeWriter::new(&mut out);
        for piece in pieces {
            writer.write_all(piece.as_bytes()).unwrap();
        }
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test] // spec: U1
    fn text_cannot_contain_a_command_of_github() {
        for (text, expected) in [
            ("::add-mask::x\n", ": :add-mask::x\n"),
            ("  ::stop-commands::x\n", "  : :stop-commands::x\n"),
            ("say ##[error]x and ##[group]y\n", "say ## [error]x and ## [group]y\n"),
            ("ok\r::error::x\n", "ok\r: :error::x\n"),
            ("std::io::Error\n", "std::io::Error\n"),
        ] {
            assert_eq!(written(&[text]), expected);
        }
    }

    #[test] // spec: U1
    fn a_command_that_is_written_in_pieces_is_found() {
        assert_eq!(
            written(&["a\n:", ":set-output name=x::", "y\n", "##", "[group]"]),
            "a\n: :set-output name=x::y\n## [group]"
        );
    }
}
