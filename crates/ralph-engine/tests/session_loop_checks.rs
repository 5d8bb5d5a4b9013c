//! Session loops of a host program that embeds ralph, with checks that run real programs.
//! By hand instead of the test harness because the keeper must be forked before the first thread.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test runner reports on stdout")]

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::pin::Pin;
use std::process::Command;
use std::time::Duration;

use ralph_core::session_loop::SessionNotice;
use ralph_engine::session_driver::{
    LoopStartOptions, LoopStore, MessageRole, SessionEvent, SessionHost, SessionLoops, SessionMessage,
};
use ralph_process::{Keeper, RUN_ID_VARIABLE};
use tokio::time::timeout;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

type TestFuture = Pin<Box<dyn Future<Output = ()>>>;

struct TestCase {
    name: &'static str,
    run: fn(Keeper) -> TestFuture,
}

const TEST_CASES: [TestCase; 2] = [
    TestCase {
        name: "a_claim_in_a_host_session_is_checked",
        run: |keeper| Box::pin(a_claim_in_a_host_session_is_checked(keeper)),
    },
    TestCase {
        name: "cancelling_a_session_loop_ends_its_check_at_once",
        run: |keeper| Box::pin(cancelling_a_session_loop_ends_its_check_at_once(keeper)),
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has_flag = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let filter = arguments.iter().find(|argument| !argument.starts_with('-') && *argument != "terse");
    let is_selected = |test: &TestCase| filter.is_none_or(|filter| test.name.contains(filter.as_str()));
    let selected = TEST_CASES.into_iter().filter(is_selected);
    if !has_flag("--list") {
        run_tests(selected);
    } else if !has_flag("--ignored") {
        // No test is ignored, and a runner lists ignored tests separately.
        selected.for_each(|test| println!("{}: test", test.name));
    }
}

/// Runs the tests one after the other. A failed test panics, which ends the process with an error.
fn run_tests(tests: impl Iterator<Item = TestCase>) {
    let keeper = Keeper::start().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for test in tests {
        println!("test {}", test.name);
        runtime.block_on(async { timeout(TEST_TIMEOUT, (test.run)(keeper.clone())).await }).unwrap();
    }
}

/// A host whose only session claims to be done after every prompt.
#[derive(Default)]
struct FakeHost {
    messages: RefCell<Vec<SessionMessage>>,
    injected: RefCell<Vec<String>>,
    toasts: RefCell<Vec<String>>,
}

impl SessionHost for &FakeHost {
    type Error = &'static str;

    fn name(&self) -> &str {
        "stage"
    }

    async fn session_messages(&self, _session: &str) -> Result<Vec<SessionMessage>, &'static str> {
        Ok(self.messages.borrow().clone())
    }

    async fn inject_prompt(&self, _session: &str, prompt: &str) -> Result<(), &'static str> {
        self.injected.borrow_mut().push(prompt.to_owned());
        self.answer_prompt(prompt);
        Ok(())
    }

    fn show_toast(&self, notice: &SessionNotice) {
        self.toasts.borrow_mut().push(notice.title.clone());
    }

    async fn session_exists(&self, _session: &str) -> Result<bool, &'static str> {
        Ok(true)
    }
}

impl FakeHost {
    fn answer_prompt(&self, prompt: &str) {
        let message = |role, content: &str| SessionMessage { role, content: content.to_owned() };
        let claim = message(MessageRole::Assistant, "<promise>DONE</promise>");
        self.messages.borrow_mut().extend([message(MessageRole::User, prompt), claim]);
    }
}

/// Starts a loop with a check in a new repository inside `folder`.
async fn start_loop<'a>(keeper: &Keeper, host: &'a FakeHost, folder: &Path, check: &str) -> SessionLoops<&'a FakeHost> {
    let root = folder.join("project");
    fs::create_dir(&root).unwrap();
    assert!(Command::new("git").args(["init", "-q"]).arg(&root).status().unwrap().success());
    let store = LoopStore::new(folder.join("sessions"));
    let loops = SessionLoops::new(host, store).with_keeper(keeper.clone());
    let options = LoopStartOptions { checks: vec![check.to_owned()], root, ..LoopStartOptions::default() };
    host.answer_prompt(&loops.start("s", "Do it.", options).await.unwrap());
    loops
}

/// Waits until a condition holds; the timeout of the test ends the wait.
async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the living processes that carry a run id.
fn processes_of_run(run_id: &str) -> Vec<u32> {
    let variable = format!("{RUN_ID_VARIABLE}={run_id}");
    let has_run_id = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()))
    };
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(has_run_id).collect()
}

fn idle() -> SessionEvent {
    SessionEvent::Idle { session: "s".to_owned() }
}

// spec: H3, H6
async fn a_claim_in_a_host_session_is_checked(keeper: Keeper) {
    let (host, temp) = (FakeHost::default(), tempfile::tempdir().unwrap());
    let loops = start_loop(&keeper, &host, temp.path(), "test -f done.txt").await;
    loops.handle_event(idle()).await.unwrap();
    assert!(host.injected.borrow()[0].contains("was rejected: `test -f done.txt`"));
    fs::write(temp.path().join("project/done.txt"), "").unwrap();
    loops.handle_event(idle()).await.unwrap();
    assert!(!loops.is_active("s").unwrap());
    assert_eq!(host.toasts.borrow().last().unwrap(), "Ralph Loop Complete!");
}

// spec: H3, H6
// fault: 116
async fn cancelling_a_session_loop_ends_its_check_at_once(keeper: Keeper) {
    let (host, temp) = (FakeHost::default(), tempfile::tempdir().unwrap());
    let ready = temp.path().join("ready");
    let check = format!("setsid sleep 1000 & touch {}; sleep 1000", ready.display());
    let loops = start_loop(&keeper, &host, temp.path(), &check).await;
    let id = loops.active_loop("s").unwrap().unwrap().id;
    let cancel = async {
        until(|| ready.exists()).await;
        assert!(loops.cancel("s").unwrap());
    };
    let (handled, ()) = tokio::join!(loops.handle_event(idle()), cancel);
    handled.unwrap();
    assert!(host.injected.borrow().is_empty());
    assert_eq!(*host.toasts.borrow(), ["Ralph Loop Started", "Ralph Loop Cancelled"]);
    assert_eq!(processes_of_run(&id), Vec::<u32>::new(), "processes of the check are alive");
}
