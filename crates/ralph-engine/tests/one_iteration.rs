//! One whole iteration, driven by hand: `LoopRunner`, `AttemptRunner` and `ClaimVerifier` without the process driver.
//! By hand instead of the test harness because the keeper must be forked before the first thread.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::panic, reason = "a warning fails the test")]
#![expect(clippy::print_stdout, reason = "a test runner reports on stdout")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::claim::{ClaimReading, ClaimRules, Promise};
use ralph_core::criterion::ExternalCheck;
use ralph_core::effect::Effect;
use ralph_core::event::{Event, EventKind, LifecycleEvent, PlanAvailability, UnixMillis, WorkEvent};
use ralph_core::fact::Fact;
use ralph_core::journal::check_facts;
use ralph_core::loop_state::LoopState;
use ralph_core::outcome::Outcome;
use ralph_core::policy::{ClaimVerification, Policy};
use ralph_engine::project::{Project, StateLocation};
use ralph_engine::run_driver::{
    AgentChoice, AttemptChannels, AttemptRequest, AttemptRunner, ClaimRequest, ClaimVerifier, JournalPosition,
    JournalStep, LoopRunner, OutputVisibility, PromptSource, RemainingBudget, RunContext, RunObserver, RunPlan,
    RunSpec, StepJournal, VerifiedClaim,
};
use ralph_engine::verify::VerificationPreparation;
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_store::StoreError;
use tokio::sync::mpsc;

const TEST_NAME: &str = "one_iteration_runs_without_the_process_driver";
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The agent reads its prompt, does its work, and claims completion.
const AGENT_SCRIPT: &str = "#!/bin/sh\ncat > prompt.txt\necho fixed > result\necho '<promise>DONE</promise>'\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    let filter = arguments.iter().find(|argument| !argument.starts_with('-') && *argument != "terse");
    let is_selected = filter.is_none_or(|filter| TEST_NAME.contains(filter.as_str()));
    if has("--list") {
        if is_selected && !has("--ignored") {
            println!("{TEST_NAME}: test");
        }
        return ExitCode::SUCCESS;
    }
    if is_selected {
        let keeper = Keeper::start().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        // Spawned, so that the compiler checks that the three types are `Send`.
        let iteration = runtime.spawn(one_iteration_runs_without_the_process_driver(keeper));
        runtime.block_on(async { tokio::time::timeout(TEST_TIMEOUT, iteration).await }).unwrap().unwrap();
        println!("test {TEST_NAME} ... ok");
    }
    ExitCode::SUCCESS
}

/// A driver in a few lines: performs one effect after the other, and makes an event of its result.
struct HandDriver<'a> {
    runner: LoopRunner<'a, MemoryJournal>,
    attempts: AttemptRunner,
    verifier: ClaimVerifier,
    plan: Arc<RunPlan>,
    reading: Option<ClaimReading>,
}

impl HandDriver<'_> {
    async fn run(&mut self, first: EventKind) {
        let mut next = Some(first);
        while let Some(kind) = next.take() {
            for effect in self.runner.advance(event(kind).into()).await.unwrap() {
                if let Some(result) = self.perform_effect(effect).await {
                    next = Some(result);
                }
            }
        }
    }

    async fn perform_effect(&mut self, effect: Effect) -> Option<EventKind> {
        let result = match effect {
            Effect::Prepare { round, baseline } => {
                let preparation = self.verifier.prepare(round, baseline, no_commands()).await;
                let VerificationPreparation { sealing, baseline } = preparation;
                WorkEvent::Prepared { sealing, baseline }
            }
            Effect::StartAgent(start) => {
                let (key, spent) = (start.key, self.runner.state().spent);
                let budget = RemainingBudget::new(&self.plan.spec.policy, spent, &[], None);
                let report = self.attempts.run(AttemptRequest { start, budget }, no_commands()).await;
                self.reading = Some(report.reading.clone());
                WorkEvent::AttemptEnded { key, report }
            }
            Effect::RunChecks { key, round } => {
                let (seal, reading) = (self.runner.seal().cloned(), self.reading.take());
                let request = ClaimRequest { key, round, seal, agent: 0, reading };
                let VerifiedClaim { evidence, snapshot, tree_after_checks, warnings } =
                    self.verifier.verify(request, no_commands()).await;
                assert_eq!(warnings, [""; 0]);
                WorkEvent::Verified { key, evidence, snapshot, tree_after_checks }
            }
            Effect::Record { .. }
            | Effect::RecordReceipt { .. }
            | Effect::StopAgent { .. }
            | Effect::KillAgent { .. }
            | Effect::StopChecks { .. }
            | Effect::StartTimer { .. }
            | Effect::CancelTimer { .. }
            | Effect::Finish => return None,
        };
        Some(EventKind::Work(result))
    }
}

// finding: N61
// spec: L1
async fn one_iteration_runs_without_the_process_driver(keeper: Keeper) {
    let temp = tempfile::tempdir().unwrap();
    let plan = Arc::new(plan_run(temp.path()));
    ralph_util::private_files::ensure_folder(&plan.context.run_folder()).unwrap();
    let log_budget = LogBudget::new(plan.raw_log_bytes(), &plan.context.run_folder());
    let (messages, mut received) = mpsc::unbounded_channel();
    let (display_updates, _screen) = mpsc::channel(32);
    let channels = AttemptChannels { messages, display_updates };
    let mut observer = SilentObserver;
    let mut driver = HandDriver {
        runner: LoopRunner::new(Arc::clone(&plan), MemoryJournal::default(), &mut observer),
        attempts: AttemptRunner::new(Arc::clone(&plan), keeper.clone(), log_budget.clone(), channels),
        verifier: ClaimVerifier::new(Arc::clone(&plan), keeper, log_budget),
        plan: Arc::clone(&plan),
        reading: None,
    };
    let started = LifecycleEvent::Started { opening: plan.opening(), orders: Vec::new() };
    driver.run(EventKind::Lifecycle(started)).await;
    assert!(std::fs::read_to_string(temp.path().join("prompt.txt")).unwrap().contains("write the result"));
    assert_eq!(driver.runner.state().run_end().map(|ended| ended.outcome), Some(Outcome::Completed));
    let MemoryJournal { facts, last_state } = driver.runner.journal();
    assert_eq!(last_state.as_ref(), Some(driver.runner.state()));
    assert_eq!(check_facts(facts), Ok(()));
    assert_eq!(facts.iter().map(Fact::name).collect::<Vec<_>>(), FACTS_OF_ONE_ITERATION);
    assert!(received.try_recv().is_err(), "neither a warning nor an activity that needs a timer");
}

const FACTS_OF_ONE_ITERATION: [&str; 11] = [
    "run.started",
    "run.sealed",
    "baseline",
    "iteration.started",
    "attempt.started",
    "attempt.ended",
    "claim",
    "verdict",
    "iteration.ended",
    "receipt",
    "run.finished",
];

fn plan_run(root: &Path) -> RunPlan {
    let git = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).current_dir(root).output().unwrap().status;
        assert!(status.success(), "git {arguments:?}");
    };
    git(&["init", "--quiet"]);
    let script = write_agent_script(root);
    git(&["add", "."]);
    git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message", "start"]);
    let agent = AgentChoice {
        name: "text".to_owned(),
        adapter: ralph_agents::find_agent("text").unwrap(),
        overrides: ralph_agents::PresetOverrides {
            cli: Some(script.to_str().unwrap().to_owned()),
            ..ralph_agents::PresetOverrides::default()
        },
        model: None,
        permission: None,
        work_scope: None,
        extra_args: Vec::new(),
        env: Vec::new(),
    };
    let rules = ClaimRules::new(Promise::parse("DONE").unwrap());
    let policy = Policy { proof: ClaimVerification::Checks, ..Policy::new(1) };
    let prompt = PromptSource::Text("write the result".to_owned());
    let spec = RunSpec {
        criteria: vec![ExternalCheck::from_shell_text("grep -q fixed result").into()],
        stop_grace: Duration::from_secs(1),
        ..RunSpec::new(prompt, &agent, rules, policy)
    };
    let state = StateLocation::unregistered(root.join(".ralph/state"));
    let context = RunContext {
        id: "by-hand".to_owned(),
        kind: "run",
        project: Project { root: root.to_path_buf(), home: root.join(".ralph"), state },
        agent,
        fallback: Vec::new(),
        judge: None,
        session_log: None,
        visibility: OutputVisibility::Hidden,
        own_worktree: None,
        lease_fence: None,
        task_seal: None,
    };
    RunPlan { spec, context }
}

fn write_agent_script(root: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = root.join("agent.sh");
    std::fs::write(&script, AGENT_SCRIPT).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

fn event(kind: EventKind) -> Event {
    let at = UnixMillis(1_700_000_000_000);
    Event {
        at,
        wall_clock: at,
        random: 0,
        plan_availability: PlanAvailability::Available,
        used_by_others: vec![],
        standing_guidance: vec![],
        kind,
    }
}

/// Returns the receiving end of a channel through which no command comes.
fn no_commands() -> mpsc::UnboundedReceiver<JobCommand> {
    mpsc::unbounded_channel().1
}

/// A journal in memory.
#[derive(Default)]
struct MemoryJournal {
    facts: Vec<Fact>,
    last_state: Option<LoopState>,
}

impl StepJournal for MemoryJournal {
    async fn record_step(&mut self, step: &JournalStep<'_>) -> Result<(), StoreError> {
        assert_eq!(usize::try_from(step.first_seq).unwrap(), self.facts.len() + 1, "no gap in the numbers");
        self.facts.extend(step.facts.iter().map(|fact| (*fact).clone()));
        self.last_state = Some(step.state.clone());
        Ok(())
    }
}

struct SilentObserver;

impl RunObserver for SilentObserver {
    fn on_fact(&mut self, _: JournalPosition<'_>, _: &Fact) {}

    fn on_agent_event(&mut self, _: &ralph_agents::AgentEvent) {}

    fn on_display_line(&mut self, _: &str) {}

    fn on_stop_grace(&mut self, _: Duration) {}

    fn on_limit_wait(&mut self, _: Duration) {}

    fn on_warning(&mut self, text: &str) {
        panic!("{text}")
    }
}
