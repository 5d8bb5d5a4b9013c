//! `ralph gc`.
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ralph_core::event::Millis;
use ralph_core::outcome::exit_code;
use ralph_core::retention::{Life, Retention, removable};
use ralph_core::task::Status;
use serde_json::{Value, json};

use super::pick::is_cut_short;
use super::values::{spared_runs, time};
use super::{block_on, out};
use crate::error::Failure;
use ralph_app::retention::{
    Doing, RetentionError, RunFolders, file_size, remove_notes, remove_old_log, remove_session_logs,
};
use ralph_app::view::{bytes, one_or_many, short_id};
use ralph_engine::execution_log::ExecutionLog;
use ralph_engine::lock::{self, Owner, Sharing};
use ralph_engine::project::Project;
use ralph_engine::tree::{self, Removal, Site, Tree};
use ralph_store::{LastSeen, Opening, Store};
use ralph_util::session_file;

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
    #[arg(long, value_name = "TIME", default_value = "30d", allow_hyphen_values = true, value_parser = time)]
    older_than: Duration,
    /// Spares the newest N runs, however old they are
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = spared_runs)]
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
struct Done {
    /// Run and bytes.
    runs: Vec<(String, u64)>,
    /// How large the old execution log was that went.
    executions: u64,
    /// How many logs were put together.
    joined: u64,
    /// Work trees.
    trees: Vec<PathBuf>,
    failures: Vec<RetentionError>,
}

pub fn run(args: &GcArgs) -> Result<u8, Failure> {
    block_on(async {
        let project = Project::here()?;
        let store = Store::open(&project.state(), Opening::Existing).await?;
        let folders = RunFolders::find(&project.state()).map_err(|error| unsafe_place(&error))?;
        let mut done = Done::default();
        if let Some(store) = store {
            done = Collector { args, project, store, folders, done }.collect().await?;
        }
        report(args, &done);
        match done.failures.first() {
            Some(first) => Err(Failure::new(exit_code::STATE, first).hint("the other runs were done")),
            None => Ok(0),
        }
    })
}

struct Collector<'a> {
    args: &'a GcArgs,
    project: Project,
    store: Store,
    folders: RunFolders,
    done: Done,
}

impl Collector<'_> {
    async fn collect(mut self) -> Result<Done, Failure> {
        let runs = self.store.last_seen().await?;
        let lives: Vec<Life> = runs.iter().map(|run| self.life(run)).collect();
        let younger_than_ms = u64::try_from(self.args.older_than.as_millis()).unwrap_or(u64::MAX);
        let keep = Retention { younger_than_ms, newest: self.args.keep as usize };
        let old = removable(&lives, keep, Millis(jiff::Timestamp::now().as_millisecond()));
        for (place, (run, life)) in runs.iter().zip(lives).enumerate() {
            match life {
                Life::Running => {}
                Life::Ended { .. } if old.binary_search(&place).is_ok() => self.remove(&run.id).await?,
                Life::Ended { .. } => self.tidy(&run.id),
            }
        }
        self.old_executions();
        self.done.trees = self.merged_trees().await?;
        Ok(self.done)
    }

    /// The execution log itself stays; it is bounded.
    fn old_executions(&mut self) {
        let old = ExecutionLog::new(&self.project.session_logs()).old_path();
        let doing = if self.args.dry_run { Doing::DryRun } else { Doing::Really };
        match remove_old_log(&old, self.args.older_than, doing) {
            Ok(size) => self.done.executions = size,
            Err(failure) => self.done.failures.push(failure),
        }
    }

    /// Removes the trees that nobody needs any more.
    async fn merged_trees(&self) -> Result<Vec<PathBuf>, Failure> {
        let tasks = self.store.tasks().await?;
        let going_on = self.store.recorded_as_running().await?;
        let is_over = |name: &str| match tasks.iter().find(|task| task.id == name) {
            Some(task) => matches!(task.status, Status::Done | Status::Cancelled),
            None => !going_on.iter().any(|run| name.ends_with(short_id(&run.id))),
        };
        // Where trees cannot be looked at, none is removed.
        let Ok(site) = Site::of(&self.project) else { return Ok(Vec::new()) };
        let over = tree::all(&site).unwrap_or_default().into_iter().filter(|tree| is_over(&tree.name));
        let is_gone = |tree: &Tree| match self.args.dry_run {
            true => tree::would_lose(&site, tree).is_ok_and(|lost| lost.is_none()),
            false => tree::remove(&site, &tree.name).is_ok_and(|removal| removal == Removal::Removed),
        };
        Ok(over.filter(is_gone).map(|tree| tree.path).collect())
    }

    /// A run that is recorded as going on and that nobody drives has ended without a word. Where somebody removed the lock
    /// under its feet, it is known by its process.
    fn life(&self, run: &LastSeen) -> Life {
        let driver = || run.driver.as_deref().and_then(Owner::parse);
        let is_driven = match self.project.run_lock(&run.id).exists() {
            true => !is_cut_short(&self.project, &run.id),
            false => driver().is_some_and(|driver| driver.process.lives_here()),
        };
        if is_driven { Life::Running } else { Life::Ended { at: run.at } }
    }

    /// Removes the logs of a run first: a record without logs is what usually remains.
    async fn remove(&mut self, run: &str) -> Result<(), Failure> {
        let size = match self.folders.size(run) {
            Ok(None) if !self.args.all => return Ok(()),
            Ok(size) => size,
            Err(failure) => {
                self.done.failures.push(failure);
                return Ok(());
            }
        };
        let notes = if self.args.all { self.notes(run).iter().map(|file| file_size(file)).sum() } else { 0 };
        let sessions: u64 = self.session_logs(run).iter().map(|log| file_size(log)).sum();
        if !self.args.dry_run && !self.really_remove(run, size.is_some()).await? {
            return Ok(());
        }
        self.done.runs.push((run.to_owned(), size.unwrap_or(0) + notes + sessions));
        Ok(())
    }

    /// Has the run's lock meanwhile, so that nobody goes on with the run. Tells whether it was removed.
    async fn really_remove(&mut self, run: &str, has_logs: bool) -> Result<bool, Failure> {
        if has_logs {
            let owner = Owner::of(run, Millis(jiff::Timestamp::now().as_millisecond()));
            let Ok(_held) = lock::take(&self.project.run_lock(run), Sharing::Alone, &owner).await else {
                return Ok(false);
            };
            // The list of the session logs goes with the folder, so it is needed until they are gone.
            let removed =
                remove_session_logs(&self.session_logs(run)).and_then(|()| self.folders.remove(run));
            if let Err(failure) = removed {
                self.done.failures.push(failure);
                return Ok(false);
            }
        }
        if !self.args.all {
            return Ok(true);
        }
        if let Err(failure) = self.notes(run).iter().try_for_each(|file| remove_notes(file)) {
            self.done.failures.push(failure);
            return Ok(false);
        }
        self.store.forget(run).await?;
        Ok(true)
    }

    /// Returns what the agents of a run wrote for others.
    fn notes(&self, run: &str) -> [PathBuf; 2] {
        [self.project.notes(run), self.project.answer(run)]
    }

    fn session_logs(&self, run: &str) -> Vec<PathBuf> {
        session_file::logs_of(&self.project.session_logs(), &self.project.session_list(run))
    }

    fn tidy(&mut self, run: &str) {
        let joined =
            if self.args.dry_run { Ok(self.folders.ends_to_join(run)) } else { self.folders.join_ends(run) };
        match joined {
            Ok(joined) => self.done.joined += joined,
            Err(failure) => self.done.failures.push(failure),
        }
    }
}

fn report(args: &GcArgs, done: &Done) {
    let freed = done.runs.iter().map(|(_, size)| size).sum::<u64>() + done.executions;
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
            "old_execution_log_bytes": done.executions,
            "joined_logs": done.joined,
            "trees": done.trees.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "failures": failures,
        });
        return out::line(&object.to_string());
    }
    for (run, size) in &done.runs {
        out::line(&format!("{}  {:>9}", short_id(run), bytes(*size)));
    }
    if done.executions > 0 {
        let did = if args.dry_run { "would remove" } else { "removed" };
        out::line(&format!("{did} the old execution log: {}", bytes(done.executions)));
    }
    let did = match (args.all, args.dry_run) {
        (false, false) => "removed the logs of",
        (false, true) => "would remove the logs of",
        (true, false) => "forgot",
        (true, true) => "would forget",
    };
    let count = one_or_many(i64::try_from(done.runs.len()).unwrap_or(i64::MAX), "run");
    out::line(&format!("{did} {count}: {}", bytes(freed)));
    for path in &done.trees {
        let did = if args.dry_run { "would remove" } else { "removed" };
        out::line(&format!("{did} the work tree {}, whose work is merged", path.display()));
    }
    if done.joined > 0 {
        let put = if args.dry_run { "would put together" } else { "put together" };
        let logs = one_or_many(i64::try_from(done.joined).unwrap_or(i64::MAX), "log");
        out::line(&format!("{put} {logs} that a killed ralph had left in pieces"));
    }
}

fn unsafe_place(error: &RetentionError) -> Failure {
    Failure::new(exit_code::STATE, error).hint("nothing was removed; put a folder there, or remove the link")
}
