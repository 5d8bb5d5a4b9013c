//! `ralph work`: which tasks it takes, which it skips, and how it reports that.
use std::fs;

use serde_json::json;

use crate::work::pipeline::{git, project, starts, statuses, text, work};

// spec: P1
#[test]
fn only_named_tasks_are_taken_and_unknown_ones_are_refused_with_a_suggestion() {
    let project = project(&[("TASK-001", ""), ("TASK-002", "")]);
    let refused = work(&project, &["TASK-003"]).output().expect(64);
    assert!(refused.stderr.contains("there is no task \"TASK-003\" here"), "{}", refused.stderr);
    assert!(refused.stderr.contains("did you mean TASK-00"), "{}", refused.stderr);
    work(&project, &["TASK-002"]).output().expect(0);
    let expected = [("TASK-001", "todo"), ("TASK-002", "done")];
    assert_eq!(statuses(&project), expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
}

// spec: P1
#[test]
fn named_tasks_that_cannot_become_ready_end_the_work_with_the_reason() {
    let project = project(&[("T-1", ""), ("T-2", "  dependencies: [T-1]\n"), ("T-3", "")]);
    let why = |args: &[&str], code: i32| {
        let left = work(&project, args).output().expect(code).events_named("task.left");
        left.iter().map(|event| text(&event["reason"])).collect::<Vec<_>>()
    };
    assert_eq!(why(&["T-2"], 3), ["it waits for T-1, which was not requested"]);
    project.ralph(["task", "edit", "T-3", "--status", "blocked"]).output().expect(0);
    assert_eq!(why(&["T-3"], 3), ["it is blocked; `ralph retry T-3` makes it ready again"]);
    assert_eq!(starts(&project), [] as [&str; 0]);
    assert!(why(&["T-2", "T-1"], 0).is_empty(), "the one waits for the other");
    assert_eq!(why(&["T-1"], 0), ["it is already done"]);
}

// spec: P2, G2
#[test]
fn the_stages_come_from_the_configuration_and_invalid_ones_are_refused() {
    let project = project(&[("T-1", "")]);
    for wrong in ["coder,coder", "no role"] {
        let refused = work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", wrong).output().expect(1);
        assert!(refused.stderr.contains("pipeline.stages"), "{}", refused.stderr);
    }
    work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "tester,coder").output().expect(3);
    assert_eq!(starts(&project)[0], "T-1 tester");
}

// spec: T7, P6
#[test]
fn a_task_refused_for_missing_criteria_gets_neither_tree_nor_branch() {
    let project = project(&[]);
    project.ralph(["task", "create", "T-1", "s", "x", "--no-criteria"]).output().expect(0);
    let answer = work(&project, &["--until-idle", "--require-criteria"]).output().expect(3);
    assert_eq!(answer.events_named("task.left").len(), 1);
    assert_eq!(git(&project, &["for-each-ref", "refs/ralph", "refs/heads/ralph"]), "");
}

// spec: P1, V7
#[test]
fn a_task_whose_last_stage_cannot_start_is_skipped_before_anything_is_spent() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    project.ralph(["task", "edit", "T-1", "--qa-verify", "semantic", "--qa-verify-config", "{}"]).output().expect(0);
    let judge = "verification: {judge: {agent: judge}}\nagents: {judge: {type: text, cli: no-such-judge}}\n";
    let config = project.outside("judge.yaml");
    fs::write(&config, judge).unwrap();
    let answer = work(&project, &["--until-idle", "--config", config.to_str().unwrap()]).output().expect(3);
    let left = answer.events_named("task.left");
    let why = text(&left[0]["reason"]);
    assert_eq!((left.len(), &left[0]["task"]), (1, &json!("T-1")));
    assert!(why.starts_with("qa: no-such-judge was not found"), "{why}");
    assert!(why.contains("verification.judge.agent"), "it says how to mend it: {why}");
    assert!(starts(&project).iter().all(|start| start.starts_with("T-2 ")), "{:?}", starts(&project));
    assert_eq!(git(&project, &["for-each-ref", "refs/ralph/T-1", "refs/heads/ralph/T-1"]), "");
}

// spec: P1
// finding: N19
#[test]
fn a_worker_names_the_uncommitted_files_that_its_tasks_do_not_include_and_when_it_ends() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    let agent = project.outside("agent.sh").display().to_string();
    let work = |task: &str| project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, task]).output().expect(0);
    let clean = work("T-1").stderr;
    assert!(!clean.contains("work starts from commit"), "{clean}");
    assert!(clean.contains("1 task at a time · until this task has ended"), "{clean}");
    project.write("mine", "not committed");
    project.write("other", "not committed");
    let dirty = work("T-2").stderr;
    let commit = git(&project, &["rev-parse", "--short=12", "HEAD"]);
    let expected = format!("work starts from commit {commit}; 2 uncommitted files are not included");
    assert!(dirty.contains(&expected), "{dirty}");
}
