//! Development commands: `cargo xtask COMMAND`. One file per command; not shipped to users.
mod agents;
mod bench;
mod browser;
mod ci;
mod command_line;
mod deny;
mod error;
mod mutants;
mod out;
mod repository;
mod rust_lexer;
mod soak;
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
        about: "runs all tests, or those whose name contains FILTER",
        run: test::main,
    },
    XtaskCommand { name: "ci", usage: "ci", about: "runs all checks that must pass before a commit", run: ci::main },
    XtaskCommand {
        name: "agents",
        usage: "agents [--all]",
        about: "installs the real agents for the tests and prints their folders",
        run: agents::main,
    },
    XtaskCommand {
        name: "tidy",
        usage: "tidy",
        about: "checks the project rules that no compiler checks",
        run: tidy::main,
    },
    XtaskCommand {
        name: "spec",
        usage: "spec [--require ID,ID…]",
        about: "lists requirements with and without tests; fails if a delivered one has none",
        run: spec::main,
    },
    XtaskCommand {
        name: "deny",
        usage: "deny",
        about: "checks licences, bans and sources of the dependencies, and records the pass",
        run: deny::main,
    },
    XtaskCommand {
        name: "mutants",
        usage: "mutants [--sample N] [--seed N] [--resume]",
        about: "tests the tests of the deciding rules with a seeded sample of mutants",
        run: mutants::main,
    },
    XtaskCommand {
        name: "bench",
        usage: "bench [NAME…] [--rounds N] [--quick]",
        about: "compares the speed of ralph with its alternatives",
        run: bench::main,
    },
    XtaskCommand {
        name: "soak",
        usage: "soak [--minutes N]",
        about: "runs the server for an hour, and reports its memory",
        run: soak::main,
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
        None => return Err(XtaskError::new("no command").with_hint(help_text())),
        Some((name, _)) if name == "help" || name == "--help" || name == "-h" => {
            out::print_line(&help_text());
            return Ok(());
        }
        Some(split) => split,
    };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => Err(XtaskError::new(format!("unknown command {name:?}")).with_hint(help_text())),
    }
}

fn help_text() -> String {
    let lines = COMMANDS.iter().map(|command| format!("  cargo xtask {:<42}  {}", command.usage, command.about));
    format!("commands:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
