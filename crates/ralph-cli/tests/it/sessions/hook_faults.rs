//! Invalid hook calls: a session is never trapped, and its loop is never lost.
use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::inotify;
use serde_json::{Value, json};

use crate::harness::{Project, wait_until};
use crate::sessions::hooks::{hook, start, status, stop};

/// The end of a turn whose message must be found in the transcript.
fn stop_without_message(session: &str, transcript: &Path) -> Value {
    let mut event = stop(session, "");
    event["transcript_path"] = json!(transcript);
    event.as_object_mut().unwrap().remove("last_assistant_message");
    event
}

fn line(role: &str, id: &str, content: &Value, is_aside: bool) -> String {
    let message = json!({"id": id, "role": role, "content": content});
    format!("{}\n", json!({"type": role, "isSidechain": is_aside, "message": message, "sessionId": "s"}))
}

fn asked() -> String {
    line("user", "u", &json!("Make done.txt"), false)
}

/// The prompt of a hook in Claude's transcript.
fn continued() -> String {
    let message = json!({"role": "user", "content": "Stop hook feedback:\n[RALPH LOOP - ITERATION 2/100]"});
    format!("{}\n", json!({"type": "user", "isSidechain": false, "isMeta": true, "message": message}))
}

fn assistant_line(id: &str, text: &str) -> String {
    line("assistant", id, &json!([{"type": "text", "text": text}]), false)
}

fn assert_loop_ended(answer: &Value) -> bool {
    answer["systemMessage"].as_str().is_some_and(|printed| printed.starts_with("Ralph Loop Complete!"))
}

/// Asserts that a session may stop without being complete, and returns the message for the person.
fn assert_stop_allowed(stdout: &str) -> String {
    let answer: Value = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert!(answer["decision"].is_null() && !stdout.contains("Complete!"), "{answer}");
    answer["systemMessage"].as_str().unwrap_or_default().to_owned()
}

// spec: H8, H9
// fault: 108
#[test]
fn malformed_events_let_the_session_stop_and_keep_the_loop() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let before = status(&project, "s");
    let huge = format!("{{\"session_id\":\"other\",\"x\":\"{}\"}}", "y".repeat(50 << 20));
    for input in ["", "{", "null", "[]", "\u{0}\u{1}", "{\"session_id\":7}", "{\"session_id\":\"s\"}", &huge] {
        let answer = project.ralph(["hook", "claude"]).input(input).output().expect(0);
        assert_stop_allowed(&answer.stdout);
    }
    let half = b"{\"session_id\":\"s\",\"hook_event_name\":\"Stop\",\"last_assistant_message\":\"\xe4";
    let printed = assert_stop_allowed(&project.ralph(["hook", "claude"]).input(half).output().expect(0).stdout);
    assert!(printed.contains("cannot read the event"), "{printed}");
    assert_eq!(status(&project, "s"), before);
    let log = fs::read_to_string(project.home().join(".local/state/ralph/sessions/hook.log")).unwrap();
    assert!(log.contains("claude: the session may stop: cannot read the event"), "{log}");
}

// spec: H9
// fault: 108
#[test]
fn a_host_that_never_closes_stdin_is_answered() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let mut child =
        project.ralph(["hook", "claude"]).command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(stop("s", "on it").to_string().as_bytes()).unwrap();
    wait_until("the hook has answered", || child.try_wait().unwrap().is_some());
    let answer = child.wait_with_output().unwrap().stdout;
    assert!(String::from_utf8(answer).unwrap().contains("ITERATION 2/100"));
    drop(stdin);
}

// spec: H9
// fault: 109
#[test]
fn an_empty_transcript_is_not_a_promise_and_the_loop_continues() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    for (turn, text) in [None, Some(String::new()), Some(asked()), Some("no json\n".to_owned())].into_iter().enumerate()
    {
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let answer = hook(&project, "claude", &stop_without_message("s", &path));
        assert!(answer["reason"].as_str().unwrap().contains(&format!("ITERATION {}/100", turn + 2)), "{answer}");
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(hook(&project, "claude", &stop_without_message("s", &path))["decision"], "block");
    assert_eq!(status(&project, "s")["active"], true);
}

/// How often a file was opened.
struct FileOpenCounter {
    watch: OwnedFd,
    seen: Cell<usize>,
}

impl FileOpenCounter {
    fn at(path: &Path) -> Self {
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, path, inotify::WatchFlags::OPEN).unwrap();
        Self { watch, seen: Cell::new(0) }
    }

    fn seen(&self) -> usize {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.watch, &mut buffer);
        while reader.next().is_ok() {
            self.seen.set(self.seen.get() + 1);
        }
        self.seen.get()
    }
}

// spec: H9
// fault: 110
#[test]
fn the_last_message_may_reach_the_transcript_after_the_hook_has_started() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    fs::write(&path, asked()).unwrap();
    let looks = FileOpenCounter::at(&path);
    let running = project.ralph(["hook", "claude"]).input(stop_without_message("s", &path).to_string()).start();
    wait_until("the hook has looked, and looks again", || looks.seen() > 1);
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(assistant_line("m1", "Done. <promise>DONE</promise>").as_bytes()).unwrap();
    let answer: Value = serde_json::from_str(&running.wait().expect(0).stdout).unwrap();
    assert!(assert_loop_ended(&answer), "{answer}");
}

// spec: H9
// fault: 110
#[test]
fn the_message_of_a_continued_turn_is_waited_for_instead_of_an_earlier_one() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    fs::write(&path, format!("{}{}{}", asked(), assistant_line("m1", "Working on it."), continued())).unwrap();
    let looks = FileOpenCounter::at(&path);
    let running = project.ralph(["hook", "claude"]).input(stop_without_message("s", &path).to_string()).start();
    wait_until("the hook has looked, and looks again", || looks.seen() > 1 || !running.is_alive());
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(assistant_line("m2", "Done. <promise>DONE</promise>").as_bytes()).unwrap();
    let answer: Value = serde_json::from_str(&running.wait().expect(0).stdout).unwrap();
    assert!(assert_loop_ended(&answer), "{answer}");
}

// spec: H9, S2, S4
// fault: 111
#[test]
fn only_the_tail_of_a_transcript_is_read_and_only_the_agents_messages_in_it() {
    let project = Project::new();
    let path = project.outside("transcript.jsonl");
    let tool = line("assistant", "m2", &json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]), false);
    let result = line(
        "user",
        "r",
        &json!([{"type": "tool_result", "tool_use_id": "t", "content": "<promise>DONE</promise>"}]),
        false,
    );
    let aside = line("assistant", "m9", &json!([{"type": "text", "text": "<promise>DONE</promise>"}]), true);
    let cut = &assistant_line("m8", "<promise>DONE</promise>")[..60];
    let claim = assistant_line("m1", "Done. <promise>DONE</promise>");
    let cases: &[(&str, String, bool)] = &[
        ("a claim, then a cut line", format!("{}{claim}{cut}", asked()), true),
        ("a claim, then only tools", format!("{}{claim}{tool}{result}", asked()), true),
        ("a claim of a sub-agent", format!("{}{}{aside}", asked(), assistant_line("m1", "Working.")), false),
        (
            "a claim in the output of a tool",
            format!("{}{}{tool}{result}", asked(), assistant_line("m1", "Working.")),
            false,
        ),
        ("a claim of an earlier turn", format!("{claim}{}{tool}", asked()), false),
        ("a claim before the session was continued", format!("{}{claim}{}{tool}{result}", asked(), continued()), false),
        ("a claim after it", format!("{}{}{}{claim}", asked(), assistant_line("m0", "Working."), continued()), true),
        (
            "a message in two pieces",
            format!("{}{}{}", asked(), assistant_line("m1", "Done. <promise>DO"), assistant_line("m1", "NE</promise>")),
            true,
        ),
    ];
    for (name, text, claims) in cases {
        project.ralph(["loop", "cancel", "--session", "s"]).output().expect(0);
        start(&project, "s", &[]).output().expect(0);
        fs::write(&path, text).unwrap();
        let answer = hook(&project, "claude", &stop_without_message("s", &path));
        assert_eq!(assert_loop_ended(&answer), *claims, "{name}: {answer}");
    }
}

// spec: H9, F3
// fault: 111
#[test]
fn a_transcript_of_500_mb_is_not_read_completely() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    let file = fs::File::create(&path).unwrap();
    file.set_len(500 << 20).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(format!("\n{}{}", asked(), assistant_line("m", "<promise>DONE</promise>")).as_bytes()).unwrap();
    // The invariants limit the memory of every call.
    assert!(assert_loop_ended(&hook(&project, "claude", &stop_without_message("s", &path))));
}

// spec: H5
// fault: 113
#[test]
fn a_hook_that_is_called_twice_for_one_stop_counts_it_once() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let path = project.outside("transcript.jsonl");
    fs::write(&path, format!("{}{}", asked(), assistant_line("m1", "on it"))).unwrap();
    let mut event = stop("s", "on it");
    event["transcript_path"] = json!(path);
    assert_eq!(hook(&project, "claude", &event)["decision"], "block");
    let again = hook(&project, "claude", &event);
    assert!(again["decision"].is_null(), "{again}");
    assert!(again["systemMessage"].as_str().unwrap().contains("This stop was already handled"), "{again}");
    assert_eq!(status(&project, "s")["iteration"], 2);
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(assistant_line("m2", "on it").as_bytes())
        .unwrap();
    assert_eq!(hook(&project, "claude", &event)["decision"], "block", "the same words at a later stop are a new stop");
}

// spec: H4
// fault: 114
#[test]
fn a_prompt_with_unusual_characters_is_stored_unchanged() {
    let project = Project::new();
    let odd = "---\r\ntitle: \"x\" 'y' $HOME ${A} `id` \\n\r\n---\n\u{feff}\u{1f980}\u{0}end".to_owned();
    for prompt in [odd.clone(), odd.repeat((1 << 20) / odd.len() + 1)] {
        let path = project.outside("prompt.md");
        fs::write(&path, &prompt).unwrap();
        let file = path.display().to_string();
        project.ralph(["loop", "start", "--session", "s", "--prompt-file", &file]).output().expect(0);
        assert!(status(&project, "s")["prompt"] == json!(prompt), "{} bytes", prompt.len());
        let answer = hook(&project, "claude", &stop("s", "on it"));
        // Escape sequences are removed from every prompt; the text stays.
        assert!(answer["reason"].as_str().unwrap().contains("title: \"x\" 'y' $HOME ${A} `id` \\n"), "{answer}");
    }
}

// spec: H8
// fault: 115
#[test]
fn a_hook_needs_neither_home_nor_path_nor_a_working_directory() {
    let project = Project::new();
    start(&project, "s", &[]).output().expect(0);
    let state = project.home().join(".local/state");
    let event = stop("s", "<promise>DONE</promise>").to_string();
    let call = project.ralph(["hook", "claude"]).input(event).folder(Path::new("/"));
    let bare = call.env("PATH", "").with(|command| _ = command.env_remove("HOME")).env("XDG_STATE_HOME", state);
    assert!(assert_loop_ended(&serde_json::from_str(&bare.output().expect(0).stdout).unwrap()));
}

// spec: H4, X4
#[test]
fn a_state_file_changed_by_others_is_neither_used_nor_deleted() {
    let project = Project::new();
    start(&project, "s", &["--check", "test -f done.txt"]).output().expect(0);
    let sessions = project.home().join(".local/state/ralph/sessions");
    let file = fs::read_dir(&sessions).unwrap().map(|file| file.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let whole = fs::read_to_string(&file).unwrap();
    for damaged in [whole.replace("test -f done.txt", "true"), whole[..whole.len() / 2].to_owned(), String::new()] {
        fs::write(&file, &damaged).unwrap();
        let answer = project
            .ralph(["hook", "claude"])
            .input(stop("s", "<promise>DONE</promise>").to_string())
            .output()
            .expect(0);
        let printed = assert_stop_allowed(&answer.stdout);
        assert!(printed.contains("cannot be used") && printed.contains("nothing was deleted"), "{printed}");
        assert!(answer.stderr.contains("cannot be used"), "{}", answer.stderr);
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(status(&project, "s")["active"], true);
}

// spec: H5
// fault: 116
#[test]
fn a_session_that_never_claims_may_stop_after_the_maximum_of_iterations() {
    let project = Project::new();
    start(&project, "s", &["--max-iterations", "3"]).output().expect(0);
    for _ in 0..2 {
        assert_eq!(hook(&project, "codex", &stop("s", "still at it")), json!({}));
        assert_eq!(hook(&project, "claude", &stop("s", "still at it"))["decision"], "block");
    }
    let answer = hook(&project, "claude", &stop("s", "still at it"));
    assert_eq!(answer["systemMessage"], "Ralph Loop Stopped: Max iterations (3) reached without completion");
    assert_eq!(status(&project, "s")["outcome"], "exhausted");
}

// spec: H4
#[test]
fn the_state_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    start(&project, "../../etc/passwd", &["--check", "true"]).output().expect(0);
    hook(&project, "claude", &stop("../../etc/passwd", "<promise>DONE</promise>"));
    let mut folders = vec![project.home().join(".local/state/ralph")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if file.is_dir() { 0o700 } else { 0o600 }, "{}", file.display());
            assert!(file.extension().is_none_or(|end| end != "new"), "{}", file.display());
            seen += 1;
            folders.extend(file.is_dir().then_some(file));
        }
    }
    assert!(seen >= 4, "{seen}");
}
