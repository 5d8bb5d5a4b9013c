//! What the engine keeps of what is recorded: the seal, and for the receipt of a completion the facts so far and the
//! work tree as it was verified.
use std::path::Path;

use ralph_core::event::Millis;
use ralph_core::fact::Fact;
use ralph_core::receipt::{End, Given, Snapshot, Tally};
use ralph_core::seal::Seal;
use ralph_core::text::head_of;

use super::executions::Executions;
use super::perform::Hands;
use super::plan::{AgentChoice, RunPlan};
use crate::git;
use ralph_agents::survey::packaged_version;
use ralph_core::isolation::Isolation;
use ralph_process as process;
use ralph_store::receipt;
use ralph_store::{Store, StoreError};
use ralph_util::redact;

/// How many facts are read at once.
const PAGE: u32 = 1_000;

/// How much is told of what git could not take in.
const MOST_TOLD: usize = 1_000;

pub(super) struct Books {
    tally: Tally,
    /// Where the run is a stage.
    executions: Option<Executions>,
    began: Millis,
    /// What must not change before a claim.
    pub(super) seal: Option<Seal>,
    /// The work tree when it was last verified.
    pub(super) seen: Option<Snapshot>,
}

impl Books {
    pub(super) fn of(plan: &RunPlan) -> Self {
        Self {
            tally: Tally::default(),
            executions: Executions::of(plan),
            began: Millis::default(),
            seal: None,
            seen: None,
        }
    }

    /// Says, once, why the execution log is not whole.
    pub(super) fn complaint(&mut self) -> Option<String> {
        self.executions.as_mut()?.complaint()
    }

    pub(super) fn heed(&mut self, at: Millis, fact: &Fact) {
        if let Some(executions) = &mut self.executions {
            executions.heed(at, fact);
        }
        if let Fact::RunStarted { .. } = fact {
            self.began = at;
        }
        if let Fact::RunSealed { seal } = fact {
            self.seal = Some(seal.clone());
        }
        self.tally.heed(fact);
    }

    /// Reads what was recorded before this engine took the run up.
    pub(super) async fn read(&mut self, store: &Store, run: &str) -> Result<(), StoreError> {
        if let Some(executions) = &mut self.executions {
            executions.catch_up();
        }
        let mut seen = 0;
        loop {
            let rows = store.events(run, seen, PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            seen = last.seq;
            for row in &rows {
                // Facts of an older ralph that are not understood have no part in a completion by this one.
                if let Ok(fact) = serde_json::from_str(&row.body) {
                    self.heed(Millis(row.at), &fact);
                }
            }
        }
    }

    /// Returns the receipt of a run that these facts complete.
    pub(super) fn receipt(
        &self,
        at: Millis,
        facts: &[&Fact],
        hands: &Hands,
    ) -> Result<Option<Fact>, serde_json::Error> {
        let Some(end) = facts.iter().find_map(|fact| End::of(fact)) else { return Ok(None) };
        let mut tally = self.tally.clone();
        facts.iter().for_each(|fact| tally.heed(fact));
        let sealed = receipt::seal(&tally.receipt(&end, self.given(at, hands)?))?;
        Ok(Some(Fact::Receipt { receipt: Box::new(sealed.receipt), sha256: sealed.sha256 }))
    }

    fn given(&self, at: Millis, hands: &Hands) -> Result<Given, serde_json::Error> {
        let plan = &hands.plan;
        Ok(Given {
            run: plan.id.clone(),
            task: plan.stage.as_ref().map(|stage| stage.task.clone()),
            role: plan.stage.as_ref().map(|stage| stage.role.to_string()),
            criteria: plan.checks.clone(),
            criteria_sha256: receipt::criteria_sha256(&plan.checks)?,
            repository: self.seen.clone(),
            agent_version: version(plan, hands.choice()),
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: shown(self.began),
            finished_at: shown(at),
        })
    }
}

/// Looks at what is verified, a work tree or its commit, without holding up the loop.
pub(super) async fn look_at(root: &Path, isolation: Isolation) -> Result<Snapshot, String> {
    let root = root.to_path_buf();
    let looked = tokio::task::spawn_blocking(move || look(&root, isolation)).await;
    looked.map_err(|error| error.to_string()).flatten()
}

/// The same for whoever may be held up.
pub(super) fn look(root: &Path, isolation: Isolation) -> Result<Snapshot, String> {
    let seen = match isolation {
        Isolation::Workspace => git::snapshot(root),
        Isolation::Clean => git::committed(root),
    };
    let seen = seen.map_err(|error| error.to_string())?;
    Ok(Snapshot { left_out: seen.left_out.map(|why| told(&why)), ..seen })
}

/// Git may name very many files, and names may hold secrets.
fn told(why: &str) -> String {
    head_of(&redact::text(why), MOST_TOLD).to_owned()
}

/// Returns the version of an agent, if a package beside its program tells.
fn version(plan: &RunPlan, choice: &AgentChoice) -> Option<String> {
    let (spec, _) = plan.agent_job(choice, "", &choice.asked(None)).ok()?;
    let program = process::locate(&spec).ok()?;
    packaged_version(&program, choice.adapter.about().package?)
}

pub(super) fn shown(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}
