//! `cargo xtask test [FILTER…]`: every test of the repository, and a closing word on what ran and what did not.
//! It needs Rust and git, and on Linux strace, which it installs where it can; what else it can use, it uses, and says so
//! when it cannot.
use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::out;
use crate::shell::{Line, root, seconds};

/// The scripted agent is built for tests only.
const FEATURES: &str = "--features=ralph/testing";

const GIT_HINT: &str = "install it: `apt-get install git` (Debian, Ubuntu), `dnf install git` (Fedora), \
                        `apk add git` (Alpine), `xcode-select --install` (macOS)";

const STRACE_HINT: &str = "install it: `apt-get install strace` (Debian, Ubuntu), `dnf install strace` (Fedora), \
                           `apk add strace` (Alpine)";

/// The program that runs the tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    Cargo,
}

/// One thing that the closing word names.
struct Part {
    what: String,
    came: Came,
}

enum Came {
    Passed(Duration),
    Failed(Failure),
    /// It was not run, for this reason.
    Left(String),
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(flag) = args.iter().find(|arg| arg.starts_with('-')) {
        return Err(Failure::new(format!("test knows no option {flag}"))
            .hint("give words that the names of the wanted tests contain, or nothing for all of them"));
    }
    run(args)
}

/// Runs the tests whose names contain one of the filters; all of them when there is none.
pub(crate) fn run(filters: &[String]) -> Result<()> {
    require_git()?;
    require_strace()?;
    let runner = if Line::of("cargo nextest --version").works() { Runner::Nextest } else { Runner::Cargo };
    let mut parts = workspace(runner, filters);
    parts.push(doc_tests(filters));
    parts.extend(left_out(runner, filters));
    summary(&parts);
    verdict(parts)
}

fn require_git() -> Result<()> {
    if Line::of("git --version").works() {
        return Ok(());
    }
    Err(Failure::new("the tests need git, and there is none on PATH").hint(GIT_HINT))
}

/// The sweep over every kill point needs strace. It is installed where that is possible.
fn require_strace() -> Result<()> {
    let there = || Line::of("strace -V").works();
    if !cfg!(target_os = "linux") || there() {
        return Ok(());
    }
    // Only root can; everybody else is told what to do.
    let installed = Line::of("apt-get install --yes strace").show();
    if installed.is_ok() && there() {
        return Ok(());
    }
    Err(Failure::new("the tests need strace, and it could not be installed").hint(STRACE_HINT))
}

fn workspace(runner: Runner, filters: &[String]) -> Vec<Part> {
    let lines = match runner {
        Runner::Nextest => vec![nextest(filters)],
        Runner::Cargo if filters.is_empty() => vec![cargo_test(None)],
        // The plain harness takes one filter at a time.
        Runner::Cargo => filters.iter().map(|filter| cargo_test(Some(filter))).collect(),
    };
    lines.into_iter().map(|line| part("tests of the workspace", &line)).collect()
}

fn nextest(filters: &[String]) -> Line {
    Line::of("cargo nextest run --workspace --profile ci").args([FEATURES]).args(filters)
}

fn cargo_test(filter: Option<&String>) -> Line {
    // Documentation is tested apart, so that both runners do the same.
    let line = Line::of("cargo test --workspace --no-fail-fast --lib --bins --tests").args([FEATURES]);
    match filter {
        Some(filter) => line.args(["--"]).args([filter]),
        None => line,
    }
}

fn doc_tests(filters: &[String]) -> Part {
    let libraries = libraries();
    let names = libraries.join(", ");
    if !filters.is_empty() {
        let why = "a filter was given; without one they run".to_owned();
        return Part { what: format!("doc tests of {names}"), came: Came::Left(why) };
    }
    let packages = libraries.iter().map(|name| format!("--package={name}"));
    part(&format!("doc tests of {names}"), &Line::of("cargo test --doc --quiet").args(packages))
}

/// Returns the crates that have a library.
fn libraries() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("crates")).into_iter().flatten().flatten();
    let with_lib = folders.filter(|folder| folder.path().join("src/lib.rs").is_file());
    let mut names: Vec<_> =
        with_lib.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn part(what: &str, line: &Line) -> Part {
    out::line(&format!("$ {}", line.shown()));
    let begun = Instant::now();
    let came = match line.show() {
        Ok(()) => Came::Passed(begun.elapsed()),
        Err(failure) => Came::Failed(failure),
    };
    Part { what: format!("{what} ({})", line.shown()), came }
}

fn left_out(runner: Runner, filters: &[String]) -> Vec<Part> {
    let left = |what: &str, why: &str| Part { what: what.to_owned(), came: Came::Left(why.to_owned()) };
    let mut parts =
        vec![left("benchmarks", "they compare speeds and are no tests; `cargo xtask bench` runs them")];
    if runner == Runner::Cargo {
        parts.push(left(
            "cargo-nextest",
            "it is not installed; `cargo test` ran the same tests, slower (`cargo install --locked cargo-nextest`)",
        ));
    }
    if !filters.is_empty() {
        parts.push(left(
            "all other tests",
            &format!("only names that contain {} were asked for", filters.join(" or ")),
        ));
    }
    parts
}

fn summary(parts: &[Part]) {
    out::line("");
    for Part { what, came } in parts {
        match came {
            Came::Passed(time) => out::line(&format!("passed   {what}, {}", seconds(*time))),
            Came::Failed(_) => out::line(&format!("FAILED   {what}")),
            Came::Left(why) => out::line(&format!("not run  {what}: {why}")),
        }
    }
}

fn verdict(parts: Vec<Part>) -> Result<()> {
    let failed = parts.into_iter().find_map(|part| match part.came {
        Came::Failed(failure) => Some(failure),
        Came::Passed(_) | Came::Left(_) => None,
    });
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn both_runners_build_the_scripted_agent_and_take_filters() {
        let filters = words(&["a_claim", "a_check"]);
        let expected = "cargo nextest run --workspace --profile ci --features=ralph/testing a_claim a_check";
        assert_eq!(nextest(&filters).shown(), expected);
        let expected =
            "cargo test --workspace --no-fail-fast --lib --bins --tests --features=ralph/testing -- a_claim";
        assert_eq!(cargo_test(filters.first()).shown(), expected);
    }

    #[test]
    fn an_option_is_refused_with_a_hint() {
        let said = main(&words(&["--fast"])).unwrap_err().to_string();
        assert!(said.contains("no option --fast\nhint: "), "{said}");
    }

    #[test]
    fn one_failed_part_fails_the_whole() {
        let part = |came| Part { what: String::new(), came };
        let failed = Came::Failed(Failure::new("cargo ended badly"));
        assert!(verdict(vec![part(Came::Passed(Duration::ZERO)), part(failed)]).is_err());
        assert!(verdict(vec![part(Came::Passed(Duration::ZERO)), part(Came::Left(String::new()))]).is_ok());
    }

    #[test]
    fn every_library_has_its_doc_tests_run() {
        assert!(libraries().contains(&"ralph-core".to_owned()));
    }
}
