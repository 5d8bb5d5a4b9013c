//! Tests of iterations: claims, verdicts, limits, timeouts and signals.
use alloc::string::ToString;

use super::builders::{
    LoopScenario, attempt_key, blocked_report, claiming_report, contradicting_report, crash_report, error_report,
    policy_with_checks, quiet_report, report_with_ending, started_event, with_session,
};
use crate::attempt::{AgentErrorKind, AttemptEnding, AttemptReport, ModelSpend};
use crate::claim::PromiseNonce;
use crate::effect::{AgentStart, Effect};
use crate::event::{AgentActivity, EventKind, LoopTimer, StopSignal, WorkEvent};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{LoopPhase, LoopState};
use crate::outcome::Outcome;
use crate::policy::{ContextMode, ExhaustionPolicy, NonceUse, Policy};
use crate::prompt::PromptPlan;

pub(super) fn prompt_plan_of(scene: &LoopScenario) -> PromptPlan {
    let plan = scene.effects.iter().find_map(|effect| match effect {
        Effect::StartAgent(AgentStart { plan, .. }) => Some(plan.clone()),
        _ => None,
    });
    plan.expect("an agent is started")
}

// spec: L1
#[test]
fn the_start_begins_iteration_one_with_its_timers() {
    let scene = LoopScenario::start_run(Policy::new(3));
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 1)));
    assert_eq!(scene.fact_names(), ["run.started", "iteration.started", "attempt.started"]);
    let hour = Effect::StartTimer { timer: LoopTimer::Iteration { key: attempt_key(1, 1) }, after_ms: 3_600_000 };
    let silence = Effect::StartTimer { timer: LoopTimer::Silence { key: attempt_key(1, 1) }, after_ms: 600_000 };
    assert!(scene.has_effect(&hour) && scene.has_effect(&silence));
}

// spec: L1
#[test]
fn a_loop_is_stored_and_read_back_unchanged_in_every_phase() {
    let working = LoopScenario::start_run(policy_with_checks(3));
    let waiting = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, crash_report());
    let verifying = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report());
    let stopping = LoopScenario::start_run(policy_with_checks(3)).send_signal(StopSignal::Term);
    let next = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report()).deliver_verdict(
        1,
        1,
        Verdict::Rejected,
    );
    let over = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, quiet_report());
    for scene in [LoopScenario::new(policy_with_checks(3)), working, waiting, verifying, stopping, next, over] {
        let stored = serde_json::to_string(&scene.state).unwrap();
        assert_eq!(serde_json::from_str::<LoopState>(&stored).unwrap(), scene.state, "{stored}");
    }
}

// spec: L1, L5
#[test]
fn an_iteration_without_a_claim_is_followed_by_the_next_one() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, quiet_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    assert_eq!(
        scene.fact_names(),
        ["attempt.ended", "claim", "iteration.ended", "iteration.started", "attempt.started"]
    );
}

// spec: L2
#[test]
fn a_claim_without_checks_completes_and_says_that_nothing_was_verified() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, claiming_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Completed), Some(0)));
    assert!(scene.end_reason().contains("nothing was verified"));
}

// spec: L2
#[test]
fn a_claim_alone_never_finishes_a_loop_that_has_checks() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report());
    assert_eq!(scene.run_outcome(), None);
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
}

// spec: L2, V2
#[test]
fn accepted_evidence_completes_the_run() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report()).deliver_verdict(
        1,
        1,
        Verdict::Accepted,
    );
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Completed), Some(0)));
    assert_eq!(scene.fact_names(), ["verdict", "iteration.ended", "run.finished"]);
}

// spec: L4, V2
#[test]
fn rejected_evidence_starts_the_next_iteration_with_the_reason() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report()).deliver_verdict(
        1,
        1,
        Verdict::Rejected,
    );
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let PromptPlan::Whole { feedback: Some(feedback) } = prompt_plan_of(&scene) else { panic!("no feedback") };
    assert_eq!(feedback.reason, "`make test`: Command exited with 1, expected 0");
    assert_eq!(feedback.tail, "1 failed");
}

// spec: L4
#[test]
fn a_continued_session_gets_the_continuation_prompt_from_the_second_iteration_on() {
    let policy = Policy { context: ContextMode::Continue, ..Policy::new(3) };
    let scene = LoopScenario::start_run(policy);
    assert_eq!(prompt_plan_of(&scene), PromptPlan::Whole { feedback: None });
    let scene = scene.end_attempt(1, 1, with_session("s1", quiet_report()));
    assert_eq!(prompt_plan_of(&scene), PromptPlan::Continuation { feedback: None });
}

// spec: L3
#[test]
fn a_claim_on_the_last_allowed_iteration_counts() {
    let scene = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, claiming_report());
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Accepted).run_outcome(), Some(Outcome::Completed));
}

// spec: L2, L3
#[test]
fn the_limit_stops_the_next_iteration() {
    let scene =
        LoopScenario::start_run(Policy::new(2)).end_attempt(1, 1, quiet_report()).end_attempt(2, 1, quiet_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Exhausted), Some(3)));
    assert_eq!(scene.end_reason(), "Max iterations reached without completion promise");
    assert_eq!(scene.started_attempt(), None);
}

// spec: C6
#[test]
fn reaching_the_limit_exits_with_zero_if_that_was_requested_but_is_not_complete() {
    let policy = Policy { when_exhausted: ExhaustionPolicy::Fine, ..Policy::new(1) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, quiet_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Exhausted), Some(0)));
    assert_eq!(scene.end_reason(), "Max iterations reached without completion promise");
}

// spec: C4, C6
#[test]
fn a_run_without_its_plan_starts_no_iteration() {
    let scene = LoopScenario::new(Policy::new(3)).without_plan().play_event(started_event());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(2)));
    assert_eq!(scene.fact_names(), ["run.started", "run.finished"]);
    assert_eq!(scene.end_reason(), "Implementation plan not found. Run 'ralph plan' first.");
}

// spec: C4, C6
#[test]
fn a_missing_plan_prevents_the_next_iteration_but_does_not_affect_the_finished_one() {
    let scene = LoopScenario::start_run(Policy::new(3)).without_plan();
    let worked = scene.end_attempt(1, 1, quiet_report());
    assert_eq!(worked.exit_code(), Some(2));
    assert_eq!(worked.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
    let claimed = LoopScenario::start_run(Policy::new(3)).without_plan().end_attempt(1, 1, claiming_report());
    assert_eq!(claimed.run_outcome(), Some(Outcome::Completed));
    let limit = LoopScenario::start_run(Policy::new(1)).without_plan().end_attempt(1, 1, quiet_report());
    assert_eq!(limit.run_outcome(), Some(Outcome::Exhausted));
}

// spec: C4, L5
#[test]
fn a_retry_is_not_a_new_iteration_and_needs_no_plan() {
    let scene = LoopScenario::start_run(Policy::new(3)).without_plan().end_attempt(1, 1, crash_report());
    assert_eq!(
        scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).started_attempt(),
        Some(attempt_key(1, 2))
    );
}

// spec: L3
#[test]
fn a_claim_rejected_on_the_last_iteration_is_the_reason_not_the_limit() {
    let scene = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, claiming_report()).deliver_verdict(
        1,
        1,
        Verdict::Rejected,
    );
    assert_eq!(scene.run_outcome(), Some(Outcome::Exhausted));
    assert!(scene.end_reason().contains("Last verification: `make test`: Command exited with 1"));
}

// spec: S6, L2
#[test]
fn an_agent_that_says_blocked_ends_the_run_as_blocked() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, blocked_report("no database key"));
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(6)));
    assert!(scene.end_reason().contains("no database key"));
}

// spec: S4
#[test]
fn a_claim_of_a_failed_attempt_does_not_count() {
    let failed = AttemptReport { ending: AttemptEnding::Exited { code: 1 }, ..claiming_report() };
    for report in [failed, error_report(AgentErrorKind::Network)] {
        let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, report);
        assert!(!scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
        let claim = scene.recorded_facts().into_iter().find_map(|fact| match fact {
            Fact::Claim { claim, .. } => Some(claim.clone()),
            _ => None,
        });
        let claim = claim.expect("the claim is recorded");
        assert!(claim.claimed && !claim.accepted && claim.why.contains("the attempt failed"));
    }
}

// spec: S11
#[test]
fn every_claim_is_recorded_with_its_reason_accepted_or_not() {
    for (report, word) in [
        (quiet_report(), "tag"),
        (claiming_report(), "asserted on line 1"),
        (contradicting_report(), "work is open"),
        (crash_report(), "tag"),
    ] {
        let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, report);
        let reason = scene.recorded_facts().into_iter().find_map(|fact| match fact {
            Fact::Claim { claim, .. } => Some(claim.why.clone()),
            _ => None,
        });
        assert!(reason.clone().expect("recorded").contains(word), "{reason:?}");
    }
}

// spec: L7
#[test]
fn an_iteration_that_takes_too_long_is_stopped_and_counts_and_the_loop_continues() {
    let scene = LoopScenario::start_run(Policy::new(3)).fire_timer(LoopTimer::Iteration { key: attempt_key(1, 1) });
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let scene = scene.end_attempt(1, 1, report_with_ending(AttemptEnding::Signalled { signal: 15 }));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let status = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::IterationEnded { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(status, Some(IterationStatus::TimedOut));
}

// spec: L7
#[test]
fn a_silent_agent_is_stopped_and_its_iteration_counts() {
    let scene = LoopScenario::start_run(Policy::new(2)).fire_timer(LoopTimer::Silence { key: attempt_key(1, 1) });
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!(scene.end_attempt(1, 1, crash_report()).started_attempt(), Some(attempt_key(2, 1)));
}

// spec: L7
#[test]
fn a_timed_out_iteration_is_not_retried_and_its_claim_does_not_count() {
    let scene = LoopScenario::start_run(policy_with_checks(3))
        .fire_timer(LoopTimer::Iteration { key: attempt_key(1, 1) })
        .end_attempt(1, 1, claiming_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    assert!(!scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
}

// spec: L7
#[test]
fn an_agent_that_does_not_exit_after_its_result_is_stopped_and_its_claim_counts() {
    let scene = LoopScenario::start_run(policy_with_checks(3))
        .play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::ResultSeen });
    let timer = LoopTimer::AfterResult { key: attempt_key(1, 1) };
    assert!(scene.has_effect(&Effect::StartTimer { timer, after_ms: 30_000 }));
    let scene = scene.fire_timer(timer);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let killed = AttemptReport { ending: AttemptEnding::Signalled { signal: 9 }, ..claiming_report() };
    assert!(scene.end_attempt(1, 1, killed).has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
}

// spec: L7
#[test]
fn new_output_cancels_the_after_result_timer() {
    let scene = LoopScenario::start_run(Policy::new(3))
        .play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::ResultSeen })
        .play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::OutputResumed });
    assert!(scene.has_effect(&Effect::CancelTimer { timer: LoopTimer::AfterResult { key: attempt_key(1, 1) } }));
}

// spec: L7
#[test]
fn retries_share_the_timeout_of_their_iteration() {
    let scene = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, crash_report()).set_time(1_000 + 3_000_000);
    let scene = scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) });
    let left = Effect::StartTimer { timer: LoopTimer::Iteration { key: attempt_key(1, 2) }, after_ms: 600_000 };
    assert!(scene.has_effect(&left), "{:?}", scene.effects);
    let late = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, crash_report()).set_time(9_000_000);
    assert_eq!(late.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).started_attempt(), Some(attempt_key(2, 1)));
}

// spec: L12
#[test]
fn the_first_signal_stops_the_agent_gracefully_and_the_run_ends_as_interrupted() {
    for (signal, code) in [(StopSignal::Int, 130), (StopSignal::Term, 143), (StopSignal::Hangup, 143)] {
        let scene = LoopScenario::start_run(Policy::new(3)).send_signal(signal);
        assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
        let scene = scene.end_attempt(1, 1, crash_report());
        assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(code)));
        assert_eq!(scene.started_attempt(), None);
    }
}

// spec: L12
#[test]
fn the_second_signal_kills_the_agent() {
    let scene = LoopScenario::start_run(Policy::new(3)).send_signal(StopSignal::Int).send_signal(StopSignal::Int);
    assert!(scene.has_effect(&Effect::KillAgent { key: attempt_key(1, 1) }));
}

// spec: L12
#[test]
fn a_signal_while_a_timeout_stops_the_agent_ends_the_run() {
    let scene = LoopScenario::start_run(Policy::new(3))
        .fire_timer(LoopTimer::Iteration { key: attempt_key(1, 1) })
        .send_signal(StopSignal::Int)
        .end_attempt(1, 1, crash_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::Interrupted));
}

// spec: L12
#[test]
fn a_signal_before_the_start_or_between_attempts_ends_the_run_immediately() {
    assert_eq!(LoopScenario::new(Policy::new(3)).send_signal(StopSignal::Int).exit_code(), Some(130));
    let waiting = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, crash_report());
    assert_eq!(waiting.send_signal(StopSignal::Term).exit_code(), Some(143));
}

// spec: L12
#[test]
fn a_signal_while_checks_run_gives_no_verdict() {
    let scene = LoopScenario::start_run(policy_with_checks(3))
        .end_attempt(1, 1, claiming_report())
        .send_signal(StopSignal::Int);
    assert!(scene.has_effect(&Effect::StopChecks { key: attempt_key(1, 1) }));
    let scene = scene.deliver_verdict(1, 1, Verdict::Accepted);
    assert_eq!(scene.run_outcome(), Some(Outcome::Interrupted));
    assert!(!scene.fact_names().contains(&"verdict"));
}

#[test]
fn the_run_continues_after_one_unevaluated_verdict_and_is_blocked_after_two_in_a_row() {
    let verify = |scene: LoopScenario, iteration| {
        scene.end_attempt(iteration, 1, claiming_report()).deliver_verdict(iteration, 1, Verdict::CouldNotEvaluate)
    };
    let scene = verify(LoopScenario::start_run(policy_with_checks(9)), 1);
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let scene = verify(scene, 2);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(6)));
    assert!(scene.end_reason().contains("exit code 127"));
}

#[test]
fn a_verdict_between_two_unevaluated_ones_resets_the_count() {
    let scene = LoopScenario::start_run(policy_with_checks(9))
        .end_attempt(1, 1, claiming_report())
        .deliver_verdict(1, 1, Verdict::CouldNotEvaluate)
        .end_attempt(2, 1, claiming_report())
        .deliver_verdict(2, 1, Verdict::Rejected)
        .end_attempt(3, 1, claiming_report())
        .deliver_verdict(3, 1, Verdict::CouldNotEvaluate);
    assert_eq!(scene.started_attempt(), Some(attempt_key(4, 1)));
}

// spec: L1
#[test]
fn late_events_of_an_earlier_attempt_change_nothing() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, quiet_report());
    let before = scene.state.clone();
    let late = [
        EventKind::Work(WorkEvent::AttemptEnded { key: attempt_key(1, 1), report: claiming_report().into() }),
        EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::ResultSeen },
        EventKind::Work(WorkEvent::Verified {
            key: attempt_key(1, 1),
            evidence: super::builders::evidence_with_verdict(Verdict::Accepted),
            snapshot: None,
            tree_after_checks: None,
        }),
        EventKind::TimerFired { timer: LoopTimer::Iteration { key: attempt_key(1, 1) }, quiet_ms: None },
        EventKind::TimerFired { timer: LoopTimer::Silence { key: attempt_key(1, 1) }, quiet_ms: None },
        started_event(),
    ];
    let scene = late.into_iter().fold(scene, LoopScenario::play_event);
    assert_eq!(scene.state, before);
}

// spec: S9
#[test]
fn each_iteration_gets_a_new_nonce_and_its_retries_keep_it() {
    let policy = Policy { nonce: NonceUse::EachIteration, ..Policy::new(3) };
    let nonce = |scene: &LoopScenario| {
        scene.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent(AgentStart { nonce, .. }) => nonce.clone(),
            _ => None,
        })
    };
    let scene = LoopScenario::start_run(policy);
    let first = nonce(&scene);
    assert_eq!(first, Some(PromiseNonce::from_random(u32::MAX)));
    let scene = scene.end_attempt(1, 1, crash_report()).fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) });
    assert_eq!(nonce(&scene), first);
}

#[test]
fn an_unusable_work_tree_ends_the_run_with_exit_code_ten() {
    let scene = LoopScenario::start_run(Policy::new(3)).play_event(EventKind::broken("workspace gone".to_string()));
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(10)));
}

// spec: L2
#[test]
fn every_outcome_can_be_parsed_from_its_name() {
    for outcome in Outcome::ALL {
        assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
    }
}

fn fire_timer(scene: LoopScenario, timer: LoopTimer, quiet_ms: u64) -> LoopScenario {
    scene.play_event(EventKind::TimerFired { timer, quiet_ms: Some(quiet_ms) })
}

// spec: L7
#[test]
fn silence_is_counted_from_the_last_output() {
    let timer = LoopTimer::Silence { key: attempt_key(1, 1) };
    let scene = fire_timer(LoopScenario::start_run(Policy::new(3)), timer, 60_000);
    assert_eq!(scene.effects.last(), Some(&Effect::StartTimer { timer, after_ms: 9 * 60_000 }));
    assert!(matches!(scene.state.phase, LoopPhase::Working { .. }));
    let scene = fire_timer(scene, timer, 10 * 60_000);
    assert!(matches!(scene.state.phase, LoopPhase::Stopping { .. }));
}

// spec: L7
#[test]
fn an_agent_that_has_not_repeated_a_request_for_a_while_may_work_on() {
    let timer = LoopTimer::Repeating { key: attempt_key(1, 1) };
    let scene = fire_timer(LoopScenario::start_run(Policy::new(3)), timer, 3 * 60_000);
    assert_eq!(scene.effects.last(), Some(&Effect::StartTimer { timer, after_ms: 150_000 }));
    let scene = fire_timer(scene, timer, 1_000);
    assert!(matches!(scene.state.phase, LoopPhase::Stopping { .. }));
}

// spec: V3, V7
// finding: N18
#[test]
fn a_failed_judge_blocks_the_run_at_once_because_the_agent_cannot_change_it() {
    let judged = |spend| {
        let check = CheckEvidence::without_output(
            EvidenceKind::Semantic,
            "1 judged criterion".to_string(),
            Verdict::CouldNotEvaluate,
            "the judge failed".to_string(),
        );
        let evidence = Evidence { checks: alloc::vec![CheckEvidence { spend, ..check }] };
        let scene = LoopScenario::start_run(policy_with_checks(5)).end_attempt(1, 1, claiming_report());
        let key = attempt_key(1, 1);
        let verified = WorkEvent::Verified { key, evidence, snapshot: None, tree_after_checks: None };
        scene.play_event(EventKind::Work(verified))
    };
    assert_eq!(judged(Some(ModelSpend::default())).run_outcome(), Some(Outcome::Blocked));
    assert_eq!(judged(None).run_outcome(), None, "the judge was not asked: the agent may have caused it");
}
