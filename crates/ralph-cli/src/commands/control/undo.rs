//! `ralph undo`.
use clap::Args;
use ralph_app::maintenance::{UndoReport, undo_run};
use ralph_app::view::{pluralize, short_id};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_util::sanitize::escape_hidden;
use serde_json::json;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// Restores the files that a run changed to their state before the run
///
/// Contents, permissions and links are restored exactly. Files that git ignored before the run are not touched, and nested
/// repositories and files over 256 MB are left out. Commits are kept: if the run made commits, the restored files are an
/// uncommitted change. ralph stores the current files first and prints their reference. It changes nothing if one of these
/// files has changed since the run.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// A task id, or the start or end of a run id [default: the only run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Prints one object: run, files, left_out, kept
    #[arg(long)]
    json: bool,
}

pub fn run(args: &UndoArgs) -> Result<u8, CommandError> {
    let undone = block_on(async { Ok(undo_run(&Project::find_here()?, args.run.as_deref()).await?) })?;
    let UndoReport { run_id, files, left_out, backup_ref } = undone;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let left_out: Vec<String> =
        left_out.iter().map(|left| format!("{} ({})", left.path.display(), left.reason)).collect();
    if args.json {
        out::print_line(
            &json!({ "run": run_id, "files": files, "left_out": left_out, "kept": backup_ref }).to_string(),
        );
        return Ok(exit_code::COMPLETED);
    }
    files.iter().for_each(|file| out::print_line(&escape_hidden(file)));
    let count = i64::try_from(files.len()).unwrap_or(i64::MAX);
    out::print_line(&format!("restored {} of run {}", pluralize(count, "file"), short_id(&run_id)));
    left_out.iter().for_each(|left| out::print_line(&format!("left out: {}", escape_hidden(left))));
    out::print_line(&format!("the previous files are stored in {backup_ref}"));
    Ok(exit_code::COMPLETED)
}
