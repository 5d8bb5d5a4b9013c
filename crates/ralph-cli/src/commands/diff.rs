//! `ralph diff`.
use clap::Args;
use ralph_app::maintenance::{DiffDetail, DiffEnd, diff_run};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;

use super::{block_on, out};
use crate::error::CommandError;
use crate::report::{ColorMode, TextStyle};

/// Shows what a run changed: the files before it, and after it
///
/// Without RUN, the newest. RUN is the beginning or the end of an id. Files that were not committed are shown too, ignored
/// ones are not. ralph knows the changes of the newest 50 runs that had checks or their own work tree.
#[derive(Debug, Args)]
#[command(after_help = "If the run is still running or was interrupted, the files are compared as they are now.")]
pub struct DiffArgs {
    run: Option<String>,
    /// Shows only which files changed, and how much
    #[arg(long)]
    stat: bool,
}

pub fn run(args: &DiffArgs) -> Result<u8, CommandError> {
    let detail = if args.stat { DiffDetail::FileList } else { DiffDetail::Full };
    let diff = block_on(async { Ok(diff_run(&Project::find_here()?, args.run.as_deref(), detail).await?) })?;
    if diff.end == DiffEnd::Now {
        out::print_note("the run is still running or was interrupted: this compares the files as they are now");
    }
    print_diff(&diff.text, ColorMode::for_stream(&std::io::stdout()));
    Ok(exit_code::COMPLETED)
}

/// Colours lines on a terminal; other programs get the output of git unchanged.
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
