//! One test per sentence about the machine.
use alloc::string::ToString;

use super::scenes::{
    Scene, claims, claims_but_contradicts, crashes, ends, in_session, key, quiet, says_blocked, troubled,
    with_checks,
};
use crate::attempt::{AttemptReport, Ending, ErrorKind, Hope, Stream};
use crate::claim::Nonce;
use crate::effect::Effect;
use crate::event::{EventKind, StopSignal, Timer};
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::outcome::Outcome;
use crate::policy::{Context, NonceUse, Policy, WhenExhausted};
use crate::prompt::PromptPlan;
use crate::state::{Loop, Phase};

fn plan_of(scene: &Scene) -> PromptPlan {
    let plan = scene.effects.iter().find_map(|effect| match effect {
        Effect::StartAgent { plan, .. } => Some(plan.clone()),
        _ => None,
    });
    plan.expect("an agent is started")
}

// spec: L1
#[test]
fn starting_begins_iteration_one_with_its_timers() {
    let scene = Scene::started(Policy::new(3));
    assert_eq!(scene.starts(), Some(key(1, 1)));
    assert_eq!(scene.fact_names(), ["iteration.started", "attempt.started"]);
    let hour = Effect::StartTimer { timer: Timer::Iteration { key: key(1, 1) }, after_ms: 3_600_000 };
    let silence = Effect::StartTimer { timer: Timer::Silence { key: key(1, 1) }, after_ms: 600_000 };
    assert!(scene.does(&hour) && scene.does(&silence));
}

// spec: L1
#[test]
fn a_loop_is_stored_and_read_back_unchanged_in_every_phase() {
    let working = Scene::started(with_checks(3));
    let waiting = Scene::started(with_checks(3)).ended(1, 1, crashes());
    let verifying = Scene::started(with_checks(3)).ended(1, 1, claims());
    let stopping = Scene::started(with_checks(3)).signal(StopSignal::Term);
    let next = Scene::started(with_checks(3)).ended(1, 1, claims()).verified(1, 1, Verdict::Rejected);
    let over = Scene::started(with_checks(1)).ended(1, 1, quiet());
    for scene in [Scene::new(with_checks(3)), working, waiting, verifying, stopping, next, over] {
        let stored = serde_json::to_string(&scene.state).unwrap();
        assert_eq!(serde_json::from_str::<Loop>(&stored).unwrap(), scene.state, "{stored}");
    }
}

// spec: L1, L5
#[test]
fn an_iteration_without_a_claim_is_followed_by_the_next() {
    let scene = Scene::started(Policy::new(3)).ended(1, 1, quiet());
    assert_eq!(scene.starts(), Some(key(2, 1)));
    assert_eq!(
        scene.fact_names(),
        ["attempt.ended", "claim", "iteration.ended", "iteration.started", "attempt.started"]
    );
}

// spec: L2
#[test]
fn a_claim_without_checks_completes_and_says_that_nothing_was_verified() {
    let scene = Scene::started(Policy::new(3)).ended(1, 1, claims());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Completed), Some(0)));
    assert!(scene.reason().contains("nothing was verified"));
}

// spec: L2
#[test]
fn a_claim_alone_never_finishes_a_loop_that_has_checks() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, claims());
    assert_eq!(scene.outcome(), None);
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
}

// spec: L2, V2
#[test]
fn accepted_evidence_completes_the_run() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, claims()).verified(1, 1, Verdict::Accepted);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Completed), Some(0)));
    assert_eq!(scene.fact_names(), ["verdict", "iteration.ended", "run.finished"]);
}

// spec: L4, V2
#[test]
fn rejected_evidence_starts_the_next_iteration_with_the_reason() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, claims()).verified(1, 1, Verdict::Rejected);
    assert_eq!(scene.starts(), Some(key(2, 1)));
    let PromptPlan::Whole { feedback: Some(feedback) } = plan_of(&scene) else { panic!("no feedback") };
    assert_eq!(feedback.reason, "`make test`: Command exited with 1, expected 0");
    assert_eq!(feedback.tail, "1 failed");
}

// spec: L4
#[test]
fn a_continued_session_gets_the_continuation_prompt_from_the_second_iteration_on() {
    let policy = Policy { context: Context::Continue, ..Policy::new(3) };
    let scene = Scene::started(policy);
    assert_eq!(plan_of(&scene), PromptPlan::Whole { feedback: None });
    let scene = scene.ended(1, 1, in_session("s1", quiet()));
    assert_eq!(plan_of(&scene), PromptPlan::Continuation { feedback: None });
}

// spec: L3
#[test]
fn a_claim_on_the_last_allowed_iteration_counts() {
    let scene = Scene::started(with_checks(1)).ended(1, 1, claims());
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
    assert_eq!(scene.verified(1, 1, Verdict::Accepted).outcome(), Some(Outcome::Completed));
}

// spec: L2, L3
#[test]
fn the_limit_stops_the_next_iteration() {
    let scene = Scene::started(Policy::new(2)).ended(1, 1, quiet()).ended(2, 1, quiet());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Exhausted), Some(3)));
    assert_eq!(scene.reason(), "Max iterations reached without completion promise");
    assert_eq!(scene.starts(), None);
}

// spec: C6
#[test]
fn where_the_limit_is_all_that_was_asked_for_reaching_it_is_fine_but_not_complete() {
    let policy = Policy { when_exhausted: WhenExhausted::Fine, ..Policy::new(1) };
    let scene = Scene::started(policy).ended(1, 1, quiet());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Exhausted), Some(0)));
    assert_eq!(scene.reason(), "Max iterations reached without completion promise");
}

// spec: C4, C6
#[test]
fn without_its_plan_a_run_begins_no_iteration() {
    let scene = Scene::new(Policy::new(3)).without_plan().on(EventKind::Started);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(2)));
    assert_eq!(scene.fact_names(), ["run.finished"]);
    assert_eq!(scene.reason(), "Implementation plan not found. Run 'ralph plan' first.");
}

// spec: C4, C6
#[test]
fn a_plan_that_is_gone_stops_the_next_iteration_and_not_the_one_that_has_just_finished() {
    let scene = Scene::started(Policy::new(3)).without_plan();
    let worked = scene.ended(1, 1, quiet());
    assert_eq!(worked.exit_code(), Some(2));
    assert_eq!(worked.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
    let claimed = Scene::started(Policy::new(3)).without_plan().ended(1, 1, claims());
    assert_eq!(claimed.outcome(), Some(Outcome::Completed));
    let limit = Scene::started(Policy::new(1)).without_plan().ended(1, 1, quiet());
    assert_eq!(limit.outcome(), Some(Outcome::Exhausted));
}

// spec: C4, L5
#[test]
fn a_retry_is_no_new_iteration_and_needs_no_plan() {
    let scene = Scene::started(Policy::new(3)).without_plan().ended(1, 1, crashes());
    assert_eq!(scene.fires(Timer::Retry { key: key(1, 2) }).starts(), Some(key(1, 2)));
}

// spec: L3
#[test]
fn a_claim_rejected_on_the_last_iteration_is_the_reason_not_the_limit() {
    let scene = Scene::started(with_checks(1)).ended(1, 1, claims()).verified(1, 1, Verdict::Rejected);
    assert_eq!(scene.outcome(), Some(Outcome::Exhausted));
    assert!(scene.reason().contains("Last verification: `make test`: Command exited with 1"));
}

// spec: S7
#[test]
fn a_claim_that_contradicts_itself_is_rejected_before_any_check_runs() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, claims_but_contradicts());
    assert!(!scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
    let PromptPlan::Whole { feedback: Some(feedback) } = plan_of(&scene) else { panic!("no feedback") };
    assert!(feedback.reason.contains("2 tests fail."));
}

// spec: S6, L2
#[test]
fn an_agent_that_says_blocked_ends_the_run_as_blocked() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, says_blocked("no database key"));
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(6)));
    assert!(scene.reason().contains("no database key"));
}

// spec: L5
#[test]
fn a_failed_attempt_is_retried_within_its_iteration_after_a_pause() {
    let scene = Scene::started(Policy::new(3)).ended(1, 1, crashes());
    assert!(scene.does(&Effect::StartTimer { timer: Timer::Retry { key: key(1, 2) }, after_ms: 1_000 }));
    assert_eq!(scene.starts(), None);
    let scene = scene.fires(Timer::Retry { key: key(1, 2) });
    assert_eq!(scene.starts(), Some(key(1, 2)));
    assert_eq!(plan_of(&scene), PromptPlan::Whole { feedback: None });
}

// spec: L5, L2
#[test]
fn four_failures_in_a_row_end_the_run_as_failed() {
    let mut scene = Scene::started(Policy::new(9));
    for attempt in 1..=3 {
        scene = scene.ended(1, attempt, crashes()).fires(Timer::Retry { key: key(1, attempt + 1) });
    }
    let scene = scene.ended(1, 4, crashes());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.reason(), "the agent failed 4 times in a row: the agent exited with code 1");
}

// spec: L5
#[test]
fn a_good_attempt_resets_the_retries() {
    let scene = Scene::started(Policy::new(9))
        .ended(1, 1, crashes())
        .fires(Timer::Retry { key: key(1, 2) })
        .ended(1, 2, quiet());
    assert_eq!(scene.starts(), Some(key(2, 1)));
    let scene = scene.ended(2, 1, crashes());
    assert!(scene.does(&Effect::StartTimer { timer: Timer::Retry { key: key(2, 2) }, after_ms: 1_000 }));
}

// spec: L5
#[test]
fn every_kind_of_failure_is_retried_while_it_can_improve() {
    let unparsable = AttemptReport { stream: Stream::NotUnderstood, ..quiet() };
    let shot = ends(Ending::Signalled { signal: 9 });
    let unspawned = ends(Ending::NotStarted { why: "busy".to_string(), hope: Hope::Retry });
    for report in
        [crashes(), shot, unspawned, ends(Ending::Unwatched), unparsable, troubled(ErrorKind::Overloaded)]
    {
        let scene = Scene::started(Policy::new(3)).ended(1, 1, report);
        assert!(matches!(scene.phase(), Phase::Waiting { attempt: 2, .. }), "{:?}", scene.phase());
    }
}

// spec: A7, L5
#[test]
fn an_agent_that_used_too_much_memory_has_failed_with_both_numbers_and_is_tried_again() {
    let over = Ending::OverMemory { used_mb: 5210, limit_mb: 4096 };
    let scene = Scene::started(with_checks(3)).ended(1, 1, AttemptReport { ending: over, ..claims() });
    assert!(matches!(scene.phase(), Phase::Waiting { attempt: 2, .. }), "{:?}", scene.phase());
    let reason = scene.facts().into_iter().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("the agent used 5210 MB, more than the 4096 MB allowed"));
}

// spec: A7
#[test]
fn too_much_memory_is_the_reason_whatever_the_agent_reported_before() {
    let over = Ending::OverMemory { used_mb: 2, limit_mb: 1 };
    let report = AttemptReport { ending: over, ..troubled(ErrorKind::Network) };
    let policy = Policy { max_retries: 0, ..Policy::new(3) };
    let scene = Scene::started(policy).ended(1, 1, report);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.reason(), "the agent used 2 MB, more than the 1 MB allowed");
}

// spec: L5
#[test]
fn what_cannot_improve_fails_at_once() {
    let missing = ends(Ending::NotStarted { why: "agent not found".to_string(), hope: Hope::None });
    for report in
        [missing, troubled(ErrorKind::Auth), troubled(ErrorKind::Model), troubled(ErrorKind::Budget)]
    {
        let scene = Scene::started(Policy::new(3)).ended(1, 1, report);
        assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    }
}

// spec: S4
#[test]
fn a_claim_of_an_attempt_that_failed_is_no_claim() {
    let failed = AttemptReport { ending: Ending::Exited { code: 1 }, ..claims() };
    for report in [failed, troubled(ErrorKind::Network)] {
        let scene = Scene::started(with_checks(3)).ended(1, 1, report);
        assert!(!scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
        let claim = scene.facts().into_iter().find_map(|fact| match fact {
            Fact::Claim { claim, .. } => Some(claim.clone()),
            _ => None,
        });
        let claim = claim.expect("the claim is kept");
        assert!(claim.claimed && !claim.accepted && claim.why.contains("the attempt failed"));
    }
}

// spec: S11
#[test]
fn every_claim_is_kept_with_its_reason_accepted_or_not() {
    for (report, word) in [
        (quiet(), "tag"),
        (claims(), "asserted on line 1"),
        (claims_but_contradicts(), "work is open"),
        (crashes(), "tag"),
    ] {
        let scene = Scene::started(with_checks(3)).ended(1, 1, report);
        let why = scene.facts().into_iter().find_map(|fact| match fact {
            Fact::Claim { claim, .. } => Some(claim.why.clone()),
            _ => None,
        });
        assert!(why.clone().expect("kept").contains(word), "{why:?}");
    }
}

// spec: L7
#[test]
fn an_iteration_that_takes_too_long_is_stopped_counts_and_the_loop_goes_on() {
    let scene = Scene::started(Policy::new(3)).fires(Timer::Iteration { key: key(1, 1) });
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    let scene = scene.ended(1, 1, ends(Ending::Signalled { signal: 15 }));
    assert_eq!(scene.starts(), Some(key(2, 1)));
    let status = scene.facts().into_iter().find_map(|fact| match fact {
        Fact::IterationEnded { status, .. } => Some(*status),
        _ => None,
    });
    assert_eq!(status, Some(IterationStatus::TimedOut));
}

// spec: L7
#[test]
fn a_silent_agent_is_stopped_and_its_iteration_counts() {
    let scene = Scene::started(Policy::new(2)).fires(Timer::Silence { key: key(1, 1) });
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    assert_eq!(scene.ended(1, 1, crashes()).starts(), Some(key(2, 1)));
}

// spec: L7
#[test]
fn a_time_out_is_not_retried_and_its_claim_does_not_count() {
    let scene =
        Scene::started(with_checks(3)).fires(Timer::Iteration { key: key(1, 1) }).ended(1, 1, claims());
    assert_eq!(scene.starts(), Some(key(2, 1)));
    assert!(!scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
}

// spec: L7
#[test]
fn an_agent_that_stays_after_its_result_is_stopped_and_its_claim_counts() {
    let scene = Scene::started(with_checks(3)).on(EventKind::ResultSeen { key: key(1, 1) });
    let timer = Timer::AfterResult { key: key(1, 1) };
    assert!(scene.does(&Effect::StartTimer { timer, after_ms: 30_000 }));
    let scene = scene.fires(timer);
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    let killed = AttemptReport { ending: Ending::Signalled { signal: 9 }, ..claims() };
    assert!(scene.ended(1, 1, killed).does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
}

// spec: L7
#[test]
fn new_output_disarms_the_after_result_timer() {
    let scene = Scene::started(Policy::new(3))
        .on(EventKind::ResultSeen { key: key(1, 1) })
        .on(EventKind::SpokeAgain { key: key(1, 1) });
    assert!(scene.does(&Effect::CancelTimer { timer: Timer::AfterResult { key: key(1, 1) } }));
}

// spec: L7
#[test]
fn retries_share_the_time_of_their_iteration() {
    let scene = Scene::started(Policy::new(3)).ended(1, 1, crashes()).at(1_000 + 3_000_000);
    let scene = scene.fires(Timer::Retry { key: key(1, 2) });
    let left = Effect::StartTimer { timer: Timer::Iteration { key: key(1, 2) }, after_ms: 600_000 };
    assert!(scene.does(&left), "{:?}", scene.effects);
    let late = Scene::started(Policy::new(3)).ended(1, 1, crashes()).at(9_000_000);
    assert_eq!(late.fires(Timer::Retry { key: key(1, 2) }).starts(), Some(key(2, 1)));
}

// spec: L12
#[test]
fn the_first_signal_stops_politely_and_ends_as_interrupted() {
    for (signal, code) in [(StopSignal::Int, 130), (StopSignal::Term, 143), (StopSignal::Hangup, 143)] {
        let scene = Scene::started(Policy::new(3)).signal(signal);
        assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
        let scene = scene.ended(1, 1, crashes());
        assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(code)));
        assert_eq!(scene.starts(), None);
    }
}

// spec: L12
#[test]
fn the_second_signal_kills_now() {
    let scene = Scene::started(Policy::new(3)).signal(StopSignal::Int).signal(StopSignal::Int);
    assert!(scene.does(&Effect::KillAgent { key: key(1, 1) }));
}

// spec: L12
#[test]
fn a_signal_while_a_time_out_is_stopping_the_agent_ends_the_run() {
    let scene = Scene::started(Policy::new(3))
        .fires(Timer::Iteration { key: key(1, 1) })
        .signal(StopSignal::Int)
        .ended(1, 1, crashes());
    assert_eq!(scene.outcome(), Some(Outcome::Interrupted));
}

// spec: L12
#[test]
fn a_signal_before_the_start_or_between_attempts_ends_the_run_at_once() {
    assert_eq!(Scene::new(Policy::new(3)).signal(StopSignal::Int).exit_code(), Some(130));
    let waiting = Scene::started(Policy::new(3)).ended(1, 1, crashes());
    assert_eq!(waiting.signal(StopSignal::Term).exit_code(), Some(143));
}

// spec: L12
#[test]
fn a_signal_while_checks_run_is_no_verdict() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, claims()).signal(StopSignal::Int);
    assert!(scene.does(&Effect::StopChecks { key: key(1, 1) }));
    let scene = scene.verified(1, 1, Verdict::Accepted);
    assert_eq!(scene.outcome(), Some(Outcome::Interrupted));
    assert!(!scene.fact_names().contains(&"verdict"));
}

#[test]
fn one_verdict_that_could_not_be_evaluated_goes_on_and_two_in_a_row_are_blocked() {
    let blind = |scene: Scene, iteration| {
        scene.ended(iteration, 1, claims()).verified(iteration, 1, Verdict::CouldNotEvaluate)
    };
    let scene = blind(Scene::started(with_checks(9)), 1);
    assert_eq!(scene.starts(), Some(key(2, 1)));
    let scene = blind(scene, 2);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(6)));
    assert!(scene.reason().contains("exit code 127"));
}

#[test]
fn a_verdict_between_two_blind_ones_starts_the_count_again() {
    let scene = Scene::started(with_checks(9))
        .ended(1, 1, claims())
        .verified(1, 1, Verdict::CouldNotEvaluate)
        .ended(2, 1, claims())
        .verified(2, 1, Verdict::Rejected)
        .ended(3, 1, claims())
        .verified(3, 1, Verdict::CouldNotEvaluate);
    assert_eq!(scene.starts(), Some(key(4, 1)));
}

// spec: L1
#[test]
fn late_events_of_an_earlier_attempt_change_nothing() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, quiet());
    let before = scene.state.clone();
    let late = [
        EventKind::AttemptEnded { key: key(1, 1), report: claims().into() },
        EventKind::ResultSeen { key: key(1, 1) },
        EventKind::Verified { key: key(1, 1), evidence: super::scenes::evidence(Verdict::Accepted) },
        EventKind::TimerFired { timer: Timer::Iteration { key: key(1, 1) } },
        EventKind::TimerFired { timer: Timer::Silence { key: key(1, 1) } },
        EventKind::Started,
    ];
    let scene = late.into_iter().fold(scene, Scene::on);
    assert_eq!(scene.state, before);
}

// spec: S9
#[test]
fn each_iteration_gets_a_new_nonce_and_its_retries_keep_it() {
    let policy = Policy { nonce: NonceUse::EachIteration, ..Policy::new(3) };
    let nonce = |scene: &Scene| {
        scene.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent { nonce, .. } => nonce.clone(),
            _ => None,
        })
    };
    let scene = Scene::started(policy);
    let first = nonce(&scene);
    assert_eq!(first, Some(Nonce::from_dice(u32::MAX)));
    let scene = scene.ended(1, 1, crashes()).fires(Timer::Retry { key: key(1, 2) });
    assert_eq!(nonce(&scene), first);
}

#[test]
fn ground_that_is_gone_ends_the_run_with_exit_code_ten() {
    let scene = Scene::started(Policy::new(3)).on(EventKind::Broken { what: "workspace gone".to_string() });
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    let scene = scene.ended(1, 1, quiet());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(10)));
}

// spec: L2
#[test]
fn every_outcome_has_a_name_that_reads_back() {
    for outcome in Outcome::ALL {
        assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
    }
}
