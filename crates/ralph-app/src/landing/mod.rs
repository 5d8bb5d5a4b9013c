//! Lands finished work: merges a task's branch into the user's, after its checks have passed on the merged result.
mod criteria;
mod land_tasks;
mod lock;
mod preview;
mod seal;

use std::path::PathBuf;

use ralph_core::decision::PersonDecision;
use ralph_core::event::StopSignal;
use ralph_core::evidence::{Evidence, Verdict};
use ralph_core::task::TaskStatus;
use ralph_engine::git::{CheckoutError, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::ControlInput;
use ralph_engine::worktree::{self, PreparedLanding, WorktreeError, WorktreeLayout, WorktreeRemoval};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store};
use uuid::Uuid;

use crate::advice::Advice;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::task_files::{find_run_by_tree_name, unknown_task_error};
use crate::verification::{CheckoutVerification, CheckoutVerificationResult};
use crate::view::short_id;
use crate::worktrees::PROJECT_LOCK;
use criteria::{LandingCriteria, LandingSubject, collect_landing_criteria};
pub use land_tasks::{LandingEnd, land_tasks};
use lock::LandLockResult;
pub use lock::LandLockWaiter;
pub use preview::{LandingPreview, preview_landings};

/// The inputs of a landing.
pub struct LandingContext<'a> {
    pub store: &'a Store,
    pub project: &'a Project,
    pub keeper: &'a Keeper,
    pub person: &'a dyn Interaction,
}

/// The result of a landing.
#[derive(Debug)]
pub enum LandResult {
    Landed(LandReport),
    /// The checks fail on the merged result.
    ChecksFailed(LandReport),
    Stopped(StopSignal),
}

#[derive(Debug)]
pub struct LandReport {
    pub landing: PreparedLanding,
    pub is_landed: bool,
    pub evidence: Evidence,
    /// The proof level of the accepted work: `proven`, `checked`, `judged` or `unverified`.
    pub proof: Option<String>,
    /// The persons who accepted a claim that the checks did not accept.
    pub accepted_by: Vec<PersonDecision>,
    pub removal: WorktreeRemoval,
    /// The folder with the output of the checks.
    pub log_folder: PathBuf,
}

impl LandingContext<'_> {
    /// Lands one task. The lock keeps other landings of this project out meanwhile.
    pub async fn land_task(&self, id: &str, lock_waiter: &mut LandLockWaiter) -> AppResult<LandResult> {
        let project = self.project;
        let subject = self.find_finished_work(id).await?;
        let layout = WorktreeLayout::for_project(project)?;
        let _queue = match lock_waiter.acquire_lock(project, "land-lock").await? {
            LandLockResult::Acquired(held) => held,
            LandLockResult::Stopped(signal) => return Ok(LandResult::Stopped(signal)),
        };
        let task_id = id.to_owned();
        let landing = run_git_blocking(layout.clone(), move |layout| {
            worktree::recover_landing(layout, &task_id)?;
            worktree::prepare_landing(layout, &task_id)
        })
        .await?;
        if let LandingSubject::Task(row) = &subject {
            self.ensure_landing_matches_record(&row.task.id, &landing).await?;
        }
        let mut report = LandReport::new(&landing, project.state_folder().join("land"));
        report.proof = match &subject {
            LandingSubject::Task(row) => row.proof.clone(),
            LandingSubject::Run(run) => run.proof.clone(),
        };
        report.accepted_by = self.load_decisions(&subject).await?;
        if !landing.is_already_landed() {
            let proof = collect_landing_criteria(self, &subject).await?;
            let evidence = match self.verify_merge(&landing, &proof, &report, &mut lock_waiter.control).await? {
                CheckoutVerificationResult::Finished(evidence) => evidence,
                CheckoutVerificationResult::Stopped(signal) => return Ok(LandResult::Stopped(signal)),
            };
            let is_refused = !evidence.checks.is_empty() && evidence.verdict() != Verdict::Accepted;
            report.evidence = evidence;
            if is_refused {
                return Ok(LandResult::ChecksFailed(report));
            }
        }
        // The files of the user must not move while an agent works in them.
        let _tree = match lock_waiter.acquire_lock(project, PROJECT_LOCK).await? {
            LandLockResult::Acquired(held) => held,
            LandLockResult::Stopped(signal) => return Ok(LandResult::Stopped(signal)),
        };
        report.removal = run_git_blocking(layout, move |layout| {
            worktree::finish_landing(layout, &landing)?;
            let removal = worktree::remove_worktree(layout, &landing.task_id)
                .unwrap_or_else(|error| WorktreeRemoval::Kept(error.to_string()));
            // The work has landed; a branch that could not be removed stays for `gc`.
            let _ = worktree::remove_merged_branch(layout, &landing.task_id);
            Ok(removal)
        })
        .await?;
        report.is_landed = true;
        Ok(LandResult::Landed(report))
    }

    /// Returns the decisions of persons that accepted the work, oldest first.
    async fn load_decisions(&self, subject: &LandingSubject) -> AppResult<Vec<PersonDecision>> {
        let runs = match subject {
            LandingSubject::Task(row) => self.store.runs_of_task(&row.task.id).await?,
            LandingSubject::Run(run) => vec![run.as_ref().clone()],
        };
        Ok(runs.iter().filter_map(|run| serde_json::from_str(run.accepted_by.as_deref()?).ok()).collect())
    }

    async fn find_finished_work(&self, id: &str) -> AppResult<LandingSubject> {
        let Some(row) = self.store.get_task(id).await? else {
            return match self.find_finished_run(id).await? {
                Some(run) => Ok(LandingSubject::Run(Box::new(run))),
                None => Err(unknown_task_error(self.store, id).await?),
            };
        };
        if row.task.status == TaskStatus::Done {
            return Ok(LandingSubject::Task(Box::new(row)));
        }
        let status = row.task.status.as_str();
        Err(AppError::preflight(format!("task {id} is {status}: only finished work is landed"))
            .with_advice(Advice::InspectUnfinishedTask { task: id.to_owned() }))
    }

    async fn find_finished_run(&self, name: &str) -> AppResult<Option<RunRow>> {
        match find_run_by_tree_name(self.store, name).await? {
            Some(run) if run.status != "completed" => {
                let short = short_id(&run.id).to_owned();
                Err(AppError::preflight(format!("run {short} is {}: only finished work is landed", run.status))
                    .with_advice(Advice::InspectUnfinishedRun { run: short, tree: name.to_owned() }))
            }
            run => Ok(run),
        }
    }

    /// Runs the checks in a checkout of the merged result.
    async fn verify_merge(
        &self,
        landing: &PreparedLanding,
        proof: &LandingCriteria,
        report: &LandReport,
        control: &mut ControlInput,
    ) -> AppResult<CheckoutVerificationResult> {
        if proof.criteria.is_empty() {
            return Ok(CheckoutVerificationResult::Finished(Evidence { checks: Vec::new() }));
        }
        let (root, merged) = (self.project.root.clone(), landing.merged.clone());
        let created = tokio::task::spawn_blocking(move || TemporaryCheckout::create(&root, &merged)).await;
        let checkout = created
            .map_err(|error| AppError::internal(&error))?
            .map_err(|error: CheckoutError| AppError::from_error(ErrorKind::GitFailed, &error))?;
        let verification = CheckoutVerification {
            project: self.project,
            checkout: &checkout,
            acceptance: &proof.acceptance,
            run_id: Uuid::now_v7().to_string(),
            log_folder: report.log_folder.clone(),
            log_prefix: format!("{}-{}", landing.task_id, jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ")),
        };
        verification.run_checks(&proof.criteria, self.keeper.clone(), control).await
    }
}

impl LandReport {
    fn new(landing: &PreparedLanding, log_folder: PathBuf) -> Self {
        let evidence = Evidence { checks: Vec::new() };
        let removal = WorktreeRemoval::NotFound;
        Self {
            landing: landing.clone(),
            is_landed: false,
            evidence,
            proof: None,
            accepted_by: Vec::new(),
            removal,
            log_folder,
        }
    }
}

/// Runs git in a thread, because it may take a while and this process may drive other work.
async fn run_git_blocking<T: Send + 'static>(
    layout: WorktreeLayout,
    work: impl FnOnce(&WorktreeLayout) -> Result<T, WorktreeError> + Send + 'static,
) -> AppResult<T> {
    let done = tokio::task::spawn_blocking(move || work(&layout)).await;
    Ok(done.map_err(|error| AppError::internal(&error))??)
}
