//! Loops of a program's own sessions, with checks that really run.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use ralph_core::session_loop::SessionNotice;
use ralph_engine::session_driver::{
    LoopStartOptions, LoopStore, MessageRole, SessionEvent, SessionHost, SessionLoops, SessionMessage,
};

use crate::scene::{Scene, marked, until};

crate::stories![
    a_claim_in_a_session_of_a_program_is_checked,
    a_loop_of_a_program_that_is_cancelled_ends_its_check_at_once,
];

/// A program whose only session always claims to be done.
#[derive(Default)]
struct Stage {
    said: RefCell<Vec<SessionMessage>>,
    injected: RefCell<Vec<String>>,
    told: RefCell<Vec<String>>,
}

impl SessionHost for &Stage {
    type Error = &'static str;

    fn name(&self) -> &str {
        "stage"
    }

    async fn session_messages(&self, _session: &str) -> Result<Vec<SessionMessage>, &'static str> {
        Ok(self.said.borrow().clone())
    }

    async fn inject_prompt(&self, _session: &str, prompt: &str) -> Result<(), &'static str> {
        self.injected.borrow_mut().push(prompt.to_owned());
        self.tell(prompt);
        Ok(())
    }

    fn show_toast(&self, notice: &SessionNotice) {
        self.told.borrow_mut().push(notice.title.clone());
    }

    async fn session_exists(&self, _session: &str) -> Result<bool, &'static str> {
        Ok(true)
    }
}

impl Stage {
    fn tell(&self, prompt: &str) {
        let message = |role, content: &str| SessionMessage { role, content: content.to_owned() };
        let claim = message(MessageRole::Assistant, "<promise>DONE</promise>");
        self.said.borrow_mut().extend([message(MessageRole::User, prompt), claim]);
    }
}

/// Begins a loop with a check in a folder, which becomes a repository.
async fn begun<'a>(scene: &Scene, stage: &'a Stage, folder: &Path, check: &str) -> SessionLoops<&'a Stage> {
    let root = folder.join("project");
    std::fs::create_dir(&root).unwrap();
    assert!(Command::new("git").args(["init", "-q"]).arg(&root).status().unwrap().success());
    let book = LoopStore::new(folder.join("sessions"));
    let loops = SessionLoops::new(stage, book).with_keeper(scene.keeper.clone());
    let options = LoopStartOptions { checks: vec![check.to_owned()], root, ..LoopStartOptions::default() };
    stage.tell(&loops.start("s", "Do it.", options).await.unwrap());
    loops
}

fn idle() -> SessionEvent {
    SessionEvent::Idle { session: "s".to_owned() }
}

// spec: H3, H6
async fn a_claim_in_a_session_of_a_program_is_checked(scene: Scene) {
    let (stage, temp) = (Stage::default(), tempfile::tempdir().unwrap());
    let loops = begun(&scene, &stage, temp.path(), "test -f done.txt").await;
    loops.handle_event(idle()).await.unwrap();
    assert!(stage.injected.borrow()[0].contains("was rejected: `test -f done.txt`"));
    std::fs::write(temp.path().join("project/done.txt"), "").unwrap();
    loops.handle_event(idle()).await.unwrap();
    assert!(!loops.is_active("s").unwrap());
    assert_eq!(stage.told.borrow().last().unwrap(), "Ralph Loop Complete!");
}

// spec: H3, H6
// fault: 116
async fn a_loop_of_a_program_that_is_cancelled_ends_its_check_at_once(scene: Scene) {
    let (stage, temp) = (Stage::default(), tempfile::tempdir().unwrap());
    let ready = temp.path().join("ready");
    let check = format!("setsid sleep 1000 & touch {}; sleep 1000", ready.display());
    let loops = begun(&scene, &stage, temp.path(), &check).await;
    let id = loops.active_loop("s").unwrap().unwrap().id;
    let cancel = async {
        until("the check runs", || ready.exists()).await;
        assert!(loops.cancel("s").unwrap());
    };
    let (handled, ()) = tokio::join!(loops.handle_event(idle()), cancel);
    handled.unwrap();
    assert!(stage.injected.borrow().is_empty());
    assert_eq!(*stage.told.borrow(), ["Ralph Loop Started", "Ralph Loop Cancelled"]);
    assert_eq!(marked(&id), Vec::<u32>::new(), "processes of the check are alive");
}
