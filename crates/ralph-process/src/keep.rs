//! The life of the keeper process: has a supervisor for each job, and takes the place of one that was killed.
//! It runs no program itself.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{chdir, setsid};

use super::bell::Bell;
use super::fds::{close_all_but, receive_job};
use super::platform;
use super::signals;
use super::wards::Wards;

/// Serves ralph until it is gone, and then stays until nothing of it is left.
pub(super) fn keep(line: &UnixStream) {
    let Some(bell) = settle(line) else { return };
    let mut wards = Wards::default();
    wards.prepare(&[line.as_fd(), bell.as_fd()]);
    loop {
        let Some([rung, spoken, started]) = wait(&bell, line, wards.starting()) else { continue };
        if rung {
            bell.silence();
            wards.bury(&bell);
        }
        if spoken {
            match receive_job(line.as_fd()) {
                Some(job) => wards.serve(job, &[line.as_fd(), bell.as_fd()]),
                None => return wards.outlive(&bell),
            }
        } else if started {
            wards.prepare(&[line.as_fd(), bell.as_fd()]);
        }
    }
}

/// Waits until something happens, and tells what.
fn wait(bell: &Bell, line: &UnixStream, starting: Option<&UnixStream>) -> Option<[bool; 3]> {
    let mut fds = [bell.as_fd(), line.as_fd(), starting.map_or(bell.as_fd(), AsFd::as_fd)]
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    poll(&mut fds, None).ok()?;
    let [rung, spoken, ended] = fds.map(|fd| !fd.revents().is_empty());
    Some([rung, spoken, ended && starting.is_some()])
}

/// Takes its own session without a terminal, adopts orphans, and becomes deaf to everything but SIGKILL.
fn settle(line: &UnixStream) -> Option<Bell> {
    signals::reset_all();
    signals::withstand();
    platform::name_this_process("rk-keeper");
    platform::go_on_without_parent();
    let _ = setsid();
    // Not to hold a folder or mount that ralph was started in.
    let _ = chdir("/");
    close_all_but(line.as_fd()).ok()?;
    platform::adopt_orphans().ok()?;
    Bell::hang().ok()
}
