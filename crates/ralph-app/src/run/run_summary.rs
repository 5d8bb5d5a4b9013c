//! The result of a run that has ended: how it ended, what it cost, and how well it is proven.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::outcome::RunEnd;
use ralph_core::receipt::Receipt;
use ralph_store::{RunRow, Store};

use crate::error::AppResult;

/// How a run ended.
#[derive(Debug)]
pub struct RunSummary {
    pub end: RunEnd,
    /// The stored run; `None` if it is no longer stored.
    pub row: Option<RunRow>,
    pub took: Duration,
    pub proof: ProofLevel,
    /// The session log, if the run has written one.
    pub session_log: Option<PathBuf>,
}

/// How well the receipt of a completed run proves its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofLevel {
    Verified,
    /// Nothing was checked.
    Unchecked,
    /// Checks ran, but none proved more than the agent's claim.
    ClaimOnly,
}

impl ProofLevel {
    pub async fn load(store: &Store, run: &str) -> AppResult<Self> {
        let receipt = store.receipt_of_run(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        Ok(match receipt.map(|receipt| receipt.findings) {
            Some(findings) if findings.is_verified => Self::Verified,
            Some(findings) if !findings.checks.is_empty() => Self::ClaimOnly,
            Some(_) | None => Self::Unchecked,
        })
    }
}

impl RunSummary {
    /// Loads the result of a run that this process has driven.
    pub(super) async fn load(store: &Store, run: &str, end: RunEnd, took: Duration) -> AppResult<Self> {
        let row = store.find_runs_by_id_part(run).await?.into_iter().next();
        let proof = ProofLevel::load(store, run).await?;
        Ok(Self { end, row, took, proof, session_log: None })
    }

    /// Loads the recorded result of a run. Returns `None` if the run has not ended.
    pub(super) async fn load_recorded(store: &Store, run: &str) -> AppResult<Option<Self>> {
        let Some(row) = store.find_runs_by_id_part(run).await?.into_iter().next() else { return Ok(None) };
        let Some(end) = row.run_end() else { return Ok(None) };
        let took = row.ended_at.unwrap_or(row.started_at).saturating_sub(row.started_at);
        let took = Duration::from_millis(u64::try_from(took).unwrap_or(0));
        let proof = ProofLevel::load(store, &row.id).await?;
        Ok(Some(Self { end, row: Some(row), took, proof, session_log: None }))
    }
}
