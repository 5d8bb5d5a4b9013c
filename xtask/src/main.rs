//! The workshop: `cargo xtask COMMAND`. One file per command; nothing here is shipped to users.
mod agents;
mod bench;
mod ci;
mod command_line;
mod error;
mod out;
mod repository;
mod rust_lexer;
mod spec;
mod test;
mod tidy;

use std::process::ExitCode;

use error::{Result, XtaskError};

struct XtaskCommand {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[XtaskCommand] = &[
    XtaskCommand {
        name: "test",
        usage: "test [--all-agents] [FILTER…]",
        about: "runs every test, or those whose name fits",
        run: test::main,
    },
    XtaskCommand { name: "ci", usage: "ci", about: "runs everything that must pass before a commit", run: ci::main },
    XtaskCommand {
        name: "agents",
        usage: "agents [--all]",
        about: "installs the agents that are tested for real, and prints where they are",
        run: agents::main,
    },
    XtaskCommand { name: "tidy", usage: "tidy", about: "checks the rules of the house", run: tidy::main },
    XtaskCommand {
        name: "spec",
        usage: "spec [--require ID,ID…]",
        about: "shows which requirements have tests; fails for delivered ones that have none",
        run: spec::main,
    },
    XtaskCommand {
        name: "bench",
        usage: "bench [NAME…] [--rounds N] [--quick]",
        about: "measures ralph beside what it replaces, as ratios",
        run: bench::main,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run_command(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out::print_error(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run_command(args: &[String]) -> Result<()> {
    let (name, rest) = match args.split_first() {
        None => return Err(XtaskError::new("no command was given").with_hint(help_text())),
        Some((name, _)) if name == "help" || name == "--help" || name == "-h" => {
            out::print_line(&help_text());
            return Ok(());
        }
        Some(split) => split,
    };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => Err(XtaskError::new(format!("there is no command {name:?}")).with_hint(help_text())),
    }
}

fn help_text() -> String {
    let lines = COMMANDS.iter().map(|command| format!("  cargo xtask {:<38}  {}", command.usage, command.about));
    format!("the commands are\n{}", lines.collect::<Vec<_>>().join("\n"))
}
