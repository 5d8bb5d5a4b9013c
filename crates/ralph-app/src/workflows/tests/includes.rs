//! Includes: the nodes of another workflow in this graph.
use std::fs;

use ralph_core::workflow::{Node, NodeId, NodeKind, PromptText};

use crate::workflows::catalog::{WorkflowCatalog, WorkflowError, WorkflowFolders};
use crate::workflows::discovery::{FolderLayout, WorkflowFolder, WorkflowOrigin};

/// A folder with these workflow files.
fn catalog(folder: &tempfile::TempDir, files: &[(&str, &str)]) -> WorkflowCatalog {
    let workflows = folder.path().join("workflows");
    fs::create_dir_all(&workflows).unwrap();
    for (name, text) in files {
        fs::write(workflows.join(format!("{name}.yaml")), text).unwrap();
    }
    let path = folder.path().to_path_buf();
    let folders = vec![WorkflowFolder { origin: WorkflowOrigin::Project, path, layout: FolderLayout::Ralph }];
    WorkflowCatalog::read(WorkflowFolders { folders, ..WorkflowFolders::default() }, None)
}

const BLOCK: &str = "name: block\ndescription: d\nmodel: small\ninputs: {base: {required: true}, focus: {default: all}}\nreturns: sum\nnodes:\n  - id: scan\n    bash: git diff $INPUTS.base\n  - id: sum\n    prompt: Sum up $scan.output with $INPUTS.focus\n    depends_on: [scan]\n  - id: extra\n    bash: echo\n    depends_on: [scan]\n";

const PARENT: &str = "name: parent\ndescription: d\nnodes:\n  - id: first\n    bash: echo main\n  - id: review\n    include: block\n    depends_on: [first]\n    when: $first.output == 'main'\n    with: {base: $first.output}\n  - id: last\n    bash: echo $review.output\n    depends_on: [review]\n";

fn node<'n>(nodes: &'n [Node], id: &str) -> &'n Node {
    nodes.iter().find(|node| node.id.as_str() == id).unwrap()
}

fn ids(node: &Node) -> Vec<&str> {
    node.depends_on.iter().map(NodeId::as_str).collect()
}

// spec: W3
#[test]
fn an_include_becomes_part_of_the_graph() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(&folder, &[("block", BLOCK), ("parent", PARENT)]);
    let found = catalog.find("parent").unwrap();
    let nodes = &found.loaded.workflow.nodes;
    let names: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(names, ["first", "review__scan", "review__sum", "review__extra", "last"]);
    assert_eq!(ids(node(nodes, "review__scan")), ["first"]);
    assert_eq!(ids(node(nodes, "review__sum")), ["review__scan"]);
    assert_eq!(ids(node(nodes, "last")), ["review__sum", "review__extra"]);
    let NodeKind::Bash(last) = &node(nodes, "last").kind else { panic!() };
    assert_eq!(last.script, "echo $review__sum.output");
    assert_eq!(found.loaded.files.len(), 2);
}

// spec: W3
#[test]
fn included_nodes_keep_their_agent_and_get_their_inputs_and_the_condition() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(&folder, &[("block", BLOCK), ("parent", PARENT)]);
    let found = catalog.find("parent").unwrap();
    let sum = node(&found.loaded.workflow.nodes, "review__sum");
    let NodeKind::Agent(agent) = &sum.kind else { panic!() };
    assert_eq!(agent.options.model.as_deref(), Some("small"));
    assert_eq!(agent.prompt, PromptText::Inline("Sum up $review__scan.output with $INPUTS.focus".to_owned()));
    assert_eq!(
        serde_json::to_value(&sum.inputs).unwrap(),
        serde_json::json!({"base": "$first.output", "focus": "all"})
    );
    assert_eq!(sum.when.as_ref().unwrap().source, "$first.output == 'main'");
}

// spec: W3
#[test]
fn a_missing_or_unknown_input_of_an_include_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let parent = PARENT.replace("with: {base: $first.output}", "with: {bse: x}");
    let catalog = catalog(&folder, &[("block", BLOCK), ("parent", &parent)]);
    let Err(WorkflowError::Broken { problems, .. }) = catalog.find("parent") else { panic!() };
    let found: Vec<String> = problems.iter().map(super::describe).collect();
    assert_eq!(
        found,
        [
            "10:11: node review: with: block needs the input base | add `base:` below `with:`",
            "10:17: node review: with.bse: block has no such input | did you mean base?",
        ]
    );
}

// spec: W3
#[test]
fn a_circular_include_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        |name: &str, other: &str| format!("name: {name}\ndescription: d\nnodes:\n  - id: x\n    include: {other}\n");
    let catalog = catalog(&folder, &[("a", &file("a", "b")), ("b", &file("b", "a"))]);
    let Err(WorkflowError::Broken { problems, .. }) = catalog.find("a") else { panic!() };
    assert!(problems[0].message.contains("b has errors"), "{problems:?}");
    assert!(problems[0].message.contains("a includes itself"), "{problems:?}");
}

// spec: W1
#[test]
fn one_broken_file_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let good = "name: good\ndescription: d\nnodes:\n  - id: x\n    bash: echo\n";
    let catalog = catalog(&folder, &[("broken", "name: [\n"), ("good", good), ("odd", "name: odd\n")]);
    let results = catalog.load_entries(catalog.requested_entries());
    let shown: Vec<(&str, bool)> =
        catalog.entries().iter().map(|entry| entry.name.as_str()).zip(results.iter().map(Result::is_ok)).collect();
    assert_eq!(shown.iter().filter(|(name, _)| ["broken", "good", "odd"].contains(name)).count(), 3);
    assert!(shown.contains(&("good", true)) && shown.contains(&("broken", false)) && shown.contains(&("odd", false)));
}
