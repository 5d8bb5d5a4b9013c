//! Sets what this process does on signals. Used by keeper and supervisors, and once by ralph itself at the start.
//! It never sends one.

use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

/// The write end of a supervisor's wake-up call. Only a supervisor sets it, before its first child exists.
static WAKE: OnceLock<UnixStream> = OnceLock::new();

/// Signals that would end or stop a keeper or supervisor, sent by a terminal, a user or the agent itself.
const HOSTILE: [libc::c_int; 13] = [
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
const LAST: libc::c_int = 64;

/// Gives every signal its default disposition and blocks none.
///
/// Whoever started ralph may have ignored or blocked some (`nohup`, a careless service manager). Both pass through
/// `exec`, and an agent that inherits them cannot be terminated.
pub(super) fn reset_all() {
    (1..=LAST).for_each(|signal| set(signal, libc::SIG_DFL, 0));
    unblock_all();
}

/// Makes ralph itself able to wait for children, whatever it inherited. Leaves `nohup`'s SIGHUP alone.
pub(super) fn reset_for_waiting() {
    set(libc::SIGCHLD, libc::SIG_DFL, 0);
    unblock_all();
}

/// Survives everything but SIGKILL and SIGSTOP. A caught signal, unlike an ignored one, is default again after `exec`.
pub(super) fn withstand() {
    let handler: extern "C" fn(libc::c_int) = shrug;
    HOSTILE.into_iter().for_each(|signal| set(signal, handler as usize, libc::SA_RESTART));
}

/// Lets the kernel reap the children of this process.
pub(super) fn reap_automatically() {
    set(libc::SIGCHLD, libc::SIG_DFL, libc::SA_NOCLDWAIT);
}

/// Writes a byte into `wake` whenever a child changes state.
pub(super) fn wake_on_child(wake: UnixStream) {
    let handler: extern "C" fn(libc::c_int) = ring;
    if WAKE.set(wake).is_ok() {
        set(libc::SIGCHLD, handler as usize, libc::SA_RESTART | libc::SA_NOCLDSTOP);
    }
}

extern "C" fn shrug(_signal: libc::c_int) {}

extern "C" fn ring(_signal: libc::c_int) {
    // A full buffer means that a wake-up is already waiting.
    if let Some(wake) = WAKE.get() {
        let _ = rustix::io::write(wake, &[1]);
    }
}

#[expect(unsafe_code, reason = "no safe wrapper sets a signal's disposition")]
fn set(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
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
fn unblock_all() {
    // SAFETY: the set is initialised by sigemptyset before it is read.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
