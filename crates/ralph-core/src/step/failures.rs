//! How agents fail: at their start, through a shell, by a signal.
use super::scenes::{Scene, claims, crashes, key, with_checks};
use crate::attempt::{AttemptReport, Ending};
use crate::effect::Effect;
use crate::event::Timer;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::state::Phase;

// fault: 32
// spec: L5
#[test]
fn an_agent_that_dies_at_once_every_time_is_said_to_fail_at_start() {
    let dies = || AttemptReport { lived_ms: 40, ..crashes() };
    let mut scene = Scene::started(Policy::new(9));
    for (attempt, after_ms) in [(1, 1_000), (2, 2_000), (3, 4_000)] {
        let timer = Timer::Retry { key: key(1, attempt + 1) };
        scene = scene.ended(1, attempt, dies());
        assert!(scene.does(&Effect::StartTimer { timer, after_ms }), "the pauses grow");
        scene = scene.fires(timer);
    }
    let scene = scene.ended(1, 4, dies());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
    assert_eq!(scene.reason(), "the agent fails at start, 4 times in a row: the agent exited with code 1");
}

// fault: 31
// spec: L5
#[test]
fn what_a_shell_could_not_start_is_not_tried_again() {
    for (code, words) in [(126, "a command cannot be executed"), (127, "a command was not found")] {
        let report = AttemptReport { ending: Ending::Exited { code }, ..claims() };
        let scene = Scene::started(with_checks(3)).ended(1, 1, report);
        assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Failed), Some(4)));
        assert!(scene.reason().contains(words), "{}", scene.reason());
    }
}

// fault: 33
// spec: S4, L5
#[test]
fn an_agent_killed_by_a_signal_has_failed_whatever_it_promised_before() {
    let report = AttemptReport { ending: Ending::Signalled { signal: 9 }, ..claims() };
    let scene = Scene::started(with_checks(3)).ended(1, 1, report);
    assert!(matches!(scene.phase(), Phase::Waiting { attempt: 2, .. }), "the policy decides");
    let reason = scene.facts().into_iter().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.unwrap().starts_with("the agent was killed by signal 9 (SIGKILL)"));
}
