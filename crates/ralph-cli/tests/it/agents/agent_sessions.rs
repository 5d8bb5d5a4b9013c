//! Agent sessions: resumed where the agent can resume, otherwise new.
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::Project;

fn stored_prompt(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.outside(name)).unwrap()
}

/// A step that stores its prompt and continues its session.
fn session_step(project: &Project, name: &str, words: &str) -> String {
    format!("prompt {}\nconverse {words}\n", project.outside(name).display())
}

fn final_records(answer: &crate::harness::CallOutput) -> Vec<Value> {
    answer.events_named("attempt.ended").iter().map(|ended| ended["result"]["final_text"].clone()).collect()
}

// spec: L10, L4, C8
#[test]
fn a_run_continues_the_agents_session_with_the_continuation_prompt_and_the_reason() {
    let project = Project::new();
    let steps = [
        session_step(&project, "p1", "begun"),
        session_step(&project, "p2", "Done. {promise}") + "touch claimed\n",
        session_step(&project, "p3", "Really done. {promise}") + "touch ok\n",
    ];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_agent_mine().args(["--check", "test -e ok || { echo no ok; false; }"]).output().expect(0);
    assert_eq!(final_records(&answer)[0], "turn 1: begun");
    assert_eq!(final_records(&answer)[1], "turn 2: Done. <promise>COMPLETE</promise>");
    assert_eq!(final_records(&answer)[2], "turn 3: Really done. <promise>COMPLETE</promise>");
    assert!(stored_prompt(&project, "p1").starts_with("do the work\n\n## Completion"));
    let second = stored_prompt(&project, "p2");
    assert!(second.starts_with("[RALPH LOOP - ITERATION 2/10]\n\nYour previous attempt did not output"), "{second}");
    let third = stored_prompt(&project, "p3");
    assert!(third.starts_with("[RALPH LOOP - ITERATION 3/10]\n\nYour completion claim was rejected: "), "{third}");
    assert!(third.contains("no ok"), "{third}");
    assert!(answer.events_named("session.fresh").is_empty());
}

// spec: L10, C8
#[test]
fn with_fresh_context_every_iteration_starts_from_the_whole_prompt() {
    let project = Project::new();
    let steps = [session_step(&project, "p1", "begun"), session_step(&project, "p2", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_agent_mine().args(["--fresh"]).output().expect(0);
    assert_eq!(final_records(&answer)[1], "turn 1: Done. <promise>COMPLETE</promise>");
    assert!(stored_prompt(&project, "p2").starts_with("do the work"));
    let project = Project::new();
    let steps = [session_step(&project, "p1", "begun"), session_step(&project, "p2", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "context: fresh");
    let configured = project.run_agent_mine().output().expect(0);
    assert_eq!(final_records(&configured)[1], "turn 1: Done. <promise>COMPLETE</promise>");
    let project = Project::new();
    let steps = [session_step(&project, "p1", "begun"), session_step(&project, "p2", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "context: fresh");
    let flag = project.run_agent_mine().args(["--continue"]).output().expect(0);
    assert_eq!(final_records(&flag)[1], "turn 2: Done. <promise>COMPLETE</promise>");
}

// spec: L10
#[test]
fn a_lost_session_is_recorded_and_the_iteration_starts_a_new_one_without_a_retry() {
    let project = Project::new();
    let first = session_step(&project, "p1", "begun") + "forget\n";
    let steps = [first, session_step(&project, "p2", "never"), session_step(&project, "p3", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_agent_mine().args(["--max-retries", "0"]).output().expect(0);
    let note = &answer.events_named("session.fresh")[0];
    assert_eq!((&note["iteration"], &note["attempt"]), (&2.into(), &2.into()));
    assert!(note["reason"].as_str().unwrap().contains("No conversation found with session ID: session-1"));
    assert!(stored_prompt(&project, "p2").starts_with("[RALPH LOOP"));
    assert!(stored_prompt(&project, "p3").starts_with("do the work"));
    assert_eq!((answer.finished()["iterations"].as_i64(), project.starts().len()), (Some(2), 3));
    assert!(answer.events_named("retry.scheduled").is_empty());
}

// spec: L10
#[test]
fn a_context_overflow_continues_with_a_fresh_session() {
    let project = Project::new();
    let overflow = "open\nfail context\nexit 1\n".to_owned();
    let steps = [session_step(&project, "p1", "begun"), overflow, session_step(&project, "p3", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_agent_mine().args(["--max-retries", "0"]).output().expect(0);
    assert!(answer.events_named("session.fresh")[0]["reason"].as_str().unwrap().contains("Prompt is too long"));
    assert_eq!(final_records(&answer)[2], "turn 1: Done. <promise>COMPLETE</promise>");
    assert!(stored_prompt(&project, "p3").starts_with("do the work"));
}

// spec: L10
#[test]
fn an_agent_that_resumes_the_wrong_session_is_recorded_and_its_work_counts() {
    let project = Project::new();
    let steps = [session_step(&project, "p1", "begun"), "as session-9\nsay Done. {promise}\nresult ok\n".to_owned()];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_agent_mine().output().expect(0);
    let note = answer.events_named("session.fresh")[0]["reason"].as_str().unwrap().to_owned();
    assert_eq!(note, "the agent did not resume session session-1 but started session-9");
    assert_eq!(project.starts().len(), 2);
}

// spec: L10, L13
#[test]
fn a_session_continues_when_the_run_is_resumed() {
    let project = Project::new();
    let steps = [
        session_step(&project, "p1", "begun"),
        "open\nhang\n".to_owned(),
        session_step(&project, "p3", "Done. {promise}"),
    ];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let run = project.run_agent_mine().start();
    project.wait_for("ready");
    run.signal(Signal::KILL);
    run.wait_without_invariants();
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    assert_eq!(final_records(&answer)[1], "turn 3: Done. <promise>COMPLETE</promise>");
    assert!(stored_prompt(&project, "p3").starts_with("[RALPH LOOP - ITERATION 2/10]"));
}

// spec: L10
#[test]
fn an_agent_that_cannot_resume_starts_fresh_with_one_notice() {
    let project = Project::new();
    let answer = project.run_on("do the work", &["complete-on", "3"]).output().expect(0);
    let note = "context   fresh for every iteration: text cannot resume a session";
    assert_eq!(answer.stderr.matches(note).count(), 1, "{}", answer.stderr);
    let fresh = project.run_on("do the work", &["complete"]).args(["--fresh"]).output().expect(0);
    assert!(!fresh.stderr.contains("cannot resume"));
    let json = project.run_on("do the work", &["complete"]).args(["--json"]).output().expect(0);
    assert!(json.stderr.contains(note), "{}", json.stderr);
}

/// Prints goose's format, which has no session id, and stores its arguments.
const AGENT_WITHOUT_SESSION_ID: &str = r#"cat > /dev/null
echo "$@" >> ../args
text='half of it'
test "$(wc -l < ../args)" -ge 2 && text='Done. <promise>COMPLETE</promise>'
printf '{"type":"message","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$text"
echo '{"type":"complete","total_tokens":3}'"#;

// spec: L10, A6
#[test]
fn an_agent_that_accepts_our_session_id_is_resumed_with_that_id() {
    let project = Project::new();
    let agent = project.shell(AGENT_WITHOUT_SESSION_ID);
    let run = ["run", "do the work", "--agent", "goose", "--agent-cmd", &agent, "--promise", "COMPLETE", "--json"];
    let answer = project.ralph(run).output().expect(0);
    let ended = answer.events_named("attempt.ended");
    let id = ended[0]["result"]["session"].as_str().unwrap();
    assert_eq!(id.parse::<uuid::Uuid>().unwrap().get_version_num(), 4);
    let args = stored_prompt(&project, "args");
    let lines: Vec<&str> = args.lines().collect();
    assert!(lines[0].ends_with(&format!("-n {id}")), "{args}");
    assert!(lines[1].ends_with(&format!("-n {id} -r")), "{args}");
    assert!(answer.events_named("session.fresh").is_empty());
}
