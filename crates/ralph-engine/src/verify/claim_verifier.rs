//! A claim is looked at: first whether the work left alone what decides, then whether it is committed where it must be, and
//! then the criteria, in the work tree or in a clean room.
use std::path::{Path, PathBuf};

use ralph_core::baseline::BaselineTrial;
use ralph_core::commit_requirement::{CommitPeriod, CommitRequirement, check_commit_requirement};
use ralph_core::criterion::{Criterion, ExternalCheck, external_checks};
use ralph_core::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use ralph_core::policy::BaselineMode;
use ralph_core::role_duty::RoleDuty;
use ralph_core::seal::{
    Seal, SealedFile, SealingResult, describe_changes_by_checks, seal_evidence, seal_evidence_after_check,
};
use tokio::sync::mpsc::UnboundedReceiver;

use super::acceptance::AcceptancePolicy;
use super::baseline::run_baseline;
use super::clean_checkout::{CleanCheckout, CleanCheckoutError, CleanCheckoutSpec};
use super::file_sealer::{FileSealer, SealError};
use super::seal_monitor::seal_not_checked;
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckEnvironment, SealMonitor, criteria, external};
use crate::git;
use ralph_core::check_isolation::CheckIsolation;
use ralph_process::JobCommand;

/// What is asked of every claim of a run.
pub struct ClaimVerifier {
    pub criteria: Vec<Criterion>,
    pub acceptance: AcceptancePolicy,
    pub duty: RoleDuty,
    /// The commit that the work on the task began at, where it has a tree of its own.
    pub task_base: Option<String>,
    pub sealer: Result<FileSealer, SealError>,
}

/// What the preparation of a run came to.
pub struct VerificationPreparation {
    pub sealing: SealingResult,
    pub baseline: Vec<BaselineTrial>,
}

impl ClaimVerifier {
    /// Runs the external checks once, where that is wanted, and seals. In the work tree the checks come first: what they leave
    /// behind is no change of the agent's.
    pub async fn prepare(
        self,
        context: CheckContext,
        baseline: BaselineMode,
        control: UnboundedReceiver<JobCommand>,
    ) -> VerificationPreparation {
        let control = &mut VerificationControl::new(control);
        let Self { criteria, acceptance, duty, sealer, .. } = self;
        let root = context.environment.root.clone();
        let note = duty.missing_check_warning(&criteria);
        match (acceptance.isolation, baseline) {
            (CheckIsolation::Workspace, BaselineMode::Run) => {
                let (sealing, sealer) =
                    seal_files(sealer, root.clone(), (CheckIsolation::Workspace, None), control).await;
                let (SealingResult::Done { seal: before }, Some(sealer)) = (&sealing, sealer) else {
                    return VerificationPreparation { sealing, baseline: Vec::new() };
                };
                let trials = run_baseline(&context, &criteria, control).await;
                let (mut after, _) = seal_files(Ok(sealer), root, (CheckIsolation::Workspace, note), control).await;
                if let SealingResult::Done { seal } = &mut after {
                    seal.notes.extend(describe_changes_by_checks(&before.files, &seal.files));
                }
                VerificationPreparation { sealing: after, baseline: trials }
            }
            (isolation, BaselineMode::Skip) => {
                let (sealing, _) = seal_files(sealer, root, (isolation, note), control).await;
                VerificationPreparation { sealing, baseline: Vec::new() }
            }
            (CheckIsolation::Clean, BaselineMode::Run) => {
                let (sealing, sealer) = seal_files(sealer, root, (CheckIsolation::Clean, note), control).await;
                let (SealingResult::Done { seal }, Some(sealer)) = (&sealing, sealer) else {
                    return VerificationPreparation { sealing, baseline: Vec::new() };
                };
                let commit = seal.base.clone().unwrap_or_default();
                let baseline = match enter_clean_checkout(context, sealer, (&acceptance, seal, commit), control).await {
                    Ok((context, _room)) => run_baseline(&context, &criteria, control).await,
                    Err(evidence) => {
                        vec![BaselineTrial {
                            evidence: *evidence,
                            lack: ralph_core::baseline::BaselineProblem::NotFixableByAgent,
                        }]
                    }
                };
                VerificationPreparation { sealing, baseline }
            }
        }
    }

    /// Looks whether what decides was left alone, before any program of the work tree is started. A run of before has no seal.
    pub async fn verify_seal(
        self,
        seal: Option<Seal>,
        control: &mut VerificationControl,
    ) -> Result<SealedClaim, Evidence> {
        let Self { criteria, acceptance, duty, task_base, sealer } = self;
        let Some(seal) = seal else {
            return Ok(SealedClaim { criteria, acceptance, duty, task_base, sealed: None });
        };
        let sealer = ensure_unbroken_seal(sealer, seal.clone(), control).await.map_err(single_evidence)?;
        Ok(SealedClaim { criteria, acceptance, duty, task_base, sealed: Some((seal, sealer)) })
    }
}

/// A claim whose work has left alone what decides.
pub struct SealedClaim {
    criteria: Vec<Criterion>,
    acceptance: AcceptancePolicy,
    duty: RoleDuty,
    task_base: Option<String>,
    sealed: Option<(Seal, FileSealer)>,
}

impl SealedClaim {
    /// Lets a verifier watch over what is sealed, and reuse what is known of these files, for checks that are run one by one
    /// in the work tree.
    pub async fn monitor_seal(self, context: CheckContext, control: &mut VerificationControl) -> CheckContext {
        let context = match self.sealed {
            Some((seal, sealer)) => CheckContext { seal_monitor: SealMonitor::new(sealer, seal, None), ..context },
            None => context,
        };
        with_cached_results(context, &self.acceptance, &self.criteria, control).await
    }

    /// Looks whether it is committed, where it must be, and at the criteria.
    pub async fn verify_claim(self, context: CheckContext, control: &mut VerificationControl) -> Evidence {
        let Some((seal, sealer)) = self.sealed else {
            return criteria::verify_criteria(&context, &self.criteria, control).await;
        };
        let wanted = match (self.acceptance.isolation, self.duty) {
            (CheckIsolation::Clean, _) => CommitRequirement::AllWork,
            (CheckIsolation::Workspace, duty) => required_commit(duty),
        };
        let base = match self.duty {
            RoleDuty::CommitForTask => self.task_base.or_else(|| seal.base.clone()),
            RoleDuty::None | RoleDuty::Commit | RoleDuty::Approve | RoleDuty::Back => seal.base.clone(),
        };
        let from = (context.environment.root.as_path(), base);
        let commit = match require_commit(from, &seal, (wanted, self.duty), control).await {
            Ok(commit) => commit,
            Err(objection) => return single_evidence(objection),
        };
        match self.acceptance.isolation {
            CheckIsolation::Workspace => {
                let watch = SealMonitor::new(sealer, seal, None);
                let context = CheckContext { seal_monitor: watch, ..context };
                let context = with_cached_results(context, &self.acceptance, &self.criteria, control).await;
                let evidence = verify_sealed_criteria(&context, &self.criteria, control).await;
                if evidence.verdict() != Verdict::Accepted && evidence.has_cached_results() {
                    context.cache.clear();
                }
                evidence
            }
            CheckIsolation::Clean => {
                match enter_clean_checkout(context, sealer, (&self.acceptance, &seal, commit), control).await {
                    Ok((context, _room)) => verify_sealed_criteria(&context, &self.criteria, control).await,
                    Err(evidence) => single_evidence(evidence),
                }
            }
        }
    }
}

/// Looks at all criteria. Without one it is the seal that accepts, which says nothing about the work.
async fn verify_sealed_criteria(
    context: &CheckContext,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> Evidence {
    let evidence = criteria::verify_criteria(context, criteria, control).await;
    let is_seal_alone = criteria.is_empty() && evidence.checks.is_empty();
    let evidence = if is_seal_alone { single_evidence(Box::new(seal_evidence(&[]))) } else { evidence };
    append_allowed_changes(context, evidence, control).await
}

/// Adds to what is accepted what was changed although it decides, and may be.
pub async fn append_allowed_changes(
    context: &CheckContext,
    mut evidence: Evidence,
    control: &mut VerificationControl,
) -> Evidence {
    if evidence.verdict() == Verdict::Accepted {
        evidence.checks.extend(context.seal_monitor.allowed_changes(control).await);
    }
    evidence
}

fn single_evidence(check: Box<CheckEvidence>) -> Evidence {
    Evidence { checks: vec![*check] }
}

/// Lets a verifier reuse what is known of these files. With a single check there is nothing to reuse: once it accepts, the
/// run is over.
async fn with_cached_results(
    context: CheckContext,
    acceptance: &AcceptancePolicy,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> CheckContext {
    if acceptance.is_always_fresh || external_checks(criteria).len() < 2 {
        return context;
    }
    let root = context.environment.root.clone();
    let looked = control.run_blocking(move || git::complete_tree_hash(&root)).await;
    let tree = looked.ok().and_then(Result::ok).flatten();
    CheckContext { cache: context.cache.for_tree(tree), ..context }
}

/// Hashes what must not change. That may be much, so it does not hold up the driver.
async fn seal_files(
    sealer: Result<FileSealer, SealError>,
    root: PathBuf,
    (isolation, note): (CheckIsolation, Option<String>),
    control: &mut VerificationControl,
) -> (SealingResult, Option<FileSealer>) {
    let sealed = control.run_blocking(move || {
        let sealer = sealer.map_err(|error| error.to_string())?;
        let mut seal = sealer.seal().map_err(|error| error.to_string())?;
        if isolation == CheckIsolation::Clean {
            let position = git::read_position(&root, None).map_err(|error| error.to_string())?;
            if position.head.is_none() {
                return Err("isolation: clean needs a commit to start from, and there is none".to_owned());
            }
            seal.uncommitted = position.uncommitted;
        }
        seal.notes.extend(note);
        Ok((seal, sealer))
    });
    match sealed.await.flatten() {
        Ok((seal, sealer)) => (SealingResult::Done { seal }, Some(sealer)),
        Err(why) => (SealingResult::Impossible { why }, None),
    }
}

/// Gives the sealer back where nothing that it sealed has changed, else what the seal says.
async fn ensure_unbroken_seal(
    sealer: Result<FileSealer, SealError>,
    seal: Seal,
    control: &mut VerificationControl,
) -> Result<FileSealer, Box<CheckEvidence>> {
    let looked = control.run_blocking(move || {
        let sealer = sealer.map_err(|error| error.to_string())?;
        Ok((sealer.check_seal(&seal), sealer))
    });
    let looked = looked.await.flatten();
    if control.is_stopped() {
        return Err(Box::new(seal_not_checked()));
    }
    match looked {
        Ok((evidence, sealer)) if evidence.verdict == Verdict::Accepted => Ok(sealer),
        Ok((evidence, _)) => Err(Box::new(evidence)),
        Err(why) => Err(Box::new(seal_evidence(&[why]))),
    }
}

/// Returns the commit that is claimed, or why it is not enough.
async fn require_commit(
    (root, base): (&Path, Option<String>),
    seal: &Seal,
    (wanted, duty): (CommitRequirement, RoleDuty),
    control: &mut VerificationControl,
) -> Result<String, Box<CheckEvidence>> {
    if wanted == CommitRequirement::NotRequired {
        return Ok(String::new());
    }
    let root = root.to_path_buf();
    let looked =
        control.run_blocking(move || git::read_position(&root, base.as_deref()).map_err(|error| error.to_string()));
    let mut position =
        looked.await.flatten().map_err(|why| Box::new(could_not_evaluate(EvidenceKind::Commit, "the commit", why)))?;
    position.uncommitted.retain(|file| !seal.uncommitted.contains(file));
    let objection = check_commit_requirement(wanted, &position)
        .or_else(|| check_commit_requirement(required_commit(duty), &position));
    match objection {
        Some(objection) => Err(Box::new(objection)),
        None => Ok(position.head.unwrap_or_default()),
    }
}

/// A coder must have committed something, also where everything must be committed.
fn required_commit(duty: RoleDuty) -> CommitRequirement {
    match duty {
        RoleDuty::Commit => CommitRequirement::SomeWork(CommitPeriod::Run),
        RoleDuty::CommitForTask => CommitRequirement::SomeWork(CommitPeriod::Task),
        RoleDuty::None | RoleDuty::Approve | RoleDuty::Back => CommitRequirement::NotRequired,
    }
}

fn could_not_evaluate(kind: EvidenceKind, what: &str, why: String) -> CheckEvidence {
    CheckEvidence::without_output(kind, what.to_owned(), Verdict::CouldNotEvaluate, why)
}

/// Makes a clean room and lets the checks run in it. What prepares it counts as a check.
async fn enter_clean_checkout(
    context: CheckContext,
    sealer: FileSealer,
    (acceptance, seal, commit): (&AcceptancePolicy, &Seal, String),
    control: &mut VerificationControl,
) -> Result<(CheckContext, CleanCheckout), Box<CheckEvidence>> {
    let root = context.environment.root.clone();
    let furniture = CleanCheckoutSpec { root, commit, share: acceptance.share.clone(), seal: seal.clone() };
    let made = control.run_blocking(move || {
        let room = CleanCheckout::create(&sealer, &furniture)?;
        let there = sealer.for_checkout(room.path());
        let files = there.without_programs().hash_sealed_files()?;
        Ok((room, (sealer, there, files)))
    });
    let (room, sealed) = made
        .await
        .and_then(|made: Result<_, CleanCheckoutError>| made.map_err(|error| error.to_string()))
        .map_err(|why| Box::new(could_not_evaluate(EvidenceKind::Commit, "the clean room", why)))?;
    let environment = CheckEnvironment { root: room.path().to_path_buf(), ..context.environment };
    let context = CheckContext { environment, ..context };
    run_checkout_setup(&context, &acceptance.setup, control).await?;
    let watch = monitor_clean_checkout(sealed, seal.clone(), control).await?;
    Ok((CheckContext { seal_monitor: watch, ..context }, room))
}

/// Watches over a room that is set up. Its commands may have installed programs, and must have left alone all else.
async fn monitor_clean_checkout(
    (sealer, there, files): (FileSealer, FileSealer, Vec<SealedFile>),
    seal: Seal,
    control: &mut VerificationControl,
) -> Result<SealMonitor, Box<CheckEvidence>> {
    let looked = control.run_blocking(move || {
        let changes = there.without_programs().file_changes_since(&files);
        if !changes.is_empty() {
            return Err(changes);
        }
        let files = there.hash_sealed_files().map_err(|error| vec![error.to_string()])?;
        Ok(SealMonitor::new(sealer, seal, Some((there, files))))
    });
    let looked = looked.await.map_err(|why| vec![why]).flatten();
    looked.map_err(|changes| Box::new(seal_evidence_after_check(&changes)))
}

/// Runs the commands that make a checkout fit for the checks.
async fn run_checkout_setup(
    context: &CheckContext,
    setup: &[String],
    control: &mut VerificationControl,
) -> Result<(), Box<CheckEvidence>> {
    let commands = setup.iter().map(|command| ExternalCheck::from_shell_text(command));
    run_setup_commands(context, commands, control, async || true).await
}

/// Runs the commands that make a work tree fit for work, which may take longer than a check.
pub async fn run_worktree_setup(
    context: &CheckContext,
    setup: &[String],
    control: UnboundedReceiver<JobCommand>,
    may_continue: impl AsyncFn() -> bool,
) -> Result<(), Box<CheckEvidence>> {
    let patient = |command: &String| ExternalCheck {
        timeout_ms: WORKTREE_SETUP_TIMEOUT_MS,
        ..ExternalCheck::from_shell_text(command)
    };
    run_setup_commands(context, setup.iter().map(patient), &mut VerificationControl::new(control), may_continue).await
}

/// Runs commands one after the other. The first that fails ends it.
async fn run_setup_commands(
    context: &CheckContext,
    commands: impl Iterator<Item = ExternalCheck>,
    control: &mut VerificationControl,
    may_continue: impl AsyncFn() -> bool,
) -> Result<(), Box<CheckEvidence>> {
    for (check, number) in commands.zip(1_u32..) {
        let seen = if may_continue().await {
            let log = format!("{}.setup-{number}.log", context.log_prefix);
            external::run_external_check(context, &check, log, control).await
        } else {
            could_not_evaluate(
                EvidenceKind::External,
                &check.command.to_string(),
                "somebody else has the tree".to_owned(),
            )
        };
        if seen.verdict != Verdict::Accepted {
            return Err(Box::new(CheckEvidence { name: Some(format!("setup {}", seen.display_name())), ..seen }));
        }
    }
    Ok(())
}

/// Packages may have to be fetched and built.
const WORKTREE_SETUP_TIMEOUT_MS: u64 = 30 * 60 * 1_000;

/// Verifies criteria in a checkout, long after the run. Returns what could not be set up, if that is so.
pub async fn verify_checkout(
    context: &CheckContext,
    setup: &[String],
    criteria: &[Criterion],
    control: UnboundedReceiver<JobCommand>,
) -> Result<Evidence, Box<CheckEvidence>> {
    let control = &mut VerificationControl::new(control);
    run_checkout_setup(context, setup, control).await?;
    Ok(criteria::verify_criteria(context, criteria, control).await)
}
