//! The process of one attempt: starts the agent, writes the prompt to it, reads its output, and reports when all its
//! processes have exited.
use ralph_core::attempt::{
    AttemptEnding, AttemptReport, LeftoverProcesses, ModelSpend, OutputParseStatus, RetryAdvice, SessionResumability,
};
use ralph_core::claim::{Claim, ClaimReading, NoClaimReason, SignalCall};
use tokio::sync::mpsc::UnboundedReceiver;

use super::agent_listener::AgentListener;
use super::attempt_io::AttemptIo;
use crate::run_driver::plan::agent_choice::AgentJob;
use ralph_process::{JobCommand, JobExit, JobInput, Keeper, SpawnError, pump_job};
use ralph_util::failpoints::{self, FailPoint};

const BYTES_PER_MEGABYTE: u64 = 1 << 20;

/// Runs the agent's process to its end.
pub(in crate::run_driver) async fn run_agent_process(
    keeper: Keeper,
    job: AgentJob,
    mut io: AttemptIo,
    mut commands: UnboundedReceiver<JobCommand>,
) -> Box<AttemptReport> {
    io.clear_stale_usage_file();
    let AgentJob { spec, stdin } = job;
    let job = match keeper.spawn(spec).await {
        Ok(job) => job,
        Err(error) => return Box::new(not_started_report(error.to_string(), retryability_of(&error))),
    };
    failpoints::reach_fail_point(FailPoint::AgentSpawned);
    let input = if io.format.is_conversation() { JobInput::Interactive } else { JobInput::Whole(stdin.into_bytes()) };
    let mut listener = AgentListener::new(io);
    let report = match pump_job(job, input, &mut commands, &mut listener).await {
        Ok(pumped) => {
            listener.wait_for_filters(pumped.end_cause, &mut commands).await;
            listener.into_report(ending_from_exit(pumped.exit), &pumped.cleanup)
        }
        Err(error) => not_started_report(format!("cannot use the agent's pipes: {error}"), RetryAdvice::Retry),
    };
    Box::new(report)
}

/// Returns the report of an agent that did not start.
pub(in crate::run_driver) fn not_started_report(reason: String, advice: RetryAdvice) -> AttemptReport {
    AttemptReport {
        ending: AttemptEnding::NotStarted { why: reason, retry: advice },
        stream: OutputParseStatus::NotUnderstood,
        unknown_records: 0,
        stray_line: String::new(),
        lived_ms: 0,
        error: None,
        repeating: None,
        reading: ClaimReading {
            claim: Claim::None { why: NoClaimReason::NoWords },
            blocked: None,
            reject: None,
            wait: None,
            signal_call: SignalCall::NotSeen,
            final_text: String::new(),
        },
        spend: ModelSpend::default(),
        session: None,
        resumability: SessionResumability::None,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: LeftoverProcesses::default(),
        denied_actions: Vec::new(),
        has_changed_files: None,
    }
}

fn ending_from_exit(exit: JobExit) -> AttemptEnding {
    match exit {
        JobExit::Code(code) => AttemptEnding::Exited { code },
        JobExit::Signal(signal) => AttemptEnding::Signalled { signal },
        JobExit::SupervisorDied => AttemptEnding::SupervisorKilled,
        JobExit::OverMemory { used, limit } => AttemptEnding::OverMemory {
            used_mb: used.div_ceil(BYTES_PER_MEGABYTE),
            limit_mb: limit / BYTES_PER_MEGABYTE,
        },
    }
}

/// Returns whether a retry could help. A missing program stays missing, and a dead keeper stays dead.
fn retryability_of(error: &SpawnError) -> RetryAdvice {
    match error {
        SpawnError::NotFound { .. }
        | SpawnError::NotExecutable { .. }
        | SpawnError::MissingInterpreter { .. }
        | SpawnError::WrongFormat { .. }
        | SpawnError::NoSuchDirectory { .. }
        | SpawnError::ArgumentsTooLong { .. }
        | SpawnError::KeeperDied { .. } => RetryAdvice::None,
        SpawnError::SupervisorDied { .. } | SpawnError::Other { .. } => RetryAdvice::Retry,
    }
}
