//! `ralph resume`.
use std::io;

use clap::Args;
use ralph_core::control_command::ControlCommand;
use ralph_core::loop_state::LoopPhase;
use ralph_core::outcome::{RunEnd, exit_code};

use super::config_args::ConfigArgs;
use super::detach::{DetachArgs, run_detached};
use super::output_args::{OutputArgs, OutputMode};
use super::run::{acquire_run_lease, build_run_resources, run_and_report, with_keeper};
use super::{block_on, out, run_lookup, run_worktree, task, trust};
use crate::error::CommandError;
use ralph_app::config::{SettingsPart, SettingsUse};
use ralph_app::control::{ANSWER_TIMEOUT, describe_loop, poll_with_timeout, unresponsive_error};
use ralph_app::plan::preflight_resumed_run;
use ralph_app::run::FoundRun;
use ralph_app::run::refuse_recursion;
use ralph_app::view::{event_json_line, format_process_count, short_id};
use ralph_app::worktrees::ensure_task_is_free;
use ralph_engine::control::{CommandDelivery, DriverStatus, find_driver, send_command};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    Clock, GENERATE_RUN_KIND, OutputVisibility, ResumeTarget, ResumedRun, RunPlan, RunSpec, RunSpecError,
    STAGE_RUN_KIND, StartMode, StoredAgent,
};
use ralph_process as process;
use ralph_process::Keeper;
use ralph_store::{CommandTarget, RunRow, Store, StoredRun, TakeoverGuard};
use ralph_util::failpoints::{self, FailPoint};
use ralph_util::redact;

/// Goes on with a run that was paused or interrupted, or whose ralph died
///
/// Without RUN, the newest. RUN is the beginning or the end of an id, or the id of a task. What was finished is kept; the iteration that was
/// cut short is done again under its number, and checks that were cut short run again without the agent. A run that has
/// ended repeats its result and exit code, and nothing is started. One that is paused is told to go on where it is driven.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph resume                 the newest run of this project
  ralph resume 3f2a9c41        the run whose id ends so; `ralph runs` lists them
  ralph resume --detach        goes on in the background; `ralph attach` follows it")]
pub struct ResumeArgs {
    run: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    background: DetachArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &ResumeArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    if args.background.is_requested() {
        return resume_in_background(args, project);
    }
    with_keeper(|keeper| resume_in_foreground(args, project, keeper))
}

pub use ralph_app::run::refuse_tracked_state;

/// What became of a run.
enum ResumeLookup {
    /// It has ended, which was said again.
    Ended(u8),
    Resumable(Box<ResumableRun>),
}

/// A run that can go on.
struct ResumableRun {
    row: RunRow,
    plan: RunPlan,
    /// What is not as it was then.
    changed: Vec<String>,
}

async fn resume_in_foreground(args: &ResumeArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let FoundRun { store, run: row } = run_lookup::find_run_or_task(args.run.as_deref()).await?;
    if let Some(code) = wake_paused_run(&store, &row, &project).await? {
        return Ok(code);
    }
    match inspect_run(args, &store, row, project).await? {
        ResumeLookup::Ended(code) => Ok(code),
        ResumeLookup::Resumable(left) => {
            let show = args.output.output_mode(&left.plan);
            resume_run(*left, (store, keeper), show).await
        }
    }
}

/// Looks here, where questions can be asked, and goes on elsewhere.
fn resume_in_background(args: &ResumeArgs, project: Project) -> Result<u8, CommandError> {
    let found = block_on(async {
        let FoundRun { store, run: row } = run_lookup::find_run_or_task(args.run.as_deref()).await?;
        let found = match wake_paused_run(&store, &row, &project).await? {
            Some(code) => Ok(ResumeLookup::Ended(code)),
            None => inspect_run(args, &store, row, project).await,
        };
        store.close().await;
        found
    });
    let ResumableRun { row, plan, changed } = match found? {
        ResumeLookup::Ended(code) => return Ok(code),
        ResumeLookup::Resumable(left) => *left,
    };
    run_detached(plan, &args.output, |plan, show| {
        with_keeper(async move |keeper| {
            let FoundRun { store, run: _ } = run_lookup::find_run(Some(&row.id)).await?;
            resume_run(ResumableRun { row, plan, changed }, (store, keeper), show).await
        })
    })
}

/// Lets whoever drives a paused run go on with it, if somebody does.
async fn wake_paused_run(store: &Store, row: &RunRow, project: &Project) -> Result<Option<u8>, CommandError> {
    let Some(found) = store.loop_of_run(&row.id).await?.filter(|found| found.run.status == "running") else {
        return Ok(None);
    };
    let DriverStatus::Driven(owner) = find_driver(project, &found) else { return Ok(None) };
    let state = store.load_run(&row.id).await?.state;
    let is_paused = matches!(state.phase, LoopPhase::Paused { .. });
    if !is_paused && !state.wishes.pause {
        return Ok(None);
    }
    let order = (CommandTarget::Run(&row.id), &ControlCommand::Resume);
    let CommandDelivery::Queued { id } = send_command(store, order, Clock::wall_now(), owner.as_ref()).await? else {
        return Ok(None);
    };
    let answered = async || Ok(store.command_answer(&id).await?);
    if poll_with_timeout(ANSWER_TIMEOUT, answered).await?.is_none() {
        return Err(unresponsive_error(&found, owner.as_ref())
            .with_advice("the command stays: the loop resumes as soon as it answers")
            .into());
    }
    out::print_message(&format!("Resumed Ralph loop for {}", describe_loop(&found)));
    Ok(Some(0))
}

/// Finds out whether a run can go on, before anything of it is touched.
async fn inspect_run(
    args: &ResumeArgs,
    store: &Store,
    row: RunRow,
    project: Project,
) -> Result<ResumeLookup, CommandError> {
    let stored = store.load_run(&row.id).await?;
    if !stored.state.can_resume() {
        let audience = args.output.audience();
        let code = repeat_result(store, &row, &stored, audience).await?;
        return task::finish_generation_in(store, &project, &row.id, (code, audience)).await.map(ResumeLookup::Ended);
    }
    if row.kind == STAGE_RUN_KIND {
        return Err(CommandError::preflight_error(format!(
            "run {} is a stage that a worker drives",
            short_id(&row.id)
        ))
        .with_hint("`ralph work` goes on with its task"));
    }
    let from = (&args.config, args.output.audience());
    let (plan, changed) = rebuild_run_plan(from, &row, &stored, project)?;
    preflight_resumed_run(&plan)?;
    Ok(ResumeLookup::Resumable(Box::new(ResumableRun { row, plan, changed })))
}

async fn resume_run(
    left: ResumableRun,
    (store, keeper): (Store, Keeper),
    show: OutputMode,
) -> Result<u8, CommandError> {
    let ResumableRun { row, plan, changed } = left;
    let hold = acquire_run_lease(&plan).await?;
    let settings = RunSpec::from_plan(&plan)
        .to_stored_json()
        .map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    if let Some(task) = &row.task {
        ensure_task_is_free(&store, task).await?;
    }
    failpoints::reach_fail_point(FailPoint::StageBegins);
    let right = row.task.as_deref().map_or(TakeoverGuard::Unguarded, |task| TakeoverGuard::TaskUnleased { task });
    let stored = store.take_over_run(&row.id, &hold.owner().to_json(), &settings, right).await?;
    let audience = match show {
        OutputMode::Json => OutputVisibility::Hidden,
        OutputMode::Plain(_) | OutputMode::Background(_) => OutputVisibility::Shown,
    };
    if !stored.state.can_resume() {
        return repeat_result(&store, &row, &stored, audience).await;
    }
    kill_leftover_processes(&row.id);
    if let Some(code) = run_worktree::set_up_worktree(&plan, &keeper).await? {
        return Ok(code);
    }
    let left = StartMode::Resumed(Box::new(ResumedRun { stored_run: stored, changes: changed }));
    let told = show.start_reporter(plan.policy.max_iterations)?;
    let (kind, project) = (plan.kind, plan.project.clone());
    let code = run_and_report(plan, left, build_run_resources(keeper, hold, store)?, told).await?;
    match kind {
        GENERATE_RUN_KIND => task::finish_generation(&project, &row.id, (code, audience)).await,
        _ => Ok(code),
    }
}

/// Makes the plan of a stored run again, and says what is not as it was.
pub fn rebuild_run_plan(
    (config, audience): (&ConfigArgs, OutputVisibility),
    row: &RunRow,
    stored: &StoredRun,
    project: Project,
) -> Result<(RunPlan, Vec<String>), CommandError> {
    let anew = "start anew with `ralph run`";
    if stored.fence == 0 {
        let why = "it was read in from a file, or written by an older ralph";
        return Err(CommandError::preflight_error(format!("run {} cannot go on here", row.id))
            .with_cause(why)
            .with_hint(anew));
    }
    let refused = |error: RunSpecError| {
        let hint = match error {
            RunSpecError::SecretNotStored => HIDDEN_SECRET_HINT,
            RunSpecError::UnsetVariables { .. } => "set it again as it was, then resume",
            RunSpecError::Format { .. }
            | RunSpecError::Newer { .. }
            | RunSpecError::UnknownKind { .. }
            | RunSpecError::UnknownAgent { .. } => anew,
        };
        CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error).with_hint(hint)
    };
    if redact::has_redaction_mark(&row.settings) {
        // What the configuration gives to agents and prompts is known from now on; whether it is right is told later.
        drop(config.load_settings(Some(&project)));
    }
    let settings = RunSpec::parse(&row.settings).map_err(refused)?;
    let configured = CurrentConfig::new(config, &project);
    let mut changed = settings.describe_changes();
    changed.extend(configured.describe_changes(settings.config_fingerprints()));
    let tree = settings.worktree_name().map(str::to_owned);
    let place = ResumeTarget { run_id: row.id.clone(), run_kind: row.kind.clone(), project, visibility: audience };
    let plan = settings.into_plan(place, |agent| configured.agent_variables(agent)).map_err(|error| match error {
        PlanRebuildError::Settings(error) => refused(error),
        PlanRebuildError::Env(failure) => failure,
    })?;
    plan.prompt.read_prompt(1, 1).map_err(|error| missing_prompt_error(&plan, &error))?;
    let plan = match tree {
        Some(name) => run_worktree::reopen_worktree(plan, &name, config)?,
        None => plan,
    };
    Ok((plan, changed))
}

/// What to do instead where a secret cannot be had again.
pub const HIDDEN_SECRET_HINT: &str =
    "start anew: give the prompt as @FILE, and let commands name a variable (\"$DEPLOY_TOKEN\"), not its value";

fn missing_prompt_error(plan: &RunPlan, error: &io::Error) -> CommandError {
    let path = plan.prompt.file_path().map(|path| format!(" {}", path.display())).unwrap_or_default();
    CommandError::preflight_error(format!("the prompt{path} of the run cannot be read any more"))
        .with_cause(error)
        .with_hint("put it back, or start anew with `ralph run`")
}

/// Why there is no plan.
enum PlanRebuildError {
    Settings(RunSpecError),
    Env(CommandError),
}

impl From<RunSpecError> for PlanRebuildError {
    fn from(error: RunSpecError) -> Self {
        Self::Settings(error)
    }
}

/// The configuration as it is now. The run keeps what it began with: only the values of the agents' variables are
/// wanted, which are never stored.
struct CurrentConfig<'a> {
    config: &'a ConfigArgs,
    project: Project,
}

impl<'a> CurrentConfig<'a> {
    fn new(config: &'a ConfigArgs, project: &Project) -> Self {
        Self { config, project: project.clone() }
    }

    /// Says what the configuration did not say when the run began, and what holds.
    fn describe_changes(&self, then: Option<&[String]>) -> Vec<String> {
        let Some(then) = then else { return Vec::new() };
        let mut changes = match self.config.load_settings(Some(&self.project)) {
            Ok(now) => now.describe_changes_since(then),
            Err(failure) => vec![format!("the configuration is wrong now: {}", failure.message)],
        };
        if !changes.is_empty() {
            changes.push("the run keeps the settings that it began with; a new run takes the new ones".to_owned());
        }
        changes
    }

    fn agent_variables(&self, agent: &StoredAgent) -> Result<Vec<(String, String)>, PlanRebuildError> {
        if agent.env.is_empty() {
            return Ok(Vec::new());
        }
        self.read_agent_variables(agent).map_err(PlanRebuildError::Env)
    }

    fn read_agent_variables(&self, agent: &StoredAgent) -> Result<Vec<(String, String)>, CommandError> {
        let configured = self.config.load_settings(Some(&self.project))?;
        let used = SettingsUse {
            agents: vec![&agent.name],
            permission: SettingsPart::Unused,
            checks: SettingsPart::Unused,
            criteria: &[],
            templates: &[],
        };
        trust::ensure_use_approved(&self.project, &configured, &used)?;
        let written = configured.agents.get(&agent.name).cloned().unwrap_or_default();
        let value = |name: &String| {
            let value = written.env.get(name).map(|setting| (name.clone(), setting.value.clone()));
            value.ok_or_else(|| {
                let agent = &agent.name;
                CommandError::preflight_error(format!("the configuration has no agents.{agent}.env.{name} any more"))
                    .with_hint("put it back, or name the configuration that has it with --config")
            })
        };
        agent.env.iter().map(value).collect()
    }
}

/// Kills what the dead engine left behind. Nothing of it may work beside what is started now.
pub fn kill_leftover_processes(run: &str) {
    let swept = process::kill_run_processes(run);
    if swept.killed > 0 {
        out::print_note(&format!(
            "killed what the run had left behind: {}",
            format_process_count(u64::from(swept.killed))
        ));
    }
    for leaked in swept.leaked {
        out::print_note(&format!("warning: {} ({}) could not be killed", leaked.name, leaked.pid));
    }
}

/// A run that has ended says so again. Nothing is started.
async fn repeat_result(
    store: &Store,
    row: &RunRow,
    stored: &StoredRun,
    audience: OutputVisibility,
) -> Result<u8, CommandError> {
    let Some(ended) = stored.state.run_end() else {
        return Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "a run that cannot go on has no end"));
    };
    match audience {
        OutputVisibility::Hidden => {
            for last in store.events_after(&row.id, stored.fact_count - 1, 1).await? {
                out::print_line(&event_json_line(&row.id, &last));
            }
        }
        OutputVisibility::Shown => print_ended_run(row, ended),
    }
    Ok(ended.exit_code)
}

fn print_ended_run(row: &RunRow, ended: &RunEnd) {
    out::print_note(&format!("run {} has ended; nothing was started", short_id(&row.id)));
    out::print_message(&format!("{}: {}", ended.outcome.as_str(), ended.reason));
    out::print_message(&format!("details   ralph show {}", short_id(&row.id)));
}
