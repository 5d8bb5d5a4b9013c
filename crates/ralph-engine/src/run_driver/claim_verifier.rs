//! Verifies the claims of a run: prepares the baseline and the seal, and collects the evidence for a claim. The rules decide
//! what follows from it.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::agent_work_commit::{CommitMode, LeftOutFile, describe_left_out};
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::claim::ClaimReading;
use ralph_core::event::AttemptKey;
use ralph_core::evidence::Evidence;
use ralph_core::policy::BaselineMode;
use ralph_core::protected::{ProtectedBase, TestProtection};
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::seal::{Seal, SealingResult};
use tokio::sync::mpsc::UnboundedReceiver;

use super::attempt::attempt_runner::attempt_log_name;
use super::journal::verified_snapshot::{describe_missing_snapshot, take_snapshot_blocking};
use super::plan::judge_choice::JudgeChoice;
use super::plan::run_plan::RunPlan;
use crate::verify::{
    CheckCache, CheckContext, ClaimRequirements, SealMonitor, SubmittedClaim, VerificationControl,
    VerificationPreparation, read_protected_base,
};
use crate::worktree::{self, AgentWorkCommit, TaskWorktree};
use ralph_agents::replay_output::read_output_claim;
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::failpoints::{self, FailPoint};

/// Verifies one claim after the other. Checks that accepted unchanged files earlier in the run are not repeated.
pub struct ClaimVerifier {
    plan: Arc<RunPlan>,
    keeper: Keeper,
    log_budget: LogBudget,
    cache: CheckCache,
}

/// A claim to verify.
pub struct ClaimRequest {
    pub key: AttemptKey,
    /// From 1; higher if an earlier round was interrupted.
    pub round: u32,
    /// The files that must not have changed. Runs of old versions have no seal.
    pub seal: Option<Seal>,
    /// The number of the agent that made the claim.
    pub agent: u32,
    /// The reading of the agent's output; if it is unknown, the log is read again.
    pub reading: Option<ClaimReading>,
}

/// The evidence for or against a claim.
pub struct VerifiedClaim {
    pub evidence: Evidence,
    /// The work tree that the checks verified, if it could be read.
    pub snapshot: Option<WorkTreeSnapshot>,
    /// The tree after the checks, if a person may have to decide on the claim.
    pub tree_after_checks: Option<String>,
    pub warnings: Vec<String>,
}

impl ClaimVerifier {
    #[must_use]
    pub fn new(plan: Arc<RunPlan>, keeper: Keeper, log_budget: LogBudget) -> Self {
        Self { plan, keeper, log_budget, cache: CheckCache::default() }
    }

    /// Runs the baseline and seals. Files that the checks write do not count as changes by the agent.
    pub fn prepare(
        &self,
        round: u32,
        baseline: BaselineMode,
        commands: UnboundedReceiver<JobCommand>,
    ) -> impl Future<Output = VerificationPreparation> + Send + use<> {
        let context = self.check_context(round_log_name("baseline".to_owned(), round), SubmittedClaim::default());
        let requirements = self.requirements();
        let task_seal = self.plan.context.task_seal.clone();
        let (root, run) = (self.plan.context.project.root.clone(), self.plan.context.id.clone());
        let protection = self.plan.spec.acceptance.tests;
        async move {
            failpoints::reach_fail_point(FailPoint::PrepareStarted);
            let mut prepared = match task_seal {
                Some(seal) => requirements.prepare_from_task_seal(seal, context, baseline, commands).await,
                None => requirements.prepare(context, baseline, commands).await,
            };
            if let SealingResult::Done { seal } = &mut prepared.sealing {
                seal.protected = protected_base(root, run, protection, seal.base.clone()).await;
                if seal.protected.is_none() && protection != TestProtection::Off {
                    seal.notes.push(NO_PROTECTED_BASE.to_owned());
                }
            }
            prepared
        }
    }

    /// Verifies a claim. Commands stop or pause the checks.
    pub fn verify(
        &self,
        request: ClaimRequest,
        commands: UnboundedReceiver<JobCommand>,
    ) -> impl Future<Output = VerifiedClaim> + Send + use<> {
        let log_prefix = round_log_name(attempt_log_name(request.key), request.round);
        let seal = request.seal.clone();
        let context = self.check_context(log_prefix, self.build_claim(request));
        let requirements = self.requirements();
        let root = self.plan.context.project.root.clone();
        let isolation = self.plan.spec.acceptance.isolation;
        let task_tree = self.task_tree_to_commit();
        async move {
            failpoints::reach_fail_point(FailPoint::VerifyStarted);
            let control = &mut VerificationControl::new(commands);
            let unbroken = match requirements.verify_seal(seal, control).await {
                Ok(unbroken) => unbroken,
                Err(broken) => {
                    return VerifiedClaim {
                        evidence: broken,
                        snapshot: None,
                        tree_after_checks: None,
                        warnings: Vec::new(),
                    };
                }
            };
            let committed = commit_work(task_tree, control).await;
            let unbroken = unbroken.without_files(committed.left_out_paths());
            let (claimed_root, message) = (root.clone(), committed.left_out_message());
            let taken =
                control.run_blocking(move || take_claimed_snapshot(&claimed_root, isolation, message)).await.flatten();
            let no_snapshot = taken.as_ref().err().map(|error| describe_missing_snapshot(error));
            let warnings = committed.into_warnings().into_iter().chain(no_snapshot).collect();
            let evidence = unbroken.verify_claim(context, taken.as_ref().ok(), control).await;
            let tree_after_checks = if evidence.may_need_person() {
                control.run_blocking(move || take_snapshot_blocking(&root, isolation)).await.flatten().ok()
            } else {
                None
            };
            let tree_after_checks = tree_after_checks.map(|snapshot| snapshot.tree);
            VerifiedClaim { evidence, snapshot: taken.ok(), tree_after_checks, warnings }
        }
    }

    /// Returns the work tree and the stage of a task whose uncommitted work ralph commits.
    fn task_tree_to_commit(&self) -> Option<StageTree> {
        let RunPlan { spec, context } = self.plan.as_ref();
        let (stage, assigned) = (spec.stage.as_ref()?, context.own_worktree.as_ref()?);
        match spec.acceptance.commit {
            CommitMode::Auto => Some(StageTree { tree: assigned.worktree.clone(), stage: stage.role.to_string() }),
            CommitMode::Agent => None,
        }
    }

    fn build_claim(&self, request: ClaimRequest) -> SubmittedClaim {
        let ClaimRequest { key, agent, reading, .. } = request;
        let output = self.plan.context.run_folder().join(format!("{}.ndjson", attempt_log_name(key)));
        let reading = reading.or_else(|| self.reread_output(agent, &output));
        let promise = self.plan.spec.claim_rules.promise.as_str().to_owned();
        SubmittedClaim::from_reading(promise, reading, output)
    }

    /// Reads the log again; `None` if it cannot be read, which proves nothing.
    fn reread_output(&self, agent: u32, output: &Path) -> Option<ClaimReading> {
        let (rules, format) = (self.plan.spec.claim_rules.clone(), self.plan.context.agent_at(agent).output_format());
        let mut file = File::open(output).ok()?;
        read_output_claim(format, rules, "", &mut file).ok()
    }

    fn check_context(&self, name: String, claim: SubmittedClaim) -> CheckContext {
        CheckContext {
            keeper: self.keeper.clone(),
            environment: self.plan.context.check_environment(),
            cache: self.cache.clone(),
            seal_monitor: SealMonitor::default(),
            log_folder: self.plan.context.run_folder(),
            log_prefix: name,
            log_budget: self.log_budget.clone(),
            plugin_folder: self.plan.context.project.verifiers_folder(),
            claim,
            judge: self.plan.context.judge.as_ref().map(JudgeChoice::to_judge),
        }
    }

    fn requirements(&self) -> ClaimRequirements {
        ClaimRequirements {
            criteria: self.plan.spec.criteria.clone(),
            acceptance: self.plan.spec.acceptance.clone(),
            duty: self.plan.spec.policy.duty,
            task_base: self.plan.context.own_worktree.as_ref().map(|assigned| assigned.worktree.base.clone()),
            sealer: self.plan.build_sealer(),
        }
    }
}

const NO_PROTECTED_BASE: &str = "tests are not protected, because the files before the work could not be recorded: the proof level is at most checked";

/// Returns the protected files at the start of a run, with uncommitted files if a snapshot was taken.
async fn protected_base(
    root: PathBuf,
    run: String,
    protection: TestProtection,
    head: Option<String>,
) -> Option<ProtectedBase> {
    if protection == TestProtection::Off {
        return None;
    }
    let read = tokio::task::spawn_blocking(move || {
        let before = worktree::read_base_tree(&root, &run).ok().flatten();
        Some(read_protected_base(&root, before.or(head)?))
    });
    read.await.ok().flatten()
}

/// The work tree of a stage.
struct StageTree {
    tree: TaskWorktree,
    stage: String,
}

/// The commit that ralph made of the agent's work, or why it could not.
struct CommittedWork(Result<AgentWorkCommit, String>);

impl CommittedWork {
    fn left_out(&self) -> &[LeftOutFile] {
        self.0.as_ref().map_or(&[], |work| work.left_out.as_slice())
    }

    fn left_out_paths(&self) -> Vec<String> {
        self.left_out().iter().map(|file| file.path.clone()).collect()
    }

    /// Returns the files that were left out in one sentence, if there are any.
    fn left_out_message(&self) -> Option<String> {
        let files = self.left_out();
        (!files.is_empty()).then(|| describe_left_out(files))
    }

    fn into_warnings(self) -> Option<String> {
        let message = self.left_out_message();
        self.0.err().map(|error| format!("cannot commit the work of the agent: {error}")).or(message)
    }
}

/// Commits what the agent left uncommitted in the work tree of a task.
async fn commit_work(stage_tree: Option<StageTree>, control: &mut VerificationControl) -> CommittedWork {
    let Some(StageTree { tree, stage }) = stage_tree else { return CommittedWork(Ok(AgentWorkCommit::default())) };
    let committed = control
        .run_blocking(move || worktree::commit_agent_work(&tree, &stage).map_err(|error| error.to_string()))
        .await;
    CommittedWork(committed.flatten())
}

/// Takes the snapshot of the claimed files. If files were left out of the commit, the claim is about the commit.
fn take_claimed_snapshot(
    root: &Path,
    isolation: CheckIsolation,
    left_out: Option<String>,
) -> Result<WorkTreeSnapshot, String> {
    match left_out {
        None => take_snapshot_blocking(root, isolation),
        left_out @ Some(_) => Ok(WorkTreeSnapshot { left_out, ..take_snapshot_blocking(root, CheckIsolation::Clean)? }),
    }
}

/// Returns the common prefix of the checks' log file names. Later rounds do not overwrite the logs of earlier ones.
fn round_log_name(name: String, round: u32) -> String {
    match round {
        1 => name,
        round => format!("{name}-round-{round}"),
    }
}
