//! Runs one program for a verifier: its input in, a limit of time, orders passed on, and its whole tree gone afterwards.
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use tokio::sync::mpsc;

use super::verification_control::VerificationControl;
use ralph_process::{JobCommand, JobExit, JobInput, JobListener, JobSpec, Keeper, pump_job};

pub(super) struct CheckProgram {
    pub(super) job: JobSpec,
    pub(super) input: Vec<u8>,
    pub(super) timeout: Duration,
}

/// How a program ended, and how many descendants it left behind; they were killed.
pub(super) struct ProgramResult {
    pub(super) ending: CheckEnding,
    pub(super) leftovers: u32,
}

impl ProgramResult {
    pub(super) fn not_started(reason: String) -> Self {
        Self { ending: CheckEnding::NotStarted { why: reason }, leftovers: 0 }
    }
}

pub(super) async fn run_program(
    keeper: &Keeper,
    program: CheckProgram,
    listener: &mut impl JobListener,
    control: &mut VerificationControl,
) -> ProgramResult {
    let CheckProgram { job, input, timeout: time } = program;
    let job = match keeper.spawn(job).await {
        Ok(job) => job,
        Err(error) => return ProgramResult::not_started(error.to_string()),
    };
    let (inner, mut received) = mpsc::unbounded_channel();
    let mut pumping = std::pin::pin!(pump_job(job, JobInput::Whole(input), &mut received, listener));
    let mut time = PausableDeadline::new(time);
    let mut timed_out = false;
    let pumped = loop {
        tokio::select! {
            // On waking from Ctrl-Z an order and the end of the time may both be there: the order comes first.
            biased;
            pumped = &mut pumping => break pumped,
            order = control.next_command() => {
                time.apply_command(&order);
                drop(inner.send(order));
            }
            () = time.wait_until_expired(), if !timed_out => {
                timed_out = true;
                let _ = inner.send(JobCommand::Kill);
            }
        }
    };
    match pumped {
        Err(error) => ProgramResult::not_started(error.to_string()),
        Ok(pumped) if timed_out => ProgramResult { ending: CheckEnding::TimedOut, leftovers: pumped.cleanup.killed },
        Ok(pumped) => ProgramResult { ending: to_check_ending(pumped.exit), leftovers: pumped.cleanup.killed },
    }
}

/// How long a program may still take. While it stands paused, its time stands still.
pub(super) struct PausableDeadline {
    deadline: tokio::time::Instant,
    paused_since: Option<tokio::time::Instant>,
}

impl PausableDeadline {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { deadline: tokio::time::Instant::now() + timeout, paused_since: None }
    }

    pub(super) fn apply_command(&mut self, order: &JobCommand) {
        match order {
            JobCommand::Pause { .. } => self.paused_since = Some(tokio::time::Instant::now()),
            JobCommand::Resume => {
                self.deadline += self.paused_since.take().map(|since| since.elapsed()).unwrap_or_default();
            }
            JobCommand::Stop { .. } | JobCommand::Kill => {}
        }
    }

    /// Returns what is left of it now.
    pub(super) fn remaining_ms(&self) -> u64 {
        let left = self.deadline.saturating_duration_since(tokio::time::Instant::now());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) async fn wait_until_expired(&self) {
        match self.paused_since {
            Some(_) => std::future::pending().await,
            None => tokio::time::sleep_until(self.deadline).await,
        }
    }
}

fn to_check_ending(exit: JobExit) -> CheckEnding {
    match exit {
        JobExit::Code(code) => CheckEnding::Exited { code },
        JobExit::Signal(signal) => CheckEnding::Signalled { signal },
        JobExit::SupervisorDied => CheckEnding::NotStarted { why: "its supervisor was killed".to_owned() },
        // No check has a ceiling today; one that has is stopped by us, which says nothing about the work.
        JobExit::OverMemory { .. } => CheckEnding::NotStarted { why: "it used too much memory".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 18
    // spec: V2
    #[tokio::test]
    async fn the_time_of_a_paused_check_stands_still() {
        let mut time = PausableDeadline::new(Duration::ZERO);
        let (passed_on, _) = tokio::sync::oneshot::channel();
        let until = time.deadline;
        time.apply_command(&JobCommand::Pause { delivered: passed_on });
        let pause = Duration::from_millis(20);
        assert!(tokio::time::timeout(pause, time.wait_until_expired()).await.is_err(), "it is not up during the pause");
        time.apply_command(&JobCommand::Resume);
        assert!(time.deadline >= until + pause);
        time.wait_until_expired().await;
    }
}
