//! The workshop: `cargo xtask COMMAND`. One file per command; nothing here is shipped to users.
mod agents;
mod bench;
mod ci;
mod failure;
mod out;
mod rust;
mod shell;
mod spec;
mod test;
mod tidy;
mod tree;

use std::process::ExitCode;

use failure::{Failure, Result};

struct Command {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        usage: "test [--all-agents] [FILTER…]",
        about: "runs every test, or those whose name fits",
        run: test::main,
    },
    Command {
        name: "ci",
        usage: "ci",
        about: "runs everything that must pass before a commit",
        run: ci::main,
    },
    Command {
        name: "agents",
        usage: "agents [--all]",
        about: "installs the agents that are tested for real, and prints where they are",
        run: agents::main,
    },
    Command { name: "tidy", usage: "tidy", about: "checks the rules of the house", run: tidy::main },
    Command {
        name: "spec",
        usage: "spec [--require ID,ID…]",
        about: "shows which requirements have tests; fails for delivered ones that have none",
        run: spec::main,
    },
    Command {
        name: "bench",
        usage: "bench [NAME…] [--rounds N] [--quick]",
        about: "measures ralph beside what it replaces, as ratios",
        run: bench::main,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out::complain(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let (name, rest) = match args.split_first() {
        None => return Err(Failure::new("no command was given").hint(help())),
        Some((name, _)) if name == "help" || name == "--help" || name == "-h" => {
            out::line(&help());
            return Ok(());
        }
        Some(split) => split,
    };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => Err(Failure::new(format!("there is no command {name:?}")).hint(help())),
    }
}

fn help() -> String {
    let lines =
        COMMANDS.iter().map(|command| format!("  cargo xtask {:<38}  {}", command.usage, command.about));
    format!("the commands are\n{}", lines.collect::<Vec<_>>().join("\n"))
}
