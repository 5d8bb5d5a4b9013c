//! Runs of workflows with bash and agent nodes.
use serde_json::Value;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project};

/// Returns a project with this workflow, which is committed and approved.
pub fn project_with(name: &str, yaml: &str) -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(&format!(".ralph/workflows/{name}.yaml"), yaml);
    project.commit();
    project.trust();
    project
}

/// Prepares a run of a workflow with the scripted agent, reported as JSON lines.
pub fn run_with<'a>(project: &'a Project, name: &str, mode: &[&str]) -> Call<'a> {
    project
        .ralph(["workflow", "run", name, "--agent", "text", "--agent-cmd", FAKE_AGENT, "--json"])
        .args(mode.iter().map(|arg| format!("--agent-arg={arg}")))
}

/// Returns the last line, the result of the command.
pub fn result_of(output: &CallOutput) -> Value {
    serde_json::from_str(output.stdout.lines().last().unwrap_or_default()).unwrap()
}

/// Returns the events of the run with this name.
pub fn events_of(output: &CallOutput, name: &str) -> Vec<Value> {
    let lines = output.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["event"] == name).collect()
}

// spec: W3, W7
#[test]
fn a_chain_of_bash_nodes_passes_outputs_as_values() {
    let project = project_with(
        "chain",
        r#"
name: chain
description: two scripts
nodes:
  - id: first
    bash: printf '%s' "it's $ARGUMENTS; \$(touch pwned)"
  - id: second
    depends_on: [first]
    bash: |
      echo "got: $first.output"
"#,
    );
    let output = run_with(&project, "chain", &[]).args(["--", "a $(touch evil) message"]).output().expect(0);
    let result = result_of(&output);
    assert_eq!(result["output"], "got: it's a $(touch evil) message; $(touch pwned)");
    assert_eq!(result["status"], "completed");
    assert!(!project.root().join("evil").exists() && !project.root().join("pwned").exists());
}

// spec: W3
#[test]
fn the_last_message_of_an_agent_is_the_output_of_its_node() {
    let project = project_with(
        "ask",
        r#"
name: ask
description: an agent, then a script
nodes:
  - id: think
    prompt: Think about $ARGUMENTS
  - id: use
    depends_on: [think]
    bash: printf '%s' "$think.output"
"#,
    );
    let output = run_with(&project, "ask", &["echo"]).args(["the $HOME of `cats`"]).output().expect(0);
    let result = result_of(&output);
    assert!(result["output"].as_str().unwrap().contains("Think about the $HOME of `cats`\n"), "{result}");
    let started: Vec<_> = events_of(&output, "node.started").iter().map(|event| event["node"].clone()).collect();
    assert_eq!(started, ["think", "use"]);
}

// spec: W3
#[test]
fn a_failed_node_fails_the_run_and_other_branches_still_run() {
    let project = project_with(
        "broken",
        r"
name: broken
description: one branch fails
nodes:
  - id: bad
    bash: echo no >&2; exit 7
  - id: after
    depends_on: [bad]
    bash: 'true'
  - id: other
    bash: echo fine
",
    );
    let output = run_with(&project, "broken", &[]).output().expect(3);
    let result = result_of(&output);
    assert_eq!(result["reason"], "node bad failed: exit code 7: no");
    assert_eq!(events_of(&output, "node.completed")[0]["node"], "other");
    assert_eq!(events_of(&output, "node.skipped")[0]["node"], "after");
}

// spec: W7
// fault: 83
#[test]
fn a_workflow_of_the_repository_does_not_run_before_it_is_approved() {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(".ralph/workflows/w.yaml", "name: w\ndescription: d\nnodes:\n  - id: a\n    bash: touch ran\n");
    project.commit();
    let refused = run_with(&project, "w", &[]).args(["--no-worktree"]).output().expect(1).stderr;
    assert!(refused.contains("you have not approved the workflows of this project"), "{refused}");
    assert!(!project.root().join("ran").exists());
    project.trust();
    run_with(&project, "w", &[]).args(["--no-worktree"]).output().expect(0);
    assert!(project.root().join("ran").exists());
    project.write(".ralph/workflows/w.yaml", "name: w\ndescription: d\nnodes:\n  - id: a\n    bash: touch more\n");
    let changed = run_with(&project, "w", &[]).args(["--no-worktree"]).output().expect(1).stderr;
    assert!(changed.contains("have changed since you approved them"), "{changed}");
}

// spec: W3
#[test]
fn an_answer_that_does_not_fit_its_format_is_asked_for_again() {
    let yaml = r#"
name: typed
description: d
nodes:
  - id: judge
    prompt: judge it
    output_format: {type: object, properties: {verdict: {type: string}}, required: [verdict]}
  - id: good
    depends_on: [judge]
    when: $judge.output.verdict == 'good'
    bash: printf 'it is %s' "$judge.output.verdict"
"#;
    let project = project_with("typed", yaml);
    let script = project.script("text I think it is fine\n---\ntext {\"verdict\": \"good\"}\n");
    let output = run_with(&project, "typed", &["script", &script]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "it is good");
    assert_eq!(project.starts().len(), 2);
    let stubborn = project_with("typed", yaml);
    let failed = run_with(&stubborn, "typed", &["work"]).output().expect(3);
    assert!(result_of(&failed)["reason"].as_str().unwrap().contains("asked 4 times"), "{}", failed.stdout);
}

// spec: W3
#[test]
fn tool_lists_reach_the_agent_or_the_run_does_not_start() {
    let yaml = "name: tools\ndescription: d\nnodes:\n  - id: a\n    prompt: p\n    allowed_tools: []\n";
    let project = project_with("tools", yaml);
    let refused = run_with(&project, "tools", &["work"]).output().expect(1).stderr;
    assert!(refused.contains("cannot honour `allowed_tools`"), "{refused}");
    assert!(project.starts().is_empty());
}

// spec: W3
#[test]
fn a_node_with_an_output_type_leaves_an_artifact() {
    let yaml = r#"
name: notes
description: d
nodes:
  - id: plan
    bash: echo '# The plan'; echo more > "$ARTIFACTS_DIR/extra.txt"
    output_type: plan
  - id: read
    depends_on: [plan]
    bash: cat "$ARTIFACTS_DIR/nodes/plan.md" "$ARTIFACTS_DIR/extra.txt"
"#;
    let project = project_with("notes", yaml);
    let output = run_with(&project, "notes", &[]).output().expect(0);
    assert_eq!(result_of(&output)["output"], "# The planmore");
}

// spec: W3, W7
#[test]
fn a_run_works_in_a_work_tree_of_its_own_unless_the_caller_chooses_the_checkout() {
    let yaml = "name: tree\ndescription: d\nnodes:\n  - id: a\n    bash: touch made; pwd\n";
    let project = project_with("tree", yaml);
    let output = run_with(&project, "tree", &[]).output().expect(0);
    let place = result_of(&output)["output"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&place).join("made").exists());
    assert!(!project.root().join("made").exists());
    run_with(&project, "tree", &[]).args(["--no-worktree"]).output().expect(0);
    assert!(project.root().join("made").exists());
}

const VARIABLES: &str = r#"
name: variables
description: prints the variables of a run
nodes:
  - id: print
    bash: |
      printf '%s|%s|%s|%s' "$WORKFLOW_ID" "$DOCS_DIR" "$CONTEXT$EXTERNAL_CONTEXT$ISSUE_CONTEXT$ADOPTED_RUN_DIR" "$ARGUMENTS"
      test "$USER_MESSAGE" = "$ARGUMENTS" && test -d "$ARTIFACTS_DIR" && test -d "$STATE_DIR"
"#;

// spec: W6
#[test]
fn a_script_gets_the_variables_of_its_run_and_those_without_a_value_are_empty() {
    let project = project_with("variables", VARIABLES);
    let output = project.ralph(["workflow", "run", "variables", "hello", "--json"]).output().expect(0);
    let result = result_of(&output);
    assert_eq!(result["output"].as_str().unwrap(), format!("{}|docs/||hello", result["run"].as_str().unwrap()));
}
