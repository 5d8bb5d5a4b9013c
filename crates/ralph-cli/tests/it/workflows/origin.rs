//! The acceptance criteria and edge cases of the feature from which workflows come: loops beside steps. Where a claim needs
//! more than the text of a signal, the tests show the rules of claims.
use serde_json::Value;

use crate::harness::{CallOutput, Project};
use crate::workflows::runs::{events_of, project_with, run_with};

/// A workflow with one loop, and a prompt that asks for its signal.
fn story(control: &str) -> Project {
    let control = control.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let prompt = "prompt: Do the thing. Output <promise>COMPLETE</promise> when done.\n";
    project_with("story", &format!("name: story\ndescription: a loop\nloop:\n{control}{prompt}"))
}

fn run_script(project: &Project, steps: &str) -> CallOutput {
    let script = project.script(steps);
    run_with(project, "story", &["script", &script]).output()
}

fn messages(output: &CallOutput) -> Vec<Value> {
    events_of(output, "message").iter().map(|event| event["text"].clone()).collect()
}

// spec: W2
#[test]
fn a_file_has_steps_or_a_loop_with_a_valid_signal_limit_and_prompt() {
    let whole = "loop: {until: DONE, max_iterations: 2}\nprompt: p\n";
    let table = [
        ("steps: [{command: a}]\nloop: {until: DONE, max_iterations: 2}\nprompt: p\n", "steps and loop"),
        ("prompt: p\n", "prompt"),
        ("", "a workflow needs one of nodes, steps, or loop with prompt"),
        ("loop: {until: DONE, max_iterations: 2}\n", "prompt"),
        ("loop: {until: DONE, max_iterations: 2}\nprompt: '  '\n", "prompt"),
        ("loop: {until: '', max_iterations: 2}\nprompt: p\n", "until"),
        ("loop: {until: DONE}\nprompt: p\n", "max_iterations"),
        ("loop: {until: DONE, max_iterations: 0}\nprompt: p\n", "max_iterations"),
        ("loop: {until: DONE, max_iterations: many}\nprompt: p\n", "max_iterations"),
    ];
    for (form, word) in table {
        let project = project_with("story", &format!("name: story\ndescription: d\n{form}"));
        let refused = run_with(&project, "story", &["complete"]).output().expect(1).stderr;
        assert!(refused.contains(word), "{form}: {refused}");
        assert!(refused.contains("story.yaml:"), "{form}: the position: {refused}");
        assert!(project.starts().is_empty(), "{form}");
    }
    let project = project_with("story", &format!("name: story\ndescription: d\n{whole}"));
    let listed = project.ralph(["workflow", "list"]).output().expect(0).stdout;
    assert!(listed.contains("story"), "{listed}");
}

// spec: W4, W7, W8
#[test]
fn a_loop_completes_on_its_signal_in_the_third_iteration() {
    let project = story("until: COMPLETE\nmax_iterations: 10\nfresh_context: false");
    let steps = "text Working on iteration 1...\n---\ntext Working on iteration 2...\n---\n\
                 text All done! <promise>COMPLETE</promise>\n";
    let output = run_script(&project, steps).expect(0);
    assert_eq!(project.starts().len(), 3);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["status"], "completed");
    assert_eq!(shown["metadata"]["iteration_count"], 3);
    assert_eq!(shown["metadata"]["max_iterations"], 10);
    assert_eq!(messages(&output)[0], "**Iteration 1/10**");
    assert_eq!(messages(&output).last().unwrap(), "**Loop complete**: story (3 iterations)");
}

// spec: W4, W7, W8
#[test]
fn a_loop_without_its_signal_fails_after_exactly_its_limit() {
    let project = story("until: COMPLETE\nmax_iterations: 3");
    let output = run_script(&project, "text Still working...\n").expect(3);
    assert_eq!(project.starts().len(), 3);
    let reason = "Max iterations (3) reached without completion signal \"COMPLETE\"";
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&shown["status"], &shown["reason"]), (&"failed".into(), &reason.into()));
    assert_eq!(messages(&output).last().unwrap(), &format!("**Loop incomplete**: story\n\n{reason}"));
}

// spec: W4
#[test]
fn a_loop_with_one_iteration_completes_or_fails_in_it() {
    let done = story("until: DONE\nmax_iterations: 1");
    run_script(&done, "text Done! <promise>DONE</promise>\n").expect(0);
    let open = story("until: DONE\nmax_iterations: 1");
    run_script(&open, "text not yet\n").expect(3);
    assert_eq!((done.starts().len(), open.starts().len()), (1, 1));
}

// spec: W4, S3, S5
#[test]
fn where_and_how_the_signal_stands_decides_whether_it_counts() {
    let table = [
        ("All done! <promise>COMPLETE</promise>", 0),
        ("<promise>COMPLETE</promise>\\n\\nThanks for the patience.", 0),
        ("<promise>complete</promise>", 0),
        ("All stories pass.\\nCOMPLETE", 0),
        ("All stories pass. COMPLETE and more to say", 3),
        ("complete", 3),
        ("INCOMPLETE", 3),
        ("I will output <promise>COMPLETE</promise> when the tests pass.", 3),
        ("The work is not done, so no <promise>COMPLETE</promise> yet.", 3),
    ];
    for (said, code) in table {
        let project = story("until: COMPLETE\nmax_iterations: 1");
        let output = run_script(&project, &format!("text {said}\n"));
        assert_eq!(output.code(), code, "{said}");
        output.expect(code);
    }
}

// spec: W4, W8
#[test]
fn an_agent_that_fails_in_an_iteration_fails_the_workflow() {
    let project = story("until: COMPLETE\nmax_iterations: 3");
    let script = project.script("text fine\n---\nstderr the service is down\nexit 7\n");
    let output = run_with(&project, "story", &["script", &script]).args(["--max-retries", "0"]).output().expect(3);
    let last = messages(&output).pop().unwrap();
    assert!(last.as_str().unwrap().starts_with("**Loop failed** at iteration 2: "), "{last}");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["status"], "failed");
}

// spec: W2, W3, W8
#[test]
fn steps_run_one_after_the_other_and_announce_themselves() {
    let project = Project::new();
    for folder in ["workflows", "commands"] {
        std::fs::create_dir_all(project.root().join(".ralph").join(folder)).unwrap();
    }
    project.write(".ralph/commands/plan.md", "# Plan\n\nPlan this: $USER_MESSAGE\n");
    project.write(".ralph/commands/build.md", "---\ndescription: builds\n---\nBuild it.\n");
    let steps = "steps:\n  - command: plan\n  - parallel:\n      - command: build\n      - command: build\n  - command: build\n    clearContext: true\n";
    project.write(".ralph/workflows/story.yaml", format!("name: story\ndescription: d\n{steps}"));
    project.commit();
    project.trust();
    let prompt = project.outside("prompt");
    let script = project.script(&format!("prompt {}\ntext planned\n---\ntext built\n", prompt.display()));
    let call = run_with(&project, "story", &["script", &script]).args(["--", "a login page"]);
    let output = call.output().expect(0);
    assert_eq!(std::fs::read_to_string(prompt).unwrap().trim(), "# Plan\n\nPlan this: a login page");
    let announced: Vec<Value> =
        messages(&output).into_iter().filter(|text| text.as_str().unwrap().starts_with("**Step")).collect();
    assert_eq!(announced, ["**Step 1/3**", "**Step 2/3**", "**Step 2/3**", "**Step 3/3**"]);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["current_step_index"], 4);
}
