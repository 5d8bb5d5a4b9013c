//! `ralph man`.
use clap::{Args, CommandFactory};
use ralph_core::outcome::exit_code;

use crate::commands::out;
use crate::error::CommandError;

/// Prints the man page of ralph or of one command
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph man > ralph.1
  ralph man run | man -l -")]
pub struct ManArgs {
    /// The command [default: ralph itself]
    command: Option<String>,
}

pub fn run(args: &ManArgs) -> Result<u8, CommandError> {
    let mut command = crate::commands::Cli::command();
    command.build();
    let shown = match &args.command {
        None => &command,
        Some(name) => command.find_subcommand(name).ok_or_else(|| {
            CommandError::usage_error(format!("there is no command named {name:?}")).with_hint("see `ralph help`")
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(shown.clone())
        .render(&mut page)
        .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    out::print_data(&String::from_utf8_lossy(&page));
    Ok(0)
}
