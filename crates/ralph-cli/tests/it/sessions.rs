//! Sessions of agents: continued where they can be, fresh where they cannot.
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::Project;

fn kept(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.outside(name)).unwrap()
}

/// A step that keeps its prompt and goes on in its session.
fn turn(project: &Project, name: &str, words: &str) -> String {
    format!("prompt {}\nconverse {words}\n", project.outside(name).display())
}

fn finals(answer: &crate::harness::Answer) -> Vec<Value> {
    answer.named("attempt.ended").iter().map(|ended| ended["result"]["final_text"].clone()).collect()
}

// spec: L10, L4, C8
#[test]
fn a_run_continues_the_agents_session_with_the_continuation_prompt_and_the_reason() {
    let project = Project::new();
    let steps = [
        turn(&project, "p1", "begun"),
        turn(&project, "p2", "Done. {promise}") + "touch claimed\n",
        turn(&project, "p3", "Really done. {promise}") + "touch ok\n",
    ];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_mine().args(["--check", "test -e ok || { echo no ok; false; }"]).output().expect(0);
    assert_eq!(finals(&answer)[0], "turn 1: begun");
    assert_eq!(finals(&answer)[1], "turn 2: Done. <promise>COMPLETE</promise>");
    assert_eq!(finals(&answer)[2], "turn 3: Really done. <promise>COMPLETE</promise>");
    assert!(kept(&project, "p1").starts_with("do the work\n\n## Completion"));
    let second = kept(&project, "p2");
    assert!(second.starts_with("[RALPH LOOP - ITERATION 2/10]\n\nYour previous attempt did not output"), "{second}");
    let third = kept(&project, "p3");
    assert!(third.starts_with("[RALPH LOOP - ITERATION 3/10]\n\nYour completion claim was rejected: "), "{third}");
    assert!(third.contains("no ok"), "{third}");
    assert!(answer.named("session.fresh").is_empty());
}

// spec: L10, C8
#[test]
fn with_fresh_every_iteration_begins_from_the_whole_prompt() {
    let project = Project::new();
    let steps = [turn(&project, "p1", "begun"), turn(&project, "p2", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_mine().args(["--fresh"]).output().expect(0);
    assert_eq!(finals(&answer)[1], "turn 1: Done. <promise>COMPLETE</promise>");
    assert!(kept(&project, "p2").starts_with("do the work"));
    let project = Project::new();
    let steps = [turn(&project, "p1", "begun"), turn(&project, "p2", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "context: fresh");
    let configured = project.run_mine().output().expect(0);
    assert_eq!(finals(&configured)[1], "turn 1: Done. <promise>COMPLETE</promise>");
    let project = Project::new();
    let steps = [turn(&project, "p1", "begun"), turn(&project, "p2", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "context: fresh");
    let flag = project.run_mine().args(["--continue"]).output().expect(0);
    assert_eq!(finals(&flag)[1], "turn 2: Done. <promise>COMPLETE</promise>");
}

// spec: L10
#[test]
fn a_session_that_is_lost_is_noted_and_the_iteration_begins_afresh_without_a_retry() {
    let project = Project::new();
    let first = turn(&project, "p1", "begun") + "forget\n";
    let steps = [first, turn(&project, "p2", "never"), turn(&project, "p3", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_mine().args(["--max-retries", "0"]).output().expect(0);
    let note = &answer.named("session.fresh")[0];
    assert_eq!((&note["iteration"], &note["attempt"]), (&2.into(), &2.into()));
    assert!(note["reason"].as_str().unwrap().contains("No conversation found with session ID: session-1"));
    assert!(kept(&project, "p2").starts_with("[RALPH LOOP"));
    assert!(kept(&project, "p3").starts_with("do the work"));
    assert_eq!((answer.finished()["iterations"].as_i64(), project.starts().len()), (Some(2), 3));
    assert!(answer.named("retry.scheduled").is_empty());
}

// spec: L10
#[test]
fn a_context_that_overflowed_goes_on_with_a_fresh_session() {
    let project = Project::new();
    let overflow = "open\nfail context\nexit 1\n".to_owned();
    let steps = [turn(&project, "p1", "begun"), overflow, turn(&project, "p3", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_mine().args(["--max-retries", "0"]).output().expect(0);
    assert!(answer.named("session.fresh")[0]["reason"].as_str().unwrap().contains("Prompt is too long"));
    assert_eq!(finals(&answer)[2], "turn 1: Done. <promise>COMPLETE</promise>");
    assert!(kept(&project, "p3").starts_with("do the work"));
}

// spec: L10
#[test]
fn an_agent_that_begins_another_session_than_it_should_resume_is_noted_and_its_work_counts() {
    let project = Project::new();
    let steps = [turn(&project, "p1", "begun"), "as session-9\nsay Done. {promise}\nresult ok\n".to_owned()];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let answer = project.run_mine().output().expect(0);
    let note = answer.named("session.fresh")[0]["reason"].as_str().unwrap().to_owned();
    assert_eq!(note, "the agent did not resume session session-1 but started session-9");
    assert_eq!(project.starts().len(), 2);
}

// spec: L10, L13
#[test]
fn a_session_goes_on_when_the_run_is_resumed() {
    let project = Project::new();
    let steps = [turn(&project, "p1", "begun"), "open\nhang\n".to_owned(), turn(&project, "p3", "Done. {promise}")];
    project.agents(&[("mine", &steps.join("---\n"))], "");
    let run = project.run_mine().start();
    project.wait_for("ready");
    run.signal(Signal::KILL);
    run.wait_without_invariants();
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    assert_eq!(finals(&answer)[1], "turn 3: Done. <promise>COMPLETE</promise>");
    assert!(kept(&project, "p3").starts_with("[RALPH LOOP - ITERATION 2/10]"));
}

// spec: L10
#[test]
fn an_agent_that_cannot_resume_is_fresh_and_that_is_said_once() {
    let project = Project::new();
    let answer = project.run_on("do the work", &["complete-on", "3"]).output().expect(0);
    let note = "context   fresh for every iteration: text cannot resume a session";
    assert_eq!(answer.stderr.matches(note).count(), 1, "{}", answer.stderr);
    let fresh = project.run_on("do the work", &["complete"]).args(["--fresh"]).output().expect(0);
    assert!(!fresh.stderr.contains("cannot resume"));
    let json = project.run_on("do the work", &["complete"]).args(["--json"]).output().expect(0);
    assert!(json.stderr.contains(note), "{}", json.stderr);
}

/// Speaks in goose's format, which names no session; keeps its arguments.
const NAMELESS: &str = r#"cat > /dev/null
echo "$@" >> ../args
text='half of it'
test "$(wc -l < ../args)" -ge 2 && text='Done. <promise>COMPLETE</promise>'
printf '{"type":"message","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$text"
echo '{"type":"complete","total_tokens":3}'"#;

// spec: L10, A6
#[test]
fn an_agent_that_takes_the_id_of_its_session_from_us_is_resumed_under_that_id() {
    let project = Project::new();
    let agent = project.shell(NAMELESS);
    let run = ["run", "do the work", "--agent", "goose", "--agent-cmd", &agent, "--promise", "COMPLETE", "--json"];
    let answer = project.ralph(run).output().expect(0);
    let ended = answer.named("attempt.ended");
    let id = ended[0]["result"]["session"].as_str().unwrap();
    assert_eq!(id.parse::<uuid::Uuid>().unwrap().get_version_num(), 4);
    let args = kept(&project, "args");
    let lines: Vec<&str> = args.lines().collect();
    assert!(lines[0].ends_with(&format!("-n {id}")), "{args}");
    assert!(lines[1].ends_with(&format!("-n {id} -r")), "{args}");
    assert!(answer.named("session.fresh").is_empty());
}
