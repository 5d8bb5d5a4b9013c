//! `cargo xtask ci`: everything that must pass, in the order in which it fails fastest. It stops at the first
//! failure and says which command shows it alone.
use std::time::Instant;

use crate::failure::{Failure, Result};
use crate::shell::{Line, seconds};
use crate::{out, spec, test, tidy};

/// One thing that must pass.
struct Step {
    name: &'static str,
    run: fn() -> Result<Done>,
}

/// What became of a step that did not fail.
enum Done {
    Passed,
    /// It could not be run here, for this reason.
    NotRun(&'static str),
}

const STEPS: &[Step] = &[
    Step { name: "fmt", run: fmt },
    Step { name: "tidy", run: || tidy::check().map(|()| Done::Passed) },
    Step { name: "spec", run: || spec::check().map(|()| Done::Passed) },
    Step { name: "deny", run: deny },
    Step {
        name: "clippy",
        run: || quietly("cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings"),
    },
    Step { name: "docs", run: docs },
    Step { name: "test", run: tests },
];

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        return Err(Failure::new(format!("ci takes no argument, and {arg} was given")));
    }
    let begun = Instant::now();
    STEPS.iter().try_for_each(perform)?;
    out::line(&format!("{:<8} all passed in {}", "ci", seconds(begun.elapsed())));
    Ok(())
}

fn perform(step: &Step) -> Result<()> {
    out::begin(&format!("{:<8} ", step.name));
    let begun = Instant::now();
    let came = (step.run)();
    let time = seconds(begun.elapsed());
    match &came {
        Ok(Done::Passed) => out::line(&format!("passed in {time}")),
        Ok(Done::NotRun(why)) => out::line(&format!("not run: {why}")),
        Err(_) => out::line(&format!("FAILED after {time}")),
    }
    came.map(drop)
}

fn quietly(line: &str) -> Result<Done> {
    Line::of(line).quietly().map(|()| Done::Passed)
}

/// Names the files; what is wrong in them is mended by the command, not by reading.
fn fmt() -> Result<Done> {
    let formatted = quietly("cargo fmt --all -- --check --files-with-diff");
    formatted.map_err(|failure| failure.hint("`cargo fmt --all` mends it"))
}

fn docs() -> Result<Done> {
    let line = Line::of("cargo doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings");
    line.quietly().map(|()| Done::Passed)
}

/// The advisories need a database from the network; licences, bans and sources do not.
fn deny() -> Result<Done> {
    if !Line::of("cargo deny --version").works() {
        return Ok(Done::NotRun("cargo-deny is not installed (`cargo install --locked cargo-deny`)"));
    }
    quietly("cargo deny --log-level error check licenses bans sources")
}

/// Runs what the README tells people to run.
fn tests() -> Result<Done> {
    out::line("cargo xtask test");
    let ran = test::run(&test::Wish::default());
    out::begin(&format!("{:<8} ", "test"));
    ran.map(|()| Done::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_come_last_and_nothing_is_there_twice() {
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
