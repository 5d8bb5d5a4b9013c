//! What came before an attempt beside work: a wait for a rate limit, or another agent that took over.
use std::time::Duration;

use ralph_core::fact::Fact;
use serde_json::{Value, json};

use ralph_store::{EventRow, Store, StoreError};
use ralph_util::duration;

const NAMES: [&str; 2] = ["limit.waiting", "agent.changed"];

/// One of them, before this attempt of this iteration.
#[derive(Debug)]
pub(super) struct Detour {
    pub(super) iteration: i64,
    pub(super) attempt: i64,
    what: What,
}

#[derive(Debug)]
enum What {
    Wait { agent: String, delay_ms: u64, reset_at: Option<i64>, reason: String },
    Change { agent: String, reason: String },
}

impl Detour {
    /// Returns those of a run in order.
    pub(super) async fn all(store: &Store, run: &str) -> Result<Vec<Self>, StoreError> {
        Ok(store.events_named(run, NAMES).await?.iter().filter_map(Self::of).collect())
    }

    /// Facts that only a newer ralph knows are passed over.
    fn of(row: &EventRow) -> Option<Self> {
        let fact = serde_json::from_str(&row.body).ok()?;
        if let Fact::LimitWaiting { iteration, attempt, agent, delay_ms, reset_at, reason } = fact {
            let what = What::Wait { agent, delay_ms, reset_at, reason };
            return Some(Self { iteration: iteration.into(), attempt: attempt.into(), what });
        }
        let Fact::AgentChanged { iteration, attempt, agent, reason } = fact else { return None };
        let what = What::Change { agent, reason };
        Some(Self { iteration: iteration.into(), attempt: attempt.into(), what })
    }

    /// Returns the line for people.
    pub(super) fn text(&self) -> String {
        match &self.what {
            What::Wait { agent, delay_ms, reason, .. } => {
                let time = duration::show(Duration::from_millis(*delay_ms));
                format!("  wait      {time} for {agent}: {reason}")
            }
            What::Change { agent, reason } => format!("  agent     {agent} takes over: {reason}"),
        }
    }

    /// Returns the object, if it is a wait.
    pub(super) fn wait_json(&self) -> Option<Value> {
        match &self.what {
            What::Wait { agent, delay_ms, reset_at, reason } => Some(json!({
                "attempt": self.attempt,
                "agent": agent,
                "delay_ms": delay_ms,
                "reset_at": reset_at,
                "reason": reason,
            })),
            What::Change { .. } => None,
        }
    }

    /// Returns the object, if another agent took over.
    pub(super) fn change_json(&self) -> Option<Value> {
        match &self.what {
            What::Wait { .. } => None,
            What::Change { agent, reason } => {
                Some(json!({ "attempt": self.attempt, "agent": agent, "reason": reason }))
            }
        }
    }
}
