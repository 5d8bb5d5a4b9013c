//! Cheats in a loop inside a session: the same seal holds there, and the same tests are protected.
use serde_json::{Value, json};

use super::{COMMIT, Cheat};
use crate::harness::Project;
use crate::sessions::hooks::{hook, start, stop};

/// Starts a loop with a check.
fn session(check: &str) -> Project {
    let project = Cheat::new(&[], "").project();
    start(&project, "s", &["--check", check]).output().expect(0);
    project
}

/// Cheats and claims. Returns the answer of the hook.
fn cheat_and_claim(project: &Project, agent_script: &str) -> Value {
    let done =
        std::process::Command::new("sh").args(["-c", agent_script]).current_dir(project.root()).status().unwrap();
    assert!(done.success());
    hook(project, "claude", &stop("s", "<promise>DONE</promise>"))
}

/// Starts a loop, cheats and claims. Returns what the agent is told.
fn claim_after(check: &str, agent_script: &str) -> String {
    let answer = cheat_and_claim(&session(check), agent_script);
    assert_eq!(answer["decision"], json!("block"), "{answer}");
    answer["reason"].as_str().unwrap().to_owned()
}

// spec: V9, H6
#[test]
fn the_check_script_is_replaced_in_a_session() {
    let printed = claim_after("sh verify.sh", "echo exit 0 > verify.sh");
    assert!(printed.contains("verify.sh was changed"), "{printed}");
}

// spec: V9, H6
#[test]
fn the_check_script_is_a_link_in_a_session() {
    let printed = claim_after("sh verify.sh", "echo exit 0 > mine; ln -sf mine verify.sh");
    assert!(printed.contains("verify.sh was replaced by a link"), "{printed}");
}

// spec: V9, H6
#[test]
fn a_git_filter_is_added_in_a_session() {
    let printed = claim_after("sh verify.sh", "echo done > work; git config filter.sly.clean cat");
    assert!(printed.contains("filter.sly.clean was added"), "{printed}");
}

// spec: V15, H6
#[test]
fn a_test_is_gutted_in_a_session() {
    let printed = claim_after("make test", "echo exit 0 > tests/check.sh");
    assert!(printed.contains("tests/check.sh was changed"), "{printed}");
}

// spec: V15, H6
#[test]
fn a_make_target_is_emptied_in_a_session() {
    let printed = claim_after("make test", "printf 'test:\\n\\t@true\\n' > Makefile");
    assert!(printed.contains("Makefile was changed"), "{printed}");
}

// spec: V15, H6
#[test]
fn a_deciding_file_appears_in_a_session() {
    let printed = claim_after("make test", "printf 'test:\\n\\t@true\\n' > GNUmakefile");
    assert!(printed.contains("GNUmakefile was added"), "{printed}");
}

// spec: V15, H6
/// The base is the tree at loop start, so a commit does not help.
#[test]
fn a_gutted_test_is_committed_in_a_session() {
    let printed = claim_after("make test", &format!("echo exit 0 > tests/check.sh; {COMMIT}"));
    assert!(printed.contains("tests/check.sh was changed"), "{printed}");
}

// spec: V15, H6
#[test]
fn the_second_claim_with_a_gutted_test_ends_the_session_loop() {
    let project = session("make test");
    cheat_and_claim(&project, "echo exit 0 > tests/check.sh");
    let answer = cheat_and_claim(&project, "echo 'exit 0 # again' > tests/check.sh");
    assert_eq!(answer["decision"], Value::Null, "the loop ends: {answer}");
    let notice = answer["systemMessage"].as_str().unwrap();
    assert!(notice.contains("changed protected tests twice") && !notice.contains("Complete!"), "{notice}");
}
