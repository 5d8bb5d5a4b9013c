//! What the engine keeps of what is recorded: the seal, and for the receipt of a completion the facts so far and the
//! work tree as it was verified.
use std::path::Path;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::receipt::{CompletedRun, ReceiptBuilder, ReceiptInput, WorkTreeSnapshot};
use ralph_core::seal::Seal;
use ralph_core::text::text_head;

use super::effect_runner::EffectRunner;
use super::run_plan::{AgentChoice, RunPlan};
use super::stage_execution_log::StageExecutionLog;
use crate::git;
use ralph_agents::detect_installed::npm_package_version;
use ralph_core::check_isolation::CheckIsolation;
use ralph_process as process;
use ralph_store::receipt_file;
use ralph_store::{Store, StoreError};
use ralph_util::redact;

/// How many facts are read at once.
const FACTS_PER_PAGE: u32 = 1_000;

/// How much is told of what git could not take in.
const MAX_LEFT_OUT_BYTES: usize = 1_000;

pub(super) struct RunRecord {
    receipt_tally: ReceiptBuilder,
    /// Where the run is a stage.
    execution_log: Option<StageExecutionLog>,
    started_at: UnixMillis,
    /// What must not change before a claim.
    pub(super) seal: Option<Seal>,
    /// The work tree when it was last verified.
    pub(super) verified_snapshot: Option<WorkTreeSnapshot>,
}

impl RunRecord {
    pub(super) fn for_plan(plan: &RunPlan) -> Self {
        Self {
            receipt_tally: ReceiptBuilder::default(),
            execution_log: StageExecutionLog::for_plan(plan),
            started_at: UnixMillis::default(),
            seal: None,
            verified_snapshot: None,
        }
    }

    /// Says, once, why the execution log is not whole.
    pub(super) fn take_log_warning(&mut self) -> Option<String> {
        self.execution_log.as_mut()?.take_warning()
    }

    pub(super) fn record_fact(&mut self, at: UnixMillis, fact: &Fact) {
        if let Some(executions) = &mut self.execution_log {
            executions.record_fact(at, fact);
        }
        if let Fact::RunStarted { .. } = fact {
            self.started_at = at;
        }
        if let Fact::RunSealed { seal } = fact {
            self.seal = Some(seal.clone());
        }
        self.receipt_tally.observe_fact(fact);
    }

    /// Reads what was recorded before this engine took the run up.
    pub(super) async fn replay_stored_facts(&mut self, store: &Store, run: &str) -> Result<(), StoreError> {
        if let Some(executions) = &mut self.execution_log {
            executions.load_last_logged();
        }
        let mut last_seq = 0;
        loop {
            let rows = store.events_after(run, last_seq, FACTS_PER_PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            last_seq = last.seq;
            for row in &rows {
                // Facts of an older ralph that are not understood have no part in a completion by this one.
                if let Ok(fact) = serde_json::from_str(&row.body) {
                    self.record_fact(UnixMillis(row.at), &fact);
                }
            }
        }
    }

    /// Returns the receipt of a run that these facts complete.
    pub(super) fn build_receipt(
        &self,
        at: UnixMillis,
        facts: &[&Fact],
        effects: &EffectRunner,
    ) -> Result<Option<Fact>, serde_json::Error> {
        let Some(end) = facts.iter().find_map(|fact| CompletedRun::from_fact(fact)) else { return Ok(None) };
        let mut tally = self.receipt_tally.clone();
        facts.iter().for_each(|fact| tally.observe_fact(fact));
        let sealed = receipt_file::hash_receipt(&tally.build_receipt(&end, self.receipt_input(at, effects)?))?;
        Ok(Some(Fact::Receipt { receipt: Box::new(sealed.receipt), sha256: sealed.sha256 }))
    }

    fn receipt_input(&self, at: UnixMillis, effects: &EffectRunner) -> Result<ReceiptInput, serde_json::Error> {
        let plan = &effects.plan;
        Ok(ReceiptInput {
            run: plan.id.clone(),
            task: plan.stage.as_ref().map(|stage| stage.task.clone()),
            role: plan.stage.as_ref().map(|stage| stage.role.to_string()),
            criteria: plan.criteria.clone(),
            criteria_sha256: receipt_file::hash_criteria(&plan.criteria)?,
            repository: self.verified_snapshot.clone(),
            agent_version: agent_version(plan, effects.current_agent()),
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: format_timestamp(self.started_at),
            finished_at: format_timestamp(at),
        })
    }
}

/// Looks at what is verified, a work tree or its commit, without holding up the loop.
pub(super) async fn take_snapshot(root: &Path, isolation: CheckIsolation) -> Result<WorkTreeSnapshot, String> {
    let root = root.to_path_buf();
    let snapshot = tokio::task::spawn_blocking(move || take_snapshot_blocking(&root, isolation)).await;
    snapshot.map_err(|error| error.to_string()).flatten()
}

/// The same for whoever may be held up.
pub(super) fn take_snapshot_blocking(root: &Path, isolation: CheckIsolation) -> Result<WorkTreeSnapshot, String> {
    let seen = match isolation {
        CheckIsolation::Workspace => git::take_snapshot(root),
        CheckIsolation::Clean => git::snapshot_head(root),
    };
    let seen = seen.map_err(|error| error.to_string())?;
    Ok(WorkTreeSnapshot { left_out: seen.left_out.map(|why| redact_git_message(&why)), ..seen })
}

/// Git may name very many files, and names may hold secrets.
fn redact_git_message(message: &str) -> String {
    text_head(&redact::redact_text(message), MAX_LEFT_OUT_BYTES).to_owned()
}

/// Returns the version of an agent, if a package beside its program tells.
fn agent_version(plan: &RunPlan, choice: &AgentChoice) -> Option<String> {
    let (spec, _) = plan.build_agent_job(choice, "", &choice.session_request(None)).ok()?;
    let program = process::locate_program(&spec).ok()?;
    npm_package_version(&program, choice.adapter.profile().npm_package?)
}

pub(super) fn format_timestamp(at: UnixMillis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}
