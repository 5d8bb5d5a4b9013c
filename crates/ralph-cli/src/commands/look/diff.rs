//! `ralph diff`: shows the file changes of a run or task.
use clap::Args;
use ralph_app::maintenance::{DiffDetail, DiffEnd, diff_run, diff_stored_iteration};
use ralph_app::view::short_id;
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;

use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::{ColorMode, TextStyle};

/// Shows the file changes of a run, or of all runs of a task
///
/// Includes uncommitted files, but not ignored ones. ralph keeps the changes of the newest 50 runs that had checks or a
/// separate work tree.
#[derive(Debug, Args)]
#[command(after_help = "If the run is active or was interrupted, ralph compares with the current files.")]
pub struct DiffArgs {
    /// Beginning or end of a run id, or a task id [default: the newest run]
    #[arg(value_name = "RUN|TASK")]
    run: Option<String>,
    /// Shows only which files changed, and by how many lines
    #[arg(long)]
    stat: bool,
    /// Shows the changes of one iteration of a run in a separate work tree, such as a stage of a task
    #[arg(long, value_name = "N", requires = "run", value_parser = clap::value_parser!(u32).range(1..))]
    iteration: Option<u32>,
}

pub fn run(args: &DiffArgs) -> Result<u8, CommandError> {
    let detail = if args.stat { DiffDetail::FileList } else { DiffDetail::Full };
    let diff = block_on(async {
        let project = Project::find_here()?;
        Ok(match (args.run.as_deref(), args.iteration) {
            (Some(run), Some(iteration)) => diff_stored_iteration(&project, run, iteration, detail).await?,
            (run, _) => diff_run(&project, run, detail).await?,
        })
    })?;
    if args.run.is_none() {
        out::print_note(&format!("changes of run {}, the newest", short_id(&diff.run_id)));
    }
    if diff.end == DiffEnd::Now {
        out::print_note("the run is active or was interrupted: comparing with the current files");
    }
    print_diff(&diff.text, ColorMode::for_stream(&std::io::stdout()));
    Ok(exit_code::COMPLETED)
}

/// Prints a diff, coloured on a terminal; other programs get the output of git unchanged.
fn print_diff(text: &str, colors: ColorMode) {
    match colors {
        ColorMode::Plain => out::print_data(text),
        ColorMode::Colored => text.lines().for_each(|line| out::print_line(&color_line(line, colors))),
    }
}

fn color_line(line: &str, colors: ColorMode) -> String {
    let line = ralph_util::sanitize::escape_hidden(line);
    let style = match line.as_bytes() {
        [b'+', b'+', ..] | [b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => TextStyle::Bold,
        [b'+', ..] => TextStyle::Good,
        [b'-', ..] => TextStyle::Bad,
        [b'@', ..] => TextStyle::Dim,
        _ => return line,
    };
    colors.style_text(style, &line)
}
