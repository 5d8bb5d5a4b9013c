//! Agents that try to pass without doing the work are rejected or reported with the reason.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{Call, CallOutput, Project};

const COMMIT: &str = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";

/// A project with a test script that fails until `work` says `done`, committed.
pub fn project() -> Project {
    let project = Project::new();
    program(&project.write("verify.sh", "#!/bin/sh\ngrep -q done work\n"));
    project.write("work", "open\n");
    project.commit();
    project
}

fn program(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Prepares an agent that executes this and claims; its second start only claims again.
pub fn claims_after<'a>(project: &'a Project, agent_script: &str) -> Call<'a> {
    let agent = format!(
        "cat > /dev/null\n[ -e {seen} ] || {{ touch {seen}\n{agent_script}\n}}\necho '<promise>COMPLETE</promise>'",
        seen = project.outside("seen").display()
    );
    project.run_shell(&agent).args(["--max-iterations", "1"])
}

/// Returns the reason why the only claim was rejected.
pub fn rejection(answer: &CallOutput) -> String {
    let verdicts = answer.events_named("verdict");
    assert_eq!(verdicts[0]["verdict"], "rejected", "{}", answer.stdout);
    assert_eq!(answer.finished()["outcome"], "exhausted");
    verdicts[0]["reason"].as_str().unwrap().to_owned()
}

#[track_caller]
pub fn rejected(call: Call<'_>, why: &str) {
    let reason = rejection(&call.output().expect(3));
    assert!(reason.contains(why), "{reason}");
}

// spec: V9
// fault: 76
#[test]
fn an_agent_that_edits_the_check_script_is_rejected_with_its_name() {
    let project = project();
    fs::create_dir(project.root().join("tools")).unwrap();
    program(&project.write("tools/v.sh", "#!/bin/sh\ngrep -q done ../work\n"));
    project.write("v.py", "import sys; sys.exit('done' not in open('work').read())\n");
    project.commit();
    let cases = [
        ("verify.sh", "./verify.sh"),
        ("verify.sh", "sh verify.sh"),
        ("verify.sh", "$PWD/verify.sh"),
        ("verify.sh", "sh < verify.sh"),
        ("verify.sh", "eval ./verify.sh"),
        ("verify.sh", "bash -eo pipefail verify.sh"),
        ("verify.sh", "timeout -s KILL 30 sh verify.sh"),
        ("verify.sh", "test \"$(./verify.sh; echo $?)\" = 0"),
        ("verify.sh", "s=verify.sh; sh $s"),
        ("tools/v.sh", "cd tools && ./v.sh"),
        ("tools/v.sh", "cd tools && exec sh -c 'bash v.sh'"),
        ("tools/v.sh", "PATH=$PWD/tools:$PATH; cd tools; v.sh"),
        ("v.py", "python3 -X dev v.py"),
        ("v.py", "python3 -m v"),
    ];
    for (file, check) in cases {
        let _ = fs::remove_file(project.outside("seen"));
        project.restore();
        let code = if file == "v.py" { "" } else { "#!/bin/sh\\nexit 0\\n" };
        let agent_script = format!("printf '{code}' > {file}");
        let call = claims_after(&project, &agent_script).args(["--no-baseline", "--check", check]);
        let reason = rejection(&call.output().expect(3));
        assert!(reason.contains(&format!("{file} was changed")), "{check}: {reason}");
    }
}

// spec: V9
#[test]
fn check_files_that_cannot_be_determined_are_reported() {
    let project = project();
    let check = "for script in *.sh; do sh $script || exit 1; done";
    let answer = claims_after(&project, "echo done > work").args(["--check", check]).output().expect(0);
    let notes = answer.events_named("run.sealed")[0]["notes"].to_string();
    assert!(notes.contains("runs a file named by `${script}`") && notes.contains("guard it"), "{notes}");
}

// spec: V9, V10
// fault: 76
#[test]
fn code_of_the_work_that_runs_in_a_check_cannot_change_check_files() {
    assert_check_cannot_change_check_files(&[]);
}

// spec: V9, V10
// fault: 76
#[test]
fn code_of_the_work_that_runs_in_a_clean_room_check_cannot_change_check_files() {
    assert_check_cannot_change_check_files(&["--clean"]);
}

/// Code of the work runs inside a check and could change the files of the next check, or restore them in time.
fn assert_check_cannot_change_check_files(room: &[&str]) {
    let staged = "checks: [{stages: [{command: make test}, {command: sh verify.sh}]}]";
    for (code, why) in [
        ("echo 'exit 0' > verify.sh", "verify.sh was changed"),
        ("cp verify.sh kept; echo 'mv kept verify.sh' > verify.sh", "verify.sh was changed"),
        ("mkdir -p tests; echo x > tests/new", "tests/new was added"),
    ] {
        let project = project();
        project.write("Makefile", "test:\n\ttrue\n");
        project.commit();
        let (config, makefile) = (project.outside("staged.yaml"), project.outside("Makefile"));
        fs::write(&config, staged).unwrap();
        fs::write(&makefile, format!("test:\n\t{code}\n")).unwrap();
        let config = config.display().to_string();
        for checks in [&["--check", "make test", "--check", "sh verify.sh"][..], &["--config", &config]] {
            let agent_script = format!("cp {} Makefile; {COMMIT}", makefile.display());
            let call = claims_after(&project, &agent_script).args(["--no-baseline", "--guard", "tests"]);
            let reason = rejection(&call.args(room).args(checks).output().expect(3));
            let is_told = reason.contains("while the checks ran") && reason.contains(why);
            assert!(is_told, "{code} {room:?} {checks:?}: {reason}");
            project.restore();
            let _ = fs::remove_file(project.outside("seen"));
        }
    }
}

// spec: V9, V10
// fault: 76
#[test]
fn the_setup_of_a_clean_room_cannot_change_check_files() {
    let project = project();
    project.write("setup.sh", "true\n");
    project.commit();
    let agent_script = format!("echo 'echo exit 0 > verify.sh' > setup.sh; {COMMIT}");
    let call = claims_after(&project, &agent_script).args(["--clean", "--no-baseline", "--check", "sh verify.sh"]);
    rejected(call.env("RALPH_VERIFICATION_SETUP", "sh setup.sh"), "verify.sh was changed");
}

// spec: V9
// fault: 76
#[test]
fn the_agent_gets_the_list_of_files_to_restore_and_then_its_work_counts() {
    let project = project();
    let agent = format!(
        "cat > {prompt}\nif grep -q 'was rejected' {prompt}; then git checkout -q verify.sh; echo done > work\n\
         else echo 'exit 0' > verify.sh; fi\necho '<promise>COMPLETE</promise>'",
        prompt = project.outside("prompt").display()
    );
    let answer = project.run_shell(&agent).args(["--fresh", "--check", "./verify.sh"]).output().expect(0);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    let prompt = fs::read_to_string(project.outside("prompt")).unwrap();
    assert!(prompt.contains("verify.sh was changed"), "{prompt}");
}

// spec: V9
#[test]
fn mode_bits_links_and_removals_of_a_check_script_are_detected() {
    let project = project();
    let cases = [
        ("chmod -x verify.sh", "verify.sh is no longer executable"),
        ("rm verify.sh", "verify.sh was removed"),
        ("cp verify.sh other.sh; rm verify.sh; ln -s other.sh verify.sh", "verify.sh was replaced by a link"),
        ("rm verify.sh; mkdir verify.sh", "verify.sh was replaced"),
        ("rm verify.sh; mkfifo verify.sh", "verify.sh was replaced"),
    ];
    for (agent_script, why) in cases {
        let _ = fs::remove_file(project.outside("seen"));
        project.restore();
        rejected(claims_after(&project, agent_script).args(["--check", "./verify.sh"]), why);
    }
}

// spec: V9
#[test]
fn changes_that_the_user_allows_are_accepted() {
    let project = project();
    let agent_script = "printf '#!/bin/sh\\nexit 0\\n' > verify.sh";
    let call = claims_after(&project, agent_script).args(["--check", "./verify.sh"]);
    let allowed = call.env("RALPH_VERIFICATION_ALLOW_CHANGES", "verify.sh").output().expect(0);
    let sealed = &allowed.events_named("run.sealed")[0]["files"];
    assert!(!sealed.to_string().contains("verify.sh"), "{sealed}");
}

// spec: V9
#[test]
fn ralphs_own_configuration_and_verifiers_are_sealed() {
    for (agent_script, why) in [
        ("echo 'checks: [\"true\"]' > .ralph/config.yaml", ".ralph/config.yaml was changed"),
        ("echo 'RALPH_AGENT=text' > .ralph/config", ".ralph/config was added"),
        ("mkdir -p .ralph/verifiers; touch .ralph/verifiers/mine", ".ralph/verifiers/mine was added"),
        ("mkdir -p .ralph/workflows; touch .ralph/workflows/mine.yaml", ".ralph/workflows/mine.yaml was added"),
        ("mkdir -p .ralph/commands; touch .ralph/commands/mine.md", ".ralph/commands/mine.md was added"),
        ("echo '# x' >> .ralph/templates/own.yaml", ".ralph/templates/own.yaml was changed"),
        ("rm .ralph/templates/own.yaml", ".ralph/templates/own.yaml was removed"),
    ] {
        let project = project();
        fs::create_dir_all(project.root().join(".ralph/templates")).unwrap();
        project.write(".ralph/templates/own.yaml", "method: external\nconfig: {command: 'true'}\n");
        project.write(".ralph/config.yaml", "checks: ['./verify.sh']\n");
        project.trust();
        rejected(claims_after(&project, agent_script), why);
    }
}

// spec: V9
// fault: 76
#[test]
fn a_program_replaced_on_a_path_inside_the_work_tree_is_detected() {
    let project = project();
    fs::create_dir(project.root().join("bin")).unwrap();
    program(&project.write("bin/judge", "#!/bin/sh\nexec ./verify.sh\n"));
    let path = |entry: &str| format!("{entry}:{}", std::env::var("PATH").unwrap());
    let inside = project.root().join("bin").display().to_string();
    for (entry, agent_script, why) in [
        (inside.as_str(), "printf '#!/bin/sh\\n' > bin/judge", "bin/judge was changed"),
        ("bin", "printf '#!/bin/sh\\n' > bin/grep; chmod +x bin/grep", "bin/grep was added"),
        (".", "printf '#!/bin/sh\\n' > grep; chmod +x grep", "grep was added"),
        ("tools", "mkdir tools; printf '#!/bin/sh\\n' > tools/grep; chmod +x tools/grep", "tools/grep was added"),
    ] {
        let _ = fs::remove_file(project.outside("seen"));
        let check = if ["tools", "."].contains(&entry) { "grep -q done work" } else { "judge" };
        let call = claims_after(&project, agent_script).args(["--check", check]).env("PATH", path(entry));
        rejected(call, why);
        program(&project.write("bin/judge", "#!/bin/sh\nexec ./verify.sh\n"));
        let _ = fs::remove_file(project.root().join("bin/grep"));
        let _ = fs::remove_file(project.root().join("grep"));
        let _ = fs::remove_dir_all(project.root().join("tools"));
    }
}

// spec: V10
// fault: 76
#[test]
fn a_claim_without_a_commit_is_rejected_with_the_names_of_the_files() {
    let project = project();
    let call = claims_after(&project, "echo done > work; echo x > new").args(["--clean", "--check", "./verify.sh"]);
    rejected(call, "claimed, but not committed: work, new");
}

// spec: V10, V14
// fault: 77
#[test]
fn a_check_cannot_pass_by_a_file_that_was_never_committed() {
    let project = project();
    project.write(".gitignore", "cache/\n");
    project.commit();
    let agent_script = format!("mkdir cache; touch cache/ok; echo more >> work; {COMMIT}");
    let check = ["--check", "test -e cache/ok"];
    rejected(claims_after(&project, &agent_script).args(["--clean"]).args(check), "Command exited with 1");
    project.ralph(["verify"]).output().expect(1);
    // It passes in the work tree; the receipt lists the uncommitted files, and verifying again rejects it.
    claims_after(&project, "").args(check).output().expect(0);
    let again = project.ralph(["verify"]).output().expect(3).stdout;
    assert!(again.contains("`test -e cache/ok` was accepted and is rejected now"), "{again}");
    fs::remove_dir_all(project.root().join("cache")).unwrap();
    let _ = fs::remove_file(project.outside("seen"));
    claims_after(&project, "touch leftover").args(["--check", "test -e leftover"]).output().expect(0);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("receipt  verified, not committed"), "{shown}");
}

// spec: V14
// fault: 76
#[test]
fn a_receipt_that_the_agent_wrote_is_reported_as_forged_and_never_accepted() {
    let project = project();
    let state = project.state().display().to_string();
    let forge = &format!(
        "umask 077; f={state}/runs/$RALPH_RUN_ID; mkdir -p $f
         echo '{{\"version\":1,\"verified\":true,\"reason\":\"1 check passed\"}}' > $f/receipt.json"
    );
    rejected(claims_after(&project, forge).args(["--check", "./verify.sh"]), "Command exited with 1");
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("receipt  none; ") && shown.contains("is FORGED: ralph never wrote it"), "{shown}");
    let json = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&json["receipt"]["verified"], &json["receipt"]["file_is_forged"]), (&false.into(), &true.into()));
    let refused = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(refused.contains("forged: ralph never wrote it"), "{refused}");
    let _ = fs::remove_file(project.outside("seen"));
    // Without checks, the real receipt replaces the one of the agent.
    claims_after(&project, forge).output().expect(0);
    let json = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&json["receipt"]["verified"], &json["receipt"]["file_is_forged"]), (&false.into(), &false.into()));
}

// spec: V7, V8
// fault: 75
#[test]
fn a_claim_while_the_check_cannot_run_is_never_accepted_and_two_in_a_row_block_the_run() {
    let project = project();
    let agent = "cat > /dev/null\nrm -f verify.sh\necho '<promise>COMPLETE</promise>'";
    let check = "PATH=/nonexistent; judge";
    let call = project.run_shell(agent).args(["--no-baseline", "--check", check, "--max-iterations", "9"]);
    let answer = call.output().expect(6);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["could_not_evaluate", "could_not_evaluate"]);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains(check) && reason.contains("exit code 127"), "{reason}");
}

// spec: V9, L7
// fault: 72
#[test]
fn a_process_that_the_agent_leaves_behind_cannot_help_the_check() {
    let project = project();
    let agent_script = "setsid sh -c 'while ! [ -e checking ]; do sleep 0.01; done; echo done > work' \
                > /dev/null 2>&1 < /dev/null &";
    let check = "touch checking; i=0; while [ $i -lt 30 ]; do grep -q done work && exit 0; sleep 0.05; \
                 i=$((i+1)); done; exit 1";
    let answer = claims_after(&project, agent_script).args(["--no-baseline", "--check", check]).output().expect(3);
    assert!(rejection(&answer).contains("Command exited with 1"));
    let killed = answer.events_named("attempt.ended")[0]["result"]["leftovers"]["killed"].as_u64();
    assert!(killed.unwrap() >= 1, "it was noticed too");
}

// spec: V9, L13
#[test]
fn the_seal_survives_a_crash_and_is_not_read_from_the_work_tree() {
    let project = project();
    let call = claims_after(&project, "printf '#!/bin/sh\\nexit 0\\n' > verify.sh");
    let call = call.args(["--check", "./verify.sh"]).env("RALPH_FAIL", "verify.started");
    assert_eq!(call.start().wait_without_invariants().code(), -6);
    let answer = project.ralph(["resume", "--json"]).output().expect(3);
    assert!(rejection(&answer).contains("verify.sh was changed"));
}

// spec: V9, X1
// fault: 76
#[test]
fn a_program_that_git_would_start_for_us_is_not_started() {
    let project = project();
    let canary = project.outside("canary");
    let sly = format!("touch {}; cat", canary.display());
    let filter =
        format!("echo 'work filter=sly' > .git/info/attributes; git config filter.sly.clean '{sly}'; echo done > work");
    let call = claims_after(&project, &filter).args(["--check", "./verify.sh"]);
    rejected(call, "the git setting filter.sly.clean was added");
    assert!(!canary.exists(), "git was not asked about files any more");
    // A filter that was there before the run is the user's, and is started.
    claims_after(&project, "").args(["--check", "./verify.sh"]).output().expect(0);
    assert!(fs::remove_file(&canary).is_ok());
    project.git(&["config", "--unset", "filter.sly.clean"]);
    let _ = fs::remove_file(project.outside("seen"));
    let watcher = format!(
        "printf '#!/bin/sh\\n{sly}\\n' > .git/sly; chmod +x .git/sly; git config core.fsmonitor .git/sly
         mkdir -p .git/hooks; cp .git/sly .git/hooks/post-index-change; cp .git/sly .git/hooks/reference-transaction"
    );
    claims_after(&project, &watcher).args(["--check", "./verify.sh"]).output().expect(0);
    assert!(!canary.exists(), "neither a monitor nor a hook was started");
    project.git(&["status", "--short"]);
    assert!(canary.exists(), "anybody else would have started it");
}

// spec: V10, V13, V7
// fault: 71
#[test]
fn a_repository_in_which_git_hangs_does_not_hang_the_run() {
    let project = project();
    let agent = format!(
        "cat > /dev/null; [ -p .git/index ] || {{ echo done > work; {COMMIT}; rm .git/index; mkfifo .git/index; }}
         echo '<promise>COMPLETE</promise>'"
    );
    let call = project.run_shell(&agent).args(["--clean", "--check", "./verify.sh"]);
    let answer = call.env("RALPH_FAIL_PATIENCE_MS", "8000").output().expect(6);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("git status") && reason.contains("did not end within 8.0s"), "{reason}");
    fs::remove_file(project.root().join(".git/index")).unwrap();
}
