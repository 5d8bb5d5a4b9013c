//! The memory ceiling of an agent: its whole tree is weighed, and killed when it is too heavy.
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{FAKE_AGENT, Project, let_pass};

// spec: A7
#[test]
fn an_agent_that_has_too_much_memory_together_with_its_child_is_killed_and_fails_with_the_reason() {
    let project = Project::new();
    let limits = ["--max-memory", "150M", "--max-retries", "0"];
    let answer = project.run(&["eat-memory", "200"]).args(limits).output().expect(4);
    let result = &answer.named("attempt.ended")[0]["result"];
    assert_eq!((&result["ending"]["how"], &result["ending"]["limit_mb"]), (&"over_memory".into(), &150.into()));
    let used = result["ending"]["used_mb"].as_u64().unwrap();
    assert!((151..=300).contains(&used), "one half of it is 100 MB: {used}");
    assert_eq!(result["leftovers"]["killed"], 2);
    let finished = answer.finished();
    assert_eq!(finished["outcome"], "failed");
    assert_eq!(finished["reason"], format!("the agent used {used} MB, more than the 150 MB allowed"));
}

// spec: A7, L5
#[test]
fn an_agent_that_had_too_much_memory_once_is_tried_again() {
    let project = Project::new();
    let eat = format!("test -e ../again || {{ touch ../again; exec {FAKE_AGENT} eat-memory 200; }}");
    let agent = format!("{eat}\necho '<promise>COMPLETE</promise>'");
    let answer = project.run_shell(&agent).args(["--max-memory", "150M"]).output().expect(0);
    let retries = answer.named("retry.scheduled");
    assert_eq!(retries.len(), 1);
    let reason = retries[0]["reason"].as_str().unwrap();
    assert!(reason.ends_with("MB, more than the 150 MB allowed"), "{reason}");
}

// spec: A7
#[test]
fn an_agent_below_its_ceiling_is_left_alone() {
    let project = Project::new();
    let running = project.run(&["eat-memory", "100"]).args(["--max-memory", "1G"]).start();
    project.wait_for("ready");
    let_pass(Duration::from_millis(1_700));
    assert_eq!(project.processes_of_runs().len(), 2);
    running.signal(Signal::TERM);
    running.wait().expect(143);
}

// spec: A7, U1
#[test]
fn a_ceiling_that_is_no_amount_of_memory_is_refused_before_anything_starts() {
    let project = Project::new();
    for (size, words) in [
        ("0", "leave it out for no limit"),
        ("lots", "write 512M or 4G"),
        ("4294967296", "a bare number is MB, not bytes"),
    ] {
        let answer = project.run(&["complete"]).args(["--max-memory", size]).output().expect(64);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
        assert!(project.starts().is_empty());
    }
}

// fault: 9
// spec: A4
#[test]
fn a_flood_does_not_bring_ralph_to_the_memory_that_it_may_have() {
    let project = Project::new();
    // An address is not a page: threads and SQLite reserve far more than they use.
    let answer = project.run(&["flood", "300"]).under("prlimit", ["--as=700000000"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert!(answer.peak_memory_kb < 200_000, "I7: {} KB", answer.peak_memory_kb);
}

// fault: 9
// spec: L13
#[test]
fn a_ralph_that_the_kernel_kills_in_the_middle_of_a_flood_goes_on_later() {
    let project = Project::new();
    let agent =
        "test -e ../again || { touch ../again; echo begun > ../begun; exec yes; }; echo '<promise>COMPLETE</promise>'";
    let run = project.run_shell(agent).start();
    project.wait_for("begun");
    run.signal(Signal::KILL);
    run.wait_without_invariants();
    crate::harness::wait_until("the agent is gone", || project.processes_of_runs().is_empty());
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
}
