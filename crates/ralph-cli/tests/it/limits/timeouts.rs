//! Timeouts: of the iteration, of silence, and after the final record.
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{CallOutput, Project, let_time_pass};

fn attempt(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"].clone()
}

fn statuses(answer: &CallOutput) -> Vec<Value> {
    answer.events_named("iteration.ended").iter().map(|event| event["status"].clone()).collect()
}

// fault: 24
// spec: L7, A7
#[test]
fn an_agent_that_ignores_sigterm_is_killed_after_its_timeout() {
    let project = Project::new();
    let limits = ["--timeout", "3s", "--grace", "200ms", "--max-iterations", "1"];
    let answer = project.run(&["ignore-term"]).args(limits).output().expect(3);
    assert_eq!(statuses(&answer), ["timed_out"]);
    assert_eq!(attempt(&answer)["ending"]["signal"], 9);
    assert_eq!(attempt(&answer)["leftovers"]["killed"], 1);
    assert_eq!(attempt(&answer)["failure"], "the iteration took too long");
}

// fault: 24
// spec: L5, L7
#[test]
fn a_timed_out_iteration_counts_is_not_retried_and_the_loop_continues() {
    let project = Project::new();
    let script = project.script("write kept yes\ntext I wrote it.\nhang\n---\ntext Done.\\n\\n{promise}\n");
    let call = project.run(&["script", &script]).args(["--timeout", "3s", "--check", "grep yes kept"]);
    let answer = call.output().expect(0);
    assert_eq!(statuses(&answer), ["timed_out", "finished"]);
    assert_eq!(answer.finished()["iterations"], 2);
    assert!(answer.events_named("retry.scheduled").is_empty());
    assert_eq!(project.log("iteration-001.ndjson"), b"I wrote it.\n", "what it said is kept");
}

// fault: 24
// spec: L7, S4
#[test]
fn a_promise_of_an_agent_that_timed_out_is_not_a_claim() {
    let project = Project::new();
    let script = project.script("text All done.\\n\\n{promise}\nhang\n");
    let call = project.run(&["script", &script]).args(["--timeout", "2s", "--max-iterations", "1"]);
    let answer = call.output().expect(3);
    assert_eq!(project.log("iteration-001.ndjson"), b"All done.\n\n<promise>COMPLETE</promise>\n");
    assert_eq!(answer.events_named("claim")[0]["claim"]["accepted"], false);
    assert!(answer.finished()["reason"].as_str().unwrap().contains("timed out"));
}

// fault: 25
// spec: L7, A7
#[test]
fn an_agent_that_cleans_up_within_the_grace_is_not_killed() {
    let project = Project::new();
    let limits = ["--timeout", "3s", "--grace", "1h", "--max-iterations", "1"];
    let answer = project.run(&["slow-term", "0.5"]).args(limits).output().expect(3);
    assert_eq!(statuses(&answer), ["timed_out"]);
    assert_eq!(attempt(&answer)["ending"]["how"], "exited");
    assert_eq!(attempt(&answer)["leftovers"]["killed"], 0);
    assert_eq!(project.log("iteration-001.ndjson"), b"ready\ncleaned up\n");
}

// fault: 26
// spec: L7
#[test]
fn a_silent_agent_is_stopped_at_its_idle_timeout_with_the_reason() {
    let project = Project::new();
    let limits = ["--idle-timeout", "1s", "--max-iterations", "1"];
    let answer = project.run(&["silent-hang"]).args(limits).output().expect(3);
    assert_eq!(statuses(&answer), ["timed_out"]);
    assert_eq!(attempt(&answer)["failure"], "the agent was silent for too long");
}

// fault: 26
// spec: L7
#[test]
fn an_agent_that_hangs_after_some_output_is_silent_too() {
    let project = Project::new();
    let limits = ["--idle-timeout", "1s", "--max-iterations", "1"];
    let answer = project.run(&["hang"]).args(limits).output().expect(3);
    assert_eq!(attempt(&answer)["failure"], "the agent was silent for too long");
    assert_eq!(project.log("iteration-001.ndjson"), b"thinking...\n");
}

// fault: 26
// spec: L7
#[test]
fn an_agent_with_output_on_either_stream_is_not_silent() {
    let project = Project::new();
    let talk = |stream: &str| format!("for n in $(seq 25); do echo working >&{stream}; sleep 0.1; done\n");
    let agent = format!("{}{}echo '<promise>COMPLETE</promise>'", talk("1"), talk("2"));
    let answer = project.run_shell(&agent).args(["--idle-timeout", "2s"]).output().expect(0);
    assert_eq!(statuses(&answer), ["finished"]);
}

// fault: 27
// spec: L7, A7
#[test]
fn a_stopped_agent_is_continued_to_receive_sigterm() {
    let project = Project::new();
    let limits = ["--timeout", "2s", "--grace", "1h", "--max-iterations", "1"];
    let answer = project.run(&["signal-self", "SIGSTOP"]).args(limits).output().expect(3);
    assert_eq!(statuses(&answer), ["timed_out"]);
    assert_eq!(attempt(&answer)["ending"]["signal"], 15);
    assert_eq!(attempt(&answer)["leftovers"]["killed"], 0);
}

// fault: 27
// spec: A7
#[test]
fn an_agent_that_reads_the_terminal_gets_an_error_instead_of_waiting() {
    let project = Project::new();
    let agent = "head -c 1 /dev/tty 2>/dev/null || echo 'There is no terminal.'\necho '<promise>COMPLETE</promise>'";
    project.run_shell(agent).output().expect(0);
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    assert!(log.contains("There is no terminal."), "{log}");
}

// spec: L7
#[test]
fn an_agent_that_stays_after_its_final_record_is_stopped_and_the_iteration_counts_as_finished() {
    let project = Project::new();
    let answer = project.run_claude(&["after-result"]).args(["--after-result", "500ms"]).output().expect(0);
    assert_eq!(statuses(&answer), ["finished"]);
    assert_eq!(attempt(&answer)["ending"]["signal"], 15);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(project.starts().len(), 1);
}

// spec: L7
#[test]
fn output_in_the_same_write_as_the_final_record_disarms_its_timeout_too() {
    let project = Project::new();
    let claude = |kind: &str, text: &str| match kind {
        "say" => {
            json!({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}})
        }
        _ => json!({"type": "result", "subtype": "success", "is_error": false, "result": text}),
    };
    let first = format!("{}\n{}\n", claude("result", "I stop here."), claude("say", "No, there is more."));
    let tag = "<promise>COMPLETE</promise>";
    let second = format!("{}\n{}\n", claude("say", tag), claude("result", tag));
    std::fs::write(project.outside("first"), first).unwrap();
    std::fs::write(project.outside("second"), second).unwrap();
    let agent = "cat ../first; touch ../talking; until test -e ../go; do sleep 0.05; done; cat ../second";
    let call = project.run_shell(agent).args(["--output-format", "claude", "--after-result", "1s"]);
    let running = call.start();
    project.wait_for("talking");
    let_time_pass(Duration::from_secs(2));
    std::fs::write(project.outside("go"), "").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(statuses(&answer), ["finished"]);
    assert_eq!(attempt(&answer)["ending"]["code"], 0, "it was not stopped");
}

// spec: L7
#[test]
fn new_output_disarms_the_timeout_after_the_final_record() {
    let project = Project::new();
    let go = project.outside("go");
    let talking = project.outside("talking");
    let script = project.script(&format!(
        "init\nsay I stop here.\nresult I stop here.\nsay No, there is more.\ntouch {}\nwait {}\nsay {{promise}}\nresult {{promise}}\n",
        talking.display(),
        go.display()
    ));
    let running = project.run_claude(&["script", &script]).args(["--after-result", "1s"]).start();
    project.wait_for("talking");
    let_time_pass(Duration::from_secs(2));
    std::fs::write(&go, "").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(statuses(&answer), ["finished"]);
    assert_eq!(attempt(&answer)["ending"]["code"], 0, "it was not stopped");
}

// spec: L7, S4
#[test]
fn an_agent_that_continues_after_a_result_is_read_to_its_last_result() {
    let project = Project::new();
    let go = project.outside("go");
    let running = project.run_claude(&["after-result-talk", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    std::fs::write(&go, "").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("claim")[0]["claim"]["accepted"], true);
}

// spec: V2, C8
#[test]
fn a_check_that_takes_too_long_is_killed_and_the_claim_is_rejected() {
    let project = Project::new();
    let limits = ["--check", "sleep 600", "--check-timeout", "300ms", "--max-iterations", "1"];
    let answer = project.run(&["complete"]).args(limits).output().expect(3);
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "rejected");
    let reason = answer.events_named("verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.ends_with("Command timed out after 300ms"), "{reason}");
}

// spec: V2, X6
#[test]
fn the_flag_overrides_the_timeout_of_a_configured_check_and_does_not_approve_it() {
    let project = Project::new();
    std::fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "checks: [{command: sleep 600, timeout: 1h}]\n");
    let run = || project.run(&["complete"]).args(["--check-timeout", "300ms", "--max-iterations", "1"]);
    let answer = run().output().expect(1);
    assert!(answer.stderr.contains("you have not approved"), "{}", answer.stderr);
    project.trust();
    let answer = run().output().expect(3);
    assert!(answer.finished()["reason"].as_str().unwrap().contains("timed out after 300ms"));
}
