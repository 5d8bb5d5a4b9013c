//! Receipts of completed runs, and verifying them again.
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::{ConnectOptions, Connection};

use crate::harness::{Project, wait_until};

const COMMIT: &str = "git add --all && git -c user.name=A -c user.email=a@example.invalid commit --quiet -m work";
const CLAIM: &str = "echo '<promise>COMPLETE</promise>'";

impl Project {
    fn git_says(&self, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit_work(&self) {
        self.git_says(&["add", "--all"]);
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        self.git_says(&[&identity[..], &["commit", "--quiet", "-m", "work"]].concat());
    }

    fn run_folder(&self) -> PathBuf {
        fs::read_dir(self.state().join("runs")).unwrap().map(|run| run.unwrap().path()).max().unwrap()
    }

    pub(super) fn receipt(&self) -> Value {
        serde_json::from_slice(&fs::read(self.run_folder().join("receipt.json")).unwrap()).unwrap()
    }

    /// A run whose agent commits a note, with a check that prints.
    fn committed(&self) {
        let agent = format!("cat > /dev/null; echo hello > note; {COMMIT}; {CLAIM}");
        self.run_shell(&agent).args(["--check", "cat note"]).output().expect(0);
    }

    /// Returns the files that verifying left in the temporary folder.
    fn leftovers(&self) -> Vec<String> {
        let names = fs::read_dir(self.outside("")).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("ralph-")).collect()
    }

    /// Changes the database without ralph.
    fn sql(&self, sql: &'static str) {
        let path = self.state().join("ralph.db");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
            let mut connection = options.connect().await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

// spec: V14
#[test]
fn a_completed_run_has_a_receipt_that_says_what_was_verified_and_on_which_files() {
    let project = Project::new();
    let agent = format!("cat > /dev/null; echo hello > note; {COMMIT}; {CLAIM}");
    let events = project.run_shell(&agent).args(["--check", "cat note"]).output().expect(0).events();
    let receipt = project.receipt();
    assert_eq!((&receipt["version"], &receipt["verified"]), (&1.into(), &true.into()));
    assert_eq!(receipt["repository"]["commit"], project.git_says(&["rev-parse", "HEAD"]));
    assert_eq!(receipt["repository"]["tree"], project.git_says(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(receipt["repository"]["committed"], true);
    let check = &receipt["checks"][0];
    assert_eq!((&check["method"], &check["command"]), (&"external".into(), &"cat note".into()));
    assert_eq!((&check["exit_code"], &check["tries"]), (&0.into(), &1.into()));
    assert_eq!(check["output_sha256"], sha256("hello\n"));
    let [.., told, finished] = &events[..] else { panic!("{events:?}") };
    assert_eq!((&told["event"], &finished["event"]), (&"receipt".into(), &"run.finished".into()));
    assert_eq!(told["receipt"], receipt, "the file is a copy of what is stored");
    assert_eq!(told["sha256"], sha256(&receipt.to_string()), "the hash is over canonical JSON");
    assert_eq!(receipt["run"], told["run"]);
}

// spec: V14
#[test]
fn a_run_without_checks_has_a_receipt_that_says_unverified_and_cannot_be_verified_again() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let receipt = project.receipt();
    assert_eq!((&receipt["verified"], &receipt["checks"]), (&false.into(), &Value::Array(vec![])));
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("receipt  unverified: only the agent's claim"), "{shown}");
    let stderr = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(stderr.contains("this completion rests on the agent's word alone"), "{stderr}");
}

// spec: V14
#[test]
fn verifying_again_confirms_unchanged_work_and_changes_nothing() {
    let project = Project::new();
    project.committed();
    project.write("note", "edited since");
    project.write("unfinished", "work of the user");
    let before = project.git_says(&["status", "--porcelain"]);
    let answer = project.ralph(["verify"]).output().expect(0);
    assert!(
        answer.stdout.contains("accepted  `cat note`") && answer.stdout.ends_with("confirmed\n"),
        "{}",
        answer.stdout
    );
    assert_eq!(project.git_says(&["status", "--porcelain"]), before);
    assert_eq!(project.git_says(&["worktree", "list"]).lines().count(), 1);
    let left = project.leftovers();
    assert!(left.is_empty(), "{left:?}");
    let json = project.ralph(["verify", "--json"]).output().expect(0).json();
    assert_eq!((&json["confirmed"], &json["doubts"]), (&true.into(), &Value::Array(vec![])));
    assert_eq!(json["checks"][0]["output_sha256"], sha256("hello\n"));
}

// spec: V14
// fault: 77
#[test]
fn a_check_that_passed_only_because_of_leftovers_is_not_confirmed() {
    let project = Project::new();
    project.write(".gitignore", "built\n");
    let agent = format!("cat > /dev/null; touch built; {COMMIT}; {CLAIM}");
    project.run_shell(&agent).args(["--check", "test -e built"]).output().expect(0);
    let answer = project.ralph(["verify"]).output().expect(3);
    assert!(answer.stdout.contains("`test -e built` was accepted and is rejected now"), "{}", answer.stdout);
    assert!(answer.stdout.ends_with("not confirmed\n"));
}

// spec: V14
#[test]
fn uncommitted_work_can_be_verified_again_once_it_is_committed() {
    let project = Project::new();
    project.run(&["complete"]).args(["--check", "true"]).output().expect(0);
    project.write("more", "than was verified");
    let stderr = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(
        stderr.contains("not committed when it was verified") && stderr.contains("has other files now"),
        "{stderr}"
    );
    fs::remove_file(project.root().join("more")).unwrap();
    project.write("base", "");
    project.run(&["complete"]).args(["--check", "test -e base"]).output().expect(0);
    assert_eq!(project.receipt()["repository"]["committed"], false);
    let stderr = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(stderr.contains("your work tree has exactly these files: commit them"), "{stderr}");
    project.commit_work();
    project.ralph(["verify"]).output().expect(0);
}

// spec: V14
#[test]
fn a_missing_commit_cannot_be_verified_again() {
    let project = Project::new();
    project.committed();
    project.git_says(&["update-ref", "-d", "HEAD"]);
    project.git_says(&["reflog", "expire", "--expire=now", "--all"]);
    fs::remove_file(project.root().join(".git/index")).unwrap();
    project.git_says(&["gc", "--quiet", "--prune=now"]);
    let stderr = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(stderr.contains("no longer exists in the repository"), "{stderr}");
}

// spec: V14
#[test]
fn a_receipt_that_the_agent_wrote_proves_nothing() {
    let project = Project::new();
    let state = project.state().display().to_string();
    let forge = &format!(
        r#"cat > /dev/null; echo '{{"version":1,"verified":true}}' > {state}/runs/$RALPH_RUN_ID/receipt.json
        chmod 600 {state}/runs/$RALPH_RUN_ID/receipt.json"#
    );
    project.run_shell(forge).args(["--check", "true", "--max-iterations", "1"]).output().expect(3);
    let stderr = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(stderr.contains("has no receipt") && stderr.contains("is forged: ralph never wrote it"), "{stderr}");
    let agent = format!("{forge}; echo hello > note; {COMMIT}; {CLAIM}");
    project.run_shell(&agent).args(["--check", "true"]).output().expect(0);
    assert_eq!(project.receipt()["repository"]["committed"], true, "the real one took its place");
    project.ralph(["verify"]).output().expect(0);
}

// spec: V14
#[test]
fn an_edited_receipt_is_detected_in_any_location() {
    let project = Project::new();
    project.committed();
    let file = project.run_folder().join("receipt.json");
    let genuine = fs::read_to_string(&file).unwrap();
    fs::write(&file, genuine.replace("cat note", "cargo test")).unwrap();
    let verified = project.ralph(["verify"]).output().expect(3).stdout;
    assert!(verified.contains("receipt.json in the run folder is forged"), "{verified}");
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("FORGED"), "{shown}");
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["receipt"]["file_is_forged"], true);
    fs::remove_file(&file).unwrap();
    project.ralph(["verify"]).output().expect(0);
    project.sql("UPDATE receipts SET body = replace(body, '\"iterations\":1', '\"iterations\":2')");
    let verified = project.ralph(["verify"]).output().expect(3).stdout;
    assert!(
        verified.contains("does not match its stored hash") && verified.contains("does not match the journal"),
        "{verified}"
    );
}

// spec: V14
#[test]
fn a_foreign_file_in_place_of_the_copy_is_kept_and_the_receipt_is_stored() {
    let project = Project::new();
    let state = project.state().display().to_string();
    let agent = format!("cat > /dev/null; mkdir -m 700 {state}/runs/$RALPH_RUN_ID/receipt.json; {CLAIM}");
    let answer = project.run_shell(&agent).args(["--check", "true"]).output().expect(0);
    assert!(
        answer.events_named("warning")[0]["message"].as_str().unwrap().contains("receipt.json"),
        "{}",
        answer.stdout
    );
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["receipt"]["verified"], true);
}

// spec: D4, V14
#[test]
fn an_exported_run_carries_its_receipt_and_its_commands_are_started_only_when_approved() {
    let project = Project::new();
    project.committed();
    let exported = project.ralph(["export"]).output().expect(0).stdout;
    let elsewhere = Project::new();
    elsewhere.git_says(&["fetch", "--quiet", &project.root().display().to_string(), "HEAD"]);
    let file = elsewhere.outside("run.jsonl");
    fs::write(&file, exported.replace("\"exit_code\":0,\"", "\"exit_code\":7,\"")).unwrap();
    let forged = elsewhere.ralph(["import"]).args([&file]).output().expect(1).stderr;
    assert!(forged.contains("a receipt"), "{forged}");
    fs::write(&file, exported).unwrap();
    elsewhere.ralph(["import"]).args([&file]).output().expect(0);
    assert_eq!(elsewhere.ralph(["show", "--json"]).output().expect(0).json()["receipt"]["verified"], true);
    let refused = elsewhere.ralph(["verify"]).output().expect(1).stderr;
    assert!(refused.contains("are not yours") && refused.contains("cat note"), "{refused}");
    elsewhere.ralph(["verify", "--approve"]).output().expect(0);
}

// spec: V14
#[test]
fn a_signal_stops_verifying_and_leaves_nothing_behind() {
    let project = Project::new();
    let agent = format!("cat > /dev/null; echo hello > note; {COMMIT}; {CLAIM}");
    let check = format!(
        "test ! -e '{0}' || {{ touch '{1}'; sleep 1000; }}",
        project.outside("slow").display(),
        project.outside("ready").display()
    );
    project.run_shell(&agent).args(["--check", &check]).output().expect(0);
    fs::write(project.outside("slow"), "").unwrap();
    let running = project.ralph(["verify"]).start();
    project.wait_for("ready");
    running.signal(Signal::INT);
    running.wait().expect(130);
    wait_until("nothing is left", || project.processes_of_runs().is_empty());
    let left = project.leftovers();
    assert!(left.is_empty(), "{left:?}");
}

// spec: V14, L13
// fault: 3, 4
#[test]
fn a_run_killed_during_verification_has_a_complete_receipt_after_resume() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--check", "true"]).env("RALPH_FAIL", "verify.passed.unrecorded:1");
    call.output_with_damaged_state();
    project.ralph(["resume", "--json"]).output().expect(0);
    let receipt = project.receipt();
    assert_eq!((&receipt["verified"], &receipt["agent"]), (&true.into(), &"text".into()));
    assert!(receipt["claim"].as_str().unwrap().contains("line"), "{receipt}");
    assert!(receipt["started_at"].as_str().unwrap() < receipt["finished_at"].as_str().unwrap());
}

// spec: V14, V10
#[test]
fn verifying_again_sets_up_the_checkout_with_shared_folders() {
    let project = Project::new();
    project.write(".gitignore", "node_modules/\n.ralph/\nmade\n");
    fs::create_dir_all(project.root().join("node_modules/tool")).unwrap();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    let config = |setup: &str| format!("verification: {{ setup: ['{setup}'], share: [node_modules] }}\n");
    project.write(".ralph/config.yaml", config("touch made"));
    project.trust();
    let agent = format!("cat > /dev/null; touch made; echo more >> work; {COMMIT}; {CLAIM}");
    let check = "test -e made && test -d node_modules/tool";
    project.run_shell(&agent).args(["--check", check]).output().expect(0);
    project.ralph(["verify"]).output().expect(0);
    project.write(".ralph/config.yaml", config("echo no network; exit 9"));
    project.trust();
    project.run_shell(&agent).args(["--check", check]).output().expect(0);
    let refused = project.ralph(["verify"]).output().expect(1).stderr;
    assert!(refused.contains("the checkout could not be set up: `echo no network; exit 9`"), "{refused}");
    let left = project.leftovers();
    assert!(left.is_empty(), "{left:?}");
}

// spec: V14, V10
#[test]
fn a_clean_room_verifies_the_commit_whatever_the_work_tree_contains() {
    let project = Project::new();
    project.commit();
    project.write("notes of the user", "");
    let agent = "cat > /dev/null; echo hello > note; git add note; \
                 git -c user.name=A -c user.email=a@b commit -qm w; echo '<promise>COMPLETE</promise>'";
    project.run_shell(agent).args(["--clean", "--check", "cat note"]).output().expect(0);
    assert_eq!(project.receipt()["repository"]["committed"], true);
    project.ralph(["verify"]).output().expect(0);
}

// spec: V14
#[test]
fn a_check_that_cannot_run_in_a_checkout_refutes_nothing() {
    let project = Project::new();
    project.write(".gitignore", "tools/\n");
    fs::create_dir(project.root().join("tools")).unwrap();
    project.write("tools/look", "#!/bin/sh\ncat note\n");
    let agent = format!("cat > /dev/null; echo hello > note; {COMMIT}; {CLAIM}");
    let check = ["--check", "sh -c 'test -x tools/look || exit 127; tools/look'"];
    let tool = project.root().join("tools/look");
    fs::set_permissions(tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project.run_shell(&agent).args(check).output().expect(0);
    let answer = project.ralph(["verify"]).output().expect(1);
    assert!(answer.stderr.contains("cannot be verified again"), "{}", answer.stderr);
    assert!(answer.stderr.contains("verification.share"), "{}", answer.stderr);
}

// spec: V14, C8
#[test]
fn the_summary_of_a_run_says_unverified_if_its_receipt_does() {
    let project = Project::new();
    let config = project.outside("c.yaml");
    let words = "unverified: only the agent's claim supports it";
    for checks in [
        "checks: [{method: semantic, negative_patterns: [never]}]",
        "checks: [{stages: [{command: 'false', required: false}]}]",
        "checks: [{method: string_match}]",
    ] {
        fs::write(&config, checks).unwrap();
        let call = project.run_on("do the work", &["complete"]).args(["--config", &config.display().to_string()]);
        let answer = call.output().expect(0);
        assert_eq!(project.receipt()["verified"], false, "{checks}");
        assert!(answer.stdout.contains(words), "{checks}: {}", answer.stdout);
    }
    let proven = project.run_on("do the work", &["complete"]).args(["--check", "true"]).output().expect(0);
    assert!(!proven.stdout.contains("unverified"), "{}", proven.stdout);
}
