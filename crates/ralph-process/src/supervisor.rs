//! The process that answers for one job: starts it, obeys orders, reports its end, leaves nothing behind.
//! It decides nothing but this: when ralph is gone, the job has no reason to run, and over its ceiling it must not.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, getpid, setsid};

use super::bell::{Bell, timespec};
use super::ceiling::{Ceiling, Excess};
use super::control::Polite;
use super::ending::{Exit, Gone};
use super::fds::JobFds;
use super::launch::{Refusal, Stdio, launch};
use super::line::SUPERVISOR;
use super::message::{Launch, Order, Report};
use super::platform;
use super::tree::{Hunt, Hunted, LOOK_AGAIN, Left, Tree, alive};
use super::wire::Frames;

/// Far enough away to mean "never", near enough to be added to any instant.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

struct Supervisor {
    line: Line,
    bell: Bell,
    tree: Tree,
    linger: Duration,
    ceiling: Option<Ceiling>,
    phase: Phase,
}

enum Phase {
    Running,
    /// The polite signal was sent; what still lives at `until` is killed.
    Asked {
        until: Instant,
    },
    /// The program ended by itself; what it left behind may finish writing.
    Lingering {
        until: Instant,
    },
    /// The program ended when asked; others of its group were asked too and keep the whole grace.
    Leaving {
        until: Instant,
        grace: Instant,
    },
    /// The tree has too much memory and is killed; that, and no signal, is how the program ended.
    Condemned {
        excess: Excess,
    },
}

/// Why the supervisor stops waiting.
#[derive(PartialEq, Eq)]
enum Verdict {
    GoOn,
    KillNow,
}

/// A supervisor without a job.
pub(super) struct Ready {
    /// `None` where there was no descriptor left for it.
    bell: Option<Bell>,
}

impl Ready {
    /// Takes its own session without a terminal, and adopts orphans. It is deaf to everything but SIGKILL, as the
    /// keeper is that it was forked from.
    pub(super) fn settle() -> Ready {
        let bell = Bell::hang().ok();
        platform::name_this_process("rk-spare");
        platform::go_on_without_parent();
        // Fails only for a group leader, which a fresh child never is.
        let _ = setsid();
        Ready { bell: bell.filter(|_| platform::adopt_orphans().is_ok()) }
    }

    /// Serves one job from its description to its end. The keeper sees by the end of its line that the program was
    /// started.
    pub(super) fn supervise(self, fds: JobFds, keeper: UnixStream) {
        platform::rename_this_process(SUPERVISOR);
        let JobFds { control, stdin, stdout, stderr } = fds;
        let mut line = Line { socket: control, frames: Frames::default() };
        let Some(bell) = self.bell else { return line.refuse(libc::EMFILE) };
        let Some(job) = line.wait_for_launch() else { return };
        // Said first: a quick agent may kill us before we can say that it runs.
        line.say(&[Report::Serving { supervisor: getpid().as_raw_pid().cast_unsigned() }]);
        let launched = launch(&job, Stdio { stdin, stdout, stderr });
        drop(keeper);
        match launched {
            Err(refusal) => line.say(&[refused(&refusal)]),
            Ok(pid) => Supervisor::new(line, bell, pid, &job).run(),
        }
    }
}

fn over_memory(excess: Excess) -> Exit {
    Exit::OverMemory { used: excess.used, limit: excess.limit }
}

fn refused(refusal: &Refusal) -> Report {
    Report::CouldNotStart { step: refusal.step, errno: refusal.errno }
}

impl Supervisor {
    fn new(line: Line, bell: Bell, pid: Pid, job: &Launch) -> Supervisor {
        line.say(&[Report::Started { pid: pid.as_raw_pid().cast_unsigned() }]);
        let ceiling = job.memory.map(Ceiling::new);
        Supervisor { line, bell, tree: Tree::new(pid), linger: job.linger, ceiling, phase: Phase::Running }
    }

    fn run(mut self) {
        while self.tree.reap() == Left::Some {
            self.note_exit();
            self.weigh();
            if self.is_overdue() || self.wait() == Verdict::KillNow {
                break;
            }
        }
        self.finish();
    }

    /// Kills what is left and says so.
    fn finish(mut self) {
        let mut hunt = Hunt::begin();
        self.tree.kill_where_blind();
        while self.tree.reap() == Left::Some {
            match hunt.pass(alive()) {
                Hunted::Over(gone) => return self.say_gone(gone),
                Hunted::FoundMore => {}
                Hunted::Dying => self.bell.rest(),
            }
            self.note_exit();
        }
        self.say_gone(hunt.gone(Vec::new()));
    }

    /// Says the last words. With nothing left after the program's exit, both reports leave in one write.
    fn say_gone(&self, gone: Gone) {
        let exit = match self.phase {
            // A program that resists even SIGKILL has not exited; it is among the leaked.
            Phase::Running | Phase::Asked { .. } => self.tree.exit().map(Report::Exited),
            // Why it was to die is known even then.
            Phase::Condemned { excess } => Some(Report::Exited(over_memory(excess))),
            Phase::Lingering { .. } | Phase::Leaving { .. } => None,
        };
        let words: Vec<Report> = exit.into_iter().chain([Report::Gone(gone)]).collect();
        self.line.say(&words);
    }

    fn note_exit(&mut self) {
        let Some(exit) = self.tree.exit() else { return };
        let until = after(self.linger);
        let (phase, exit) = match self.phase {
            Phase::Running => (Phase::Lingering { until }, exit),
            Phase::Asked { until: grace } => (Phase::Leaving { until, grace }, exit),
            Phase::Condemned { excess } => (Phase::Lingering { until }, over_memory(excess)),
            Phase::Lingering { .. } | Phase::Leaving { .. } => return,
        };
        self.phase = phase;
        self.line.say(&[Report::Exited(exit)]);
    }

    /// Ends a job that has too much memory. A program that has ended before is not blamed for what it left behind.
    fn weigh(&mut self) {
        let Some(excess) = self.ceiling.as_mut().and_then(Ceiling::check) else { return };
        self.phase = match self.phase {
            Phase::Running | Phase::Asked { .. } | Phase::Condemned { .. } => Phase::Condemned { excess },
            Phase::Lingering { .. } | Phase::Leaving { .. } => Phase::Lingering { until: Instant::now() },
        };
    }

    fn is_overdue(&self) -> bool {
        let now = Instant::now();
        match self.phase {
            Phase::Running => false,
            Phase::Condemned { .. } => true,
            Phase::Asked { until } | Phase::Lingering { until } => now >= until,
            Phase::Leaving { until, grace } => now >= grace || (now >= until && !self.tree.group_is_alive()),
        }
    }

    fn time_left(&self) -> Duration {
        let weighing = self.ceiling.as_ref().map_or(NEVER, Ceiling::time_left);
        weighing.min(self.time_left_in_phase())
    }

    fn time_left_in_phase(&self) -> Duration {
        match self.phase {
            Phase::Running => NEVER,
            Phase::Condemned { .. } => Duration::ZERO,
            Phase::Asked { until } | Phase::Lingering { until } => {
                until.saturating_duration_since(Instant::now())
            }
            // Members of the group may end without a word to us, so look now and then.
            Phase::Leaving { .. } => LOOK_AGAIN,
        }
    }

    /// Waits for an order, a child or the next deadline.
    fn wait(&mut self) -> Verdict {
        let mut fds = [PollFd::new(&self.bell, PollFlags::IN), PollFd::new(&self.line.socket, PollFlags::IN)];
        if poll(&mut fds, Some(&timespec(self.time_left()))).is_err() {
            return Verdict::GoOn;
        }
        let [rung, spoken] = fds.map(|fd| !fd.revents().is_empty());
        if rung {
            self.bell.silence();
        }
        if spoken { self.obey() } else { Verdict::GoOn }
    }

    fn obey(&mut self) -> Verdict {
        let link = self.line.listen();
        while let Some(frame) = self.line.frames.next() {
            if let Some(order) = Order::decode(&frame)
                && self.carry_out(order) == Verdict::KillNow
            {
                return Verdict::KillNow;
            }
        }
        match link {
            Link::Open => Verdict::GoOn,
            Link::Closed => Verdict::KillNow,
        }
    }

    fn carry_out(&mut self, order: Order) -> Verdict {
        match order {
            Order::Kill => return Verdict::KillNow,
            Order::Pause => self.tree.pause(),
            Order::Resume => self.tree.resume(),
            Order::Stop { signal, grace } => self.ask(signal, after(grace)),
        }
        Verdict::GoOn
    }

    /// Sends the polite signal, and wakes what is stopped so that it can act upon it. A later ask may only shorten the
    /// time that is left.
    fn ask(&mut self, signal: Polite, grace: Instant) {
        self.tree.signal_group(signal.number());
        self.tree.signal_group(Signal::CONT);
        self.tree.resume();
        match &mut self.phase {
            Phase::Running => self.phase = Phase::Asked { until: grace },
            Phase::Asked { until } | Phase::Lingering { until } => *until = grace.min(*until),
            Phase::Leaving { grace: until, .. } => *until = grace.min(*until),
            Phase::Condemned { .. } => {}
        }
    }
}

/// The supervisor's end of the control socket.
struct Line {
    socket: UnixStream,
    frames: Frames,
}

enum Link {
    Open,
    Closed,
}

impl Line {
    /// Reports are small against the socket's buffer, so this never waits. If ralph is gone, nobody needs to know.
    fn say(&self, reports: &[Report]) {
        let bytes: Vec<u8> = reports.iter().flat_map(Report::encode).collect();
        let _ = (&self.socket).write_all(&bytes);
    }

    fn refuse(&self, errno: i32) {
        self.say(&[Report::CouldNotStart { step: super::message::Step::Fork, errno }]);
    }

    fn wait_for_launch(&mut self) -> Option<Launch> {
        loop {
            if let Some(frame) = self.frames.next() {
                return Launch::decode(&frame);
            }
            match self.listen() {
                Link::Open => {}
                Link::Closed => return None,
            }
        }
    }

    /// Reads once; blocks if nothing is there.
    fn listen(&mut self) -> Link {
        let mut buffer = [0; 4 * 1024];
        match self.socket.read(&mut buffer) {
            Ok(0) => Link::Closed,
            Ok(count) => {
                self.frames.push(&buffer[..count]);
                Link::Open
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Link::Open,
            Err(_) => Link::Closed,
        }
    }
}

fn after(wait: Duration) -> Instant {
    Instant::now() + wait.min(NEVER)
}
