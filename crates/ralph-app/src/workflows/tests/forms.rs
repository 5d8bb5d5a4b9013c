//! The top of a file and the three forms.
use ralph_core::workflow::{NodeContext, NodeId, NodeKind, PromptText, WorkflowForm, WorktreeUse};

use super::{errors_of, load, notes_of};

// spec: W2
#[test]
fn a_loop_with_a_prompt_is_a_graph_of_one_node() {
    let text = "name: w\ndescription: d\nprovider: claude\nmodel: m\nloop:\n  until: DONE\n  max_iterations: 3\n  fresh_context: true\nprompt: go\n";
    let workflow = load(text).unwrap().workflow;
    assert_eq!(workflow.form, WorkflowForm::Loop);
    assert_eq!(workflow.agent.provider.as_deref(), Some("claude"));
    let NodeKind::Loop(looping) = &workflow.nodes[0].kind else { panic!("{workflow:?}") };
    assert_eq!(looping.prompt, PromptText::Inline("go".to_owned()));
    assert_eq!(looping.control.until.as_deref(), Some("DONE"));
    assert_eq!((looping.control.max_iterations, looping.control.fresh_context), (3, true));
}

// spec: W2
#[test]
fn steps_are_a_chain_in_which_parallel_steps_share_their_neighbours() {
    let text = "name: w\ndescription: d\nsteps:\n  - command: plan\n  - command: build\n  - parallel:\n      - command: a\n      - command: b\n  - command: plan\n    clearContext: true\n";
    let workflow = load(text).unwrap().workflow;
    let edges: Vec<String> = workflow
        .nodes
        .iter()
        .map(|node| {
            format!("{} <- {}", node.id, node.depends_on.iter().map(NodeId::as_str).collect::<Vec<_>>().join(","))
        })
        .collect();
    assert_eq!(edges, ["plan <- ", "build <- plan", "a <- build", "b <- build", "plan-2 <- a,b"]);
    let contexts: Vec<_> =
        workflow.nodes.iter().map(|node| node.kind.agent_options().unwrap().context.clone().unwrap()).collect();
    let (fresh, shared) = (NodeContext::Fresh, NodeContext::Shared);
    assert_eq!(contexts, [fresh.clone(), shared, fresh.clone(), fresh.clone(), fresh]);
}

// spec: W2
#[test]
fn exactly_one_form_is_needed() {
    let both = "name: w\ndescription: d\nsteps:\n  - command: a\nloop:\n  until: X\n  max_iterations: 1\nprompt: p\n";
    assert_eq!(
        errors_of(both),
        [
            "5:1: loop: a workflow has exactly one of steps, loop and nodes, but this one has steps and loop | keep steps or loop; write two workflows for both"
        ]
    );
    assert_eq!(
        errors_of("name: w\ndescription: d\n"),
        ["1:1: a workflow needs one of nodes, steps, or loop with prompt | add `nodes:` with a list of nodes"]
    );
    assert_eq!(
        errors_of("name: w\ndescription: d\nsteps:\n  - command: a\nprompt: p\n"),
        [
            "5:1: prompt: a top-level prompt belongs to `loop:`, which this workflow does not have | move the prompt into a node or a command file, or use `loop:`"
        ]
    );
}

// spec: W2
#[test]
fn a_loop_needs_a_promise_a_limit_and_a_prompt() {
    let loop_with = |keys: &str| format!("name: w\ndescription: d\nloop:\n{keys}\n");
    assert_eq!(
        errors_of(&loop_with("  until: ''\n  max_iterations: 0")),
        [
            "1:1: prompt: required key is missing | add `prompt:`, the prompt of each iteration",
            "4:10: loop: until: is empty | write a text, or remove the key",
            "5:19: loop: max_iterations: 0 is not between 1 and 1000000",
        ]
    );
    for (value, message) in [
        ("ten", "\"ten\" is not a whole number"),
        ("-1", "\"-1\" is not a whole number"),
        ("1.5", "\"1.5\" is not a whole number"),
        ("'5'", "\"5\" is not a whole number"),
        ("1e400", "\"1e400\" is not a whole number"),
    ] {
        let text = format!("{}prompt: p\n", loop_with(&format!("  until: X\n  max_iterations: {value}")));
        assert_eq!(errors_of(&text), [format!("5:19: loop: max_iterations: {message} | write digits, such as 10")]);
    }
}

// spec: W2
#[test]
fn name_and_description_are_required() {
    assert_eq!(
        errors_of("nodes:\n  - id: a\n    bash: echo\n"),
        [
            "1:1: name: required key is missing | add `name:`, the name by which it is started",
            "1:1: description: required key is missing | add `description:`, what the workflow does and when to use it",
        ]
    );
    assert_eq!(
        errors_of("name: w\ndescription: ' '\nnodes:\n  - id: a\n    bash: echo\n"),
        ["2:14: description: is empty | write a text, or remove the key"]
    );
}

// spec: W1
#[test]
fn unknown_keys_are_errors_with_a_suggestion_except_those_for_anchors() {
    let text = "name: w\ndescription: d\nx-anchor: &a 5\nprovidr: claude\nnodes:\n  - id: a\n    bash: echo\n    depend_on: []\n";
    assert_eq!(
        errors_of(text),
        [
            "4:1: providr: unknown key | did you mean provider?",
            "8:5: node a: depend_on: unknown key | did you mean depends_on?",
        ]
    );
}

// spec: W3
#[test]
fn promised_isolation_is_refused_unless_it_is_disabled() {
    let text = |key: &str| format!("name: w\ndescription: d\n{key}\nnodes:\n  - id: a\n    bash: echo\n");
    let refused = "isolation is not available, and ignoring it would be unsafe | remove it if the workflow may run without isolation";
    assert_eq!(errors_of(&text("sandbox: {enabled: true}")), [format!("3:1: sandbox: {refused}")]);
    assert_eq!(errors_of(&text("container: {write_back: auto}")), [format!("3:1: container: {refused}")]);
    assert_eq!(
        errors_of(&text("persist_sessions: true")),
        [
            "3:1: persist_sessions: sessions that outlive a run are not supported | remove it: each run of ralph has its own sessions"
        ]
    );
    assert_eq!(errors_of(&text("sandbox: {enabled: false}")), Vec::<String>::new());
}

// spec: W3
#[test]
fn a_key_without_effect_has_one_note() {
    let text = "name: w\ndescription: d\ntags: [a]\nwebSearchMode: live\nnodes:\n  - id: a\n    bash: echo\n    model: m\n  - id: b\n    bash: echo\n    model: m\n";
    assert_eq!(
        notes_of(text),
        [
            "3:1: `tags` has no effect: tags are labels only",
            "4:1: `webSearchMode` has no effect: the agent's own configuration decides about web search",
            "8:5: `model` has no effect on a bash node",
        ]
    );
}

// spec: W3
#[test]
fn the_work_tree_and_other_options_are_read() {
    let text = "name: w\ndescription: d\nworktree: {enabled: false}\ninteractive: true\nmutates_checkout: false\nmodelReasoningEffort: high\nevidence_policy: {required: true}\ninputs:\n  issue: {required: true, description: the number}\n  base: {default: main}\nreturns: a\nnodes:\n  - id: a\n    prompt: read $INPUTS.issue\n";
    let workflow = load(text).unwrap().workflow;
    assert_eq!(workflow.worktree, WorktreeUse::Checkout);
    assert_eq!((workflow.is_interactive, workflow.mutates_checkout, workflow.requires_evidence), (true, false, true));
    assert_eq!(workflow.agent.effort.as_deref(), Some("high"));
    assert!(workflow.inputs["issue"].required);
    assert_eq!(workflow.inputs["base"].default.as_deref(), Some("main"));
    assert_eq!(workflow.returns.unwrap().as_str(), "a");
}
