//! Tests of the loop runner with a journal in memory.
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::claim::{ClaimRules, Promise};
use ralph_core::effect::Effect;
use ralph_core::event::{AgentActivity, AttemptKey, Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis};
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopPhase;
use ralph_core::policy::Policy;

use super::loop_runner::{LoopInput, LoopRunner};
use super::run_observer::{JournalPosition, RunObserver};
use super::step_journal::{JournalStep, StepJournal};
use crate::project::{Project, StateLocation};
use crate::run_driver::plan::agent_choice::AgentChoice;
use crate::run_driver::plan::prompt_source::PromptSource;
use crate::run_driver::plan::run_context::{OutputVisibility, RunContext};
use crate::run_driver::plan::run_plan::RunPlan;
use crate::run_driver::plan::run_spec::RunSpec;
use ralph_agents::{AgentEvent, PresetOverrides, find_agent};
use ralph_core::control_command::ControlCommand;
use ralph_store::{CommandAnswer, StoreError};

/// A journal in memory. It can be told to fail.
#[derive(Default)]
struct MemoryJournal {
    facts: Vec<(i64, &'static str)>,
    answers: Vec<(String, CommandAnswer)>,
    step_count: usize,
    is_failing: bool,
}

impl StepJournal for MemoryJournal {
    async fn record_step(&mut self, step: &JournalStep<'_>) -> Result<(), StoreError> {
        if self.is_failing {
            return Err(StoreError::TakenOver { run: "r1".to_owned(), owner: None });
        }
        self.facts.extend((step.first_seq..).zip(step.facts.iter().map(|fact| fact.name())));
        self.answers.extend(step.answered_commands.iter().map(|(id, answer)| ((*id).to_owned(), *answer)));
        self.step_count += 1;
        Ok(())
    }
}

/// Keeps the names of the facts that were published.
#[derive(Default)]
struct RecordingObserver {
    facts: Vec<(i64, &'static str)>,
}

impl RunObserver for RecordingObserver {
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact) {
        self.facts.push((position.seq, fact.name()));
    }

    fn on_agent_event(&mut self, _: &AgentEvent) {}

    fn on_display_line(&mut self, _: &str) {}

    fn on_stop_grace(&mut self, _: Duration) {}

    fn on_limit_wait(&mut self, _: Duration) {}

    fn on_warning(&mut self, _: &str) {}
}

fn sample_plan() -> Arc<RunPlan> {
    let root = PathBuf::from("/somewhere");
    let agent = AgentChoice {
        name: "text".to_owned(),
        adapter: find_agent("text").unwrap(),
        overrides: PresetOverrides::default(),
        model: None,
        permission: None,
        work_scope: None,
        extra_args: Vec::new(),
        env: Vec::new(),
    };
    let rules = ClaimRules::new(Promise::parse("DONE").unwrap());
    let spec = RunSpec::new(PromptSource::Text("do it".to_owned()), &agent, rules, Policy::new(2));
    let context = RunContext {
        id: "r1".to_owned(),
        kind: "run",
        project: Project { home: root.join(".ralph"), state: StateLocation::unregistered(root.join("state")), root },
        agent,
        fallback: Vec::new(),
        judge: None,
        session_log: None,
        visibility: OutputVisibility::Hidden,
        own_worktree: None,
        lease_fence: None,
        task_seal: None,
    };
    Arc::new(RunPlan { spec, context })
}

fn input(kind: EventKind) -> LoopInput {
    let at = UnixMillis(1_000);
    let plan_availability = PlanAvailability::Available;
    let (used_by_others, standing_guidance) = (Vec::new(), Vec::new());
    Event { at, wall_clock: at, random: 0, plan_availability, used_by_others, standing_guidance, kind }.into()
}

fn started(plan: &RunPlan) -> LoopInput {
    input(EventKind::Lifecycle(LifecycleEvent::Started { opening: plan.opening(), orders: Vec::new() }))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

const FIRST_FACTS: [(i64, &str); 3] = [(1, "run.started"), (2, "iteration.started"), (3, "attempt.started")];

// finding: N61
#[test]
fn a_step_is_recorded_before_its_facts_are_published_and_its_effects_returned() {
    let (plan, mut observer) = (sample_plan(), RecordingObserver::default());
    let mut runner = LoopRunner::new(Arc::clone(&plan), MemoryJournal::default(), &mut observer);
    let decided = block_on(runner.decide(started(&plan)));
    assert!(decided.effects().iter().any(|effect| matches!(effect, Effect::StartAgent(_))));
    assert_eq!((runner.journal().step_count, &runner.state().phase), (0, &LoopPhase::Ready), "only decided");
    block_on(runner.record(&decided)).unwrap();
    assert_eq!((runner.journal().facts.as_slice(), &runner.state().phase), (FIRST_FACTS.as_slice(), &LoopPhase::Ready));
    let effects = runner.apply_recorded(decided);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::StartAgent(_))));
    assert!(matches!(runner.state().phase, LoopPhase::Working { .. }));
    assert_eq!(observer.facts, FIRST_FACTS);
}

// finding: N61
#[test]
fn a_step_that_cannot_be_recorded_changes_nothing_and_can_be_tried_again() {
    let (plan, mut observer) = (sample_plan(), RecordingObserver::default());
    let journal = MemoryJournal { is_failing: true, ..MemoryJournal::default() };
    let mut runner = LoopRunner::new(Arc::clone(&plan), journal, &mut observer);
    assert!(block_on(runner.advance(started(&plan))).is_err());
    assert_eq!(runner.state().phase, LoopPhase::Ready);
    runner.journal_mut().is_failing = false;
    block_on(runner.advance(started(&plan))).unwrap();
    assert_eq!(runner.journal().facts, FIRST_FACTS);
    assert_eq!(observer.facts, FIRST_FACTS, "the failed step published nothing");
}

// finding: N61
#[test]
fn a_volatile_event_is_not_recorded_and_still_has_effects() {
    let (plan, mut observer) = (sample_plan(), RecordingObserver::default());
    let mut runner = LoopRunner::new(Arc::clone(&plan), MemoryJournal::default(), &mut observer);
    block_on(runner.advance(started(&plan))).unwrap();
    let key = AttemptKey { iteration: 1, attempt: 1 };
    let effects = block_on(runner.advance(input(EventKind::Agent { key, activity: AgentActivity::ResultSeen })));
    assert!(matches!(effects.unwrap().as_slice(), [Effect::StartTimer { .. }]));
    assert_eq!(runner.journal().step_count, 1);
}

// finding: N61
#[test]
fn a_command_without_effect_is_answered_all_the_same() {
    let (plan, mut observer) = (sample_plan(), RecordingObserver::default());
    let mut runner = LoopRunner::new(Arc::clone(&plan), MemoryJournal::default(), &mut observer);
    block_on(runner.advance(started(&plan))).unwrap();
    let resume = input(EventKind::command_received(ControlCommand::Resume));
    let guide = input(EventKind::command_received(ControlCommand::Guide { words: "use tabs".to_owned() }));
    block_on(runner.advance(LoopInput { command_ids: vec!["c1".to_owned()], ..resume })).unwrap();
    block_on(runner.advance(LoopInput { command_ids: vec!["c2".to_owned()], ..guide })).unwrap();
    let answers = [("c1".to_owned(), CommandAnswer::NoEffect), ("c2".to_owned(), CommandAnswer::Applied)];
    assert_eq!(runner.journal().answers, answers);
}
