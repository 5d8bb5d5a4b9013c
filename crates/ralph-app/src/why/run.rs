//! Explains runs and their iterations.
use ralph_core::budget::BudgetUsage;
use ralph_core::explanation::{
    DecidingRule, DecisionExplanation, RunRecord, explain_dead_run, explain_ended_run, explain_iteration,
    explain_open_run, headline,
};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_store::{RunRow, Store, StoreError};

use super::{ExplainedSubject, ExplanationView};
use crate::error::{AppError, AppResult};
use crate::view::{run_title, short_id};

/// The stored record of a run.
struct StoredRecord {
    facts: Vec<Fact>,
    state: Option<LoopState>,
    used_by_others: Vec<BudgetUsage>,
}

/// Returns the first line of `ralph why`, without reading the journal.
pub async fn run_headline(store: &Store, run: &RunRow) -> Result<String, StoreError> {
    if let Some(reason) = &run.reason {
        return Ok(headline(&run.status, reason));
    }
    let state = store.loop_of_run(&run.id).await?.and_then(|row| serde_json::from_str(&row.loop_json).ok());
    let Some(state) = state else { return Ok(headline(&run.status, "still running")) };
    let record = RunRecord { facts: &[], state: Some(&state), used_by_others: &[] };
    Ok(explain_open_run(&record).headline)
}

pub(super) async fn explain_run(store: &Store, run: RunRow) -> AppResult<ExplanationView> {
    let record = StoredRecord::load(store, &run).await?;
    Ok(ExplanationView { explained: record.explain(&run), subject: subject(&run, None), run: None })
}

pub(super) async fn explain_run_iteration(store: &Store, run: RunRow, number: u32) -> AppResult<ExplanationView> {
    let record = StoredRecord::load(store, &run).await?;
    let Some(explained) = explain_iteration(&record.as_record(), number) else {
        let (short, count) = (short_id(&run.id), run.iterations);
        return Err(AppError::not_found(format!("run {short} has no iteration {number}"))
            .with_advice(format!("it has {count} of at most {}", run.max_iterations)));
    };
    Ok(ExplanationView { explained, subject: subject(&run, Some(number)), run: None })
}

fn subject(run: &RunRow, iteration: Option<u32>) -> ExplainedSubject {
    ExplainedSubject::Run {
        id: run.id.clone(),
        task: run.task.clone(),
        role: run.role.clone(),
        title: run_title(run),
        iteration,
        has_ended: run.status != "running" || iteration.is_some(),
    }
}

impl StoredRecord {
    async fn load(store: &Store, run: &RunRow) -> AppResult<Self> {
        let mut facts = Vec::new();
        for event in store.events_after(&run.id, 0, u32::MAX).await? {
            let fact = serde_json::from_str(&event.body).map_err(|error| {
                AppError::preflight(format!("event {} of run {} cannot be read", event.seq, short_id(&run.id)))
                    .with_cause(error)
                    .with_advice("a newer ralph may have written it: update ralph")
            })?;
            facts.push(fact);
        }
        // The state of a session, or of another version, is not that of a run.
        let state = store.loop_of_run(&run.id).await?;
        let state: Option<LoopState> = state.and_then(|row| serde_json::from_str(&row.loop_json).ok());
        let mut used_by_others = Vec::new();
        for shared in state.iter().flat_map(|state| &state.policy.shared) {
            used_by_others.push(store.usage_of_other_runs(&run.id, &shared.scope).await?);
        }
        Ok(Self { facts, state, used_by_others })
    }

    fn as_record(&self) -> RunRecord<'_> {
        RunRecord { facts: &self.facts, state: self.state.as_ref(), used_by_others: &self.used_by_others }
    }

    /// Explains the run with the status that its row has.
    fn explain(&self, run: &RunRow) -> DecisionExplanation {
        let record = self.as_record();
        if let Some(ended) = explain_ended_run(&record) {
            return ended;
        }
        match (run.status.as_str(), &run.reason) {
            ("running", _) => explain_open_run(&record),
            ("interrupted", Some(reason)) => explain_dead_run(&record, reason),
            (status, reason) => DecisionExplanation {
                headline: headline(status, reason.as_deref().unwrap_or_default()),
                rule: DecidingRule::Unknown,
                ..explain_open_run(&record)
            },
        }
    }
}
