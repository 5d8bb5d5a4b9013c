//! Modes with children that outlive them, each in a session of its own. Instead of forking, the program starts
//! itself again in a role that nobody calls by hand.
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::setsid;

use crate::Mode;
use crate::start::{Start, ready, say, usage, wait_for};

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("grandchild", grandchild),
    ("grandchild-writes", grandchild_writes),
    ("daemon", daemon),
    ("forkbomb-lite", forkbomb_lite),
    ("in-new-session", in_new_session),
    ("daemon-first", daemon_first),
    ("daemon-second", daemon_second),
];

fn grandchild(start: &Start) -> io::Result<u8> {
    again(&["in-new-session", "sleep", start.arg_or("60")])?.spawn()?;
    ready()?;
    say(format!("{}\n", start.tag))?;
    Ok(0)
}

fn grandchild_writes(start: &Start) -> io::Result<u8> {
    let script = format!("sleep {}; echo late; echo '{}'", start.arg_or("1"), start.tag);
    again(&["in-new-session", "sh", "-c", &script])?.spawn()?;
    say("main part says: not finished\n")?;
    Ok(0)
}

/// The classic double start: the first child leaves our session and ends, the second belongs to nobody.
fn daemon(start: &Start) -> io::Result<u8> {
    let file = start.arg_or("/tmp/fa_daemon.pid");
    again(&["daemon-first", file])?.status()?;
    wait_for(file);
    ready()?;
    say("started a daemon\n")?;
    Ok(0)
}

fn daemon_first(start: &Start) -> io::Result<u8> {
    setsid()?;
    again(&["daemon-second", start.arg_or("")])?.spawn()?;
    Ok(0)
}

/// Whoever finds the file finds the pid in it: it is written beside and then moved.
fn daemon_second(start: &Start) -> io::Result<u8> {
    let file = start.arg_or("");
    let beside = format!("{file}.new");
    std::fs::write(&beside, std::process::id().to_string())?;
    std::fs::rename(beside, file)?;
    std::thread::sleep(Duration::from_secs(600));
    Ok(0)
}

fn forkbomb_lite(start: &Start) -> io::Result<u8> {
    for _ in 0..start.number_or(200_u32)? {
        Command::new("sleep").arg("30").spawn()?;
    }
    say("spawned\n")?;
    ready()?;
    std::thread::sleep(Duration::from_secs(30));
    Ok(0)
}

fn in_new_session(start: &Start) -> io::Result<u8> {
    setsid()?;
    let (program, args) = start.args.split_first().ok_or_else(|| usage("no command"))?;
    Err(Command::new(program).args(args).exec())
}

pub(crate) fn again(args: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).stdin(Stdio::null());
    Ok(command)
}
