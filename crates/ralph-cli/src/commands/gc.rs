//! `ralph gc`.
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ralph_core::event::UnixMillis;
use ralph_core::outcome::exit_code;
use ralph_core::retention::{RetentionPolicy, RunLiveness, find_removable_runs};
use ralph_core::task::TaskStatus;
use serde_json::{Value, json};

use super::value_parsers::{parse_duration, parse_kept_runs};
use super::{block_on, out};
use crate::error::CommandError;
use ralph_app::retention::{
    RemovalMode, RetentionError, RunFolders, file_size, remove_notes, remove_old_execution_log, remove_session_logs,
};
use ralph_app::run::is_orphaned;
use ralph_app::view::{format_bytes, pluralize, short_id};
use ralph_engine::execution_log::ExecutionLog;
use ralph_engine::lock::{self, LockSharing, RunOwner};
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, TaskWorktree, WorktreeLayout, WorktreeRemoval};
use ralph_store::{OpenMode, RunActivity, Store};
use ralph_util::session_log_file;

/// Removes the raw logs and the session logs of old runs, and work trees whose work is merged
///
/// The old execution log goes, too. The journal and the notes stay, so that `ralph show` still tells what happened. A run that
/// is going on is never touched, and nothing is that a link leads to. Work trees of tasks that are over, and of runs that have
/// ended, are removed if all in them is committed and merged; branches stay. In runs that stay, logs that a killed ralph left
/// in pieces are put
/// together.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph gc --dry-run
  ralph gc --older-than 7d --keep 20")]
pub struct GcArgs {
    /// Only runs that ended at least so long ago
    #[arg(long, value_name = "TIME", default_value = "30d", allow_hyphen_values = true, value_parser = parse_duration)]
    older_than: Duration,
    /// Spares the newest N runs, however old they are
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = parse_kept_runs)]
    keep: u32,
    /// Forgets these runs for good: journal, results and notes, too
    #[arg(long)]
    all: bool,
    /// Says what would be removed, and removes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints one object: dry_run, freed_bytes, runs, old_execution_log_bytes, joined_logs, trees, failures
    #[arg(long)]
    json: bool,
}

/// What was done, or would be.
#[derive(Default)]
struct GcReport {
    /// Run and bytes.
    runs: Vec<(String, u64)>,
    /// How large the old execution log was that went.
    execution_log_bytes: u64,
    /// How many logs were put together.
    joined_logs: u64,
    /// Work trees.
    worktrees: Vec<PathBuf>,
    failures: Vec<RetentionError>,
}

pub fn run(args: &GcArgs) -> Result<u8, CommandError> {
    block_on(async {
        let project = Project::find_here()?;
        let store = Store::open(&project.state_folder(), OpenMode::Existing).await?;
        let folders = RunFolders::find(&project.state_folder()).map_err(|error| unsafe_state_folder_error(&error))?;
        let mut done = GcReport::default();
        if let Some(store) = store {
            done = GarbageCollector { args, project, store, folders, report: done }.collect_garbage().await?;
        }
        print_report(args, &done);
        match done.failures.first() {
            Some(first) => {
                Err(CommandError::from_error(exit_code::STATE_UNUSABLE, first).with_hint("the other runs were done"))
            }
            None => Ok(0),
        }
    })
}

struct GarbageCollector<'a> {
    args: &'a GcArgs,
    project: Project,
    store: Store,
    folders: RunFolders,
    report: GcReport,
}

impl GarbageCollector<'_> {
    async fn collect_garbage(mut self) -> Result<GcReport, CommandError> {
        let runs = self.store.list_run_activity().await?;
        let lives: Vec<RunLiveness> = runs.iter().map(|run| self.classify_run(run)).collect();
        let younger_than_ms = u64::try_from(self.args.older_than.as_millis()).unwrap_or(u64::MAX);
        let keep = RetentionPolicy { keep_younger_than_ms: younger_than_ms, keep_newest: self.args.keep as usize };
        let old = find_removable_runs(&lives, keep, UnixMillis(jiff::Timestamp::now().as_millisecond()));
        for (place, (run, life)) in runs.iter().zip(lives).enumerate() {
            match life {
                RunLiveness::Running => {}
                RunLiveness::Ended { .. } if old.binary_search(&place).is_ok() => self.remove_run(&run.id).await?,
                RunLiveness::Ended { .. } => self.join_split_logs(&run.id),
            }
        }
        self.remove_old_execution_log();
        self.report.worktrees = self.remove_merged_worktrees().await?;
        Ok(self.report)
    }

    /// The execution log itself stays; it is bounded.
    fn remove_old_execution_log(&mut self) {
        let old = ExecutionLog::new(&self.project.session_logs_folder()).old_path();
        let doing = if self.args.dry_run { RemovalMode::DryRun } else { RemovalMode::Remove };
        match remove_old_execution_log(&old, self.args.older_than, doing) {
            Ok(size) => self.report.execution_log_bytes = size,
            Err(failure) => self.report.failures.push(failure),
        }
    }

    /// Removes the trees that nobody needs any more.
    async fn remove_merged_worktrees(&self) -> Result<Vec<PathBuf>, CommandError> {
        let tasks = self.store.list_tasks().await?;
        let going_on = self.store.unfinished_runs().await?;
        let is_over = |name: &str| match tasks.iter().find(|task| task.id == name) {
            Some(task) => matches!(task.status, TaskStatus::Done | TaskStatus::Cancelled),
            None => !going_on.iter().any(|run| name.ends_with(short_id(&run.id))),
        };
        // Where trees cannot be looked at, none is removed.
        let Ok(site) = WorktreeLayout::for_project(&self.project) else { return Ok(Vec::new()) };
        let over =
            worktree::list_task_worktrees(&site).unwrap_or_default().into_iter().filter(|tree| is_over(&tree.task_id));
        let is_gone = |tree: &TaskWorktree| match self.args.dry_run {
            true => worktree::describe_loss(&site, tree).is_ok_and(|lost| lost.is_none()),
            false => {
                worktree::remove_worktree(&site, &tree.task_id).is_ok_and(|removal| removal == WorktreeRemoval::Removed)
            }
        };
        Ok(over.filter(is_gone).map(|tree| tree.path).collect())
    }

    /// A run that is recorded as going on and that nobody drives has ended without a word. Where somebody removed the lock
    /// under its feet, it is known by its process.
    fn classify_run(&self, run: &RunActivity) -> RunLiveness {
        let driver = || run.owner_json.as_deref().and_then(RunOwner::parse);
        let is_driven = match self.project.run_lock(&run.id).exists() {
            true => !is_orphaned(&self.project, &run.id),
            false => driver().is_some_and(|driver| driver.process.is_alive_here()),
        };
        if is_driven { RunLiveness::Running } else { RunLiveness::Ended { at: run.last_active_at } }
    }

    /// Removes the logs of a run first: a record without logs is what usually remains.
    async fn remove_run(&mut self, run: &str) -> Result<(), CommandError> {
        let size = match self.folders.logs_size(run) {
            Ok(None) if !self.args.all => return Ok(()),
            Ok(size) => size,
            Err(failure) => {
                self.report.failures.push(failure);
                return Ok(());
            }
        };
        let notes = if self.args.all { self.note_paths(run).iter().map(|file| file_size(file)).sum() } else { 0 };
        let sessions: u64 = self.session_log_paths(run).iter().map(|log| file_size(log)).sum();
        if !self.args.dry_run && !self.delete_run(run, size.is_some()).await? {
            return Ok(());
        }
        self.report.runs.push((run.to_owned(), size.unwrap_or(0) + notes + sessions));
        Ok(())
    }

    /// Has the run's lock meanwhile, so that nobody goes on with the run. Tells whether it was removed.
    async fn delete_run(&mut self, run: &str, has_logs: bool) -> Result<bool, CommandError> {
        if has_logs {
            let owner = RunOwner::for_this_process(run, UnixMillis(jiff::Timestamp::now().as_millisecond()));
            let Ok(_held) = lock::take_lock(&self.project.run_lock(run), LockSharing::Exclusive, &owner).await else {
                return Ok(false);
            };
            // The list of the session logs goes with the folder, so it is needed until they are gone.
            let removed =
                remove_session_logs(&self.session_log_paths(run)).and_then(|()| self.folders.remove_run_folder(run));
            if let Err(failure) = removed {
                self.report.failures.push(failure);
                return Ok(false);
            }
        }
        if !self.args.all {
            return Ok(true);
        }
        if let Err(failure) = self.note_paths(run).iter().try_for_each(|file| remove_notes(file)) {
            self.report.failures.push(failure);
            return Ok(false);
        }
        self.store.delete_run(run).await?;
        Ok(true)
    }

    /// Returns what the agents of a run wrote for others.
    fn note_paths(&self, run: &str) -> [PathBuf; 2] {
        [self.project.notes_file(run), self.project.generated_tasks_file(run)]
    }

    fn session_log_paths(&self, run: &str) -> Vec<PathBuf> {
        session_log_file::listed_session_logs(&self.project.session_logs_folder(), &self.project.session_list_file(run))
    }

    fn join_split_logs(&mut self, run: &str) {
        let joined = if self.args.dry_run {
            Ok(self.folders.count_unjoined_tails(run))
        } else {
            self.folders.join_log_tails(run)
        };
        match joined {
            Ok(joined) => self.report.joined_logs += joined,
            Err(failure) => self.report.failures.push(failure),
        }
    }
}

fn print_report(args: &GcArgs, done: &GcReport) {
    let freed = done.runs.iter().map(|(_, size)| size).sum::<u64>() + done.execution_log_bytes;
    if args.json {
        let runs: Vec<Value> = done
            .runs
            .iter()
            .map(|(id, size)| json!({ "id": id, "freed_bytes": size, "forgotten": args.all }))
            .collect();
        let failures: Vec<String> = done.failures.iter().map(ToString::to_string).collect();
        let object = json!({
            "dry_run": args.dry_run,
            "freed_bytes": freed,
            "runs": runs,
            "old_execution_log_bytes": done.execution_log_bytes,
            "joined_logs": done.joined_logs,
            "trees": done.worktrees.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "failures": failures,
        });
        return out::print_line(&object.to_string());
    }
    for (run, size) in &done.runs {
        out::print_line(&format!("{}  {:>9}", short_id(run), format_bytes(*size)));
    }
    if done.execution_log_bytes > 0 {
        let did = if args.dry_run { "would remove" } else { "removed" };
        out::print_line(&format!("{did} the old execution log: {}", format_bytes(done.execution_log_bytes)));
    }
    let did = match (args.all, args.dry_run) {
        (false, false) => "removed the logs of",
        (false, true) => "would remove the logs of",
        (true, false) => "forgot",
        (true, true) => "would forget",
    };
    let count = pluralize(i64::try_from(done.runs.len()).unwrap_or(i64::MAX), "run");
    out::print_line(&format!("{did} {count}: {}", format_bytes(freed)));
    for path in &done.worktrees {
        let did = if args.dry_run { "would remove" } else { "removed" };
        out::print_line(&format!("{did} the work tree {}, whose work is merged", path.display()));
    }
    if done.joined_logs > 0 {
        let put = if args.dry_run { "would put together" } else { "put together" };
        let logs = pluralize(i64::try_from(done.joined_logs).unwrap_or(i64::MAX), "log");
        out::print_line(&format!("{put} {logs} that a killed ralph had left in pieces"));
    }
}

fn unsafe_state_folder_error(error: &RetentionError) -> CommandError {
    CommandError::from_error(exit_code::STATE_UNUSABLE, error)
        .with_hint("nothing was removed; put a folder there, or remove the link")
}
