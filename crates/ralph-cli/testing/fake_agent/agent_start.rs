//! One start of the agent: its arguments and prompt, and functions that all modes share.
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::time::Duration;

/// Modes that do not read the prompt from stdin.
const READS_NOTHING: &[&str] =
    &["acp", "close-stdin", "no-read", "in-new-session", "daemon-first", "daemon-second", "eat-half"];

pub(crate) struct AgentStart {
    pub(crate) mode: String,
    pub(crate) args: Vec<String>,
    pub(crate) prompt: Vec<u8>,
    /// The promise as the agent prints it.
    pub(crate) tag: String,
}

impl AgentStart {
    /// Reads command line, environment and prompt, and appends a line to FA_COUNT.
    pub(crate) fn read() -> io::Result<Self> {
        let mut args = std::env::args().skip(1);
        let mode = args.next().unwrap_or_else(|| "complete".to_owned());
        let promise = std::env::var("FA_PROMISE").unwrap_or_else(|_| "COMPLETE".to_owned());
        let mut prompt = Vec::new();
        if !READS_NOTHING.contains(&mode.as_str()) && !io::stdin().is_terminal() {
            io::stdin().read_to_end(&mut prompt)?;
        }
        let tag = format!("<promise>{promise}</promise>");
        let start = Self { mode, args: args.collect(), prompt, tag };
        start.append_to_count_file()?;
        Ok(start)
    }

    /// Returns the argument of the mode. Flags that an adapter adds do not count.
    pub(crate) fn arg(&self) -> Option<&str> {
        self.args.first().map(String::as_str).filter(|arg| !arg.starts_with("--"))
    }

    pub(crate) fn arg_or<'a>(&'a self, default: &'a str) -> &'a str {
        self.arg().unwrap_or(default)
    }

    pub(crate) fn number_or<T: std::str::FromStr>(&self, default: T) -> io::Result<T> {
        match self.arg() {
            Some(arg) => arg.parse().map_err(|_| usage_error(&format!("{arg:?} is not a number"))),
            None => Ok(default),
        }
    }

    pub(crate) fn seconds_or(&self, default: f64) -> io::Result<Duration> {
        Duration::try_from_secs_f64(self.number_or(default)?).map_err(|error| usage_error(&error.to_string()))
    }

    pub(crate) fn is_internal(&self) -> bool {
        self.mode.starts_with("daemon-") || ["in-new-session", "eat-half"].contains(&self.mode.as_str())
    }

    fn append_to_count_file(&self) -> io::Result<()> {
        let Some(path) = std::env::var_os("FA_COUNT").filter(|_| !self.is_internal()) else { return Ok(()) };
        let (pid, hash, length) = (std::process::id(), hash_prompt(&self.prompt), self.prompt.len());
        let line = format!("{pid} {} {} {hash:016x} {length}\n", self.mode, self.arg_or(""));
        // A single write, because several agents may append at once.
        OpenOptions::new().append(true).create(true).open(path)?.write_all(line.as_bytes())
    }
}

/// Returns the number of lines in FA_COUNT, which includes this start; 1 without such a file.
pub(crate) fn starts_so_far() -> usize {
    let counted = std::env::var_os("FA_COUNT").and_then(|path| fs::read(path).ok());
    counted.map_or(1, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

/// Prints and flushes.
pub(crate) fn print_output(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())?;
    out.flush()
}

/// Writes to stderr, and ignores an error: the reader may be gone.
pub(crate) fn print_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Creates FA_READY: the mode has reached its state.
pub(crate) fn report_ready() -> io::Result<()> {
    std::env::var_os("FA_READY").map_or(Ok(()), |path| File::create(path).map(drop))
}

/// Waits until the file exists.
pub(crate) fn wait_for_file(path: impl AsRef<Path>) {
    while !path.as_ref().exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn usage_error(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.to_owned())
}

/// FNV-1a: sufficient to compare prompts.
fn hash_prompt(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
