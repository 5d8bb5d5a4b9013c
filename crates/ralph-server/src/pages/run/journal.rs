//! The journal of a run: every event, in order, with its body.
use ralph_app::overview::JournalEntry;
use ralph_core::fact::Fact;

use crate::pages::display::{DisplayText, DisplayTime, StatusMark};

/// One event.
pub(in crate::pages) struct JournalLine {
    pub(in crate::pages) seq: i64,
    pub(in crate::pages) at: DisplayTime,
    pub(in crate::pages) name: DisplayText,
    pub(in crate::pages) summary: DisplayText,
    /// Set for events that say that something went wrong.
    pub(in crate::pages) mark: Option<StatusMark>,
    pub(in crate::pages) body: DisplayText,
}

impl JournalLine {
    pub(in crate::pages) fn new(entry: &JournalEntry) -> Self {
        let name = entry.fact.as_ref().map_or("unknown", Fact::name);
        let summary = entry.fact.as_ref().map(summarize_fact).unwrap_or_default();
        let pretty = serde_json::from_str::<serde_json::Value>(&entry.body);
        let pretty = pretty.and_then(|value| serde_json::to_string_pretty(&value));
        Self {
            seq: entry.seq,
            at: DisplayTime::new(entry.at),
            name: name.into(),
            summary: DisplayText::first_line(summary, 240),
            mark: entry.fact.as_ref().and_then(mark_of_fact),
            body: DisplayText::new(pretty.unwrap_or_else(|_| entry.body.clone())),
        }
    }
}

fn mark_of_fact(fact: &Fact) -> Option<StatusMark> {
    match fact {
        Fact::Verdict { verdict, .. } => Some(StatusMark::new(verdict.as_str())),
        Fact::RunFinished { outcome, .. } => Some(StatusMark::new(outcome.as_str())),
        Fact::AttemptEnded { result, .. } if result.failure.is_some() => Some(StatusMark::new("failed")),
        Fact::RetryScheduled { .. } | Fact::LimitWaiting { .. } | Fact::AgentWaiting { .. } => {
            Some(StatusMark::new("waiting"))
        }
        Fact::RunRejected { .. } => Some(StatusMark::new("rejected")),
        Fact::RunAccepted { .. } => Some(StatusMark::new("accepted")),
        Fact::RunPaused { .. } => Some(StatusMark::new("paused")),
        Fact::AttemptEnded { .. }
        | Fact::RunStarted { .. }
        | Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::RunResumed { .. }
        | Fact::RunGuided { .. }
        | Fact::AgentReported { .. }
        | Fact::StandingGuidance { .. }
        | Fact::LimitsChanged { .. }
        | Fact::IterationStarted { .. }
        | Fact::AttemptStarted { .. }
        | Fact::AgentChanged { .. }
        | Fact::SessionFresh { .. }
        | Fact::Claim { .. }
        | Fact::IterationEnded { .. }
        | Fact::StopRequested { .. }
        | Fact::Receipt { .. } => None,
    }
}

/// Returns what an event says, in one line.
fn summarize_fact(fact: &Fact) -> String {
    match fact {
        Fact::RunStarted { agent, max_iterations, .. } => format!("{agent}, at most {max_iterations} iterations"),
        Fact::RunSealed { .. } => "protected files and checks are sealed".to_owned(),
        Fact::Baseline { checks } => format!("{} checks before the work", checks.len()),
        Fact::RunResumed { iteration, .. } => format!("at iteration {iteration}"),
        Fact::RunPaused { iteration, .. } => format!("in iteration {iteration}"),
        Fact::RunGuided { words } => words.clone(),
        Fact::AgentReported { kind, words, .. } => format!("{}: {words}", kind.as_str()),
        Fact::StandingGuidance { words } => words.join(" · "),
        Fact::LimitsChanged { limits } => serde_json::to_string(limits).unwrap_or_default(),
        Fact::IterationStarted { iteration } => format!("iteration {iteration}"),
        Fact::AttemptStarted { iteration, attempt } => format!("iteration {iteration}, attempt {attempt}"),
        Fact::AttemptEnded { result, .. } => result.failure.clone().unwrap_or_else(|| result.final_text.clone()),
        Fact::RetryScheduled { reason, .. }
        | Fact::LimitWaiting { reason, .. }
        | Fact::AgentWaiting { reason, .. }
        | Fact::SessionFresh { reason, .. }
        | Fact::Verdict { reason, .. }
        | Fact::StopRequested { reason }
        | Fact::RunFinished { reason, .. } => reason.clone(),
        Fact::AgentChanged { agent, reason, .. } => format!("{agent}: {reason}"),
        Fact::Claim { claim, .. } => claim.why.clone(),
        Fact::IterationEnded { iteration, status, .. } => format!("iteration {iteration}: {}", status.as_str()),
        Fact::RunAccepted { accepted_by, .. } => format!("by {}", accepted_by.user),
        Fact::RunRejected { rejected_by, .. } => format!("by {}", rejected_by.user),
        Fact::Receipt { sha256, .. } => sha256.clone(),
    }
}
