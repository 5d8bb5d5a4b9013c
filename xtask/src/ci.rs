//! `cargo xtask ci`: runs all checks that must pass, fastest first. It stops at the first failure and prints the
//! command that reproduces it.
use std::time::Instant;

use crate::command_line::{CommandLine, format_seconds};
use crate::error::{Result, XtaskError};
use crate::{out, spec, test, tidy};

/// A check that must pass.
struct CiStep {
    name: &'static str,
    run: fn() -> Result<CiStepResult>,
}

/// The result of a step that did not fail.
enum CiStepResult {
    Passed,
    /// The step cannot run here, for this reason.
    Skipped(&'static str),
}

const STEPS: &[CiStep] = &[
    CiStep { name: "fmt", run: check_format },
    CiStep { name: "tidy", run: || tidy::check().map(|()| CiStepResult::Passed) },
    CiStep { name: "spec", run: || spec::check().map(|()| CiStepResult::Passed) },
    CiStep { name: "deny", run: check_dependencies },
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
        Ok(CiStepResult::Passed) => out::print_line(&format!("passed in {time}")),
        Ok(CiStepResult::Skipped(reason)) => out::print_line(&format!("skipped: {reason}")),
        Err(_) => out::print_line(&format!("FAILED after {time}")),
    }
    result.map(drop)
}

fn run_quietly(line: &str) -> Result<CiStepResult> {
    CommandLine::parse(line).run_quietly().map(|()| CiStepResult::Passed)
}

/// Lists the unformatted files, without a diff.
fn check_format() -> Result<CiStepResult> {
    let formatted = run_quietly("cargo fmt --all -- --check --files-with-diff");
    formatted.map_err(|failure| failure.with_hint("run `cargo fmt --all`"))
}

fn build_docs() -> Result<CiStepResult> {
    let line = CommandLine::parse("cargo doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings");
    line.run_quietly().map(|()| CiStepResult::Passed)
}

/// Checks licences, bans and sources. Advisories are left out, because they need a database from the network.
fn check_dependencies() -> Result<CiStepResult> {
    if !CommandLine::parse("cargo deny --version").can_run() {
        return Ok(CiStepResult::Skipped("cargo-deny is not installed (`cargo install --locked cargo-deny`)"));
    }
    run_quietly("cargo deny --log-level error check licenses bans sources")
}

/// Runs `cargo xtask test`.
fn run_all_tests() -> Result<CiStepResult> {
    out::print_line("cargo xtask test");
    let result = test::run_selected_tests(&test::TestSelection::default());
    out::print_line_start(&format!("{:<8} ", "test"));
    result.map(|()| CiStepResult::Passed)
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
