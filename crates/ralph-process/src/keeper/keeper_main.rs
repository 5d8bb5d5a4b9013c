//! The main loop of the keeper process: assigns a supervisor to each job, and cleans up after supervisors that were
//! killed. It runs no program itself.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{chdir, setsid};

use crate::keeper::supervisors::Supervisors;
use crate::unix::child_exit_notifier::ChildExitNotifier;
use crate::unix::fds::{close_all_except, receive_job};
use crate::unix::platform;
use crate::unix::signals;

/// Serves ralph until it exits, then stays until all of its processes are gone.
pub(crate) fn run_keeper(ralph_socket: &UnixStream) {
    let Some(exit_notifier) = detach(ralph_socket) else { return };
    let mut supervisors = Supervisors::default();
    supervisors.prefork_next(&[ralph_socket.as_fd(), exit_notifier.as_fd()]);
    loop {
        let Some([child_exited, has_job, has_started]) =
            wait_for_event(&exit_notifier, ralph_socket, supervisors.starting_channel())
        else {
            continue;
        };
        if child_exited {
            exit_notifier.clear();
            supervisors.reap_dead_supervisors(&exit_notifier);
        }
        if has_job {
            match receive_job(ralph_socket.as_fd()) {
                Some(job) => supervisors.assign_job(job, &[ralph_socket.as_fd(), exit_notifier.as_fd()]),
                None => return supervisors.wait_for_all(&exit_notifier),
            }
        } else if has_started {
            supervisors.prefork_next(&[ralph_socket.as_fd(), exit_notifier.as_fd()]);
        }
    }
}

/// Waits for an event. Returns whether a child has exited, a job was sent, and the last job has been started; `None` if
/// the wait was interrupted.
fn wait_for_event(
    exit_notifier: &ChildExitNotifier,
    ralph_socket: &UnixStream,
    starting_channel: Option<&UnixStream>,
) -> Option<[bool; 3]> {
    let mut fds =
        [exit_notifier.as_fd(), ralph_socket.as_fd(), starting_channel.map_or(exit_notifier.as_fd(), AsFd::as_fd)]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    poll(&mut fds, None).ok()?;
    let [child_exited, has_job, has_started] = fds.map(|fd| !fd.revents().is_empty());
    Some([child_exited, has_job, has_started && starting_channel.is_some()])
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
