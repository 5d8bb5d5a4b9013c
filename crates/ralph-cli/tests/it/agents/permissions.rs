//! Agent permissions, and reasons that prevent a start.
use std::fs;

use crate::harness::{Call, CallOutput, Project};

/// Records its arguments, and claims completion in the formats of Codex and Claude.
const AGENT: &str = r#"cat > /dev/null
printf '%s\n' "$@" > "$WITNESS"
env > "$WITNESS.env"
cat <<'END'
{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"<promise>DONE</promise>"}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"<promise>DONE</promise>"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"<promise>DONE</promise>"}
END"#;

fn run<'a>(project: &'a Project, agent: &str, flags: &[&str]) -> Call<'a> {
    let program = project.shell(AGENT);
    let call = project.ralph(["run", "do it", "--max-iterations", "1", "--agent", agent, "--agent-cmd", &program]);
    call.args(flags).env("WITNESS", project.outside("witness"))
}

fn arguments(project: &Project) -> String {
    fs::read_to_string(project.outside("witness")).unwrap().lines().collect::<Vec<_>>().join(" ")
}

fn refused(answer: CallOutput, code: i32, what: &str, hint: &str) {
    let answer = answer.expect(code);
    assert!(answer.stderr.contains(what) && answer.stderr.contains(hint), "{}", answer.stderr);
}

// spec: A6, A11
#[test]
fn a_permission_becomes_flags_of_the_agent_and_is_shown_at_the_start() {
    let project = Project::new();
    let answer = run(&project, "codex", &[]).output().expect(0);
    assert!(arguments(&project).ends_with("--sandbox workspace-write"), "{}", arguments(&project));
    let first_line = answer.stderr.lines().next().unwrap_or_default();
    assert!(first_line.contains("agent codex may edit files and run commands in the project"), "{}", answer.stderr);
    assert!(answer.stderr.contains("it cannot commit"), "{}", answer.stderr);
    let answer = run(&project, "codex", &["--permission", "full"]).output().expect(0);
    assert!(arguments(&project).ends_with("--dangerously-bypass-approvals-and-sandbox"));
    assert!(answer.stderr.contains("agent codex may do everything"), "{}", answer.stderr);
    run(&project, "codex", &[]).env("RALPH_PERMISSION", "ask").output().expect(0);
    assert!(arguments(&project).ends_with("--sandbox read-only"), "{}", arguments(&project));
}

// spec: A6
#[test]
fn a_permission_that_the_agent_does_not_know_is_refused() {
    let project = Project::new();
    let flag = run(&project, "cline", &["--permission", "edits"]).output();
    refused(flag, 64, "cline does not support the permission edits", "choose `ask` or `full`");
    let text = run(&project, "text", &["--permission", "ask"]).output();
    refused(text, 64, "text does not support the permission ask", "a plain program takes no permissions");
    let strange = run(&project, "codex", &["--permission", "all"]).output();
    refused(strange, 64, "there is no permission named \"all\"", "choose one of ask, edits, work, full");
    assert!(!project.outside("witness").exists(), "nothing was started");
}

// spec: A6, X6
#[test]
fn a_permission_of_the_project_s_own_file_needs_approval() {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "permission: full\n");
    refused(run(&project, "codex", &[]).output(), 1, "permission", "ralph trust");
    run(&project, "codex", &["--permission", "ask"]).output().expect(0);
    assert!(arguments(&project).ends_with("--sandbox read-only"));
    project.trust();
    run(&project, "codex", &[]).output().expect(0);
    assert!(arguments(&project).ends_with("--dangerously-bypass-approvals-and-sandbox"));
    project.write(".ralph/config.yaml", "permission: fulll\n");
    refused(run(&project, "codex", &[]).output(), 1, "config.yaml:1", "did you mean full?");
}

/// Creates the task T-1, whose check is `sh check.sh`, in a Rust project that needs a set-up.
fn project_with_task() -> Project {
    let project = Project::new();
    project.write("Cargo.toml", "");
    project.write("check.sh", "true\n");
    project.commit();
    let check = |role: &str| {
        format!("{role}: {{verification_method: external, verification_config: {{command: sh check.sh}}}}")
    };
    let roles = ["coder", "reviewer", "tester", "qa"].map(check).join("\n    ");
    let task = format!(
        "- id: T-1\n  spec_id: s\n  title: Do it\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    {roles}\n"
    );
    fs::write(project.outside("task.yaml"), task).unwrap();
    project.ralph(["task", "import", project.outside("task.yaml").to_str().unwrap()]).output().expect(0);
    project
}

fn run_stage<'a>(project: &'a Project, agent: &str, role: &str, flags: &[&str]) -> Call<'a> {
    let program = project.shell(AGENT);
    let call = project.ralph(["task", "run", "T-1", "--role", role, "--max-iterations", "1"]);
    let call = call.args(["--agent", agent, "--agent-cmd", &program]).args(flags);
    call.env("WITNESS", project.outside("witness")).env("RALPH_PIPELINE_SETUP", "make deps")
}

// finding: N14, N54
// spec: A11
#[test]
fn a_stage_has_permission_work_unless_the_user_sets_another_one() {
    let project = project_with_task();
    run_stage(&project, "claude", "coder", &[]).output();
    let coder = arguments(&project);
    for rule in ["sh check.sh", "make deps", "cargo test", "git add", "git commit"] {
        assert!(coder.contains(&format!("Bash({rule}:*)")), "{rule}: {coder}");
    }
    assert!(coder.contains("--permission-mode acceptEdits"), "{coder}");
    run_stage(&project, "claude", "reviewer", &[]).output();
    let reviewer = arguments(&project);
    assert!(reviewer.contains("Bash(sh check.sh:*)") && reviewer.contains("--disallowedTools Edit"), "{reviewer}");
    assert!(!reviewer.contains("git commit"), "{reviewer}");
    run_stage(&project, "claude", "coder", &["--permission", "edits"]).output();
    assert!(!arguments(&project).contains("Bash("), "{}", arguments(&project));
    run(&project, "claude", &[]).output().expect(0);
    assert!(!arguments(&project).contains("Bash("), "the default of other runs is unchanged");
}

// finding: N54
// spec: A11
#[test]
fn an_agent_that_knows_only_all_or_nothing_is_refused_before_a_stage_and_full_is_named() {
    let project = project_with_task();
    for agent in ["cline", "goose"] {
        let what = format!("the agent {agent} does not support the permission work, the default of this command");
        refused(run_stage(&project, agent, "coder", &[]).output(), 1, &what, "choose `full`");
        let work = project.ralph(["work", "--until-idle", "--agent", agent, "--agent-cmd", "true"]).output();
        assert!(work.stderr.contains("choose `full`"), "{}", work.stderr);
    }
    assert!(!project.outside("witness").exists(), "nothing was started");
    run_stage(&project, "cline", "coder", &["--permission", "full"]).output();
    assert!(arguments(&project).contains("--auto-approve true"), "{}", arguments(&project));
}

// spec: A1, L5
#[test]
fn an_agent_that_would_wait_for_a_login_is_not_started() {
    let project = Project::new();
    refused(run(&project, "amp", &[]).output(), 1, "amp needs AMP_API_KEY", "set AMP_API_KEY");
    refused(run(&project, "amp", &[]).env("AMP_API_KEY", "").output(), 1, "amp needs AMP_API_KEY", "");
    assert!(!project.outside("witness").exists(), "nothing was started");
    run(&project, "amp", &[]).env("AMP_API_KEY", "sgamp-x").output().expect(0);
    assert_eq!(arguments(&project), "-x --stream-json");
}

// spec: A6
#[test]
fn only_the_user_can_declare_that_running_as_root_is_safe() {
    let project = Project::new();
    let full = || run(&project, "claude", &["--permission", "full"]);
    if rustix::process::geteuid().is_root() {
        refused(full().output(), 1, "claude refuses permission `full` as root", "IS_SANDBOX=1");
        assert!(!project.outside("witness").exists(), "nothing was started");
    } else {
        full().output().expect(0);
    }
    full().env("IS_SANDBOX", "1").output().expect(0);
    assert!(arguments(&project).ends_with("--dangerously-skip-permissions"));
    run(&project, "claude", &[]).output().expect(0);
    let env = fs::read_to_string(project.outside("witness.env")).unwrap();
    assert!(!env.contains("IS_SANDBOX"), "ralph never says so by itself");
}
