//! `ralph gc`.
use std::time::Duration;

use clap::Args;
use ralph_core::event::Millis;
use ralph_core::outcome::exit_code;
use ralph_core::retention::{Life, Retention, removable};
use serde_json::{Value, json};

use super::values::time;
use super::{block_on, out};
use crate::error::Failure;
use crate::project::Project;
use crate::retention::{RetentionError, RunFolders};
use crate::store::{Opening, Store};
use crate::view::{bytes, one_or_many, short_id};

/// Removes the raw logs of old runs
///
/// The journal stays, so that `ralph show` still tells what happened. A run that is going on is never touched, and
/// nothing outside of the project's state is. Unfinished ends of logs that a killed ralph left in runs that have ended
/// go as well.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph gc --dry-run
  ralph gc --older-than 7d --keep 20")]
pub struct GcArgs {
    /// Only runs that ended at least so long ago
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = time)]
    older_than: Duration,
    /// Spares the newest N runs, however old they are
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep: usize,
    /// Forgets these runs for good: journal and results, too
    #[arg(long)]
    all: bool,
    /// Says what would be removed, and removes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints one object: dry_run, freed_bytes, runs, failures
    #[arg(long)]
    json: bool,
}

/// What was done, or would be.
#[derive(Default)]
struct Done {
    /// Run and bytes.
    runs: Vec<(String, u64)>,
    leftovers: u64,
    failures: Vec<RetentionError>,
}

pub fn run(args: &GcArgs) -> Result<u8, Failure> {
    block_on(async {
        let project = Project::here()?;
        let store = Store::open(&project.state(), Opening::Existing).await?;
        let folders = RunFolders::find(&project.state()).map_err(|error| unsafe_place(&error))?;
        let mut done = Done::default();
        if let (Some(store), Some(folders)) = (&store, &folders) {
            done = collect(args, store, folders).await?;
        }
        report(args, &done);
        match done.failures.first() {
            Some(first) => Err(Failure::new(exit_code::STATE, first).hint("the other runs were done")),
            None => Ok(0),
        }
    })
}

async fn collect(args: &GcArgs, store: &Store, folders: &RunFolders) -> Result<Done, Failure> {
    let runs = store.lives().await?;
    let lives: Vec<Life> = runs.iter().map(|(_, life)| *life).collect();
    let younger_than_ms = u64::try_from(args.older_than.as_millis()).unwrap_or(u64::MAX);
    let now = Millis(jiff::Timestamp::now().as_millisecond());
    let old = removable(&lives, Retention { younger_than_ms, newest: args.keep }, now);
    let mut done = Done::default();
    for (place, (run, life)) in runs.iter().enumerate() {
        let outcome = if old.binary_search(&place).is_ok() {
            remove(args, (store, folders), run, &mut done).await
        } else if let Life::Ended { .. } = life {
            tidy(args, folders, run, &mut done);
            Ok(())
        } else {
            Ok(())
        };
        outcome?;
    }
    Ok(done)
}

/// Removes the logs of a run first: a row without logs is what usually remains.
async fn remove(
    args: &GcArgs,
    (store, folders): (&Store, &RunFolders),
    run: &str,
    done: &mut Done,
) -> Result<(), Failure> {
    let removed = folders.size(run).and_then(|size| match size {
        Some(_) if !args.dry_run => folders.remove(run).map(|()| size),
        Some(_) | None => Ok(size),
    });
    match removed {
        Err(failure) => done.failures.push(failure),
        Ok(None) if !args.all => {}
        Ok(size) => {
            if args.all && !args.dry_run {
                store.forget(run).await?;
            }
            done.runs.push((run.to_owned(), size.unwrap_or(0)));
        }
    }
    Ok(())
}

fn tidy(args: &GcArgs, folders: &RunFolders, run: &str, done: &mut Done) {
    let freed = if args.dry_run { Ok(folders.leftovers_size(run)) } else { folders.remove_leftovers(run) };
    match freed {
        Ok(freed) => done.leftovers += freed,
        Err(failure) => done.failures.push(failure),
    }
}

fn report(args: &GcArgs, done: &Done) {
    let freed = done.runs.iter().map(|(_, size)| size).sum::<u64>() + done.leftovers;
    if args.json {
        let runs: Vec<Value> = done
            .runs
            .iter()
            .map(|(id, size)| json!({ "id": id, "freed_bytes": size, "forgotten": args.all }))
            .collect();
        let failures: Vec<String> = done.failures.iter().map(ToString::to_string).collect();
        let object =
            json!({ "dry_run": args.dry_run, "freed_bytes": freed, "runs": runs, "failures": failures });
        return out::line(&object.to_string());
    }
    for (run, size) in &done.runs {
        out::line(&format!("{}  {:>9}", short_id(run), bytes(*size)));
    }
    let did = match (args.all, args.dry_run) {
        (false, false) => "removed the logs of",
        (false, true) => "would remove the logs of",
        (true, false) => "forgot",
        (true, true) => "would forget",
    };
    let count = one_or_many(i64::try_from(done.runs.len()).unwrap_or(i64::MAX), "run");
    out::line(&format!("{did} {count}: {}", bytes(freed)));
}

fn unsafe_place(error: &RetentionError) -> Failure {
    Failure::new(exit_code::STATE, error).hint("nothing was removed; put a folder there, or remove the link")
}
