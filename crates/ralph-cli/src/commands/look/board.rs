//! `ralph board`.
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use ralph_core::outcome::{RunEnd, exit_code};
use ralph_engine::project::Project;
use ralph_tui::{BackgroundResume, BoardOptions, BoardWords, DetailView, run_board, run_plain_board};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::commands::args::config_args::ConfigArgs;
use crate::error::CommandError;
use crate::hints;
use crate::report::ColorMode;

/// Shows everything that runs, waits for you and has ended, on one screen
///
/// The inbox comes first, then the slots, the lanes, and the details of what is selected. Keys guide, pause, resume, cancel,
/// retry and rewind, change limits, approve, accept and reject, without leaving the screen. `?` lists the keys. Leaving the
/// board never stops a run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph board
  ralph board --mouse        the mouse selects and scrolls; hold shift to select text
  ralph board --plain        one line per change; needs no terminal")]
pub struct BoardArgs {
    /// Lets the mouse select and scroll
    #[arg(long, conflicts_with = "plain")]
    mouse: bool,
    /// Prints one line per change instead of a screen, for screen readers
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &BoardArgs) -> Result<u8, CommandError> {
    if !args.plain {
        ensure_screen()?;
    }
    let options = BoardOptions {
        project: Project::find_here_or_outside()?,
        config: args.config.source(),
        words: BoardWords {
            hints: hints::for_error,
            inbox_commands: hints::for_inbox_answer,
            remedy: hints::for_loop_remedy,
            text_command: command_of_view,
        },
        is_colored: ColorMode::for_stream(&io::stdout()) == ColorMode::Colored,
        uses_mouse: args.mouse,
        has_reader,
        open_terminal: open_stdout,
        resume_in_background,
    };
    match if args.plain { run_plain_board(&options) } else { run_board(&options) } {
        Ok(None) => Ok(exit_code::COMPLETED),
        Ok(Some(signal)) => Ok(RunEnd::interrupted_by_signal(signal).exit_code),
        Err(error) => Err(CommandError::from_error(exit_code::INTERNAL_ERROR, &error)),
    }
}

/// Fails if stdin or stdout is not a terminal, or if the terminal cannot move its cursor.
fn ensure_screen() -> Result<(), CommandError> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(CommandError::preflight_error("the board needs a terminal, and this is none")
            .with_hint("`ralph board --plain` prints one line per change; `ralph status --json` is for programs"));
    }
    if std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
        return Err(CommandError::preflight_error("this terminal cannot draw a board (TERM=dumb)")
            .with_hint("`ralph board --plain` prints one line per change"));
    }
    Ok(())
}

/// Returns whether the other end of the output is open.
fn has_reader() -> bool {
    let output = io::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    let is_polled = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok();
    let closed = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    !(is_polled && watched.iter().any(|output| output.revents().intersects(closed)))
}

fn open_stdout() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// Returns the command that prints what a view of the detail panel shows.
fn command_of_view(view: DetailView, id: &str, iteration: Option<u32>) -> String {
    let iteration = iteration.map(|iteration| format!(" --iteration {iteration}")).unwrap_or_default();
    match view {
        DetailView::Summary | DetailView::Receipt | DetailView::Graph => format!("ralph show {id}"),
        DetailView::InboxText => "ralph inbox".to_owned(),
        DetailView::Why => format!("ralph why {id}"),
        DetailView::Diff => format!("ralph diff {id}{iteration}"),
        DetailView::Output => format!("ralph logs {id}{iteration}"),
    }
}

/// Resumes a run with `ralph resume --detach`: the run must outlive the board.
fn resume_in_background(folder: &Path, run: &str) -> io::Result<BackgroundResume> {
    let mut command = Command::new(std::env::current_exe()?);
    let command = command.args(["resume", run, "--detach"]).current_dir(folder).stdin(Stdio::null());
    let output = command.output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok(BackgroundResume { has_started: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() })
}
