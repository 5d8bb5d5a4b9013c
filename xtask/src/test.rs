//! `cargo xtask test [--all-agents] [FILTER…]`: every test of the repository, and a closing word on what ran and what
//! did not. It needs Rust, git and npm, and on Linux strace, which it installs where it can; what else it can use, it
//! uses, and says so when it cannot.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agents::{self, AgentPackage};
use crate::command_line::{CommandLine, format_seconds, repository_root};
use crate::error::{Result, XtaskError};
use crate::out;

/// The scripted agent is built for tests only.
const TEST_FEATURES: &str = "--features=ralph/testing";

/// Where the tests of the agents stand that only `--all-agents` runs. `.config/nextest.toml` says the same.
const EXTRA_AGENT_TESTS: &str = "real::more::";

const GIT_HINT: &str = "install it: `apt-get install git` (Debian, Ubuntu), `dnf install git` (Fedora), \
                        `apk add git` (Alpine), `xcode-select --install` (macOS)";

const STRACE_HINT: &str = "install it: `apt-get install strace` (Debian, Ubuntu), `dnf install strace` (Fedora), \
                           `apk add strace` (Alpine)";

/// The program that runs the tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TestRunner {
    Nextest,
    Cargo,
}

/// One thing that the closing word names.
struct TestStep {
    name: String,
    result: TestStepResult,
}

enum TestStepResult {
    Passed(Duration),
    Failed(XtaskError),
    /// It was not run, for this reason.
    Skipped(String),
}

/// Which tests are wanted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestSelection {
    /// Words that the names contain; none for all tests.
    filters: Vec<String>,
    agents: AgentSelection,
}

/// Which agents are run for real.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AgentSelection {
    #[default]
    Standard,
    All,
}

/// Where the real agents are: the variable that says so, and the folder.
type InstalledAgents = Vec<(&'static str, PathBuf)>;

pub(crate) fn main(args: &[String]) -> Result<()> {
    run_selected_tests(&parse_selection(args)?)
}

fn parse_selection(args: &[String]) -> Result<TestSelection> {
    let (options, filters): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|arg| arg.starts_with('-'));
    let mut wish = TestSelection { filters, ..TestSelection::default() };
    for option in options {
        if option != "--all-agents" {
            return Err(XtaskError::new(format!("test knows no option {option}"))
                .with_hint("it knows --all-agents, and words that the names of the wanted tests contain"));
        }
        wish.agents = AgentSelection::All;
    }
    Ok(wish)
}

/// Runs the tests that are wanted.
pub(crate) fn run_selected_tests(selection: &TestSelection) -> Result<()> {
    require_git()?;
    require_strace()?;
    let runner =
        if CommandLine::parse("cargo nextest --version").can_run() { TestRunner::Nextest } else { TestRunner::Cargo };
    let (installed, mut parts) = install_real_agents(selection);
    parts.extend(run_workspace_tests(runner, selection, &installed));
    parts.push(run_doc_tests(&selection.filters));
    parts.extend(skipped_steps(runner, selection));
    print_summary(&parts);
    first_failure(parts)
}

fn install_real_agents(selection: &TestSelection) -> (InstalledAgents, Vec<TestStep>) {
    let sets: &[AgentPackage] = match selection.agents {
        AgentSelection::Standard => &[agents::STANDARD_AGENTS],
        AgentSelection::All => &[agents::STANDARD_AGENTS, agents::EXTRA_AGENTS],
    };
    let (mut installed, mut parts) = (InstalledAgents::new(), Vec::new());
    for set in sets {
        match agents::install_package(set) {
            Ok(folder) => installed.push((set.variable, folder)),
            Err(failure) => parts.push(missing_agents_step(set, failure, selection)),
        }
    }
    (installed, parts)
}

/// Whoever asked for some tests alone may not need these; the tests that do will say so.
fn missing_agents_step(package: &AgentPackage, failure: XtaskError, selection: &TestSelection) -> TestStep {
    let came = if selection.filters.is_empty() {
        TestStepResult::Failed(failure)
    } else {
        TestStepResult::Skipped(format!("{failure}"))
    };
    TestStep { name: format!("the installation of {}", package.agents), result: came }
}

fn require_git() -> Result<()> {
    if CommandLine::parse("git --version").can_run() {
        return Ok(());
    }
    Err(XtaskError::new("the tests need git, and there is none on PATH").with_hint(GIT_HINT))
}

/// The sweep over every kill point needs strace. It is installed where that is possible.
fn require_strace() -> Result<()> {
    let there = || CommandLine::parse("strace -V").can_run();
    if !cfg!(target_os = "linux") || there() {
        return Ok(());
    }
    // Only root can; everybody else is told what to do.
    let installed = CommandLine::parse("apt-get install --yes strace").run_visibly();
    if installed.is_ok() && there() {
        return Ok(());
    }
    Err(XtaskError::new("the tests need strace, and it could not be installed").with_hint(STRACE_HINT))
}

fn run_workspace_tests(runner: TestRunner, selection: &TestSelection, installed: &InstalledAgents) -> Vec<TestStep> {
    let lines = match runner {
        TestRunner::Nextest => vec![nextest_command(selection)],
        TestRunner::Cargo if selection.filters.is_empty() => vec![cargo_test_command(selection, None)],
        // The plain harness takes one filter at a time.
        TestRunner::Cargo => {
            selection.filters.iter().map(|filter| cargo_test_command(selection, Some(filter))).collect()
        }
    };
    let knowing = |line: CommandLine| {
        installed.iter().fold(line, |line, (name, folder)| line.env(name, folder.display().to_string()))
    };
    lines.into_iter().map(|line| run_test_step("tests of the workspace", &knowing(line))).collect()
}

fn nextest_command(selection: &TestSelection) -> CommandLine {
    let profile = match selection.agents {
        AgentSelection::Standard => "ci",
        AgentSelection::All => "all-agents",
    };
    CommandLine::parse("cargo nextest run --workspace --profile")
        .args([profile, TEST_FEATURES])
        .args(&selection.filters)
}

fn cargo_test_command(selection: &TestSelection, filter: Option<&String>) -> CommandLine {
    // Documentation is tested apart, so that both runners do the same.
    let line =
        CommandLine::parse("cargo test --workspace --no-fail-fast --lib --bins --tests").args([TEST_FEATURES, "--"]);
    let line = line.args(filter);
    match selection.agents {
        AgentSelection::Standard => line.args(["--skip", EXTRA_AGENT_TESTS]),
        AgentSelection::All => line,
    }
}

fn run_doc_tests(filters: &[String]) -> TestStep {
    let libraries = library_crates();
    let names = libraries.join(", ");
    if !filters.is_empty() {
        let why = "a filter was given; without one they run".to_owned();
        return TestStep { name: format!("doc tests of {names}"), result: TestStepResult::Skipped(why) };
    }
    let packages = libraries.iter().map(|name| format!("--package={name}"));
    run_test_step(&format!("doc tests of {names}"), &CommandLine::parse("cargo test --doc --quiet").args(packages))
}

/// Returns the crates that have a library.
fn library_crates() -> Vec<String> {
    let folders = std::fs::read_dir(repository_root().join("crates")).into_iter().flatten().flatten();
    let with_lib = folders.filter(|folder| folder.path().join("src/lib.rs").is_file());
    let mut names: Vec<_> = with_lib.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn run_test_step(what: &str, line: &CommandLine) -> TestStep {
    out::print_line(&format!("$ {}", line.to_shell_text()));
    let begun = Instant::now();
    let came = match line.run_visibly() {
        Ok(()) => TestStepResult::Passed(begun.elapsed()),
        Err(failure) => TestStepResult::Failed(failure),
    };
    TestStep { name: format!("{what} ({})", line.to_shell_text()), result: came }
}

fn skipped_steps(runner: TestRunner, selection: &TestSelection) -> Vec<TestStep> {
    let left =
        |what: &str, why: &str| TestStep { name: what.to_owned(), result: TestStepResult::Skipped(why.to_owned()) };
    let mut parts = vec![left("benchmarks", "they compare speeds and are no tests; `cargo xtask bench` runs them")];
    if selection.agents == AgentSelection::Standard {
        let what = format!("{} for real", agents::EXTRA_AGENTS.agents);
        parts.push(left(&what, "they take minutes; `cargo xtask test --all-agents` runs them"));
    }
    if !CommandLine::parse("unshare --net true").can_run() {
        let why = "networks cannot be made here; the agents are only told to use loopback (root can, on Linux)";
        parts.push(left("real agents in a network of their own", why));
    }
    if runner == TestRunner::Cargo {
        parts.push(left(
            "cargo-nextest",
            "it is not installed; `cargo test` ran the same tests, slower (`cargo install --locked cargo-nextest`)",
        ));
    }
    if !selection.filters.is_empty() {
        parts.push(left(
            "all other tests",
            &format!("only names that contain {} were asked for", selection.filters.join(" or ")),
        ));
    }
    parts
}

fn print_summary(parts: &[TestStep]) {
    out::print_line("");
    for TestStep { name: what, result: came } in parts {
        match came {
            TestStepResult::Passed(time) => out::print_line(&format!("passed   {what}, {}", format_seconds(*time))),
            TestStepResult::Failed(_) => out::print_line(&format!("FAILED   {what}")),
            TestStepResult::Skipped(why) => out::print_line(&format!("not run  {what}: {why}")),
        }
    }
}

fn first_failure(parts: Vec<TestStep>) -> Result<()> {
    let failed = parts.into_iter().find_map(|part| match part.result {
        TestStepResult::Failed(failure) => Some(failure),
        TestStepResult::Passed(_) | TestStepResult::Skipped(_) => None,
    });
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn both_runners_build_the_scripted_agent_and_take_filters() {
        let wish = parse_selection(&to_strings(&["a_claim", "a_check"])).unwrap();
        let expected = "cargo nextest run --workspace --profile ci --features=ralph/testing a_claim a_check";
        assert_eq!(nextest_command(&wish).to_shell_text(), expected);
        let expected = "cargo test --workspace --no-fail-fast --lib --bins --tests --features=ralph/testing -- \
                        a_claim --skip real::more::";
        assert_eq!(cargo_test_command(&wish, wish.filters.first()).to_shell_text(), expected);
    }

    #[test]
    fn all_agents_are_run_where_they_are_asked_for_and_named_where_they_are_not() {
        let all = parse_selection(&to_strings(&["--all-agents"])).unwrap();
        assert!(
            nextest_command(&all).to_shell_text().contains("--profile all-agents"),
            "{}",
            nextest_command(&all).to_shell_text()
        );
        assert!(!cargo_test_command(&all, None).to_shell_text().contains("--skip"));
        let names = |wish: &TestSelection| -> String {
            skipped_steps(TestRunner::Nextest, wish).iter().map(|part| part.name.as_str()).collect()
        };
        assert!(names(&TestSelection::default()).contains("goose"));
        assert!(!names(&all).contains("goose"));
    }

    #[test]
    fn agents_that_could_not_be_installed_fail_the_whole_but_not_a_part_that_was_asked_for() {
        let part =
            |wish: &TestSelection| missing_agents_step(&agents::STANDARD_AGENTS, XtaskError::new("no npm"), wish);
        assert!(first_failure(vec![part(&TestSelection::default())]).is_err());
        assert!(first_failure(vec![part(&parse_selection(&to_strings(&["a_claim"])).unwrap())]).is_ok());
    }

    #[test]
    fn an_option_is_refused_with_a_hint() {
        let said = main(&to_strings(&["--fast"])).unwrap_err().to_string();
        assert!(said.contains("no option --fast\nhint: "), "{said}");
    }

    #[test]
    fn one_failed_part_fails_the_whole() {
        let part = |came| TestStep { name: String::new(), result: came };
        let failed = TestStepResult::Failed(XtaskError::new("cargo ended badly"));
        assert!(first_failure(vec![part(TestStepResult::Passed(Duration::ZERO)), part(failed)]).is_err());
        assert!(
            first_failure(vec![
                part(TestStepResult::Passed(Duration::ZERO)),
                part(TestStepResult::Skipped(String::new()))
            ])
            .is_ok()
        );
    }

    #[test]
    fn every_library_has_its_doc_tests_run() {
        assert!(library_crates().contains(&"ralph-core".to_owned()));
    }
}
