//! Finding the loop that a user means, by its task or by its run, for the commands that control one.
use std::time::Duration;

use ralph_core::control_command::ControlCommand;
use ralph_core::event::UnixMillis;
use ralph_core::outcome::exit_code;
use ralph_core::task::TaskStatus;

use super::run_lookup;
use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_engine::control::{CommandDelivery, DriverStatus, find_driver, send_command};
use ralph_engine::lock::RunOwner;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, RunSpec};
use ralph_store::{CommandAnswer, CommandTarget, LoopRow, Store, TaskOwnership, TaskSettlement};
use ralph_util::suggest;

/// How often it is looked whether something has happened.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// How long whoever drives a loop may take to answer, beyond what he needs.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// What a command was told to control.
pub struct LoopTarget {
    pub project: Project,
    pub store: Store,
    pub kind: LoopTargetKind,
}

pub enum LoopTargetKind {
    /// A run, which may have ended.
    Run(Box<LoopRow>),
    Task {
        id: String,
        status: TaskStatus,
    },
}

impl LoopTarget {
    /// Finds it: an id of a task, else the beginning or the end of an id of a run.
    pub async fn find(id: &str) -> Result<Self, CommandError> {
        let project = Project::find_here()?;
        if id.trim().is_empty() {
            return Err(CommandError::usage_error("the id is empty").with_hint(LIST_COMMANDS_HINT));
        }
        let Some(store) = run_lookup::open_existing_store().await? else {
            return Err(unknown_target_error(id, &[]));
        };
        let what = match store.get_task(id).await? {
            Some(row) => LoopTargetKind::Task { id: row.task.id, status: row.task.status },
            None => LoopTargetKind::Run(Box::new(find_run_by_part(&store, id).await?)),
        };
        Ok(Self { project, store, kind: what })
    }

    /// Returns how people know it.
    pub fn name(&self) -> &str {
        match &self.kind {
            LoopTargetKind::Run(row) => loop_name(row),
            LoopTargetKind::Task { id, .. } => id,
        }
    }

    /// Returns the loop that is recorded as going on now.
    pub async fn find_open_loop(&self) -> Result<Option<LoopRow>, CommandError> {
        match &self.kind {
            LoopTargetKind::Run(row) => Ok(self.store.loop_of_run(&row.run.id).await?.filter(is_running)),
            LoopTargetKind::Task { id, .. } => {
                let loops = self.store.running_loops().await?;
                Ok(loops.into_iter().rfind(|row| row.run.task.as_ref() == Some(id)))
            }
        }
    }

    /// Returns the loop that somebody drives now, and who does.
    pub async fn find_driven_loop(&self) -> Result<Option<(LoopRow, Option<RunOwner>)>, CommandError> {
        let Some(row) = self.find_open_loop().await? else { return Ok(None) };
        match find_driver(&self.project, &row) {
            DriverStatus::Driven(owner) => Ok(Some((row, owner))),
            DriverStatus::NotDriven => Ok(None),
        }
    }

    /// Returns who has taken the task and works on it, with or without a loop.
    pub async fn find_worker(&self) -> Result<Option<RunOwner>, CommandError> {
        let LoopTargetKind::Task { id, .. } = &self.kind else { return Ok(None) };
        let claim = self.store.task_ownership(id).await?;
        let owner = claim.and_then(|task| task.owner_json).as_deref().and_then(RunOwner::parse);
        Ok(owner.filter(|owner| !owner.process.has_exited_here()))
    }

    /// Makes something of a task that nobody works on.
    pub async fn settle_task(&self, id: &str, settled: TaskSettlement) -> Result<(), CommandError> {
        let taken = || {
            CommandError::from_message(exit_code::STATE_UNUSABLE, format!("somebody has just taken {id}"))
                .with_hint("`ralph status` says what is going on")
        };
        if self.find_worker().await?.is_some() {
            return Err(taken());
        }
        let Some(TaskOwnership { fence, .. }) = self.store.task_ownership(id).await? else {
            return Err(unknown_target_error(id, &[]));
        };
        if self.store.settle_task(id, fence, settled, current_time()).await? { Ok(()) } else { Err(taken()) }
    }

    /// Leaves an order for whoever drives it.
    pub async fn send_command(
        &self,
        order: &ControlCommand,
        owner: Option<&RunOwner>,
    ) -> Result<CommandDelivery, CommandError> {
        let to = match &self.kind {
            LoopTargetKind::Run(row) => CommandTarget::Run(&row.run.id),
            LoopTargetKind::Task { id, .. } => CommandTarget::Task(id),
        };
        Ok(send_command(&self.store, to, order, current_time(), owner).await?)
    }

    /// Waits until an order is answered, but not for ever.
    pub async fn wait_for_answer(&self, id: &str) -> Result<Option<CommandAnswer>, CommandError> {
        let answered = async || Ok(self.store.command_answer(id).await?);
        poll_with_timeout(ANSWER_TIMEOUT, answered).await
    }
}

/// Looks again and again until there is something to see, for so long at most.
pub async fn poll_with_timeout<T>(
    time: Duration,
    mut poll: impl AsyncFnMut() -> Result<Option<T>, CommandError>,
) -> Result<Option<T>, CommandError> {
    let looking = async {
        loop {
            if let Some(seen) = poll().await? {
                return Ok(seen);
            }
            tokio::time::sleep(ANSWER_POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(time, looking).await.ok().transpose()
}

/// Returns what the clock shows.
pub fn current_time() -> UnixMillis {
    Clock::wall_now()
}

/// Returns how people know a loop: by its task, or by its run.
pub fn loop_name(row: &LoopRow) -> &str {
    row.run.task.as_deref().unwrap_or_else(|| short_id(&row.run.id))
}

/// Returns where a loop is: `TASK-001 at iteration 3/15`.
pub fn describe_loop(row: &LoopRow) -> String {
    format!("{} at iteration {}/{}", loop_name(row), row.run.iterations, row.run.max_iterations)
}

/// Returns how long the agents of a loop have to leave.
pub fn grace_period(row: &LoopRow) -> Duration {
    RunSpec::parse(&row.run.settings).map_or(ANSWER_TIMEOUT, |settings| settings.stop_grace())
}

/// Whoever drives the loop does not answer.
pub fn unresponsive_error(row: &LoopRow, owner: Option<&RunOwner>) -> CommandError {
    let who = owner.map_or_else(|| "the ralph that drives it".to_owned(), ToString::to_string);
    let what = format!("the Ralph loop for {} does not answer: {who}", describe_loop(row));
    CommandError::from_message(exit_code::STATE_UNUSABLE, what)
        .with_cause("it was told, and has not done it: is it stopped (Ctrl-Z)?")
}

/// Nobody drives what should be told something.
pub fn not_running_error(name: &str) -> CommandError {
    CommandError::preflight_error(format!("nobody works on {name} now"))
}

fn is_running(row: &LoopRow) -> bool {
    row.run.status == "running"
}

async fn find_run_by_part(store: &Store, part: &str) -> Result<LoopRow, CommandError> {
    let mut found = store.find_runs_by_id_part(part).await?;
    let row = match found.len() {
        1 => store.loop_of_run(&found.swap_remove(0).id).await?,
        0 => None,
        _ => {
            return Err(CommandError::usage_error(format!("{part:?} means more than one run"))
                .with_hint("give more characters of the id; `ralph runs --json` has it whole"));
        }
    };
    match row {
        Some(row) => Ok(row),
        None => {
            let tasks = store.list_tasks().await?;
            Err(unknown_target_error(part, &tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>()))
        }
    }
}

const LIST_COMMANDS_HINT: &str =
    "`ralph status` lists what is going on, `ralph task list` the tasks, `ralph runs` the runs";

fn unknown_target_error(id: &str, tasks: &[&str]) -> CommandError {
    let failure = CommandError::usage_error(format!("there is no task and no run {id:?} here"));
    match suggest::nearest_name(id, tasks) {
        Some(near) => failure.with_hint(format!("did you mean {near}?")),
        None => failure.with_hint(LIST_COMMANDS_HINT),
    }
}
