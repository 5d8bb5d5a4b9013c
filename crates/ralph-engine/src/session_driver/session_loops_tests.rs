//! Tests of session loops with a scripted host.
use std::cell::{Cell, RefCell};
use std::time::Duration;

use ralph_core::outcome::Outcome;
use ralph_core::session_loop::SessionNotice;
use tempfile::TempDir;

use super::*;

/// A host with one session, whose agent replies to each prompt with the next message of a script.
#[derive(Default)]
struct ScriptedHost {
    script: RefCell<Vec<&'static str>>,
    messages: RefCell<Vec<SessionMessage>>,
    injected: RefCell<Vec<String>>,
    toasts: RefCell<Vec<SessionNotice>>,
    is_session_deleted: Cell<bool>,
    is_unreachable: Cell<bool>,
    /// Injected prompts do not appear in the session yet.
    is_delaying_prompts: Cell<bool>,
}

impl SessionHost for &ScriptedHost {
    type Error = &'static str;

    fn name(&self) -> &str {
        "stage"
    }

    async fn session_messages(&self, _session: &str) -> Result<Vec<SessionMessage>, &'static str> {
        Ok(self.messages.borrow().clone())
    }

    async fn inject_prompt(&self, _session: &str, prompt: &str) -> Result<(), &'static str> {
        if self.is_unreachable.get() {
            return Err("no answer");
        }
        self.injected.borrow_mut().push(prompt.to_owned());
        if !self.is_delaying_prompts.get() {
            self.send_prompt(prompt);
        }
        Ok(())
    }

    fn show_toast(&self, notice: &SessionNotice) {
        self.toasts.borrow_mut().push(notice.clone());
    }

    async fn session_exists(&self, _session: &str) -> Result<bool, &'static str> {
        if self.is_unreachable.get() { Err("no answer") } else { Ok(!self.is_session_deleted.get()) }
    }
}

impl ScriptedHost {
    /// Adds a prompt of the user or of ralph, and the reply of the agent.
    fn send_prompt(&self, prompt: &str) {
        let mut script = self.script.borrow_mut();
        let answer = if script.is_empty() { "Working." } else { script.remove(0) };
        let message = |role, content: &str| SessionMessage { role, content: content.to_owned() };
        self.messages
            .borrow_mut()
            .extend([message(MessageRole::User, prompt), message(MessageRole::Assistant, answer)]);
    }
}

struct LoopFixture {
    temp: TempDir,
    host: ScriptedHost,
}

impl LoopFixture {
    fn new(script: &[&'static str]) -> Self {
        let host = ScriptedHost { script: RefCell::new(script.to_vec()), ..ScriptedHost::default() };
        Self { temp: tempfile::tempdir().unwrap(), host }
    }

    fn session_loops(&self) -> SessionLoops<&ScriptedHost> {
        SessionLoops::new(&self.host, LoopStore::new(self.temp.path().join("sessions"))).with_delay(Duration::ZERO)
    }

    fn start_loop(&self, max_iterations: u32) -> SessionLoops<&ScriptedHost> {
        let loops = self.session_loops();
        let options = LoopStartOptions { max_iterations: Some(max_iterations), ..LoopStartOptions::default() };
        self.host.send_prompt(&start_with_options(&loops, options).unwrap());
        loops
    }

    fn toast_titles(&self) -> Vec<String> {
        self.host.toasts.borrow().iter().map(|notice| notice.title.clone()).collect()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn start_with_options(
    loops: &SessionLoops<&ScriptedHost>,
    options: LoopStartOptions,
) -> Result<String, SessionLoopError> {
    block_on(loops.start("s", "Do it.", options))
}

fn handle_event(loops: &SessionLoops<&ScriptedHost>, event: SessionEvent) {
    block_on(loops.handle_event(event)).unwrap();
}

fn report_idle(loops: &SessionLoops<&ScriptedHost>) {
    handle_event(loops, SessionEvent::Idle { session: "s".to_owned() });
}

fn loop_outcome(scene: &LoopFixture) -> Option<Outcome> {
    let kept =
        LoopStore::new(scene.temp.path().join("sessions")).find_loop(&SessionKey::new(Some("stage"), "s")).unwrap();
    kept.unwrap().loop_state.machine.run_end().map(|ended| ended.outcome)
}

// spec: H3, H4
#[test]
fn the_state_is_written_and_read() {
    let scene = LoopFixture::new(&[]);
    let loops = scene.start_loop(7);
    let kept = loops.active_loop("s").unwrap().unwrap().to_json();
    assert_eq!((&kept["active"], &kept["iteration"], &kept["maxIterations"]), (&true.into(), &1.into(), &7.into()));
    assert_eq!((&kept["prompt"], &kept["sessionId"]), (&"Do it.".into(), &"s".into()));
    assert_eq!(kept["completionPromise"], "DONE");
    assert!(loops.active_loop("t").unwrap().is_none());
}

// spec: H3, H4, H7
#[test]
fn a_loop_is_started_and_its_state_is_saved() {
    let scene = LoopFixture::new(&[]);
    let loops = scene.session_loops();
    let first = start_with_options(&loops, LoopStartOptions::default()).unwrap();
    assert!(first.starts_with("Do it.") && first.contains("<promise>DONE</promise>"));
    assert!(loops.is_active("s").unwrap() && !loops.is_active("t").unwrap());
    assert_eq!(scene.host.toasts.borrow()[0], SessionNotice::loop_started(100, "DONE"));
}

// spec: H5
#[test]
fn the_iteration_is_counted_when_the_session_is_idle_without_completion() {
    let scene = LoopFixture::new(&["Working."]);
    let loops = scene.start_loop(5);
    report_idle(&loops);
    assert_eq!(loops.active_loop("s").unwrap().unwrap().loop_state.current_iteration(), 2);
    assert!(scene.host.injected.borrow()[0].starts_with("[RALPH LOOP - ITERATION 2/5]"));
    assert_eq!(scene.toast_titles(), ["Ralph Loop Started", "Ralph Loop"]);
}

// spec: H5
#[test]
fn completion_is_detected_and_the_state_is_cleared() {
    let scene = LoopFixture::new(&["All done! <promise>DONE</promise>"]);
    let loops = scene.start_loop(5);
    report_idle(&loops);
    assert!(loops.active_loop("s").unwrap().is_none() && scene.host.injected.borrow().is_empty());
    assert_eq!(
        (loop_outcome(&scene), scene.toast_titles()[1].as_str()),
        (Some(Outcome::Completed), "Ralph Loop Complete!")
    );
}

// spec: H5
#[test]
fn the_loop_stops_at_its_maximum() {
    let scene = LoopFixture::new(&[]);
    let loops = scene.start_loop(2);
    report_idle(&loops);
    report_idle(&loops);
    report_idle(&loops);
    assert_eq!((loop_outcome(&scene), scene.host.injected.borrow().len()), (Some(Outcome::Exhausted), 1));
}

// spec: H5
#[test]
fn an_abort_of_the_user_ends_the_loop_and_another_error_pauses_it() {
    for (name, is_active) in [("AbortError", false), ("MessageAbortedError", false), ("APIError", true)] {
        let scene = LoopFixture::new(&["<promise>DONE</promise>"]);
        let loops = scene.start_loop(5);
        handle_event(&loops, SessionEvent::Error { session: "s".to_owned(), name: name.to_owned() });
        report_idle(&loops);
        assert_eq!(loops.is_active("s").unwrap(), is_active, "{name}");
        let expected = if is_active { vec!["Ralph Loop Started", "Ralph Loop"] } else { vec!["Ralph Loop Started"] };
        assert_eq!(scene.toast_titles(), expected, "skipped during recovery, with a toast: {name}");
        assert!(scene.host.injected.borrow().is_empty(), "{name}");
    }
}

// spec: H5
#[test]
fn a_deleted_session_has_no_loop() {
    let scene = LoopFixture::new(&[]);
    let loops = scene.start_loop(5);
    handle_event(&loops, SessionEvent::Deleted { session: "s".to_owned() });
    assert!(!loops.is_active("s").unwrap());
}

// spec: H3
#[test]
fn a_loop_is_cancelled_once() {
    let scene = LoopFixture::new(&[]);
    let loops = scene.start_loop(5);
    assert!(loops.cancel("s").unwrap() && !loops.cancel("s").unwrap());
    assert_eq!(scene.toast_titles()[1..], ["Ralph Loop Cancelled", "No Active Loop"]);
    report_idle(&loops);
    assert!(scene.host.injected.borrow().is_empty());
}

// spec: H5
#[test]
fn the_loop_continues_for_several_iterations_until_the_agent_outputs_the_promise() {
    let scene = LoopFixture::new(&["Reading.", "Writing.", "Done.\n\n<promise>DONE</promise>"]);
    let loops = scene.start_loop(10);
    while loops.is_active("s").unwrap() {
        report_idle(&loops);
    }
    assert_eq!((scene.host.injected.borrow().len(), loop_outcome(&scene)), (2, Some(Outcome::Completed)));
    let last = scene.host.toasts.borrow().last().unwrap().message.clone();
    let unverified = "nothing was verified, only the agent's word supports it";
    assert_eq!(last, format!("Task completed after 3 iteration(s): {unverified}"));
}

// spec: H4
#[test]
fn the_state_persists_across_restarts() {
    let scene = LoopFixture::new(&["Reading.", "<promise>DONE</promise>"]);
    report_idle(&scene.start_loop(10));
    let after = scene.session_loops();
    assert_eq!(after.active_loop("s").unwrap().unwrap().loop_state.current_iteration(), 2);
    report_idle(&after);
    assert_eq!(loop_outcome(&scene), Some(Outcome::Completed));
}

// spec: H4
#[test]
fn orphans_are_cleared_and_a_failed_lookup_clears_nothing() {
    let scene = LoopFixture::new(&[]);
    let loops = scene.start_loop(5);
    let other = || handle_event(&loops, SessionEvent::Idle { session: "other".to_owned() });
    other();
    assert!(loops.is_active("s").unwrap(), "the session exists");
    scene.host.is_unreachable.set(true);
    other();
    assert!(loops.is_active("s").unwrap(), "the lookup failed");
    scene.host.is_unreachable.set(false);
    scene.host.is_session_deleted.set(true);
    other();
    assert!(!loops.is_active("s").unwrap());
}

// spec: S1
#[test]
fn promises_are_found_with_white_space_in_any_case_and_with_other_words() {
    for (promise, words) in [
        ("DONE", "<promise>DONE</promise>"),
        ("DONE", "<promise>\n  DONE \n</promise>"),
        ("DONE", "<Promise>done</Promise>"),
        ("REFACTOR COMPLETE", "<promise>REFACTOR COMPLETE</promise>"),
    ] {
        let scene = LoopFixture::new(&[words]);
        let loops = scene.session_loops();
        let options = LoopStartOptions { completion_promise: Some(promise.to_owned()), ..LoopStartOptions::default() };
        scene.host.send_prompt(&start_with_options(&loops, options).unwrap());
        report_idle(&loops);
        assert!(!loops.is_active("s").unwrap(), "{words}");
    }
}

// spec: H3, H6
#[test]
fn checks_need_a_keeper() {
    let scene = LoopFixture::new(&[]);
    let options = LoopStartOptions { checks: vec!["true".to_owned()], ..LoopStartOptions::default() };
    let refused = start_with_options(&scene.session_loops(), options);
    assert!(refused.unwrap_err().to_string().contains("checks need a keeper"));
}

// spec: H3, S2
#[test]
fn a_message_from_before_the_loop_or_the_last_prompt_is_not_a_claim() {
    let scene = LoopFixture::new(&["<promise>DONE</promise>"]);
    scene.host.send_prompt("An earlier task.");
    let loops = scene.session_loops();
    let first = start_with_options(&loops, LoopStartOptions::default()).unwrap();
    report_idle(&loops);
    assert!(loops.is_active("s").unwrap(), "the agent has not received the first prompt yet");
    let message = SessionMessage { role: MessageRole::User, content: first };
    scene.host.messages.borrow_mut().push(message);
    report_idle(&loops);
    assert!(loops.is_active("s").unwrap(), "the agent has not replied to it");
    let message = |role, content: &str| SessionMessage { role, content: content.to_owned() };
    let late =
        [message(MessageRole::Assistant, "<promise>DONE</promise>"), message(MessageRole::User, "And the tests?")];
    scene.host.messages.borrow_mut().extend(late);
    scene.host.is_delaying_prompts.set(true);
    report_idle(&loops);
    assert!(loops.is_active("s").unwrap(), "the agent has not replied to the last prompt");
}

// spec: H3, H5
// fault: 116
#[test]
fn a_loop_cancelled_during_the_continuation_delay_is_not_continued() {
    let scene = LoopFixture::new(&["Working."]);
    let loops = scene.start_loop(5).with_delay(Duration::from_millis(1));
    let both = async {
        let cancel = async { loops.cancel("s") };
        tokio::join!(loops.handle_event(SessionEvent::Idle { session: "s".to_owned() }), cancel)
    };
    let (handled, cancelled) = block_on(both);
    assert!(handled.is_ok() && cancelled.unwrap());
    assert_eq!(scene.toast_titles()[1..], ["Ralph Loop", "Ralph Loop Cancelled"]);
    assert!(scene.host.injected.borrow().is_empty());
}

// spec: H3, H5
// fault: 113
#[test]
fn an_idle_event_that_is_reported_twice_counts_once() {
    let scene = LoopFixture::new(&["Reading."]);
    let loops = scene.start_loop(5);
    scene.host.is_delaying_prompts.set(true);
    report_idle(&loops);
    report_idle(&loops);
    assert_eq!(scene.host.injected.borrow().len(), 1);
    assert_eq!(loops.active_loop("s").unwrap().unwrap().loop_state.current_iteration(), 2);
}

// spec: H3, H5
#[test]
fn a_session_that_could_not_be_continued_is_continued_at_its_next_idle() {
    let scene = LoopFixture::new(&["Reading."]);
    let loops = scene.start_loop(5);
    scene.host.is_unreachable.set(true);
    let failed = block_on(loops.handle_event(SessionEvent::Idle { session: "s".to_owned() }));
    assert!(failed.unwrap_err().to_string().contains("no answer"));
    scene.host.is_unreachable.set(false);
    report_idle(&loops);
    assert_eq!(scene.host.injected.borrow().len(), 1);
}
