//! The `ralph` binary. Only here does the process end.
use std::process::ExitCode;

fn main() -> ExitCode {
    ralph::commands::main(std::env::args_os())
}
