//! `ralph completions`: prints shell completion scripts.
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::commands::out;
use crate::error::CommandError;

/// Prints the completion script for a shell
///
/// For example, for bash: ralph completions bash > ~/.local/share/bash-completion/completions/ralph
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(args: &CompletionsArgs) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible_commands(), "ralph", &mut script);
    out::print_data(&String::from_utf8_lossy(&script));
    Ok(0)
}

/// Returns the command line without hidden commands, because the generators would offer them too.
fn visible_commands() -> Command {
    let all = crate::commands::Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("ralph").version(env!("CARGO_PKG_VERSION")).subcommands(shown.cloned())
}
