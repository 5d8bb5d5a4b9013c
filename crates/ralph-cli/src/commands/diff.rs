//! `ralph diff`.
use clap::Args;
use ralph_core::outcome::exit_code;

use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use crate::report::{ColorMode, TextStyle};
use ralph_app::run::FoundRun;
use ralph_app::view::short_id;
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunSpec;
use ralph_engine::worktree::{self, RunTrees, WorktreeError, WorktreeLayout};
use ralph_store::RunRow;

/// Shows what a run changed: the files before it, and after it
///
/// Without RUN, the newest. RUN is the beginning or the end of an id. Files that were not committed are shown too, ignored
/// ones are not. What a run changed is known if it had checks or a work tree of its own, for the newest 50 of them.
#[derive(Debug, Args)]
#[command(after_help = "Where a run was cut short, or goes on, its work is compared as it is now.")]
pub struct DiffArgs {
    run: Option<String>,
    /// Shows only which files changed, and how much
    #[arg(long)]
    stat: bool,
}

pub fn run(args: &DiffArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let run = block_on(async {
        let FoundRun { store, run } = run_lookup::find_run(args.run.as_deref()).await?;
        store.close().await;
        Ok(run)
    })?;
    let root = worktree_root(&project, &run)?;
    let span = worktree::read_run_trees(&root, &run.id)?;
    let RunTrees { before, after } = span.ok_or(WorktreeError::NoRunSnapshot { run: short_id(&run.id).to_owned() })?;
    let after = match after {
        Some(after) => after,
        None => {
            out::print_note("the run was cut short or goes on: this is what the files are now");
            git::write_worktree_tree(&root).map_err(WorktreeError::Git)?
        }
    };
    let options: &[&str] = if args.stat { &["--stat=100"] } else { &[] };
    let text = git::render_diff(&root, &before, &after, options).map_err(WorktreeError::Git)?;
    print_diff(&String::from_utf8_lossy(&text), ColorMode::for_stream(&std::io::stdout()));
    Ok(exit_code::COMPLETED)
}

/// Returns the work tree that a run worked in: the user's, or one of its own.
pub fn worktree_root(project: &Project, run: &RunRow) -> Result<std::path::PathBuf, CommandError> {
    let settings = RunSpec::parse(&run.settings).ok();
    let Some(name) = settings.as_ref().and_then(RunSpec::worktree_name) else {
        return Ok(project.root.clone());
    };
    let site = WorktreeLayout::for_project(project)?;
    // The references are the repository's; without its tree, the run can still be looked at.
    Ok(worktree::find_worktree(&site, name)?.map_or_else(|| project.root.clone(), |tree| tree.path))
}

/// Colours are for people; programs get what git said.
fn print_diff(text: &str, colors: ColorMode) {
    match colors {
        ColorMode::Plain => out::print_data(text),
        ColorMode::Colored => text.lines().for_each(|line| out::print_line(&color_line(line, colors))),
    }
}

fn color_line(line: &str, colors: ColorMode) -> String {
    let line = ralph_util::sanitize::escape_hidden(line);
    let tone = match line.as_bytes() {
        [b'+', b'+', ..] | [b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => TextStyle::Bold,
        [b'+', ..] => TextStyle::Good,
        [b'-', ..] => TextStyle::Bad,
        [b'@', ..] => TextStyle::Dim,
        _ => return line,
    };
    colors.style_text(tone, &line)
}
