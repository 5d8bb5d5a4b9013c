//! `ralph undo`.
use clap::Args;
use ralph_core::outcome::exit_code;
use serde_json::json;

use super::around::refuse_recursion;
use super::diff::root_of;
use super::land_turn::alone;
use super::resume::refuse_tracked;
use super::tree_hold::Whose;
use super::{block_on, out, pick};
use crate::error::Failure;
use ralph_app::view::{one_or_many, short_id};
use ralph_engine::engine::RunSettings;
use ralph_engine::project::Project;
use ralph_engine::tree::{self, Undone};
use ralph_store::{RunRow, Store};
use ralph_util::sanitize::visible;

/// Puts the files that a run changed back as they were before it
///
/// Commits stay: where the run made some, the undoing is a change that you can commit. What lay there is kept, under a
/// reference that is printed. Nothing is touched if one of these files has been changed since the run.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The beginning or the end of an id
    run: String,
    /// Prints one object: run, files, kept
    #[arg(long)]
    json: bool,
}

pub fn run(args: &UndoArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    refuse_recursion(&project)?;
    refuse_tracked(&project)?;
    block_on(async {
        let (store, run) = pick::run(Some(&args.run)).await?;
        if run.status == "running" {
            return Err(Failure::preflight(format!("run {} goes on", short_id(&run.id)))
                .hint("stop it first, or wait for its end"));
        }
        let undone = undo(&project, &store, &run).await;
        store.close().await;
        let undone = undone?;
        let files: Vec<String> = undone.files.iter().map(|file| file.display().to_string()).collect();
        if args.json {
            out::line(&json!({ "run": run.id, "files": files, "kept": undone.kept }).to_string());
            return Ok(exit_code::COMPLETED);
        }
        files.iter().for_each(|file| out::line(&visible(file)));
        let count = i64::try_from(files.len()).unwrap_or(i64::MAX);
        out::line(&format!("{} of run {} put back", one_or_many(count, "file"), short_id(&run.id)));
        out::line(&format!("what lay there is kept: {}", undone.kept));
        Ok(exit_code::COMPLETED)
    })
}

/// Undoes it while nobody else works in the files.
async fn undo(project: &Project, store: &Store, run: &RunRow) -> Result<Undone, Failure> {
    let root = root_of(project, run)?;
    let settings = RunSettings::parse(&run.settings).ok();
    let Some(name) = settings.as_ref().and_then(RunSettings::tree) else {
        let _held = alone(project, "lock").await?;
        return Ok(tree::undo(&root, &run.id)?);
    };
    let hold = Whose::find(store, name).await?.hold(store, project).await?;
    let undone = tree::undo(&root, &run.id);
    hold.release(store).await?;
    Ok(undone?)
}
