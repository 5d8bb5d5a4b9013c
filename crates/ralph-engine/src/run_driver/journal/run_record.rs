//! The part of the recorded facts that the engine keeps: the seal, a tally of the facts for the receipt, and the execution
//! log of a stage.
use ralph_core::effect::Effect;
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::receipt::{CompletedRun, ReceiptBuilder, ReceiptInput, WorkTreeSnapshot};
use ralph_core::seal::Seal;

use super::stage_execution_log::StageExecutionLog;
use crate::run_driver::plan::agent_choice::AgentChoice;
use crate::run_driver::plan::run_plan::RunPlan;
use ralph_agents::detect_installed::npm_package_version;
use ralph_process as process;
use ralph_store::receipt_file;
use ralph_store::{Store, StoreError};

/// How many facts are read per query.
const FACTS_PER_PAGE: u32 = 1_000;

pub struct RunRecord {
    receipt_tally: ReceiptBuilder,
    /// Present if the run is a stage.
    execution_log: Option<StageExecutionLog>,
    started_at: UnixMillis,
    /// The files that must not change before a claim.
    pub(in crate::run_driver) seal: Option<Seal>,
}

impl RunRecord {
    #[must_use]
    pub fn for_plan(plan: &RunPlan) -> Self {
        Self {
            receipt_tally: ReceiptBuilder::default(),
            execution_log: StageExecutionLog::for_plan(plan),
            started_at: UnixMillis::default(),
            seal: None,
        }
    }

    /// Returns, once, why the execution log is incomplete.
    pub(in crate::run_driver) fn take_log_warning(&mut self) -> Option<String> {
        self.execution_log.as_mut()?.take_warning()
    }

    pub(in crate::run_driver) fn record_fact(&mut self, at: UnixMillis, fact: &Fact) {
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

    /// Returns the record of a run that is resumed, from the facts that earlier processes have stored.
    pub async fn load(plan: &RunPlan, store: &Store) -> Result<Self, StoreError> {
        let mut record = Self::for_plan(plan);
        record.replay_stored_facts(store, &plan.context.id).await?;
        Ok(record)
    }

    async fn replay_stored_facts(&mut self, store: &Store, run: &str) -> Result<(), StoreError> {
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

    /// Returns the receipt of the run that these effects complete.
    pub(in crate::run_driver) fn build_receipt(
        &self,
        plan: &RunPlan,
        effects: &[Effect],
        at: UnixMillis,
        source: ReceiptSource,
    ) -> Result<Option<Fact>, serde_json::Error> {
        let mut tally = self.receipt_tally.clone();
        effects.iter().filter_map(Effect::recorded_fact).for_each(|fact| tally.observe_fact(fact));
        let completed = effects.iter().filter_map(Effect::recorded_fact).find_map(CompletedRun::from_fact);
        let Some(completed) = completed else { return Ok(None) };
        let stage = plan.spec.stage.as_ref();
        let input = ReceiptInput {
            run: plan.context.id.clone(),
            task: stage.map(|stage| stage.task.clone()),
            role: stage.map(|stage| stage.role.to_string()),
            criteria: plan.spec.criteria.clone(),
            criteria_sha256: receipt_file::hash_criteria(&plan.spec.criteria)?,
            repository: source.snapshot,
            agent_version: agent_version(plan, plan.context.agent_at(source.agent)),
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: format_timestamp(self.started_at),
            finished_at: format_timestamp(at),
        };
        let sealed = receipt_file::hash_receipt(&tally.build_receipt(&completed, input))?;
        Ok(Some(Fact::Receipt { receipt: Box::new(sealed.receipt), sha256: sealed.sha256 }))
    }
}

/// The data of a receipt in addition to the facts.
pub(in crate::run_driver) struct ReceiptSource {
    /// The verified work tree.
    pub(in crate::run_driver) snapshot: Option<WorkTreeSnapshot>,
    /// The number of the agent that did the work.
    pub(in crate::run_driver) agent: u32,
}

/// Returns the version of an agent, if its program belongs to an npm package.
fn agent_version(plan: &RunPlan, choice: &AgentChoice) -> Option<String> {
    let job = plan.build_agent_job(choice, "", &choice.session_request(None)).ok()?;
    let program = process::locate_program(&job.spec).ok()?;
    npm_package_version(&program, choice.adapter.profile().npm_package?)
}

/// Returns a time in UTC.
#[must_use]
pub fn format_timestamp(at: UnixMillis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}
