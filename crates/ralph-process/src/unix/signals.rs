//! Sets the signal dispositions of this process. Used by the keeper, the supervisors, and ralph itself at startup.
//! Hand-written because no safe wrapper sets a disposition or the signal mask.

use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};

/// The descriptor that the SIGCHLD handler writes to. A supervisor inherits the keeper's and replaces it.
static CHILD_EXIT_FD: AtomicI32 = AtomicI32::new(NO_FD);

const NO_FD: RawFd = -1;

/// Signals from a terminal, a user or the agent that would otherwise end or stop a keeper or supervisor.
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

/// The highest signal number on any platform. Setting a signal that does not exist fails without effect.
const LAST_SIGNAL: libc::c_int = 64;

/// Resets every signal to its default disposition and unblocks all signals.
///
/// The process that started ralph may have ignored or blocked signals (`nohup`, some service managers). Both survive
/// `exec`, and an agent that inherits them could not be terminated.
pub(crate) fn reset_all_signals() {
    (1..=LAST_SIGNAL).for_each(|signal| set_disposition(signal, libc::SIG_DFL, 0));
    unblock_all_signals();
}

/// Resets SIGCHLD and the signal mask, so that ralph can wait for children. Keeps a SIGHUP that `nohup` ignored.
pub(crate) fn reset_child_signal() {
    set_disposition(libc::SIGCHLD, libc::SIG_DFL, 0);
    unblock_all_signals();
}

pub(crate) fn ignore_hangup() {
    set_disposition(libc::SIGHUP, libc::SIG_IGN, 0);
}

/// Returns whether SIGHUP is ignored, as it is under `nohup` and in the background.
#[expect(unsafe_code, reason = "no safe wrapper reads a signal's disposition")]
#[must_use]
pub fn is_hangup_ignored() -> bool {
    // SAFETY: an all-zero sigaction is valid, and without a new action the call only writes into it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Makes a write beyond the file size limit fail with an error instead of killing ralph. Jobs do not inherit this.
pub fn ignore_file_size_signal() {
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN, 0);
}

/// Makes this process survive every signal except SIGKILL and SIGSTOP. The signals are caught, not ignored, so that
/// `exec` resets them to their default.
pub(crate) fn survive_signals() {
    let handler: extern "C" fn(libc::c_int) = ignore_signal;
    SURVIVED_SIGNALS.into_iter().for_each(|signal| set_disposition(signal, handler as usize, libc::SA_RESTART));
}

/// Writes a byte to `notifier` whenever a child exits.
#[expect(unsafe_code, reason = "the signal handler refers to the descriptor by its number")]
pub(crate) fn notify_on_child_exit(notifier: UnixStream) {
    let handler: extern "C" fn(libc::c_int) = write_child_exit;
    let inherited = CHILD_EXIT_FD.swap(notifier.into_raw_fd(), Ordering::Relaxed);
    set_disposition(libc::SIGCHLD, handler as usize, libc::SA_RESTART | libc::SA_NOCLDSTOP);
    if inherited != NO_FD {
        // SAFETY: only this function sets the number, from a descriptor that it owned, and the handler no longer uses
        // it.
        drop(unsafe { OwnedFd::from_raw_fd(inherited) });
    }
}

extern "C" fn ignore_signal(_signal: libc::c_int) {}

#[expect(unsafe_code, reason = "the signal handler refers to the descriptor by its number")]
extern "C" fn write_child_exit(_signal: libc::c_int) {
    // SAFETY: the number is stored before the handler is installed, and is closed only after another has replaced it.
    let notifier = unsafe { BorrowedFd::borrow_raw(CHILD_EXIT_FD.load(Ordering::Relaxed)) };
    // If the buffer is full, a notification is already pending.
    let _ = rustix::io::write(notifier, &[1]);
}

#[expect(unsafe_code, reason = "no safe wrapper sets a signal's disposition")]
fn set_disposition(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
    // SAFETY: an all-zero sigaction is valid and has an empty mask; the handlers above only make
    // async-signal-safe calls; an invalid signal number only returns an error.
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
