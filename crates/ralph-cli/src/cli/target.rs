//! Finding the loop that a user means, by its task or by its run, for the commands that control one.
use std::time::Duration;

use ralph_core::event::Millis;
use ralph_core::order::Order;
use ralph_core::outcome::exit_code;
use ralph_core::task::Status;

use super::pick;
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::control::{Driven, Given, driven, give};
use ralph_engine::engine::{Clock, RunSettings};
use ralph_engine::lock::Owner;
use ralph_engine::project::Project;
use ralph_store::{Addressee, LoopRow, OrderAnswer, Settled, Store};
use ralph_util::suggest;

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(25);

/// How long whoever drives a loop may take to answer, beyond what he needs.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What a command was told to control.
pub struct Target {
    pub project: Project,
    pub store: Store,
    pub what: What,
}

pub enum What {
    /// A run, which may have ended.
    Run(Box<LoopRow>),
    Task {
        id: String,
        status: Status,
    },
}

impl Target {
    /// Finds it: an id of a task, else the beginning or the end of an id of a run.
    pub async fn find(id: &str) -> Result<Self, Failure> {
        let project = Project::here()?;
        if id.trim().is_empty() {
            return Err(Failure::usage("the id is empty").hint(LISTS));
        }
        let Some(store) = pick::store().await? else { return Err(unknown(id, &[])) };
        let what = match store.task(id).await? {
            Some(row) => What::Task { id: row.task.id, status: row.task.status },
            None => What::Run(Box::new(run_like(&store, id).await?)),
        };
        Ok(Self { project, store, what })
    }

    /// Returns how people know it.
    pub fn name(&self) -> &str {
        match &self.what {
            What::Run(row) => name(row),
            What::Task { id, .. } => id,
        }
    }

    /// Returns the loop that is recorded as going on now.
    pub async fn current(&self) -> Result<Option<LoopRow>, Failure> {
        match &self.what {
            What::Run(row) => Ok(self.store.loop_of(&row.run.id).await?.filter(is_open)),
            What::Task { id, .. } => {
                let loops = self.store.loops().await?;
                Ok(loops.into_iter().rfind(|row| row.run.task.as_ref() == Some(id)))
            }
        }
    }

    /// Returns the loop that somebody drives now, and who does.
    pub async fn alive(&self) -> Result<Option<(LoopRow, Option<Owner>)>, Failure> {
        let Some(row) = self.current().await? else { return Ok(None) };
        match driven(&self.project, &row) {
            Driven::By(owner) => Ok(Some((row, owner))),
            Driven::Nobody => Ok(None),
        }
    }

    /// Returns who has taken the task and works on it, with or without a loop.
    pub async fn worker(&self) -> Result<Option<Owner>, Failure> {
        let What::Task { id, .. } = &self.what else { return Ok(None) };
        let claim = self.store.task_claim(id).await?;
        let owner = claim.and_then(|(owner, _)| owner).as_deref().and_then(Owner::parse);
        Ok(owner.filter(|owner| !owner.process.is_gone()))
    }

    /// Makes something of a task that nobody works on.
    pub async fn settle(&self, id: &str, settled: Settled) -> Result<(), Failure> {
        let taken = || {
            Failure::plain(exit_code::STATE, format!("somebody has just taken {id}"))
                .hint("`ralph status` says what is going on")
        };
        if self.worker().await?.is_some() {
            return Err(taken());
        }
        let Some((_, fence)) = self.store.task_claim(id).await? else { return Err(unknown(id, &[])) };
        if self.store.settle_task((id, fence), settled, now()).await? { Ok(()) } else { Err(taken()) }
    }

    /// Leaves an order for whoever drives it.
    pub async fn order(&self, order: &Order, owner: Option<&Owner>) -> Result<Given, Failure> {
        let to = match &self.what {
            What::Run(row) => Addressee::Run(&row.run.id),
            What::Task { id, .. } => Addressee::Task(id),
        };
        Ok(give(&self.store, (to, order), now(), owner).await?)
    }

    /// Waits until an order is answered, but not for ever.
    pub async fn answer(&self, id: &str) -> Result<Option<OrderAnswer>, Failure> {
        let answered = async || Ok(self.store.order_answer(id).await?);
        within(PATIENCE, answered).await
    }
}

/// Looks again and again until there is something to see, for so long at most.
pub async fn within<T>(
    time: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>, Failure>,
) -> Result<Option<T>, Failure> {
    let looking = async {
        loop {
            if let Some(seen) = look().await? {
                return Ok(seen);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(time, looking).await.ok().transpose()
}

/// Returns what the clock shows.
pub fn now() -> Millis {
    Clock::wall()
}

/// Returns how people know a loop: by its task, or by its run.
pub fn name(row: &LoopRow) -> &str {
    row.run.task.as_deref().unwrap_or_else(|| short_id(&row.run.id))
}

/// Returns where a loop is: `TASK-001 at iteration 3/15`.
pub fn place(row: &LoopRow) -> String {
    format!("{} at iteration {}/{}", name(row), row.run.iterations, row.run.max_iterations)
}

/// Returns how long the agents of a loop have to leave.
pub fn grace(row: &LoopRow) -> Duration {
    RunSettings::parse(&row.run.settings).map_or(PATIENCE, |settings| settings.grace())
}

/// Whoever drives the loop does not answer.
pub fn silent(row: &LoopRow, owner: Option<&Owner>) -> Failure {
    let who = owner.map_or_else(|| "the ralph that drives it".to_owned(), ToString::to_string);
    let what = format!("the Ralph loop for {} does not answer: {who}", place(row));
    Failure::plain(exit_code::STATE, what).cause("it was told, and has not done it: is it stopped (Ctrl-Z)?")
}

/// Nobody drives what should be told something.
pub fn nobody(name: &str) -> Failure {
    Failure::preflight(format!("nobody works on {name} now"))
}

fn is_open(row: &LoopRow) -> bool {
    row.run.status == "running"
}

async fn run_like(store: &Store, part: &str) -> Result<LoopRow, Failure> {
    let mut found = store.runs_like(part).await?;
    let row = match found.len() {
        1 => store.loop_of(&found.swap_remove(0).id).await?,
        0 => None,
        _ => {
            return Err(Failure::usage(format!("{part:?} means more than one run"))
                .hint("give more characters of the id; `ralph runs --json` has it whole"));
        }
    };
    match row {
        Some(row) => Ok(row),
        None => {
            let tasks = store.tasks().await?;
            Err(unknown(part, &tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()))
        }
    }
}

const LISTS: &str =
    "`ralph status` lists what is going on, `ralph task list` the tasks, `ralph runs` the runs";

fn unknown(id: &str, tasks: &[&str]) -> Failure {
    let failure = Failure::usage(format!("there is no task and no run {id:?} here"));
    match suggest::near(id, tasks) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint(LISTS),
    }
}
