//! Agent failures: in a shell, at the start, by a signal, in an unknown format.
use serde_json::Value;

use crate::harness::{CallOutput, FAKE_AGENT, Project};

fn reason(answer: &CallOutput) -> String {
    answer.finished()["reason"].as_str().unwrap().to_owned()
}

fn result(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"].clone()
}

// fault: 31
// spec: L5
#[test]
fn a_command_that_the_agent_s_shell_cannot_start_is_not_retried() {
    let project = Project::new();
    project.write("plain", "no program\n");
    for (command, code, words) in [
        ("no-such-agent --print", 127, "shells use this code if a command is not found"),
        ("./plain", 126, "shells use this code if a command cannot be executed"),
    ] {
        let answer = project.run_shell(&format!("echo starting; {command}")).output().expect(4);
        assert_eq!(result(&answer)["ending"]["code"], code);
        assert!(reason(&answer).contains(words), "{}", reason(&answer));
        assert!(answer.events_named("retry.scheduled").is_empty());
        assert_eq!(answer.events_named("iteration.ended")[0]["status"], "failed", "it is no turn without a promise");
    }
}

// fault: 31, 32
// spec: U1
#[test]
fn the_last_errors_of_a_failed_agent_are_shown_to_people() {
    let project = Project::new();
    let agent = project.shell("exec no-such-agent");
    let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent]);
    let answer = call.output().expect(4);
    assert!(answer.stderr.contains("no-such-agent: not found"), "{}", answer.stderr);
    assert!(answer.stdout.contains("fix the command that starts the agent"), "{}", answer.stdout);
}

// fault: 32
// spec: L5
#[test]
fn an_agent_that_dies_at_once_every_time_fails_at_start_after_growing_pauses() {
    let project = Project::new();
    let script = project.script("stderr no key for the model\nexit 1\n");
    let answer = project.run(&["script", &script]).args(["--max-retries", "2"]).output().expect(4);
    assert_eq!(project.starts().len(), 3);
    let printed = reason(&answer);
    assert_eq!(printed, "the agent failed at startup 3 times in a row: the agent exited with code 1");
    assert_eq!(result(&answer)["stderr_tail"], "no key for the model\n");
    let pauses: Vec<u64> =
        answer.events_named("retry.scheduled").iter().map(|retry| retry["delay_ms"].as_u64().unwrap()).collect();
    assert!(pauses[0] <= pauses[1] && pauses[0] >= 500, "{pauses:?}");
}

// finding: N37
// spec: L5
#[test]
fn an_agent_that_worked_and_exits_with_an_error_did_not_fail_at_startup() {
    let project = Project::new();
    let script = project.script("text I have fixed the parser.\nexit 1\n");
    let answer = project.run(&["script", &script]).args(["--max-retries", "1"]).output().expect(4);
    assert_eq!(reason(&answer), "the agent failed 2 times in a row: the agent exited with code 1");
}

// fault: 33
// spec: S4, L5
#[test]
fn an_agent_killed_by_a_signal_has_failed_and_its_promise_is_not_a_claim() {
    for (signal, words) in [("SIGKILL", "signal 9 (SIGKILL)"), ("SIGSEGV", "signal 11 (SIGSEGV)")] {
        let project = Project::new();
        let script = project.script(&format!("text Done.\\n\\n{{promise}}\nsignal {signal}\n"));
        let call = project.run(&["script", &script]).args(["--max-retries", "0", "--check", "true"]);
        let answer = call.output().expect(4);
        assert!(reason(&answer).contains(&format!("was killed by {words}")), "{}", reason(&answer));
        assert_eq!(answer.events_named("claim")[0]["claim"]["accepted"], false);
        assert_eq!(answer.events_named("iteration.ended")[0]["status"], "failed");
        assert!(answer.events_named("verdict").is_empty());
    }
}

// fault: 33
// spec: L5
#[test]
fn an_agent_killed_by_a_signal_is_retried() {
    let project = Project::new();
    let script = project.script("signal SIGKILL\n---\ntext {promise}\n");
    let answer = project.run(&["script", &script]).output().expect(0);
    assert_eq!((answer.finished()["iterations"].as_u64(), project.starts().len()), (Some(1), 2));
}

// fault: 33
// spec: A7, L5
#[test]
fn an_agent_that_is_killed_from_outside_is_reported_with_the_signal() {
    let project = Project::new();
    let agent = "echo $$ > ../agent.new; mv ../agent.new ../agent; exec sleep 600";
    let running = project.run_shell(agent).args(["--max-retries", "0"]).start();
    project.wait_for("agent");
    let pid = std::fs::read_to_string(project.outside("agent")).unwrap();
    assert!(std::process::Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
    let answer = running.wait().expect(4);
    assert_eq!(result(&answer)["ending"], serde_json::json!({"how": "signalled", "signal": 9}));
    assert!(reason(&answer).contains("if it runs out of memory"), "{}", reason(&answer));
}

// fault: 40
// spec: A5, L5
#[test]
fn records_of_an_unknown_kind_are_skipped_and_counted() {
    let project = Project::new();
    let script = project.script(
        "init\ntext {\"type\":\"hologram\",\"depth\":3}\nsay Done.\\n\\n{promise}\ntext {\"type\":\"aura\"}\nresult Done.\\n\\n{promise}\n",
    );
    let answer = project.run_claude(&["script", &script]).output().expect(0);
    assert_eq!(result(&answer)["unknown_records"], 2);
}

// fault: 40
// spec: A5, L5
#[test]
fn an_agent_whose_format_changes_during_a_run_ends_it_with_a_visible_error() {
    let project = Project::new();
    let known = "init\nsay Not yet.\nresult Not yet.\n";
    let unknown = "text {\"type\":\"hologram\"}\ntext {\"type\":\"aura\"}\ntext {\"words\":\"{promise}\"}\n";
    let script = project.script(&format!("{known}---\n{unknown}"));
    let call = project.run_claude(&["script", &script]).args(["--max-retries", "1"]);
    let answer = call.output().expect(4);
    assert_eq!(answer.finished()["iterations"], 2);
    assert_eq!(project.starts().len(), 3);
    assert_eq!(result(&answer)["unknown_records"], 3);
    let printed = reason(&answer);
    assert!(printed.contains("not understood: none of its 3 lines is a record"), "{printed}");
    assert_eq!(answer.events_named("claim").pop().unwrap()["claim"]["claimed"], false);
}

// fault: 29
// spec: U1, L5
#[test]
fn an_agent_that_disappears_during_a_run_fails_at_once() {
    let project = Project::new();
    let agent = project.shell("echo 'More to do.'; rm \"$0\"");
    let call = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent, "--json"]);
    let answer = call.output().expect(4);
    assert_eq!(answer.finished()["iterations"], 2);
    assert!(reason(&answer).contains("agent.sh was not found"), "{}", reason(&answer));
    assert!(answer.events_named("retry.scheduled").is_empty());
}

// fault: 30
// spec: U1, L5
#[test]
fn an_agent_for_another_machine_is_refused_before_the_first_iteration() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let mut program = std::fs::read(FAKE_AGENT).unwrap();
    // Byte 18 of an ELF file is its machine: this one is for a VAX.
    program[18..20].copy_from_slice(&75_u16.to_le_bytes());
    let path = project.write("foreign", &program[..4096]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let call = project.ralph(["run", "x", "--agent", "text", "--json", "--agent-cmd"]).args([&path]);
    // With registered emulators the kernel tries them, and that is the first start.
    let emulators = std::fs::read_dir("/proc/sys/fs/binfmt_misc").into_iter().flatten().count() > 2;
    let answer = call.output().expect(if emulators { 4 } else { 1 });
    let printed = if emulators { &answer.stdout } else { &answer.stderr };
    assert!(printed.contains("is not a program that this machine can run"), "{printed}");
}
