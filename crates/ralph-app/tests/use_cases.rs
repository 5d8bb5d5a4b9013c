//! Starts, follows, stops and resumes runs by the use cases alone, as a server would, with the scripted demo agent.
//! By hand instead of the test harness because the keeper must be forked before the first thread.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test runner reports on stdout")]

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_app::config::{ConfigSource, Settings};
use ralph_app::control::{FollowResult, ReaderStatus};
use ralph_app::demo::{DEMO_CHECK, DEMO_TASK, DemoPace, DemoRepository, create_demo_repository, play_agent};
use ralph_app::interaction::NoInteraction;
use ralph_app::run::{
    ClassicMode, ClassicRunRequest, ControlSource, DrivenRun, FinishedRun, FollowedRun, PreparedResume, PreparedRun,
    ResumeNotNeeded, ResumeRequest, ResumeStart, RunDelivery, RunHost, RunWorkspace, StartRunRequest, StartedRun,
    load_run_view, prepare_classic_run, prepare_resume, prepare_run, resume_run, start_run,
};
use ralph_core::claim::Promise;
use ralph_core::criterion::ExternalCheck;
use ralph_core::event::StopSignal;
use ralph_core::fact::Fact;
use ralph_core::outcome::Outcome;
use ralph_core::policy::ExhaustionPolicy;
use ralph_core::receipt::ProofLevel;
use ralph_engine::lock::LockSharing;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    ControlEvent, JournalPosition, OutputVisibility, PromptSource, RunObserver, SignalRequest,
};
use ralph_process::Keeper;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

struct TestCase {
    name: &'static str,
    run: fn(Keeper) -> Pin<Box<dyn Future<Output = ()>>>,
}

const TEST_CASES: &[TestCase] = &[
    TestCase {
        name: "a_run_is_started_followed_and_its_result_read",
        run: |keeper| Box::pin(a_run_is_started_followed_and_its_result_read(keeper)),
    },
    TestCase {
        name: "a_classic_run_writes_its_session_log",
        run: |keeper| Box::pin(a_classic_run_writes_its_session_log(keeper)),
    },
    TestCase {
        name: "a_stopped_run_is_resumed_to_its_end",
        run: |keeper| Box::pin(a_stopped_run_is_resumed_to_its_end(keeper)),
    },
];

const TEST_TIMEOUT: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The demo agent is this program.
    if arguments.first().is_some_and(|first| first == "demo-agent") {
        return run_demo_agent();
    }
    let is_exact = arguments.iter().any(|argument| argument == "--exact");
    let filter = arguments.iter().find(|argument| !argument.starts_with('-') && *argument != "terse");
    let is_selected = |test: &&TestCase| {
        filter.is_none_or(|filter| if is_exact { test.name == filter } else { test.name.contains(filter.as_str()) })
    };
    let selected: Vec<&TestCase> = TEST_CASES.iter().filter(is_selected).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        // No test is ignored, and a runner lists ignored tests separately.
        if !arguments.iter().any(|argument| argument == "--ignored") {
            selected.iter().for_each(|test| println!("{}: test", test.name));
        }
        return ExitCode::SUCCESS;
    }
    run_test_cases(&selected)
}

fn run_demo_agent() -> ExitCode {
    let mut prompt = String::new();
    std::io::stdin().lock().read_to_string(&mut prompt).unwrap();
    let root = std::env::current_dir().unwrap();
    play_agent(&root, &prompt, DemoPace(Duration::ZERO), std::io::stdout().lock());
    ExitCode::SUCCESS
}

/// Runs each test in a separate process, because a process forks only one keeper.
fn run_test_cases(selected: &[&TestCase]) -> ExitCode {
    if let [test] = selected {
        return run_test_case(test);
    }
    let own = std::env::current_exe().unwrap();
    let passes = |test: &&&TestCase| Command::new(&own).args([test.name, "--exact"]).status().unwrap().success();
    let passed = selected.iter().filter(passes).count();
    println!("{passed} passed, {} failed", selected.len() - passed);
    if passed == selected.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_test_case(test: &TestCase) -> ExitCode {
    let keeper = Keeper::start().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let work = async { tokio::time::timeout(TEST_TIMEOUT, (test.run)(keeper)).await };
    let is_ok = matches!(catch_unwind(AssertUnwindSafe(|| runtime.block_on(work))), Ok(Ok(())));
    println!("test {} ... {}", test.name, if is_ok { "ok" } else { "FAILED" });
    if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Removes the repository of the demo at the end of the test.
struct TestRepository(DemoRepository);

impl TestRepository {
    fn create() -> Self {
        Self(create_demo_repository().unwrap())
    }

    fn project(&self) -> Project {
        Project::find_from(&self.0.root).unwrap()
    }

    /// Prepares a run of the demo agent with the demo's task and check.
    fn prepare_run(&self) -> PreparedRun {
        let mut settings = Settings::default();
        settings.agent.value = "demo".to_owned();
        settings.checks.value = vec![ExternalCheck::from_shell_text(DEMO_CHECK).into()];
        let request = StartRunRequest {
            settings: &settings,
            extra_agent_args: Vec::new(),
            visibility: OutputVisibility::Hidden,
            promise: Promise::parse("DONE").unwrap(),
            prompt: PromptSource::Text(DEMO_TASK.to_owned()),
            sharing: LockSharing::Exclusive,
            workspace: RunWorkspace::Project,
        };
        prepare_run(request, self.project(), &NoInteraction).unwrap()
    }

    /// Prepares one iteration of the demo agent with a prompt file.
    fn prepare_classic_run(&self) -> PreparedRun {
        let prompt_file = self.0.root.join("prompt.md");
        std::fs::write(&prompt_file, "Print <promise>COMPLETE</promise> when everything is done.\n").unwrap();
        let mut settings = Settings::default();
        settings.agent.value = "demo".to_owned();
        settings.default_max_iterations.value = 1;
        let request = ClassicRunRequest {
            mode: ClassicMode::Prompt,
            prompt_file: Some(prompt_file),
            settings: &settings,
            extra_agent_args: Vec::new(),
            visibility: OutputVisibility::Hidden,
            when_exhausted: ExhaustionPolicy::NotComplete,
        };
        prepare_classic_run(request, self.project(), &NoInteraction).unwrap()
    }
}

impl Drop for TestRepository {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0.root);
    }
}

/// Counts the facts of a run, and reports the first one.
struct FactCounter {
    count: usize,
    on_first_fact: Option<Box<dyn FnOnce() + Send>>,
}

impl FactCounter {
    fn new(on_first_fact: impl FnOnce() + Send + 'static) -> Self {
        Self { count: 0, on_first_fact: Some(Box::new(on_first_fact)) }
    }
}

impl RunObserver for FactCounter {
    fn on_fact(&mut self, _position: JournalPosition<'_>, _fact: &Fact) {
        self.count += 1;
        self.on_first_fact.take().into_iter().for_each(|report| report());
    }

    fn on_agent_event(&mut self, _event: &AgentEvent) {}

    fn on_display_line(&mut self, _line: &str) {}

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, _text: &str) {}
}

/// Returns a host that drives several runs, and the sender of its control events.
fn server_host(keeper: Keeper) -> (RunHost, UnboundedSender<ControlEvent>) {
    let (sender, events) = unbounded_channel();
    (RunHost { keeper, control: ControlSource::Channel(events) }, sender)
}

async fn drive_to_end(started: StartedRun, observer: &mut FactCounter) -> FinishedRun {
    match started.drive(observer).await.unwrap() {
        DrivenRun::Ended(finished) => *finished,
        DrivenRun::StoppedInSetup(signal) => panic!("{signal:?} stopped the setup of a run without a work tree"),
    }
}

/// Follows a run to its end from its journal, and returns how many facts it has.
async fn follow_to_end(project: Project, run: &str) -> usize {
    let followed = FollowedRun::find_active(project, Some(run)).await.unwrap();
    let mut observer = FactCounter::new(|| ());
    assert_eq!(followed.replay(&mut observer, || ReaderStatus::Reading).await.unwrap(), FollowResult::Finished);
    let summary = followed.load_summary().await.unwrap().unwrap();
    let level = summary.completion.as_ref().map(|completion| completion.proof.level);
    assert_eq!((summary.end.outcome, level), (Outcome::Completed, Some(ProofLevel::Proven)));
    observer.count
}

// finding: N60
async fn a_run_is_started_followed_and_its_result_read(keeper: Keeper) {
    let repository = TestRepository::create();
    let (host, _control) = server_host(keeper);
    let started = start_run(repository.prepare_run(), host).await.unwrap();
    let id = started.id().to_owned();
    let (is_stored, stored) = oneshot::channel();
    let mut observer = FactCounter::new(move || is_stored.send(()).unwrap());
    let following = async {
        stored.await.unwrap();
        follow_to_end(repository.project(), &id).await
    };
    let (finished, followed_events) = tokio::join!(drive_to_end(started, &mut observer), following);
    assert_eq!(finished.summary.end.outcome, Outcome::Completed, "{}", finished.summary.end.reason);
    assert_eq!(finished.summary.completion.unwrap().proof.level, ProofLevel::Proven);
    assert_eq!(finished.summary.row.as_ref().map(|row| row.iterations), Some(2), "the first claim is false");
    assert!(matches!(finished.delivery, Ok(RunDelivery::InPlace)));
    assert_eq!(observer.count, followed_events);
    let view = load_run_view(&repository.project(), Some(&id)).await.unwrap();
    assert_eq!(view.claim_lines().len(), 2, "{:?}", view.claim_lines());
}

// spec: C5
async fn a_classic_run_writes_its_session_log(keeper: Keeper) {
    let repository = TestRepository::create();
    let (host, _control) = server_host(keeper);
    let started = start_run(repository.prepare_classic_run(), host).await.unwrap();
    let finished = drive_to_end(started, &mut FactCounter::new(|| ())).await;
    let log = std::fs::read_to_string(finished.summary.session_log.unwrap()).unwrap();
    let headings = ["ITERATION 1", "ITERATION 1 COMPLETE", "SESSION SUMMARY"];
    let found: Vec<&str> = log.lines().filter(|line| headings.contains(line)).collect();
    assert_eq!(found, headings, "{log}");
}

// finding: N60
async fn a_stopped_run_is_resumed_to_its_end(keeper: Keeper) {
    let repository = TestRepository::create();
    let (host, control) = server_host(keeper.clone());
    let started = start_run(repository.prepare_run(), host).await.unwrap();
    let id = started.id().to_owned();
    let stop = ControlEvent::Signal(SignalRequest::Stop(StopSignal::Term));
    let mut observer = FactCounter::new(move || control.send(stop).unwrap());
    let stopped = drive_to_end(started, &mut observer).await;
    assert_eq!(stopped.summary.end.outcome, Outcome::Interrupted, "{}", stopped.summary.end.reason);

    let resumed = resume(&repository, keeper).await;
    assert_eq!(resumed.summary.end.outcome, Outcome::Completed, "{}", resumed.summary.end.reason);
    assert_eq!(resumed.summary.row.as_ref().map(|row| row.id.as_str()), Some(id.as_str()));

    match prepare(&repository).await {
        PreparedResume::NotNeeded(ResumeNotNeeded::Ended(ended)) => assert_eq!(ended.end.outcome, Outcome::Completed),
        PreparedResume::NotNeeded(ResumeNotNeeded::WokenUp { position }) => panic!("{position} is still driven"),
        PreparedResume::NotNeeded(ResumeNotNeeded::PauseWithdrawn { task }) => panic!("{task} was paused"),
        PreparedResume::Resumable(_) => panic!("a completed run is resumable"),
    }
}

async fn prepare(repository: &TestRepository) -> PreparedResume {
    let config = ConfigSource { file: None };
    let request = ResumeRequest { config: &config, visibility: OutputVisibility::Hidden, person: &NoInteraction };
    prepare_resume(&repository.project(), None, &request).await.unwrap()
}

async fn resume(repository: &TestRepository, keeper: Keeper) -> FinishedRun {
    let PreparedResume::Resumable(run) = prepare(repository).await else { panic!("an interrupted run is resumable") };
    let (host, _control) = server_host(keeper);
    match resume_run(*run, host, &NoInteraction).await.unwrap() {
        ResumeStart::Started(started) => drive_to_end(*started, &mut FactCounter::new(|| ())).await,
        ResumeStart::Ended(_) => panic!("the run has not ended"),
    }
}
