//! Modes with children that outlive them, each in a separate session. Instead of forking, the program starts itself
//! again in an internal mode.
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::setsid;

use crate::Mode;
use crate::agent_start::{AgentStart, print_output, report_ready, usage_error, wait_for_file};

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("grandchild", grandchild),
    ("grandchild-writes", grandchild_writes),
    ("daemon", daemon),
    ("forkbomb-lite", forkbomb_lite),
    ("in-new-session", in_new_session),
    ("daemon-first", daemon_first),
    ("daemon-second", daemon_second),
];

fn grandchild(start: &AgentStart) -> io::Result<u8> {
    own_command(&["in-new-session", "sleep", start.arg_or("60")])?.spawn()?;
    report_ready()?;
    print_output(format!("{}\n", start.tag))?;
    Ok(0)
}

fn grandchild_writes(start: &AgentStart) -> io::Result<u8> {
    let script = format!("sleep {}; echo late; echo '{}'", start.arg_or("1"), start.tag);
    own_command(&["in-new-session", "sh", "-c", &script])?.spawn()?;
    print_output("main part says: not finished\n")?;
    Ok(0)
}

/// The classic double fork: the first child leaves the session and exits, so that the second is an orphan.
fn daemon(start: &AgentStart) -> io::Result<u8> {
    let file = start.arg_or("/tmp/fa_daemon.pid");
    own_command(&["daemon-first", file])?.status()?;
    wait_for_file(file);
    report_ready()?;
    print_output("started a daemon\n")?;
    Ok(0)
}

fn daemon_first(start: &AgentStart) -> io::Result<u8> {
    setsid()?;
    own_command(&["daemon-second", start.arg_or("")])?.spawn()?;
    Ok(0)
}

/// Writes the pid file by a rename, so that a reader never finds it empty.
fn daemon_second(start: &AgentStart) -> io::Result<u8> {
    let file = start.arg_or("");
    let temporary = format!("{file}.new");
    std::fs::write(&temporary, std::process::id().to_string())?;
    std::fs::rename(temporary, file)?;
    std::thread::sleep(Duration::from_secs(600));
    Ok(0)
}

fn forkbomb_lite(start: &AgentStart) -> io::Result<u8> {
    for _ in 0..start.number_or(200_u32)? {
        Command::new("sleep").arg("30").spawn()?;
    }
    print_output("spawned\n")?;
    report_ready()?;
    std::thread::sleep(Duration::from_secs(30));
    Ok(0)
}

fn in_new_session(start: &AgentStart) -> io::Result<u8> {
    setsid()?;
    let (program, args) = start.args.split_first().ok_or_else(|| usage_error("no command"))?;
    Err(Command::new(program).args(args).exec())
}

/// Returns a command that starts this program again.
pub(crate) fn own_command(args: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).stdin(Stdio::null());
    Ok(command)
}
