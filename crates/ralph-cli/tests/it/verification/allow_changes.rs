//! Check files may change where the user or the task allows it, and the change is reported.
use serde_json::{Value, json};

use crate::harness::{Call, CallOutput, Project};
use crate::verification::cheating::{claims_after, project};

const COMMIT: &str = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";
const WEAKENED: &str = "echo 'exit 0' > verify.sh";

/// The checks of the newest receipt.
fn receipt(project: &Project) -> Value {
    serde_json::from_slice::<Value>(&project.log("receipt.json")).unwrap()["checks"].clone()
}

// spec: V9, V14
// fault: 76
#[test]
fn allowed_changes_are_in_the_receipt_and_in_show() {
    let project = project();
    let check = ["--check", "sh verify.sh", "--guard", "tests", "--guard", "work"];
    let agent_script = format!("{WEAKENED}; echo done > work; mkdir tests; touch tests/new");
    let call = claims_after(&project, &agent_script).args(check);
    let answer = call.env("RALPH_VERIFICATION_ALLOW_CHANGES", "verify.sh,tests/**,work").output().expect(0);
    assert_eq!(answer.finished()["reason"], "1 check passed");
    let printed = "Changed by the work, as allow_changes permits: verify.sh was changed, work was changed, \
                tests/new was added";
    let checks = receipt(&project);
    assert_eq!(checks[1]["reason"], printed, "{checks}");
    assert_eq!((&checks[1]["method"], &checks[1]["verdict"]), (&json!("seal"), &json!("accepted")));
    let sealed = &answer.events_named("run.sealed")[0];
    assert_eq!(
        (&sealed["files"], &sealed["notes"]),
        (&json!([]), &json!(["the guard pattern tests matches no file: check its spelling"]))
    );
    assert_eq!(sealed["allowed"]["files"][0]["path"], "verify.sh", "{sealed}");
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    let line = "allowed  at iteration 1: verify.sh was changed, work was changed, tests/new was added";
    assert!(shown.contains(line) && shown.contains(printed) && !shown.contains("BROKEN"), "{shown}");
    let shown: Value = serde_json::from_str(&project.ralph(["show", "--json"]).output().expect(0).stdout).unwrap();
    assert_eq!(shown["seal"]["allowed"][0]["iteration"], 1, "{shown}");
    assert_eq!(shown["seal"]["broken"], json!([]));
}

// spec: V9
// fault: 76
#[test]
fn a_named_git_setting_may_change() {
    let agent_script = "git config filter.lfs.clean cat; git config filter.other.clean cat; echo done > work";
    let run = |project: &Project, allowed: &str, code| {
        let call = claims_after(project, agent_script).args(["--check", "sh verify.sh"]);
        call.env("RALPH_VERIFICATION_ALLOW_CHANGES", allowed).output().expect(code)
    };
    let why = reason(&run(&project(), "filter.lfs.*", 3));
    assert!(why.contains("filter.other.clean was added") && !why.contains("filter.lfs"), "{why}");
    let project = project();
    run(&project, "filter.lfs.*,filter.other.clean", 0);
    let printed = receipt(&project)[1]["reason"].as_str().unwrap().to_owned();
    assert!(printed.contains("the git setting filter.lfs.clean was added"), "{printed}");
}

// spec: V9
#[test]
fn allowed_changes_that_did_not_happen_are_not_reported() {
    let project = project();
    let call = claims_after(&project, "echo done > work").args(["--check", "sh verify.sh"]);
    call.env("RALPH_VERIFICATION_ALLOW_CHANGES", "verify.sh").output().expect(0);
    assert_eq!(receipt(&project).as_array().unwrap().len(), 1);
}

// spec: V9
#[test]
fn an_intact_guard_without_checks_is_not_reported_as_broken() {
    let project = project();
    let answer = claims_after(&project, "echo done > work").args(["--guard", "verify.sh"]).output().expect(0);
    assert_eq!(answer.finished()["reason"], "by the agent's claim alone");
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(!shown.contains("BROKEN"), "{shown}");
}

/// Creates a task with these flags whose coder is checked by `verify.sh`.
fn task(flags: &[&str]) -> Project {
    let project = project();
    std::fs::create_dir(project.root().join("tests")).unwrap();
    project.write("tests/a", "1\n");
    project.commit();
    let create = ["task", "create", "T-1", "s", "x", "--outcome", "o", "--acceptance", "a"];
    let coder = ["--coder-verify-cmd", "sh verify.sh", "--coder-promise", "COMPLETE"];
    project.ralph(create).args(coder).args(flags).output().expect(0);
    project
}

/// Runs a coder that executes this and claims.
fn coder<'a>(project: &'a Project, agent_script: &str) -> Call<'a> {
    let agent = project.shell(&format!("cat > /dev/null\n{agent_script}\necho '<promise>COMPLETE</promise>'"));
    let run = ["task", "run", "T-1", "--agent", "text", "--agent-cmd", &agent, "--json", "--max-iterations", "1"];
    project.ralph(run).env("RALPH_VERIFICATION_ROLE_CHECKS", "off")
}

fn reason(answer: &CallOutput) -> String {
    answer.events_named("verdict")[0]["reason"].as_str().unwrap().to_owned()
}

// spec: V9, T2, T3
// fault: 76
#[test]
fn a_task_may_allow_its_work_to_change_check_files() {
    let project = task(&[]);
    assert!(reason(&coder(&project, WEAKENED).output().expect(3)).contains("verify.sh was changed"));
    let project = task(&["--allow-changes", "verify.sh"]);
    coder(&project, WEAKENED).output().expect(0);
    assert!(
        receipt(&project)[1]["reason"].as_str().unwrap().contains("as allow_changes permits: verify.sh was changed")
    );
    let shown = project.ralph(["task", "show", "T-1"]).output().expect(0).stdout;
    assert!(shown.contains("\nallowed   verify.sh\n"), "{shown}");
    assert!(shown.contains("allowed   at iteration 1: verify.sh was changed"), "{shown}");
}

// spec: V9, T2
// fault: 76
#[test]
fn only_the_named_changes_are_allowed() {
    let project = task(&["--allow-changes", "verify.sh", "--guard", "tests"]);
    let answer = coder(&project, &format!("{WEAKENED}; echo 2 > tests/a")).output().expect(3);
    let why = reason(&answer);
    assert!(why.contains("tests/a was changed") && !why.contains("verify.sh"), "{why}");
    let project = self::project();
    let call = claims_after(&project, &format!("{WEAKENED}; echo done > work")).args(["--check", "sh verify.sh"]);
    let answer = call.env("RALPH_VERIFICATION_ALLOW_CHANGES", "tests/**,work").output().expect(3);
    assert!(reason(&answer).contains("verify.sh was changed"), "{}", reason(&answer));
}

// spec: V9, T2
// fault: 76
#[test]
fn guards_and_allowed_changes_of_the_configuration_also_apply_to_tasks() {
    let project = task(&["--guard", "work", "--allow-changes", "tests/**"]);
    let configured = |call: Call<'_>, code| {
        let guard = call.env("RALPH_VERIFICATION_GUARD", "tests");
        guard.env("RALPH_VERIFICATION_ALLOW_CHANGES", "verify.sh").output().expect(code)
    };
    let guarded = task(&["--guard", "work"]);
    let both = reason(&configured(coder(&guarded, "echo 2 > tests/a; echo 2 > work"), 3));
    assert!(both.contains("tests/a was changed") && both.contains("work was changed"), "{both}");
    configured(coder(&project, &format!("{WEAKENED}; echo 2 > tests/a")), 0);
    let printed = receipt(&project)[1]["reason"].as_str().unwrap().to_owned();
    assert!(printed.contains("tests/a was changed") && printed.contains("verify.sh was changed"), "{printed}");
}

// spec: V9, V10, T2, T3
// fault: 76
#[test]
fn a_task_can_set_its_guards_and_its_clean_room() {
    let project = task(&["--guard", "tests", "--isolation", "clean"]);
    let answer = coder(&project, "echo 2 > tests/a").output().expect(3);
    assert!(reason(&answer).contains("tests/a was changed"), "{}", reason(&answer));
    project.restore();
    let open = coder(&project, "echo done > work").output().expect(3);
    assert!(reason(&open).contains("claimed, but not committed"), "{}", reason(&open));
    coder(&project, &format!("echo done > work; {COMMIT}")).output().expect(0);
}

// spec: V9, V10, T3
// fault: 76
#[test]
fn flags_of_a_stage_add_guards_and_enable_the_clean_room() {
    let project = task(&["--guard", "tests", "--isolation", "workspace"]);
    let held = |agent_script: &str| {
        reason(&coder(&project, agent_script).args(["--guard", "work", "--clean"]).output().expect(3))
    };
    let both = held("echo 2 > tests/a; echo 2 > work");
    assert!(both.contains("tests/a was changed") && both.contains("work was changed"), "{both}");
    project.restore();
    assert!(held("touch new").contains("claimed, but not committed"));
}

// spec: T3, T4, V9, V10
#[test]
fn guards_of_a_task_survive_export_and_import_and_can_be_changed() {
    let project = task(&[
        "--guard",
        "tests/**",
        "--guard",
        "!tests/data",
        "--allow-changes",
        "verify.sh",
        "--isolation",
        "clean",
    ]);
    let export = || project.ralph(["task", "export"]).output().expect(0).stdout;
    let written = export();
    let part = "    guard:\n      - \"tests/**\"\n      - \"!tests/data\"\n    allow_changes:\n      - \"verify.sh\"\n    isolation: \"clean\"\n";
    assert!(written.contains(part), "{written}");
    project.write("task.yaml", &written);
    project.ralph(["task", "delete", "T-1"]).output().expect(0);
    project.ralph(["task", "import", "task.yaml"]).output().expect(0);
    assert_eq!(export(), written);
    let edit = ["task", "edit", "T-1", "--guard", "ci", "--allow-changes", "", "--isolation", "workspace"];
    project.ralph(edit).output().expect(0);
    let changed = export();
    assert!(changed.contains("    guard:\n      - \"ci\"\n    isolation: \"workspace\"\n"), "{changed}");
}

// spec: T4, V9
#[test]
fn an_invalid_pattern_is_refused_when_the_task_is_created() {
    let project = task(&[]);
    let refused = project.ralph(["task", "edit", "T-1", "--guard", "a/../../b"]).output().expect(64);
    let why = "completion.guard.0: the pattern \"a/../../b\" leads out of the work tree";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let refused = project.ralph(["task", "edit", "T-1", "--isolation", "room"]).output().expect(64);
    assert!(refused.stderr.contains("workspace"), "{}", refused.stderr);
}

// spec: T8, V9
// fault: 76
#[test]
fn an_agent_that_allows_itself_to_change_check_files_needs_approval() {
    let project = task(&[]);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let agent_script = format!("{ralph} task edit T-1 --allow-changes verify.sh >/dev/null 2>&1; {WEAKENED}");
    let answer = coder(&project, &agent_script).output().expect(3);
    assert!(reason(&answer).contains("verify.sh was changed"), "the run keeps its criteria");
    let refused = coder(&project, "true").output().expect(1);
    assert!(refused.stderr.contains("caused by: allow_changes: verify.sh"), "{}", refused.stderr);
    let approve = ["task", "approve", "T-1", "--yes"];
    let shown = project.ralph(approve).output().expect(0).stdout;
    assert!(shown.contains("  allow_changes\n      verify.sh\n"), "{shown}");
    project.restore();
    coder(&project, WEAKENED).output().expect(0);
    assert!(receipt(&project)[1]["reason"].as_str().unwrap().contains("verify.sh was changed"));
}
