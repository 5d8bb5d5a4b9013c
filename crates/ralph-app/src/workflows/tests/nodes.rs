//! Nodes: kinds, keys, values and references.
use ralph_core::workflow::{FanOutJoin, NodeContext, NodeKind, RetryScope, ScriptRuntime, ScriptSource, TriggerRule};

use super::{errors_of, load, notes_of, with_nodes};

// spec: W3
#[test]
fn every_kind_of_node_is_read() {
    let text = with_nodes(
        "  - id: c\n    command: plan\n    with: {n: 1}\n  - id: p\n    prompt: go\n    depends_on: [c]\n  - id: b\n    bash: make\n    timeout: 5000\n\
         \x20 - id: s\n    script: 'print(1)'\n    runtime: uv\n    deps: [requests]\n  - id: l\n    loop: {prompt: go, until: X, max_iterations: 2}\n\
         \x20 - id: g\n    loop_group:\n      until_bash: test -e done\n      max_iterations: 3\n      nodes:\n        - id: inner\n          bash: touch done\n\
         \x20 - id: a\n    approval: {message: ok?, decisions: [{id: approve}, {id: later, label: Later}]}\n  - id: x\n    cancel: because\n    when: $b.output == 'no'\n    depends_on: [b]\n\
         \x20 - id: w\n    workflow: other\n    input: $b.output\n    depends_on: [b]\n    isolation: worktree\n    fan_out: {items: $b.output, as: item, max_parallel: 2, join: all_success}\n\
         \x20 - id: v\n    checks: [cargo test, {template: clean-worktree}]\n",
    );
    let text = text.replace("{template: clean-worktree}", "{command: [make, lint]}");
    let workflow = load(&text).unwrap().workflow;
    let kinds: Vec<&str> = workflow.nodes.iter().map(|node| crate::workflows::graph::kind_name(&node.kind)).collect();
    assert_eq!(
        kinds,
        ["command", "prompt", "bash", "script", "loop", "loop_group", "approval", "cancel", "workflow", "checks"]
    );
    let NodeKind::Script(script) = &workflow.nodes[3].kind else { panic!() };
    assert_eq!((&script.source, script.runtime), (&ScriptSource::Code("print(1)".to_owned()), ScriptRuntime::Uv));
    let NodeKind::Workflow(child) = &workflow.nodes[8].kind else { panic!() };
    let fan_out = child.fan_out.as_ref().unwrap();
    assert_eq!((fan_out.max_parallel, fan_out.join, child.own_worktree), (2, FanOutJoin::AllSuccess, true));
    let NodeKind::Checks(checks) = &workflow.nodes[9].kind else { panic!() };
    assert_eq!(checks.criteria.len(), 2);
}

// spec: W3
#[test]
fn the_common_keys_of_a_node_are_read() {
    let text = with_nodes(
        "  - id: a\n    bash: echo\n    output_type: report\n    always_run: true\n  - id: b\n    prompt: go\n    depends_on: [a, a]\n    trigger_rule: all_done\n    context: {resume: c}\n\
         \x20   retry: {max_attempts: 2, on_error: all}\n    allowed_tools: []\n    denied_tools: [Bash]\n    idle_timeout: 300000\n    maxBudgetUsd: 0.5\n\
         \x20   hooks: {PreToolUse: [{matcher: Write, response: {decision: block}}]}\n  - id: c\n    command: x\n",
    );
    let workflow = load(&text).unwrap().workflow;
    let (a, b) = (&workflow.nodes[0], &workflow.nodes[1]);
    assert_eq!((a.always_run, a.output_type.as_deref()), (true, Some("report")));
    assert_eq!(b.depends_on.len(), 1);
    assert_eq!(b.trigger_rule, TriggerRule::AllDone);
    let retry = b.retry.unwrap();
    assert_eq!((retry.max_attempts, retry.delay_ms, retry.on_error), (2, 3_000, RetryScope::All));
    let options = b.kind.agent_options().unwrap();
    assert_eq!(options.allowed_tools, Some(Vec::new()));
    assert_eq!(options.denied_tools, ["Bash"]);
    assert_eq!((options.idle_timeout_ms, options.max_budget_usd), (Some(300_000), Some(0.5)));
    assert_eq!(options.context, Some(NodeContext::Resume(workflow.nodes[2].id.clone())));
    assert_eq!((options.hooks[0].event.as_str(), options.hooks[0].matcher.as_deref()), ("PreToolUse", Some("Write")));
}

// spec: W3
#[test]
fn a_key_that_changes_nothing_is_accepted_with_one_note() {
    let top = ["webSearchMode: live", "thinking: adaptive", "fallbackModel: m", "betas: [x]", "tags: [a]"];
    let top = top.into_iter().chain(["additionalDirectories: [../other]", "requires: [github]"]);
    for line in top {
        let text = with_nodes("  - id: a\n    prompt: go\n").replace("nodes:", &format!("{line}\nnodes:"));
        let key = line.split(':').next().unwrap();
        let notes = notes_of(&text);
        assert_eq!(notes.iter().filter(|note| note.contains(key)).count(), 1, "{line}: {notes:?}");
    }
    let worktree = with_nodes("  - id: a\n    prompt: go\n").replace("nodes:", "worktree: {baseBranch: main}\nnodes:");
    assert_eq!(notes_of(&worktree).iter().filter(|note| note.contains("baseBranch")).count(), 1);
    for line in ["thinking: adaptive", "betas: [x]", "settingSources: [project]", "pi: {extensions: true}"] {
        let key = line.split(':').next().unwrap();
        let notes = notes_of(&with_nodes(&format!("  - id: a\n    prompt: go\n    {line}\n")));
        assert_eq!(notes.iter().filter(|note| note.contains(key)).count(), 1, "{line}: {notes:?}");
    }
    let hook = "    hooks: {PostToolUse: [{matcher: Read, response: {systemMessage: look}}]}\n";
    assert_eq!(errors_of(&with_nodes(&format!("  - id: a\n    prompt: go\n{hook}"))), [""; 0]);
}

// spec: W3
#[test]
fn provider_and_model_hold_on_loop_nodes_too() {
    let text = with_nodes(
        "  - id: l\n    provider: codex\n    model: large\n    loop: {prompt: go, until: X, max_iterations: 2}\n",
    );
    let workflow = load(&text).unwrap().workflow;
    let options = workflow.nodes[0].kind.agent_options().unwrap();
    assert_eq!((options.provider.as_deref(), options.model.as_deref()), (Some("codex"), Some("large")));
}

// spec: W3
#[test]
fn a_command_and_a_prompt_are_refused_with_both_readings() {
    let text = with_nodes("  - id: a\n    command: x\n    prompt: y\n");
    assert_eq!(
        errors_of(&text),
        [
            "6:5: node a: prompt: a node has either a command or a prompt: it could mean that the prompt replaces the command file, or that the command file is used and the prompt is ignored | remove one of them, or move the prompt into the command file"
        ]
    );
}

// spec: W3
#[test]
fn a_node_has_exactly_one_kind() {
    let text = with_nodes("  - id: a\n    bash: x\n    cancel: y\n  - id: b\n    depends_on: [a]\n");
    assert_eq!(
        errors_of(&text),
        [
            "6:5: node a: cancel: a node has exactly one kind, but this one has bash and cancel | write two nodes",
            "7:5: node b: has no kind | add one of command, prompt, bash, script, loop, loop_group, approval, cancel, include, workflow, checks",
        ]
    );
}

// spec: W3
#[test]
fn nodes_as_a_table_are_refused() {
    let text = "name: w\ndescription: d\nnodes:\n  a:\n    bash: x\n";
    assert_eq!(
        errors_of(text),
        [
            "4:3: nodes: expected a list of nodes, found a table | write a list: one `- id: NAME` per node; the order of nodes and their ids are then unambiguous"
        ]
    );
}

// spec: W3
#[test]
fn keys_that_would_be_missed_are_refused() {
    let text = with_nodes(
        "  - id: a\n    bash: x\n    on_fail: y\n  - id: b\n    agent: claude\n    prompt: x\n  - id: l\n    retry: {max_attempts: 1}\n    loop: {prompt: go, until: X, max_iterations: 2}\n\
         \x20 - id: g\n    allowed_tools: []\n    loop_group: {until: X, max_iterations: 1, nodes: [{id: i, bash: x}]}\n",
    );
    assert_eq!(
        errors_of(&text),
        [
            "6:5: node a: on_fail: unknown key | add a node with `trigger_rule: all_done` and a `when` that reads the result",
            "8:5: node b: agent: unknown key | did you mean provider? It names the agent program",
            "11:5: node l: retry: does not apply to a loop node | a loop repeats by itself: use max_iterations",
            "14:5: node g: allowed_tools: does not apply to a loop_group node | write it on the agent nodes themselves",
        ]
    );
}

// spec: W3
#[test]
fn a_hook_without_a_response_is_refused() {
    let text = with_nodes(
        "  - id: a\n    prompt: x\n    hooks:\n      PreToolUse:\n        - matcher: Bash\n          command: ./guard.sh\n",
    );
    assert_eq!(
        errors_of(&text),
        [
            "8:11: node a: hooks: PreToolUse: the hook has no response | add `response:` with the answer, or remove the hook; commands as hooks are not supported"
        ]
    );
}

// spec: W3
#[test]
fn a_condition_that_cannot_be_read_is_an_error_at_its_position() {
    let text = with_nodes(
        "  - id: a\n    bash: x\n  - id: b\n    bash: x\n    depends_on: [a]\n    when: $a.output | length > 0\n",
    );
    let found = errors_of(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("9:21: node b: when: cannot read the condition: expected"), "{found:?}");
}

// spec: W3
#[test]
fn unknown_references_have_the_position_of_the_reference() {
    let text = with_nodes(
        "  - id: a\n    bash: |\n      set -e\n      echo \"$build.output\"\n  - id: b\n    depends_on: [aa]\n    prompt: |\n      As in $node-id.output.\n",
    );
    assert_eq!(
        errors_of(&text),
        [
            "7:13: node a: bash: $build.output: there is no node build | name the id of a node of this file",
            "9:18: node b: depends_on: there is no node aa | name the id of a node of this file",
        ]
    );
    let only_prompt = with_nodes("  - id: b\n    prompt: |\n      As in $node-id.output.\n");
    assert_eq!(
        notes_of(&only_prompt),
        ["6:13: node b: prompt: $node-id.output stays as it is: there is no node node-id"]
    );
}

// spec: W3
#[test]
fn a_cycle_is_an_error_at_a_dependency() {
    let text = with_nodes("  - id: a\n    bash: x\n    depends_on: [b]\n  - id: b\n    bash: x\n    depends_on: [a]\n");
    assert_eq!(
        errors_of(&text),
        [
            "6:18: node a: depends_on: circular dependency: a -> b -> a | remove one of these dependencies, or use a loop or loop_group node to repeat work"
        ]
    );
}

// spec: W3
#[test]
fn a_node_with_an_error_causes_no_further_errors() {
    let text = with_nodes("  - id: a\n    bsh: x\n  - id: b\n    bash: echo $a.output\n    depends_on: [a]\n");
    assert_eq!(
        errors_of(&text),
        [
            "4:5: node a: has no kind | add one of command, prompt, bash, script, loop, loop_group, approval, cancel, include, workflow, checks",
            "5:5: node a: bsh: unknown key | did you mean bash?",
        ]
    );
}

// spec: W4
#[test]
fn a_loop_needs_a_way_to_complete() {
    let text = with_nodes("  - id: a\n    loop: {prompt: go, max_iterations: 2}\n");
    assert_eq!(
        errors_of(&text),
        ["5:11: node a: loop: the loop has no way to complete | add until, until_bash, until_field or checks"]
    );
}

// spec: W13
#[test]
fn decisions_need_an_approval_and_exclude_rework() {
    let text = with_nodes(
        "  - id: a\n    approval:\n      message: ok?\n      decisions: [{id: yes}, {id: yes}]\n      on_reject: {prompt: again, max_attempts: 11}\n",
    );
    assert_eq!(
        errors_of(&text),
        [
            "7:18: node a: approval: decisions: one decision must be `approve` | add `- id: approve`",
            "7:35: node a: approval: decisions: id: \"yes\" occurs twice | give each decision a name of its own",
            "8:7: node a: approval: on_reject: cannot be combined with decisions | use decisions, and a node with `when` for the rework",
            "8:48: node a: approval: on_reject: max_attempts: 11 is not between 1 and 10",
        ]
    );
}

// spec: W5
// fault: 81
#[test]
fn the_name_of_a_command_or_script_cannot_leave_its_folder() {
    let text = with_nodes("  - id: a\n    command: ../../etc/passwd\n  - id: b\n    script: ../x\n    runtime: bun\n");
    assert_eq!(
        errors_of(&text),
        [
            "5:14: node a: command: \"../../etc/passwd\" is not the name of a command: it contains a slash | write the file name without folder and ending",
            "7:13: node b: script: \"../x\" is not the name of a script: it contains a slash | write the file name without folder and ending",
        ]
    );
}

// spec: W3
#[test]
fn the_checks_of_a_node_have_the_syntax_of_the_configuration() {
    let text = with_nodes("  - id: a\n    checks:\n      - cargo test\n      - {comand: make}\n");
    let found = errors_of(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("7:10: node a: checks: there is no key comand"), "{found:?}");
}

// spec: W3
#[test]
fn short_times_of_nodes_are_probably_seconds() {
    let text = with_nodes("  - id: a\n    bash: x\n    timeout: 60\n");
    assert_eq!(
        notes_of(&text),
        ["6:14: node a: timeout: 60 is 60 milliseconds: times of nodes are in milliseconds | write 60000 for seconds"]
    );
}

// spec: W3
// fault: 81
#[test]
fn an_id_is_also_a_file_name() {
    for id in ["../x", "a/b", ".x", "a..b", "'a b'", "-x", "ü", "'a\\b'"] {
        let found = errors_of(&with_nodes(&format!("  - id: {id}\n    bash: x\n")));
        assert!(found[0].contains("is not a valid id"), "{id}: {found:?}");
    }
    assert_eq!(
        notes_of(&with_nodes("  - id: 01-plan\n    bash: x\n")),
        ["4:9: node 01-plan: `$ID.output` cannot name this node | begin the id with a letter or `_`, and use no dots"]
    );
}

// spec: W3
#[test]
fn anchors_and_merged_keys_are_read() {
    let text = "name: w\ndescription: d\nx-fast: &fast {model: small, context: fresh}\nx-tools: &tools [Read]\nnodes:\n  - id: a\n    <<: *fast\n    prompt: go\n    allowed_tools: *tools\n";
    let workflow = load(text).unwrap().workflow;
    let options = workflow.nodes[0].kind.agent_options().unwrap();
    assert_eq!((options.model.as_deref(), options.context.clone()), (Some("small"), Some(NodeContext::Fresh)));
    assert_eq!(options.allowed_tools.as_deref(), Some(&["Read".to_owned()][..]));
}
