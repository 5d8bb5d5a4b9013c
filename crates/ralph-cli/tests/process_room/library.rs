//! Session loops of a host program that embeds ralph, with checks that run real programs.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;

use ralph_core::session_loop::SessionNotice;
use ralph_engine::session_driver::{
    LoopStartOptions, LoopStore, MessageRole, SessionEvent, SessionHost, SessionLoops, SessionMessage,
};

use crate::fixture::{Fixture, processes_of_run, until};

crate::test_cases![a_claim_in_a_host_session_is_checked, cancelling_a_session_loop_ends_its_check_at_once,];

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
async fn start_loop<'a>(
    fixture: &Fixture,
    host: &'a FakeHost,
    folder: &Path,
    check: &str,
) -> SessionLoops<&'a FakeHost> {
    let root = folder.join("project");
    std::fs::create_dir(&root).unwrap();
    assert!(Command::new("git").args(["init", "-q"]).arg(&root).status().unwrap().success());
    let store = LoopStore::new(folder.join("sessions"));
    let loops = SessionLoops::new(host, store).with_keeper(fixture.keeper.clone());
    let options = LoopStartOptions { checks: vec![check.to_owned()], root, ..LoopStartOptions::default() };
    host.answer_prompt(&loops.start("s", "Do it.", options).await.unwrap());
    loops
}

fn idle() -> SessionEvent {
    SessionEvent::Idle { session: "s".to_owned() }
}

// spec: H3, H6
async fn a_claim_in_a_host_session_is_checked(fixture: Fixture) {
    let (host, temp) = (FakeHost::default(), tempfile::tempdir().unwrap());
    let loops = start_loop(&fixture, &host, temp.path(), "test -f done.txt").await;
    loops.handle_event(idle()).await.unwrap();
    assert!(host.injected.borrow()[0].contains("was rejected: `test -f done.txt`"));
    std::fs::write(temp.path().join("project/done.txt"), "").unwrap();
    loops.handle_event(idle()).await.unwrap();
    assert!(!loops.is_active("s").unwrap());
    assert_eq!(host.toasts.borrow().last().unwrap(), "Ralph Loop Complete!");
}

// spec: H3, H6
// fault: 116
async fn cancelling_a_session_loop_ends_its_check_at_once(fixture: Fixture) {
    let (host, temp) = (FakeHost::default(), tempfile::tempdir().unwrap());
    let ready = temp.path().join("ready");
    let check = format!("setsid sleep 1000 & touch {}; sleep 1000", ready.display());
    let loops = start_loop(&fixture, &host, temp.path(), &check).await;
    let id = loops.active_loop("s").unwrap().unwrap().id;
    let cancel = async {
        until("the check runs", || ready.exists()).await;
        assert!(loops.cancel("s").unwrap());
    };
    let (handled, ()) = tokio::join!(loops.handle_event(idle()), cancel);
    handled.unwrap();
    assert!(host.injected.borrow().is_empty());
    assert_eq!(*host.toasts.borrow(), ["Ralph Loop Started", "Ralph Loop Cancelled"]);
    assert_eq!(processes_of_run(&id), Vec::<u32>::new(), "processes of the check are alive");
}
