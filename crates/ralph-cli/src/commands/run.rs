//! `ralph run`.
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_core::outcome::{Outcome, RunEnd, exit_code};
use ralph_core::policy::Policy;
use ralph_core::receipt::Receipt;
use tokio::task::yield_now;

use super::default_plan::{PlanRequest, build_default_plan};
use super::detach::start_run;
use super::nested_run::refuse_recursion;
use super::output_args::{OutputMode, RunReporter};
use super::run_args::RunArgs;
use super::{block_on, budget, out, require_criteria, run_worktree, trust};
use crate::error::CommandError;
use crate::report::{ClassicLog, ColorMode, TextStyle, ThreadedReporter};
use ralph_app::config::Settings;
use ralph_app::view::{format_cost, pluralize, short_id};
use ralph_engine::lock::{LockError, LockSharing};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    self, AgentChoice, Clock, ControlInput, EngineError, RunLease, RunPlan, RunResources, StartMode, WorktreeLock,
};
use ralph_process as process;
use ralph_process::{Keeper, SpawnError};
use ralph_store::{OpenMode, RunRow, Store};
use ralph_util::duration;
use ralph_util::redact;
use ralph_util::session_log_file::SessionLogFile;

pub fn run(args: &RunArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let settings = args.load_settings(&project)?;
    let plan = plan_run(args, &settings, project)?;
    refuse_recursion(&plan.project)?;
    preflight_run(&plan)?;
    trust::ensure_approved(&plan, &settings)?;
    let plan = if args.worktree { run_worktree::create_worktree(plan, &settings)? } else { plan };
    start_run(plan, &args.output, &args.background)
}

fn plan_run(args: &RunArgs, settings: &Settings, project: Project) -> Result<RunPlan, CommandError> {
    let request = PlanRequest {
        settings,
        agent: &args.agent,
        audience: args.output.audience(),
        promise: args.parse_promise()?,
        prompt: args.read_prompt_source()?,
        checks: settings.criteria(),
        max_iterations: settings.default_max_iterations.value,
    };
    require_criteria::ensure_run_criteria(settings, &request.checks)?;
    let plan = build_default_plan(request, project)?;
    Ok(RunPlan {
        policy: Policy { context: settings.context.value, ..plan.policy },
        sharing: if args.parallel { LockSharing::Shared } else { LockSharing::Exclusive },
        ..plan
    })
}

/// Finds out before the first iteration whether the agent can be started at all.
pub fn preflight_run(plan: &RunPlan) -> Result<(), CommandError> {
    plan.all_agents().try_for_each(|agent| {
        let hint = "give --agent-cmd, or `cli:` in the configuration, the path of an executable file";
        preflight_agent(plan, agent, hint)
    })
}

/// The same for a run that goes on, whose agent nobody can name anew.
pub fn preflight_resumed_run(plan: &RunPlan) -> Result<(), CommandError> {
    plan.all_agents().try_for_each(|agent| {
        preflight_agent(plan, agent, "put the program back where the run had it, or start anew with `ralph run`")
    })
}

/// Looks at one agent; `hint` says where another program can be named.
fn preflight_agent(plan: &RunPlan, agent: &AgentChoice, hint: &str) -> Result<(), CommandError> {
    let job = plan.build_agent_job(agent, "", &agent.session_request(None));
    let (spec, _) = job.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    if spec.program.as_os_str().is_empty() {
        return Err(CommandError::usage_error(format!("the agent {} needs a program", agent.name))
            .with_hint("name it with --agent-cmd PATH, or as `cli:` of the agent in the configuration"));
    }
    process::locate_program(&spec).map(drop).map_err(|error| agent_program_error(agent, &error, hint))?;
    budget::require_known_cost(&plan.policy.budget, agent)?;
    if agent.output_format().is_conversation() && plan.project.root.to_str().is_none() {
        return Err(non_utf8_root_error(&plan.project.root));
    }
    match agent.preflight_problem(rustix::process::geteuid().is_root()) {
        Some(obstacle) => Err(CommandError::preflight_error(obstacle.problem).with_hint(obstacle.hint)),
        None => Ok(()),
    }
}

/// What is talked over is text, and names the folder.
fn non_utf8_root_error(root: &Path) -> CommandError {
    let what = format!("the name of the folder {} is not UTF-8 text", root.display());
    CommandError::preflight_error(what)
        .with_cause("an agent that is talked to by the Agent Client Protocol could not be told where to work")
        .with_hint("rename the folder, or choose another agent with --agent")
}

fn agent_program_error(agent: &AgentChoice, error: &SpawnError, hint: &str) -> CommandError {
    let failure = CommandError::from_error(exit_code::PREFLIGHT_FAILED, error);
    match error {
        SpawnError::NotFound { program } => program_not_found_error(agent, program, hint),
        SpawnError::NotExecutable { program, .. } if program.is_dir() => {
            CommandError::preflight_error(format!("the agent program {} is a folder", program.display()))
                .with_hint(hint)
        }
        SpawnError::NotExecutable { program, .. } => {
            failure.with_hint(format!("make it executable: chmod +x {}", program.display()))
        }
        SpawnError::MissingInterpreter { .. } => {
            failure.with_hint("install the interpreter, or correct the first line of the script")
        }
        SpawnError::WrongFormat { .. } => {
            failure.with_hint("a script needs a first line such as #!/bin/sh; a binary must fit this machine")
        }
        SpawnError::NoSuchDirectory { .. }
        | SpawnError::ArgumentsTooLong { .. }
        | SpawnError::KeeperDied { .. }
        | SpawnError::SupervisorDied { .. }
        | SpawnError::Other { .. } => failure,
    }
}

fn program_not_found_error(agent: &AgentChoice, program: &Path, hint: &str) -> CommandError {
    let name = program.display();
    if name.to_string().contains('/') {
        return CommandError::preflight_error(format!("the agent program {name} does not exist")).with_hint(hint);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    CommandError::preflight_error(format!("the agent {name} was not found on PATH"))
        .with_cause(format!("PATH is {path:?}"))
        .with_hint(agent.adapter.profile().install_hint)
}

/// Runs a plan to its outcome and says what came of it.
pub fn execute_run(plan: RunPlan, show: OutputMode) -> Result<u8, CommandError> {
    with_keeper(|keeper| execute_with_keeper(plan, keeper, show))
}

/// Runs a command that starts agents.
pub fn with_keeper<W: Future<Output = Result<u8, CommandError>>>(
    work: impl FnOnce(Keeper) -> W,
) -> Result<u8, CommandError> {
    // The keeper must be forked before the first thread exists, and before any lock is taken: it would have it too.
    let keeper = Keeper::start().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    block_on(work(keeper))
}

/// Runs a plan to its outcome with a keeper that is there already.
pub async fn execute_with_keeper(plan: RunPlan, keeper: Keeper, show: OutputMode) -> Result<u8, CommandError> {
    let state = plan.project.state_folder();
    let is_introduced = matches!(show, OutputMode::Plain(_));
    // While SQLite opens its files in a thread of its own, this one does what else must be done. It looks up after each
    // part, because SQLite must be told the next step.
    let meanwhile = async {
        let hold = acquire_run_lease(&plan).await;
        yield_now().await;
        redact::prepare_secrets();
        yield_now().await;
        (hold, show.start_reporter(plan.policy.max_iterations))
    };
    let (store, (hold, told)) = tokio::join!(Store::open(&state, OpenMode::Create), meanwhile);
    let (store, hold) = match (store, hold) {
        (Ok(Some(store)), hold) => (store, hold.map_err(|error| run_lock_error(&plan, error))?),
        (Ok(None), _) => {
            return Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "the database was not created"));
        }
        (Err(error), hold) => {
            hold.into_iter().for_each(|hold| hold.discard_unstored_run(&plan));
            return Err(error.into());
        }
    };
    if is_introduced {
        print_run_header(&plan);
    } else {
        print_fresh_session_note(&plan);
    }
    if let Some(code) = run_worktree::set_up_worktree(&plan, &keeper).await? {
        hold.discard_unstored_run(&plan);
        return Ok(code);
    }
    run_and_report(plan, StartMode::New, build_run_resources(keeper, hold, store)?, told?).await
}

/// Returns what a run works with that this process drives alone.
pub fn build_run_resources(keeper: Keeper, hold: RunLease, store: Store) -> Result<RunResources, CommandError> {
    let control = ControlInput::from_signals().map_err(|source| EngineError::Signals { source })?;
    Ok(RunResources { keeper, lease: hold, store: Arc::new(store), control, cost_account: None })
}

/// Takes the locks of a run.
pub async fn acquire_run_lease(plan: &RunPlan) -> Result<RunLease, EngineError> {
    if plan.own_worktree.is_some() {
        return RunLease::acquire_in_own_worktree(plan, Clock::start().now()).await;
    }
    let tree = WorktreeLock::acquire(plan, Clock::start().now()).await?;
    yield_now().await;
    RunLease::acquire(plan, tree).await
}

/// Says how `ralph run`, and only that, can work beside others.
fn run_lock_error(plan: &RunPlan, error: EngineError) -> CommandError {
    let is_taken = matches!(error, EngineError::Lock(LockError::Taken { .. }));
    let failure = CommandError::from(error);
    if is_taken && plan.kind == "run" {
        return failure.with_hint("runs that were all started with --parallel work side by side, in the same files");
    }
    failure
}

/// Drives a run to its end before the eyes of a report, and of a session log where it keeps one; says how it ended.
pub async fn run_and_report(
    plan: RunPlan,
    from: StartMode,
    means: RunResources,
    told: RunReporter,
) -> Result<u8, CommandError> {
    let id = plan.id.clone();
    let (session, began) = (plan.session_log.clone(), Instant::now());
    let place = plan.own_worktree.clone();
    let store = Arc::clone(&means.store);
    let ended = match run_with_classic_log(plan, from, means, told.report).await {
        Ok(ended) => ended,
        Err(failure) => {
            abandon_store(store);
            return Err(failure);
        }
    };
    if told.has_summary {
        let row = store.find_runs_by_id_part(&id).await?.into_iter().next();
        let story = RunSummary { proof: ProofLevel::load(&store, &id).await?, session };
        story.print_summary(&ended, began.elapsed(), row.as_ref());
    }
    if let Some(place) = &place {
        run_worktree::finish_worktree(place, &store, &id, &ended).await?;
    }
    if let Some(store) = Arc::into_inner(store) {
        store.close().await;
    }
    Ok(ended.exit_code)
}

/// Leaves a database behind that an engine could not go on with.
pub fn abandon_store(store: Arc<Store>) {
    match Arc::try_unwrap(store) {
        Ok(store) => store.abandon_without_closing(),
        Err(shared) => std::mem::forget(shared),
    }
}

async fn run_with_classic_log(
    plan: RunPlan,
    from: StartMode,
    means: RunResources,
    mut report: ThreadedReporter,
) -> Result<RunEnd, CommandError> {
    let Some(file) = plan.session_log.clone() else {
        return Ok(run_driver::run_loop(plan, from, means, &mut report).await?);
    };
    let mut log = ClassicLog::new(file, plan.kind, report);
    let ended = run_driver::run_loop(plan, from, means, &mut log).await.map_err(CommandError::from);
    ended.inspect_err(|failure| log.write_aborted_summary(&failure.message, failure.exit_code))
}

pub fn print_run_header(plan: &RunPlan) {
    let colors = ColorMode::for_stream(&io::stderr());
    out::print_note(&format!(
        "{} {} · agent {} · promise {} · at most {}",
        colors.style_text(TextStyle::Bold, &format!("ralph {}", plan.kind)),
        short_id(&plan.id),
        plan.agent.name,
        plan.claim_rules.promise.as_str(),
        pluralize(i64::from(plan.policy.max_iterations), "iteration"),
    ));
    budget::print_budget(plan);
    if let Some(means) = plan.agent.describe_permissions() {
        out::print_note(&format!("may       {means}"));
    }
    for agent in &plan.fallback {
        out::print_note(&format!("fallback  {}", agent.name));
    }
    print_fresh_session_note(plan);
    if let Some(stage) = &plan.stage {
        out::print_note(&format!("task      {}, {}", stage.task, stage.role));
    }
    if plan.criteria.is_empty() {
        out::print_note("no checks: the claim alone decides, and nothing is verified");
    }
    for check in &plan.criteria {
        out::print_note(&format!("check     {}", check.display_name()));
    }
    if let Some(place) = &plan.own_worktree {
        out::print_note(&format!("tree      {}, branch {}", place.worktree.path.display(), place.worktree.branch()));
    }
}

/// Says which agents start afresh although sessions shall go on.
fn print_fresh_session_note(plan: &RunPlan) {
    if let Some(note) = plan.describe_agents_without_resume() {
        out::print_note(&format!("context   {note}"));
    }
}

/// What the end of a run is told with.
pub struct RunSummary {
    pub proof: ProofLevel,
    pub session: Option<SessionLogFile>,
}

/// What stands behind a completion, as its receipt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofLevel {
    Verified,
    /// Nothing was checked.
    Unchecked,
    /// Whatever was checked came to no more than the agent's own word.
    ClaimOnly,
}

impl ProofLevel {
    pub async fn load(store: &Store, run: &str) -> Result<Self, CommandError> {
        let receipt = store.receipt_of_run(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        Ok(match receipt.map(|receipt| receipt.findings) {
            Some(told) if told.is_verified => Self::Verified,
            Some(told) if !told.checks.is_empty() => Self::ClaimOnly,
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
                out::print_message(&format!("go on     ralph resume {}", short_id(&row.id)));
            }
        }
        if let Some(path) = self.session.as_ref().and_then(SessionLogFile::path) {
            out::print_message(&format!("log       {}", path.display()));
        }
        if let Some(caution) = self.outcome_caveat(ended) {
            out::print_message(caution);
        }
    }

    /// Says what the outcome alone does not.
    fn outcome_caveat(&self, ended: &RunEnd) -> Option<&'static str> {
        match (ended.outcome, ended.exit_code) {
            (Outcome::Completed, _) if self.proof == ProofLevel::Unchecked => {
                Some("unverified: no check was given, so only the agent's word stands behind this")
            }
            (Outcome::Completed, _) if self.proof == ProofLevel::ClaimOnly => {
                Some("unverified: no check proved more than the agent's own word")
            }
            (Outcome::Exhausted, exit_code::COMPLETED) => {
                Some("not complete: the iterations are used up, which is no error here; --strict makes it one")
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
