//! `ralph resume`.
use std::io;

use clap::Args;
use ralph_core::order::Order;
use ralph_core::outcome::{Ended, exit_code};
use ralph_core::state::Phase;

use super::around::refuse_recursion;
use super::config_args::ConfigArgs;
use super::detach::{DetachArgs, detach};
use super::output_args::{OutputArgs, Show};
use super::run::{hold, means, preflight_again, tell, with_keeper};
use super::target::{PATIENCE, place, silent, within};
use super::tree_hold::free;
use super::{block_on, out, own_tree, pick, task, trust};
use crate::error::Failure;
use ralph_app::config::{Part, Use};
use ralph_app::view::{event_line, processes, short_id};
use ralph_engine::control::{Driven, Given, driven, give};
use ralph_engine::engine::{
    Audience, Beginning, Clock, KIND_GENERATE, KIND_STAGE, Place, RunPlan, RunSettings, SettingsError,
    StoredAgent, TakenUp,
};
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_process as process;
use ralph_process::Keeper;
use ralph_store::{Addressee, Right, RunRow, Store, StoredRun};
use ralph_util::fail::{self, Point};
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

pub fn run(args: &ResumeArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    if args.background.is_wanted() {
        return in_background(args, project);
    }
    with_keeper(|keeper| here(args, project, keeper))
}

/// What a run has recorded is started again, and a record that came with the repository may be anybody's.
pub fn refuse_tracked(project: &Project) -> Result<(), Failure> {
    let state = project.state();
    let tracked = git::is_tracked(&project.root, &state);
    if !tracked.map_err(|error| Failure::new(exit_code::GIT, &error))? {
        return Ok(());
    }
    Err(Failure::plain(exit_code::STATE, "the recorded runs came with the repository")
        .cause(format!("git tracks files in {}", state.display()))
        .hint("somebody else may have written them; start anew with `ralph run`"))
}

/// What became of a run.
enum Found {
    /// It has ended, which was said again.
    Ended(u8),
    Left(Box<Left>),
}

/// A run that can go on.
struct Left {
    row: RunRow,
    plan: RunPlan,
    /// What is not as it was then.
    changed: Vec<String>,
}

async fn here(args: &ResumeArgs, project: Project, keeper: Keeper) -> Result<u8, Failure> {
    let (store, row) = pick::run_or_task(args.run.as_deref()).await?;
    if let Some(code) = wake(&store, &row, &project).await? {
        return Ok(code);
    }
    match look(args, &store, row, project).await? {
        Found::Ended(code) => Ok(code),
        Found::Left(left) => {
            let show = args.output.show(&left.plan);
            go_on(*left, (store, keeper), show).await
        }
    }
}

/// Looks here, where questions can be asked, and goes on elsewhere.
fn in_background(args: &ResumeArgs, project: Project) -> Result<u8, Failure> {
    let found = block_on(async {
        let (store, row) = pick::run_or_task(args.run.as_deref()).await?;
        let found = match wake(&store, &row, &project).await? {
            Some(code) => Ok(Found::Ended(code)),
            None => look(args, &store, row, project).await,
        };
        store.close().await;
        found
    });
    let Left { row, plan, changed } = match found? {
        Found::Ended(code) => return Ok(code),
        Found::Left(left) => *left,
    };
    detach(plan, &args.output, |plan, show| {
        with_keeper(async move |keeper| {
            let (store, _) = pick::run(Some(&row.id)).await?;
            go_on(Left { row, plan, changed }, (store, keeper), show).await
        })
    })
}

/// Lets whoever drives a paused run go on with it, if somebody does.
async fn wake(store: &Store, row: &RunRow, project: &Project) -> Result<Option<u8>, Failure> {
    let Some(found) = store.loop_of(&row.id).await?.filter(|found| found.run.status == "running") else {
        return Ok(None);
    };
    let Driven::By(owner) = driven(project, &found) else { return Ok(None) };
    let state = store.stored(&row.id).await?.state;
    let is_paused = matches!(state.phase, Phase::Paused { .. });
    if !is_paused && !state.wishes.pause {
        return Ok(None);
    }
    let order = (Addressee::Run(&row.id), &Order::Resume);
    let Given::Waits { id } = give(store, order, Clock::wall(), owner.as_ref()).await? else {
        return Ok(None);
    };
    let answered = async || Ok(store.order_answer(&id).await?);
    if within(PATIENCE, answered).await?.is_none() {
        return Err(silent(&found, owner.as_ref()).hint("the order stays: it goes on as soon as it answers"));
    }
    out::say(&format!("Resumed Ralph loop for {}", place(&found)));
    Ok(Some(0))
}

/// Finds out whether a run can go on, before anything of it is touched.
async fn look(args: &ResumeArgs, store: &Store, row: RunRow, project: Project) -> Result<Found, Failure> {
    let stored = store.stored(&row.id).await?;
    if !stored.state.can_go_on() {
        let audience = args.output.audience();
        let code = repeat(store, &row, &stored, audience).await?;
        return task::finish_in(store, &project, &row.id, (code, audience)).await.map(Found::Ended);
    }
    if row.kind == KIND_STAGE {
        return Err(Failure::preflight(format!("run {} is a stage that a worker drives", short_id(&row.id)))
            .hint("`ralph work` goes on with its task"));
    }
    let from = (&args.config, args.output.audience());
    let (plan, changed) = plan_again(from, &row, &stored, project)?;
    preflight_again(&plan)?;
    Ok(Found::Left(Box::new(Left { row, plan, changed })))
}

async fn go_on(left: Left, (store, keeper): (Store, Keeper), show: Show) -> Result<u8, Failure> {
    let Left { row, plan, changed } = left;
    let hold = hold(&plan).await?;
    let settings =
        RunSettings::of(&plan).json().map_err(|error| Failure::new(exit_code::PREFLIGHT, &error))?;
    if let Some(task) = &row.task {
        free(&store, task).await?;
    }
    fail::point(Point::StageBegins);
    let right = row.task.as_deref().map_or(Right::Any, |task| Right::Free { task });
    let stored = store.take_over(&row.id, &hold.owner().json(), &settings, right).await?;
    let audience = match show {
        Show::Json => Audience::Nobody,
        Show::People(_) | Show::Background(_) => Audience::People,
    };
    if !stored.state.can_go_on() {
        return repeat(&store, &row, &stored, audience).await;
    }
    sweep(&row.id);
    if let Some(code) = own_tree::set_up(&plan, &keeper).await? {
        return Ok(code);
    }
    let left = Beginning::Resumed(Box::new(TakenUp { stored, changed }));
    let told = show.told(plan.policy.max_iterations)?;
    let (kind, project) = (plan.kind, plan.project.clone());
    let code = tell(plan, left, means(keeper, hold, store)?, told).await?;
    match kind {
        KIND_GENERATE => task::finish(&project, &row.id, (code, audience)).await,
        _ => Ok(code),
    }
}

/// Makes the plan of a stored run again, and says what is not as it was.
pub fn plan_again(
    (config, audience): (&ConfigArgs, Audience),
    row: &RunRow,
    stored: &StoredRun,
    project: Project,
) -> Result<(RunPlan, Vec<String>), Failure> {
    let anew = "start anew with `ralph run`";
    if stored.fence == 0 {
        let why = "it was read in from a file, or written by an older ralph";
        return Err(Failure::preflight(format!("run {} cannot go on here", row.id)).cause(why).hint(anew));
    }
    let refused = |error: SettingsError| {
        let hint = match error {
            SettingsError::Secret => HIDDEN,
            SettingsError::Unset { .. } => "set it again as it was, then resume",
            SettingsError::Format { .. }
            | SettingsError::Newer { .. }
            | SettingsError::Kind { .. }
            | SettingsError::Agent { .. } => anew,
        };
        Failure::new(exit_code::PREFLIGHT, &error).hint(hint)
    };
    if redact::is_marked(&row.settings) {
        // What the configuration gives to agents and prompts is known from now on; whether it is right is told later.
        drop(config.settings(Some(&project)));
    }
    let settings = RunSettings::parse(&row.settings).map_err(refused)?;
    let configured = Configured::of(config, &project);
    let mut changed = settings.changes();
    changed.extend(configured.changes(settings.configured()));
    let tree = settings.tree().map(str::to_owned);
    let place = Place { id: row.id.clone(), kind: row.kind.clone(), project, audience };
    let plan = settings.plan(place, |agent| configured.env(agent)).map_err(|error| match error {
        NoPlan::Settings(error) => refused(error),
        NoPlan::Env(failure) => failure,
    })?;
    plan.prompt.read(1, 1).map_err(|error| lost_prompt(&plan, &error))?;
    let plan = match tree {
        Some(name) => own_tree::open(plan, &name, config)?,
        None => plan,
    };
    Ok((plan, changed))
}

/// What to do instead where a secret cannot be had again.
pub const HIDDEN: &str = "start anew: give the prompt as @FILE, and let commands name a variable (\"$DEPLOY_TOKEN\"), not its value";

fn lost_prompt(plan: &RunPlan, error: &io::Error) -> Failure {
    let path = plan.prompt.file().map(|path| format!(" {}", path.display())).unwrap_or_default();
    Failure::preflight(format!("the prompt{path} of the run cannot be read any more"))
        .cause(error)
        .hint("put it back, or start anew with `ralph run`")
}

/// Why there is no plan.
enum NoPlan {
    Settings(SettingsError),
    Env(Failure),
}

impl From<SettingsError> for NoPlan {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

/// The configuration as it is now. The run keeps what it began with: only the values of the agents' variables are
/// wanted, which are never stored.
struct Configured<'a> {
    config: &'a ConfigArgs,
    project: Project,
}

impl<'a> Configured<'a> {
    fn of(config: &'a ConfigArgs, project: &Project) -> Self {
        Self { config, project: project.clone() }
    }

    /// Says what the configuration did not say when the run began, and what holds.
    fn changes(&self, then: Option<&[String]>) -> Vec<String> {
        let Some(then) = then else { return Vec::new() };
        let mut changes = match self.config.settings(Some(&self.project)) {
            Ok(now) => now.changes_since(then),
            Err(failure) => vec![format!("the configuration is wrong now: {}", failure.message)],
        };
        if !changes.is_empty() {
            changes.push(
                "the run keeps the settings that it began with; a new run takes the new ones".to_owned(),
            );
        }
        changes
    }

    fn env(&self, agent: &StoredAgent) -> Result<Vec<(String, String)>, NoPlan> {
        if agent.env.is_empty() {
            return Ok(Vec::new());
        }
        self.values(agent).map_err(NoPlan::Env)
    }

    fn values(&self, agent: &StoredAgent) -> Result<Vec<(String, String)>, Failure> {
        let configured = self.config.settings(Some(&self.project))?;
        let used = Use {
            agents: vec![&agent.name],
            permission: Part::Left,
            checks: Part::Left,
            criteria: &[],
            templates: &[],
        };
        trust::ensure_use(&self.project, &configured, &used)?;
        let written = configured.agents.get(&agent.name).cloned().unwrap_or_default();
        let value = |name: &String| {
            let value = written.env.get(name).map(|setting| (name.clone(), setting.value.clone()));
            value.ok_or_else(|| {
                let agent = &agent.name;
                Failure::preflight(format!("the configuration has no agents.{agent}.env.{name} any more"))
                    .hint("put it back, or name the configuration that has it with --config")
            })
        };
        agent.env.iter().map(value).collect()
    }
}

/// Kills what the dead engine left behind. Nothing of it may work beside what is started now.
pub fn sweep(run: &str) {
    let swept = process::sweep(run);
    if swept.killed > 0 {
        out::note(&format!("killed what the run had left behind: {}", processes(u64::from(swept.killed))));
    }
    for leaked in swept.leaked {
        out::note(&format!("warning: {} ({}) could not be killed", leaked.name, leaked.pid));
    }
}

/// A run that has ended says so again. Nothing is started.
async fn repeat(store: &Store, row: &RunRow, stored: &StoredRun, audience: Audience) -> Result<u8, Failure> {
    let Some(ended) = stored.state.ended() else {
        return Err(Failure::plain(exit_code::INTERNAL, "a run that cannot go on has no end"));
    };
    match audience {
        Audience::Nobody => {
            for last in store.events(&row.id, stored.facts - 1, 1).await? {
                out::line(&event_line(&row.id, &last));
            }
        }
        Audience::People => say_again(row, ended),
    }
    Ok(ended.exit_code)
}

fn say_again(row: &RunRow, ended: &Ended) {
    out::note(&format!("run {} has ended; nothing was started", short_id(&row.id)));
    out::say(&format!("{}: {}", ended.outcome.as_str(), ended.reason));
    out::say(&format!("details   ralph show {}", short_id(&row.id)));
}
