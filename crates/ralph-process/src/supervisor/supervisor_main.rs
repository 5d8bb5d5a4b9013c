//! The supervisor process of a job: starts the program, executes commands, reports the exit, and kills every
//! descendant. It ends the job by itself in two cases only: ralph has died, or the job exceeds its memory limit.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpid, setsid};

use crate::job::job_completion::{JobExit, TreeCleanup};
use crate::job::job_control::TerminationSignal;
use crate::keeper::spare_supervisor::{SupervisorNotice, notify_keeper};
use crate::processes::ancestor_process::SUPERVISOR_PROCESS_NAME;
use crate::processes::process_tree::{
    KillProgress, ProcessTree, RemainingChildren, TREE_POLL_INTERVAL, TreeKiller, living_descendants,
};
use crate::protocol::frame::FrameBuffer;
use crate::protocol::messages::{ProgramLaunch, SupervisorCommand, SupervisorReport};
use crate::supervisor::launch_program::{ChildStdio, LaunchFailure, launch_program};
use crate::supervisor::memory_limit::{MemoryExcess, MemoryLimit};
use crate::unix::child_exit_notifier::{ChildExitNotifier, to_timespec};
use crate::unix::fds::JobFds;
use crate::unix::platform;

/// The process name of a supervisor without a job.
const SPARE_PROCESS_NAME: &str = "rk-spare";

/// Represents "never"; small enough to be added to any `Instant`.
const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365);

struct Supervisor {
    channel: ControlChannel,
    exit_notifier: ChildExitNotifier,
    tree: ProcessTree,
    linger: Duration,
    memory_limit: Option<MemoryLimit>,
    phase: SupervisionPhase,
}

enum SupervisionPhase {
    Running,
    /// The termination signal was sent; processes that are still alive at `deadline` are killed.
    Stopping {
        deadline: Instant,
    },
    /// The program exited by itself; its descendants may finish writing until `deadline`.
    Lingering {
        deadline: Instant,
    },
    /// The program exited after a stop command; other members of its group got the signal too and keep the full grace.
    StoppingGroup {
        linger_deadline: Instant,
        grace_deadline: Instant,
    },
    /// The tree exceeded its memory limit and is being killed; this is reported as the exit instead of SIGKILL.
    OverMemory {
        excess: MemoryExcess,
    },
}

#[derive(PartialEq, Eq)]
enum SupervisorAction {
    Continue,
    KillNow,
}

/// A supervisor without a job.
pub(crate) struct IdleSupervisor {
    /// `None` if no file descriptor was available for it.
    exit_notifier: Option<ChildExitNotifier>,
    /// Whether it has had a job. Then the keeper does not wait for its start, because others are waiting.
    has_worked: bool,
}

impl IdleSupervisor {
    /// Starts a new session without a terminal and adopts orphans. Like the keeper that it was forked from, the process
    /// survives every signal except SIGKILL.
    pub(crate) fn detach() -> IdleSupervisor {
        let exit_notifier = ChildExitNotifier::install().ok();
        platform::set_process_title(SPARE_PROCESS_NAME);
        platform::continue_when_parent_dies();
        // Fails only for a group leader, which a fresh child never is.
        let _ = setsid();
        let exit_notifier = exit_notifier.filter(|_| platform::adopt_orphans().is_ok());
        IdleSupervisor { exit_notifier, has_worked: false }
    }

    /// Supervises one job from its launch request to the end of its tree, and tells `keeper` when its first program was
    /// started. Returns the supervisor if every process of the job is gone: it can take the next job.
    pub(crate) fn supervise(self, fds: JobFds, keeper: &UnixStream) -> Option<IdleSupervisor> {
        platform::set_process_name(SUPERVISOR_PROCESS_NAME);
        let JobFds { control, stdin, stdout, stderr } = fds;
        let mut channel = ControlChannel { socket: control, frames: FrameBuffer::default() };
        let Some(exit_notifier) = self.exit_notifier else {
            channel.report_fork_failure(libc::EMFILE);
            return None;
        };
        let job = channel.wait_for_program_launch()?;
        // ralph was killed after it sent the request. A program that is started now could meet that of a resumed run.
        if channel.is_closed_by_ralph() {
            return None;
        }
        // Sent before the launch: a fast agent may kill this process before `Started` is sent.
        channel.send_reports(&[SupervisorReport::Ready { supervisor: getpid().as_raw_pid().cast_unsigned() }]);
        let launched = launch_program(&job, ChildStdio { stdin, stdout, stderr });
        if !self.has_worked {
            notify_keeper(keeper, SupervisorNotice::Started);
        }
        let exit_notifier = match launched {
            Err(failure) => {
                channel.send_reports(&[to_launch_failed_report(&failure)]);
                exit_notifier
            }
            Ok(pid) => Supervisor::new(channel, exit_notifier, pid, &job).run()?,
        };
        exit_notifier.clear();
        platform::set_process_name(SPARE_PROCESS_NAME);
        Some(IdleSupervisor { exit_notifier: Some(exit_notifier), has_worked: true })
    }
}

fn to_memory_exit(excess: MemoryExcess) -> JobExit {
    JobExit::OverMemory { used: excess.used_bytes, limit: excess.limit_bytes }
}

fn to_launch_failed_report(failure: &LaunchFailure) -> SupervisorReport {
    SupervisorReport::LaunchFailed { step: failure.step, errno: failure.errno }
}

impl Supervisor {
    fn new(channel: ControlChannel, exit_notifier: ChildExitNotifier, pid: Pid, job: &ProgramLaunch) -> Supervisor {
        channel.send_reports(&[SupervisorReport::Started { pid: pid.as_raw_pid().cast_unsigned() }]);
        let memory_limit = job.memory_limit.map(MemoryLimit::new);
        Supervisor {
            channel,
            exit_notifier,
            tree: ProcessTree::new(pid),
            linger: job.linger,
            memory_limit,
            phase: SupervisionPhase::Running,
        }
    }

    /// Returns the notifier if every process of the job is gone.
    fn run(mut self) -> Option<ChildExitNotifier> {
        while self.tree.reap_children() == RemainingChildren::SomeLeft {
            self.report_exit();
            self.enforce_memory_limit();
            if self.is_past_deadline() || self.wait_for_event() == SupervisorAction::KillNow {
                break;
            }
        }
        self.finish()
    }

    /// Kills the remaining descendants and reports the cleanup.
    fn finish(mut self) -> Option<ChildExitNotifier> {
        let mut killer = TreeKiller::start();
        self.tree.kill_group_if_unlisted();
        while self.tree.reap_children() == RemainingChildren::SomeLeft {
            match killer.kill_new(living_descendants()) {
                KillProgress::Finished(gone) => {
                    self.report_tree_gone(gone);
                    return None;
                }
                KillProgress::FoundMore => {}
                KillProgress::Dying => self.exit_notifier.wait_briefly(),
            }
            self.report_exit();
        }
        self.report_tree_gone(killer.to_cleanup(Vec::new()));
        Some(self.exit_notifier)
    }

    /// Sends the final report. If the exit has not been reported yet, both reports are sent in one write.
    fn report_tree_gone(&self, cleanup: TreeCleanup) {
        let exit = match self.phase {
            // A program that survives SIGKILL has not exited; it is listed as leaked.
            SupervisionPhase::Running | SupervisionPhase::Stopping { .. } => {
                self.tree.root_exit().map(SupervisorReport::Exited)
            }
            // The cause is known even if the program survives SIGKILL.
            SupervisionPhase::OverMemory { excess } => Some(SupervisorReport::Exited(to_memory_exit(excess))),
            SupervisionPhase::Lingering { .. } | SupervisionPhase::StoppingGroup { .. } => None,
        };
        let reports: Vec<SupervisorReport> = exit.into_iter().chain([SupervisorReport::TreeGone(cleanup)]).collect();
        self.channel.send_reports(&reports);
    }

    fn report_exit(&mut self) {
        let Some(exit) = self.tree.root_exit() else { return };
        let linger_deadline = deadline_after(self.linger);
        let (phase, exit) = match self.phase {
            SupervisionPhase::Running => (SupervisionPhase::Lingering { deadline: linger_deadline }, exit),
            SupervisionPhase::Stopping { deadline: grace_deadline } => {
                (SupervisionPhase::StoppingGroup { linger_deadline, grace_deadline }, exit)
            }
            SupervisionPhase::OverMemory { excess } => {
                (SupervisionPhase::Lingering { deadline: linger_deadline }, to_memory_exit(excess))
            }
            SupervisionPhase::Lingering { .. } | SupervisionPhase::StoppingGroup { .. } => return,
        };
        self.phase = phase;
        self.channel.send_reports(&[SupervisorReport::Exited(exit)]);
    }

    /// Ends a job that exceeds its memory limit. If the program has already exited, only its descendants are killed,
    /// and the reported exit does not change.
    fn enforce_memory_limit(&mut self) {
        let Some(excess) = self.memory_limit.as_mut().and_then(MemoryLimit::check_if_due) else { return };
        self.phase = match self.phase {
            SupervisionPhase::Running | SupervisionPhase::Stopping { .. } | SupervisionPhase::OverMemory { .. } => {
                SupervisionPhase::OverMemory { excess }
            }
            SupervisionPhase::Lingering { .. } | SupervisionPhase::StoppingGroup { .. } => {
                SupervisionPhase::Lingering { deadline: Instant::now() }
            }
        };
    }

    fn is_past_deadline(&self) -> bool {
        let now = Instant::now();
        match self.phase {
            SupervisionPhase::Running => false,
            SupervisionPhase::OverMemory { .. } => true,
            SupervisionPhase::Stopping { deadline } | SupervisionPhase::Lingering { deadline } => now >= deadline,
            SupervisionPhase::StoppingGroup { linger_deadline, grace_deadline } => {
                now >= grace_deadline || (now >= linger_deadline && !self.tree.is_group_alive())
            }
        }
    }

    fn time_left(&self) -> Duration {
        let until_memory_check = self.memory_limit.as_ref().map_or(FAR_FUTURE, MemoryLimit::time_until_check);
        until_memory_check.min(self.phase_time_left())
    }

    fn phase_time_left(&self) -> Duration {
        match self.phase {
            SupervisionPhase::Running => FAR_FUTURE,
            SupervisionPhase::OverMemory { .. } => Duration::ZERO,
            SupervisionPhase::Stopping { deadline } | SupervisionPhase::Lingering { deadline } => {
                deadline.saturating_duration_since(Instant::now())
            }
            // The exit of a group member that is not our child raises no event, so poll.
            SupervisionPhase::StoppingGroup { .. } => TREE_POLL_INTERVAL,
        }
    }

    /// Waits for a command, the exit of a child, or the next deadline.
    fn wait_for_event(&mut self) -> SupervisorAction {
        let mut fds =
            [PollFd::new(&self.exit_notifier, PollFlags::IN), PollFd::new(&self.channel.socket, PollFlags::IN)];
        if poll(&mut fds, Some(&to_timespec(self.time_left()))).is_err() {
            return SupervisorAction::Continue;
        }
        let [child_exited, has_command] = fds.map(|fd| !fd.revents().is_empty());
        if child_exited {
            self.exit_notifier.clear();
        }
        if has_command { self.handle_commands() } else { SupervisorAction::Continue }
    }

    fn handle_commands(&mut self) -> SupervisorAction {
        let channel_state = self.channel.read_available();
        while let Some(frame) = self.channel.frames.next_frame() {
            if let Some(command) = SupervisorCommand::decode(&frame)
                && self.execute_command(command) == SupervisorAction::KillNow
            {
                return SupervisorAction::KillNow;
            }
        }
        match channel_state {
            ChannelState::Open => SupervisorAction::Continue,
            ChannelState::Closed => SupervisorAction::KillNow,
        }
    }

    fn execute_command(&mut self, command: SupervisorCommand) -> SupervisorAction {
        match command {
            SupervisorCommand::Kill => return SupervisorAction::KillNow,
            SupervisorCommand::Pause => self.tree.pause_all(),
            SupervisorCommand::Resume => self.tree.resume_all(),
            SupervisorCommand::Stop { signal, grace } => self.request_stop(signal, deadline_after(grace)),
        }
        SupervisorAction::Continue
    }

    /// Sends the termination signal and continues stopped processes so that they can handle it. A later request can
    /// only shorten the remaining time.
    fn request_stop(&mut self, signal: TerminationSignal, grace_deadline: Instant) {
        self.tree.signal_group(signal.as_signal());
        self.tree.signal_group(Signal::CONT);
        self.tree.resume_all();
        match &mut self.phase {
            SupervisionPhase::Running => self.phase = SupervisionPhase::Stopping { deadline: grace_deadline },
            SupervisionPhase::Stopping { deadline }
            | SupervisionPhase::Lingering { deadline }
            | SupervisionPhase::StoppingGroup { grace_deadline: deadline, .. } => {
                *deadline = grace_deadline.min(*deadline);
            }
            SupervisionPhase::OverMemory { .. } => {}
        }
    }
}

/// The supervisor's end of the control socket.
struct ControlChannel {
    socket: UnixStream,
    frames: FrameBuffer,
}

enum ChannelState {
    Open,
    Closed,
}

impl ControlChannel {
    /// Never blocks: reports are small compared with the socket buffer. Errors are ignored, because they mean that
    /// ralph is gone.
    fn send_reports(&self, reports: &[SupervisorReport]) {
        let bytes: Vec<u8> = reports.iter().flat_map(SupervisorReport::encode).collect();
        let _ = (&self.socket).write_all(&bytes);
    }

    fn report_fork_failure(&self, errno: i32) {
        self.send_reports(&[SupervisorReport::LaunchFailed {
            step: crate::protocol::messages::LaunchStep::CreateProcess,
            errno,
        }]);
    }

    fn wait_for_program_launch(&mut self) -> Option<ProgramLaunch> {
        loop {
            if let Some(frame) = self.frames.next_frame() {
                return ProgramLaunch::decode(&frame);
            }
            match self.read_available() {
                ChannelState::Open => {}
                ChannelState::Closed => return None,
            }
        }
    }

    /// Returns whether ralph has closed its end, even if there are bytes that it sent before.
    fn is_closed_by_ralph(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::HUP)];
        let without_waiting = Timespec::default();
        poll(&mut fds, Some(&without_waiting)).is_ok_and(|ready| ready > 0)
    }

    /// Reads once; blocks if no bytes are available.
    fn read_available(&mut self) -> ChannelState {
        let mut buffer = [0; 4 * 1024];
        match self.socket.read(&mut buffer) {
            Ok(0) => ChannelState::Closed,
            Ok(count) => {
                self.frames.push(&buffer[..count]);
                ChannelState::Open
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => ChannelState::Open,
            Err(_) => ChannelState::Closed,
        }
    }
}

fn deadline_after(wait: Duration) -> Instant {
    Instant::now() + wait.min(FAR_FUTURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L13
    // fault: 6
    #[test]
    fn a_request_of_a_ralph_that_was_killed_meanwhile_starts_no_program() {
        let (mut ralph, socket) = UnixStream::pair().unwrap();
        let channel = ControlChannel { socket, frames: FrameBuffer::default() };
        assert!(!channel.is_closed_by_ralph());
        ralph.write_all(b"a request").unwrap();
        assert!(!channel.is_closed_by_ralph());
        drop(ralph);
        assert!(channel.is_closed_by_ralph());
    }
}
