//! Lets use cases show notes to the user at this terminal, and ask for approval.
use ralph_app::config::ProjectCommand;
use ralph_app::interaction::Interaction;
use ralph_app::trust::format_command;

use crate::commands::{confirm, out};

/// Prints notes to standard error. Asks only if standard input and standard error are terminals.
pub struct TerminalInteraction;

impl Interaction for TerminalInteraction {
    fn show_note(&self, text: &str) {
        out::print_note(text);
    }

    fn approve_commands(&self, commands: &[ProjectCommand]) -> bool {
        if !confirm::is_interactive() {
            return false;
        }
        out::print_note("This project's configuration wants to start commands that you have not approved:");
        commands.iter().for_each(|command| out::print_note(&format!("  {}", format_command(command))));
        confirm::ask_yes_no("Start them? [y/N] ")
    }
}
