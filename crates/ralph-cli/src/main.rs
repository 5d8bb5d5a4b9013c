//! The `ralph` binary. Only here does the process end.
use std::process::ExitCode;

fn main() -> ExitCode {
    ralph::cli::main(std::env::args_os())
}
