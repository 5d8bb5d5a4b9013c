//! Tests of runs whose agent was not allowed to use a tool.
use alloc::string::ToString;
use alloc::vec::Vec;

use super::builders::{LoopScenario, blocked_report, claiming_report, crash_report, policy_with_checks, quiet_report};
use crate::attempt::AttemptReport;
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::{Policy, RejectTagUse};

fn with_denials(actions: &[&str], report: AttemptReport) -> AttemptReport {
    AttemptReport { denied_actions: actions.iter().map(ToString::to_string).collect(), ..report }
}

// finding: N14
// spec: A11
#[test]
fn a_run_that_ends_without_success_names_what_the_agent_was_not_allowed_to_do() {
    let curl = || with_denials(&["Bash: curl x"], quiet_report());
    let scene = LoopScenario::start_run(Policy::new(1)).end_attempt(1, 1, curl());
    assert_eq!(
        scene.end_reason(),
        "Max iterations reached without completion promise; the agent was not allowed to use Bash: curl x"
    );
    let blocked = with_denials(&["Bash: curl x", "Write: /etc/x", "Bash: rm"], blocked_report("no key"));
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, blocked);
    assert!(scene.end_reason().ends_with("; the agent was not allowed to use Bash: curl x and 2 others"));
    let failing = Policy { max_retries: 0, ..Policy::new(1) };
    let scene =
        LoopScenario::start_run(failing).end_attempt(1, 1, with_denials(&["Bash: a", "Bash: b"], crash_report()));
    assert!(scene.end_reason().ends_with("; the agent was not allowed to use Bash: a and 1 other"));
}

// spec: A11
#[test]
fn the_denials_of_the_last_attempt_that_had_some_are_named_and_all_are_recorded() {
    let scene = LoopScenario::start_run(Policy::new(3))
        .end_attempt(1, 1, with_denials(&["Bash: old"], quiet_report()))
        .end_attempt(2, 1, with_denials(&["Bash: new"], quiet_report()))
        .end_attempt(3, 1, quiet_report());
    assert!(scene.end_reason().ends_with("use Bash: new"), "{}", scene.end_reason());
    let recorded: Vec<_> = scene.recorded_facts();
    let last = recorded.iter().rev().find_map(|fact| match fact {
        Fact::AttemptEnded { result, .. } => Some(&result.denied_actions),
        _ => None,
    });
    assert!(last.is_some_and(Vec::is_empty));
}

// spec: A11
#[test]
fn a_success_and_a_rejection_of_a_judge_do_not_name_denials() {
    let claim = with_denials(&["Bash: curl x"], claiming_report());
    let scene = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, claim);
    let scene = scene.deliver_verdict(1, 1, Verdict::Accepted);
    assert_eq!(scene.run_outcome(), Some(Outcome::Completed));
    assert!(!scene.end_reason().contains("curl"));
    let judging = Policy { judging: RejectTagUse::Yes, ..policy_with_checks(3) };
    let mut report = with_denials(&["Bash: curl x"], quiet_report());
    report.reading.reject = Some("no tests".to_string());
    let scene = LoopScenario::start_run(judging).end_attempt(1, 1, report);
    assert_eq!(scene.end_reason(), "the work is sent back: no tests");
}
