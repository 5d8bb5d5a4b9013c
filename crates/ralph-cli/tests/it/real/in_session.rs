//! ralph inside the sessions of real agents: `ralph install`, then a session as people start it, only without a screen.
use std::fs;

use serde_json::{Value, json};

use super::scene::{Real, Scene};
use super::stories::{DONE, LIE};
use crate::harness::{Answer, Project};

/// How the sessions of one agent are begun and gone on with.
pub struct Host {
    pub real: &'static Real,
    /// What stands before the name of a command.
    pub mark: char,
    /// Arguments for a new session; one that chooses its own id does not look at this one.
    pub begin: fn(&str) -> Vec<String>,
    /// Arguments for more of a session.
    pub resume: fn(&str) -> Vec<String>,
    /// Finds the session's id in what it printed, where it chooses its own.
    pub id: Option<fn(&Answer) -> String>,
    /// Writes down that the user trusts the project, where its hooks do not run without.
    pub trust: fn(&Scene),
}

/// Makes a list of arguments.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

impl Host {
    fn scene(&self, script: impl FnOnce(&Project) -> Value) -> Scene {
        let scene = Scene::new(self.real, script);
        scene.ralph(&["install", self.real.name]).output().expect(0);
        scene
    }

    /// Begins a session with a prompt, waits for its end, and returns its id.
    fn begin(&self, scene: &Scene, prompt: &str) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let answer = session(scene, &(self.begin)(&id), prompt).expect(0);
        self.id.map_or(id, |id| id(&answer))
    }

    fn resume(&self, scene: &Scene, id: &str, prompt: &str) -> Answer {
        session(scene, &(self.resume)(id), prompt)
    }

    /// Writes a command as its host has it.
    fn command(&self, words: &str) -> String {
        format!("{}{words}", self.mark)
    }
}

fn session(scene: &Scene, args: &[String], prompt: &str) -> Answer {
    scene.session(args).input(prompt).start().wait_without_invariants()
}

/// Returns what ralph knows of a session's loop, also while its program runs.
pub fn status(scene: &Scene, id: &str) -> Value {
    let call = scene.ralph(&["loop", "status", "--session", id, "--json"]);
    call.start().wait_without_invariants().expect(0).json()[0].clone()
}

/// A greeting that is claimed before it is written.
pub fn greeting(project: &Project) -> Value {
    let file = project.root().join("greeting.txt");
    json!([{"say": LIE}, {"write": {"path": file, "content": "hello\n"}}, {"say": DONE}])
}

pub const GREET: &str = "\"Write a greeting. Don't touch $HOME.\" --check 'grep hello greeting.txt' --max-iterations=4";

/// The loop of the greeting went as it should.
pub fn greeted(scene: &Scene, id: &str) {
    let asked: Vec<String> = scene.server.asked().iter().map(Value::to_string).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].contains("Write a greeting. Don't touch $HOME."), "{}", asked[0]);
    assert!(!asked[0].contains("[RALPH LOOP"), "{}", asked[0]);
    for words in ["[RALPH LOOP - ITERATION 2/4]", "`grep hello greeting.txt`: Command exited with 2"] {
        assert!(asked[1].contains(words), "{words:?} is not in {}", asked[1]);
    }
    assert_eq!(fs::read_to_string(scene.project.root().join("greeting.txt")).unwrap(), "hello\n");
    let told = status(scene, id);
    assert_eq!((&told["status"], &told["iteration"]), (&json!("completed"), &json!(2)), "{told}");
}

/// The session says that it is done too early, is continued with the reason, does the work, is verified and stops.
// spec: A10, H1, H2, H6
pub fn a_lie_ends_no_session_and_the_work_is_proven(host: &Host) {
    let scene = host.scene(greeting);
    let id = host.begin(&scene, &host.command(&format!("ralph {GREET}")));
    greeted(&scene, &id);
}

/// What a project shares names ralph by its name: whoever has it on PATH is answered, and nobody else notices anything.
// spec: A10, H1, H2
// fault: 115
pub fn a_project_s_hooks_find_ralph_by_its_name_and_are_silent_where_there_is_none(host: &Host) {
    let shared = || {
        let scene = Scene::new(host.real, greeting);
        scene.ralph(&["install", host.real.name, "--project"]).output().expect(0);
        (host.trust)(&scene);
        scene
    };
    let scene = shared();
    let other = host.begin(&scene, "Say hello.");
    assert_eq!(scene.server.asked().len(), 1, "nobody asked it to go on");
    assert_eq!(status(&scene, &other), Value::Null);
    let scene = shared();
    scene.link_ralph();
    let id = host.begin(&scene, &host.command(&format!("ralph {GREET}")));
    greeted(&scene, &id);
}

/// A loop of another session in the same folder does not touch this one, and one that is cancelled goes on no more.
// spec: A10, H2, H3, H4
// fault: 112
pub fn a_session_beside_a_loop_is_let_alone_and_a_cancelled_loop_is_over(host: &Host) {
    let scene = host.scene(|_| json!([{"say": "Hello."}]));
    let start = |id: &str| {
        let name = host.real.name;
        scene.ralph(&["loop", "start", "--session", id, "--host", name, "--prompt", "x"]).output().expect(0);
    };
    start("another-session");
    let id = host.begin(&scene, "Say hello.");
    assert_eq!(scene.server.asked().len(), 1, "nobody asked it to go on");
    start(&id);
    // Some answer the command without the model, and one of them calls that a failure.
    host.resume(&scene, &id, &host.command("cancel-ralph"));
    assert_eq!(status(&scene, &id)["status"], "cancelled");
    let before = scene.server.asked().len();
    assert!(before <= 2, "the command itself is one turn at most");
    host.resume(&scene, &id, "Say hello again.").expect(0);
    assert_eq!(scene.server.asked().len(), before + 1);
    let other = status(&scene, "another-session");
    assert_eq!((&other["status"], &other["iteration"]), (&json!("active"), &json!(1)), "{other}");
}

/// Makes a test of the hooks that a project shares.
macro_rules! shared_sessions {
    ($host:ident) => {
        #[test]
        fn a_project_s_hooks_find_ralph_by_its_name_and_are_silent_where_there_is_none() {
            $crate::real::in_session::a_project_s_hooks_find_ralph_by_its_name_and_are_silent_where_there_is_none(
                &$host,
            );
        }
    };
}
pub(super) use shared_sessions;

/// Makes a test of each story for one host.
macro_rules! sessions {
    ($host:ident) => {
        #[test]
        fn a_lie_ends_no_session_and_the_work_is_proven() {
            $crate::real::in_session::a_lie_ends_no_session_and_the_work_is_proven(&$host);
        }

        #[test]
        fn a_session_beside_a_loop_is_let_alone_and_a_cancelled_loop_is_over() {
            $crate::real::in_session::a_session_beside_a_loop_is_let_alone_and_a_cancelled_loop_is_over(&$host);
        }
    };
}
pub(super) use sessions;
