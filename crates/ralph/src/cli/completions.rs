//! `ralph completions`.
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::out;
use crate::error::Failure;

/// Prints the completion script for a shell
///
/// For bash: ralph completions bash > ~/.local/share/bash-completion/completions/ralph
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "ralph", &mut script);
    out::data(&String::from_utf8_lossy(&script));
    Ok(0)
}
