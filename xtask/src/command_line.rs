//! Runs external programs, always from the root of the repository and never through a shell.
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Result, XtaskError};

pub(crate) fn repository_root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A command that can be displayed as shell text.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl CommandLine {
    /// Splits a command line at blanks.
    pub(crate) fn parse(text: &str) -> Self {
        let mut words = text.split_whitespace().map(str::to_owned);
        Self { program: words.next().unwrap_or_default(), args: words.collect(), env: Vec::new() }
    }

    pub(crate) fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    pub(crate) fn to_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(repository_root())
            .stdin(Stdio::null());
        command
    }

    /// Returns the command as shell text.
    pub(crate) fn to_shell_text(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quote_word(value)));
        let words = std::iter::once(&self.program).chain(&self.args).map(|word| quote_word(word));
        env.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs the command with inherited output.
    pub(crate) fn run_visibly(&self) -> Result<()> {
        let status = self.to_command().status().map_err(|error| XtaskError::with_cause(&self.program, error))?;
        if status.success() { Ok(()) } else { Err(self.exit_error(&status.to_string())) }
    }

    /// Runs the command; its output is part of the error if it fails.
    pub(crate) fn run_quietly(&self) -> Result<()> {
        self.read_stdout().map(drop)
    }

    /// Runs the command and returns its stdout.
    pub(crate) fn read_stdout(&self) -> Result<String> {
        let output = self.to_command().output().map_err(|error| XtaskError::with_cause(&self.program, error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let printed = [output.stdout, output.stderr].concat();
        let details = String::from_utf8_lossy(&printed).trim_end().to_owned();
        Err(self.exit_error(&output.status.to_string()).with_details(details))
    }

    /// Returns whether the command runs successfully. Discards its output.
    pub(crate) fn can_run(&self) -> bool {
        self.to_command().stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn exit_error(&self, status: &str) -> XtaskError {
        XtaskError::new(format!("{} ended with {status}", self.program))
            .with_hint(format!("to reproduce: {}", self.to_shell_text()))
    }
}

fn quote_word(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_=/.,:@+".contains(c));
    if plain { word.to_owned() } else { format!("'{word}'") }
}

pub(crate) fn format_seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_displayed_as_shell_text() {
        let line = CommandLine::parse("cargo doc --no-deps").args(["a b"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line.to_shell_text(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'a b'");
    }

    #[test]
    fn a_missing_program_cannot_run() {
        assert!(!CommandLine::parse("no-such-program-anywhere --version").can_run());
    }
}
