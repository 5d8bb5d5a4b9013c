//! Modes that keep running, resist signals, or die.
use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use crate::Mode;
use crate::agent_start::{AgentStart, print_output, report_ready, usage_error, wait_for_file};

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("hang", hang),
    ("silent-hang", silent_hang),
    ("ignore-term", ignore_term),
    ("slow-term", slow_term),
    ("signal-self", signal_self),
    ("wait-file", wait_file),
    ("ready-file", ready_file),
    ("chdir-rm", chdir_rm),
    ("touch-state", touch_state),
];

const ONE_HOUR_SECONDS: f64 = 3600.0;

const SIGNALS: &[(&str, Signal)] = &[
    ("SIGSEGV", Signal::SEGV),
    ("SIGABRT", Signal::ABORT),
    ("SIGKILL", Signal::KILL),
    ("SIGTERM", Signal::TERM),
    ("SIGINT", Signal::INT),
    ("SIGHUP", Signal::HUP),
    ("SIGSTOP", Signal::STOP),
];

fn hang(start: &AgentStart) -> io::Result<u8> {
    print_output("thinking...\n")?;
    silent_hang(start)
}

fn silent_hang(start: &AgentStart) -> io::Result<u8> {
    report_ready()?;
    std::thread::sleep(start.seconds_or(ONE_HOUR_SECONDS)?);
    Ok(0)
}

fn ignore_term(start: &AgentStart) -> io::Result<u8> {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        set_signal_action(signal, libc::SIG_IGN);
    }
    print_output("ready\n")?;
    silent_hang(start)
}

fn slow_term(start: &AgentStart) -> io::Result<u8> {
    let cleaning = start.seconds_or(2.0)?;
    let term = block_sigterm();
    print_output("ready\n")?;
    report_ready()?;
    wait_for_signal(&term);
    std::thread::sleep(cleaning);
    print_output("cleaned up\n")?;
    Ok(0)
}

fn signal_self(start: &AgentStart) -> io::Result<u8> {
    print_output("about to crash\n")?;
    die_by_signal(parse_signal(start.arg_or("SIGSEGV"))?)
}

pub(crate) fn parse_signal(name: &str) -> io::Result<Signal> {
    let found = SIGNALS.iter().find(|(known, _)| known.trim_start_matches("SIG") == name.trim_start_matches("SIG"));
    found.map(|(_, signal)| *signal).ok_or_else(|| usage_error(&format!("unknown signal {name}")))
}

/// Dies by the signal. The Rust runtime handles SIGSEGV, so the default action is restored first.
pub(crate) fn die_by_signal(signal: Signal) -> io::Result<u8> {
    set_signal_action(signal, libc::SIG_DFL);
    kill_process(getpid(), signal)?;
    std::thread::sleep(Duration::from_secs(1));
    Ok(1)
}

fn wait_file(start: &AgentStart) -> io::Result<u8> {
    report_ready()?;
    wait_for_file(start.arg_or(""));
    print_output(format!("The file is there.\n\n{}\n", start.tag))?;
    Ok(0)
}

fn ready_file(start: &AgentStart) -> io::Result<u8> {
    File::create(start.arg_or(""))?;
    std::thread::sleep(Duration::from_secs_f64(ONE_HOUR_SECONDS));
    Ok(0)
}

fn chdir_rm(_: &AgentStart) -> io::Result<u8> {
    let _ = std::fs::remove_dir_all(std::env::current_dir()?);
    print_output("removed my own directory\n")?;
    Ok(0)
}

fn touch_state(start: &AgentStart) -> io::Result<u8> {
    for entry in std::fs::read_dir(start.arg_or("."))? {
        let _ = std::fs::write(entry?.path(), b"garbage");
    }
    print_output(format!("{}\n", start.tag))?;
    Ok(0)
}

#[expect(unsafe_code, reason = "no safe interface sets the action of a signal")]
fn set_signal_action(signal: Signal, action: libc::sighandler_t) {
    // SAFETY: SIG_IGN and SIG_DFL run no code of this program.
    unsafe { libc::signal(signal.as_raw(), action) };
}

/// Blocks SIGTERM, so that it stays pending instead of ending the process.
#[expect(unsafe_code, reason = "no safe interface blocks a signal")]
fn block_sigterm() -> libc::sigset_t {
    // SAFETY: the set is zeroed and then initialised before use, and this process has one thread.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    }
}

#[expect(unsafe_code, reason = "no safe interface waits for a blocked signal")]
fn wait_for_signal(set: &libc::sigset_t) {
    let mut signal = 0;
    // SAFETY: both pointers are to live values of the right type.
    unsafe { libc::sigwait(set, &raw mut signal) };
}
