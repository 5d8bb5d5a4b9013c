//! With what a board is started, and why it cannot start.
use std::io::{self, Write};
use std::path::Path;

use ralph_app::config::ConfigSource;
use ralph_app::error::AppError;
use ralph_app::inbox::InboxAnswer;
use ralph_app::view::LoopRemedy;
use ralph_engine::project::Project;

pub use crate::model::detail_pane::DetailView;

/// The words that only the command line knows: its commands and flags.
#[derive(Clone, Copy)]
pub struct BoardWords {
    /// Says how to fix an error.
    pub hints: fn(&AppError) -> Vec<String>,
    /// Returns the commands that answer an item of the inbox.
    pub inbox_commands: fn(&InboxAnswer) -> Vec<String>,
    /// Returns the command that lets a loop continue.
    pub remedy: fn(&LoopRemedy) -> String,
    /// Returns the command that prints a view of a task or run as text, of one iteration if one is selected.
    pub text_command: fn(DetailView, &str, Option<u32>) -> String,
}

/// With what a board is started.
pub struct BoardOptions {
    pub project: Project,
    pub config: ConfigSource,
    pub words: BoardWords,
    /// Whether colours are used. Every state has a word too.
    pub is_colored: bool,
    /// Whether the mouse selects and scrolls. The terminal cannot select text then.
    pub uses_mouse: bool,
    /// Returns whether the output still has a reader.
    pub has_reader: fn() -> bool,
    /// Opens the terminal for writing.
    pub open_terminal: fn() -> Box<dyn Write + Send>,
    /// Resumes a run in a separate process, in this folder, and returns what it said.
    pub resume_in_background: fn(&Path, &str) -> io::Result<BackgroundResume>,
}

/// How the resume in the background began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundResume {
    pub has_started: bool,
    /// The output of the process.
    pub text: String,
}

/// Why a board ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    #[error("the terminal cannot be used for the board")]
    Terminal { source: io::Error },
    #[error("the board cannot read the project any more")]
    LoaderEnded,
}
