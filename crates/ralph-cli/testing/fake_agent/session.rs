//! Persistent sessions, rate limits with a reset time, and retried requests, all in Claude's format. A session is a file
//! next to FA_COUNT with one line per turn.
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::Mode;
use crate::claude::{self, record};
use crate::start::{Start, ready, starts_so_far, usage};

pub(crate) const MODES: &[(&str, Mode)] = &[("claude-retries", retries)];

/// Opens the session to resume, or a new one. Reports a missing session as Claude does.
pub(crate) fn open(start: &Start) -> io::Result<Option<String>> {
    let Some(resumed) = resumed(start) else {
        let id = format!("session-{}", starts_so_far());
        fs::create_dir_all(folder()?)?;
        return begin(start, id).map(Some);
    };
    if folder()?.join(&resumed).exists() {
        return begin(start, resumed).map(Some);
    }
    record(&json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "errors": [format!("No conversation found with session ID: {resumed}")]}))?;
    Ok(None)
}

fn begin(start: &Start, id: String) -> io::Result<String> {
    introduce(&id)?;
    let first = start.prompt.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut file = OpenOptions::new().append(true).create(true).open(folder()?.join(&id))?;
    file.write_all(&[first, b"\n"].concat())?;
    Ok(id)
}

pub(crate) fn introduce(id: &str) -> io::Result<()> {
    record(&json!({"type": "system", "subtype": "init", "session_id": id, "model": "fake-model"}))
}

/// Opens the session and prints how many turns it has.
pub(crate) fn converse(start: &Start, text: &str) -> io::Result<bool> {
    let Some(id) = open(start)? else { return Ok(false) };
    let turns = fs::read_to_string(folder()?.join(id))?.lines().count();
    let text = format!("turn {turns}: {text}");
    claude::speak(&text)?;
    claude::result(&text, 0.01)?;
    Ok(true)
}

/// Loses every session.
pub(crate) fn forget() -> io::Result<()> {
    fs::remove_dir_all(folder()?)
}

/// Prints a rate limit that ends after this number of seconds.
pub(crate) fn limit(seconds: &str) -> io::Result<()> {
    let seconds: i64 = seconds.parse().map_err(|_| usage(&format!("{seconds:?} is not a number")))?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let reset = i64::try_from(now.as_secs()).unwrap_or(0) + 1 + seconds;
    claude::refuse_until(reset)
}

fn resumed(start: &Start) -> Option<String> {
    start.args.iter().skip_while(|arg| *arg != "--resume").nth(1).cloned()
}

fn folder() -> io::Result<PathBuf> {
    let count_file = std::env::var_os("FA_COUNT").ok_or_else(|| usage("sessions need FA_COUNT"))?;
    Ok(PathBuf::from(count_file).with_file_name("sessions"))
}

/// Retries a request forever. `KIND` is rate_limit, network or overloaded; with the suffix `+`, it uses a tool in between.
fn retries(start: &Start) -> io::Result<u8> {
    introduce("session-of-retries")?;
    let kind = start.arg_or("rate_limit");
    let (kind, works) = kind.strip_suffix('+').map_or((kind, false), |kind| (kind, true));
    for attempt in 1.. {
        retry(kind, attempt)?;
        if works {
            claude::use_tool("Bash", "true", "ok")?;
        }
        if attempt == 2 {
            ready()?;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(0)
}

pub(crate) fn retry(kind: &str, attempt: u32) -> io::Result<()> {
    let (error, status) = match kind {
        "rate_limit" => ("rate_limit", Some(429)),
        "network" => ("server_error", None),
        "overloaded" => ("overloaded", Some(529)),
        _ => return Err(usage(&format!("unknown failure {kind}"))),
    };
    record(&json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10,
        "retry_delay_ms": 50, "error_status": status, "error": error}))
}
