//! `ralph task delete` removes branches and trees of a task unless work would be lost.
use rustix::process::Signal;

use crate::harness::{Project, wait_until};
use crate::process_table::state_of;
use crate::work::pipeline::{git, project, start_held_worker, starts, statuses, work};

/// A project whose only task is done, in its own tree.
fn done() -> Project {
    let project = project(&[("T-1", "")]);
    work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    project
}

fn refs(project: &Project) -> String {
    git(project, &["for-each-ref", "--format=%(refname)", "refs/ralph/T-1", "refs/heads/ralph"])
}

fn trees(project: &Project) -> usize {
    git(project, &["worktree", "list"]).lines().count()
}

// spec: P6, T1
#[test]
fn a_landed_task_is_deleted_completely_and_its_id_can_be_reused() {
    let project = done();
    project.git(&["merge", "--quiet", "ralph/T-1"]);
    let printed = project.ralph(["task", "delete", "T-1"]).output().expect(0).stdout;
    assert!(printed.starts_with("deleted task T-1\nremoved the work tree "), "{printed}");
    assert_eq!((refs(&project).as_str(), trees(&project), statuses(&project).len()), ("", 1, 0));
    project.ralph(["task", "import", project.outside("T-1.yaml").to_str().unwrap()]).output().expect(0);
    work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    assert_eq!(git(&project, &["show", "ralph/T-1:done-T-1"]), "T-1\nT-1");
}

// spec: P6, T1
#[test]
fn work_that_is_not_merged_is_named_and_stays() {
    let project = done();
    let before = (refs(&project), trees(&project));
    let refused = project.ralph(["task", "delete", "T-1"]).output().expect(1).stderr;
    assert!(refused.contains("the branch ralph/T-1: it has commits that are not merged"), "{refused}");
    assert!(refused.contains("--leave-work"), "{refused}");
    assert_eq!(statuses(&project).len(), 1);
    let printed = project.ralph(["task", "delete", "T-1", "--leave-work"]).output().expect(0).stdout;
    assert!(printed.contains("kept the branch ralph/T-1"), "{printed}");
    assert_eq!((refs(&project), trees(&project)), before);
    assert_eq!(statuses(&project).len(), 0);
}

// spec: P6, T1
#[test]
fn several_tasks_are_deleted_together_or_not_at_all() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    work(&project, &["T-1"]).env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    project.git(&["merge", "--quiet", "ralph/T-1"]);
    work(&project, &["T-2"]).env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    project.ralph(["task", "delete", "T-1", "T-2"]).output().expect(1);
    assert_eq!((statuses(&project).len(), trees(&project)), (2, 3), "nothing was touched");
    work(&project, &["--until-idle"]).output().expect(0);
}

// spec: L14, T1
#[test]
fn a_leased_task_is_not_deleted_and_a_changing_one_is_not_leased() {
    let project = project(&[("T-1", "")]);
    let running = start_held_worker(&project, "coder", work(&project, &["--until-idle"]));
    let refused = project.ralph(["task", "delete", "T-1", "--leave-work"]).start().wait_without_invariants();
    assert!(refused.expect(1).stderr.contains("ralph cancel T-1"));
    running.signal(Signal::INT);
    running.wait().expect(130);
    let edit = ["task", "edit", "T-1", "--status", "cancelled"];
    let editing = project.ralph(edit).env("RALPH_FAIL", "edit.held:1:stop").start();
    wait_until("it is being changed", || state_of(editing.pid()) == Some('T'));
    let answer = work(&project, &["--until-idle"]).start().wait_without_invariants().expect(0);
    assert!(answer.events_named("task.taken").is_empty(), "{}", answer.stdout);
    editing.signal(Signal::CONT);
    editing.wait().expect(0);
    assert_eq!((statuses(&project)[0].1.as_str(), starts(&project).len()), ("cancelled", 1));
}
