//! Verifies the completion of a loop that a command, a field or a plain end of an iteration claims. The rules are those of
//! a promise: the seal, protected tests, judges and plugins decide, and the run of the loop records the verdict.
use std::sync::Arc;

use ralph_core::event::{AttemptKey, VerifiedCompletion};
use ralph_core::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use ralph_core::fact::Fact;
use ralph_core::policy::{ClaimVerification, MinimumProof};
use ralph_core::receipt::{Proof, ProofLevel, ReceiptCheck, WorkTreeSnapshot};
use ralph_core::seal::Seal;
use ralph_engine::control::SteppedRun;
use ralph_engine::run_driver::{ClaimRequest, ClaimVerifier, Clock, ControlEvent, RunPlan};
use ralph_process::LogBudget;
use ralph_store::{RunRow, StoredRun};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::ActivityRunner;
use super::agent_pass::EndedPass;
use super::checks_node::drive_checks;
use crate::error::{AppError, AppResult};
use crate::run::ResumeRequest;
use crate::workflow_runs::loop_receipt::{CompletionChannel, LoopChecks};

/// The round in the names of the logs: the first is that of a promise in the same iteration.
const LOG_ROUND: u32 = 2;

/// A completion that the agent did not claim by a watched promise.
#[derive(Debug, Clone)]
pub(super) struct CompletionClaim {
    pub channel: CompletionChannel,
    /// Why the work counts as done, for people and for the agent.
    pub reason: String,
    /// The proof level without checks, and the highest one for a command.
    pub level: ProofLevel,
    pub is_by_command: bool,
}

/// The verdict on a completion.
pub(super) enum CompletionVerdict {
    Accepted {
        proof: ProofLevel,
        checks: LoopChecks,
    },
    /// The next iteration may complete it.
    NotAccepted,
    /// The loop has ended without a verdict.
    Ended {
        reason: String,
    },
    Stopped,
}

impl ActivityRunner {
    /// Verifies a completion with the checks of the loop.
    pub(super) async fn verify_completion(
        &self,
        pass: &EndedPass,
        claim: CompletionClaim,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<CompletionVerdict> {
        let (row, stored) = self.load_pass(&pass.run).await?;
        let baseline = stored.state.baseline.clone();
        let Some((evidence, repository)) = self.collect_evidence(&row, stored, control).await? else {
            return Ok(CompletionVerdict::Stopped);
        };
        let level = match evidence.checks.is_empty() {
            true => claim.level,
            false => Proof::from_evidence(&evidence.checks, &baseline).level,
        };
        let level = if claim.is_by_command { level.min(claim.level) } else { level };
        let evidence = self.require_level(evidence, level);
        if evidence.checks.is_empty() {
            let checks = LoopChecks { checks: Vec::new(), repository: self.services.take_snapshot().await };
            return Ok(CompletionVerdict::Accepted { proof: level, checks });
        }
        let checks = LoopChecks { checks: evidence.checks.iter().map(ReceiptCheck::from).collect(), repository };
        let verdict = evidence.verdict();
        let recorded = self.record_completion(&row, Some(claim.reason), evidence).await?;
        Ok(match (recorded, verdict) {
            (Some(reason), _) => CompletionVerdict::Ended { reason },
            (None, Verdict::Accepted) => CompletionVerdict::Accepted { proof: level, checks },
            (None, Verdict::Rejected | Verdict::CouldNotEvaluate) => CompletionVerdict::NotAccepted,
        })
    }

    /// Records what `until_bash` said, if it was no completion. Returns why the loop has ended, if it has.
    pub(super) async fn record_until_bash(
        &self,
        pass: &EndedPass,
        command: &str,
        unevaluated: Option<String>,
    ) -> AppResult<Option<String>> {
        let (row, stored) = self.load_pass(&pass.run).await?;
        let (verdict, reason) = match unevaluated {
            Some(reason) => (Verdict::CouldNotEvaluate, reason),
            // Only a count of earlier verdicts would change.
            None if stored.state.unevaluated_verdicts == 0 => return Ok(None),
            None => (Verdict::Rejected, "not yet".to_owned()),
        };
        let command = command.lines().next().unwrap_or_default().to_owned();
        let check = CheckEvidence::without_output(EvidenceKind::External, command, verdict, reason);
        let check = CheckEvidence { name: Some("until_bash".to_owned()), ..check };
        self.record_completion(&row, None, Evidence { checks: vec![check] }).await
    }

    /// Records a verdict in the journal of the loop. Returns why the loop has ended, if it has.
    async fn record_completion(
        &self,
        row: &RunRow,
        claim: Option<String>,
        evidence: Evidence,
    ) -> AppResult<Option<String>> {
        let run = SteppedRun { store: &self.services.host.store, run: &row.id, settings: &row.settings };
        let completion = VerifiedCompletion { claim, evidence };
        let was_ended = !self.services.host.store.load_run(&row.id).await?.state.can_resume();
        let state = run.record_completion(completion, Clock::wall_now()).await?;
        let budget = &self.services.host.budget;
        budget.open_account(&row.id, budget.spent_before_process(&row.id, state.spent)).record_spend(state.spent);
        let is_ended = !state.can_resume() && !was_ended;
        Ok(state.run_end().filter(|_| is_ended).map(|end| end.reason.clone()))
    }

    /// Returns the row and the state of a pass.
    pub(super) async fn load_pass(&self, run: &str) -> AppResult<(RunRow, StoredRun)> {
        let store = &self.services.host.store;
        let row = store.find_runs_by_id_part(run).await?.into_iter().find(|row| row.id == run);
        let row = row.ok_or_else(|| AppError::preflight("the run of the loop is no longer stored"))?;
        let stored = store.load_run(run).await?;
        Ok((row, stored))
    }

    /// Runs the checks of the loop. Returns the files that they verified too, or `None` if they were stopped.
    async fn collect_evidence(
        &self,
        row: &RunRow,
        stored: StoredRun,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<Option<(Evidence, Option<WorkTreeSnapshot>)>> {
        let host = &self.services.host;
        let request = ResumeRequest { config: &host.config, visibility: host.visibility, person: host.person.as_ref() };
        let plan: RunPlan = request.rebuild_plan(row, &stored, &self.services.project)?.plan;
        if plan.spec.policy.proof == ClaimVerification::ClaimAlone {
            return Ok(Some((Evidence::default(), None)));
        }
        let last = host.store.attempts_of_run(&row.id).await?.pop();
        let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
        let key = last.map(|last| AttemptKey { iteration: number(last.iteration), attempt: number(last.number) });
        let key = key.ok_or_else(|| AppError::preflight("the loop has no attempt"))?;
        let seal = self.find_seal(&row.id).await?;
        let log_budget = LogBudget::new(plan.raw_log_bytes(), &plan.context.run_folder());
        let verifier = ClaimVerifier::new(Arc::new(plan), host.keeper.clone(), log_budget);
        let (commands, received) = unbounded_channel();
        let request = ClaimRequest { key, round: LOG_ROUND, seal, agent: stored.state.limits.agent, reading: None };
        let verified = drive_checks(verifier.verify(request, received), &commands, control).await;
        let Some(verified) = verified else { return Ok(None) };
        verified.warnings.iter().for_each(|warning| self.services.warn(warning));
        Ok(Some((verified.evidence, verified.snapshot)))
    }

    /// Returns the seal that the loop made before its first iteration.
    async fn find_seal(&self, run: &str) -> AppResult<Option<Seal>> {
        let events = self.services.host.store.events_after(run, 0, u32::MAX).await?;
        let facts = events.iter().filter_map(|event| serde_json::from_str::<Fact>(&event.body).ok());
        let mut seals = facts.filter_map(|fact| if let Fact::RunSealed { seal } = fact { Some(seal) } else { None });
        Ok(seals.next_back())
    }

    /// Rejects accepted evidence of a lower level than the run requires.
    fn require_level(&self, evidence: Evidence, level: ProofLevel) -> Evidence {
        let is_required = self.services.spec.policy.required_proof == MinimumProof::Proven;
        // Without checks nothing rejects it.
        let is_accepted = evidence.checks.is_empty() || evidence.verdict() == Verdict::Accepted;
        if !is_accepted || !is_required || level == ProofLevel::Proven {
            return evidence;
        }
        let reason = format!("the result must be proven, but is only {}", level.as_str());
        let check = CheckEvidence::without_output(
            EvidenceKind::StringMatch,
            "required proof".to_owned(),
            Verdict::Rejected,
            reason,
        );
        Evidence { checks: evidence.checks.into_iter().chain([check]).collect() }
    }
}
