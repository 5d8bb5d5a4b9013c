//! One attempt: start the agent, feed it the prompt, listen, and report when its whole tree is gone.
use ralph_core::attempt::{Afterlife, AttemptReport, Ending, Hope, Leftovers, Spend, Stream};
use ralph_core::claim::{Claim, NoClaim, Reading};
use tokio::sync::mpsc::UnboundedReceiver;

use super::ears::Ears;
use super::listen::AgentListener;
use ralph_process::{Exit, Input, JobSpec, Keeper, Order, SpawnError, pump};
use ralph_util::fail::{self, Point};

const MEGABYTE: u64 = 1 << 20;

/// Runs one attempt to its end.
pub async fn run(
    keeper: Keeper,
    (spec, input): (JobSpec, String),
    mut ears: Ears,
    mut orders: UnboundedReceiver<Order>,
) -> Box<AttemptReport> {
    ears.make_ready();
    let job = match keeper.spawn(spec).await {
        Ok(job) => job,
        Err(error) => return Box::new(not_started(error.to_string(), hope_of(&error))),
    };
    fail::point(Point::AgentSpawned);
    let input = if ears.format.is_talk() { Input::Talk } else { Input::Whole(input.into_bytes()) };
    let mut listener = AgentListener::new(ears);
    let report = match pump(job, input, &mut orders, &mut listener).await {
        Ok(pumped) => {
            listener.settle(pumped.end, &mut orders).await;
            listener.report(ending(pumped.exit), &pumped.gone)
        }
        Err(error) => not_started(format!("the agent's pipes cannot be used: {error}"), Hope::Retry),
    };
    Box::new(report)
}

/// Returns the report of an agent that never ran.
#[must_use]
pub fn not_started(why: String, hope: Hope) -> AttemptReport {
    AttemptReport {
        ending: Ending::NotStarted { why, hope },
        stream: Stream::NotUnderstood,
        unknown_records: 0,
        stray_line: String::new(),
        lived_ms: 0,
        trouble: None,
        repeating: None,
        reading: Reading {
            claim: Claim::None { why: NoClaim::NoWords },
            blocked: None,
            reject: None,
            final_text: String::new(),
        },
        spend: Spend::default(),
        session: None,
        afterlife: Afterlife::None,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: Leftovers::default(),
        has_moved: None,
    }
}

fn ending(exit: Exit) -> Ending {
    match exit {
        Exit::Code(code) => Ending::Exited { code },
        Exit::Signal(signal) => Ending::Signalled { signal },
        Exit::SupervisorDied => Ending::Unwatched,
        Exit::OverMemory { used, limit } => {
            Ending::OverMemory { used_mb: used.div_ceil(MEGABYTE), limit_mb: limit / MEGABYTE }
        }
    }
}

/// A program that is not there will not be there a second later either, and a keeper that is dead stays dead.
fn hope_of(error: &SpawnError) -> Hope {
    match error {
        SpawnError::NotFound { .. }
        | SpawnError::NotExecutable { .. }
        | SpawnError::MissingInterpreter { .. }
        | SpawnError::WrongFormat { .. }
        | SpawnError::NoSuchDirectory { .. }
        | SpawnError::ArgumentsTooLong { .. }
        | SpawnError::Keeper { .. } => Hope::None,
        SpawnError::Supervisor { .. } | SpawnError::Other { .. } => Hope::Retry,
    }
}
