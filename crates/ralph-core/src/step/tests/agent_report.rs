//! Tests of what the agent of a run tells with a tool of ralph.
use alloc::string::ToString;

use proptest::prelude::*;

use super::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks, quiet_report, tool_calling_report,
};
use crate::claim::{SignalCall, ToolSignal, WaitRequest, WaitTime};
use crate::control_command::{AgentReport, ControlCommand};
use crate::event::{EventKind, LoopTimer, StopSignal};
use crate::evidence::Verdict;
use crate::fact::{Fact, ReportKind};
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::prompt::PromptPlan;

/// The reports of random walks.
pub(super) fn any_agent_report() -> impl Strategy<Value = AgentReport> {
    prop_oneof![
        2 => "[a-c]".prop_map(|words| AgentReport::Progress { words }),
        3 => "[a-c]".prop_map(|summary| signal(ToolSignal::Done { summary })),
        1 => "[a-c]".prop_map(|reason| signal(ToolSignal::Blocked { reason })),
        1 => (0..100_000_u64).prop_map(|ms| signal(ToolSignal::Wait {
            request: WaitRequest { time: WaitTime::For { ms }, reason: "the build".into() },
        })),
    ]
}

fn tell(scene: LoopScenario, report: AgentReport) -> LoopScenario {
    scene.play_event(EventKind::command_received(ControlCommand::Report { report }))
}

fn progress(words: &str) -> AgentReport {
    AgentReport::Progress { words: words.to_string() }
}

fn signal(signal: ToolSignal) -> AgentReport {
    AgentReport::Signal { signal }
}

fn done() -> AgentReport {
    signal(ToolSignal::Done { summary: "All parts work.".to_string() })
}

// spec: U8
#[test]
fn a_progress_report_is_recorded_and_changes_nothing_else() {
    let scene = tell(LoopScenario::start_run(Policy::new(3)), progress("2 of 5 files"));
    let fact =
        Fact::AgentReported { iteration: 1, attempt: 1, kind: ReportKind::Progress, words: "2 of 5 files".to_string() };
    assert_eq!(scene.recorded_facts(), [&fact]);
    assert!(matches!(scene.current_phase(), LoopPhase::Working { attempt: 1, .. }));
}

// spec: U8, S4
#[test]
fn a_claim_by_the_tool_starts_the_checks_and_only_they_complete_the_run() {
    let scene = tell(LoopScenario::start_run(policy_with_checks(3)), done());
    assert!(matches!(scene.current_phase(), LoopPhase::Working { .. }), "nothing happens while the agent works");
    let scene = scene.end_attempt(1, 1, tool_calling_report());
    assert!(matches!(scene.current_phase(), LoopPhase::Verifying { .. }));
    let rejected = scene.clone().deliver_verdict(1, 1, Verdict::Rejected);
    assert_eq!((rejected.run_outcome(), rejected.started_attempt()), (None, Some(attempt_key(2, 1))));
    let accepted = scene.deliver_verdict(1, 1, Verdict::Accepted);
    assert_eq!(accepted.run_outcome(), Some(Outcome::Completed));
}

// spec: U8
#[test]
fn a_claim_by_the_tool_completes_a_run_without_checks() {
    let scene = tell(LoopScenario::start_run(Policy::new(3)), done()).end_attempt(1, 1, tool_calling_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::Completed));
    let claim = scene.journal.iter().find_map(|fact| match fact {
        Fact::Claim { claim, .. } => Some(claim.why.clone()),
        _ => None,
    });
    assert_eq!(claim.as_deref(), Some("asserted with the tool claim_completion, and no work followed"));
}

// spec: U8, S13
#[test]
fn a_claim_by_the_tool_that_work_followed_does_not_count_and_the_next_prompt_says_why() {
    let mut report = quiet_report();
    report.reading.signal_call = SignalCall::Followed { by: "Bash".to_string() };
    let scene = tell(LoopScenario::start_run(Policy::new(3)), done()).end_attempt(1, 1, report);
    let Some((PromptPlan::Whole { feedback: Some(feedback) }, ..)) = scene.start_details() else {
        panic!("{:?}", scene.effects)
    };
    assert_eq!(feedback.reason, "the agent used Bash after claim_completion, which must be its last call");
}

// spec: U8
#[test]
fn a_call_that_ralph_has_not_recorded_is_not_a_claim() {
    let scene = LoopScenario::start_run(Policy::new(1)).end_attempt(1, 1, tool_calling_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::Exhausted));
}

// spec: U8, S4
#[test]
fn a_claim_by_the_tool_does_not_outlive_its_attempt() {
    let failed = tell(LoopScenario::start_run(Policy::new(1)), done()).end_attempt(1, 1, crash_report());
    let again = failed.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) });
    assert_eq!(again.started_attempt(), Some(attempt_key(1, 2)));
    assert_eq!(again.end_attempt(1, 2, tool_calling_report()).run_outcome(), Some(Outcome::Exhausted));
}

// spec: U8, L13
#[test]
fn a_claim_by_the_tool_is_forgotten_when_the_attempt_is_repeated_after_a_crash() {
    let scene = tell(LoopScenario::start_run(Policy::new(1)), done()).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    assert_eq!(scene.end_attempt(1, 2, tool_calling_report()).run_outcome(), Some(Outcome::Exhausted));
}

// spec: U8
#[test]
fn an_agent_that_says_blocked_with_the_tool_blocks_the_run() {
    let blocked = signal(ToolSignal::Blocked { reason: "needs STRIPE_KEY".to_string() });
    let scene = tell(LoopScenario::start_run(Policy::new(3)), blocked).end_attempt(1, 1, tool_calling_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::Blocked));
}

// spec: U8, L17
#[test]
fn a_wait_by_the_tool_is_a_wait() {
    let request = WaitRequest { time: WaitTime::For { ms: 600_000 }, reason: "the build".to_string() };
    let scene = tell(LoopScenario::start_run(Policy::new(1)), signal(ToolSignal::Wait { request }));
    let scene = scene.end_attempt(1, 1, tool_calling_report());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "agent.waiting"]);
}

// spec: U8
#[test]
fn the_last_signal_of_the_tools_counts() {
    let blocked = signal(ToolSignal::Blocked { reason: "needs STRIPE_KEY".to_string() });
    let scene = tell(tell(LoopScenario::start_run(Policy::new(3)), blocked), done());
    assert_eq!(scene.end_attempt(1, 1, tool_calling_report()).run_outcome(), Some(Outcome::Completed));
}

// spec: U8
#[test]
fn a_report_counts_only_while_the_agent_works() {
    let verifying = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report());
    let told = tell(verifying.clone(), done());
    assert_eq!((&told.state, told.effects.len()), (&verifying.state, 0), "a judge is not the agent of the run");
    let ended = LoopScenario::start_run(Policy::new(1)).send_signal(StopSignal::Int).send_signal(StopSignal::Int);
    let told = tell(ended.clone(), done());
    assert_eq!(told.state, ended.state);
}

// spec: U8
#[test]
fn an_agent_that_reports_without_end_does_not_fill_the_journal() {
    let mut scene = LoopScenario::start_run(Policy::new(1));
    for _ in 0..300 {
        scene = tell(scene, progress("x"));
    }
    let recorded = scene.journal.iter().filter(|fact| matches!(fact, Fact::AgentReported { .. })).count();
    assert_eq!(recorded, 200);
    let long = tell(LoopScenario::start_run(Policy::new(1)), progress(&"ä".repeat(5_000)));
    let [Fact::AgentReported { words, .. }] = long.recorded_facts()[..] else { panic!("{:?}", long.effects) };
    assert_eq!(words.len(), 2_000);
    let claimed = tell(scene, done()).end_attempt(1, 1, tool_calling_report());
    assert_eq!(claimed.run_outcome(), Some(Outcome::Completed), "it can still say that it is done");
}
