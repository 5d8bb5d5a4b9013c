//! The seal of a task: made once, over the criteria of all its stages, and used by every stage and attempt.
use ralph_core::baseline::{BaselineCheck, BaselineStatus, BaselineTrial};
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::{Criterion, external_checks};
use ralph_core::policy::BaselineMode;
use ralph_core::role_duty::RoleDuty;
use ralph_core::seal::{Seal, SealingResult};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::git;
use crate::project::Project;
use crate::verify::claim_requirements::{ClaimRequirements, VerificationPreparation};
use crate::verify::seals::file_sealer::{FileSealer, SealError};
use crate::verify::verification_control::VerificationControl;
use crate::verify::{AcceptancePolicy, CheckContext};
use ralph_process::JobCommand;
use ralph_util::digest::sha256_hex;

/// The seal and the baseline of a task, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSeal {
    /// The SHA-256 of the criteria and patterns for which it was made. If they change, the task is sealed again from its
    /// base commit.
    pub terms_digest: String,
    pub seal: Seal,
    pub baseline: Vec<BaselineTrial>,
}

/// The criteria for which a task is sealed.
#[derive(Debug, Clone)]
pub struct TaskSealTerms {
    /// The criteria of all stages.
    pub criteria: Vec<Criterion>,
    pub acceptance: AcceptancePolicy,
    pub baseline: BaselineMode,
}

/// Which files are sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSealSource {
    /// Those in the work tree: no agent has worked there.
    FreshWorktree,
    /// Those of the base commit: agents have worked in the work tree.
    BaseCommit(String),
}

impl TaskSealTerms {
    /// Returns the SHA-256 of everything that decides what is sealed.
    pub fn digest(&self) -> Result<String, serde_json::Error> {
        let AcceptancePolicy { guard, allow_changes, .. } = &self.acceptance;
        Ok(sha256_hex(serde_json::to_vec(&(&self.criteria, guard, allow_changes))?))
    }

    /// Seals a task. Returns the reason if that is not possible.
    pub async fn seal_task(
        self,
        source: TaskSealSource,
        project: &Project,
        context: CheckContext,
        commands: UnboundedReceiver<JobCommand>,
    ) -> Result<TaskSeal, String> {
        let terms_digest = self.digest().map_err(|error| error.to_string())?;
        let Self { criteria, acceptance, baseline } = self;
        let sealer = FileSealer::new(project, &acceptance, &criteria, &context.environment);
        match source {
            TaskSealSource::FreshWorktree => {
                let duty = RoleDuty::None;
                let requirements = ClaimRequirements { criteria, acceptance, duty, task_base: None, sealer };
                let VerificationPreparation { sealing, baseline } =
                    requirements.prepare(context, baseline, commands).await;
                match sealing {
                    SealingResult::Done { seal } => Ok(TaskSeal { terms_digest, seal: *seal, baseline }),
                    SealingResult::Impossible { why } => Err(why),
                }
            }
            TaskSealSource::BaseCommit(commit) => {
                let control = &mut VerificationControl::new(commands);
                let sealed = control.run_blocking(move || {
                    let seal = sealer.and_then(|sealer| sealer.seal_commit(&commit));
                    seal.map_err(|error: SealError| error.to_string())
                });
                let seal = sealed.await.flatten()?;
                Ok(TaskSeal { terms_digest, seal, baseline: Vec::new() })
            }
        }
    }
}

impl ClaimRequirements {
    /// Returns the seal and the baseline of a stage from those of its task. Commits and uncommitted files count from now.
    pub(crate) async fn prepare_from_task_seal(
        self,
        task_seal: TaskSeal,
        context: CheckContext,
        baseline: BaselineMode,
        control: UnboundedReceiver<JobCommand>,
    ) -> VerificationPreparation {
        let control = &mut VerificationControl::new(control);
        let Self { criteria, acceptance, duty, sealer, .. } = self;
        let TaskSeal { mut seal, baseline: trials, .. } = task_seal;
        seal.notes.extend(duty.missing_check_warning(&criteria));
        let root = context.environment.root;
        let updated = control.run_blocking(move || {
            let position = git::read_position(&root, None).map_err(|error| error.to_string())?;
            seal.uncommitted = match acceptance.isolation {
                CheckIsolation::Clean => position.uncommitted,
                CheckIsolation::Workspace => Vec::new(),
            };
            seal.base = position.head;
            sealer.and_then(|sealer| sealer.refresh_settings_files(seal)).map_err(|error| error.to_string())
        });
        let sealing = match updated.await.flatten() {
            Ok(seal) => SealingResult::Done { seal: Box::new(seal) },
            Err(why) => SealingResult::Impossible { why },
        };
        let baseline = match baseline {
            BaselineMode::Run => select_trials(trials, &criteria),
            BaselineMode::Skip => Vec::new(),
        };
        VerificationPreparation { sealing, baseline }
    }
}

/// Returns the results of these criteria, and those of other stages that would stop the task later.
fn select_trials(trials: Vec<BaselineTrial>, criteria: &[Criterion]) -> Vec<BaselineTrial> {
    let commands: Vec<String> = external_checks(criteria).iter().map(|found| found.check.command.to_string()).collect();
    let is_blocking =
        |trial: &BaselineTrial| BaselineCheck::from_trial(trial.clone()).standing == BaselineStatus::CannotRun;
    trials.into_iter().filter(|trial| commands.contains(&trial.evidence.command) || is_blocking(trial)).collect()
}
