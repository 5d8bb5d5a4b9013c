//! Cheats in a loop inside a session: the same seal holds there.
use serde_json::json;

use super::Cheat;
use crate::sessions::hooks::{hook, start, stop};

const VERIFY: &[&str] = &["sh verify.sh"];

/// Starts a loop, cheats and claims. Returns what the agent is told.
fn claim_after(agent_script: &str, more: &[&str]) -> String {
    let project = Cheat::new(VERIFY, "").project();
    start(&project, "s", &["--check", "sh verify.sh"]).args(more).output().expect(0);
    let done =
        std::process::Command::new("sh").args(["-c", agent_script]).current_dir(project.root()).status().unwrap();
    assert!(done.success());
    let answer = hook(&project, "claude", &stop("s", "<promise>DONE</promise>"));
    assert_eq!(answer["decision"], json!("block"), "{answer}");
    answer["reason"].as_str().unwrap().to_owned()
}

// spec: V9, H6
#[test]
fn the_check_script_is_replaced_in_a_session() {
    let printed = claim_after("echo exit 0 > verify.sh", &[]);
    assert!(printed.contains("verify.sh was changed"), "{printed}");
}

// spec: V9, H6
#[test]
fn the_check_script_is_a_link_in_a_session() {
    let printed = claim_after("echo exit 0 > mine; ln -sf mine verify.sh", &[]);
    assert!(printed.contains("verify.sh was replaced by a link"), "{printed}");
}

// spec: V9, H6
#[test]
fn a_git_filter_is_added_in_a_session() {
    let printed = claim_after("echo done > work; git config filter.sly.clean cat", &[]);
    assert!(printed.contains("filter.sly.clean was added"), "{printed}");
}
