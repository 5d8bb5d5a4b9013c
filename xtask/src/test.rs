//! `cargo xtask test [--all-agents] [FILTER…]`: every test of the repository, and a closing word on what ran and what
//! did not. It needs Rust, git and npm, and on Linux strace, which it installs where it can; what else it can use, it
//! uses, and says so when it cannot.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agents::{self, Set};
use crate::failure::{Failure, Result};
use crate::out;
use crate::shell::{Line, root, seconds};

/// The scripted agent is built for tests only.
const FEATURES: &str = "--features=ralph/testing";

/// Where the tests of the agents stand that only `--all-agents` runs. `.config/nextest.toml` says the same.
const MORE_TESTS: &str = "real::more::";

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

/// Which tests are wanted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Words that the names contain; none for all tests.
    filters: Vec<String>,
    agents: Agents,
}

/// Which agents are run for real.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Agents {
    #[default]
    Usual,
    All,
}

/// Where the real agents are: the variable that says so, and the folder.
type Installed = Vec<(&'static str, PathBuf)>;

pub(crate) fn main(args: &[String]) -> Result<()> {
    run(&wish(args)?)
}

fn wish(args: &[String]) -> Result<Wish> {
    let (options, filters): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|arg| arg.starts_with('-'));
    let mut wish = Wish { filters, ..Wish::default() };
    for option in options {
        if option != "--all-agents" {
            return Err(Failure::new(format!("test knows no option {option}"))
                .hint("it knows --all-agents, and words that the names of the wanted tests contain"));
        }
        wish.agents = Agents::All;
    }
    Ok(wish)
}

/// Runs the tests that are wanted.
pub(crate) fn run(wish: &Wish) -> Result<()> {
    require_git()?;
    require_strace()?;
    let runner = if Line::of("cargo nextest --version").works() { Runner::Nextest } else { Runner::Cargo };
    let (installed, mut parts) = real_agents(wish);
    parts.extend(workspace(runner, wish, &installed));
    parts.push(doc_tests(&wish.filters));
    parts.extend(left_out(runner, wish));
    summary(&parts);
    verdict(parts)
}

fn real_agents(wish: &Wish) -> (Installed, Vec<Part>) {
    let sets: &[Set] = match wish.agents {
        Agents::Usual => &[agents::USUAL],
        Agents::All => &[agents::USUAL, agents::MORE],
    };
    let (mut installed, mut parts) = (Installed::new(), Vec::new());
    for set in sets {
        match agents::install(set) {
            Ok(folder) => installed.push((set.variable, folder)),
            Err(failure) => parts.push(without(set, failure, wish)),
        }
    }
    (installed, parts)
}

/// Whoever asked for some tests alone may not need these; the tests that do will say so.
fn without(set: &Set, failure: Failure, wish: &Wish) -> Part {
    let came = if wish.filters.is_empty() { Came::Failed(failure) } else { Came::Left(format!("{failure}")) };
    Part { what: format!("the installation of {}", set.agents), came }
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

fn workspace(runner: Runner, wish: &Wish, installed: &Installed) -> Vec<Part> {
    let lines = match runner {
        Runner::Nextest => vec![nextest(wish)],
        Runner::Cargo if wish.filters.is_empty() => vec![cargo_test(wish, None)],
        // The plain harness takes one filter at a time.
        Runner::Cargo => wish.filters.iter().map(|filter| cargo_test(wish, Some(filter))).collect(),
    };
    let knowing = |line: Line| {
        installed.iter().fold(line, |line, (name, folder)| line.env(name, folder.display().to_string()))
    };
    lines.into_iter().map(|line| part("tests of the workspace", &knowing(line))).collect()
}

fn nextest(wish: &Wish) -> Line {
    let profile = match wish.agents {
        Agents::Usual => "ci",
        Agents::All => "all-agents",
    };
    Line::of("cargo nextest run --workspace --profile").args([profile, FEATURES]).args(&wish.filters)
}

fn cargo_test(wish: &Wish, filter: Option<&String>) -> Line {
    // Documentation is tested apart, so that both runners do the same.
    let line = Line::of("cargo test --workspace --no-fail-fast --lib --bins --tests").args([FEATURES, "--"]);
    let line = line.args(filter);
    match wish.agents {
        Agents::Usual => line.args(["--skip", MORE_TESTS]),
        Agents::All => line,
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

fn left_out(runner: Runner, wish: &Wish) -> Vec<Part> {
    let left = |what: &str, why: &str| Part { what: what.to_owned(), came: Came::Left(why.to_owned()) };
    let mut parts =
        vec![left("benchmarks", "they compare speeds and are no tests; `cargo xtask bench` runs them")];
    if wish.agents == Agents::Usual {
        let what = format!("{} for real", agents::MORE.agents);
        parts.push(left(&what, "they take minutes; `cargo xtask test --all-agents` runs them"));
    }
    if !Line::of("unshare --net true").works() {
        let why =
            "networks cannot be made here; the agents are only told to use loopback (root can, on Linux)";
        parts.push(left("real agents in a network of their own", why));
    }
    if runner == Runner::Cargo {
        parts.push(left(
            "cargo-nextest",
            "it is not installed; `cargo test` ran the same tests, slower (`cargo install --locked cargo-nextest`)",
        ));
    }
    if !wish.filters.is_empty() {
        parts.push(left(
            "all other tests",
            &format!("only names that contain {} were asked for", wish.filters.join(" or ")),
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
        let wish = wish(&words(&["a_claim", "a_check"])).unwrap();
        let expected = "cargo nextest run --workspace --profile ci --features=ralph/testing a_claim a_check";
        assert_eq!(nextest(&wish).shown(), expected);
        let expected = "cargo test --workspace --no-fail-fast --lib --bins --tests --features=ralph/testing -- \
                        a_claim --skip real::more::";
        assert_eq!(cargo_test(&wish, wish.filters.first()).shown(), expected);
    }

    #[test]
    fn all_agents_are_run_where_they_are_asked_for_and_named_where_they_are_not() {
        let all = wish(&words(&["--all-agents"])).unwrap();
        assert!(nextest(&all).shown().contains("--profile all-agents"), "{}", nextest(&all).shown());
        assert!(!cargo_test(&all, None).shown().contains("--skip"));
        let names = |wish: &Wish| -> String {
            left_out(Runner::Nextest, wish).iter().map(|part| part.what.as_str()).collect()
        };
        assert!(names(&Wish::default()).contains("goose"));
        assert!(!names(&all).contains("goose"));
    }

    #[test]
    fn agents_that_could_not_be_installed_fail_the_whole_but_not_a_part_that_was_asked_for() {
        let part = |wish: &Wish| without(&agents::USUAL, Failure::new("no npm"), wish);
        assert!(verdict(vec![part(&Wish::default())]).is_err());
        assert!(verdict(vec![part(&wish(&words(&["a_claim"])).unwrap())]).is_ok());
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
