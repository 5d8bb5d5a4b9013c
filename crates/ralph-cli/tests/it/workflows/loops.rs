//! Loops in workflows: how they complete, how they fail, and what they announce.
use serde_json::Value;

use crate::harness::{FAKE_AGENT, Project};
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

/// A workflow that is nothing but a loop.
fn loop_yaml(control: &str, prompt: &str) -> String {
    format!("name: story\ndescription: a loop\nloop:\n{control}prompt: {prompt}\n")
}

fn messages(output: &crate::harness::CallOutput) -> Vec<Value> {
    events_of(output, "message").iter().map(|event| event["text"].clone()).collect()
}

// spec: W2, W4, W8
#[test]
fn a_loop_workflow_iterates_until_the_tag_and_announces_each_iteration() {
    let yaml = loop_yaml("  until: COMPLETE\n  max_iterations: 5\n", "do <promise>COMPLETE</promise>");
    let project = project_with("story", &yaml);
    let output = run_with(&project, "story", &["complete-on", "3"]).output().expect(0);
    assert_eq!(
        messages(&output),
        ["**Iteration 1/5**", "**Iteration 2/5**", "**Iteration 3/5**", "**Loop complete**: story (3 iterations)"]
    );
    assert_eq!(project.starts().len(), 3);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["metadata"]["iteration_count"], 3);
    assert_eq!(shown["metadata"]["max_iterations"], 5);
    assert_eq!(shown["status"], "completed");
}

// spec: W4, W7, W8
#[test]
fn a_loop_that_reaches_its_limit_fails_with_its_signal() {
    let project = project_with("story", &loop_yaml("  until: COMPLETE\n  max_iterations: 3\n", "never"));
    let output = run_with(&project, "story", &["work"]).output().expect(3);
    let reason = "Max iterations (3) reached without completion signal \"COMPLETE\"";
    assert_eq!(result_of(&output)["reason"], reason);
    assert_eq!(messages(&output).last().unwrap(), &format!("**Loop incomplete**: story\n\n{reason}"));
    assert_eq!(project.starts().len(), 3);
}

// spec: W4, W6
#[test]
fn a_loop_that_reads_its_own_output_gets_an_empty_text() {
    let yaml = "name: w\ndescription: d\nnodes:\n  - id: ask\n    loop: {prompt: 'Before: [$ask.output] COMPLETE', until: COMPLETE, \
                max_iterations: 1}\n";
    let project = project_with("w", yaml);
    let prompt = project.outside("prompt");
    let script = project.script(&format!("prompt {}\ntext {{promise}}\n", prompt.display()));
    run_with(&project, "w", &["script", &script]).output().expect(0);
    assert!(std::fs::read_to_string(prompt).unwrap().starts_with("Before: [] COMPLETE"));
}

// spec: W4
#[test]
fn a_loop_with_one_iteration_runs_once() {
    let project = project_with("story", &loop_yaml("  until: COMPLETE\n  max_iterations: 1\n", "x COMPLETE"));
    run_with(&project, "story", &["work"]).output().expect(3);
    assert_eq!(project.starts().len(), 1);
    let done = project_with("story", &loop_yaml("  until: COMPLETE\n  max_iterations: 1\n", "x COMPLETE"));
    run_with(&done, "story", &["complete"]).output().expect(0);
}

// spec: W4, S5
#[test]
fn a_plain_signal_counts_only_as_a_line_of_its_own() {
    let yaml = loop_yaml("  until: COMPLETE\n  max_iterations: 2\n", "say COMPLETE when done");
    for (said, code) in
        [("all done\\nCOMPLETE", 0), ("INCOMPLETE", 3), ("COMPLETE 3 of 7", 3), ("it is not COMPLETE.", 3)]
    {
        let project = project_with("story", &yaml);
        let script = project.script(&format!("text {said}\n"));
        run_with(&project, "story", &["script", &script]).output().expect(code);
    }
}

// spec: W4
#[test]
fn the_tag_is_compared_without_regard_to_case_and_may_follow_other_text() {
    let yaml = loop_yaml("  until: COMPLETE\n  max_iterations: 1\n", "do <promise>COMPLETE</promise>");
    let project = project_with("story", &yaml);
    let script = project.script("text The story is in.\\n<promise>complete</promise>\n");
    run_with(&project, "story", &["script", &script]).output().expect(0);
}

// spec: W4, W8
#[test]
fn an_agent_that_fails_fails_the_loop_with_the_iteration() {
    let project = project_with("story", &loop_yaml("  until: COMPLETE\n  max_iterations: 3\n", "x"));
    let script = project.script("text working\n---\ntext broken\nexit 5\n");
    let output = run_with(&project, "story", &["script", &script]).args(["--max-retries", "0"]).output().expect(3);
    let last = messages(&output).pop().unwrap();
    assert!(last.as_str().unwrap().starts_with("**Loop failed** at iteration 2: "), "{last}");
}

/// A project whose agent keeps sessions.
fn project_with_sessions(yaml: &str, steps: &str) -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    let script = project.script(steps);
    let config = format!(
        "agent: mine\nagents:\n  mine:\n    type: claude\n    cli: {FAKE_AGENT}\n    args: [script, {script}]\n"
    );
    project.write(".ralph/config.yaml", config);
    project.write(".ralph/workflows/story.yaml", yaml);
    project.commit();
    project.trust();
    project
}

/// Returns the sessions of the attempts of a loop.
fn sessions(project: &Project) -> Vec<Value> {
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    let run = shown["nodes"][0]["runs"][0].as_str().unwrap().to_owned();
    let events = project.ralph(["events", &run]).output().expect(0).stdout;
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = events.filter(|event| event["event"] == "attempt.ended");
    ended.map(|event| event["result"]["session"].clone()).collect()
}

// spec: W4
#[test]
fn a_loop_continues_its_session_unless_fresh_context_is_set() {
    let steps = "converse one\n---\nconverse two\n---\nconverse done\\n<promise>COMPLETE</promise>\n";
    for (fresh, same) in [("false", true), ("true", false)] {
        let control = format!("  until: COMPLETE\n  max_iterations: 4\n  fresh_context: {fresh}\n");
        let project = project_with_sessions(&loop_yaml(&control, "go <promise>COMPLETE</promise>"), steps);
        project.ralph(["workflow", "run", "story", "--json"]).output().expect(0);
        let sessions = sessions(&project);
        assert_eq!(sessions.len(), 3);
        assert_eq!(sessions[0] == sessions[1], same, "fresh_context: {fresh}: {sessions:?}");
    }
}

const UNTIL_BASH: &str = r"
name: story
description: a loop that a command ends
nodes:
  - id: work
    loop:
      prompt: work on it
      until_bash: test -e ../../../done || test -e done
      max_iterations: 4
";

// spec: W4
#[test]
fn a_command_that_exits_with_0_completes_the_loop() {
    let project = project_with("story", UNTIL_BASH);
    let script = project.script("text one\n---\ntext two\ntouch done\n");
    let output = run_with(&project, "story", &["script", &script]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "two");
    assert_eq!(project.starts().len(), 2);
    assert_eq!(messages(&output).last().unwrap(), "**Loop complete**: work (2 iterations)");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    let run = shown["nodes"][0]["runs"][0].as_str().unwrap().to_owned();
    let row = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    assert_eq!(row["outcome"], "exhausted", "the run of the loop is closed: {row}");
}

// spec: W4, V7
#[test]
fn a_command_that_cannot_run_ends_the_loop_after_two_iterations() {
    let yaml = UNTIL_BASH.replace("test -e ../../../done || test -e done", "no-such-command-here");
    let project = project_with("story", &yaml);
    let output = run_with(&project, "story", &["work"]).output().expect(3);
    let reason = result_of(&output)["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("no-such-command-here"), "{reason}");
    assert!(reason.contains("exit code 127"), "{reason}");
    assert_eq!(project.starts().len(), 2);
}

// spec: W4
#[test]
fn the_output_of_an_iteration_is_in_the_next_prompt() {
    let yaml = r"
name: story
description: a loop
nodes:
  - id: work
    loop:
      prompt: |
        last: [$LOOP_PREV_OUTPUT]
        say <promise>COMPLETE</promise>
      until: COMPLETE
      max_iterations: 3
";
    let project = project_with("story", yaml);
    let prompt = project.outside("prompt");
    let script = project
        .script(&format!("text the {{{{env.SECRET}}}} of $HOME\n---\nprompt {}\ntext {{promise}}\n", prompt.display()));
    run_with(&project, "story", &["script", &script]).output().expect(0);
    let sent = std::fs::read_to_string(prompt).unwrap();
    assert!(sent.starts_with("last: [the {{env.SECRET}} of $HOME"), "{sent}");
}

// spec: W4
// fault: 79, 80
#[test]
fn the_message_reaches_the_agent_unchanged() {
    let yaml = "name: story\ndescription: d\nnodes:\n  - id: a\n    prompt: $ARGUMENTS\n";
    let project = project_with("story", yaml);
    let message = "a `b` $(c) {{d}} %s \\ $UNKNOWN ${X} \"q\" 'r'\nline two";
    let prompt = project.outside("prompt");
    let script = project.script(&format!("prompt {}\ntext ok\n", prompt.display()));
    run_with(&project, "story", &["script", &script]).args(["--", message]).output().expect(0);
    assert_eq!(std::fs::read_to_string(prompt).unwrap(), message);
}

const INTERACTIVE: &str = r"
name: story
description: a loop with a gate
nodes:
  - id: work
    loop:
      prompt: |
        input: [$LOOP_USER_INPUT]
      until: COMPLETE
      interactive: true
      gate_message: Is it good?
      max_iterations: 5
";

// spec: W4, W13
#[test]
fn an_interactive_loop_waits_for_a_person_after_each_iteration() {
    let project = project_with("story", INTERACTIVE);
    let prompt = project.outside("prompt");
    let script = project.script(&format!("text first try\n---\nprompt {}\ntext second try\n", prompt.display()));
    let output = run_with(&project, "story", &["script", &script]).output().expect(6);
    assert_eq!(
        events_of(&output, "question.asked")[0]["decisions"],
        serde_json::json!(["complete", "continue", "reject"])
    );
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let again = project.ralph(["workflow", "respond", &run, "continue", "shorter please", "--json"]).output().expect(6);
    assert!(std::fs::read_to_string(&prompt).unwrap().contains("input: [shorter please]"));
    assert_eq!(result_of(&again)["status"], "waiting");
    let done = project.ralph(["workflow", "respond", &run, "complete", "--json"]).output().expect(0);
    assert_eq!(result_of(&done)["output"], "second try");
    assert_eq!(project.starts().len(), 2);
}
