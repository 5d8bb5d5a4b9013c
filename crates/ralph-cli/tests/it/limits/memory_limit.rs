//! The memory limit of an agent: the memory of its process tree is measured, and the tree is killed above the limit.
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{FAKE_AGENT, Project, let_time_pass};

// spec: A7
#[test]
fn an_agent_that_exceeds_its_memory_limit_with_its_child_is_killed_with_the_reason() {
    let project = Project::new();
    let limits = ["--max-memory", "150M", "--max-retries", "0"];
    let answer = project.run(&["eat-memory", "200"]).args(limits).output().expect(4);
    let result = &answer.events_named("attempt.ended")[0]["result"];
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
fn an_agent_that_exceeded_its_memory_limit_once_is_retried() {
    let project = Project::new();
    let eat = format!("test -e ../again || {{ touch ../again; exec {FAKE_AGENT} eat-memory 200; }}");
    let agent = format!("{eat}\necho '<promise>COMPLETE</promise>'");
    let answer = project.run_shell(&agent).args(["--max-memory", "150M"]).output().expect(0);
    let retries = answer.events_named("retry.scheduled");
    assert_eq!(retries.len(), 1);
    let reason = retries[0]["reason"].as_str().unwrap();
    assert!(reason.ends_with("MB, more than the 150 MB allowed"), "{reason}");
}

// spec: A7
#[test]
fn an_agent_below_its_memory_limit_is_not_killed() {
    let project = Project::new();
    let running = project.run(&["eat-memory", "100"]).args(["--max-memory", "1G"]).start();
    project.wait_for("ready");
    let_time_pass(Duration::from_millis(1_700));
    assert_eq!(project.processes_of_runs().len(), 2);
    running.signal(Signal::TERM);
    running.wait().expect(143);
}

// spec: A7, U1
#[test]
fn an_invalid_memory_limit_is_refused_before_anything_starts() {
    let project = Project::new();
    for (size, words) in
        [("0", "omit it for no limit"), ("lots", "write 512M or 4G"), ("4294967296", "a bare number is MB, not bytes")]
    {
        let answer = project.run(&["complete"]).args(["--max-memory", size]).output().expect(64);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
        assert!(project.starts().is_empty());
    }
}

// fault: 9
// spec: A4
#[test]
fn a_flood_of_output_stays_below_the_memory_limit_of_ralph() {
    let project = Project::new();
    // An address is not a page: threads and SQLite reserve far more than they use.
    let answer = project.run(&["flood", "300"]).run_under("prlimit", ["--as=700000000"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert!(answer.peak_memory_kb < 200_000, "I7: {} KB", answer.peak_memory_kb);
}

// fault: 9
// spec: L13
#[test]
fn a_ralph_killed_by_the_kernel_during_a_flood_can_be_resumed() {
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
