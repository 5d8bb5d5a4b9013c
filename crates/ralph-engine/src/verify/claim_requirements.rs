//! Verifies a claim: first that no sealed file has changed, then that the work is committed if that is required, then
//! the criteria, in the work tree or in a clean checkout.
use std::path::{Path, PathBuf};

use ralph_core::baseline::BaselineTrial;
use ralph_core::commit_requirement::{CommitPeriod, CommitRequirement, check_commit_requirement};
use ralph_core::criterion::{Criterion, external_checks};
use ralph_core::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use ralph_core::policy::BaselineMode;
use ralph_core::protected::{ProtectedBase, TestProtection};
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::role_duty::RoleDuty;
use ralph_core::seal::{Seal, SealingResult, describe_changes_by_checks, seal_evidence};
use tokio::sync::mpsc::UnboundedReceiver;

use super::acceptance::AcceptancePolicy;
use super::baseline::run_baseline;
use super::verification_control::VerificationControl;
use super::{CheckContext, SealMonitor, criteria};
use crate::git;
use crate::verify::checkouts::checkout_setup::{could_not_evaluate, enter_clean_checkout, run_checkout_setup};
use crate::verify::checkouts::clean_checkout::CleanCheckoutSpec;
use crate::verify::protected_tests::protected_files::{ProtectedTests, second_run_context};
use crate::verify::protected_tests::protected_watch::ProtectedWatch;
use crate::verify::seals::file_sealer::{FileSealer, SealError};
use crate::verify::seals::seal_monitor::seal_not_checked;
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
                let (context, watch) = watch_protected_files(context, &acceptance, control).await;
                let trials = run_baseline(&context, &criteria, control).await;
                let (mut after, sealer) = seal_files(Ok(sealer), root, CheckIsolation::Workspace, note, control).await;
                if let (SealingResult::Done { seal }, Some(sealer)) = (&mut after, sealer) {
                    seal.touched = stamps.changed_names(&sealer.read_stamps(&before.files));
                    seal.touched.extend(watch.map(|watch| watch.touched_files()).unwrap_or_default());
                    seal.notes.extend(describe_changes_by_checks(&before.files, &seal.files));
                }
                VerificationPreparation { sealing: after, baseline: trials }
            }
            (isolation, BaselineMode::Skip) => {
                let (sealing, _) = seal_files(sealer, root, isolation, note, control).await;
                VerificationPreparation { sealing, baseline: Vec::new() }
            }
            (CheckIsolation::Clean, BaselineMode::Run) => {
                let (mut sealing, sealer) = seal_files(sealer, root, CheckIsolation::Clean, note, control).await;
                let (SealingResult::Done { seal }, Some(sealer)) = (&mut sealing, sealer) else {
                    return VerificationPreparation { sealing, baseline: Vec::new() };
                };
                let commit = seal.base.clone().unwrap_or_default();
                let spec = CleanCheckoutSpec::new(&context.environment.root, commit, &acceptance, seal);
                let baseline = match enter_clean_checkout(context, sealer, spec, &acceptance.setup, control).await {
                    Ok((context, _checkout)) => {
                        let (context, watch) = watch_protected_files(context, &acceptance, control).await;
                        let trials = run_baseline(&context, &criteria, control).await;
                        seal.touched.extend(watch.map(|watch| watch.touched_files()).unwrap_or_default());
                        trials
                    }
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
            return Ok(SealedClaim { criteria, acceptance, duty, task_base, sealed: None, left_out: Vec::new() });
        };
        let sealer = ensure_unbroken_seal(sealer, seal.clone(), control).await.map_err(single_evidence)?;
        Ok(SealedClaim { criteria, acceptance, duty, task_base, sealed: Some((seal, sealer)), left_out: Vec::new() })
    }
}

/// A claim whose seal is intact.
pub struct SealedClaim {
    criteria: Vec<Criterion>,
    acceptance: AcceptancePolicy,
    duty: RoleDuty,
    task_base: Option<String>,
    sealed: Option<(Seal, FileSealer)>,
    /// Files that ralph left out of the commit of the agent's work.
    left_out: Vec<String>,
}

impl SealedClaim {
    /// Adds the files that ralph left out of the commit of the agent's work: they need not be committed.
    #[must_use]
    pub fn without_files(self, left_out: Vec<String>) -> Self {
        Self { left_out, ..self }
    }

    /// Adds the seal monitor and cached results to a context, for checks that run one by one in the work tree.
    pub async fn monitor_seal(self, context: CheckContext, control: &mut VerificationControl) -> CheckContext {
        let context = match self.sealed {
            Some((seal, sealer)) => CheckContext { seal_monitor: SealMonitor::new(sealer, seal, None), ..context },
            None => context,
        };
        if !may_reuse_results(&self.acceptance, &self.criteria) {
            return context;
        }
        let root = context.environment.root.clone();
        let snapshot = control.run_blocking(move || git::take_snapshot(&root)).await.ok().and_then(Result::ok);
        with_cached_results(context, snapshot.as_ref(), control).await
    }

    /// Checks that the work is committed, if that is required, and returns the claimed commit.
    async fn check_commit(
        &self,
        seal: &Seal,
        root: &Path,
        control: &mut VerificationControl,
    ) -> Result<String, Box<CheckEvidence>> {
        let owed = required_commit(self.duty, &self.acceptance);
        let requirement = match self.acceptance.isolation {
            CheckIsolation::Clean => CommitRequirement::AllWork,
            CheckIsolation::Workspace => owed,
        };
        let recorded = match self.duty {
            RoleDuty::CommitForTask => self.task_base.clone(),
            RoleDuty::Commit => self.acceptance.sent_back_commit.clone(),
            RoleDuty::None | RoleDuty::Approve | RoleDuty::Back => None,
        };
        let base = recorded.or_else(|| seal.base.clone());
        let left_out = self.left_out.clone();
        require_commit(CommitCheck { root: root.to_path_buf(), base, requirement, owed, left_out }, seal, control).await
    }

    /// Checks that the work is committed, if that is required, and verifies the criteria. `snapshot` is the state of the
    /// work tree, if it could be read.
    pub async fn verify_claim(
        mut self,
        context: CheckContext,
        snapshot: Option<&WorkTreeSnapshot>,
        control: &mut VerificationControl,
    ) -> Evidence {
        let Some((seal, sealer)) = self.sealed.take() else {
            return criteria::verify_criteria(&context, &self.criteria, control).await;
        };
        let commit = match self.check_commit(&seal, &context.environment.root, control).await {
            Ok(commit) => commit,
            Err(objection) => return single_evidence(objection),
        };
        let task_base = self.acceptance.accepted_by_person.clone().or_else(|| self.task_base.clone());
        let base = protected_base(task_base, &seal);
        let root = context.environment.root.clone();
        let protected = ProtectedTests::compare(&self.acceptance, base, &root, snapshot, control).await;
        let protected = protected.map(|protected| protected.with_seal(&sealer, &seal));
        let second = second_run_context(&context);
        let watch_in = |root: &Path| protected.as_ref().map(|protected| protected.watch(root));
        let mut watch = None;
        let evidence = match self.acceptance.isolation {
            CheckIsolation::Workspace => {
                watch = watch_in(&root);
                let seal_monitor = SealMonitor::new(sealer, seal, None).watching(watch.clone());
                let context = CheckContext { seal_monitor, ..context };
                let reusable = snapshot.filter(|_| may_reuse_results(&self.acceptance, &self.criteria));
                let context = with_cached_results(context, reusable, control).await;
                let evidence = verify_sealed_criteria(&context, &self.criteria, control).await;
                if evidence.verdict() != Verdict::Accepted && evidence.has_cached_results() {
                    context.cache.clear();
                }
                evidence
            }
            CheckIsolation::Clean => {
                let spec = CleanCheckoutSpec::new(&context.environment.root, commit, &self.acceptance, &seal);
                match enter_clean_checkout(context, sealer, spec, &self.acceptance.setup, control).await {
                    Ok((context, _checkout)) => {
                        watch = watch_in(&context.environment.root);
                        let seal_monitor = context.seal_monitor.watching(watch.clone());
                        let context = CheckContext { seal_monitor, ..context };
                        verify_sealed_criteria(&context, &self.criteria, control).await
                    }
                    Err(evidence) => single_evidence(evidence),
                }
            }
        };
        let touched = watch.map(|watch| watch.touched_files()).unwrap_or_default();
        match protected {
            Some(protected) => {
                let protected = protected.with_touched_files(touched);
                protected.append_evidence(second, &self.criteria, evidence, control).await
            }
            None => evidence,
        }
    }
}

/// Watches the protected files while the baseline runs: files that the checks touch before any work are not held against
/// the work.
async fn watch_protected_files(
    context: CheckContext,
    acceptance: &AcceptancePolicy,
    control: &mut VerificationControl,
) -> (CheckContext, Option<ProtectedWatch>) {
    if acceptance.tests == TestProtection::Off {
        return (context, None);
    }
    let root = context.environment.root.clone();
    let watch = control.run_blocking(move || ProtectedWatch::of_folder(&root)).await.ok();
    let seal_monitor = SealMonitor::default().watching(watch.clone());
    (CheckContext { seal_monitor, ..context }, watch)
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
        let tests = ProtectedTests::compare(acceptance, base, &context.environment.root, None, control).await;
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

/// Returns the protected files before the work: a task has worked since the commit from which its work tree started, or
/// which a person accepted.
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

/// Returns the evidence of a claim without checks, whose guarded files are unchanged.
pub async fn verify_guard_alone(context: &CheckContext) -> Evidence {
    let (_commands, receiver) = tokio::sync::mpsc::unbounded_channel();
    verify_sealed_criteria(context, &[], &mut VerificationControl::new(receiver)).await
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

/// Returns whether results of checks may be reused. With a single check there is nothing to reuse: once it accepts, the
/// run ends.
fn may_reuse_results(acceptance: &AcceptancePolicy, criteria: &[Criterion]) -> bool {
    !acceptance.is_always_fresh && external_checks(criteria).len() >= 2
}

/// Enables the cache for the files of a snapshot.
async fn with_cached_results(
    context: CheckContext,
    snapshot: Option<&WorkTreeSnapshot>,
    control: &mut VerificationControl,
) -> CheckContext {
    let Some(snapshot) = snapshot.cloned() else { return context };
    let root = context.environment.root.clone();
    let complete = control.run_blocking(move || git::complete_tree(&root, &snapshot)).await;
    let tree = complete.ok().and_then(Result::ok).flatten();
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
    /// The additional duties of the role.
    owed: CommitRequirement,
    /// Files that ralph left out of the commit.
    left_out: Vec<String>,
}

/// Returns the commit that is claimed, or the evidence that it does not meet the requirement.
async fn require_commit(
    check: CommitCheck,
    seal: &Seal,
    control: &mut VerificationControl,
) -> Result<String, Box<CheckEvidence>> {
    let CommitCheck { root, base, requirement, owed, left_out } = check;
    if requirement == CommitRequirement::NotRequired {
        return Ok(String::new());
    }
    let read =
        control.run_blocking(move || git::read_position(&root, base.as_deref()).map_err(|error| error.to_string()));
    let not_read = |reason| Box::new(could_not_evaluate(EvidenceKind::Commit, "the commit", reason));
    let mut position = read.await.flatten().map_err(not_read)?;
    position.uncommitted.retain(|file| !seal.uncommitted.contains(file));
    // The reason why nothing was committed may be that ralph left it out.
    let nothing_committed = check_commit_requirement(owed, &position);
    position.uncommitted.retain(|file| !left_out.contains(file));
    let objection = nothing_committed.or_else(|| check_commit_requirement(requirement, &position));
    match objection {
        Some(objection) => Err(Box::new(objection)),
        None => Ok(position.head.unwrap_or_default()),
    }
}

/// Returns the commit that a role owes. It applies in addition to the requirement that everything is committed.
fn required_commit(duty: RoleDuty, acceptance: &AcceptancePolicy) -> CommitRequirement {
    match duty {
        RoleDuty::Commit if acceptance.sent_back_commit.is_some() => CommitRequirement::SomeWork(CommitPeriod::Rework),
        RoleDuty::Commit => CommitRequirement::SomeWork(CommitPeriod::Run),
        RoleDuty::CommitForTask => CommitRequirement::SomeWork(CommitPeriod::Task),
        RoleDuty::None | RoleDuty::Approve | RoleDuty::Back => CommitRequirement::NotRequired,
    }
}

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

/// Runs the baseline of criteria in a checkout of the files from which the work started. Returns the evidence of a failed
/// setup command as the error.
pub async fn run_checkout_baseline(
    context: &CheckContext,
    setup: &[String],
    criteria: &[Criterion],
    control: UnboundedReceiver<JobCommand>,
) -> Result<Vec<BaselineTrial>, Box<CheckEvidence>> {
    let control = &mut VerificationControl::new(control);
    run_checkout_setup(context, setup, control).await?;
    Ok(run_baseline(context, criteria, control).await)
}
