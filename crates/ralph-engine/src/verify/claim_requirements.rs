//! Verifies a claim: first that no sealed file has changed, then that the work is committed if that is required, then
//! the criteria, in the work tree or in a clean checkout.
use std::path::PathBuf;

use ralph_core::baseline::BaselineTrial;
use ralph_core::commit_requirement::{CommitPeriod, CommitRequirement, check_commit_requirement};
use ralph_core::criterion::{Criterion, ExternalCheck, external_checks};
use ralph_core::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use ralph_core::policy::BaselineMode;
use ralph_core::protected::ProtectedBase;
use ralph_core::role_duty::RoleDuty;
use ralph_core::seal::{Seal, SealingResult, describe_changes_by_checks, seal_evidence, seal_evidence_after_check};
use tokio::sync::mpsc::UnboundedReceiver;

use super::acceptance::AcceptancePolicy;
use super::baseline::run_baseline;
use super::clean_checkout::{CleanCheckout, CleanCheckoutError, CleanCheckoutSpec};
use super::file_sealer::{FileSealer, SealError};
use super::protected::{ProtectedTests, second_run_context};
use super::seal_monitor::{SealedCheckout, seal_not_checked};
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckEnvironment, SealMonitor, criteria, external};
use crate::git;
use ralph_core::check_isolation::CheckIsolation;
use ralph_process::JobCommand;

/// The requirements for every claim of a run.
pub struct ClaimRequirements {
    pub criteria: Vec<Criterion>,
    pub acceptance: AcceptancePolicy,
    pub duty: RoleDuty,
    /// The commit from which the work on the task started, if the task has a separate work tree.
    pub task_base: Option<String>,
    pub sealer: Result<FileSealer, SealError>,
}

/// The seal and the baseline of a run.
pub struct VerificationPreparation {
    pub sealing: SealingResult,
    pub baseline: Vec<BaselineTrial>,
}

impl ClaimRequirements {
    /// Runs the external checks once, if the baseline mode requires it, and seals the files. In the work tree the
    /// checks run before the files are sealed, so that files which they create do not count as changes by the agent.
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
                    seal_files(sealer, root.clone(), CheckIsolation::Workspace, None, control).await;
                let (SealingResult::Done { seal: before }, Some(sealer)) = (&sealing, sealer) else {
                    return VerificationPreparation { sealing, baseline: Vec::new() };
                };
                let stamps = sealer.read_stamps(&before.files);
                let trials = run_baseline(&context, &criteria, control).await;
                let (mut after, sealer) = seal_files(Ok(sealer), root, CheckIsolation::Workspace, note, control).await;
                if let (SealingResult::Done { seal }, Some(sealer)) = (&mut after, sealer) {
                    seal.touched = stamps.changed_names(&sealer.read_stamps(&before.files));
                    seal.notes.extend(describe_changes_by_checks(&before.files, &seal.files));
                }
                VerificationPreparation { sealing: after, baseline: trials }
            }
            (isolation, BaselineMode::Skip) => {
                let (sealing, _) = seal_files(sealer, root, isolation, note, control).await;
                VerificationPreparation { sealing, baseline: Vec::new() }
            }
            (CheckIsolation::Clean, BaselineMode::Run) => {
                let (sealing, sealer) = seal_files(sealer, root, CheckIsolation::Clean, note, control).await;
                let (SealingResult::Done { seal }, Some(sealer)) = (&sealing, sealer) else {
                    return VerificationPreparation { sealing, baseline: Vec::new() };
                };
                let commit = seal.base.clone().unwrap_or_default();
                let spec = CleanCheckoutSpec::new(&context.environment.root, commit, &acceptance, seal);
                let baseline = match enter_clean_checkout(context, sealer, spec, &acceptance.setup, control).await {
                    Ok((context, _checkout)) => run_baseline(&context, &criteria, control).await,
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

    /// Checks that nothing sealed has changed, before any program of the work tree is started. Runs of old versions
    /// have no seal.
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

/// A claim whose seal is intact.
pub struct SealedClaim {
    criteria: Vec<Criterion>,
    acceptance: AcceptancePolicy,
    duty: RoleDuty,
    task_base: Option<String>,
    sealed: Option<(Seal, FileSealer)>,
}

impl SealedClaim {
    /// Adds the seal monitor and cached results to a context, for checks that run one by one in the work tree.
    pub async fn monitor_seal(self, context: CheckContext, control: &mut VerificationControl) -> CheckContext {
        let context = match self.sealed {
            Some((seal, sealer)) => CheckContext { seal_monitor: SealMonitor::new(sealer, seal, None), ..context },
            None => context,
        };
        with_cached_results(context, &self.acceptance, &self.criteria, control).await
    }

    /// Checks that the work is committed, if that is required, and verifies the criteria.
    pub async fn verify_claim(self, context: CheckContext, control: &mut VerificationControl) -> Evidence {
        let Some((seal, sealer)) = self.sealed else {
            return criteria::verify_criteria(&context, &self.criteria, control).await;
        };
        let requirement = match (self.acceptance.isolation, self.duty) {
            (CheckIsolation::Clean, _) => CommitRequirement::AllWork,
            (CheckIsolation::Workspace, duty) => required_commit(duty),
        };
        let task_base = self.task_base.clone();
        let base = match self.duty {
            RoleDuty::CommitForTask => self.task_base.or_else(|| seal.base.clone()),
            RoleDuty::None | RoleDuty::Commit | RoleDuty::Approve | RoleDuty::Back => seal.base.clone(),
        };
        let check = CommitCheck { root: context.environment.root.clone(), base, requirement, duty: self.duty };
        let commit = match require_commit(check, &seal, control).await {
            Ok(commit) => commit,
            Err(objection) => return single_evidence(objection),
        };
        let protected = ProtectedTests::compare(
            &self.acceptance,
            protected_base(task_base, &seal),
            &context.environment.root,
            control,
        );
        let protected = protected.await;
        let second = second_run_context(&context);
        let evidence = match self.acceptance.isolation {
            CheckIsolation::Workspace => {
                let seal_monitor = SealMonitor::new(sealer, seal, None);
                let context = CheckContext { seal_monitor, ..context };
                let context = with_cached_results(context, &self.acceptance, &self.criteria, control).await;
                let evidence = verify_sealed_criteria(&context, &self.criteria, control).await;
                if evidence.verdict() != Verdict::Accepted && evidence.has_cached_results() {
                    context.cache.clear();
                }
                evidence
            }
            CheckIsolation::Clean => {
                let spec = CleanCheckoutSpec::new(&context.environment.root, commit, &self.acceptance, &seal);
                match enter_clean_checkout(context, sealer, spec, &self.acceptance.setup, control).await {
                    Ok((context, _checkout)) => verify_sealed_criteria(&context, &self.criteria, control).await,
                    Err(evidence) => single_evidence(evidence),
                }
            }
        };
        match protected {
            Some(protected) => protected.append_evidence(second, &self.criteria, evidence, control).await,
            None => evidence,
        }
    }
}

/// The protected tests of a claim whose checks run one by one. They are compared before the first check.
pub struct ClaimProtection {
    tests: Option<ProtectedTests>,
    second: CheckContext,
}

impl ClaimProtection {
    pub async fn compare(
        acceptance: &AcceptancePolicy,
        seal: Option<&Seal>,
        context: &CheckContext,
        control: &mut VerificationControl,
    ) -> Self {
        let base = seal.and_then(|seal| protected_base(None, seal));
        let tests = ProtectedTests::compare(acceptance, base, &context.environment.root, control).await;
        Self { tests, second: second_run_context(context) }
    }

    /// Adds the evidence about protected tests to that of a claim which the checks accepted.
    pub async fn append_evidence(
        self,
        criteria: &[Criterion],
        evidence: Evidence,
        control: &mut VerificationControl,
    ) -> Evidence {
        match self.tests {
            Some(tests) => tests.append_evidence(self.second, criteria, evidence, control).await,
            None => evidence,
        }
    }
}

/// Returns the protected files before the work: a task has worked since the commit from which its work tree started.
fn protected_base(task_base: Option<String>, seal: &Seal) -> Option<ProtectedBase> {
    let recorded = seal.protected.clone()?;
    Some(ProtectedBase { tree: task_base.unwrap_or(recorded.tree), ..recorded })
}

/// Verifies all criteria. If there are none, the intact seal is the only evidence, which proves nothing about the work.
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

/// Appends the allowed changes of sealed files to the evidence of an accepted claim.
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

/// Enables the cache for the current files. With a single check there is nothing to reuse: once it accepts, the run
/// ends.
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
    let hashed = control.run_blocking(move || git::complete_tree_hash(&root)).await;
    let tree = hashed.ok().and_then(Result::ok).flatten();
    CheckContext { cache: context.cache.for_tree(tree), ..context }
}

/// Hashes everything that must not change. There may be many files, so this runs on another thread.
async fn seal_files(
    sealer: Result<FileSealer, SealError>,
    root: PathBuf,
    isolation: CheckIsolation,
    note: Option<String>,
    control: &mut VerificationControl,
) -> (SealingResult, Option<FileSealer>) {
    let sealed = control.run_blocking(move || {
        let sealer = sealer.map_err(|error| error.to_string())?;
        let mut seal = sealer.seal().map_err(|error| error.to_string())?;
        if isolation == CheckIsolation::Clean {
            let position = git::read_position(&root, None).map_err(|error| error.to_string())?;
            if position.head.is_none() {
                return Err("isolation: clean needs a commit to start from, but the repository has none".to_owned());
            }
            seal.uncommitted = position.uncommitted;
        }
        seal.notes.extend(note);
        Ok((seal, sealer))
    });
    match sealed.await.flatten() {
        Ok((seal, sealer)) => (SealingResult::Done { seal: Box::new(seal) }, Some(sealer)),
        Err(reason) => (SealingResult::Impossible { why: reason }, None),
    }
}

/// Returns the sealer if nothing sealed has changed, else the evidence of the broken seal.
async fn ensure_unbroken_seal(
    sealer: Result<FileSealer, SealError>,
    seal: Seal,
    control: &mut VerificationControl,
) -> Result<FileSealer, Box<CheckEvidence>> {
    let checked = control.run_blocking(move || {
        let sealer = sealer.map_err(|error| error.to_string())?;
        Ok((sealer.check_seal(&seal), sealer))
    });
    let checked = checked.await.flatten();
    if control.is_stopped() {
        return Err(Box::new(seal_not_checked()));
    }
    match checked {
        Ok((evidence, sealer)) if evidence.verdict == Verdict::Accepted => Ok(sealer),
        Ok((evidence, _)) => Err(Box::new(evidence)),
        Err(reason) => Err(Box::new(seal_evidence(&[reason]))),
    }
}

/// The commit requirement of a claim, and the work tree that must meet it.
struct CommitCheck {
    root: PathBuf,
    /// The commit from which the work started.
    base: Option<String>,
    requirement: CommitRequirement,
    duty: RoleDuty,
}

/// Returns the commit that is claimed, or the evidence that it does not meet the requirement.
async fn require_commit(
    check: CommitCheck,
    seal: &Seal,
    control: &mut VerificationControl,
) -> Result<String, Box<CheckEvidence>> {
    let CommitCheck { root, base, requirement, duty } = check;
    if requirement == CommitRequirement::NotRequired {
        return Ok(String::new());
    }
    let read =
        control.run_blocking(move || git::read_position(&root, base.as_deref()).map_err(|error| error.to_string()));
    let not_read = |reason| Box::new(could_not_evaluate(EvidenceKind::Commit, "the commit", reason));
    let mut position = read.await.flatten().map_err(not_read)?;
    position.uncommitted.retain(|file| !seal.uncommitted.contains(file));
    let objection = check_commit_requirement(requirement, &position)
        .or_else(|| check_commit_requirement(required_commit(duty), &position));
    match objection {
        Some(objection) => Err(Box::new(objection)),
        None => Ok(position.head.unwrap_or_default()),
    }
}

/// Returns the commit that a role owes. It applies in addition to the requirement that everything is committed.
fn required_commit(duty: RoleDuty) -> CommitRequirement {
    match duty {
        RoleDuty::Commit => CommitRequirement::SomeWork(CommitPeriod::Run),
        RoleDuty::CommitForTask => CommitRequirement::SomeWork(CommitPeriod::Task),
        RoleDuty::None | RoleDuty::Approve | RoleDuty::Back => CommitRequirement::NotRequired,
    }
}

fn could_not_evaluate(kind: EvidenceKind, command: &str, reason: String) -> CheckEvidence {
    CheckEvidence::without_output(kind, command.to_owned(), Verdict::CouldNotEvaluate, reason)
}

/// Creates a clean checkout, runs its setup commands as checks, and returns the context for checks in it.
async fn enter_clean_checkout(
    context: CheckContext,
    sealer: FileSealer,
    spec: CleanCheckoutSpec,
    setup: &[String],
    control: &mut VerificationControl,
) -> Result<(CheckContext, CleanCheckout), Box<CheckEvidence>> {
    let seal = spec.seal.clone();
    let created = control.run_blocking(move || {
        let checkout = CleanCheckout::create(&sealer, &spec)?;
        let checkout_sealer = sealer.for_checkout(checkout.path());
        let paths = checkout_sealer.without_programs().hash_sealed_files()?;
        Ok((checkout, sealer, SealedCheckout { sealer: checkout_sealer, paths }))
    });
    let (checkout, sealer, sealed) = created
        .await
        .and_then(|created: Result<_, CleanCheckoutError>| created.map_err(|error| error.to_string()))
        .map_err(|reason| Box::new(could_not_evaluate(EvidenceKind::Commit, "the clean room", reason)))?;
    let environment = CheckEnvironment { root: checkout.path().to_path_buf(), ..context.environment };
    let context = CheckContext { environment, ..context };
    run_checkout_setup(&context, setup, control).await?;
    let seal_monitor = monitor_clean_checkout(sealer, sealed, seal, control).await?;
    Ok((CheckContext { seal_monitor, ..context }, checkout))
}

/// Starts to monitor a checkout after its setup. The setup commands may install programs but must not change other
/// sealed files.
async fn monitor_clean_checkout(
    sealer: FileSealer,
    checkout: SealedCheckout,
    seal: Seal,
    control: &mut VerificationControl,
) -> Result<SealMonitor, Box<CheckEvidence>> {
    let monitor = control.run_blocking(move || {
        let changes = checkout.sealer.without_programs().file_changes_since(&checkout.paths);
        if !changes.is_empty() {
            return Err(changes);
        }
        let paths = checkout.sealer.hash_sealed_files().map_err(|error| vec![error.to_string()])?;
        Ok(SealMonitor::new(sealer, seal, Some(SealedCheckout { paths, ..checkout })))
    });
    let monitor = monitor.await.map_err(|reason| vec![reason]).flatten();
    monitor.map_err(|changes| Box::new(seal_evidence_after_check(&changes)))
}

/// Runs the commands that prepare a checkout for the checks.
async fn run_checkout_setup(
    context: &CheckContext,
    setup: &[String],
    control: &mut VerificationControl,
) -> Result<(), Box<CheckEvidence>> {
    let commands = setup.iter().map(|command| ExternalCheck::from_shell_text(command));
    run_setup_commands(context, commands, control, || std::future::ready(true)).await
}

/// Runs the commands that prepare a work tree for the agent. They have a longer timeout than checks.
pub async fn run_worktree_setup<C: Future<Output = bool>>(
    context: &CheckContext,
    setup: &[String],
    control: UnboundedReceiver<JobCommand>,
    may_continue: impl Fn() -> C,
) -> Result<(), Box<CheckEvidence>> {
    let to_check = |command: &String| ExternalCheck {
        timeout_ms: WORKTREE_SETUP_TIMEOUT_MS,
        ..ExternalCheck::from_shell_text(command)
    };
    run_setup_commands(context, setup.iter().map(to_check), &mut VerificationControl::new(control), may_continue).await
}

/// Runs commands one after the other and stops at the first that fails.
async fn run_setup_commands<C: Future<Output = bool>>(
    context: &CheckContext,
    commands: impl Iterator<Item = ExternalCheck>,
    control: &mut VerificationControl,
    may_continue: impl Fn() -> C,
) -> Result<(), Box<CheckEvidence>> {
    for (check, number) in commands.zip(1_u32..) {
        let evidence = if may_continue().await {
            let log = format!("{}.setup-{number}.log", context.log_prefix);
            external::run_external_check(context, &check, log, control).await
        } else {
            could_not_evaluate(
                EvidenceKind::External,
                &check.command.to_string(),
                "another process has taken over the work tree".to_owned(),
            )
        };
        if evidence.verdict != Verdict::Accepted {
            let name = Some(format!("setup {}", evidence.display_name()));
            return Err(Box::new(CheckEvidence { name, ..evidence }));
        }
    }
    Ok(())
}

/// Setup commands may download and build packages.
const WORKTREE_SETUP_TIMEOUT_MS: u64 = 30 * 60 * 1_000;

/// Verifies criteria in a checkout after the run has ended. Returns the evidence of a failed setup command as the
/// error.
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
