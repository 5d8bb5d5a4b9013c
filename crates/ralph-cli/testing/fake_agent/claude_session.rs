//! Persistent sessions, rate limits with a reset time, and retried requests, all in Claude's format. A session is a file
//! next to FA_COUNT with one line per turn.
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::Mode;
use crate::agent_start::{AgentStart, report_ready, starts_so_far, usage_error};
use crate::claude::{self, print_record};

pub(crate) const MODES: &[(&str, Mode)] = &[("claude-retries", retries)];

/// Opens the session to resume, or a new one. Reports a missing session as Claude does.
pub(crate) fn open_session(start: &AgentStart) -> io::Result<Option<String>> {
    let Some(resumed) = resumed_session(start) else {
        let id = format!("session-{}", starts_so_far());
        fs::create_dir_all(sessions_folder()?)?;
        return start_turn(start, id).map(Some);
    };
    if sessions_folder()?.join(&resumed).exists() {
        return start_turn(start, resumed).map(Some);
    }
    print_record(&json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "errors": [format!("No conversation found with session ID: {resumed}")]}))?;
    Ok(None)
}

fn start_turn(start: &AgentStart, id: String) -> io::Result<String> {
    print_session_init(&id)?;
    let first = start.prompt.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut file = OpenOptions::new().append(true).create(true).open(sessions_folder()?.join(&id))?;
    file.write_all(&[first, b"\n"].concat())?;
    Ok(id)
}

pub(crate) fn print_session_init(id: &str) -> io::Result<()> {
    print_record(&json!({"type": "system", "subtype": "init", "session_id": id, "model": "fake-model"}))
}

/// Opens the session and prints how many turns it has.
pub(crate) fn answer_in_session(start: &AgentStart, text: &str) -> io::Result<bool> {
    let Some(id) = open_session(start)? else { return Ok(false) };
    let turns = fs::read_to_string(sessions_folder()?.join(id))?.lines().count();
    let text = format!("turn {turns}: {text}");
    claude::print_message(&text)?;
    claude::print_result(&text, 0.01)?;
    Ok(true)
}

/// Loses every session.
pub(crate) fn delete_sessions() -> io::Result<()> {
    fs::remove_dir_all(sessions_folder()?)
}

/// Prints a rate limit that ends after this number of seconds.
pub(crate) fn print_rate_limit_for(seconds: &str) -> io::Result<()> {
    let seconds: i64 = seconds.parse().map_err(|_| usage_error(&format!("{seconds:?} is not a number")))?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let reset = i64::try_from(now.as_secs()).unwrap_or(0) + 1 + seconds;
    claude::print_rate_limit(reset)
}

fn resumed_session(start: &AgentStart) -> Option<String> {
    start.args.iter().skip_while(|arg| *arg != "--resume").nth(1).cloned()
}

fn sessions_folder() -> io::Result<PathBuf> {
    let count_file = std::env::var_os("FA_COUNT").ok_or_else(|| usage_error("sessions need FA_COUNT"))?;
    Ok(PathBuf::from(count_file).with_file_name("sessions"))
}

/// Retries a request forever. `KIND` is rate_limit, network or overloaded; with the suffix `+`, it uses a tool in between.
fn retries(start: &AgentStart) -> io::Result<u8> {
    print_session_init("session-of-retries")?;
    let kind = start.arg_or("rate_limit");
    let (kind, works) = kind.strip_suffix('+').map_or((kind, false), |kind| (kind, true));
    for attempt in 1.. {
        print_retry(kind, attempt)?;
        if works {
            claude::print_tool_use("Bash", "true", "ok")?;
        }
        if attempt == 2 {
            report_ready()?;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(0)
}

pub(crate) fn print_retry(kind: &str, attempt: u32) -> io::Result<()> {
    let (error, status) = match kind {
        "rate_limit" => ("rate_limit", Some(429)),
        "network" => ("server_error", None),
        "overloaded" => ("overloaded", Some(529)),
        _ => return Err(usage_error(&format!("unknown failure {kind}"))),
    };
    print_record(&json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10,
        "retry_delay_ms": 50, "error_status": status, "error": error}))
}
