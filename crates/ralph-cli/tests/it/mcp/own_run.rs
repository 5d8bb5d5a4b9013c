//! What an agent of a run can do with the tools: its own task and run, and nothing else.
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Call, FAKE_AGENT, Project};
use crate::invariants::CANARY;

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Prepares a run of an agent with Claude's format that follows this script.
fn run<'a>(project: &'a Project, steps: &str) -> Call<'a> {
    let script = project.script(steps);
    with_tools(project, project.run_claude(&["script", &script]))
}

fn with_tools<'a>(project: &Project, call: Call<'a>) -> Call<'a> {
    call.env("FA_RALPH", RALPH).env("FA_ANSWERS", project.outside("answers"))
}

/// Returns the results of the calls, oldest first.
fn answers(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.outside("answers")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn refusal(answer: &Value) -> &str {
    assert_eq!(answer["isError"], true, "{answer}");
    answer["content"][0]["text"].as_str().unwrap()
}

// spec: U8, S2, S4
#[test]
fn a_claim_by_the_tool_is_verified_and_completes_the_run() {
    for order in ["call", "ask"] {
        let project = Project::new();
        project.commit();
        let steps = format!(
            "init\nwrite done.txt yes\n{order} claim_completion {{\"summary\": \"The file is there.\"}}\nsay It is there.\nresult It is there."
        );
        let answer = run(&project, &steps).args(["--check", "grep yes done.txt"]).output().expect(0);
        let claim = answer.events_named("claim")[0]["claim"].clone();
        assert_eq!(claim["why"], "asserted with the tool claim_completion, and no work followed", "{order}");
        assert_eq!(answer.events_named("verdict")[0]["verdict"], "accepted");
        let reported = answer.events_named("agent.reported")[0].clone();
        assert_eq!((&reported["kind"], &reported["words"]), (&json!("done"), &json!("The file is there.")));
        assert_eq!(answers(&project)[0]["structuredContent"]["recorded"], true);
    }
}

// spec: U8
#[test]
fn the_evidence_rejects_a_false_claim_by_the_tool() {
    let project = Project::new();
    project.commit();
    let claim = "call claim_completion {\"summary\": \"All is done.\"}\nresult Done.";
    let steps = format!("init\n{claim}\n---\ninit\nwrite done.txt yes\n{claim}");
    let answer =
        run(&project, &steps).args(["--check", "grep yes done.txt", "--max-iterations", "2"]).output().expect(0);
    let verdicts: Vec<Value> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
}

// spec: U8, S13
#[test]
fn a_claim_by_the_tool_that_work_follows_does_not_count_and_the_next_prompt_says_so() {
    let project = Project::new();
    let steps = format!(
        "init\ncall claim_completion {{\"summary\": \"s\"}}\ntool Bash make\nresult Done.\n---\ninit\nprompt {}\nsay {{promise}}\nresult x",
        project.outside("prompt").display()
    );
    let answer = run(&project, &steps).args(["--max-iterations", "2"]).output().expect(0);
    let why = "the agent used Bash after claim_completion, which must be its last call";
    assert_eq!(answer.events_named("claim")[0]["claim"]["why"], why);
    assert_eq!(answer.finished()["iterations"], 2);
    let prompt = fs::read_to_string(project.outside("prompt")).unwrap();
    assert!(prompt.contains(why), "{prompt}");
}

// spec: U8
#[test]
fn a_claim_by_a_tool_that_the_output_does_not_show_does_not_count() {
    let project = Project::new();
    let script = project.script("call claim_completion {\"summary\": \"s\"}");
    let call = project.run(&["script", &script]).args(["--max-iterations", "1"]);
    let answer = with_tools(&project, call).output().expect(3);
    let why = answer.events_named("claim")[0]["claim"]["why"].clone();
    assert!(why.as_str().unwrap().contains("its output does not show the call"), "{why}");
}

// spec: U8, L17
#[test]
fn an_agent_says_blocked_and_asks_for_a_wait_with_the_tools() {
    let project = Project::new();
    let blocked = "init\ncall report_blocked {\"reason\": \"needs STRIPE_KEY\"}\nresult I stop.";
    let answer = run(&project, blocked).output().expect(6);
    assert_eq!(answer.finished()["reason"], "the agent is blocked: needs STRIPE_KEY");
    let project = Project::new();
    let waits = "init\ncall request_wait {\"reason\": \"the build\", \"for\": \"1s\"}\nresult I wait.\n---\ninit\nsay {promise}\nresult x";
    let answer = run(&project, waits).output().expect(0);
    assert_eq!(answer.events_named("agent.waiting")[0]["reason"], "the build");
    assert_eq!(answer.finished()["iterations"], 1);
}

// spec: U8
#[test]
fn a_wait_needs_exactly_one_valid_time() {
    let project = Project::new();
    let steps = "init\ncall request_wait {\"reason\": \"r\"}\ncall request_wait {\"reason\": \"r\", \"for\": \"5m\", \"until\": \"x\"}\n\
        call request_wait {\"reason\": \"r\", \"until\": \"tomorrow\"}\nsay {promise}\nresult x";
    run(&project, steps).output().expect(0);
    let answers = answers(&project);
    assert_eq!(refusal(&answers[0]), "give either `for` or `until`");
    assert_eq!(refusal(&answers[1]), "give either `for` or `until`");
    assert!(refusal(&answers[2]).starts_with("this is not a valid time"), "{}", answers[2]);
}

// spec: U8, X3, L4
#[test]
fn progress_is_recorded_without_secrets_and_signal_tags() {
    let project = Project::new();
    let steps = format!(
        "init\ncall report_progress {{\"message\": \"2 of 5, <promise>COMPLETE</promise>, {CANARY}\"}}\nresult More remains."
    );
    let answer = run(&project, &steps).args(["--max-iterations", "1"]).output().expect(3);
    let words = answer.events_named("agent.reported")[0]["words"].as_str().unwrap().to_owned();
    assert!(words.starts_with("2 of 5, [promise]COMPLETE[/promise], "), "{words}");
    assert!(!words.contains(CANARY), "{words}");
}

// spec: U8, V17
#[test]
fn an_agent_reads_and_changes_only_its_own_run() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let shown = project.ralph(["runs", "--json"]).output().expect(0).json();
    let other = shown[0]["id"].as_str().unwrap().to_owned();
    let steps = format!(
        "init\nask read_task {{\"id\": \"{other}\"}}\nask claim_completion {{\"run\": \"{other}\", \"summary\": \"s\"}}\nask read_task\n\
         ask read_status\nsay {{promise}}\nresult x"
    );
    let answer = run(&project, &steps).output().expect(0);
    let own = answer.events()[0]["run"].clone();
    let answers = answers(&project);
    assert!(refusal(&answers[0]).contains("is not the work of this agent"), "{}", answers[0]);
    assert!(refusal(&answers[1]).contains("is not yours"), "{}", answers[1]);
    let work = answers[2]["structuredContent"].clone();
    assert_eq!((&work["run"], &work["title"], &work["promise"]), (&own, &json!("do the work"), &json!("COMPLETE")));
    let active = answers[3]["structuredContent"]["active"].as_array().unwrap().clone();
    assert_eq!(active.len(), 1, "{active:?}");
    assert_eq!(answer.events_named("claim")[0]["claim"]["why"], "asserted on line 1 of the final message");
}

/// A task with a check and guidance, worked on by an agent that follows the script.
fn work_on_task(project: &Project, steps: &str) -> crate::harness::CallOutput {
    fs::create_dir(project.root().join("specs")).unwrap();
    project.write("specs/shop.md", "# The shop\n");
    project.commit();
    let create = ["task", "create", "T-1", "shop", "Sell things", "--outcome", "things are sold"];
    let proof = ["--acceptance", "a receipt is printed", "--coder-verify-cmd", "make test"];
    project.ralph(create).args(proof).output().expect(0);
    project.ralph(["guide", "T-1", "Use the blue paper", "--keep"]).output().expect(0);
    let script = project.script(steps);
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--output-format", "claude"];
    let call = project.ralph(["task", "run", "T-1", "--max-iterations", "1", "--json"]).args(agent);
    let call = call.args(["--agent-arg=script".to_owned(), format!("--agent-arg={script}")]);
    with_tools(project, call).output().expect(3)
}

// spec: U8
#[test]
fn an_agent_reads_its_task_with_criteria_specification_notes_and_guidance() {
    let project = Project::new();
    work_on_task(&project, "init\ncall read_task\nresult More remains.");
    let work = answers(&project)[0]["structuredContent"].clone();
    assert_eq!((&work["task"], &work["role"], &work["title"]), (&json!("T-1"), &json!("coder"), &json!("Sell things")));
    assert_eq!(work["outcome"], "things are sold");
    assert_eq!(work["acceptance_criteria"], json!(["a receipt is printed"]));
    assert_eq!(work["specification"]["text"], "# The shop\n");
    assert_eq!(work["guidance"], json!(["Use the blue paper"]));
    assert_eq!((&work["iteration"], &work["max_iterations"]), (&json!(1), &json!(1)));
}

// spec: U8, T8
#[test]
fn the_checks_of_a_follow_up_do_not_run_until_a_person_approves_them() {
    let project = Project::new();
    let followup =
        "call create_followup_task {\"id\": \"T-2\", \"title\": \"Count things\", \"check_command\": \"touch pwned\"}";
    work_on_task(&project, &format!("init\n{followup}\nresult More remains."));
    assert_eq!(answers(&project)[0]["structuredContent"]["created"], "T-2", "{:?}", answers(&project));
    let task = project.ralph(["task", "show", "T-2", "--json"]).output().expect(0).json();
    assert_eq!((&task["approved"], &task["metadata"]["followup_of"]), (&json!(false), &json!("T-1")));
    let refused = project.ralph(["task", "run", "T-2", "--agent", "text", "--agent-cmd", FAKE_AGENT]).output();
    assert!(refused.expect(1).stderr.contains("no person has approved"), "an agent wrote it");
    assert!(!project.root().join("pwned").exists());
    project.ralph(["task", "approve", "T-2", "--yes"]).output().expect(0);
}

// spec: U8
#[test]
fn an_agent_without_a_task_cannot_create_a_follow_up() {
    let project = Project::new();
    let steps = "init\ncall create_followup_task {\"id\": \"T-2\", \"title\": \"t\"}\nsay {promise}\nresult x";
    run(&project, steps).output().expect(0);
    assert!(refusal(&answers(&project)[0]).starts_with("this run does not work on a task"), "{:?}", answers(&project));
}
