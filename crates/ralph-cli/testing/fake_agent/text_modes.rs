//! Modes that read a prompt and answer in plain text.
use std::io::{self, IsTerminal};

use rustix::process::{getpgrp, getpid};

use crate::Mode;
use crate::agent_start::{AgentStart, print_error, print_output, starts_so_far};

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("complete", complete),
    ("work", work),
    ("complete-on", complete_on),
    ("exit", exit),
    ("promise-exit", promise_exit),
    ("echo", echo),
    ("env", env),
    ("fds", fds),
    ("tty-check", tty_check),
    ("close-stdin", close_stdin),
    ("no-read", no_read),
    ("stderr-mix", stderr_mix),
];

fn complete(start: &AgentStart) -> io::Result<u8> {
    print_output(format!("Work finished, checks are green.\n\n{}\n", start.tag))?;
    Ok(0)
}

fn work(_: &AgentStart) -> io::Result<u8> {
    print_output("One story done, more remain.\n")?;
    Ok(0)
}

fn complete_on(start: &AgentStart) -> io::Result<u8> {
    let done = starts_so_far() >= start.number_or(1)?;
    print_output(if done { format!("All done.\n\n{}\n", start.tag) } else { "Not yet.\n".to_owned() })?;
    Ok(0)
}

fn exit(start: &AgentStart) -> io::Result<u8> {
    print_output("bye\n")?;
    start.number_or(0)
}

fn promise_exit(start: &AgentStart) -> io::Result<u8> {
    print_output(format!("Done.\n\n{}\n", start.tag))?;
    start.number_or(1)
}

fn echo(start: &AgentStart) -> io::Result<u8> {
    print_output([b"user\n", start.prompt.as_slice(), b"\n\nassistant\nnot finished\n"].concat())?;
    Ok(0)
}

fn env(_: &AgentStart) -> io::Result<u8> {
    let mut lines: Vec<_> =
        std::env::vars_os().map(|(name, value)| format!("{}={}\n", name.display(), value.display())).collect();
    lines.sort();
    print_output(lines.concat())?;
    Ok(0)
}

/// Prints the open file descriptors, without the one that reads the folder.
fn fds(_: &AgentStart) -> io::Result<u8> {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let names: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.file_name()).collect();
    let mut open: Vec<u32> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    open.retain(|fd| std::fs::metadata(format!("{folder}/{fd}")).is_ok());
    open.sort_unstable();
    let numbers: Vec<_> = open.iter().map(ToString::to_string).collect();
    print_output(format!("{}\n", numbers.join(" ")))?;
    Ok(0)
}

fn tty_check(_: &AgentStart) -> io::Result<u8> {
    let (input, output) = (io::stdin().is_terminal(), io::stdout().is_terminal());
    let leads = getpgrp() == getpid();
    print_output(format!("stdin={input} stdout={output} pgid_leader={leads}\n"))?;
    Ok(0)
}

/// Closes stdin, so that ralph writes to a closed pipe.
#[expect(unsafe_code, reason = "no safe interface closes stdin")]
fn close_stdin(start: &AgentStart) -> io::Result<u8> {
    // SAFETY: this mode does not read stdin, so the descriptor is not used afterwards.
    unsafe { libc::close(libc::STDIN_FILENO) };
    print_output(format!("{}\n", start.tag))?;
    Ok(0)
}

fn no_read(start: &AgentStart) -> io::Result<u8> {
    std::thread::sleep(start.seconds_or(1.0)?);
    print_output(format!("{}\n", start.tag))?;
    Ok(0)
}

fn stderr_mix(start: &AgentStart) -> io::Result<u8> {
    for line in 0..start.number_or(2_000_u32)? {
        print_output(format!("out {line}\n"))?;
        print_error(&format!("err {line} {}\n", start.tag));
    }
    print_output("not finished\n")?;
    Ok(0)
}
