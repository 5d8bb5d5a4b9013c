//! `RALPH_LOG`: debug output of ralph itself.
use crate::harness::Project;

const SECRET: &str = "canary-9f2c7b1e5d";

// spec: O1
#[test]
fn tracing_is_off_by_default_and_never_mixed_with_data() {
    let project = Project::new();
    let quiet = project.run(&["complete"]).args(["--fresh"]).output().expect(0);
    assert_eq!(quiet.stderr, "");
    let traced = project.run(&["complete"]).args(["--fresh"]).env("RALPH_LOG", "debug").output().expect(0);
    assert_eq!(traced.finished()["outcome"], "completed");
    for words in ["INFO  ralph::commands::trace: ralph starts", "DEBUG ralph_engine::run_driver::", "run.finished"] {
        assert!(traced.stderr.contains(words), "{words:?} is missing in\n{}", traced.stderr);
    }
    assert!(traced.stderr.lines().all(|line| line.contains(" ralph")), "{}", traced.stderr);
}

// spec: O1
#[test]
fn a_level_hides_what_is_below_it_and_an_unknown_one_is_refused() {
    let project = Project::new();
    let traced = project.run(&["complete"]).env("RALPH_LOG", "info").output().expect(0);
    assert!(traced.stderr.contains("INFO") && !traced.stderr.contains("DEBUG"), "{}", traced.stderr);
    let refused = project.ralph(["runs"]).env("RALPH_LOG", "loud").output().expect(64);
    assert!(refused.stderr.contains("hint: choose one of error, warn"), "{}", refused.stderr);
}

// spec: O1, X3
#[test]
fn output_arguments_and_variables_are_not_in_the_debug_log() {
    let project = Project::new();
    let agent = format!("echo {SECRET}; echo {SECRET} >&2; echo {SECRET} >> \"$NOTES_FILE\"");
    let call = project.run_shell(&agent).args(["--check", &format!("echo {SECRET}"), "--max-iterations", "2"]);
    let call = call.args([format!("--agent-arg={SECRET}")]).env("MY_API_KEY", SECRET).env("RALPH_LOG", "trace");
    let answer = call.output().expect(3);
    assert!(answer.stderr.contains("DEBUG"), "{}", answer.stderr);
    assert!(!answer.stderr.contains(SECRET), "{}", answer.stderr);
}
