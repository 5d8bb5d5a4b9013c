//! Starts the programs that the workshop needs: always from the root of the repository, never through a shell.
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::failure::{Failure, Result};

/// Returns the root of the repository.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A command line that can be shown as it is typed.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Line {
    /// Parts a command line at its spaces.
    pub(crate) fn of(text: &str) -> Self {
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

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(root())
            .stdin(Stdio::null());
        command
    }

    /// Returns the line as a person types it.
    pub(crate) fn shown(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words = std::iter::once(&self.program).chain(&self.args).map(|word| quoted(word));
        env.chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Runs it with everything shown.
    pub(crate) fn show(&self) -> Result<()> {
        let status = self.command().status().map_err(|error| Failure::of(&self.program, error))?;
        if status.success() { Ok(()) } else { Err(self.failed(&status.to_string())) }
    }

    /// Runs it and shows what it printed only if it fails.
    pub(crate) fn quietly(&self) -> Result<()> {
        self.output().map(drop)
    }

    /// Runs it and returns what it printed on standard output.
    pub(crate) fn output(&self) -> Result<String> {
        let output = self.command().output().map_err(|error| Failure::of(&self.program, error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let printed = [output.stdout, output.stderr].concat();
        let details = String::from_utf8_lossy(&printed).trim_end().to_owned();
        Err(self.failed(&output.status.to_string()).details(details))
    }

    /// Tells whether it can be run at all and ends well; prints nothing.
    pub(crate) fn works(&self) -> bool {
        self.command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn failed(&self, how: &str) -> Failure {
        Failure::new(format!("{} ended with {how}", self.program))
            .hint(format!("to see it alone: {}", self.shown()))
    }
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_=/.,:@+".contains(c));
    if plain { word.to_owned() } else { format!("'{word}'") }
}

/// Returns a time as people read it.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_as_it_is_typed() {
        let line = Line::of("cargo doc --no-deps").args(["a b"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line.shown(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'a b'");
    }

    #[test]
    fn a_program_that_is_not_there_does_not_work() {
        assert!(!Line::of("no-such-program-anywhere --version").works());
    }
}
