//! `ralph run`.
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_core::outcome::{Ended, Outcome, exit_code};
use ralph_core::policy::Policy;
use ralph_core::receipt::Receipt;
use tokio::task::yield_now;

use super::around::refuse_recursion;
use super::detach::start;
use super::output_args::{Show, Told};
use super::run_args::RunArgs;
use super::usual_plan::{Wanted, usual_plan};
use super::{block_on, budget, demand, out, own_tree, trust};
use crate::error::Failure;
use crate::report::{Elsewhere, Paint, SessionLog, Tone};
use ralph_app::config::Settings;
use ralph_app::view::{money, one_or_many, short_id};
use ralph_engine::engine::{
    self, AgentChoice, Asks, Beginning, Clock, EngineError, Hold, Means, RunPlan, TreeHold,
};
use ralph_engine::lock::{LockError, Sharing};
use ralph_engine::project::Project;
use ralph_process as process;
use ralph_process::{Keeper, SpawnError};
use ralph_store::{Opening, RunRow, Store};
use ralph_util::duration;
use ralph_util::redact;
use ralph_util::session_file::SessionFile;

pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    let settings = args.settings(&project)?;
    let plan = plan(args, &settings, project)?;
    refuse_recursion(&plan.project)?;
    preflight(&plan)?;
    trust::ensure(&plan, &settings)?;
    let plan = if args.worktree { own_tree::plant(plan, &settings)? } else { plan };
    start(plan, &args.output, &args.background)
}

fn plan(args: &RunArgs, settings: &Settings, project: Project) -> Result<RunPlan, Failure> {
    let wanted = Wanted {
        settings,
        agent: &args.agent,
        audience: args.output.audience(),
        promise: args.promise()?,
        prompt: args.prompt()?,
        checks: settings.criteria(),
        max_iterations: settings.default_max_iterations.value,
    };
    demand::ensure(settings, &wanted.checks)?;
    let plan = usual_plan(wanted, project)?;
    Ok(RunPlan {
        policy: Policy { context: settings.context.value, ..plan.policy },
        sharing: if args.parallel { Sharing::Parallel } else { Sharing::Alone },
        ..plan
    })
}

/// Finds out before the first iteration whether the agent can be started at all.
pub fn preflight(plan: &RunPlan) -> Result<(), Failure> {
    plan.agents().try_for_each(|agent| {
        let hint = "give --agent-cmd, or `cli:` in the configuration, the path of an executable file";
        preflight_agent(plan, agent, hint)
    })
}

/// The same for a run that goes on, whose agent nobody can name anew.
pub fn preflight_again(plan: &RunPlan) -> Result<(), Failure> {
    plan.agents().try_for_each(|agent| {
        preflight_agent(
            plan,
            agent,
            "put the program back where the run had it, or start anew with `ralph run`",
        )
    })
}

/// Looks at one agent; `hint` says where another program can be named.
fn preflight_agent(plan: &RunPlan, agent: &AgentChoice, hint: &str) -> Result<(), Failure> {
    let job = plan.agent_job(agent, "", &agent.asked(None));
    let (spec, _) = job.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    if spec.program.as_os_str().is_empty() {
        return Err(Failure::usage(format!("the agent {} needs a program", agent.name))
            .hint("name it with --agent-cmd PATH, or as `cli:` of the agent in the configuration"));
    }
    process::locate(&spec).map(drop).map_err(|error| unusable(agent, &error, hint))?;
    budget::can_be_kept(&plan.policy.budget, agent)?;
    if agent.format().is_talk() && plan.project.root.to_str().is_none() {
        return Err(nameless(&plan.project.root));
    }
    match agent.obstacle(rustix::process::geteuid().is_root()) {
        Some(obstacle) => Err(Failure::preflight(obstacle.what).hint(obstacle.hint)),
        None => Ok(()),
    }
}

/// What is talked over is text, and names the folder.
fn nameless(root: &Path) -> Failure {
    let what = format!("the name of the folder {} is not UTF-8 text", root.display());
    Failure::preflight(what)
        .cause("an agent that is talked to by the Agent Client Protocol could not be told where to work")
        .hint("rename the folder, or choose another agent with --agent")
}

fn unusable(agent: &AgentChoice, error: &SpawnError, hint: &str) -> Failure {
    let failure = Failure::new(exit_code::PREFLIGHT, error);
    match error {
        SpawnError::NotFound { program } => not_found(agent, program, hint),
        SpawnError::NotExecutable { program, .. } if program.is_dir() => {
            Failure::preflight(format!("the agent program {} is a folder", program.display())).hint(hint)
        }
        SpawnError::NotExecutable { program, .. } => {
            failure.hint(format!("make it executable: chmod +x {}", program.display()))
        }
        SpawnError::MissingInterpreter { .. } => {
            failure.hint("install the interpreter, or correct the first line of the script")
        }
        SpawnError::WrongFormat { .. } => {
            failure.hint("a script needs a first line such as #!/bin/sh; a binary must fit this machine")
        }
        SpawnError::NoSuchDirectory { .. }
        | SpawnError::ArgumentsTooLong { .. }
        | SpawnError::Keeper { .. }
        | SpawnError::Supervisor { .. }
        | SpawnError::Other { .. } => failure,
    }
}

fn not_found(agent: &AgentChoice, program: &Path, hint: &str) -> Failure {
    let name = program.display();
    if name.to_string().contains('/') {
        return Failure::preflight(format!("the agent program {name} does not exist")).hint(hint);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    Failure::preflight(format!("the agent {name} was not found on PATH"))
        .cause(format!("PATH is {path:?}"))
        .hint(agent.adapter.about().install_hint)
}

/// Runs a plan to its outcome and says what came of it.
pub fn execute(plan: RunPlan, show: Show) -> Result<u8, Failure> {
    with_keeper(|keeper| drive(plan, keeper, show))
}

/// Runs a command that starts agents.
pub fn with_keeper<W: Future<Output = Result<u8, Failure>>>(
    work: impl FnOnce(Keeper) -> W,
) -> Result<u8, Failure> {
    // The keeper must be forked before the first thread exists, and before any lock is taken: it would have it too.
    let keeper = Keeper::start().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    block_on(work(keeper))
}

/// Runs a plan to its outcome with a keeper that is there already.
pub async fn drive(plan: RunPlan, keeper: Keeper, show: Show) -> Result<u8, Failure> {
    let state = plan.project.state();
    let is_introduced = matches!(show, Show::People(_));
    // While SQLite opens its files in a thread of its own, this one does what else must be done. It looks up after each
    // part, because SQLite must be told the next step.
    let meanwhile = async {
        let hold = hold(&plan).await;
        yield_now().await;
        redact::prepare();
        yield_now().await;
        (hold, show.told(plan.policy.max_iterations))
    };
    let (store, (hold, told)) = tokio::join!(Store::open(&state, Opening::Create), meanwhile);
    let (store, hold) = match (store, hold) {
        (Ok(Some(store)), hold) => (store, hold.map_err(|error| taken(&plan, error))?),
        (Ok(None), _) => return Err(Failure::plain(exit_code::INTERNAL, "the database was not created")),
        (Err(error), hold) => {
            hold.into_iter().for_each(|hold| hold.forget(&plan));
            return Err(error.into());
        }
    };
    if is_introduced {
        introduce(&plan);
    } else {
        say_who_forgets(&plan);
    }
    if let Some(code) = own_tree::set_up(&plan, &keeper).await? {
        hold.forget(&plan);
        return Ok(code);
    }
    tell(plan, Beginning::New, means(keeper, hold, store)?, told?).await
}

/// Returns what a run works with that this process drives alone.
pub fn means(keeper: Keeper, hold: Hold, store: Store) -> Result<Means, Failure> {
    let asks = Asks::signals().map_err(|source| EngineError::Signals { source })?;
    Ok(Means { keeper, hold, store: Arc::new(store), asks, account: None })
}

/// Takes the locks of a run.
pub async fn hold(plan: &RunPlan) -> Result<Hold, EngineError> {
    if plan.tree.is_some() {
        return Hold::in_own_tree(plan, Clock::start().now()).await;
    }
    let tree = TreeHold::take(plan, Clock::start().now()).await?;
    yield_now().await;
    Hold::take(plan, tree).await
}

/// Says how `ralph run`, and only that, can work beside others.
fn taken(plan: &RunPlan, error: EngineError) -> Failure {
    let is_taken = matches!(error, EngineError::Lock(LockError::Taken { .. }));
    let failure = Failure::from(error);
    if is_taken && plan.kind == "run" {
        return failure
            .hint("runs that were all started with --parallel work side by side, in the same files");
    }
    failure
}

/// Drives a run to its end before the eyes of a report, and of a session log where it keeps one; says how it ended.
pub async fn tell(plan: RunPlan, from: Beginning, means: Means, told: Told) -> Result<u8, Failure> {
    let id = plan.id.clone();
    let (session, began) = (plan.session.clone(), Instant::now());
    let place = plan.tree.clone();
    let store = Arc::clone(&means.store);
    let ended = match watched(plan, from, means, told.report).await {
        Ok(ended) => ended,
        Err(failure) => {
            abandon(store);
            return Err(failure);
        }
    };
    if told.is_summed_up {
        let row = store.runs_like(&id).await?.into_iter().next();
        let story = Story { proof: Proof::of(&store, &id).await?, session };
        story.summarise(&ended, began.elapsed(), row.as_ref());
    }
    if let Some(place) = &place {
        own_tree::close(place, &store, &id, &ended).await?;
    }
    if let Some(store) = Arc::into_inner(store) {
        store.close().await;
    }
    Ok(ended.exit_code)
}

/// Leaves a database behind that an engine could not go on with.
pub fn abandon(store: Arc<Store>) {
    match Arc::try_unwrap(store) {
        Ok(store) => store.abandon(),
        Err(shared) => std::mem::forget(shared),
    }
}

async fn watched(
    plan: RunPlan,
    from: Beginning,
    means: Means,
    mut report: Elsewhere,
) -> Result<Ended, Failure> {
    let Some(file) = plan.session.clone() else {
        return Ok(engine::run(plan, from, means, &mut report).await?);
    };
    let mut log = SessionLog::new(file, plan.kind, report);
    let ended = engine::run(plan, from, means, &mut log).await.map_err(Failure::from);
    ended.inspect_err(|failure| log.cut_short(&failure.message, failure.exit_code))
}

pub fn introduce(plan: &RunPlan) {
    let paint = Paint::for_stream(&io::stderr());
    out::note(&format!(
        "{} {} · agent {} · promise {} · at most {}",
        paint.paint(Tone::Bold, &format!("ralph {}", plan.kind)),
        short_id(&plan.id),
        plan.agent.name,
        plan.rules.promise.as_str(),
        one_or_many(i64::from(plan.policy.max_iterations), "iteration"),
    ));
    budget::introduce(plan);
    if let Some(means) = plan.agent.means() {
        out::note(&format!("may       {means}"));
    }
    for agent in &plan.fallback {
        out::note(&format!("fallback  {}", agent.name));
    }
    say_who_forgets(plan);
    if let Some(stage) = &plan.stage {
        out::note(&format!("task      {}, {}", stage.task, stage.role));
    }
    if plan.checks.is_empty() {
        out::note("no checks: the claim alone decides, and nothing is verified");
    }
    for check in &plan.checks {
        out::note(&format!("check     {}", check.called()));
    }
    if let Some(place) = &plan.tree {
        out::note(&format!("tree      {}, branch {}", place.tree.path.display(), place.tree.branch()));
    }
}

/// Says which agents start afresh although sessions shall go on.
fn say_who_forgets(plan: &RunPlan) {
    if let Some(note) = plan.forgetful() {
        out::note(&format!("context   {note}"));
    }
}

/// What the end of a run is told with.
pub struct Story {
    pub proof: Proof,
    pub session: Option<SessionFile>,
}

/// What stands behind a completion, as its receipt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    Verified,
    /// Nothing was checked.
    Unchecked,
    /// Whatever was checked came to no more than the agent's own word.
    WordAlone,
}

impl Proof {
    pub async fn of(store: &Store, run: &str) -> Result<Self, Failure> {
        let receipt = store.receipt(run).await?;
        let receipt = receipt.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
        Ok(match receipt.map(|receipt| receipt.told) {
            Some(told) if told.is_verified => Self::Verified,
            Some(told) if !told.checks.is_empty() => Self::WordAlone,
            Some(_) | None => Self::Unchecked,
        })
    }
}

impl Story {
    pub fn summarise(&self, ended: &Ended, took: Duration, row: Option<&RunRow>) {
        let paint = Paint::for_stream(&io::stdout());
        let tone = if ended.outcome == Outcome::Completed { Tone::Good } else { Tone::Bad };
        out::say(&format!(
            "\n{} after {} in {}: {}",
            paint.paint(tone, ended.outcome.as_str()),
            one_or_many(row.map_or(0, |row| row.iterations), "iteration"),
            duration::show(took),
            ended.reason
        ));
        if let Some(row) = row {
            spent(row);
            if ended.outcome == Outcome::Interrupted {
                out::say(&format!("go on     ralph resume {}", short_id(&row.id)));
            }
        }
        if let Some(path) = self.session.as_ref().and_then(SessionFile::path) {
            out::say(&format!("log       {}", path.display()));
        }
        if let Some(caution) = self.caution(ended) {
            out::say(caution);
        }
    }

    /// Says what the outcome alone does not.
    fn caution(&self, ended: &Ended) -> Option<&'static str> {
        match (ended.outcome, ended.exit_code) {
            (Outcome::Completed, _) if self.proof == Proof::Unchecked => {
                Some("unverified: no check was given, so only the agent's word stands behind this")
            }
            (Outcome::Completed, _) if self.proof == Proof::WordAlone => {
                Some("unverified: no check proved more than the agent's own word")
            }
            (Outcome::Exhausted, exit_code::COMPLETED) => Some(
                "not complete: the iterations are used up, which is no error here; --strict makes it one",
            ),
            (_, _) => None,
        }
    }
}

fn spent(row: &RunRow) {
    let tokens = match (row.input_tokens, row.output_tokens) {
        (Some(input), Some(output)) => format!(", {input} tokens in, {output} out"),
        (_, _) => String::new(),
    };
    out::say(&format!("spent     {}{tokens}", money(row.cost_micros)));
    out::say(&format!("details   ralph show {}", short_id(&row.id)));
}
