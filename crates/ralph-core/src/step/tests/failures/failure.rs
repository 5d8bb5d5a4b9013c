//! Tests of failing agents: at startup, in a shell, by a signal.
use crate::attempt::{AttemptEnding, AttemptReport};
use crate::effect::Effect;
use crate::event::LoopTimer;
use crate::fact::Fact;
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::step::tests::builders::{LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks};

// fault: 32
// spec: L5
#[test]
fn an_agent_that_always_exits_immediately_is_reported_to_fail_at_startup() {
    let dies = || {
        let mut report = AttemptReport { lived_ms: 40, ..crash_report() };
        report.reading.final_text.clear();
        report
    };
    let mut scene = LoopScenario::start_run(Policy::new(9));
    for (attempt, after_ms) in [(1, 1_000), (2, 2_000), (3, 4_000)] {
        let timer = LoopTimer::Retry { key: attempt_key(1, attempt + 1) };
        scene = scene.end_attempt(1, attempt, dies());
        assert!(scene.has_effect(&Effect::StartTimer { timer, after_ms }), "the delays grow");
        scene = scene.fire_timer(timer);
    }
    let scene = scene.end_attempt(1, 4, dies());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.end_reason(), "the agent failed at startup 4 times in a row: the agent exited with code 1");
}

// finding: N37
// spec: L5
#[test]
fn an_agent_that_did_some_work_did_not_fail_at_startup() {
    let mut idle = AttemptReport { lived_ms: 40, ..crash_report() };
    idle.reading.final_text.clear();
    assert!(idle.has_ended_at_startup());
    assert!(!AttemptReport { has_changed_files: Some(true), ..idle.clone() }.has_ended_at_startup());
    assert!(!AttemptReport { lived_ms: 40, ..crash_report() }.has_ended_at_startup(), "it wrote text");
    assert!(!AttemptReport { lived_ms: 60_000, ..idle }.has_ended_at_startup());
}

// fault: 31
// spec: L5
#[test]
fn a_command_that_the_shell_could_not_start_is_not_retried() {
    for (code, problem) in [(126, "a command cannot be executed"), (127, "a command is not found")] {
        let report = AttemptReport { ending: AttemptEnding::Exited { code }, ..claiming_report() };
        let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, report);
        assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
        assert!(scene.end_reason().contains(problem), "{}", scene.end_reason());
    }
}

// fault: 33
// spec: S4, L5
#[test]
fn an_agent_killed_by_a_signal_has_failed_even_if_it_claimed_completion() {
    let report = AttemptReport { ending: AttemptEnding::Signalled { signal: 9 }, ..claiming_report() };
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, report);
    assert!(matches!(scene.current_phase(), LoopPhase::Waiting { attempt: 2, .. }), "the policy decides");
    let reason = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.unwrap().starts_with("the agent was killed by signal 9 (SIGKILL)"));
}
