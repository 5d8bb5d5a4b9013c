//! Tests of supervised process trees with real programs.
//! By hand instead of the test harness because the keeper must be forked before the first thread.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test runner reports on stdout")]

mod combined_kills;
mod fixture;
mod helper_process;
mod job_commands;
mod job_exit;
mod memory_limit;
mod program_environment;
mod single_kills;
mod spawn_errors;
mod supervisor_reuse;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::time::Duration;

use ralph_process::Keeper;

use fixture::Fixture;

type TestFuture = Pin<Box<dyn Future<Output = ()>>>;

struct TestCase {
    name: &'static str,
    run: fn(Fixture) -> TestFuture,
}

/// Lists the test cases of a file.
macro_rules! test_cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TEST_CASES: &[crate::TestCase] =
            &[$(crate::TestCase { name: stringify!($name), run: |fixture| Box::pin($name(fixture)) }),*];
    };
}
pub(crate) use test_cases;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == helper_process::FLAG
    {
        return helper_process::run(rest);
    }
    let selected = select_test_cases(&arguments);
    if arguments.iter().any(|argument| argument == "--list") {
        return list_test_cases(&arguments, &selected);
    }
    run_test_cases(&selected)
}

fn select_test_cases(arguments: &[String]) -> Vec<&'static TestCase> {
    let all = [
        combined_kills::TEST_CASES,
        job_commands::TEST_CASES,
        job_exit::TEST_CASES,
        memory_limit::TEST_CASES,
        program_environment::TEST_CASES,
        single_kills::TEST_CASES,
        spawn_errors::TEST_CASES,
        supervisor_reuse::TEST_CASES,
    ];
    let filter = arguments.iter().find(|argument| !argument.starts_with('-') && *argument != "terse");
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let matches_filter = |test: &&TestCase| match filter {
        Some(filter) if exact => test.name == filter,
        Some(filter) => test.name.contains(filter.as_str()),
        None => true,
    };
    all.into_iter().flatten().filter(matches_filter).collect()
}

fn list_test_cases(arguments: &[String], selected: &[&TestCase]) -> ExitCode {
    // No test is ignored, and a runner lists ignored tests separately.
    if !arguments.iter().any(|argument| argument == "--ignored") {
        selected.iter().for_each(|test| println!("{}: test", test.name));
    }
    ExitCode::SUCCESS
}

/// Runs each test in a separate process, so that they cannot affect each other.
fn run_test_cases(selected: &[&TestCase]) -> ExitCode {
    if let [test] = selected {
        return run_test_case(test);
    }
    let own = std::env::current_exe().unwrap();
    let passes = |test: &&&TestCase| Command::new(&own).args([test.name, "--exact"]).status().unwrap().success();
    let passed = selected.iter().filter(passes).count();
    let failed = selected.len() - passed;
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_test_case(test: &TestCase) -> ExitCode {
    // Simulates a descriptor that ralph inherited: it must not reach a job.
    let _inherited = rustix::io::dup(std::io::stdout()).unwrap();
    let keeper = Keeper::start().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let fixture = Fixture::new(&keeper);
    let run_id = fixture.run_id.clone();
    let future = (test.run)(fixture);
    let result =
        catch_unwind(AssertUnwindSafe(|| runtime.block_on(async { tokio::time::timeout(TEST_TIMEOUT, future).await })));
    let ok = matches!(result, Ok(Ok(())));
    if !ok {
        // A failed test must not leave processes behind either.
        drop(ralph_process::kill_run_processes(&run_id));
    }
    println!("test {} ... {}", test.name, if ok { "ok" } else { "FAILED" });
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
