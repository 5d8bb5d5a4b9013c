//! `script FILE`: one step per start. Lines `---` separate the steps in the file; the number of lines in FA_COUNT selects
//! the step, and the last one repeats. Lines that start with `#` are comments.
//! In every text `\n` is a newline, `{promise}` the promise tag and `{n}` the number of the start.
//!
//!   text TEXT           prints a line            stderr TEXT      the same on stderr
//!   init                Claude: the session      say TEXT         Claude: a message
//!   tool NAME COMMAND   Claude: a tool call      result TEXT      Claude: the final record
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
use crate::claude;
use crate::life::{die_by, signal_named};
use crate::session;
use crate::start::{Start, complain, ready, say, starts_so_far, usage, wait_for};

pub(crate) const MODES: &[(&str, Mode)] = &[("script", script)];

/// What follows an order.
enum Next {
    Continue,
    Exit(u8),
}

type Order = fn(&Start, &str) -> io::Result<Next>;

const ORDERS: &[(&str, Order)] = &[
    ("text", |_, text| say(format!("{text}\n")).map(proceed)),
    ("stderr", stderr),
    ("init", |start, _| claude::init(&start.args).map(proceed)),
    ("say", |_, text| claude::speak(text).map(proceed)),
    ("tool", tool),
    ("result", |_, text| claude::result(text, 0.01).map(proceed)),
    ("fail", |_, kind| claude::fail(kind).map(proceed)),
    ("converse", |start, text| session::converse(start, text).map(or_exit)),
    ("open", |start, _| session::open(start).map(|id| or_exit(id.is_some()))),
    ("as", |_, id| session::introduce(id).map(proceed)),
    ("forget", |_, _| session::forget().map(proceed)),
    ("limit", |_, seconds| session::limit(seconds).map(proceed)),
    ("prompt", |start, path| fs::write(path, &start.prompt).map(proceed)),
    ("answer", answer),
    ("write", write),
    ("append", append),
    ("remove", |_, path| fs::remove_file(path).map(proceed)),
    ("commit", commit),
    ("touch", |_, path| File::create(path).map(drop).map(proceed)),
    ("wait", wait),
    ("hang", hang),
    ("signal", |_, name| die_by(signal_named(name)?).map(Next::Exit)),
    ("exit", exit),
];

fn proceed((): ()) -> Next {
    Next::Continue
}

/// Exits if the session is lost.
fn or_exit(exists: bool) -> Next {
    if exists { Next::Continue } else { Next::Exit(1) }
}

fn script(start: &Start) -> io::Result<u8> {
    let file = fs::read_to_string(start.arg_or(""))?;
    let number = starts_so_far();
    for line in step(&file, number) {
        if let Next::Exit(code) = perform(start, line, number)? {
            return Ok(code);
        }
    }
    Ok(0)
}

/// Returns the orders for the start with that number, from 1.
pub(crate) fn step(file: &str, number: usize) -> Vec<&str> {
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

fn perform(start: &Start, line: &str, number: usize) -> io::Result<Next> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let known = ORDERS.iter().find(|(known, _)| *known == name);
    let (_, order) = known.ok_or_else(|| usage(&format!("unknown order {name}")))?;
    let text = rest.trim().replace("\\n", "\n").replace("{promise}", &start.tag).replace("{n}", &number.to_string());
    order(start, &text)
}

fn stderr(_: &Start, text: &str) -> io::Result<Next> {
    complain(&format!("{text}\n"));
    Ok(Next::Continue)
}

fn wait(_: &Start, path: &str) -> io::Result<Next> {
    wait_for(path);
    Ok(Next::Continue)
}

fn tool(_: &Start, text: &str) -> io::Result<Next> {
    let (name, command) = text.split_once(' ').unwrap_or((text, ""));
    claude::use_tool(name, command, "ok").map(proceed)
}

fn write(_: &Start, text: &str) -> io::Result<Next> {
    let (path, content) = text.split_once(' ').unwrap_or((text, ""));
    fs::write(path, format!("{content}\n")).map(proceed)
}

/// The prompt names the file in backticks.
fn answer(start: &Start, text: &str) -> io::Result<Next> {
    let prompt = String::from_utf8_lossy(&start.prompt);
    let named = prompt.split_once("into the file `").and_then(|(_, rest)| rest.split_once('`'));
    let (path, _) = named.ok_or_else(|| usage("the prompt names no file"))?;
    fs::write(path, format!("{text}\n")).map(proceed)
}

fn append(_: &Start, text: &str) -> io::Result<Next> {
    let (path, content) = text.split_once(' ').unwrap_or((text, ""));
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{content}\n").as_bytes()).map(proceed)
}

/// Sets an identity, because the machine may have none configured.
fn commit(_: &Start, message: &str) -> io::Result<Next> {
    git(&["add", "-A"])?;
    let identity = ["-c", "user.name=Fake Agent", "-c", "user.email=agent@example.invalid"];
    git(&[&identity[..], &["commit", "-q", "--allow-empty", "-m", message]].concat())?;
    Ok(Next::Continue)
}

fn git(args: &[&str]) -> io::Result<()> {
    let status = Command::new("git").args(args).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("git {args:?}: {status}"))) }
}

fn hang(_: &Start, _: &str) -> io::Result<Next> {
    ready()?;
    std::thread::sleep(Duration::from_secs(3600));
    Ok(Next::Exit(0))
}

fn exit(_: &Start, code: &str) -> io::Result<Next> {
    code.parse().map(Next::Exit).map_err(|_| usage(&format!("{code:?} is not an exit code")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_has_its_step_and_the_last_one_repeats() {
        let file = "# first\ntext one\n---\n\n  text two\n  exit 1\n---\ntext - three\n";
        assert_eq!(step(file, 1), ["text one"]);
        assert_eq!(step(file, 2), ["text two", "exit 1"]);
        assert_eq!(step(file, 3), ["text - three"]);
        assert_eq!(step(file, 9), ["text - three"]);
        assert_eq!(step("", 1), [""; 0]);
    }
}
