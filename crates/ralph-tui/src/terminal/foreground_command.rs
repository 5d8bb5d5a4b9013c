//! Programs that get the terminal for a while: the pager of the user, and the commands of the user.
use std::io;
use std::path::Path;
use std::process::Command;

use ralph_util::shell_words::split_words;

/// Opens a file in the pager of the user.
pub(crate) fn open_in_pager(file: &Path) -> io::Result<()> {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let words = split_words(&pager).map_err(io::Error::other)?;
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("PAGER is empty"))?;
    Command::new(program).args(arguments).arg(file).status().map(drop)
}

/// Runs the command of a key in the project. Returns how it ended, in words.
pub(crate) fn run_user_command(root: &Path, words: &[String]) -> io::Result<String> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
    let status = Command::new(program).args(arguments).current_dir(root).status()?;
    Ok(format!("{program}: {status}"))
}
