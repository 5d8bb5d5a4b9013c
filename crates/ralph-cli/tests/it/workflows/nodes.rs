//! Nodes with the real binary: scripts, sessions, tool lists and hooks, groups, checks, budgets, retries and triggers.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{CallOutput, FAKE_AGENT, Project};
use crate::workflows::runs::{events_of, project_with, result_of, run_with};

fn workflow(nodes: &str) -> Project {
    project_with("w", &format!("name: w\ndescription: d\nnodes:\n{nodes}"))
}

fn run_script(project: &Project, steps: &str) -> CallOutput {
    let script = project.script(steps);
    run_with(project, "w", &["script", &script]).output()
}

fn reason_of(output: &CallOutput) -> String {
    result_of(output)["reason"].as_str().unwrap().to_owned()
}

/// Returns the nodes with an event of this name, in its order.
fn nodes_with(output: &CallOutput, event: &str) -> Vec<Value> {
    events_of(output, event).iter().map(|event| event["node"].clone()).collect()
}

/// Returns the folder with `bun` and `uv`.
fn runtime_folder(project: &Project) -> PathBuf {
    let Some(folder) = std::env::var_os("RALPH_TEST_RUNTIMES").map(PathBuf::from) else {
        panic!("this test needs bun and uv: run `cargo xtask test`, or `eval \"$(cargo xtask agents)\"` first");
    };
    let bin = project.outside("runtimes");
    fs::create_dir(&bin).unwrap();
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x64" };
    let bun = format!("node_modules/@oven/bun-{system}-{machine}/bin/bun");
    for (name, path) in [("bun", bun.as_str()), ("uv", "python/bin/uv")] {
        let path = folder.join(path);
        assert!(path.exists(), "{}", path.display());
        symlink(path, bin.join(name)).unwrap();
    }
    bin
}

// spec: W3, W6
// fault: 79, 80
#[test]
fn script_nodes_run_with_their_runtime_and_get_values_by_their_environment() {
    let hostile = "it's \"$(touch pwned)\"; `touch pwned`\n${x}";
    let project = workflow(
        r#"  - id: first
    bash: printf '%s' "$ARGUMENTS"
  - id: python
    depends_on: [first]
    runtime: uv
    with: {given: $first.output}
    script: |
      import os, json
      print(json.dumps({"given": os.environ["INPUTS_GIVEN"], "message": os.environ["ARGUMENTS"]}))
  - id: script
    depends_on: [python]
    runtime: bun
    with: {given: $python.output.given}
    script: |
      const given: string = process.env.INPUTS_GIVEN ?? "";
      console.log(JSON.stringify({ given, count: given.length }));
"#,
    );
    let path = format!("{}:{}", runtime_folder(&project).display(), std::env::var("PATH").unwrap());
    let output = run_with(&project, "w", &[]).env("PATH", path).args(["--", hostile]).output().expect(0);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    let python: Value = serde_json::from_str(shown["nodes"][1]["output"].as_str().unwrap()).unwrap();
    assert_eq!(python, json!({ "given": hostile, "message": hostile }));
    let script: Value = serde_json::from_str(result_of(&output)["output"].as_str().unwrap()).unwrap();
    assert_eq!(script, json!({ "given": hostile, "count": hostile.chars().count() }));
}

// spec: W3
#[test]
fn a_script_node_without_its_runtime_is_refused_with_the_fix() {
    for (runtime, fix) in [("uv", "https://docs.astral.sh/uv"), ("bun", "https://bun.sh")] {
        let project = workflow(&format!("  - id: a\n    runtime: {runtime}\n    script: print(1)\n"));
        let bin = project.outside("bin");
        fs::create_dir(&bin).unwrap();
        for program in ["git", "bash", "sh"] {
            let path = std::env::var_os("PATH").unwrap();
            let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
            symlink(found.find(|path| path.exists()).unwrap(), bin.join(program)).unwrap();
        }
        let output = run_with(&project, "w", &[]).env("PATH", &bin).output().expect(3);
        let reason = reason_of(&output);
        assert!(reason.contains(&format!("needs {runtime} on PATH")) && reason.contains(fix), "{reason}");
    }
}

/// Configures an agent that keeps sessions and writes its arguments to `args-N` outside of the project.
fn project_with_sessions(nodes: &str, steps: &str) -> Project {
    let project = Project::new();
    let script = project.script(steps);
    let agent = project.outside("agent.sh");
    let text = format!(
        "#!/bin/sh\nn=1; while [ -e \"$TMPDIR/args-$n\" ]; do n=$((n + 1)); done\n\
         printf '%s\\n' \"$@\" > \"$TMPDIR/args-$n\"\nexec {FAKE_AGENT} script {script} \"$@\"\n"
    );
    fs::write(&agent, text).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(
        ".ralph/config.yaml",
        format!("agent: mine\nagents:\n  mine:\n    type: claude\n    cli: {}\n", agent.display()),
    );
    project.write(".ralph/workflows/w.yaml", format!("name: w\ndescription: d\nnodes:\n{nodes}"));
    project.commit();
    project.trust();
    project
}

/// Returns the arguments of the agent's start with this number.
fn args_of(project: &Project, start: usize) -> Vec<String> {
    let text = fs::read_to_string(project.outside(&format!("args-{start}"))).unwrap();
    text.lines().map(str::to_owned).collect()
}

// spec: W3
#[test]
fn a_node_continues_shares_or_forks_the_session_that_its_context_names() {
    let nodes = "  - id: plan
    prompt: plan it
  - id: next
    depends_on: [plan]
    prompt: go on
  - id: alone
    depends_on: [next]
    context: fresh
    prompt: a second opinion
  - id: branch
    depends_on: [alone]
    context: {resume: plan}
    prompt: another way
  - id: shared
    depends_on: [branch]
    context: shared
    prompt: end it
";
    let project = project_with_sessions(nodes, "converse done\n");
    project.ralph(["workflow", "run", "w", "--json"]).output().expect(0);
    let resumed = |start: usize| {
        let args = args_of(&project, start);
        let at = args.iter().position(|arg| arg == "--resume");
        (at.map(|at| args[at + 1].clone()), args.contains(&"--fork-session".to_owned()))
    };
    assert_eq!(resumed(1), (None, false));
    assert_eq!(resumed(2), (Some("session-1".to_owned()), false), "its only dependency is an agent");
    assert_eq!(resumed(3), (None, false));
    assert_eq!(resumed(4), (Some("session-1".to_owned()), true), "a fork of the session of plan");
    assert!(resumed(5).0.is_some() && !resumed(5).1, "the agent before it");
}

// spec: W3
#[test]
fn an_agent_that_cannot_fork_a_session_is_refused_with_the_fix() {
    let project = workflow(
        "  - id: plan\n    prompt: p\n  - id: branch\n    depends_on: [plan]\n    context: {resume: plan}\n    prompt: q\n",
    );
    let output = run_with(&project, "w", &["work"]).output().expect(1);
    assert!(output.stderr.contains("node branch: the agent text cannot fork a session"), "{}", output.stderr);
    assert!(output.stderr.contains("context: shared"), "{}", output.stderr);
    assert!(project.starts().is_empty());
}

// spec: W3
#[test]
fn tool_lists_hooks_and_servers_reach_the_agent() {
    let nodes = r"  - id: a
    prompt: p
    allowed_tools: [Read, Grep]
    denied_tools: [Bash]
    mcp: servers.json
    agents: {helper: {description: d, prompt: h}}
    systemPrompt: Be short.
    hooks:
      PreToolUse:
        - matcher: Write
          response: {hookSpecificOutput: {hookEventName: PreToolUse, permissionDecision: deny}}
  - id: b
    depends_on: [a]
    context: fresh
    prompt: q
    allowed_tools: []
";
    let project = project_with_sessions(nodes, "converse done\n");
    project.write("servers.json", "{}");
    project.ralph(["workflow", "run", "w", "--no-worktree", "--json"]).output().expect(0);
    let args = args_of(&project, 1);
    let after = |flag: &str| args.iter().position(|arg| arg == flag).map(|at| args[at + 1].as_str());
    assert_eq!(after("--tools"), Some("Read,Grep"));
    assert_eq!(after("--disallowedTools"), Some("Bash"));
    assert_eq!(after("--mcp-config"), Some("servers.json"));
    assert_eq!(after("--system-prompt"), Some("Be short."));
    assert!(after("--agents").unwrap().contains("helper"));
    assert!(after("--settings").unwrap().contains("\"permissionDecision\\\":\\\"deny\\\""), "{args:?}");
    let none = args_of(&project, 2);
    let at = none.iter().position(|arg| arg == "--tools").unwrap();
    assert_eq!(none[at + 1], "", "an empty list means no tools");
}

// spec: W3
#[test]
fn a_protection_that_the_agent_cannot_honour_stops_the_run_before_it_starts() {
    let hook = "hooks: {PreToolUse: [{matcher: Write, response: {hookSpecificOutput: {hookEventName: PreToolUse, \
                permissionDecision: deny}}}]}";
    for (key, name) in [
        (hook, "hooks"),
        ("denied_tools: [Bash]", "denied_tools"),
        ("mcp: m.json", "mcp"),
        ("agents: {h: {description: d, prompt: p}}", "agents"),
        ("systemPrompt: x", "systemPrompt"),
    ] {
        let project = workflow(&format!("  - id: first\n    bash: touch began\n  - id: a\n    prompt: p\n    {key}\n"));
        let output = run_with(&project, "w", &["work"]).args(["--no-worktree"]).output().expect(1);
        assert!(output.stderr.contains(&format!("cannot honour `{name}`")), "{}", output.stderr);
        assert!(!project.root().join("began").exists(), "{key}");
    }
}

// spec: W3, W8
#[test]
fn a_loop_group_repeats_its_nodes_until_its_command_accepts() {
    let project = workflow(
        r#"  - id: rounds
    loop_group:
      max_iterations: 5
      until_bash: test "$(wc -l < "$ARTIFACTS_DIR/log")" -ge 3
      nodes:
        - id: work
          prompt: do it
        - id: count
          depends_on: [work]
          bash: |
            echo "$LOOP_PREV.count.output" >> "$ARTIFACTS_DIR/log"
            echo "round $(wc -l < "$ARTIFACTS_DIR/log")"
"#,
    );
    let output = run_script(&project, "text worked\n").expect(0);
    assert_eq!(result_of(&output)["output"], "round 3");
    assert_eq!(project.starts().len(), 3);
    let messages: Vec<_> = events_of(&output, "message").iter().map(|event| event["text"].clone()).collect();
    let expected =
        ["**Iteration 1/5**", "**Iteration 2/5**", "**Iteration 3/5**", "**Loop complete**: rounds (3 iterations)"];
    assert_eq!(messages, expected);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["metadata"]["iteration_count"], 3);
}

// spec: W3, V7
#[test]
fn a_loop_group_whose_checks_reject_reaches_its_limit_and_one_that_cannot_be_evaluated_ends_early() {
    let group = |control: &str| {
        format!(
            "  - id: rounds\n    loop_group:\n      max_iterations: 3\n{control}      nodes:\n        - id: work\n          bash: echo DONE\n"
        )
    };
    let rejected = workflow(&group("      until: DONE\n      checks: ['false']\n"));
    let output = run_with(&rejected, "w", &[]).output().expect(3);
    assert_eq!(reason_of(&output), "node rounds failed: Max iterations (3) reached without completion signal \"DONE\"");
    assert_eq!(nodes_with(&output, "node.completed").len(), 3);
    let blind = workflow(&group("      checks: [no-such-program-here]\n"));
    let output = run_with(&blind, "w", &[]).output().expect(3);
    assert!(reason_of(&output).contains("2 iterations in a row could not be evaluated"), "{}", reason_of(&output));
}

// spec: W3
#[test]
fn a_checks_node_that_rejects_fails_and_one_that_cannot_be_evaluated_is_repeated_once() {
    let rejected = workflow("  - id: verify\n    checks: ['true', {name: tidy, command: 'false'}]\n");
    let output = run_with(&rejected, "w", &[]).output().expect(3);
    assert!(reason_of(&output).contains("tidy"), "{}", reason_of(&output));
    assert!(events_of(&output, "node.retry").is_empty(), "a rejection is not repeated");
    let blind = workflow("  - id: verify\n    checks: [no-such-program-here]\n");
    let output = run_with(&blind, "w", &[]).output().expect(3);
    assert_eq!(nodes_with(&output, "node.retry"), ["verify"]);
    assert_eq!(nodes_with(&output, "node.started").len(), 2);
    let template = workflow("  - id: verify\n    checks: [{template: files-exist, with: {files: [made]}}]\n");
    template.write("made", "x");
    run_with(&template, "w", &[]).args(["--no-worktree"]).output().expect(0);
}

// spec: W3, L8
#[test]
fn the_spending_limit_holds_for_all_nodes_together() {
    let nodes = "  - id: one\n    prompt: p\n  - id: two\n    depends_on: [one]\n    context: fresh\n    prompt: p\n  \
                 - id: three\n    depends_on: [two]\n    context: fresh\n    prompt: p\n";
    let project = project_with_sessions(nodes, "converse done\n");
    let output = project.ralph(["workflow", "run", "w", "--max-cost", "0.015", "--json"]).output().expect(7);
    assert_eq!(result_of(&output)["status"], "over_budget");
    assert_eq!(project.starts().len(), 2, "the second one reaches the limit");
    assert_eq!(nodes_with(&output, "node.started"), ["one", "two"]);
}

// spec: W4, L8
#[test]
fn the_spending_limit_counts_every_iteration_of_a_loop_that_waits_for_its_command() {
    let nodes = "  - id: work\n    loop: {prompt: p, until_bash: 'false', max_iterations: 9}\n";
    let project = project_with_sessions(nodes, "converse done\n");
    let output = project.ralph(["workflow", "run", "w", "--max-cost", "0.035", "--json"]).output().expect(7);
    assert_eq!(result_of(&output)["status"], "over_budget");
    assert_eq!(project.starts().len(), 4, "each iteration costs 0.01");
}

// spec: W3
#[test]
fn a_node_is_retried_as_its_file_says() {
    let nodes = "  - id: a\n    bash: 'n=$(cat $ARTIFACTS_DIR/n 2>/dev/null || echo 0); echo $((n + 1)) > $ARTIFACTS_DIR/n; \
                 test $n -ge 1'\n    retry: {max_attempts: 2, delay_ms: 1000, on_error: all}\n";
    let output = run_with(&workflow(nodes), "w", &[]).output().expect(0);
    let retries = events_of(&output, "node.retry");
    assert_eq!((retries.len(), &retries[0]["delay_ms"]), (1, &json!(1000)));
    let never = workflow("  - id: a\n    bash: exit 4\n");
    let output = run_with(&never, "w", &[]).output().expect(3);
    assert!(events_of(&output, "node.retry").is_empty(), "a script is not retried by default");
}

// spec: W3
#[test]
fn trigger_rules_decide_after_failures_and_skips() {
    let project = workflow(
        r"  - id: bad
    bash: exit 1
  - id: good
    bash: echo fine
  - id: skipped
    when: $good.output == 'other'
    depends_on: [good]
    bash: echo never
  - id: all_success
    depends_on: [bad, good]
    bash: 'true'
  - id: one_success
    depends_on: [bad, good]
    trigger_rule: one_success
    bash: 'true'
  - id: all_done
    depends_on: [bad, skipped]
    trigger_rule: all_done
    bash: 'true'
  - id: none_failed
    depends_on: [good, skipped]
    trigger_rule: none_failed_min_one_success
    bash: 'true'
  - id: after_skip
    depends_on: [skipped]
    bash: 'true'
",
    );
    let output = run_with(&project, "w", &[]).output().expect(0);
    let mut completed = nodes_with(&output, "node.completed");
    completed.sort_by_key(ToString::to_string);
    assert_eq!(completed, ["all_done", "good", "none_failed", "one_success"]);
    let mut skipped = nodes_with(&output, "node.skipped");
    skipped.sort_by_key(ToString::to_string);
    assert_eq!(skipped, ["after_skip", "all_success", "skipped"]);
    assert_eq!(nodes_with(&output, "node.failed"), ["bad"]);
}

// spec: W3
#[test]
fn a_condition_compares_fields_and_numbers_and_a_text_in_a_comparison_fails_the_node() {
    let project = workflow(
        r#"  - id: data
    bash: echo '{"count":7,"kind":"bug"}'
  - id: yes
    depends_on: [data]
    when: $data.output.count > 3 && $data.output.kind == 'bug' || $data.output.kind == 'x'
    bash: 'true'
  - id: no
    depends_on: [data]
    when: $data.output.count <= 6
    bash: 'true'
  - id: wrong
    depends_on: [data]
    when: $data.output.kind > 3
    bash: 'true'
"#,
    );
    let output = run_with(&project, "w", &[]).output().expect(3);
    assert_eq!(nodes_with(&output, "node.skipped"), ["no"]);
    assert_eq!(nodes_with(&output, "node.failed"), ["wrong"]);
    assert!(nodes_with(&output, "node.completed").contains(&json!("yes")));
}

// spec: W3
#[test]
fn a_slow_node_does_not_hold_a_branch_that_does_not_need_it() {
    let project = workflow(
        r#"  - id: slow
    bash: until [ -e "$ARTIFACTS_DIR/go" ]; do sleep 0.05; done
  - id: quick
    bash: 'true'
  - id: behind
    depends_on: [quick]
    bash: touch "$ARTIFACTS_DIR/go"
"#,
    );
    run_with(&project, "w", &[]).output().expect(0);
}

// spec: W3, W6
#[test]
fn the_reason_of_a_cancel_node_has_the_values_of_its_references() {
    let project = workflow(
        "  - id: branch\n    bash: echo main\n  - id: stop\n    depends_on: [branch]\n    \
         cancel: never push $ARGUMENTS to $branch.output, $nobody.output\n",
    );
    let output = run_with(&project, "w", &[]).args(["--no-worktree", "--", "$branch.output"]).output().expect(9);
    assert_eq!(reason_of(&output), "never push $branch.output to main, $nobody.output");
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["reason"], reason_of(&output));
    let dry = project.ralph(["workflow", "run", "w", "--dry-run", "--json", "it"]).output().expect(9);
    assert_eq!(reason_of(&dry), "never push it to , $nobody.output");
}

// spec: W3
#[test]
fn a_cancel_node_ends_the_run_with_its_reason() {
    let project = workflow(
        "  - id: branch\n    bash: echo main\n  - id: stop\n    depends_on: [branch]\n    when: $branch.output == 'main'\n    \
         cancel: never push to main\n  - id: push\n    depends_on: [stop]\n    bash: touch pushed\n",
    );
    let output = run_with(&project, "w", &[]).args(["--no-worktree"]).output().expect(9);
    assert_eq!(result_of(&output)["status"], "cancelled");
    assert!(reason_of(&output).contains("never push to main"), "{}", reason_of(&output));
    assert!(!project.root().join("pushed").exists());
}

// spec: W3
#[test]
fn a_node_that_runs_too_long_fails_at_its_timeout() {
    let project = workflow("  - id: a\n    timeout: 1000\n    bash: sleep 1000\n");
    let output = run_with(&project, "w", &[]).output().expect(3);
    assert!(reason_of(&output).contains("1000 ms (`timeout`)"), "{}", reason_of(&output));
}

// spec: W3, W7
#[test]
fn a_node_that_always_runs_is_repeated_when_the_run_is_resumed() {
    let project = workflow(
        r#"  - id: token
    always_run: true
    bash: echo x >> "$STATE_DIR/token"; wc -l < "$STATE_DIR/token"
  - id: once
    bash: echo x >> "$STATE_DIR/once"
  - id: last
    depends_on: [token, once]
    bash: test -e "$STATE_DIR/ready" && echo "$token.output"
"#,
    );
    let output = run_with(&project, "w", &[]).output().expect(3);
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let state = project.state().join("workflow-state");
    fs::write(state.join("ready"), "").unwrap();
    let resumed = project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(result_of(&resumed)["output"], "2");
    assert_eq!(fs::read_to_string(state.join("once")).unwrap(), "x\n");
}
