//! The main loop of the keeper process: assigns a supervisor to each job, and cleans up after supervisors that were
//! killed. It runs no program itself.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, chdir, setsid};

use crate::keeper::supervisors::Supervisors;
use crate::unix::child_exit_notifier::ChildExitNotifier;
use crate::unix::fds::{close_all_except, receive_job};
use crate::unix::platform;
use crate::unix::signals;

/// Serves ralph until it exits, then stays until all of its processes are gone.
pub(crate) fn run_keeper(ralph_socket: &UnixStream) {
    let Some(exit_notifier) = detach(ralph_socket) else { return };
    let keeper_fds = [ralph_socket.as_fd(), exit_notifier.as_fd()];
    let mut supervisors = Supervisors::default();
    supervisors.prefork_next(&keeper_fds);
    loop {
        let Some(events) = wait_for_event(&exit_notifier, ralph_socket, &supervisors) else { continue };
        // Read first: a supervisor may exit after its last notice.
        for supervisor in events.notified_by {
            supervisors.read_notices(supervisor, &keeper_fds);
        }
        if events.child_exited {
            exit_notifier.clear();
            supervisors.reap_dead_supervisors(&exit_notifier);
        }
        if events.has_job {
            match receive_job(ralph_socket.as_fd()) {
                Some(job) => supervisors.assign_job(job, &keeper_fds),
                None => return supervisors.wait_for_all(&exit_notifier),
            }
        }
    }
}

/// The events that occurred while the keeper waited.
struct KeeperEvents {
    child_exited: bool,
    /// ralph has sent a job, or is gone.
    has_job: bool,
    /// The supervisors that have sent notices.
    notified_by: Vec<Pid>,
}

/// Waits for an event. Returns `None` if the wait was interrupted.
fn wait_for_event(
    exit_notifier: &ChildExitNotifier,
    ralph_socket: &UnixStream,
    supervisors: &Supervisors,
) -> Option<KeeperEvents> {
    let (pids, sockets): (Vec<Pid>, Vec<BorrowedFd<'_>>) = supervisors.notice_sockets().into_iter().unzip();
    let fds = [exit_notifier.as_fd(), ralph_socket.as_fd()].into_iter().chain(sockets);
    let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    poll(&mut fds, None).ok()?;
    let mut is_ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let (child_exited, has_job) = (is_ready.next()?, is_ready.next()?);
    let notified_by = pids.into_iter().zip(is_ready).filter(|(_, is_ready)| *is_ready).map(|(pid, _)| pid).collect();
    Some(KeeperEvents { child_exited, has_job, notified_by })
}

/// Starts a new session without a terminal, adopts orphans, and makes the process survive every signal except SIGKILL.
fn detach(ralph_socket: &UnixStream) -> Option<ChildExitNotifier> {
    signals::reset_all_signals();
    signals::survive_signals();
    platform::set_process_title("rk-keeper");
    platform::continue_when_parent_dies();
    let _ = setsid();
    // Do not keep the working directory of ralph or its mount busy.
    let _ = chdir("/");
    close_all_except(ralph_socket.as_fd()).ok()?;
    platform::adopt_orphans().ok()?;
    ChildExitNotifier::install().ok()
}
