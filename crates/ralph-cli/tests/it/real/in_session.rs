//! ralph inside the sessions of real agents: `ralph install`, then a session without a screen.
use std::fs;

use serde_json::{Value, json};

use super::fixture::{AgentSpec, Fixture};
use super::scenarios::{DONE, LIE};
use crate::harness::{CallOutput, Project};

/// How the sessions of one agent are started and resumed.
pub struct Host {
    pub real: &'static AgentSpec,
    /// The prefix of a command.
    pub mark: char,
    /// Arguments for a new session; an agent that chooses its own id ignores this one.
    pub begin: fn(&str) -> Vec<String>,
    /// Arguments that resume a session.
    pub resume: fn(&str) -> Vec<String>,
    /// Finds the session id in the output, if the agent chooses its own.
    pub id: Option<fn(&CallOutput) -> String>,
    /// Marks the project as trusted, if hooks do not run otherwise.
    pub trust: fn(&Fixture),
}

/// Returns a list of arguments.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

impl Host {
    fn fixture(&self, script: impl FnOnce(&Project) -> Value) -> Fixture {
        let fixture = Fixture::new(self.real, script);
        fixture.ralph(&["install", self.real.name]).output().expect(0);
        fixture
    }

    /// Starts a session with a prompt, waits for its end, and returns its id.
    fn begin(&self, fixture: &Fixture, prompt: &str) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let answer = session(fixture, &(self.begin)(&id), prompt).expect(0);
        self.id.map_or(id, |id| id(&answer))
    }

    fn resume(&self, fixture: &Fixture, id: &str, prompt: &str) -> CallOutput {
        session(fixture, &(self.resume)(id), prompt)
    }

    /// Returns a command in the syntax of the host.
    fn command(&self, words: &str) -> String {
        format!("{}{words}", self.mark)
    }
}

fn session(fixture: &Fixture, args: &[String], prompt: &str) -> CallOutput {
    fixture.session(args).input(prompt).start().wait_without_invariants()
}

/// Returns the status of a session's loop, also while the session runs.
pub fn status(fixture: &Fixture, id: &str) -> Value {
    let call = fixture.ralph(&["loop", "status", "--session", id, "--json"]);
    call.start().wait_without_invariants().expect(0).json()[0].clone()
}

/// A greeting that is claimed before it is written.
pub fn greeting(project: &Project) -> Value {
    let file = project.root().join("greeting.txt");
    json!([{"say": LIE}, {"write": {"path": file, "content": "hello\n"}}, {"say": DONE}])
}

pub const GREET: &str = "\"Write a greeting. Don't touch $HOME.\" --check 'grep hello greeting.txt' --max-iterations=4";

/// Asserts that the loop of the greeting was completed.
pub fn greeted(fixture: &Fixture, id: &str) {
    let asked: Vec<String> = fixture.server.asked().iter().map(Value::to_string).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].contains("Write a greeting. Don't touch $HOME."), "{}", asked[0]);
    assert!(!asked[0].contains("[RALPH LOOP"), "{}", asked[0]);
    for words in ["[RALPH LOOP - ITERATION 2/4]", "`grep hello greeting.txt`: Command exited with 2"] {
        assert!(asked[1].contains(words), "{words:?} is not in {}", asked[1]);
    }
    assert_eq!(fs::read_to_string(fixture.project.root().join("greeting.txt")).unwrap(), "hello\n");
    let answer = status(fixture, id);
    assert_eq!((&answer["status"], &answer["iteration"]), (&json!("completed"), &json!(2)), "{answer}");
}

/// The session claims too early, is continued with the reason, does the work, is verified and stops.
// spec: A10, H1, H2, H6
pub fn a_false_claim_ends_no_session_and_the_work_is_verified(host: &Host) {
    let fixture = host.fixture(greeting);
    let id = host.begin(&fixture, &host.command(&format!("ralph {GREET}")));
    greeted(&fixture, &id);
}

/// Shared project hooks call ralph by name: they work with ralph on PATH, and do nothing without it.
// spec: A10, H1, H2
// fault: 115
pub fn a_project_s_hooks_find_ralph_on_the_path_and_are_silent_without_it(host: &Host) {
    let shared = || {
        let fixture = Fixture::new(host.real, greeting);
        fixture.ralph(&["install", host.real.name, "--project"]).output().expect(0);
        (host.trust)(&fixture);
        fixture
    };
    let fixture = shared();
    let other = host.begin(&fixture, "Say hello.");
    assert_eq!(fixture.server.asked().len(), 1, "it was not continued");
    assert_eq!(status(&fixture, &other), Value::Null);
    let fixture = shared();
    fixture.link_ralph();
    let id = host.begin(&fixture, &host.command(&format!("ralph {GREET}")));
    greeted(&fixture, &id);
}

/// A loop of another session in the same folder does not affect this one, and a cancelled loop does not continue.
// spec: A10, H2, H3, H4
// fault: 112
pub fn a_session_beside_a_loop_is_not_affected_and_a_cancelled_loop_has_ended(host: &Host) {
    let fixture = host.fixture(|_| json!([{"say": "Hello."}]));
    let start = |id: &str| {
        let name = host.real.name;
        fixture.ralph(&["loop", "start", "--session", id, "--host", name, "--prompt", "x"]).output().expect(0);
    };
    start("another-session");
    let id = host.begin(&fixture, "Say hello.");
    assert_eq!(fixture.server.asked().len(), 1, "it was not continued");
    start(&id);
    // Some answer the command without the model, and one of them calls that a failure.
    host.resume(&fixture, &id, &host.command("cancel-ralph"));
    assert_eq!(status(&fixture, &id)["status"], "cancelled");
    let before = fixture.server.asked().len();
    assert!(before <= 2, "the command itself is one turn at most");
    host.resume(&fixture, &id, "Say hello again.").expect(0);
    assert_eq!(fixture.server.asked().len(), before + 1);
    let other = status(&fixture, "another-session");
    assert_eq!((&other["status"], &other["iteration"]), (&json!("active"), &json!(1)), "{other}");
}

/// Defines a test of shared project hooks.
macro_rules! shared_sessions {
    ($host:ident) => {
        #[test]
        fn a_project_s_hooks_find_ralph_on_the_path_and_are_silent_without_it() {
            $crate::real::in_session::a_project_s_hooks_find_ralph_on_the_path_and_are_silent_without_it(&$host);
        }
    };
}
pub(super) use shared_sessions;

/// Defines a test of each scenario for one host.
macro_rules! sessions {
    ($host:ident) => {
        #[test]
        fn a_false_claim_ends_no_session_and_the_work_is_verified() {
            $crate::real::in_session::a_false_claim_ends_no_session_and_the_work_is_verified(&$host);
        }

        #[test]
        fn a_session_beside_a_loop_is_not_affected_and_a_cancelled_loop_has_ended() {
            $crate::real::in_session::a_session_beside_a_loop_is_not_affected_and_a_cancelled_loop_has_ended(&$host);
        }
    };
}
pub(super) use sessions;
