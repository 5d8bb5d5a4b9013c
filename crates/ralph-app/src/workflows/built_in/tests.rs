//! The workflows that are part of ralph: they load, and their scripts do what they say.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use ralph_core::workflow::shell::rewrite_script;
use ralph_core::workflow::{
    Node, NodeId, NodeKind, NodeOutput, PromptText, TextReference, TextValues, ValueReference, VariableValues,
    WorkflowVariable, find_references,
};

use super::{BUILT_IN_COMMANDS, BUILT_IN_WORKFLOWS};
use crate::workflows::catalog::{FoundWorkflow, WorkflowCatalog, WorkflowFolders};
use crate::workflows::find_triggers;

fn catalog() -> WorkflowCatalog {
    WorkflowCatalog::read(WorkflowFolders::default(), None)
}

#[track_caller]
fn find<'c>(catalog: &'c WorkflowCatalog, name: &str) -> FoundWorkflow<'c> {
    catalog.find(name).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn prompt_of(node: &Node) -> Option<&PromptText> {
    match &node.kind {
        NodeKind::Agent(agent) => Some(&agent.prompt),
        NodeKind::Loop(looping) => Some(&looping.prompt),
        _ => None,
    }
}

// spec: W10
#[test]
fn every_built_in_workflow_loads_without_notes() {
    let catalog = catalog();
    for file in BUILT_IN_WORKFLOWS {
        let found = find(&catalog, file.name);
        assert_eq!(found.loaded.notes.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
        assert_eq!(found.loaded.workflow.name, file.name);
        let missing = catalog.commands().find_missing(&found.loaded.workflow.nodes, &found.loaded.packages);
        assert_eq!(missing, [], "{}", file.name);
    }
}

// spec: W9, W10
#[test]
fn every_built_in_workflow_has_triggers_of_its_own() {
    let catalog = catalog();
    let mut all = BTreeSet::new();
    for file in BUILT_IN_WORKFLOWS {
        let triggers = find_triggers(&find(&catalog, file.name).loaded.workflow.description);
        assert_ne!(triggers, Vec::<String>::new(), "{}", file.name);
        for trigger in triggers {
            assert!(all.insert(trigger.clone()), "two workflows have the trigger {trigger:?}");
        }
    }
}

// spec: W10
#[test]
fn every_built_in_command_is_used_and_names_existing_nodes_and_inputs() {
    let catalog = catalog();
    let mut unused: BTreeSet<&str> = BUILT_IN_COMMANDS.iter().map(|file| file.name).collect();
    for file in BUILT_IN_WORKFLOWS {
        let found = find(&catalog, file.name);
        let workflow = &found.loaded.workflow;
        for prompt in workflow.nodes.iter().filter_map(prompt_of) {
            let PromptText::Command { name, with } = prompt else { continue };
            unused.remove(name.as_str());
            let command = catalog.commands().find_command(name, &[]).unwrap();
            assert!(command.description.is_some(), "{name}");
            for reference in find_references(&command.text) {
                match reference.reference {
                    TextReference::Value(ValueReference::Output { node, .. }) => {
                        assert!(workflow.nodes.iter().any(|known| known.id == node), "{name} refers to {node}");
                    }
                    TextReference::Value(ValueReference::Input { name: input }) => {
                        assert!(with.contains_key(&input), "{name} refers to the input {input}");
                    }
                    TextReference::Value(ValueReference::PreviousOutput { .. }) => panic!("{name} is in no loop group"),
                    TextReference::Variable(_) => {}
                }
            }
        }
    }
    assert_eq!(unused, BTreeSet::new());
}

// spec: W10
#[test]
fn every_built_in_loop_asks_for_its_promise_once() {
    let catalog = catalog();
    let mut loops = 0;
    for file in BUILT_IN_WORKFLOWS {
        for node in &find(&catalog, file.name).loaded.workflow.nodes {
            let NodeKind::Loop(looping) = &node.kind else { continue };
            let text = match &looping.prompt {
                PromptText::Inline(text) => text.clone(),
                PromptText::Command { name, .. } => catalog.commands().find_command(name, &[]).unwrap().text,
            };
            let until = looping.control.until.clone().unwrap();
            assert_eq!(text.matches(&format!("<promise>{until}</promise>")).count(), 1, "{}", node.id);
            assert_eq!(text.matches("<promise>").count(), 1, "{}", node.id);
            loops += 1;
        }
    }
    assert_eq!(loops, 5);
}

/// Runs the script of a node in a directory, with a `PATH` that begins with its folder `bin`.
fn run_node(workflow: &str, node: &str, directory: &Path, message: &str, inputs: &[(&str, &str)]) -> Output {
    let catalog = catalog();
    let found = find(&catalog, workflow);
    let node = found.loaded.workflow.nodes.iter().find(|known| known.id == NodeId(node.to_owned())).unwrap();
    let NodeKind::Bash(bash) = &node.kind else { panic!("{} is not a bash node", node.id) };
    let artifacts = directory.join("artifacts");
    std::fs::create_dir_all(&artifacts).unwrap();
    let inputs: BTreeMap<String, String> =
        inputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let variables = VariableValues::from([
        (WorkflowVariable::Arguments, message.to_owned()),
        (WorkflowVariable::ArtifactsDir, artifacts.to_str().unwrap().to_owned()),
    ]);
    let output = NodeOutput::Skipped;
    let values =
        TextValues { output_of: &|_| Some(&output), previous_outputs: None, inputs: &inputs, variables: &variables };
    let bound = rewrite_script(&bash.script).bind(&values, "/nowhere").unwrap();
    let path = format!("{}:{}", directory.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.arg("-c").arg(&bound.text).env_clear().env("PATH", path).envs(bound.environment);
    command.current_dir(directory).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn stderr_of_failure(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

// spec: W10
#[test]
fn the_ralph_workflow_counts_stories_before_an_agent_starts() {
    let directory = tempfile::tempdir().unwrap();
    let run = || run_node("ralph", "find-stories", directory.path(), "", &[]);
    assert!(stderr_of_failure(&run()).contains("commit prd.json first"));
    std::fs::write(directory.path().join("prd.json"), "{}").unwrap();
    assert!(stderr_of_failure(&run()).contains("No story"));
    let stories = "[\n  { \"passes\": true },\n  { \"passes\" : false },\n  { \"passes\":false }\n]";
    std::fs::write(directory.path().join("prd.json"), stories).unwrap();
    assert_eq!(stdout(&run()), "{\"open\": 2, \"passing\": 1}");
}

// spec: W10
#[test]
fn the_fix_issue_workflow_looks_up_a_number_with_gh() {
    let directory = tempfile::tempdir().unwrap();
    write_gh(directory.path(), "echo \"$*\"");
    let issue = |message: &str| stdout(&run_node("fix-issue", "issue", directory.path(), message, &[]));
    let asked = |id: &str| format!("issue view {id} --json number,title,state,labels,body,comments");
    assert_eq!(issue("fix issue #42, please"), asked("42"));
    assert_eq!(issue("42"), asked("42"));
    assert_eq!(issue("see https://example.org/a/b/issues/7"), asked("https://example.org/a/b/issues/7"));
    assert_eq!(issue("Fix issue 8"), asked("8"));
    assert_eq!(issue("The parser fails for 3 files"), "The parser fails for 3 files");
    assert_eq!(issue("'; touch pwned; '$(touch pwned)"), "'; touch pwned; '$(touch pwned)");
    assert!(!directory.path().join("pwned").exists());
}

// spec: W10
#[test]
fn the_fix_issue_workflow_uses_the_message_if_gh_fails() {
    let directory = tempfile::tempdir().unwrap();
    write_gh(directory.path(), "exit 1");
    assert_eq!(stdout(&run_node("fix-issue", "issue", directory.path(), "fix #42", &[])), "fix #42");
}

/// Writes a program `gh` into the folder `bin`.
fn write_gh(directory: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let program = directory.join("bin/gh");
    std::fs::create_dir_all(directory.join("bin")).unwrap();
    std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

// spec: W10
#[test]
fn the_review_workflow_collects_committed_changed_and_new_files() {
    let directory = tempfile::tempdir().unwrap();
    let repository = directory.path();
    let change = |base: &str| run_node("review", "change", repository, "", &[("base", base)]);
    git(repository, &["init"]);
    std::fs::write(repository.join(".gitignore"), "artifacts\n").unwrap();
    std::fs::write(repository.join("a"), "1\n").unwrap();
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--message", "first"]);
    assert!(stdout(&change("")).ends_with("\"files\": 0}"));
    git(repository, &["switch", "--create", "feature"]);
    std::fs::write(repository.join("b"), "2\n").unwrap();
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--message", "second"]);
    std::fs::write(repository.join("a"), "3\n").unwrap();
    std::fs::write(repository.join("c"), "4\n").unwrap();
    assert!(stdout(&change("")).ends_with("\"files\": 3}"));
    let diff = std::fs::read_to_string(repository.join("artifacts/change.diff")).unwrap();
    assert!(diff.contains("+2") && diff.contains("+3"), "{diff}");
    assert_eq!(std::fs::read_to_string(repository.join("artifacts/new-files.txt")).unwrap(), "c\n");
    assert!(stdout(&change("feature")).ends_with("\"files\": 2}"));
    assert!(stderr_of_failure(&change("$(touch pwned)")).contains("cannot compare with '$(touch pwned)'"));
    assert!(!repository.join("pwned").exists());
}
