//! Runs one program for a verifier: writes its stdin, enforces a timeout, forwards control commands, and kills its
//! descendants at the end.
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use tokio::sync::mpsc;

use super::verification_control::VerificationControl;
use ralph_process::{JobCommand, JobExit, JobInput, JobListener, JobSpec, Keeper, pump_job};

pub(crate) struct CheckProgram {
    pub(crate) job: JobSpec,
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Duration,
}

/// How a program ended, and how many descendants were still running and were killed.
pub(crate) struct ProgramResult {
    pub(crate) ending: CheckEnding,
    pub(crate) leftovers: u32,
}

impl ProgramResult {
    pub(super) fn not_started(reason: String) -> Self {
        Self { ending: CheckEnding::NotStarted { why: reason }, leftovers: 0 }
    }
}

pub(crate) async fn run_program(
    keeper: &Keeper,
    program: CheckProgram,
    listener: &mut impl JobListener,
    control: &mut VerificationControl,
) -> ProgramResult {
    let CheckProgram { job, input, timeout } = program;
    let job = match keeper.spawn(job).await {
        Ok(job) => job,
        Err(error) => return ProgramResult::not_started(error.to_string()),
    };
    let (command_sender, mut command_receiver) = mpsc::unbounded_channel();
    let mut pumping = std::pin::pin!(pump_job(job, JobInput::Whole(input), &mut command_receiver, listener));
    let mut deadline = PausableDeadline::new(timeout);
    let mut timed_out = false;
    let pumped = loop {
        tokio::select! {
            // After Ctrl-Z and `fg`, a command and the timeout may both be ready: the command must come first.
            biased;
            pumped = &mut pumping => break pumped,
            command = control.next_command() => {
                deadline.apply_command(&command);
                drop(command_sender.send(command));
            }
            () = deadline.wait_until_expired(), if !timed_out => {
                timed_out = true;
                let _ = command_sender.send(JobCommand::Kill);
            }
        }
    };
    match pumped {
        Err(error) => ProgramResult::not_started(error.to_string()),
        Ok(pumped) if timed_out => ProgramResult { ending: CheckEnding::TimedOut, leftovers: pumped.cleanup.killed },
        Ok(pumped) => ProgramResult { ending: to_check_ending(pumped.exit), leftovers: pumped.cleanup.killed },
    }
}

/// A deadline that is extended by the time in which the program is paused.
pub(super) struct PausableDeadline {
    deadline: tokio::time::Instant,
    paused_since: Option<tokio::time::Instant>,
}

impl PausableDeadline {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { deadline: tokio::time::Instant::now() + timeout, paused_since: None }
    }

    pub(super) fn apply_command(&mut self, command: &JobCommand) {
        match command {
            JobCommand::Pause { .. } => self.paused_since = Some(tokio::time::Instant::now()),
            JobCommand::Resume => {
                self.deadline += self.paused_since.take().map(|since| since.elapsed()).unwrap_or_default();
            }
            JobCommand::Stop { .. } | JobCommand::Kill => {}
        }
    }

    pub(super) fn remaining_ms(&self) -> u64 {
        let remaining = self.deadline.saturating_duration_since(tokio::time::Instant::now());
        u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX)
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
        // Checks have no memory limit today. If one is killed by such a limit, that proves nothing about the work.
        JobExit::OverMemory { .. } => CheckEnding::NotStarted { why: "it used too much memory".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 18
    // spec: V2
    #[tokio::test]
    async fn a_paused_check_does_not_time_out() {
        let mut deadline = PausableDeadline::new(Duration::ZERO);
        let (delivered, _) = tokio::sync::oneshot::channel();
        let before = deadline.deadline;
        deadline.apply_command(&JobCommand::Pause { delivered });
        let pause = Duration::from_millis(20);
        let expired = tokio::time::timeout(pause, deadline.wait_until_expired()).await;
        assert!(expired.is_err(), "it does not expire during the pause");
        deadline.apply_command(&JobCommand::Resume);
        assert!(deadline.deadline >= before + pause);
        deadline.wait_until_expired().await;
    }
}
