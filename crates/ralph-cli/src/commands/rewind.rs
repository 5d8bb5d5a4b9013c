//! `ralph rewind`.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::pipeline::TaskProgress;
use ralph_core::task::{Role, TaskStatus};
use serde_json::json;

use super::interaction::TerminalInteraction;
use super::resume::refuse_tracked_state;
use super::task::open_task_store;
use super::{block_on, out};
use crate::error::CommandError;
use ralph_app::control::{end_orphaned_run, find_resumable_run};
use ralph_app::run::refuse_recursion;
use ralph_app::worktrees::{WorktreeOwner, WorktreeReservation};
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_engine::worktree::{
    self, AttemptSnapshot, RewindResult, SnapshotKey, TaskWorktree, WorktreeError, WorktreeLayout,
};
use ralph_store::{Store, TaskLease, TaskListItem};

/// Puts the work tree of a task back to what it held after an earlier attempt
///
/// Without an iteration, lists the attempts. HEAD and files go back; what was not committed then is not committed again.
/// What the tree holds now is kept first, under a reference that is printed. Files that git ignores stay as they are.
/// The task goes back too: `ralph work` goes on with that stage.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph rewind TASK-001                  lists the attempts that are kept
  ralph rewind TASK-001 2                the last attempt of iteration 2 of the newest stage
  ralph rewind TASK-001 coder 2")]
pub struct RewindArgs {
    task: String,
    /// The stage (the newest one unless you say), and the iteration
    #[arg(value_name = "[STAGE] ITERATION", num_args = 0..=2)]
    to: Vec<String>,
    /// Of a stage that was gone through several times, an earlier round, as the list names it
    #[arg(long, value_name = "N", requires = "to")]
    earlier: Option<u32>,
    /// Prints one object a line: task, stage, iteration, attempt, earlier, commit, at; after rewinding also kept
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RewindArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let target = args.parse_target()?;
    let site = WorktreeLayout::for_project(&project)?;
    let all = worktree::list_snapshots(&site, &args.task)?;
    let Some(target) = target else {
        if all.is_empty() {
            block_on(refuse_unknown_name(&args.task))?;
        }
        return list_snapshots(args, &all);
    };
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    block_on(async {
        let store = open_task_store().await?;
        let gone = rewind_worktree(args, (&project, &store), (&site, &target, &all)).await;
        store.close().await;
        gone
    })
}

/// Refuses a name that means nothing here.
async fn refuse_unknown_name(name: &str) -> Result<(), CommandError> {
    let store = open_task_store().await?;
    let found = WorktreeOwner::find(&store, name).await;
    store.close().await;
    Ok(found.map(drop)?)
}

async fn rewind_worktree(
    args: &RewindArgs,
    (project, store): (&Project, &Store),
    (site, target, all): (&WorktreeLayout, &RewindTarget, &[AttemptSnapshot]),
) -> Result<u8, CommandError> {
    let name = &args.task;
    let owner = WorktreeOwner::find(store, name).await?;
    refuse_closed_task(&owner)?;
    let reservation = owner.reserve_worktree(store, project).await?;
    let gone = rewind_while_reserved((project, store), (&owner, &reservation), (site, target, all)).await;
    reservation.release(store).await?;
    let (tree, to, rewound) = gone?;
    print_rewind(args, &tree, to, &rewound);
    Ok(exit_code::COMPLETED)
}

/// Goes back while everybody else is kept away.
async fn rewind_while_reserved<'a>(
    (project, store): (&Project, &Store),
    (owner, reservation): (&WorktreeOwner, &WorktreeReservation),
    (site, target, all): (&WorktreeLayout, &RewindTarget, &'a [AttemptSnapshot]),
) -> Result<(TaskWorktree, &'a AttemptSnapshot, RewindResult), CommandError> {
    let name = owner.tree_name();
    let tree = worktree::find_worktree(site, &name)?.ok_or_else(|| WorktreeError::NoWorktree { name: name.clone() })?;
    let to = target
        .select_snapshot(all)
        .ok_or_else(|| WorktreeError::NoSnapshot { name: name.clone(), wanted: target.describe_target() })?;
    let (WorktreeOwner::Task(head), WorktreeReservation::Task(claim)) = (owner, reservation) else {
        let rewound = worktree::rewind_worktree(site, &tree, to)?;
        return Ok((tree, to, rewound));
    };
    let stage = Role::parse(&to.key.stage).map_err(CommandError::usage_error)?;
    let before = SavedTaskProgress::load(store, head).await?;
    before.restart_from_stage(store, claim, stage).await?;
    // What could still be gone on with would be what comes after the snapshot.
    if let Some(row) = find_resumable_run(store, &name).await? {
        end_orphaned_run(project, store, &row, &TerminalInteraction).await?;
    }
    let rewound = worktree::rewind_worktree(site, &tree, to);
    if rewound.is_err() {
        before.restore_progress(store, claim).await?;
    }
    Ok((tree, to, rewound?))
}

/// How far the work on a task was.
struct SavedTaskProgress {
    progress: Option<TaskProgress>,
    status: TaskStatus,
}

impl SavedTaskProgress {
    async fn load(store: &Store, head: &TaskListItem) -> Result<Self, CommandError> {
        Ok(Self { progress: store.task_progress(&head.id).await?, status: head.status })
    }

    /// Lets the stage be the next one. It is stored before anything is touched: whoever comes after a crash does too much of
    /// the work again, and never too little.
    async fn restart_from_stage(&self, store: &Store, claim: &TaskLease, stage: Role) -> Result<(), CommandError> {
        let status = match self.status {
            TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => {
                TaskStatus::while_in_role(&stage).unwrap_or(self.status)
            }
            TaskStatus::Todo | TaskStatus::Blocked | TaskStatus::Done | TaskStatus::Cancelled => self.status,
        };
        let progress = self.progress.clone().map(|progress| progress.rewind_to(stage));
        Ok(store.rewind_task(claim, (progress.as_ref(), status), Clock::wall_now()).await?)
    }

    async fn restore_progress(&self, store: &Store, claim: &TaskLease) -> Result<(), CommandError> {
        Ok(store.rewind_task(claim, (self.progress.as_ref(), self.status), Clock::wall_now()).await?)
    }
}

/// The iteration that is asked for.
struct RewindTarget {
    stage: Option<String>,
    iteration: u32,
    earlier: Option<u32>,
}

impl RewindTarget {
    /// Returns its last attempt. Without a stage the newest one is meant.
    fn select_snapshot<'a>(&self, all: &'a [AttemptSnapshot]) -> Option<&'a AttemptSnapshot> {
        let stage = self.stage.as_ref().or(all.last().map(|newest| &newest.key.stage))?;
        let is_meant = |one: &&AttemptSnapshot| {
            let SnapshotKey { stage: of, iteration, .. } = &one.key;
            of == stage && *iteration == self.iteration && one.earlier_round == self.earlier
        };
        let of_it = all.iter().filter(is_meant);
        of_it.max_by_key(|one| one.key.attempt)
    }

    fn describe_target(&self) -> String {
        match &self.stage {
            Some(stage) => format!("of iteration {} of {stage}", self.iteration),
            None => format!("of iteration {}", self.iteration),
        }
    }
}

impl RewindArgs {
    fn parse_target(&self) -> Result<Option<RewindTarget>, CommandError> {
        let (stage, iteration) = match self.to.as_slice() {
            [] => return Ok(None),
            [iteration] => (None, iteration),
            [stage, iteration, ..] => (Some(stage), iteration),
        };
        let stage = stage.map(|stage| Role::parse(stage).map_err(CommandError::usage_error)).transpose()?;
        let number = iteration.parse().ok().filter(|number| *number > 0);
        let iteration = number.ok_or_else(|| {
            CommandError::usage_error(format!("{iteration:?} is no iteration"))
                .with_hint("iterations are counted from 1, and come last: ralph rewind TASK-001 coder 2")
        })?;
        Ok(Some(RewindTarget { stage: stage.map(|role| role.to_string()), iteration, earlier: self.earlier }))
    }
}

/// Refuses a task that is over: its work may be landed already.
fn refuse_closed_task(owner: &WorktreeOwner) -> Result<(), CommandError> {
    let WorktreeOwner::Task(head) = owner else { return Ok(()) };
    if let TaskStatus::Done | TaskStatus::Cancelled = head.status {
        let id = &head.id;
        return Err(CommandError::preflight_error(format!("task {id} is {}", head.status.as_str()))
            .with_hint(format!("open it again first: ralph task edit {id} --status todo")));
    }
    Ok(())
}

fn list_snapshots(args: &RewindArgs, all: &[AttemptSnapshot]) -> Result<u8, CommandError> {
    if all.is_empty() {
        out::print_note(&format!("no attempt of {} is kept", args.task));
    }
    for one in all {
        if args.json {
            out::print_line(&args.snapshot_json(one).to_string());
        } else {
            let mark = &one.key;
            let (short, at) = (one.commit.get(..12).unwrap_or(&one.commit), snapshot_time(one));
            let earlier = one.earlier_round.map_or_else(String::new, |number| format!("  --earlier {number}"));
            out::print_line(&format!(
                "{:<10} {:>4} {:>3}  {short}  {at}{earlier}",
                mark.stage, mark.iteration, mark.attempt
            ));
        }
    }
    Ok(exit_code::COMPLETED)
}

fn snapshot_time(one: &AttemptSnapshot) -> String {
    jiff::Timestamp::from_second(one.taken_at).map(|at| at.to_string()).unwrap_or_default()
}

impl RewindArgs {
    fn snapshot_json(&self, one: &AttemptSnapshot) -> serde_json::Value {
        let mark = &one.key;
        json!({
            "task": self.task,
            "stage": mark.stage,
            "iteration": mark.iteration,
            "attempt": mark.attempt,
            "earlier": one.earlier_round,
            "commit": one.commit,
            "at": snapshot_time(one),
        })
    }
}

fn print_rewind(args: &RewindArgs, tree: &TaskWorktree, to: &AttemptSnapshot, rewound: &RewindResult) {
    if args.json {
        let mut object = args.snapshot_json(to);
        if let Some(fields) = object.as_object_mut() {
            fields.insert("kept".to_owned(), rewound.backup_ref.clone().into());
        }
        out::print_line(&object.to_string());
        return;
    }
    let mark = &to.key;
    out::print_line(&format!(
        "{} holds what it held after attempt {} of iteration {} of {}",
        tree.path.display(),
        mark.attempt,
        mark.iteration,
        mark.stage
    ));
    out::print_line(&format!("what lay there is kept: {}", rewound.backup_ref));
    if let Some(accepted) = &rewound.accepted_backup_ref {
        out::print_line(&format!("what was accepted after that is kept too: {accepted}"));
    }
}
