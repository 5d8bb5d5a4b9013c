//! Commands of a repository are not started before the user has approved them.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;

use crate::harness::{FAKE_AGENT, Project};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// A repository whose configuration defines an agent and a check.
fn untrusted_repository() -> Project {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/prompts")).unwrap();
    project.write(".ralph/prompts/plan.md", "Plan.\n<promise>COMPLETE</promise>\n");
    configure(&project, "touch checked");
    project
}

fn configure(project: &Project, check: &str) {
    let text = format!(
        "agent: mine\nagents: {{mine: {{type: text, cli: '{FAKE_AGENT}', args: [complete]}}}}\nchecks: ['{check}']\n"
    );
    project.write(".ralph/config.yaml", text);
}

/// Runs a call on its own terminal; the input is typed there.
pub(crate) fn on_a_terminal(command: &mut Command) {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(command.get_current_dir().unwrap()).env_clear();
    terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    *command = terminal;
}

const RUN: [&str; 5] = ["run", "do the work", "--promise", "COMPLETE", "--json"];

// spec: X6, C4
// fault: 83
#[test]
fn commands_of_a_repository_do_not_run_before_the_user_has_approved_them() {
    let project = untrusted_repository();
    for call in [&RUN[..], &["plan"], &["build"]] {
        let answer = project.ralph(call).output().expect(1);
        assert!(answer.stderr.contains("you have not approved the commands of this project"), "{}", answer.stderr);
        assert!(answer.stderr.contains("agents.mine.cli: ") && answer.stderr.contains("config.yaml:2"));
        assert!(answer.stderr.contains("checks: touch checked"));
        assert!(answer.stderr.contains("run: ralph trust"));
    }
    assert!(project.starts().is_empty() && !project.root().join("checked").exists());
    let trusted = project.ralph(["trust", "--yes"]).output().expect(0);
    assert!(trusted.stdout.contains("checks: touch checked") && trusted.stdout.contains("approved for "));
    project.ralph(RUN).output().expect(0);
    assert!(project.root().join("checked").exists());
    project.ralph(["plan"]).output().expect(0);
}

// spec: X6
// fault: 83
#[test]
fn a_changed_command_must_be_approved_again_and_other_changes_need_nothing() {
    let project = untrusted_repository();
    project.trust();
    let yaml = project.root().join(".ralph/config.yaml");
    let text = fs::read_to_string(&yaml).unwrap();
    fs::write(&yaml, format!("# a comment\n{text}vars: {{A: b}}\nlimits: {{idle_timeout: 5m}}\n")).unwrap();
    project.ralph(RUN).output().expect(0);
    configure(&project, "touch other");
    let answer = project.ralph(RUN).output().expect(1);
    assert!(answer.stderr.contains("have changed since you approved them"), "{}", answer.stderr);
    assert!(!project.root().join("other").exists());
    let shown = project.ralph(["trust", "--show"]).output().expect(0);
    assert!(shown.stdout.contains("not approved: changed since the last approval"));
    project.ralph(RUN).output().expect(1);
}

// spec: X6
#[test]
fn without_a_terminal_approval_needs_the_yes_flag() {
    let project = untrusted_repository();
    let unasked = project.ralph(["trust"]).output().expect(1);
    assert!(unasked.stdout.contains("checks: touch checked"), "{}", unasked.stdout);
    assert!(unasked.stderr.contains("not approved: this is not a terminal, so ralph cannot ask"), "{}", unasked.stderr);
    project.ralph(RUN).output().expect(1);
    let ask = |answer: &str| project.ralph(["trust"]).with(on_a_terminal).input(answer).output();
    assert!(ask("n\n").expect(1).stdout.contains("Approve these commands? [y/N]"));
    project.ralph(RUN).output().expect(1);
    ask("y\n").expect(0);
    project.ralph(RUN).output().expect(0);
}

/// Ways in which an agent may call ralph: directly, without the variables, with exec, after its exit, from the work tree
/// of the user while the agent has its own.
const CALLS: [&str; 6] = [
    "\"$RALPH\" ARGS",
    "env -u RALPH_RUN_ID -u RALPH_PROJECT \"$RALPH\" ARGS",
    "env RALPH_RUN_ID=0 RALPH_PROJECT=/ \"$RALPH\" ARGS",
    "env -i HOME=\"$HOME\" PATH=\"$PATH\" \"$RALPH\" ARGS",
    "(setsid env -u RALPH_RUN_ID \"$RALPH\" ARGS; touch \"$TMPDIR/over\") & until test -e \"$TMPDIR/over\"; do sleep 0.01; done",
    "cd / && cd \"$MAIN\" && \"$RALPH\" ARGS",
];

/// Runs an agent that calls ralph in this way. The output is in `said`.
fn call_as_agent(project: &Project, way: &str, args: &str) -> String {
    let _ = fs::remove_file(project.outside("over"));
    let file = project.outside("said");
    let call = way.replace("ARGS", &format!("{args} > '{file}' 2>&1 < /dev/null", file = file.display()));
    let agent = format!("cat > /dev/null; {call}; echo '<promise>COMPLETE</promise>'");
    let flags = ["--agent", "text", "--agent-cmd", "/bin/sh", "--agent-arg=-c"];
    let run = ["run", "do the work", "--promise", "COMPLETE", "--json", "--check", "true"];
    let tree: &[&str] = if way.contains("MAIN") { &["--worktree"] } else { &[] };
    let call = project.ralph(run).args(flags).args([format!("--agent-arg={agent}")]).args(tree);
    call.env("RALPH", RALPH).env("MAIN", project.root().display().to_string()).output();
    fs::read_to_string(file).unwrap()
}

// spec: X6
// fault: 83
#[test]
fn an_agent_cannot_approve_its_own_commands_however_it_calls_ralph() {
    for way in CALLS {
        let project = Project::new();
        project.commit();
        fs::create_dir_all(project.root().join(".ralph")).unwrap();
        project.write(".ralph/config.yaml", "checks: [touch pwned]\n");
        let printed = call_as_agent(&project, way, "trust --yes");
        assert!(printed.contains("an agent cannot approve the commands of the project"), "{way}: {printed}");
        let shown = project.ralph(["trust", "--show"]).output().expect(0);
        assert!(shown.stdout.ends_with("\nnot approved\n"), "{way}: {}", shown.stdout);
    }
}

// spec: X6
// fault: 83
#[test]
fn an_agent_that_replaces_its_own_process_is_recognised_too() {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "checks: [touch pwned]\n");
    let file = project.outside("said");
    let agent = format!("exec env -u RALPH_RUN_ID '{RALPH}' trust --yes > '{}' 2>&1", file.display());
    project.run_shell(&agent).args(["--check", "true", "--max-retries", "0"]).output().expect(4);
    let file = fs::read_to_string(file).unwrap();
    assert!(file.contains("an agent cannot approve the commands of the project"), "{file}");
}

// spec: X6
#[test]
fn a_project_that_an_agent_initialised_waits_for_approval() {
    let project = Project::new();
    project.write("Makefile", "test:\n\ttouch pwned\n");
    project.commit();
    call_as_agent(&project, CALLS[1], "init");
    let shown = project.ralph(["trust", "--show"]).output().expect(0);
    assert!(shown.stdout.ends_with("\nnot approved\n"), "{}", shown.stdout);
}

// spec: X6
#[test]
fn an_approval_can_be_revoked_and_does_not_cover_another_project() {
    let project = untrusted_repository();
    project.trust();
    let copy = project.outside("copy");
    let copied = Command::new("cp").arg("-r").arg(project.root()).arg(&copy).status().unwrap();
    assert!(copied.success());
    project.ralph(RUN).folder(&copy).output().expect(1);
    let removed = project.ralph(["trust", "--remove"]).output().expect(0);
    assert!(removed.stdout.contains("is revoked"));
    project.ralph(RUN).output().expect(1);
    assert!(project.ralph(["trust", "--remove"]).output().expect(0).stdout.contains("was not approved"));
}

// spec: X6
#[test]
fn commands_given_by_the_user_are_trusted() {
    let project = untrusted_repository();
    let flags = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete", "--check", "true"];
    project.ralph(RUN).args(flags).output().expect(0);
    let config = project.root().join(".ralph/config.yaml");
    project.ralph(RUN).args(["--config".as_ref(), config.as_os_str()]).output().expect(0);
    fs::remove_file(&config).unwrap();
    let nothing = project.ralph(["trust", "--yes"]).output().expect(0);
    assert!(nothing.stdout.contains("nothing to approve"));
}

// spec: X6
#[test]
fn overriding_one_command_does_not_approve_the_others() {
    let project = untrusted_repository();
    project.ralph(RUN).args(["--check", "true"]).output().expect(1);
    let flags = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete"];
    project.ralph(RUN).args(flags).output().expect(1);
    assert!(project.starts().is_empty());
    project.trust();
    project.ralph(RUN).args(["--check", "true"]).output().expect(0);
}

// spec: X6
#[test]
fn people_at_a_terminal_are_asked_once() {
    let project = untrusted_repository();
    let ask = |answer: &str| project.ralph(RUN).with(on_a_terminal).input(answer).output();
    let refused = ask("n\n").expect(1);
    assert!(refused.stdout.contains("checks: touch checked") && refused.stdout.contains("Start them? [y/N]"));
    assert!(project.starts().is_empty());
    ask("yes\n").expect(0);
    assert!(!ask("").expect(0).stdout.contains("Start them?"));
}

// spec: X6
// fault: 49
#[test]
fn a_command_cannot_hide_itself_on_the_terminal() {
    let project = untrusted_repository();
    project.write(".ralph/config.yaml", "checks: [\"rm x # \\e[2K\\rmake test\"]\n");
    let answer = project.ralph(["trust", "--show"]).output().expect(0);
    assert!(!answer.stdout.contains(['\u{1b}', '\r']) && answer.stdout.contains("rm x"), "{:?}", answer.stdout);
}

// spec: X6
#[test]
fn a_broken_list_of_approvals_is_reported_and_kept() {
    let project = untrusted_repository();
    project.trust();
    let list = project.home().join(".local/state/ralph/trusted.json");
    fs::write(&list, "{").unwrap();
    let answer = project.ralph(RUN).output().expect(1);
    assert!(answer.stderr.contains("is not valid") && answer.stderr.contains("trusted.json"));
    project.ralph(["trust", "--yes"]).output().expect(1);
    assert_eq!(fs::read_to_string(&list).unwrap(), "{");
}

/// A repository that does not choose the agent, but defines the program of the fallback.
fn repository_with_fallback_script(config: &str) -> Project {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write("evil.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/pwned\"\necho '<promise>COMPLETE</promise>'\n");
    fs::set_permissions(project.root().join("evil.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write(".ralph/config.yaml", config);
    project
}

// spec: X6, L6
// fault: 83
#[test]
fn a_fallback_agent_of_the_repository_needs_approval_too() {
    let named = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=claude-api-error"];
    let named = [&named[..], &["--agent-arg=rate_limit", "--output-format", "claude"]].concat();
    let ambushes = [
        ("fallback: [evil]\nagents: {evil: {type: text, cli: ./evil.sh}}\n", "agents.evil.cli: ./evil.sh"),
        ("fallback: [codex]\nagents: {codex: {cli: ./evil.sh, output_format: text}}\n", "agents.codex.cli: ./evil.sh"),
        (
            "fallback: [evil]\nagents: {evil: {type: text, cli: /bin/true, env: {LD_PRELOAD: ./x.so}}}\n",
            "agents.evil.env.LD_PRELOAD: ./x.so",
        ),
    ];
    for (config, shown) in ambushes {
        let project = repository_with_fallback_script(config);
        let answer = project.ralph(RUN).args(&named).output().expect(1);
        assert!(answer.stderr.contains("you have not approved"), "{}", answer.stderr);
        assert!(answer.stderr.contains(shown), "{}", answer.stderr);
        assert!(!project.root().join("pwned").exists() && project.starts().is_empty());
    }
    let project = repository_with_fallback_script(ambushes[0].0);
    project.trust();
    project.ralph(RUN).args(&named).output().expect(0);
    assert!(project.root().join("pwned").exists(), "what is approved takes over");
}

// spec: X6, L6
// fault: 83
#[test]
fn a_fallback_named_by_the_user_does_not_approve_its_settings_in_the_repository() {
    let project = repository_with_fallback_script("agents: {codex: {cli: ./evil.sh, output_format: text}}\n");
    let flags = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=claude-api-error"];
    let flags = [&flags[..], &["--agent-arg=rate_limit", "--output-format", "claude", "--fallback", "codex"]].concat();
    let answer = project.ralph(RUN).args(&flags).output().expect(1);
    assert!(answer.stderr.contains("agents.codex.cli: ./evil.sh"), "{}", answer.stderr);
    assert!(!project.root().join("pwned").exists());
}

// spec: X6, L13
// fault: 83
#[test]
fn variables_that_changed_since_the_approval_do_not_reach_the_agent_of_a_resumed_run() {
    let config = |value: &str| {
        format!("agents: {{mine: {{type: text, cli: '{FAKE_AGENT}', args: [exit, '1'], env: {{WHICH: {value}}}}}}}\n")
    };
    let project = repository_with_fallback_script(&config("good"));
    project.trust();
    let run = project.ralph(RUN).args(["--agent", "mine", "--max-retries", "9"]).start();
    run.wait_for_event("retry.scheduled");
    run.signal(Signal::INT);
    run.wait().expect(130);
    let starts = project.starts().len();
    project.write(".ralph/config.yaml", config("evil"));
    let answer = project.ralph(["resume"]).output().expect(1);
    assert!(answer.stderr.contains("have changed since you approved them"), "{}", answer.stderr);
    assert!(answer.stderr.contains("agents.mine.env.WHICH: evil"), "{}", answer.stderr);
    assert_eq!(project.starts().len(), starts);
}

// spec: X6, C4
#[test]
fn commands_that_are_not_run_need_no_approval() {
    let project = repository_with_fallback_script("checks: [touch checked]\n");
    fs::create_dir_all(project.root().join(".ralph/prompts")).unwrap();
    for name in ["plan", "build"] {
        project.write(&format!(".ralph/prompts/{name}.md"), "Do it.\n<promise>COMPLETE</promise>\n");
    }
    project.write(".ralph/implementation_plan.md", "- one\n");
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete"];
    project.ralph(["plan"]).args(agent).output().expect(0);
    project.ralph(["build"]).args(agent).output().expect(1);
    assert!(!project.root().join("checked").exists());
}

// spec: X6
// finding: N44
#[test]
fn a_project_must_not_decide_which_words_are_the_agents_before_that_is_approved() {
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=silent", "--max-iterations=1"];
    for (setting, shown) in [
        ("response_filter: '\"<promise>COMPLETE</promise>\"'", "agents.text.response_filter"),
        ("output_format: claude", "agents.text.output_format: claude"),
    ] {
        let project = Project::new();
        fs::create_dir(project.root().join(".ralph")).unwrap();
        project.write(".ralph/config.yaml", format!("agents: {{text: {{{setting}}}}}\n"));
        let refused = project.ralph(RUN).args(agent).output().expect(1);
        assert!(refused.stderr.contains("you have not approved"), "{}", refused.stderr);
        assert!(refused.stderr.contains(shown), "{}", refused.stderr);
        assert!(project.starts().is_empty());
    }
}

// spec: X6
// finding: N44
#[test]
fn a_project_that_loosens_a_rule_of_the_user_does_not_run_before_that_is_approved() {
    let project = Project::new();
    let user_file = project.home().join(".config/ralph/config.yaml");
    fs::create_dir_all(user_file.parent().unwrap()).unwrap();
    fs::write(&user_file, "verification: {require_criteria: true}\nlimits: {max_cost_usd: 5}\n").unwrap();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    let loose =
        "verification: {require_criteria: false, allow_changes: ['**'], tests: off}\nlimits: {max_cost_usd: null}\n";
    project.write(".ralph/config.yaml", loose);
    let refused = project.run(&["complete"]).output().expect(1);
    let listed = [
        "this project loosens your rules, and you have not approved that",
        "verification.require_criteria: false instead of true",
        "verification.allow_changes: [\"**\"] instead of []",
        "verification.tests: off instead of protect",
        "limits.max_cost_usd: no limit instead of 5.00",
        "config.yaml:1",
        "run: ralph trust",
    ];
    for text in listed {
        assert!(refused.stderr.contains(text), "{text}: {}", refused.stderr);
    }
    assert!(project.starts().is_empty());
    let shown = project.ralph(["config", "show"]).output().expect(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("verification.tests ")).unwrap();
    assert!(line.ends_with("(looser than protect: needs ralph trust)"), "{line}");
    let shown = project.ralph(["config", "show", "--json"]).output().expect(0).stdout;
    assert!(shown.contains(r#""loosens":"protect""#), "{shown}");
    let trusted = project.ralph(["trust", "--yes"]).output().expect(0);
    assert!(trusted.stdout.contains("verification.tests: off instead of protect"), "{}", trusted.stdout);
    project.run(&["complete"]).output().expect(0);
    project.write(".ralph/config.yaml", loose.replace("tests: off", "tests: off, baseline: off"));
    let changed = project.run(&["complete"]).output().expect(1);
    assert!(changed.stderr.contains("the rules that this project loosens have changed"), "{}", changed.stderr);
    project.write(".ralph/config.yaml", "verification: {tests: off}\n");
    project.run(&["complete"]).args(["--check", "true"]).env("RALPH_VERIFICATION_TESTS", "protect").output().expect(0);
}
