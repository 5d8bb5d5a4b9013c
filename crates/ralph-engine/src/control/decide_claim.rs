//! Records the decision of a person on the claim, or the answer to the question, that ended a run as blocked. The caller
//! has compared the claimed files.
use ralph_core::decision::{NoDecision, PersonDecision};
use ralph_core::effect::{Effect, ReceiptSnapshot};
use ralph_core::event::{LifecycleEvent, PersonVerdict, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::receipt::{CompletedRun, ReceiptBuilder, ReceiptInput, WorkTreeSnapshot};

use super::undriven_step::{RunLockError, UndrivenStep, lock_undriven_run};
use crate::lock::RunOwner;
use crate::project::Project;
use crate::run_driver::{RunSpec, RunSpecError, format_timestamp};
use ralph_store::{RunRow, Store, StoreError, TakeoverGuard, receipt_file};

/// How many facts are read per query.
const FACTS_PER_PAGE: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum DecideClaimError {
    /// The run has no claim to decide on.
    #[error("no claim of the run waits for a decision")]
    NothingWaits(NoDecision),
    #[error(transparent)]
    Lock(#[from] RunLockError),
    #[error(transparent)]
    Spec(#[from] RunSpecError),
    #[error("cannot build the receipt")]
    Receipt(#[from] serde_json::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The decision, and the condition under which it is recorded.
pub struct ClaimDecision<'a> {
    pub verdict: PersonVerdict,
    pub decision: PersonDecision,
    pub guard: TakeoverGuard<'a>,
    pub at: UnixMillis,
}

/// Records the decision. Meanwhile no other process can resume the run or decide on it.
pub async fn decide_claim(
    project: &Project,
    store: &Store,
    row: &RunRow,
    decided: ClaimDecision<'_>,
) -> Result<(), DecideClaimError> {
    let ClaimDecision { verdict, decision, guard, at } = decided;
    let run = row.id.as_str();
    let owner = RunOwner::for_this_process(run, at);
    let _lock = lock_undriven_run(project, run, &owner).await?;
    let stored = store.take_over_run(run, &owner.to_json(), &row.settings, guard).await?;
    stored.state.ensure_decidable(verdict).map_err(DecideClaimError::NothingWaits)?;
    let step = UndrivenStep::decide(run, stored, LifecycleEvent::Decided { verdict, decision }, at);
    let receipt = build_receipt(store, row, &step.effects, at).await?;
    let recorded = |effect| match effect {
        &Effect::RecordReceipt { .. } => receipt.as_ref(),
        other => other.recorded_fact(),
    };
    let facts: Vec<&Fact> = step.effects.iter().filter_map(recorded).collect();
    step.record(store, &facts).await?;
    if let Some(Fact::Receipt { receipt, .. }) = &receipt {
        // The copy is for readers; the store has the receipt.
        drop(receipt_file::write_receipt_copy(&project.run_folder(run), receipt));
    }
    Ok(())
}

/// Returns the receipt, if these effects request one.
async fn build_receipt(
    store: &Store,
    row: &RunRow,
    effects: &[Effect],
    at: UnixMillis,
) -> Result<Option<Fact>, DecideClaimError> {
    let requested = effects.iter().find_map(|effect| match effect {
        Effect::RecordReceipt { snapshot } => Some(snapshot),
        _ => None,
    });
    let snapshot = match requested {
        None => return Ok(None),
        Some(ReceiptSnapshot::Verified(snapshot)) => Some(snapshot.clone()),
        // The decision is bound to claimed files, so it always has a snapshot of them.
        Some(ReceiptSnapshot::Unreadable | ReceiptSnapshot::AtEnd) => None,
    };
    let mut tally = replay_facts(store, &row.id).await?;
    effects.iter().filter_map(Effect::recorded_fact).for_each(|fact| tally.observe_fact(fact));
    let completed = effects.iter().filter_map(Effect::recorded_fact).find_map(CompletedRun::from_fact);
    let Some(completed) = completed else { return Ok(None) };
    let input = receipt_input(row, snapshot, at)?;
    let hashed = receipt_file::hash_receipt(&tally.build_receipt(&completed, input))?;
    Ok(Some(Fact::Receipt { receipt: Box::new(hashed.receipt), sha256: hashed.sha256 }))
}

fn receipt_input(
    row: &RunRow,
    repository: Option<WorkTreeSnapshot>,
    at: UnixMillis,
) -> Result<ReceiptInput, DecideClaimError> {
    let criteria = RunSpec::parse(&row.settings)?.criteria;
    Ok(ReceiptInput {
        run: row.id.clone(),
        task: row.task.clone(),
        role: row.role.clone(),
        criteria_sha256: receipt_file::hash_criteria(&criteria)?,
        criteria,
        repository,
        agent_version: None,
        ralph: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: format_timestamp(UnixMillis(row.started_at)),
        finished_at: format_timestamp(at),
    })
}

async fn replay_facts(store: &Store, run: &str) -> Result<ReceiptBuilder, StoreError> {
    let mut tally = ReceiptBuilder::default();
    let mut last_seq = 0;
    loop {
        let rows = store.events_after(run, last_seq, FACTS_PER_PAGE).await?;
        let Some(last) = rows.last() else { return Ok(tally) };
        last_seq = last.seq;
        rows.iter().filter_map(|row| serde_json::from_str(&row.body).ok()).for_each(|fact| tally.observe_fact(&fact));
    }
}
