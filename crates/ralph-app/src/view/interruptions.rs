//! Interruptions before an attempt: a wait for a rate limit, or a change of the agent.
use std::time::Duration;

use ralph_core::fact::Fact;
use serde_json::{Value, json};

use ralph_store::{EventRow, Store, StoreError};
use ralph_util::duration;

const INTERRUPTION_KINDS: [&str; 2] = ["limit.waiting", "agent.changed"];

/// An interruption before an attempt of an iteration.
#[derive(Debug)]
pub(super) struct AttemptInterruption {
    pub(super) iteration: i64,
    pub(super) attempt: i64,
    kind: InterruptionKind,
}

#[derive(Debug)]
enum InterruptionKind {
    RateLimitWait { agent: String, delay_ms: u64, reset_at: Option<i64>, reason: String },
    AgentChange { agent: String, reason: String },
}

impl AttemptInterruption {
    /// Loads the interruptions of a run, in order.
    pub(super) async fn load_all(store: &Store, run: &str) -> Result<Vec<Self>, StoreError> {
        Ok(store.events_of_kinds(run, INTERRUPTION_KINDS).await?.iter().filter_map(Self::from_event).collect())
    }

    /// Ignores facts that only a newer ralph knows.
    fn from_event(row: &EventRow) -> Option<Self> {
        let fact = serde_json::from_str(&row.body).ok()?;
        if let Fact::LimitWaiting { iteration, attempt, agent, delay_ms, reset_at, reason } = fact {
            let kind = InterruptionKind::RateLimitWait { agent, delay_ms, reset_at, reason };
            return Some(Self { iteration: iteration.into(), attempt: attempt.into(), kind });
        }
        let Fact::AgentChanged { iteration, attempt, agent, reason } = fact else { return None };
        let kind = InterruptionKind::AgentChange { agent, reason };
        Some(Self { iteration: iteration.into(), attempt: attempt.into(), kind })
    }

    /// Returns the line of `ralph show`.
    pub(super) fn to_text(&self) -> String {
        match &self.kind {
            InterruptionKind::RateLimitWait { agent, delay_ms, reason, .. } => {
                let time = duration::format_rounded(Duration::from_millis(*delay_ms));
                format!("  wait      {time} for {agent}: {reason}")
            }
            InterruptionKind::AgentChange { agent, reason } => {
                format!("  agent     {agent} takes over: {reason}")
            }
        }
    }

    /// Returns the JSON object of a wait.
    pub(super) fn to_wait_json(&self) -> Option<Value> {
        match &self.kind {
            InterruptionKind::RateLimitWait { agent, delay_ms, reset_at, reason } => Some(json!({
                "attempt": self.attempt,
                "agent": agent,
                "delay_ms": delay_ms,
                "reset_at": reset_at,
                "reason": reason,
            })),
            InterruptionKind::AgentChange { .. } => None,
        }
    }

    /// Returns the JSON object of a change of the agent.
    pub(super) fn to_agent_change_json(&self) -> Option<Value> {
        match &self.kind {
            InterruptionKind::RateLimitWait { .. } => None,
            InterruptionKind::AgentChange { agent, reason } => {
                Some(json!({ "attempt": self.attempt, "agent": agent, "reason": reason }))
            }
        }
    }
}
