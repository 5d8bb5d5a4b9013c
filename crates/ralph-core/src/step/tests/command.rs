//! Tests of cancel, pause, resume and guidance from another process.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks, prepared_event, quiet_report,
    rate_limited_report, started_event,
};
use crate::attempt::AttemptEnding;
use crate::budget::Budget;
use crate::control_command::{ControlCommand, PauseTiming};
use crate::effect::{AgentStart, Effect};
use crate::event::{AttemptKey, EventKind, LifecycleEvent, LoopTimer, RunControl, StopSignal};
use crate::evidence::Verdict;
use crate::fact::{Fact, NextStep};
use crate::loop_state::LoopPhase;
use crate::outcome::{CancelCause, Outcome};
use crate::policy::Policy;

impl LoopScenario {
    fn send_command(self, command: ControlCommand) -> Self {
        self.play_event(EventKind::Control(RunControl::CommandReceived { command }))
    }

    fn send_cancel(self) -> Self {
        self.send_command(ControlCommand::Cancel)
    }

    fn send_pause(self, when: PauseTiming) -> Self {
        self.send_command(ControlCommand::Pause { when })
    }

    fn send_resume(self) -> Self {
        self.send_command(ControlCommand::Resume)
    }

    fn send_guidance(self, words: &str) -> Self {
        self.send_command(ControlCommand::Guide { words: words.to_string() })
    }

    fn is_paused(&self) -> bool {
        matches!(self.current_phase(), LoopPhase::Paused { .. })
    }

    fn prompt_guidance(&self) -> Option<Vec<String>> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent(AgentStart { guidance, .. }) => Some(guidance.clone()),
            _ => None,
        })
    }
}

fn working_run() -> LoopScenario {
    LoopScenario::start_run(Policy::new(3))
}

fn run_in_checks() -> LoopScenario {
    LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report())
}

fn run_in_preparation() -> LoopScenario {
    LoopScenario::new(policy_with_checks(3)).play_event(started_event())
}

fn run_before_retry() -> LoopScenario {
    working_run().end_attempt(1, 1, crash_report())
}

fn rate_limited_run() -> LoopScenario {
    working_run().end_attempt(1, 1, rate_limited_report(Some(3_600_000)))
}

fn terminated_report() -> crate::attempt::AttemptReport {
    super::builders::report_with_ending(AttemptEnding::Signalled { signal: 15 })
}

// spec: L11, L2
#[test]
fn a_cancel_stops_the_agent_gracefully_and_ends_the_run_when_it_has_exited() {
    let scene = working_run().send_cancel();
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!((scene.run_outcome(), scene.fact_names()), (None, Vec::from(["stop.requested"])));
    let scene = scene.end_attempt(1, 1, terminated_report());
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Cancelled), Some(9)));
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
    assert!(!scene.state.can_resume());
}

// spec: L11
#[test]
fn a_cancel_kills_the_checks_and_their_verdict_does_not_count() {
    let scene = run_in_checks().send_cancel();
    assert!(scene.has_effect(&Effect::StopChecks { key: attempt_key(1, 1) }));
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Accepted).run_outcome(), Some(Outcome::Cancelled));
    let scene = run_in_preparation().send_cancel();
    assert!(scene.has_effect(&Effect::StopChecks { key: AttemptKey::PREPARATION }));
    assert_eq!(scene.finish_preparation(Verdict::Rejected).run_outcome(), Some(Outcome::Cancelled));
}

// spec: L11
#[test]
fn a_cancel_ends_the_run_immediately_if_neither_agent_nor_checks_are_running() {
    let between = working_run().send_pause(PauseTiming::Idle).end_attempt(1, 1, quiet_report());
    let paused = working_run().send_pause(PauseTiming::Now).end_attempt(1, 1, terminated_report());
    for scene in [LoopScenario::new(Policy::new(3)), run_before_retry(), rate_limited_run(), between, paused] {
        let scene = scene.send_cancel();
        assert_eq!(scene.run_outcome(), Some(Outcome::Cancelled), "{:?}", scene.current_phase());
        assert!(scene.has_effect(&Effect::Finish));
    }
}

// spec: L11, L12
#[test]
fn a_second_cancel_changes_nothing_and_a_signal_after_it_kills_the_agent() {
    let scene = working_run().send_cancel();
    let before = scene.state.clone();
    let scene = scene.send_cancel();
    assert_eq!((&scene.state, scene.effects.len()), (&before, 0));
    assert!(scene.current_phase().next_signal_kills());
    let scene = scene.send_signal(StopSignal::Int);
    assert!(scene.has_effect(&Effect::KillAgent { key: attempt_key(1, 1) }));
    assert_eq!(scene.end_attempt(1, 1, terminated_report()).run_outcome(), Some(Outcome::Cancelled));
}

// spec: L11
#[test]
fn a_cancel_overrides_every_other_stop() {
    let timed_out = working_run().fire_timer(LoopTimer::Iteration { key: attempt_key(1, 1) });
    let interrupted = working_run().send_signal(StopSignal::Int);
    let pausing = working_run().send_pause(PauseTiming::Now);
    for scene in [timed_out, interrupted, pausing] {
        let scene = scene.send_cancel();
        assert_eq!(scene.fact_names(), ["stop.requested"]);
        assert_eq!(scene.end_attempt(1, 1, terminated_report()).run_outcome(), Some(Outcome::Cancelled));
    }
    let checks = run_in_checks().send_signal(StopSignal::Int).send_cancel().deliver_verdict(1, 1, Verdict::Accepted);
    assert_eq!(checks.run_outcome(), Some(Outcome::Cancelled));
}

// spec: L11, L13
#[test]
fn a_cancelled_run_stays_cancelled_after_a_crash() {
    for scene in [working_run().send_cancel(), run_in_checks().send_cancel(), run_in_preparation().send_cancel()] {
        let scene = scene.recover_run();
        assert_eq!((scene.run_outcome(), scene.started_attempt()), (Some(Outcome::Cancelled), None));
    }
}

// spec: L11, L13
#[test]
fn an_abandoned_loop_can_be_cancelled_in_every_phase() {
    let scenes = [
        LoopScenario::new(Policy::new(3)),
        run_in_preparation(),
        run_in_preparation().send_signal(StopSignal::Int),
        working_run(),
        working_run().send_signal(StopSignal::Term),
        run_before_retry(),
        rate_limited_run(),
        run_in_checks(),
        run_in_checks().send_signal(StopSignal::Int),
        working_run().send_pause(PauseTiming::Now).end_attempt(1, 1, terminated_report()),
        working_run().send_signal(StopSignal::Int).end_attempt(1, 1, terminated_report()),
    ];
    for scene in scenes {
        let scene = scene.play_event(EventKind::Lifecycle(LifecycleEvent::Abandoned { cause: CancelCause::Command }));
        assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Cancelled), Some(9)));
        assert!(scene.started_attempt().is_none());
    }
    let done = working_run()
        .end_attempt(1, 1, claiming_report())
        .play_event(EventKind::Lifecycle(LifecycleEvent::Abandoned { cause: CancelCause::Command }));
    assert_eq!(done.run_outcome(), Some(Outcome::Completed), "a completed run stays completed");
}

// spec: L11
#[test]
fn a_pause_starts_at_the_end_of_the_iteration_and_the_resume_starts_the_next_one() {
    let scene = working_run().send_pause(PauseTiming::Idle);
    assert!(scene.effects.is_empty() && matches!(scene.current_phase(), LoopPhase::Working { .. }));
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.paused"]);
    assert!(scene.is_paused() && scene.started_attempt().is_none());
    let scene = scene.send_resume();
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    assert_eq!(scene.fact_names(), ["run.resumed", "iteration.started", "attempt.started"]);
    assert_eq!(
        scene.end_attempt(2, 1, quiet_report()).started_attempt(),
        Some(attempt_key(3, 1)),
        "the pause was for once"
    );
}

// spec: L11
#[test]
fn a_pause_waits_for_the_verdict_and_an_accepted_claim_still_ends_the_run() {
    let pausing = || run_in_checks().send_pause(PauseTiming::Idle);
    assert!(pausing().deliver_verdict(1, 1, Verdict::Rejected).is_paused());
    assert_eq!(pausing().deliver_verdict(1, 1, Verdict::Accepted).run_outcome(), Some(Outcome::Completed));
}

// spec: L11
#[test]
fn a_pause_starts_immediately_in_a_wait_and_the_rest_of_the_wait_follows_the_resume() {
    for (scene, next) in [(run_before_retry(), NextStep::Retry), (rate_limited_run(), NextStep::Limit)] {
        let scene = scene.send_pause(PauseTiming::Idle);
        assert!(scene.is_paused());
        let [Fact::RunPaused { iteration: 1, next: found }] = scene.recorded_facts()[..] else { panic!("{next:?}") };
        assert_eq!(*found, next);
        let scene = scene
            .fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) })
            .fire_timer(LoopTimer::Limit { key: attempt_key(1, 2) });
        assert!(scene.is_paused(), "no timer ends it");
        assert!(!scene.send_resume().is_paused());
    }
    let scene = working_run().send_pause(PauseTiming::Idle).end_attempt(1, 1, crash_report());
    assert!(scene.is_paused(), "the attempt failed, and no agent is running");
    assert_eq!(
        scene.send_resume().fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).started_attempt(),
        Some(attempt_key(1, 2))
    );
}

// spec: L11
#[test]
fn an_immediate_pause_stops_the_agent_and_its_iteration_is_repeated_under_the_same_number() {
    let scene = working_run().send_pause(PauseTiming::Now);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let scene = scene.end_attempt(1, 1, terminated_report());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "run.paused"], "the iteration is not over");
    let scene = scene.send_resume();
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    let scene = scene.end_attempt(1, 2, crash_report());
    let first = Effect::StartTimer { timer: LoopTimer::Retry { key: attempt_key(1, 3) }, after_ms: 1_000 };
    assert!(scene.has_effect(&first), "it used no retry");
}

// spec: L11
#[test]
fn an_immediate_pause_stops_the_checks_and_they_run_again() {
    let scene = run_in_checks().send_pause(PauseTiming::Now);
    assert!(scene.has_effect(&Effect::StopChecks { key: attempt_key(1, 1) }));
    let scene = scene.deliver_verdict(1, 1, Verdict::Accepted);
    assert!(scene.is_paused(), "the verdict of interrupted checks does not count");
    assert!(scene.send_resume().has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 2 }));
    let scene = run_in_preparation().send_pause(PauseTiming::Now).play_event(prepared_event(Verdict::Rejected));
    assert!(scene.is_paused());
    assert!(scene.send_resume().effects.iter().any(|effect| matches!(effect, Effect::Prepare { round: 2, .. })));
}

// spec: L11
#[test]
fn a_pause_withdrawn_while_the_agent_stops_does_not_happen() {
    let scene = working_run().send_pause(PauseTiming::Now).send_resume().end_attempt(1, 1, terminated_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(1, 2)));
    let scene = working_run().send_pause(PauseTiming::Idle).send_resume().end_attempt(1, 1, quiet_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
}

// spec: L11, L13
#[test]
fn a_pause_survives_a_crash_and_so_does_a_requested_one() {
    let scene = working_run().send_pause(PauseTiming::Idle).end_attempt(1, 1, quiet_report()).recover_run();
    assert!(scene.is_paused() && scene.started_attempt().is_none());
    assert_eq!(scene.send_resume().started_attempt(), Some(attempt_key(2, 1)));
    let stopping = working_run().send_pause(PauseTiming::Now).recover_run();
    assert!(stopping.is_paused());
    assert_eq!(stopping.send_resume().started_attempt(), Some(attempt_key(1, 2)));
    let wanted = working_run().send_pause(PauseTiming::Idle).recover_run();
    assert_eq!(wanted.started_attempt(), Some(attempt_key(1, 2)), "the interrupted iteration comes first");
    assert!(wanted.end_attempt(1, 2, quiet_report()).is_paused());
}

// spec: L11, L12
#[test]
fn a_signal_ends_a_paused_run_and_it_can_be_resumed() {
    let scene =
        working_run().send_pause(PauseTiming::Idle).end_attempt(1, 1, quiet_report()).send_signal(StopSignal::Int);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(130)));
    assert_eq!(scene.recover_run().started_attempt(), Some(attempt_key(2, 1)));
    let scene = working_run().send_pause(PauseTiming::Now).send_signal(StopSignal::Int);
    assert!(!scene.has_effect(&Effect::KillAgent { key: attempt_key(1, 1) }), "the first signal is graceful");
    assert_eq!(scene.end_attempt(1, 1, terminated_report()).run_outcome(), Some(Outcome::Interrupted));
}

// spec: L11, L8
#[test]
fn a_pause_does_not_count_towards_the_run_time() {
    let budget = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
    let scene = LoopScenario::start_run(Policy { budget, ..Policy::new(9) });
    let scene = scene.send_pause(PauseTiming::Idle).end_attempt(1, 1, quiet_report());
    assert!(scene.has_effect(&Effect::CancelTimer { timer: LoopTimer::Run }));
    let worked = scene.state.worked.total_ms();
    let scene = scene.set_time(9_000_000).send_guidance("still here").fire_timer(LoopTimer::Run).send_resume();
    assert_eq!(scene.state.worked.total_ms(), worked);
    let left = Effect::StartTimer { timer: LoopTimer::Run, after_ms: 60_000 - worked };
    assert!(scene.has_effect(&left), "{:?}", scene.effects);
}

// spec: L11
#[test]
fn the_iteration_limit_overrides_a_pause() {
    let scene = LoopScenario::start_run(Policy::new(1)).send_pause(PauseTiming::Idle).end_attempt(1, 1, quiet_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::Exhausted));
}

// spec: U3, L4
#[test]
fn guidance_is_in_the_next_prompt_and_in_no_later_one() {
    let scene = working_run().send_guidance("use the old parser").send_guidance("and hurry");
    assert_eq!(scene.fact_names(), ["run.guided"]);
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!(scene.prompt_guidance().unwrap(), ["use the old parser", "and hurry"]);
    assert!(scene.state.pending_commands.is_empty());
    assert_eq!(scene.end_attempt(2, 1, quiet_report()).prompt_guidance().unwrap(), Vec::<String>::new());
}

// spec: U3, L5
#[test]
fn a_retry_gets_new_guidance_and_the_guidance_of_the_first_attempt() {
    let scene = working_run().send_guidance("one").end_attempt(1, 1, quiet_report()).send_guidance("two").end_attempt(
        2,
        1,
        crash_report(),
    );
    assert_eq!(
        scene.fire_timer(LoopTimer::Retry { key: attempt_key(2, 2) }).prompt_guidance().unwrap(),
        ["one", "two"]
    );
}

// spec: U3
#[test]
fn undelivered_guidance_is_reported_when_the_run_has_ended() {
    let scene = working_run().send_guidance("one");
    assert!(scene.state.undelivered_guidance().is_empty(), "the next prompt will contain it");
    assert_eq!(scene.end_attempt(1, 1, claiming_report()).state.undelivered_guidance(), ["one"]);
}

// spec: U3, L13
#[test]
fn guidance_survives_a_crash_and_a_pause() {
    let scene = working_run().send_guidance("one").recover_run();
    assert_eq!(scene.prompt_guidance().unwrap(), ["one"]);
    let scene = working_run()
        .send_pause(PauseTiming::Idle)
        .end_attempt(1, 1, quiet_report())
        .send_guidance("two")
        .recover_run()
        .send_resume();
    assert_eq!(scene.prompt_guidance().unwrap(), ["two"]);
}

// spec: L11
#[test]
fn a_finished_run_ignores_commands() {
    let ended = [
        working_run().end_attempt(1, 1, claiming_report()),
        working_run().send_signal(StopSignal::Int).end_attempt(1, 1, terminated_report()),
    ];
    for scene in ended {
        let before = scene.state.clone();
        let pause = |when| ControlCommand::Pause { when };
        let guide = ControlCommand::Guide { words: "x".to_string() };
        let commands =
            [ControlCommand::Cancel, pause(PauseTiming::Idle), pause(PauseTiming::Now), ControlCommand::Resume, guide];
        let scene = commands.into_iter().fold(scene, LoopScenario::send_command);
        assert_eq!((scene.state, scene.effects), (before, Vec::new()));
    }
}

// spec: L11, L13, U3
#[test]
fn commands_sent_while_no_driver_ran_are_applied_first() {
    let recover_with = |scene: LoopScenario, command: ControlCommand| {
        scene.play_event(EventKind::Lifecycle(LifecycleEvent::Recovered {
            changed: Vec::new(),
            orders: Vec::from([command]),
        }))
    };
    let guide = || ControlCommand::Guide { words: "mind the gap".to_string() };
    let scene = recover_with(working_run(), guide());
    assert_eq!(scene.prompt_guidance().unwrap(), ["mind the gap"]);
    assert_eq!(scene.fact_names(), ["run.resumed", "run.guided", "attempt.ended", "attempt.started"]);
    let interrupted = || working_run().send_signal(StopSignal::Int).end_attempt(1, 1, terminated_report());
    let scene = recover_with(interrupted(), guide());
    assert_eq!(scene.fact_names(), ["run.resumed", "run.guided", "attempt.started"]);
    for scene in [working_run(), interrupted(), run_in_checks()] {
        let scene = recover_with(scene, ControlCommand::Cancel);
        assert_eq!((scene.run_outcome(), scene.started_attempt()), (Some(Outcome::Cancelled), None));
    }
}

// spec: U3, L8
#[test]
fn guidance_before_the_start_is_in_the_first_prompt_and_uses_no_run_time() {
    let budget = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
    let scene = LoopScenario::new(Policy { budget, ..Policy::new(3) }).set_time(1_700_000_000_000).send_guidance("one");
    let scene = scene.play_event(started_event());
    assert_eq!(scene.prompt_guidance().unwrap(), ["one"]);
}

// spec: L11
#[test]
fn a_cancel_while_the_run_stops_is_recorded_once_and_no_other_command_is() {
    let stopping = [
        LoopScenario::new(policy_with_checks(3)).play_event(started_event()).send_signal(StopSignal::Int),
        working_run().send_signal(StopSignal::Int),
        run_in_checks().send_signal(StopSignal::Int),
    ];
    for scene in stopping {
        let scene = scene.send_guidance("hurry").send_pause(PauseTiming::Idle);
        assert!(!scene.fact_names().contains(&"stop.requested"), "{:?}", scene.effects);
        let scene = scene.send_cancel();
        assert_eq!(scene.fact_names(), ["stop.requested"]);
        assert_eq!(scene.send_cancel().fact_names(), Vec::<&str>::new());
    }
}

// spec: L11
// finding: N16
#[test]
fn a_pause_that_a_run_did_not_reach_applies_to_the_next_stage_unless_the_run_was_cancelled() {
    let pausing = || run_in_checks().send_pause(PauseTiming::Idle);
    let completed = pausing().deliver_verdict(1, 1, Verdict::Accepted);
    assert_eq!(completed.run_outcome(), Some(Outcome::Completed));
    assert!(completed.state.has_unreached_pause());
    assert!(!pausing().deliver_verdict(1, 1, Verdict::Rejected).state.has_unreached_pause(), "it is paused");
    let cancelled = pausing().send_cancel().deliver_verdict(1, 1, Verdict::Rejected);
    assert_eq!(cancelled.run_outcome(), Some(Outcome::Cancelled));
    assert!(!cancelled.state.has_unreached_pause());
}

fn start_with(commands: &[ControlCommand]) -> LoopScenario {
    let EventKind::Lifecycle(LifecycleEvent::Started { opening, .. }) = started_event() else { panic!() };
    let started = LifecycleEvent::Started { opening, orders: commands.to_vec() };
    LoopScenario::new(policy_with_checks(3)).play_event(EventKind::Lifecycle(started))
}

// spec: L11
// finding: N16
#[test]
fn a_run_that_starts_with_a_pause_runs_neither_checks_nor_agent_before_the_resume() {
    for when in [PauseTiming::Idle, PauseTiming::Now] {
        let scene = start_with(&[ControlCommand::Pause { when }]);
        assert!(scene.is_paused());
        assert_eq!(scene.fact_names(), ["run.started", "run.paused"]);
        let scene = scene.send_resume();
        assert!(matches!(scene.current_phase(), LoopPhase::Preparing { .. }), "{:?}", scene.current_phase());
    }
    let both = start_with(&[ControlCommand::Pause { when: PauseTiming::Idle }, ControlCommand::Resume]);
    assert!(matches!(both.current_phase(), LoopPhase::Preparing { .. }), "{:?}", both.current_phase());
}

// spec: L11, L13
// finding: N16
#[test]
fn a_loop_that_was_paused_without_a_driver_is_resumed_as_paused() {
    let pause = ControlCommand::Pause { when: PauseTiming::Idle };
    let recovered = |scene: LoopScenario, orders: &[ControlCommand]| {
        let event = LifecycleEvent::Recovered { changed: Vec::new(), orders: orders.to_vec() };
        scene.play_event(EventKind::Lifecycle(event))
    };
    let interrupted = || working_run().send_signal(StopSignal::Int).end_attempt(1, 1, terminated_report());
    for scene in [working_run(), run_in_checks(), run_in_preparation(), run_before_retry(), interrupted()] {
        let scene = recovered(scene, std::slice::from_ref(&pause));
        assert!(scene.is_paused(), "{:?}", scene.current_phase());
        assert!(scene.started_attempt().is_none());
        assert!(!recovered(scene, &[ControlCommand::Resume]).is_paused());
    }
    assert!(!recovered(working_run(), &[pause, ControlCommand::Resume]).is_paused(), "the pause was withdrawn");
}

// finding: N56
#[test]
fn standing_guidance_is_in_every_prompt_and_recorded_when_it_changes() {
    let standing = |scene: &LoopScenario| {
        let start = scene.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent(start) => Some(start.standing_guidance.clone()),
            _ => None,
        });
        start.unwrap()
    };
    let scene = LoopScenario::start_run(Policy::new(9)).with_standing_guidance(&["use tabs"]);
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!(standing(&scene), ["use tabs"]);
    assert!(scene.fact_names().contains(&"guidance.standing"));
    let scene = scene.end_attempt(2, 1, quiet_report());
    assert_eq!(standing(&scene), ["use tabs"]);
    assert!(!scene.fact_names().contains(&"guidance.standing"), "it is recorded once");
    let scene = scene.with_standing_guidance(&[]).end_attempt(3, 1, quiet_report());
    assert_eq!(standing(&scene), [""; 0]);
    assert!(scene.fact_names().contains(&"guidance.standing"), "and when it is cleared");
}
