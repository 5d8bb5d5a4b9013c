//! `ralph run`.
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_core::outcome::{Outcome, RunEnd, exit_code};
use ralph_core::policy::Policy;
use ralph_core::receipt::Receipt;
use tokio::task::yield_now;

use super::detach::start_run;
use super::output_args::{OutputMode, RunReporter};
use super::run_args::RunArgs;
use super::{block_on, budget, out, signal_exit_code, trust};
use crate::error::CommandError;
use crate::report::{ClassicLog, ColorMode, TextStyle, ThreadedReporter};
use ralph_app::config::Settings;
use ralph_app::plan::{PlanRequest, build_default_plan, ensure_run_criteria, preflight_run};
use ralph_app::run::{WorktreeOutcome, create_worktree, finish_worktree, refuse_recursion, set_up_worktree};
use ralph_app::view::{format_cost, pluralize, short_id};
use ralph_engine::lock::{LockError, LockSharing};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    self, Clock, ControlInput, EngineError, RunLease, RunPlan, RunResources, RunSpec, StartMode, WorktreeLock,
};
use ralph_process::Keeper;
use ralph_store::{OpenMode, RunRow, Store};
use ralph_util::duration;
use ralph_util::redact;
use ralph_util::session_log_file::SessionLogFile;

pub fn run(args: &RunArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let settings = args.load_settings(&project)?;
    let plan = plan_run(args, &settings, project)?;
    refuse_recursion(&plan.context.project)?;
    preflight_run(&plan)?;
    trust::ensure_approved(&plan, &settings)?;
    let plan = if args.worktree { create_worktree(plan, &settings)? } else { plan };
    start_run(plan, &args.output, &args.background)
}

fn plan_run(args: &RunArgs, settings: &Settings, project: Project) -> Result<RunPlan, CommandError> {
    let request = PlanRequest {
        settings,
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        promise: args.parse_promise()?,
        prompt: args.read_prompt_source()?,
        checks: settings.criteria(),
        max_iterations: settings.default_max_iterations.value,
    };
    ensure_run_criteria(settings, &request.checks)?;
    let plan = build_default_plan(request, project)?;
    let sharing = if args.parallel { LockSharing::Shared } else { LockSharing::Exclusive };
    let policy = Policy { context: settings.context.value, ..plan.spec.policy };
    Ok(RunPlan { spec: RunSpec { policy, sharing, ..plan.spec }, ..plan })
}

/// Runs a plan to its end and prints the result.
pub fn execute_run(plan: RunPlan, output: OutputMode) -> Result<u8, CommandError> {
    with_keeper(|keeper| execute_with_keeper(plan, keeper, output))
}

/// Runs a command that starts agents.
pub fn with_keeper<W: Future<Output = Result<u8, CommandError>>>(
    work: impl FnOnce(Keeper) -> W,
) -> Result<u8, CommandError> {
    // Fork the keeper before the first thread starts, and before any lock is taken: it would inherit the lock.
    let keeper = Keeper::start().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    block_on(work(keeper))
}

/// Runs a plan to its end with a keeper that is already running.
pub async fn execute_with_keeper(plan: RunPlan, keeper: Keeper, output: OutputMode) -> Result<u8, CommandError> {
    let state = plan.context.project.state_folder();
    let has_header = matches!(output, OutputMode::Plain(_));
    // SQLite opens its files in another thread. This thread prepares the rest meanwhile, and yields after each part so
    // that the future that opens the store can submit its next step.
    let meanwhile = async {
        let lease = acquire_run_lease(&plan).await;
        yield_now().await;
        redact::prepare_secrets();
        yield_now().await;
        (lease, output.start_reporter(plan.spec.policy.max_iterations))
    };
    let (store, (lease, reporter)) = tokio::join!(Store::open(&state, OpenMode::Create), meanwhile);
    let (store, lease) = match (store, lease) {
        (Ok(Some(store)), lease) => (store, lease.map_err(|error| run_lock_error(&plan, error))?),
        (Ok(None), _) => {
            return Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "the database was not created"));
        }
        (Err(error), lease) => {
            lease.into_iter().for_each(|lease| lease.discard_unstored_run(&plan.context));
            return Err(error.into());
        }
    };
    if has_header {
        print_run_header(&plan);
    } else {
        print_fresh_session_note(&plan);
    }
    if let Some(signal) = set_up_worktree(&plan, &keeper).await? {
        lease.discard_unstored_run(&plan.context);
        return Ok(signal_exit_code(signal));
    }
    run_and_report(plan, StartMode::New, build_run_resources(keeper, lease, store)?, reporter?).await
}

/// Returns the resources of a run that this process drives alone.
pub fn build_run_resources(keeper: Keeper, lease: RunLease, store: Store) -> Result<RunResources, CommandError> {
    let control = ControlInput::from_signals().map_err(|source| EngineError::Signals { source })?;
    Ok(RunResources { keeper, lease, store: Arc::new(store), control, cost_account: None })
}

/// Takes the locks of a run.
pub async fn acquire_run_lease(plan: &RunPlan) -> Result<RunLease, EngineError> {
    if plan.context.own_worktree.is_some() {
        return RunLease::acquire_in_own_worktree(&plan.context, Clock::start().now()).await;
    }
    let tree = WorktreeLock::acquire(plan, Clock::start().now()).await?;
    yield_now().await;
    RunLease::acquire(&plan.context, tree).await
}

/// Converts a lock error. For `ralph run`, adds a hint about `--parallel`.
fn run_lock_error(plan: &RunPlan, error: EngineError) -> CommandError {
    let is_taken = matches!(error, EngineError::Lock(LockError::Taken { .. }));
    let failure = CommandError::from(error);
    if is_taken && plan.context.kind == "run" {
        return failure.with_hint("runs that were all started with --parallel work side by side, in the same files");
    }
    failure
}

/// Drives a run to its end, writes the report and the session log (if it has one), and prints the summary.
pub async fn run_and_report(
    plan: RunPlan,
    start: StartMode,
    resources: RunResources,
    reporter: RunReporter,
) -> Result<u8, CommandError> {
    let id = plan.context.id.clone();
    let (session, started_at) = (plan.context.session_log.clone(), Instant::now());
    let worktree = plan.context.own_worktree.clone();
    let store = Arc::clone(&resources.store);
    let ended = match run_with_classic_log(plan, start, resources, reporter.report).await {
        Ok(ended) => ended,
        Err(failure) => {
            abandon_store(store);
            return Err(failure);
        }
    };
    if reporter.has_summary {
        let row = store.find_runs_by_id_part(&id).await?.into_iter().next();
        let summary = RunSummary { proof: ProofLevel::load(&store, &id).await?, session };
        summary.print_summary(&ended, started_at.elapsed(), row.as_ref());
    }
    if let Some(worktree) = &worktree {
        print_worktree_outcome(&finish_worktree(worktree, &store, &id, &ended).await?);
    }
    if let Some(store) = Arc::into_inner(store) {
        store.close().await;
    }
    Ok(ended.exit_code)
}

fn print_worktree_outcome(outcome: &WorktreeOutcome) {
    out::print_note(&match outcome {
        WorktreeOutcome::Unfinished { path } => format!("tree      {} contains the work so far", path.display()),
        WorktreeOutcome::Accepted { branch, tree } => format!("branch    {branch}; `ralph land {tree}` merges it"),
        WorktreeOutcome::NotAccepted { branch, reason } => format!("warning: {branch} was not moved: {reason}"),
    });
}

/// Drops the store of a failed run without closing the database, which may be damaged.
pub fn abandon_store(store: Arc<Store>) {
    match Arc::try_unwrap(store) {
        Ok(store) => store.abandon_without_closing(),
        Err(shared) => std::mem::forget(shared),
    }
}

async fn run_with_classic_log(
    plan: RunPlan,
    start: StartMode,
    resources: RunResources,
    mut report: ThreadedReporter,
) -> Result<RunEnd, CommandError> {
    let Some(file) = plan.context.session_log.clone() else {
        return Ok(run_driver::run_loop(plan, start, resources, &mut report).await?);
    };
    let mut log = ClassicLog::new(file, plan.context.kind, report);
    let ended = run_driver::run_loop(plan, start, resources, &mut log).await.map_err(CommandError::from);
    ended.inspect_err(|failure| log.write_aborted_summary(&failure.message, failure.exit_code))
}

pub fn print_run_header(plan: &RunPlan) {
    let colors = ColorMode::for_stream(&io::stderr());
    out::print_note(&format!(
        "{} {} · agent {} · promise {} · at most {}",
        colors.style_text(TextStyle::Bold, &format!("ralph {}", plan.context.kind)),
        short_id(&plan.context.id),
        plan.context.agent.name,
        plan.spec.claim_rules.promise.as_str(),
        pluralize(i64::from(plan.spec.policy.max_iterations), "iteration"),
    ));
    budget::print_budget(plan);
    if let Some(permissions) = plan.context.agent.describe_permissions() {
        out::print_note(&format!("may       {permissions}"));
    }
    for agent in &plan.context.fallback {
        out::print_note(&format!("fallback  {}", agent.name));
    }
    print_fresh_session_note(plan);
    if let Some(stage) = &plan.spec.stage {
        out::print_note(&format!("task      {}, {}", stage.task, stage.role));
    }
    if plan.spec.criteria.is_empty() {
        out::print_note("no checks: the claim alone decides, and nothing is verified");
    }
    for check in &plan.spec.criteria {
        out::print_note(&format!("check     {}", check.display_name()));
    }
    if let Some(place) = &plan.context.own_worktree {
        out::print_note(&format!("tree      {}, branch {}", place.worktree.path.display(), place.worktree.branch()));
    }
}

/// Prints which agents start a new session in every iteration although the run continues sessions.
fn print_fresh_session_note(plan: &RunPlan) {
    if let Some(note) = plan.describe_agents_without_resume() {
        out::print_note(&format!("context   {note}"));
    }
}

/// The data of the summary that is printed at the end of a run.
pub struct RunSummary {
    pub proof: ProofLevel,
    pub session: Option<SessionLogFile>,
}

/// How well the receipt of a completed run proves its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofLevel {
    Verified,
    /// Nothing was checked.
    Unchecked,
    /// Checks ran, but none proved more than the agent's claim.
    ClaimOnly,
}

impl ProofLevel {
    pub async fn load(store: &Store, run: &str) -> Result<Self, CommandError> {
        let receipt = store.receipt_of_run(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        Ok(match receipt.map(|receipt| receipt.findings) {
            Some(findings) if findings.is_verified => Self::Verified,
            Some(findings) if !findings.checks.is_empty() => Self::ClaimOnly,
            Some(_) | None => Self::Unchecked,
        })
    }
}

impl RunSummary {
    pub fn print_summary(&self, ended: &RunEnd, took: Duration, row: Option<&RunRow>) {
        let colors = ColorMode::for_stream(&io::stdout());
        let tone = if ended.outcome == Outcome::Completed { TextStyle::Good } else { TextStyle::Bad };
        out::print_message(&format!(
            "\n{} after {} in {}: {}",
            colors.style_text(tone, ended.outcome.as_str()),
            pluralize(row.map_or(0, |row| row.iterations), "iteration"),
            duration::format_rounded(took),
            ended.reason
        ));
        if let Some(row) = row {
            print_usage(row);
            if ended.outcome == Outcome::Interrupted {
                out::print_message(&format!("resume    ralph resume {}", short_id(&row.id)));
            }
        }
        if let Some(path) = self.session.as_ref().and_then(SessionLogFile::path) {
            out::print_message(&format!("log       {}", path.display()));
        }
        if let Some(caveat) = self.outcome_caveat(ended) {
            out::print_message(caveat);
        }
    }

    /// Returns what the outcome alone does not show: missing proof, or an exit code of 0 without completion.
    fn outcome_caveat(&self, ended: &RunEnd) -> Option<&'static str> {
        match (ended.outcome, ended.exit_code) {
            (Outcome::Completed, _) if self.proof == ProofLevel::Unchecked => {
                Some("unverified: the run has no checks, so only the agent's claim supports this result")
            }
            (Outcome::Completed, _) if self.proof == ProofLevel::ClaimOnly => {
                Some("unverified: no check proved more than the agent's claim")
            }
            (Outcome::Exhausted, exit_code::COMPLETED) => {
                Some("not complete: the iterations are used up; this is an error only with --strict")
            }
            (_, _) => None,
        }
    }
}

fn print_usage(row: &RunRow) {
    let tokens = match (row.input_tokens, row.output_tokens) {
        (Some(input), Some(output)) => format!(", {input} tokens in, {output} out"),
        (_, _) => String::new(),
    };
    out::print_message(&format!("spent     {}{tokens}", format_cost(row.cost_micros)));
    out::print_message(&format!("details   ralph show {}", short_id(&row.id)));
}
