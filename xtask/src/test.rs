//! `cargo xtask test [--all-agents] [FILTER…]`: runs all tests of the repository and prints a summary of passed, failed
//! and skipped steps. It requires Rust, git, npm and tmux, and on Linux strace; it tries to install tmux and strace.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::agents;
use crate::browser::{self, CHROMIUM_VARIABLE};
use crate::command_line::{CommandLine, format_seconds};
use crate::error::{Result, XtaskError};
use crate::out;

/// Builds the scripted agent, which only tests need.
const TEST_FEATURES: &str = "--features=ralph/testing";

/// The module of the tests that only `--all-agents` runs. `.config/nextest.toml` has the same filter.
const EXTRA_AGENT_TESTS: &str = "real::more::";

const GIT_HINT: &str = "install it: `apt-get install git` (Debian, Ubuntu), `dnf install git` (Fedora), \
                        `apk add git` (Alpine), `xcode-select --install` (macOS)";

const TMUX_HINT: &str =
    "install it: `apt-get install tmux` (Debian, Ubuntu), `dnf install tmux` (Fedora), `brew install tmux` (macOS)";
const STRACE_HINT: &str = "install it: `apt-get install strace` (Debian, Ubuntu), `dnf install strace` (Fedora), \
                           `apk add strace` (Alpine)";

/// The program that runs the tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TestRunner {
    Nextest,
    Cargo,
}

/// A line of the summary.
struct TestStep {
    name: String,
    result: TestStepResult,
}

enum TestStepResult {
    Passed(Duration),
    Failed(XtaskError),
    /// The step did not run, for this reason.
    Skipped(String),
}

/// The selected tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestSelection {
    /// Substrings of test names; empty for all tests.
    filters: Vec<String>,
    agents: AgentSelection,
}

/// The real agents to test.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AgentSelection {
    #[default]
    Standard,
    All,
}

/// Environment variables and folders of the installed agents.
type InstalledAgents = Vec<(&'static str, PathBuf)>;

pub(crate) fn main(args: &[String]) -> Result<()> {
    run_selected_tests(&parse_selection(args)?)
}

fn parse_selection(args: &[String]) -> Result<TestSelection> {
    let (options, filters): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|arg| arg.starts_with('-'));
    let mut selection = TestSelection { filters, ..TestSelection::default() };
    for option in options {
        if option != "--all-agents" {
            return Err(XtaskError::new(format!("unknown option {option} for test"))
                .with_hint("use --all-agents, or substrings of test names"));
        }
        selection.agents = AgentSelection::All;
    }
    Ok(selection)
}

/// Runs the selected tests and prints the summary.
pub(crate) fn run_selected_tests(selection: &TestSelection) -> Result<()> {
    require_git()?;
    require_strace()?;
    require_tmux()?;
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
    let sets = match selection.agents {
        AgentSelection::Standard => agents::STANDARD_PACKAGES,
        AgentSelection::All => agents::ALL_PACKAGES,
    };
    let (mut installed, mut parts) = (InstalledAgents::new(), Vec::new());
    for set in sets {
        match agents::install_package(set) {
            Ok(folder) => installed.push((set.variable, folder)),
            Err(failure) => parts.push(missing_agents_step(set.agents, failure, selection)),
        }
    }
    match browser::require_chromium() {
        Ok(program) => installed.push((CHROMIUM_VARIABLE, program)),
        Err(failure) => parts.push(missing_agents_step("Chromium", failure, selection)),
    }
    (installed, parts)
}

/// With a filter, missing agents are not a failure, because the selected tests may not need them.
fn missing_agents_step(name: &str, failure: XtaskError, selection: &TestSelection) -> TestStep {
    let result = if selection.filters.is_empty() {
        TestStepResult::Failed(failure)
    } else {
        TestStepResult::Skipped(format!("{failure}"))
    };
    TestStep { name: format!("installation of {name}"), result }
}

fn require_git() -> Result<()> {
    if CommandLine::parse("git --version").can_run() {
        return Ok(());
    }
    Err(XtaskError::new("the tests need git, but it is not on PATH").with_hint(GIT_HINT))
}

/// Installs strace if possible. The tests of all kill points need it.
fn require_strace() -> Result<()> {
    let is_installed = || CommandLine::parse("strace -V").can_run();
    if !cfg!(target_os = "linux") || is_installed() {
        return Ok(());
    }
    // Only root can install; other users get the hint.
    let installed = CommandLine::parse("apt-get install --yes strace").run_visibly();
    if installed.is_ok() && is_installed() {
        return Ok(());
    }
    Err(XtaskError::new("the tests need strace, but it could not be installed").with_hint(STRACE_HINT))
}

/// Installs tmux if possible. The tests of the board run it there.
fn require_tmux() -> Result<()> {
    let is_installed = || CommandLine::parse("tmux -V").can_run();
    if is_installed() {
        return Ok(());
    }
    // Only root can install; other users get the hint.
    let installed = CommandLine::parse("apt-get install --yes tmux").run_visibly();
    if installed.is_ok() && is_installed() {
        return Ok(());
    }
    Err(XtaskError::new("the tests need tmux, but it could not be installed").with_hint(TMUX_HINT))
}

fn run_workspace_tests(runner: TestRunner, selection: &TestSelection, installed: &InstalledAgents) -> Vec<TestStep> {
    let lines = match runner {
        TestRunner::Nextest => vec![nextest_command(selection)],
        TestRunner::Cargo if selection.filters.is_empty() => vec![cargo_test_command(selection, None)],
        // `cargo test` accepts one filter at a time.
        TestRunner::Cargo => {
            selection.filters.iter().map(|filter| cargo_test_command(selection, Some(filter))).collect()
        }
    };
    let with_agents = |line: CommandLine| {
        installed.iter().fold(line, |line, (name, folder)| line.env(name, folder.display().to_string()))
    };
    lines.into_iter().map(|line| run_test_step("tests of the workspace", &with_agents(line))).collect()
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
    // Doc tests run separately, so that both runners do the same.
    let line =
        CommandLine::parse("cargo test --workspace --no-fail-fast --lib --bins --tests").args([TEST_FEATURES, "--"]);
    let line = line.args(filter);
    match selection.agents {
        AgentSelection::Standard => line.args(["--skip", EXTRA_AGENT_TESTS]),
        AgentSelection::All => line,
    }
}

fn run_doc_tests(filters: &[String]) -> TestStep {
    if !filters.is_empty() {
        let reason = "they run only without a filter".to_owned();
        return TestStep { name: "doc tests".to_owned(), result: TestStepResult::Skipped(reason) };
    }
    run_test_step("doc tests", &CommandLine::parse("cargo test --doc --quiet --workspace --exclude xtask"))
}

fn run_test_step(name: &str, line: &CommandLine) -> TestStep {
    out::print_line(&format!("$ {}", line.to_shell_text()));
    let started = Instant::now();
    let result = match line.run_visibly() {
        Ok(()) => TestStepResult::Passed(started.elapsed()),
        Err(failure) => TestStepResult::Failed(failure),
    };
    TestStep { name: format!("{name} ({})", line.to_shell_text()), result }
}

fn skipped_steps(runner: TestRunner, selection: &TestSelection) -> Vec<TestStep> {
    let skipped =
        |what: &str, why: &str| TestStep { name: what.to_owned(), result: TestStepResult::Skipped(why.to_owned()) };
    let mut parts = vec![skipped("benchmarks", "not tests; run `cargo xtask bench`")];
    if selection.agents == AgentSelection::Standard {
        let name = format!("{} (real agents)", agents::EXTRA_AGENTS.agents);
        parts.push(skipped(&name, "they take minutes; run `cargo xtask test --all-agents`"));
    }
    if !CommandLine::parse("unshare --net true").can_run() {
        let reason =
            "network namespaces are not available; the agents are configured to use loopback (needs root on Linux)";
        parts.push(skipped("real agents in a separate network", reason));
    }
    if runner == TestRunner::Cargo {
        parts.push(skipped(
            "cargo-nextest",
            "not installed; `cargo test` ran the same tests, slower (`cargo install --locked cargo-nextest`)",
        ));
    }
    if !selection.filters.is_empty() {
        parts.push(skipped(
            "all other tests",
            &format!("only tests with {} in their name were selected", selection.filters.join(" or ")),
        ));
    }
    parts
}

fn print_summary(parts: &[TestStep]) {
    out::print_line("");
    for TestStep { name: what, result } in parts {
        match result {
            TestStepResult::Passed(time) => out::print_line(&format!("passed   {what}, {}", format_seconds(*time))),
            TestStepResult::Failed(_) => out::print_line(&format!("FAILED   {what}")),
            TestStepResult::Skipped(reason) => out::print_line(&format!("skipped  {what}: {reason}")),
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
        let selection = parse_selection(&to_strings(&["a_claim", "a_check"])).unwrap();
        let expected = "cargo nextest run --workspace --profile ci --features=ralph/testing a_claim a_check";
        assert_eq!(nextest_command(&selection).to_shell_text(), expected);
        let expected = "cargo test --workspace --no-fail-fast --lib --bins --tests --features=ralph/testing -- \
                        a_claim --skip real::more::";
        assert_eq!(cargo_test_command(&selection, selection.filters.first()).to_shell_text(), expected);
    }

    #[test]
    fn extra_agents_run_on_request_and_are_otherwise_reported_as_skipped() {
        let all = parse_selection(&to_strings(&["--all-agents"])).unwrap();
        assert!(
            nextest_command(&all).to_shell_text().contains("--profile all-agents"),
            "{}",
            nextest_command(&all).to_shell_text()
        );
        assert!(!cargo_test_command(&all, None).to_shell_text().contains("--skip"));
        let names = |selection: &TestSelection| -> String {
            skipped_steps(TestRunner::Nextest, selection).iter().map(|part| part.name.as_str()).collect()
        };
        assert!(names(&TestSelection::default()).contains("goose"));
        assert!(!names(&all).contains("goose"));
    }

    #[test]
    fn missing_agents_fail_a_full_run_but_not_a_filtered_one() {
        let part = |selection: &TestSelection| missing_agents_step("claude", XtaskError::new("no npm"), selection);
        assert!(first_failure(vec![part(&TestSelection::default())]).is_err());
        assert!(first_failure(vec![part(&parse_selection(&to_strings(&["a_claim"])).unwrap())]).is_ok());
    }

    #[test]
    fn an_option_is_refused_with_a_hint() {
        let message = main(&to_strings(&["--fast"])).unwrap_err().to_string();
        assert!(message.contains("unknown option --fast for test\nhint: "), "{message}");
    }

    #[test]
    fn one_failed_step_fails_the_run() {
        let part = |result| TestStep { name: String::new(), result };
        let failed = TestStepResult::Failed(XtaskError::new("cargo failed"));
        assert!(first_failure(vec![part(TestStepResult::Passed(Duration::ZERO)), part(failed)]).is_err());
        assert!(
            first_failure(vec![
                part(TestStepResult::Passed(Duration::ZERO)),
                part(TestStepResult::Skipped(String::new()))
            ])
            .is_ok()
        );
    }
}
