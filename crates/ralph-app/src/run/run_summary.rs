//! The result of a run that has ended: how it ended, what it cost, and how well it is proven.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::outcome::{Outcome, RunEnd};
use ralph_core::receipt::{Proof, Receipt};
use ralph_store::{RunRow, Store};

use crate::error::AppResult;

/// How a run ended.
#[derive(Debug)]
pub struct RunSummary {
    pub end: RunEnd,
    /// The stored run; `None` if it is no longer stored.
    pub row: Option<RunRow>,
    pub took: Duration,
    /// The record of a completed run; `None` if the run is not completed.
    pub completion: Option<CompletionRecord>,
    /// Whether the claim of the run waits for the decision of a person.
    pub has_waiting_claim: bool,
    /// The session log, if the run has written one.
    pub session_log: Option<PathBuf>,
}

/// The result of a completed run, as its receipt states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRecord {
    pub proof: Proof,
    /// Whether the verified files are those of a commit; `None` if git could not read them, or nothing was verified.
    pub is_committed: Option<bool>,
}

impl CompletionRecord {
    /// Loads the record of a run; `None` if the run has no readable receipt.
    pub async fn load(store: &Store, run: &str) -> AppResult<Option<Self>> {
        let receipt = store.receipt_of_run(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        Ok(receipt.map(|receipt| Self {
            proof: receipt.findings.proof(),
            is_committed: receipt.input.repository.map(|snapshot| snapshot.is_committed),
        }))
    }
}

impl RunSummary {
    /// Loads the result of a run that this process has driven.
    pub(super) async fn load(store: &Store, run: &str, end: RunEnd, took: Duration) -> AppResult<Self> {
        let row = store.find_runs_by_id_part(run).await?.into_iter().next();
        let completion = CompletionRecord::load(store, run).await?;
        let has_waiting_claim = has_waiting_claim(store, run, &end).await?;
        Ok(Self { end, row, took, completion, has_waiting_claim, session_log: None })
    }

    /// Loads the recorded result of a run. Returns `None` if the run has not ended.
    pub(super) async fn load_recorded(store: &Store, run: &str) -> AppResult<Option<Self>> {
        let Some(row) = store.find_runs_by_id_part(run).await?.into_iter().next() else { return Ok(None) };
        let Some(end) = row.run_end() else { return Ok(None) };
        let took = row.ended_at.unwrap_or(row.started_at).saturating_sub(row.started_at);
        let took = Duration::from_millis(u64::try_from(took).unwrap_or(0));
        let completion = CompletionRecord::load(store, &row.id).await?;
        let has_waiting_claim = has_waiting_claim(store, &row.id, &end).await?;
        Ok(Some(Self { end, row: Some(row), took, completion, has_waiting_claim, session_log: None }))
    }
}

async fn has_waiting_claim(store: &Store, run: &str, end: &RunEnd) -> AppResult<bool> {
    Ok(end.outcome == Outcome::Blocked && store.load_run(run).await?.state.claim_to_decide().is_ok())
}
