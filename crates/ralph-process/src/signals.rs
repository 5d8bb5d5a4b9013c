//! Sets what this process does on signals. Used by keeper and supervisors, and once by ralph itself at the start.
//! It never sends one.

use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};

/// The end of a bell that the signal handler writes to. A supervisor is forked with the keeper's and sets its own.
static CHILD_EXIT_FD: AtomicI32 = AtomicI32::new(NO_FD);

const NO_FD: RawFd = -1;

/// Signals that would end or stop a keeper or supervisor, sent by a terminal, a user or the agent itself.
const SURVIVED_SIGNALS: [libc::c_int; 13] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

/// Number of the last signal on any platform; setting one that does not exist fails without harm.
const LAST_SIGNAL: libc::c_int = 64;

/// Gives every signal its default disposition and blocks none.
///
/// Whoever started ralph may have ignored or blocked some (`nohup`, a careless service manager). Both pass through
/// `exec`, and an agent that inherits them cannot be terminated.
pub(super) fn reset_all_signals() {
    (1..=LAST_SIGNAL).for_each(|signal| set_disposition(signal, libc::SIG_DFL, 0));
    unblock_all_signals();
}

/// Makes ralph itself able to wait for children, whatever it inherited. Leaves `nohup`'s SIGHUP alone.
pub(super) fn reset_child_signal() {
    set_disposition(libc::SIGCHLD, libc::SIG_DFL, 0);
    unblock_all_signals();
}

/// A closed terminal is no reason to stop.
pub(super) fn ignore_hangup() {
    set_disposition(libc::SIGHUP, libc::SIG_IGN, 0);
}

/// Tells whether a closed terminal is no reason to stop: `nohup` and the background say so.
#[expect(unsafe_code, reason = "no safe wrapper asks for a signal's disposition")]
#[must_use]
pub fn is_hangup_ignored() -> bool {
    // SAFETY: an all-zero sigaction is valid, and without a new action the call only writes into it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Lets a write beyond the allowed size of a file fail with its error instead of ending ralph. Jobs do not inherit it.
pub fn ignore_file_size_signal() {
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN, 0);
}

/// Survives everything but SIGKILL and SIGSTOP. A caught signal, unlike an ignored one, is default again after `exec`.
pub(super) fn survive_signals() {
    let handler: extern "C" fn(libc::c_int) = ignore_signal;
    SURVIVED_SIGNALS.into_iter().for_each(|signal| set_disposition(signal, handler as usize, libc::SA_RESTART));
}

/// Writes a byte into `bell` whenever a child ends.
#[expect(unsafe_code, reason = "the handler holds a bell by its number")]
pub(super) fn notify_on_child_exit(notifier: UnixStream) {
    let handler: extern "C" fn(libc::c_int) = write_child_exit;
    let inherited = CHILD_EXIT_FD.swap(notifier.into_raw_fd(), Ordering::Relaxed);
    set_disposition(libc::SIGCHLD, handler as usize, libc::SA_RESTART | libc::SA_NOCLDSTOP);
    if inherited != NO_FD {
        // SAFETY: only this function sets the number, from a bell that it owns, and the handler no longer uses it.
        drop(unsafe { OwnedFd::from_raw_fd(inherited) });
    }
}

extern "C" fn ignore_signal(_signal: libc::c_int) {}

#[expect(unsafe_code, reason = "the handler holds a bell by its number")]
extern "C" fn write_child_exit(_signal: libc::c_int) {
    // SAFETY: the handler is set after the bell, whose number is closed only once another has taken its place.
    let notifier = unsafe { BorrowedFd::borrow_raw(CHILD_EXIT_FD.load(Ordering::Relaxed)) };
    // A full buffer means that a ring is already waiting to be heard.
    let _ = rustix::io::write(notifier, &[1]);
}

#[expect(unsafe_code, reason = "no safe wrapper sets a signal's disposition")]
fn set_disposition(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
    // SAFETY: an all-zero sigaction is valid and has an empty mask; the handlers above only make
    // async-signal-safe calls; a bad signal number is refused with an error.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

#[expect(unsafe_code, reason = "no safe wrapper sets the signal mask")]
fn unblock_all_signals() {
    // SAFETY: the set is initialised by sigemptyset before it is read.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
