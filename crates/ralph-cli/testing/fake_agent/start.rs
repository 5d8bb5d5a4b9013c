//! One start of the agent: what it was told, and the few things every mode needs.
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::time::Duration;

/// Modes that must leave stdin alone.
const READS_NOTHING: &[&str] =
    &["acp", "close-stdin", "no-read", "in-new-session", "daemon-first", "daemon-second", "eat-half"];

pub(crate) struct Start {
    pub(crate) mode: String,
    pub(crate) args: Vec<String>,
    pub(crate) prompt: Vec<u8>,
    /// The promise as the agent prints it.
    pub(crate) tag: String,
}

impl Start {
    /// Reads command line, environment and prompt, and signs the witness file.
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
        start.sign()?;
        Ok(start)
    }

    /// Returns the argument of the mode. Flags that an adapter adds are none.
    pub(crate) fn arg(&self) -> Option<&str> {
        self.args.first().map(String::as_str).filter(|arg| !arg.starts_with("--"))
    }

    /// Returns the argument, or what stands for it when there is none.
    pub(crate) fn arg_or<'a>(&'a self, default: &'a str) -> &'a str {
        self.arg().unwrap_or(default)
    }

    pub(crate) fn number_or<T: std::str::FromStr>(&self, default: T) -> io::Result<T> {
        match self.arg() {
            Some(arg) => arg.parse().map_err(|_| usage(&format!("{arg:?} is no number"))),
            None => Ok(default),
        }
    }

    /// Returns the seconds that the argument asks for.
    pub(crate) fn seconds_or(&self, default: f64) -> io::Result<Duration> {
        Duration::try_from_secs_f64(self.number_or(default)?).map_err(|error| usage(&error.to_string()))
    }

    pub(crate) fn is_internal(&self) -> bool {
        self.mode.starts_with("daemon-") || ["in-new-session", "eat-half"].contains(&self.mode.as_str())
    }

    fn sign(&self) -> io::Result<()> {
        let Some(path) = std::env::var_os("FA_COUNT").filter(|_| !self.is_internal()) else { return Ok(()) };
        let (pid, hash, length) = (std::process::id(), hash(&self.prompt), self.prompt.len());
        let line = format!("{pid} {} {} {hash:016x} {length}\n", self.mode, self.arg_or(""));
        // One write: several agents may sign at once.
        OpenOptions::new().append(true).create(true).open(path)?.write_all(line.as_bytes())
    }
}

/// Returns how many starts the witness file has seen, this one included; 1 without such a file.
pub(crate) fn starts_so_far() -> usize {
    let seen = std::env::var_os("FA_COUNT").and_then(|path| fs::read(path).ok());
    seen.map_or(1, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

/// Prints and flushes.
pub(crate) fn say(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_ref())?;
    out.flush()
}

/// Writes to stderr. Nobody may be listening, which is no reason to fail.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Tells whoever waits that the mode has reached its state.
pub(crate) fn ready() -> io::Result<()> {
    std::env::var_os("FA_READY").map_or(Ok(()), |path| File::create(path).map(drop))
}

/// Stays until the file exists.
pub(crate) fn wait_for(path: impl AsRef<Path>) {
    while !path.as_ref().exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn usage(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.to_owned())
}

/// FNV-1a: enough to see whether two prompts are the same.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
