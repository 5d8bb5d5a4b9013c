//! `ralph land`.
use clap::Args;
use ralph_core::criterion::Criterion;
use ralph_core::evidence::{Evidence, Verdict};
use ralph_core::outcome::exit_code;
use ralph_core::task::TaskStatus;
use uuid::Uuid;

use super::checkout_verification::{CheckoutVerification, CheckoutVerificationResult};
use super::land_criteria::{LandingCriteria, LandingSubject, collect_landing_criteria};
use super::land_lock::{LandLockResult, LandLockWaiter};
use super::land_report::LandReport;
use super::out;
use super::resume::refuse_tracked_state;
use super::run::with_keeper;
use super::task::{open_task_store, unknown_task_error};
use crate::error::CommandError;
use ralph_app::run::refuse_recursion;
use ralph_app::task::find_run_by_tree_name;
use ralph_app::view::short_id;
use ralph_engine::git::{CheckoutError, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::ControlInput;
use ralph_engine::worktree::{self, PreparedLanding, WorktreeError, WorktreeLayout, WorktreeRemoval};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store};

/// Merges the accepted work of finished tasks into your branch, after the merged result was verified
///
/// The checks of the task run once more, in a checkout of what your branch would be. Only if they pass are your branch and
/// your files moved; a conflict or a failure leaves everything as it was. The work tree of the task is removed when nothing
/// in it would be lost; its branch ralph/TASK stays.
#[derive(Debug, Args)]
#[command(after_help = "Several tasks are landed one after the other, up to the first that cannot be.

Exit codes: 0 landed, 1 cannot be landed as things are (not done, a conflict, your uncommitted changes, no branch),
3 the checks fail on the merged result, 5 git failed")]
pub struct LandArgs {
    /// Tasks that are done, in the order in which they are merged
    #[arg(required = true, value_name = "TASK")]
    tasks: Vec<String>,
    /// Prints one object for each task: task, landed, branch, commit, work, verified, checks, tree
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LandArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    with_keeper(|keeper| land_tasks(args, project, keeper))
}

async fn land_tasks(args: &LandArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let store = open_task_store().await?;
    let mut lock_waiter = LandLockWaiter::without_waiting()?;
    for id in &args.tasks {
        let landed = land_task((&store, &project), id, keeper.clone(), &mut lock_waiter).await?;
        match &landed {
            LandResult::Stopped(code) => return Ok(*code),
            LandResult::Landed(report) | LandResult::ChecksFailed(report) => {
                if args.json {
                    out::print_line(&report.to_json().to_string());
                } else {
                    out::print_data(&report.to_text());
                }
            }
        }
        if let LandResult::ChecksFailed(_) = landed {
            return Ok(exit_code::NOT_COMPLETE);
        }
    }
    Ok(exit_code::COMPLETED)
}

/// What became of a landing.
pub enum LandResult {
    Landed(LandReport),
    /// The checks fail on the merged result.
    ChecksFailed(LandReport),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

/// Lands one task. Nobody else lands in this project meanwhile.
pub async fn land_task(
    (store, project): (&Store, &Project),
    id: &str,
    keeper: Keeper,
    lock_waiter: &mut LandLockWaiter,
) -> Result<LandResult, CommandError> {
    let subject = find_finished_work(store, id).await?;
    let site = WorktreeLayout::for_project(project)?;
    let _queue = match lock_waiter.acquire_lock(project, "land-lock").await? {
        LandLockResult::Acquired(held) => held,
        LandLockResult::Stopped(code) => return Ok(LandResult::Stopped(code)),
    };
    let landing = run_git_blocking((site.clone(), id.to_owned()), |site, id| {
        worktree::recover_landing(site, id)?;
        worktree::prepare_landing(site, id)
    })
    .await?;
    let mut report = LandReport::new(&landing, project.state_folder().join("land"));
    if !landing.is_already_landed() {
        let proof = collect_landing_criteria(store, &subject, project).await?;
        let evidence =
            match verify_merge((project, &landing), &proof, (keeper, &report), &mut lock_waiter.control).await? {
                CheckoutVerificationResult::Finished(evidence) => evidence,
                CheckoutVerificationResult::Stopped(code) => return Ok(LandResult::Stopped(code)),
            };
        let is_refused = !evidence.checks.is_empty() && evidence.verdict() != Verdict::Accepted;
        report.evidence = evidence;
        if is_refused {
            return Ok(LandResult::ChecksFailed(report));
        }
    }
    // An agent that works in the user's files must not find them moved.
    let _tree = match lock_waiter.acquire_lock(project, "lock").await? {
        LandLockResult::Acquired(held) => held,
        LandLockResult::Stopped(code) => return Ok(LandResult::Stopped(code)),
    };
    report.removal = run_git_blocking((site, landing), |site, landing| {
        worktree::finish_landing(site, landing)?;
        Ok(worktree::remove_worktree(site, &landing.task_id)
            .unwrap_or_else(|error| WorktreeRemoval::Kept(error.to_string())))
    })
    .await?;
    report.is_landed = true;
    Ok(LandResult::Landed(report))
}

/// Does something with git that may take a while; whatever else this process drives goes on meanwhile.
async fn run_git_blocking<A: Send + 'static, T: Send + 'static>(
    (site, input): (WorktreeLayout, A),
    work: impl FnOnce(&WorktreeLayout, &A) -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, CommandError> {
    let done = tokio::task::spawn_blocking(move || work(&site, &input)).await;
    Ok(done.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))??)
}

/// What came of a landing for a worker, for people.
pub enum WorkerLandResult {
    Landed(String),
    NotLanded(String),
    /// A signal stopped it.
    Stopped(String),
}

impl WorkerLandResult {
    pub fn into_message(self) -> Result<String, String> {
        match self {
            Self::Landed(text) => Ok(text),
            Self::NotLanded(text) | Self::Stopped(text) => Err(text),
        }
    }
}

/// Lands one task for a worker, after all others who land here.
pub async fn land_task_for_worker(
    (store, project): (&Store, &Project),
    id: &str,
    keeper: &Keeper,
    control: ControlInput,
) -> WorkerLandResult {
    match land_task((store, project), id, keeper.clone(), &mut LandLockWaiter::with_timeout(control)).await {
        Ok(LandResult::Landed(report)) => WorkerLandResult::Landed(report.to_text()),
        Ok(LandResult::ChecksFailed(report)) => WorkerLandResult::NotLanded(report.to_text()),
        Ok(LandResult::Stopped(_)) => WorkerLandResult::Stopped(format!(
            "not landed: stopped; the next `ralph work` lands it, or ralph land {id}"
        )),
        Err(failure) => {
            let causes = failure.causes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            WorkerLandResult::NotLanded(format!("not landed: {} ({causes}); ralph land {id}", failure.message))
        }
    }
}

async fn find_finished_work(store: &Store, id: &str) -> Result<LandingSubject, CommandError> {
    let Some(row) = store.get_task(id).await? else {
        if let Some(run) = find_finished_run(store, id).await? {
            return Ok(LandingSubject::Run(Box::new(run)));
        }
        let all = store.list_tasks().await?;
        return Err(unknown_task_error(id, &all.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()));
    };
    if row.task.status == TaskStatus::Done {
        return Ok(LandingSubject::Task(Box::new(row)));
    }
    Err(CommandError::preflight_error(format!(
        "task {id} is {}: only finished work is landed",
        row.task.status.as_str()
    ))
    .with_hint(format!("`ralph task show {id}` tells what is missing; its branch so far is ralph/{id}")))
}

async fn find_finished_run(store: &Store, name: &str) -> Result<Option<RunRow>, CommandError> {
    match find_run_by_tree_name(store, name).await? {
        Some(run) if run.status != "completed" => {
            let short = short_id(&run.id);
            Err(CommandError::preflight_error(format!("run {short} is {}: only finished work is landed", run.status))
                .with_hint(format!("`ralph show {short}` tells why; its branch so far is ralph/{name}")))
        }
        run => Ok(run),
    }
}

/// Runs the checks in a checkout of what the branch would be.
async fn verify_merge(
    (project, landing): (&Project, &PreparedLanding),
    proof: &LandingCriteria,
    (keeper, report): (Keeper, &LandReport),
    control: &mut ControlInput,
) -> Result<CheckoutVerificationResult, CommandError> {
    if proof.criteria.is_empty() {
        return Ok(CheckoutVerificationResult::Finished(Evidence { checks: Vec::new() }));
    }
    let (root, merged) = (project.root.clone(), landing.merged.clone());
    let made = tokio::task::spawn_blocking(move || TemporaryCheckout::create(&root, &merged)).await;
    let checkout = made
        .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?
        .map_err(|error: CheckoutError| CommandError::from_error(exit_code::GIT_FAILED, &error))?;
    let name = format!("{}-{}", landing.task_id, jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let looking = CheckoutVerification {
        project,
        checkout: &checkout,
        acceptance: &proof.acceptance,
        run_id: Uuid::now_v7().to_string(),
        logs: (report.log_folder.clone(), &name),
    };
    let criteria: &[Criterion] = &proof.criteria;
    looking.run_checks(criteria, keeper, control).await
}
