//! `cargo xtask ci`: runs all checks that must pass, fastest first. It stops at the first failure and prints the
//! command that reproduces it.
use std::time::Instant;

use crate::command_line::{CommandLine, format_seconds};
use crate::error::{Result, XtaskError};
use crate::{deny, out, spec, test, tidy};

/// A check that must pass.
struct CiStep {
    name: &'static str,
    run: fn() -> Result<()>,
}

const STEPS: &[CiStep] = &[
    CiStep { name: "fmt", run: check_format },
    CiStep { name: "tidy", run: tidy::check },
    CiStep { name: "spec", run: spec::check },
    CiStep { name: "deny", run: deny::check_recorded_pass },
    CiStep {
        name: "clippy",
        run: || run_quietly("cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings"),
    },
    CiStep { name: "docs", run: build_docs },
    CiStep { name: "test", run: run_all_tests },
];

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        return Err(XtaskError::new(format!("unexpected argument {arg}: ci accepts none")));
    }
    let started = Instant::now();
    STEPS.iter().try_for_each(run_step)?;
    out::print_line(&format!("{:<8} all passed in {}", "ci", format_seconds(started.elapsed())));
    Ok(())
}

fn run_step(step: &CiStep) -> Result<()> {
    out::print_line_start(&format!("{:<8} ", step.name));
    let started = Instant::now();
    let result = (step.run)();
    let time = format_seconds(started.elapsed());
    match &result {
        Ok(()) => out::print_line(&format!("passed in {time}")),
        Err(_) => out::print_line(&format!("FAILED after {time}")),
    }
    result
}

fn run_quietly(line: &str) -> Result<()> {
    CommandLine::parse(line).run_quietly()
}

/// Lists the unformatted files, without a diff.
fn check_format() -> Result<()> {
    let formatted = run_quietly("cargo fmt --all -- --check --files-with-diff");
    formatted.map_err(|failure| failure.with_hint("run `cargo fmt --all`"))
}

fn build_docs() -> Result<()> {
    let line = CommandLine::parse("cargo doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings");
    line.run_quietly()
}

/// Runs `cargo xtask test`.
fn run_all_tests() -> Result<()> {
    out::print_line("cargo xtask test");
    let result = test::run_selected_tests(&test::TestSelection::default());
    out::print_line_start(&format!("{:<8} ", "test"));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_come_last_and_no_step_occurs_twice() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.last(), Some(&"test"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }

    #[test]
    fn an_argument_is_refused() {
        assert!(main(&["--fast".to_owned()]).is_err());
    }
}
