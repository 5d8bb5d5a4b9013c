//! Requests for the state of a run: SIGUSR1, SIGINFO (Ctrl-T) where there is one, and Enter in the terminal.
use std::convert::Infallible;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::report::StateRequester;

/// How often the thread that waits for Enter checks whether the run has ended.
const END_POLL_SECONDS: i64 = 1;

/// Passes every request on to the report. Never returns; a signal that cannot be received is not listened to.
pub async fn forward_state_requests(requester: StateRequester) -> Infallible {
    let mut user_signal = signal(SignalKind::user_defined1()).ok();
    let mut info_signal = info_signal();
    let mut enter_keys = read_enter_keys();
    loop {
        tokio::select! {
            () = recv_signal(user_signal.as_mut()) => requester.request_state(),
            () = recv_signal(info_signal.as_mut()) => requester.request_state(),
            () = recv_key(enter_keys.as_mut()) => requester.request_state(),
        }
    }
}

#[cfg(target_os = "macos")]
fn info_signal() -> Option<Signal> {
    signal(SignalKind::info()).ok()
}

#[cfg(not(target_os = "macos"))]
fn info_signal() -> Option<Signal> {
    None
}

async fn recv_signal(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn recv_key(keys: Option<&mut UnboundedReceiver<()>>) {
    match keys {
        Some(keys) if !keys.is_closed() => match keys.recv().await {
            Some(()) => {}
            None => std::future::pending().await,
        },
        Some(_) | None => std::future::pending().await,
    }
}

/// Starts a thread that waits for Enter, if a person can press it: stdin and stderr are the terminal.
fn read_enter_keys() -> Option<UnboundedReceiver<()>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let (sender, keys) = unbounded_channel();
    std::thread::Builder::new().name("enter".to_owned()).spawn(move || wait_for_keys(&sender)).ok()?;
    Some(keys)
}

fn wait_for_keys(sender: &UnboundedSender<()>) {
    let stdin = io::stdin();
    while !sender.is_closed() {
        // A read in the background would stop the whole process (SIGTTIN), so then only time passes.
        let has_key = match is_in_foreground() {
            true => poll_with_timeout(&mut [PollFd::new(&stdin, PollFlags::IN)]),
            false => poll_with_timeout(&mut []),
        };
        if !has_key || !is_in_foreground() {
            continue;
        }
        let mut typed = [0; 256];
        match stdin.lock().read(&mut typed) {
            // The terminal is gone.
            Ok(0) | Err(_) => return,
            Ok(_) => drop(sender.send(())),
        }
    }
}

fn poll_with_timeout(polled: &mut [PollFd<'_>]) -> bool {
    let timeout = Timespec { tv_sec: END_POLL_SECONDS, tv_nsec: 0 };
    poll(polled, Some(&timeout)).is_ok_and(|count| count > 0)
}

/// Returns whether this process may read from the terminal.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin().as_fd()).is_ok_and(|group| group == rustix::process::getpgrp())
}
