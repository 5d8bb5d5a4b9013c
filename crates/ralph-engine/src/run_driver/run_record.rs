//! The part of the recorded facts that the engine keeps: the seal, and for the receipt a tally of the facts and the snapshot
//! of the verified work tree.
use std::path::Path;

use ralph_core::effect::Effect;
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::receipt::{CompletedRun, ReceiptBuilder, ReceiptInput, WorkTreeSnapshot};
use ralph_core::seal::Seal;
use ralph_core::text::text_head;

use super::agent_choice::AgentChoice;
use super::effect_runner::EffectRunner;
use super::run_plan::RunPlan;
use super::stage_execution_log::StageExecutionLog;
use crate::git;
use ralph_agents::detect_installed::npm_package_version;
use ralph_core::check_isolation::CheckIsolation;
use ralph_process as process;
use ralph_store::receipt_file;
use ralph_store::{Store, StoreError};
use ralph_util::redact;

/// How many facts are read per query.
const FACTS_PER_PAGE: u32 = 1_000;

/// How much of git's message about files that it could not add is kept.
const MAX_LEFT_OUT_BYTES: usize = 1_000;

pub(super) struct RunRecord {
    receipt_tally: ReceiptBuilder,
    /// Present if the run is a stage.
    execution_log: Option<StageExecutionLog>,
    started_at: UnixMillis,
    /// The files that must not change before a claim.
    pub(super) seal: Option<Seal>,
}

impl RunRecord {
    pub(super) fn for_plan(plan: &RunPlan) -> Self {
        Self {
            receipt_tally: ReceiptBuilder::default(),
            execution_log: StageExecutionLog::for_plan(plan),
            started_at: UnixMillis::default(),
            seal: None,
        }
    }

    /// Returns, once, why the execution log is incomplete.
    pub(super) fn take_log_warning(&mut self) -> Option<String> {
        self.execution_log.as_mut()?.take_warning()
    }

    pub(super) fn record_fact(&mut self, at: UnixMillis, fact: &Fact) {
        if let Some(log) = &mut self.execution_log {
            log.record_fact(at, fact);
        }
        if let Fact::RunStarted { .. } = fact {
            self.started_at = at;
        }
        if let Fact::RunSealed { seal } = fact {
            self.seal = Some(seal.clone());
        }
        self.receipt_tally.observe_fact(fact);
    }

    /// Replays the facts that earlier processes have recorded for the run.
    pub(super) async fn replay_stored_facts(&mut self, store: &Store, run: &str) -> Result<(), StoreError> {
        if let Some(log) = &mut self.execution_log {
            log.load_last_logged();
        }
        let mut last_seq = 0;
        loop {
            let rows = store.events_after(run, last_seq, FACTS_PER_PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            last_seq = last.seq;
            for row in &rows {
                // Facts of an older ralph that cannot be parsed do not matter for a completion by this one.
                if let Ok(fact) = serde_json::from_str(&row.body) {
                    self.record_fact(UnixMillis(row.at), &fact);
                }
            }
        }
    }

    /// Returns the receipt of the run that these effects complete. `snapshot` is the verified work tree.
    pub(super) fn build_receipt(
        &self,
        at: UnixMillis,
        decided: &[Effect],
        snapshot: Option<WorkTreeSnapshot>,
        effects: &EffectRunner,
    ) -> Result<Option<Fact>, serde_json::Error> {
        let mut tally = self.receipt_tally.clone();
        decided.iter().filter_map(Effect::recorded_fact).for_each(|fact| tally.observe_fact(fact));
        let completed = decided.iter().filter_map(Effect::recorded_fact).find_map(CompletedRun::from_fact);
        let Some(completed) = completed else { return Ok(None) };
        let input = ReceiptInput { repository: snapshot, ..self.receipt_input(at, effects)? };
        let sealed = receipt_file::hash_receipt(&tally.build_receipt(&completed, input))?;
        Ok(Some(Fact::Receipt { receipt: Box::new(sealed.receipt), sha256: sealed.sha256 }))
    }

    fn receipt_input(&self, at: UnixMillis, effects: &EffectRunner) -> Result<ReceiptInput, serde_json::Error> {
        let plan = &effects.plan;
        Ok(ReceiptInput {
            run: plan.context.id.clone(),
            task: plan.spec.stage.as_ref().map(|stage| stage.task.clone()),
            role: plan.spec.stage.as_ref().map(|stage| stage.role.to_string()),
            criteria: plan.spec.criteria.clone(),
            criteria_sha256: receipt_file::hash_criteria(&plan.spec.criteria)?,
            repository: None,
            agent_version: agent_version(plan, effects.current_agent()),
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: format_timestamp(self.started_at),
            finished_at: format_timestamp(at),
        })
    }
}

pub(super) fn describe_missing_snapshot(error: &str) -> String {
    format!("the receipt has no snapshot of the verified work tree: {error}")
}

/// Takes a snapshot of what is verified, the work tree or its commit, on a blocking thread.
pub(super) async fn take_snapshot(root: &Path, isolation: CheckIsolation) -> Result<WorkTreeSnapshot, String> {
    let root = root.to_path_buf();
    let snapshot = tokio::task::spawn_blocking(move || take_snapshot_blocking(&root, isolation)).await;
    snapshot.map_err(|error| error.to_string()).flatten()
}

/// Like [`take_snapshot`], but blocks the calling thread.
pub(super) fn take_snapshot_blocking(root: &Path, isolation: CheckIsolation) -> Result<WorkTreeSnapshot, String> {
    let snapshot = match isolation {
        CheckIsolation::Workspace => git::take_snapshot(root),
        CheckIsolation::Clean => git::snapshot_head(root),
    };
    let snapshot = snapshot.map_err(|error| error.to_string())?;
    Ok(WorkTreeSnapshot { left_out: snapshot.left_out.map(|reason| redact_git_message(&reason)), ..snapshot })
}

/// Redacts and truncates a message of git: it may list very many files, and their names may contain secrets.
fn redact_git_message(message: &str) -> String {
    text_head(&redact::redact_text(message), MAX_LEFT_OUT_BYTES).to_owned()
}

/// Returns the version of an agent, if its program belongs to an npm package.
fn agent_version(plan: &RunPlan, choice: &AgentChoice) -> Option<String> {
    let job = plan.build_agent_job(choice, "", &choice.session_request(None)).ok()?;
    let program = process::locate_program(&job.spec).ok()?;
    npm_package_version(&program, choice.adapter.profile().npm_package?)
}

pub(super) fn format_timestamp(at: UnixMillis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}
