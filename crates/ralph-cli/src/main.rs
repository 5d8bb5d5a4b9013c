//! The `ralph` binary. The process exits only here.
use std::process::ExitCode;

fn main() -> ExitCode {
    ralph::commands::main(std::env::args_os())
}
