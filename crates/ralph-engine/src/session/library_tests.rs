//! Loops over a host that the test plays.
use std::cell::{Cell, RefCell};
use std::time::Duration;

use ralph_core::outcome::Outcome;
use ralph_core::session::Notice;
use tempfile::TempDir;

use super::*;

/// A program with sessions, of which one speaks the next words of a script each time it is asked.
#[derive(Default)]
struct Stage {
    words: RefCell<Vec<&'static str>>,
    said: RefCell<Vec<Message>>,
    injected: RefCell<Vec<String>>,
    toasts: RefCell<Vec<Notice>>,
    is_gone: Cell<bool>,
    is_deaf: Cell<bool>,
    /// What it is told does not stand in the session yet.
    is_slow: Cell<bool>,
}

impl Host for &Stage {
    type Error = &'static str;

    fn name(&self) -> &str {
        "stage"
    }

    async fn messages(&self, _session: &str) -> Result<Vec<Message>, &'static str> {
        Ok(self.said.borrow().clone())
    }

    async fn inject(&self, _session: &str, prompt: &str) -> Result<(), &'static str> {
        if self.is_deaf.get() {
            return Err("nobody answers");
        }
        self.injected.borrow_mut().push(prompt.to_owned());
        if !self.is_slow.get() {
            self.tell(prompt);
        }
        Ok(())
    }

    fn toast(&self, notice: &Notice) {
        self.toasts.borrow_mut().push(notice.clone());
    }

    async fn session_exists(&self, _session: &str) -> Result<bool, &'static str> {
        if self.is_deaf.get() { Err("nobody answers") } else { Ok(!self.is_gone.get()) }
    }
}

impl Stage {
    /// The user, or ralph, says something, and the agent answers.
    fn tell(&self, prompt: &str) {
        let mut words = self.words.borrow_mut();
        let answer = if words.is_empty() { "Working." } else { words.remove(0) };
        let message = |role, content: &str| Message { role, content: content.to_owned() };
        self.said.borrow_mut().extend([message(Role::User, prompt), message(Role::Assistant, answer)]);
    }
}

struct Scene {
    temp: TempDir,
    stage: Stage,
}

impl Scene {
    fn new(words: &[&'static str]) -> Self {
        let stage = Stage { words: RefCell::new(words.to_vec()), ..Stage::default() };
        Self { temp: tempfile::tempdir().unwrap(), stage }
    }

    fn loops(&self) -> SessionLoops<&Stage> {
        SessionLoops::new(&self.stage, Book::at(self.temp.path().join("sessions"))).with_delay(Duration::ZERO)
    }

    fn started(&self, max_iterations: u32) -> SessionLoops<&Stage> {
        let loops = self.loops();
        let options = StartOptions { max_iterations: Some(max_iterations), ..StartOptions::default() };
        self.stage.tell(&start(&loops, options).unwrap());
        loops
    }

    fn titles(&self) -> Vec<String> {
        self.stage.toasts.borrow().iter().map(|notice| notice.title.clone()).collect()
    }
}

fn now<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn start(loops: &SessionLoops<&Stage>, options: StartOptions) -> Result<String, LoopError> {
    now(loops.start("s", "Do it.", options))
}

fn handle(loops: &SessionLoops<&Stage>, event: SessionEvent) {
    now(loops.handle(event)).unwrap();
}

fn idle(loops: &SessionLoops<&Stage>) {
    handle(loops, SessionEvent::Idle { session: "s".to_owned() });
}

fn outcome(scene: &Scene) -> Option<Outcome> {
    let kept = Book::at(scene.temp.path().join("sessions")).find(&Key::new(Some("stage"), "s")).unwrap();
    kept.unwrap().state.machine.ended().map(|ended| ended.outcome)
}

// spec: H3, H4
#[test]
fn the_state_is_written_and_read() {
    let scene = Scene::new(&[]);
    let loops = scene.started(7);
    let kept = loops.state("s").unwrap().unwrap().json();
    assert_eq!(
        (&kept["active"], &kept["iteration"], &kept["maxIterations"]),
        (&true.into(), &1.into(), &7.into())
    );
    assert_eq!((&kept["prompt"], &kept["sessionId"]), (&"Do it.".into(), &"s".into()));
    assert_eq!(kept["completionPromise"], "DONE");
    assert!(loops.state("t").unwrap().is_none());
}

// spec: H3, H4, H7
#[test]
fn a_loop_is_started_and_its_state_is_saved() {
    let scene = Scene::new(&[]);
    let loops = scene.loops();
    let first = start(&loops, StartOptions::default()).unwrap();
    assert!(first.starts_with("Do it.") && first.contains("<promise>DONE</promise>"));
    assert!(loops.is_active("s").unwrap() && !loops.is_active("t").unwrap());
    assert_eq!(scene.stage.toasts.borrow()[0], Notice::started(100, "DONE"));
}

// spec: H5
#[test]
fn the_iteration_is_counted_when_the_session_is_idle_without_completion() {
    let scene = Scene::new(&["Working."]);
    let loops = scene.started(5);
    idle(&loops);
    assert_eq!(loops.state("s").unwrap().unwrap().state.iteration(), 2);
    assert!(scene.stage.injected.borrow()[0].starts_with("[RALPH LOOP - ITERATION 2/5]"));
    assert_eq!(scene.titles(), ["Ralph Loop Started", "Ralph Loop"]);
}

// spec: H5
#[test]
fn completion_is_detected_and_the_state_is_cleared() {
    let scene = Scene::new(&["All done! <promise>DONE</promise>"]);
    let loops = scene.started(5);
    idle(&loops);
    assert!(loops.state("s").unwrap().is_none() && scene.stage.injected.borrow().is_empty());
    assert_eq!(
        (outcome(&scene), scene.titles()[1].as_str()),
        (Some(Outcome::Completed), "Ralph Loop Complete!")
    );
}

// spec: H5
#[test]
fn the_loop_stops_at_its_maximum() {
    let scene = Scene::new(&[]);
    let loops = scene.started(2);
    idle(&loops);
    idle(&loops);
    idle(&loops);
    assert_eq!((outcome(&scene), scene.stage.injected.borrow().len()), (Some(Outcome::Exhausted), 1));
}

// spec: H5
#[test]
fn an_abort_of_the_user_ends_the_loop_and_another_error_leaves_it_alone_for_a_while() {
    for (name, is_active) in [("AbortError", false), ("MessageAbortedError", false), ("APIError", true)] {
        let scene = Scene::new(&["<promise>DONE</promise>"]);
        let loops = scene.started(5);
        handle(&loops, SessionEvent::Error { session: "s".to_owned(), name: name.to_owned() });
        idle(&loops);
        assert_eq!(loops.is_active("s").unwrap(), is_active, "{name}");
        let told =
            if is_active { vec!["Ralph Loop Started", "Ralph Loop"] } else { vec!["Ralph Loop Started"] };
        assert_eq!(scene.titles(), told, "skipped during recovery, which is told: {name}");
        assert!(scene.stage.injected.borrow().is_empty(), "{name}");
    }
}

// spec: H5
#[test]
fn a_deleted_session_has_no_loop() {
    let scene = Scene::new(&[]);
    let loops = scene.started(5);
    handle(&loops, SessionEvent::Deleted { session: "s".to_owned() });
    assert!(!loops.is_active("s").unwrap());
}

// spec: H3
#[test]
fn a_loop_is_cancelled_once() {
    let scene = Scene::new(&[]);
    let loops = scene.started(5);
    assert!(loops.cancel("s").unwrap() && !loops.cancel("s").unwrap());
    assert_eq!(scene.titles()[1..], ["Ralph Loop Cancelled", "No Active Loop"]);
    idle(&loops);
    assert!(scene.stage.injected.borrow().is_empty());
}

// spec: H5
#[test]
fn the_loop_goes_on_for_several_iterations_until_the_agent_outputs_the_promise() {
    let scene = Scene::new(&["Reading.", "Writing.", "Done.\n\n<promise>DONE</promise>"]);
    let loops = scene.started(10);
    while loops.is_active("s").unwrap() {
        idle(&loops);
    }
    assert_eq!((scene.stage.injected.borrow().len(), outcome(&scene)), (2, Some(Outcome::Completed)));
    let last = scene.stage.toasts.borrow().last().unwrap().message.clone();
    assert_eq!(last, "Task completed after 3 iteration(s)");
}

// spec: H4
#[test]
fn the_state_persists_across_restarts() {
    let scene = Scene::new(&["Reading.", "<promise>DONE</promise>"]);
    idle(&scene.started(10));
    let after = scene.loops();
    assert_eq!(after.state("s").unwrap().unwrap().state.iteration(), 2);
    idle(&after);
    assert_eq!(outcome(&scene), Some(Outcome::Completed));
}

// spec: H4
#[test]
fn orphans_are_cleared_and_a_failed_look_clears_nothing() {
    let scene = Scene::new(&[]);
    let loops = scene.started(5);
    let other = || handle(&loops, SessionEvent::Idle { session: "other".to_owned() });
    other();
    assert!(loops.is_active("s").unwrap(), "it is there");
    scene.stage.is_deaf.set(true);
    other();
    assert!(loops.is_active("s").unwrap(), "nobody knows");
    scene.stage.is_deaf.set(false);
    scene.stage.is_gone.set(true);
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
        let scene = Scene::new(&[words]);
        let loops = scene.loops();
        let options =
            StartOptions { completion_promise: Some(promise.to_owned()), ..StartOptions::default() };
        scene.stage.tell(&start(&loops, options).unwrap());
        idle(&loops);
        assert!(!loops.is_active("s").unwrap(), "{words}");
    }
}

// spec: H3, H6
#[test]
fn checks_need_somebody_to_run_them() {
    let scene = Scene::new(&[]);
    let options = StartOptions { checks: vec!["true".to_owned()], ..StartOptions::default() };
    let refused = start(&scene.loops(), options);
    assert!(refused.unwrap_err().to_string().contains("checks need a keeper"));
}

// spec: H3, S2
#[test]
fn what_was_said_before_the_loop_or_before_the_last_prompt_is_no_claim() {
    let scene = Scene::new(&["<promise>DONE</promise>"]);
    scene.stage.tell("An earlier task.");
    let loops = scene.loops();
    let first = start(&loops, StartOptions::default()).unwrap();
    idle(&loops);
    assert!(loops.is_active("s").unwrap(), "nobody has been told of the loop yet");
    let message = Message { role: Role::User, content: first };
    scene.stage.said.borrow_mut().push(message);
    idle(&loops);
    assert!(loops.is_active("s").unwrap(), "the agent has said nothing to it");
    let message = |role, content: &str| Message { role, content: content.to_owned() };
    let late = [message(Role::Assistant, "<promise>DONE</promise>"), message(Role::User, "And the tests?")];
    scene.stage.said.borrow_mut().extend(late);
    scene.stage.is_slow.set(true);
    idle(&loops);
    assert!(loops.is_active("s").unwrap(), "it has not answered the last prompt");
}

// spec: H3, H5
// fault: 116
#[test]
fn a_loop_that_is_cancelled_while_the_session_comes_to_rest_is_not_continued() {
    let scene = Scene::new(&["Working."]);
    let loops = scene.started(5).with_delay(Duration::from_millis(1));
    let told = async {
        let cancel = async { loops.cancel("s") };
        tokio::join!(loops.handle(SessionEvent::Idle { session: "s".to_owned() }), cancel)
    };
    let (handled, cancelled) = now(told);
    assert!(handled.is_ok() && cancelled.unwrap());
    assert_eq!(scene.titles()[1..], ["Ralph Loop", "Ralph Loop Cancelled"]);
    assert!(scene.stage.injected.borrow().is_empty());
}

// spec: H3, H5
// fault: 113
#[test]
fn an_idle_that_a_program_tells_of_twice_counts_once() {
    let scene = Scene::new(&["Reading."]);
    let loops = scene.started(5);
    scene.stage.is_slow.set(true);
    idle(&loops);
    idle(&loops);
    assert_eq!(scene.stage.injected.borrow().len(), 1);
    assert_eq!(loops.state("s").unwrap().unwrap().state.iteration(), 2);
}

// spec: H3, H5
#[test]
fn a_session_that_could_not_be_told_to_go_on_is_told_at_its_next_idle() {
    let scene = Scene::new(&["Reading."]);
    let loops = scene.started(5);
    scene.stage.is_deaf.set(true);
    let unheard = now(loops.handle(SessionEvent::Idle { session: "s".to_owned() }));
    assert!(unheard.unwrap_err().to_string().contains("nobody answers"));
    scene.stage.is_deaf.set(false);
    idle(&loops);
    assert_eq!(scene.stage.injected.borrow().len(), 1);
}
