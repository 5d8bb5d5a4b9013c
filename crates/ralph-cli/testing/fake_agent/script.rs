//! `script FILE`: one step per start. Lines `---` separate the steps in the file; the number of lines in FA_COUNT selects
//! the step, and the last one repeats. Lines that start with `#` are comments.
//! In every text `\n` is a newline, `{promise}` the promise tag and `{n}` the number of the start.
//!
//!   text TEXT           prints a line            stderr TEXT      the same on stderr
//!   init                Claude: the session      say TEXT         Claude: a message
//!   tool NAME COMMAND   Claude: a tool call      result TEXT      Claude: the final record
//!   call TOOL JSON      Claude: calls a tool of `ralph mcp`, by the protocol with `initialize`
//!   ask TOOL JSON       the same by the protocol without a session
//!   fail KIND           Claude: an API failure, as in claude-api-error
//!   converse TEXT       Claude: opens a persistent session (`--resume ID`), prints TEXT as message and result
//!   open                Claude: opens the session only   as ID     Claude: reports another session id
//!   forget              loses all sessions       limit SECONDS    Claude: a rate limit of that length
//!   prompt PATH         writes the prompt there  answer TEXT      writes the file that the prompt asks for
//!   write PATH TEXT     replaces a file          append PATH TEXT adds a line to it
//!   remove PATH         deletes a file           commit MESSAGE   commits everything by git
//!   touch PATH          creates a file           wait PATH        waits until the file exists
//!   hang                sleeps                   signal NAME      dies by a signal
//!   exit CODE           exits at once (0 at the end of a step)
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Mode;
use crate::agent_start::{
    AgentStart, print_error, print_output, report_ready, starts_so_far, usage_error, wait_for_file,
};
use crate::claude;
use crate::claude_session;
use crate::lifetime_modes::{die_by_signal, parse_signal};
use crate::mcp_client::{self, Revision};

pub(crate) const MODES: &[(&str, Mode)] = &[("script", script)];

/// The effect of a command on the script.
enum NextAction {
    Continue,
    Exit(u8),
}

type Order = fn(&AgentStart, &str) -> io::Result<NextAction>;

const ORDERS: &[(&str, Order)] = &[
    ("text", |_, text| print_output(format!("{text}\n")).map(continue_script)),
    ("stderr", stderr),
    ("init", |start, _| claude::print_init(&start.args).map(continue_script)),
    ("say", |_, text| claude::print_message(text).map(continue_script)),
    ("tool", tool),
    ("call", |_, text| mcp_client::call_tool(text, Revision::Initialized).map(continue_script)),
    ("ask", |_, text| mcp_client::call_tool(text, Revision::Stateless).map(continue_script)),
    ("result", |_, text| claude::print_result(text, 0.01).map(continue_script)),
    ("fail", |_, kind| claude::print_failure(kind).map(continue_script)),
    ("converse", |start, text| claude_session::answer_in_session(start, text).map(continue_if)),
    ("open", |start, _| claude_session::open_session(start).map(|id| continue_if(id.is_some()))),
    ("as", |_, id| claude_session::print_session_init(id).map(continue_script)),
    ("forget", |_, _| claude_session::delete_sessions().map(continue_script)),
    ("limit", |_, seconds| claude_session::print_rate_limit_for(seconds).map(continue_script)),
    ("prompt", |start, path| fs::write(path, &start.prompt).map(continue_script)),
    ("answer", answer),
    ("write", write),
    ("append", append),
    ("remove", |_, path| fs::remove_file(path).map(continue_script)),
    ("commit", commit),
    ("touch", |_, path| File::create(path).map(drop).map(continue_script)),
    ("wait", wait),
    ("hang", hang),
    ("signal", |_, name| die_by_signal(parse_signal(name)?).map(NextAction::Exit)),
    ("exit", exit),
];

fn continue_script((): ()) -> NextAction {
    NextAction::Continue
}

/// Exits if the session is lost.
fn continue_if(exists: bool) -> NextAction {
    if exists { NextAction::Continue } else { NextAction::Exit(1) }
}

fn script(start: &AgentStart) -> io::Result<u8> {
    let file = fs::read_to_string(start.arg_or(""))?;
    let number = starts_so_far();
    for line in select_step(&file, number) {
        if let NextAction::Exit(code) = perform_order(start, line, number)? {
            return Ok(code);
        }
    }
    Ok(0)
}

/// Returns the orders for the start with that number, from 1.
pub(crate) fn select_step(file: &str, number: usize) -> Vec<&str> {
    let steps: Vec<Vec<&str>> = file
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .split(|line| *line == "---")
        .map(|step| step.iter().copied().filter(|line| !line.is_empty() && !line.starts_with('#')).collect())
        .collect();
    let last = steps.len().saturating_sub(1);
    steps.into_iter().nth(number.saturating_sub(1).min(last)).unwrap_or_default()
}

fn perform_order(start: &AgentStart, line: &str, number: usize) -> io::Result<NextAction> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let known = ORDERS.iter().find(|(known, _)| *known == name);
    let (_, order) = known.ok_or_else(|| usage_error(&format!("unknown order {name}")))?;
    let text = rest.trim().replace("\\n", "\n").replace("{promise}", &start.tag).replace("{n}", &number.to_string());
    order(start, &text)
}

fn stderr(_: &AgentStart, text: &str) -> io::Result<NextAction> {
    print_error(&format!("{text}\n"));
    Ok(NextAction::Continue)
}

fn wait(_: &AgentStart, path: &str) -> io::Result<NextAction> {
    wait_for_file(path);
    Ok(NextAction::Continue)
}

fn tool(_: &AgentStart, text: &str) -> io::Result<NextAction> {
    let (name, command) = text.split_once(' ').unwrap_or((text, ""));
    claude::print_tool_use(name, command, "ok").map(continue_script)
}

fn write(_: &AgentStart, text: &str) -> io::Result<NextAction> {
    let (path, content) = text.split_once(' ').unwrap_or((text, ""));
    fs::write(path, format!("{content}\n")).map(continue_script)
}

/// The prompt names the file in backticks.
fn answer(start: &AgentStart, text: &str) -> io::Result<NextAction> {
    let prompt = String::from_utf8_lossy(&start.prompt);
    let named = prompt.split_once("into the file `").and_then(|(_, rest)| rest.split_once('`'));
    let (path, _) = named.ok_or_else(|| usage_error("the prompt names no file"))?;
    fs::write(path, format!("{text}\n")).map(continue_script)
}

fn append(_: &AgentStart, text: &str) -> io::Result<NextAction> {
    let (path, content) = text.split_once(' ').unwrap_or((text, ""));
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{content}\n").as_bytes()).map(continue_script)
}

/// Sets an identity, because the machine may have none configured.
fn commit(_: &AgentStart, message: &str) -> io::Result<NextAction> {
    run_git(&["add", "-A"])?;
    let identity = ["-c", "user.name=Fake Agent", "-c", "user.email=agent@example.invalid"];
    run_git(&[&identity[..], &["commit", "-q", "--allow-empty", "-m", message]].concat())?;
    Ok(NextAction::Continue)
}

fn run_git(args: &[&str]) -> io::Result<()> {
    let status = Command::new("git").args(args).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("git {args:?}: {status}"))) }
}

fn hang(_: &AgentStart, _: &str) -> io::Result<NextAction> {
    report_ready()?;
    std::thread::sleep(Duration::from_secs(3600));
    Ok(NextAction::Exit(0))
}

fn exit(_: &AgentStart, code: &str) -> io::Result<NextAction> {
    code.parse().map(NextAction::Exit).map_err(|_| usage_error(&format!("{code:?} is not an exit code")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_has_its_step_and_the_last_one_repeats() {
        let file = "# first\ntext one\n---\n\n  text two\n  exit 1\n---\ntext - three\n";
        assert_eq!(select_step(file, 1), ["text one"]);
        assert_eq!(select_step(file, 2), ["text two", "exit 1"]);
        assert_eq!(select_step(file, 3), ["text - three"]);
        assert_eq!(select_step(file, 9), ["text - three"]);
        assert_eq!(select_step("", 1), [""; 0]);
    }
}
