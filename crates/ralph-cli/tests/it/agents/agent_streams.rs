//! Streams between ralph and an agent: large, long, partial, not UTF-8, or unread. The invariants check the memory of
//! ralph.
use serde_json::Value;

use crate::harness::{CallOutput, Project, wait_until};

const MEGABYTE: usize = 1 << 20;
const TAG: &[u8] = b"<promise>COMPLETE</promise>\n";

fn attempt(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"].clone()
}

fn log(project: &Project) -> Vec<u8> {
    project.log("iteration-001.ndjson")
}

/// Makes the shell agent print these bytes.
fn print_bytes(project: &Project, bytes: &[u8]) -> String {
    let file = project.outside("bytes");
    std::fs::write(&file, bytes).unwrap();
    format!("cat '{}'", file.display())
}

// fault: 41
// spec: A4, S8
#[test]
fn a_flood_of_output_is_logged_whole_and_its_last_line_is_read() {
    let project = Project::new();
    project.run(&["flood", "256"]).output().expect(0);
    let log = log(&project);
    assert_eq!(log.len(), 256 * MEGABYTE + TAG.len());
    assert!(log.ends_with(TAG));
}

// fault: 41
// spec: A4
#[test]
fn a_flood_shown_to_people_stays_bounded_too() {
    let project = Project::new();
    let answer = project.run_on("do the work", &["flood", "32"]).output().expect(0);
    assert_eq!(log(&project).len(), 32 * MEGABYTE + TAG.len());
    assert!(answer.stdout.contains("completed"), "{}", answer.stdout);
}

// fault: 42
// spec: A4, S8
#[test]
fn a_line_of_a_hundred_megabytes_does_not_hide_the_line_behind_it() {
    let project = Project::new();
    project.run(&["long-line", "100"]).output().expect(0);
    assert_eq!(log(&project).len(), 100 * MEGABYTE + 1 + TAG.len());
}

// fault: 42
// spec: A4, A5
#[test]
fn a_line_longer_than_the_memory_limit_of_ralph_is_cut_and_the_next_records_count() {
    let project = Project::new();
    let agent = format!(
        "head -c {} /dev/zero | tr '\\0' y; echo\n{}",
        300 * MEGABYTE,
        print_bytes(&project, claude_claim().as_bytes())
    );
    project.run_shell(&agent).args(["--output-format", "claude"]).output().expect(0);
}

fn claude_claim() -> String {
    let text = "All done.\n\n<promise>COMPLETE</promise>";
    let content = serde_json::json!([{"type": "text", "text": text}]);
    let answer = serde_json::json!({"type": "assistant", "message": {"role": "assistant", "content": content}});
    let result = serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "result": text});
    format!("{answer}\n{result}\n")
}

// fault: 43
// spec: A4, A5
#[test]
fn a_valid_record_longer_than_the_memory_limit_of_ralph_is_skipped_and_the_answer_is_found() {
    let project = Project::new();
    project.run_claude(&["claude-long-json", "300"]).output().expect(0);
    assert!(log(&project).len() > 300 * MEGABYTE);
}

// fault: 44
// spec: S8, A4
#[test]
fn bytes_that_are_not_utf_8_are_logged_unchanged_and_hide_no_claim() {
    let project = Project::new();
    project.run(&["bad-utf8"]).output().expect(0);
    let expected = [b"ok \xff\xfe\xc3\x28 \xed\xa0\x80 bytes\n", TAG].concat();
    assert_eq!(log(&project), expected);
}

// fault: 45
// spec: S8, A4
#[test]
fn nul_bytes_are_logged_unchanged_and_truncate_nothing() {
    let project = Project::new();
    let answer = project.run(&["nul"]).output().expect(0);
    assert_eq!(log(&project), [b"a\x00b\x00c\n\x00\x00\n", TAG].concat());
    let final_text = attempt(&answer)["final_text"].as_str().unwrap().to_owned();
    assert!(final_text.starts_with('a') && final_text.contains('c') && final_text.contains("COMPLETE"));
    let events = project.ralph(["events", "--json"]).output();
    assert!(!events.stdout.contains('\0'));
}

// fault: 46
// spec: S8
#[test]
fn characters_and_tags_that_come_byte_by_byte_are_joined() {
    let project = Project::new();
    let answer = project.run(&["utf8-split"]).output().expect(0);
    let final_text = attempt(&answer)["final_text"].as_str().unwrap().to_owned();
    assert!(final_text.contains("привет – 完了 🎉"), "{final_text}");
    project.run(&["tag-split"]).output().expect(0);
}

// fault: 47
// spec: S4, A5, L5
#[test]
fn half_a_record_before_a_crash_is_a_failure_and_not_a_claim() {
    let project = Project::new();
    let answer = project.run_claude(&["half-json"]).args(["--max-retries", "0"]).output().expect(4);
    assert_eq!(attempt(&answer)["ending"]["signal"], 9);
    assert_eq!(answer.events_named("claim")[0]["claim"]["accepted"], false);
    assert!(log(&project).starts_with(b"{\"type\":\"assistant\""), "the fragment is kept");
}

// fault: 47
// spec: S4, A5
#[test]
fn half_a_record_after_a_whole_one_is_not_read_even_after_a_clean_exit() {
    let project = Project::new();
    let whole = claude_claim().replace("All done.\\n\\n<promise>COMPLETE</promise>", "More remains.");
    let mut half = claude_claim();
    half.truncate(half.find("\"}]").unwrap());
    let agent = print_bytes(&project, format!("{whole}{half}").as_bytes());
    let call = project.run_shell(&agent).args(["--output-format", "claude", "--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert_eq!(answer.events_named("claim")[0]["claim"]["claimed"], false);
}

// fault: 48
// spec: S8
#[test]
fn a_last_line_without_its_newline_counts() {
    let project = Project::new();
    project.run(&["no-final-newline"]).output().expect(0);
    let records = claude_claim();
    let agent = print_bytes(&project, records.trim_end().as_bytes());
    project.run_shell(&agent).args(["--output-format", "claude"]).output().expect(0);
}

/// Clipboard, title, link, colours, cursor, screen, a query, 8-bit forms, progress bar, bell, reversed text.
const HOSTILE: &str = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;title\u{1b}\\\u{1b}]8;;http://evil.test\u{1b}\\link\u{1b}]8;;\u{1b}\\ \
\u{1b}[31mred\u{1b}[0m\u{1b}[2J\u{1b}[1;1H\u{1b}[c\u{9b}31m\u{9d}0;t\u{9c} 10%\r20%\r\n\u{7}\u{8}\u{202e}txt\u{2066}\r\n";

#[track_caller]
fn assert_no_escape_sequences(text: &str) {
    let bad = |character: &char| {
        (character.is_control() && *character != '\n')
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = text.chars().filter(bad).collect();
    assert!(found.is_empty(), "{found:?} in {text:?}");
}

// fault: 49
// spec: A4, S8
#[test]
fn escape_sequences_of_an_agent_reach_the_log_but_never_the_terminal() {
    let project = Project::new();
    let printed = format!("{HOSTILE}done\n\n<promise>COMPLETE</promise>\r\n");
    let agent = project.shell(&print_bytes(&project, printed.as_bytes()));
    let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"]);
    let answer = call.output().expect(0);
    assert!(answer.stderr.contains("red"), "the words are shown: {}", answer.stderr);
    assert_no_escape_sequences(&answer.stderr);
    assert_no_escape_sequences(&answer.stdout);
    assert_eq!(log(&project), printed.as_bytes());
    assert_no_escape_sequences(&project.ralph(["show"]).output().expect(0).stdout);
    assert_no_escape_sequences(&project.ralph(["events"]).output().expect(0).stdout);
}

// fault: 49
// spec: A4
#[test]
fn escape_sequences_inside_records_of_another_format_are_harmless_too() {
    let project = Project::new();
    let claim = claude_claim();
    let evil = serde_json::to_string(HOSTILE).unwrap();
    let name = serde_json::json!({"type": "assistant", "message": {"role": "assistant", "content":
        [{"type": "tool_use", "id": "t", "name": HOSTILE, "input": {"command": HOSTILE}}]}});
    let thinking = format!(
        "{{\"type\":\"assistant\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":{evil}}}]}}}}"
    );
    let init = serde_json::json!({"type": "system", "subtype": "init", "session_id": HOSTILE, "model": HOSTILE});
    let agent = project.shell(&print_bytes(&project, format!("{init}\n{name}\n{thinking}\n{claim}").as_bytes()));
    let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"]);
    let answer = call.args(["--output-format", "claude"]).output().expect(0);
    assert_no_escape_sequences(&answer.stderr);
    assert_no_escape_sequences(&answer.stdout);
    assert_no_escape_sequences(&project.ralph(["show"]).output().expect(0).stdout);
}

// fault: 49
// spec: A4
#[test]
fn escape_sequences_in_stderr_and_check_output_are_harmless_too() {
    let project = Project::new();
    let print = print_bytes(&project, HOSTILE.as_bytes());
    let failing = project.shell(&format!("{print} >&2; exit 1"));
    let run = |agent: &str| {
        project.ralph([
            "run",
            "x",
            "--agent",
            "text",
            "--agent-cmd",
            agent,
            "--promise",
            "COMPLETE",
            "--max-iterations",
            "1",
        ])
    };
    let failed = run(&failing).args(["--max-retries", "0"]).output().expect(4);
    assert!(failed.stderr.contains("red"), "what it complained of is shown: {}", failed.stderr);
    assert_no_escape_sequences(&failed.stderr);
    assert_no_escape_sequences(&failed.stdout);
    let claiming = project.shell("echo '<promise>COMPLETE</promise>'");
    let rejected = run(&claiming).args(["--check", &format!("{print}; exit 1")]).output().expect(3);
    assert!(rejected.stderr.contains("red"), "what the check said is shown: {}", rejected.stderr);
    assert_no_escape_sequences(&rejected.stderr);
    assert_no_escape_sequences(&rejected.stdout);
    assert_no_escape_sequences(&project.ralph(["show"]).output().expect(0).stdout);
}

// fault: 50
// spec: A4, S2
#[test]
fn a_promise_on_stderr_claims_nothing_and_both_streams_are_logged_whole() {
    let project = Project::new();
    let answer = project.run(&["stderr-mix", "2000"]).args(["--max-iterations", "1"]).output().expect(3);
    assert_eq!(answer.events_named("claim")[0]["claim"]["claimed"], false);
    let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(count(&log(&project)), 2_001);
    assert_eq!(count(&project.log("iteration-001.stderr")), 2_000);
}

// fault: 50
// spec: A4, S2
#[test]
fn a_promise_that_is_only_on_stderr_claims_nothing() {
    let project = Project::new();
    let agent = "echo 'One story done.'; echo '<promise>COMPLETE</promise>' >&2";
    let answer = project.run_shell(agent).args(["--max-iterations", "1"]).output().expect(3);
    assert_eq!(answer.events_named("claim")[0]["claim"]["claimed"], false);
    assert_eq!(project.log("iteration-001.stderr"), TAG);
}

// fault: 51
// spec: A4
#[test]
fn a_flood_on_stderr_blocks_nothing() {
    let project = Project::new();
    project.run(&["stderr-flood", "64"]).output().expect(0);
    assert_eq!(project.log("iteration-001.stderr").len(), 64 * MEGABYTE);
}

/// Writes a prompt of this many megabytes and returns its argument on the command line.
fn long_prompt(project: &Project, megabytes: usize) -> String {
    let line = format!("{}\n", "x".repeat(1023));
    let file = project.outside("prompt.md");
    std::fs::write(&file, line.repeat(megabytes * 1024)).unwrap();
    format!("@{}", file.display())
}

// fault: 52
// spec: A3
#[test]
fn an_agent_that_closes_its_input_unread_is_not_a_failure() {
    let project = Project::new();
    let prompt = long_prompt(&project, 10);
    project.run_on(&prompt, &["close-stdin"]).output().expect(0);
}

// fault: 53
// spec: A3
#[test]
fn output_of_an_agent_that_never_reads_its_input_is_read_and_its_exit_ends_the_write() {
    let project = Project::new();
    let prompt = long_prompt(&project, 10);
    project.run_on(&prompt, &["no-read", "1"]).output().expect(0);
}

// fault: 53
// spec: A3, L7
#[test]
fn an_agent_that_never_reads_its_input_can_time_out() {
    let project = Project::new();
    let prompt = long_prompt(&project, 10);
    let call = project.run_on(&prompt, &["no-read", "600"]);
    let answer = call.args(["--timeout", "1s", "--max-iterations", "1", "--json"]).output().expect(3);
    assert_eq!(answer.events_named("iteration.ended")[0]["status"], "timed_out");
}

// fault: 52
// spec: A3
#[test]
fn an_agent_that_answers_while_its_prompt_is_written_does_not_deadlock() {
    let project = Project::new();
    let prompt = long_prompt(&project, 10);
    let agent = project.shell("tee /dev/stderr | cat; echo; echo '<promise>COMPLETE</promise>'");
    let call = project.ralph(["run", &prompt, "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"]);
    call.args(["--json"]).output().expect(0);
    assert!(log(&project).len() > 10 * MEGABYTE);
    assert!(project.log("iteration-001.stderr").len() > 10 * MEGABYTE);
}

// fault: 54
// spec: A3
#[test]
fn a_prompt_longer_than_any_argument_may_be_arrives_whole() {
    let project = Project::new();
    let prompt = long_prompt(&project, 3);
    project.run_on(&prompt, &["complete"]).output().expect(0);
    let length: usize = project.starts()[0].split(' ').next_back().unwrap().parse().unwrap();
    assert!(length > 3 * MEGABYTE, "{length}");
}

// fault: 54
// spec: L5
#[test]
fn arguments_longer_than_the_system_allows_fail_at_once_with_their_size() {
    let project = Project::new();
    let (asked, go) = (project.outside("asked"), project.outside("go"));
    let script = project.script(&format!("touch {}\nwait {}\ntext More remains.\n", asked.display(), go.display()));
    let long = "a".repeat(100 * 1024);
    let running = project.run(&["script", &script]).args(vec![format!("--agent-arg={long}"); 10]).start();
    project.wait_for("asked");
    allow_short_arguments_only(running.pid());
    std::fs::write(&go, "").unwrap();
    let answer = running.wait().expect(4);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("arguments and environment of") && reason.contains("too long"), "{reason}");
    assert_eq!((project.starts().len(), answer.events_named("attempt.ended").len()), (1, 2), "it is not tried again");
}

/// The system limits arguments to a quarter of the stack. Agents inherit limits from their supervisor, of which one
/// waits for the next attempt.
fn allow_short_arguments_only(ralph: u32) {
    let keeper = children(ralph).pop().unwrap();
    wait_until("a supervisor waits for the next attempt", || children(keeper).len() == 2);
    for supervisor in children(keeper) {
        let limit = rustix::process::Rlimit { current: Some(1 << 20), maximum: Some(8 << 20) };
        let pid = rustix::process::Pid::from_raw(supervisor.cast_signed());
        rustix::process::prlimit(pid, rustix::process::Resource::Stack, limit).unwrap();
    }
}

fn children(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    listed.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

// fault: 55
// spec: A5, S8
#[test]
fn json_bombs_are_skipped_and_the_records_after_them_count() {
    let project = Project::new();
    let deep = 100_000;
    let bombs = [
        "[".repeat(deep),
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        "{\"type\":".repeat(deep),
        format!("{{\"type\":\"assistant\",\"message\":{{\"content\":{}{}}}}}", "[".repeat(deep), "]".repeat(deep)),
        format!("{{\"type\":\"assistant\",\"n\":{}}}", "9".repeat(deep)),
        "{\"type\":\"result\",\"total_cost_usd\":1e999999}".to_owned(),
        "{\"type\":\"user\",\"type\":\"system\",\"type\":\"user\"}".to_owned(),
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"\\ud800\"}]}}".to_owned(),
        String::new(),
        "null".to_owned(),
        "\"".to_owned(),
    ];
    let agent = print_bytes(&project, format!("{}\n{}", bombs.join("\n"), claude_claim()).as_bytes());
    let answer = project.run_shell(&agent).args(["--output-format", "claude"]).output().expect(0);
    assert_eq!(answer.events_named("claim")[0]["claim"]["accepted"], true);
}

// fault: 19
// spec: L7, A4
#[test]
fn a_reader_that_never_reads_delays_neither_the_timeout_nor_the_end() {
    let project = Project::new();
    let agent = project.shell("cat > /dev/null; while :; do echo line; done");
    let run = || {
        let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent]);
        call.args(["--timeout", "1s", "--grace", "1s", "--max-iterations", "1"])
    };
    assert_eq!(run().run_unread(), 3);
    assert_eq!(run().args(["--json"]).run_unread(), 3);
}

// fault: 41
// spec: A4
#[test]
fn a_flood_of_final_records_stays_bounded_too() {
    let project = Project::new();
    let records = "yes '{\"type\":\"assistant\",\"message\":{\"content\":\"w\"}}\n{\"type\":\"result\"}'";
    let call = project.run_shell(&format!("cat > /dev/null; {records} | head -c 100000000"));
    call.args(["--output-format", "claude", "--max-iterations", "1"]).output().expect(3);
}
