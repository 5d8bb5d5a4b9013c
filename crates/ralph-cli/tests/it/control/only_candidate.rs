//! Commands without an id take the only candidate, and name all of them if there are several.
use crate::background_run::{BackgroundRun, detach};
use crate::harness::{CallOutput, Project};

fn ralph(project: &Project, args: &[&str]) -> CallOutput {
    // The run is active.
    project.ralph(args).start().wait_without_invariants()
}

fn start_two_runs(project: &Project) -> [BackgroundRun; 2] {
    let first = detach(project, &["hang"], &["--check", "true", "--parallel"]);
    project.wait_for("ready");
    std::fs::remove_file(project.outside("ready")).unwrap();
    let second = detach(project, &["hang"], &["--check", "true", "--parallel"]);
    project.wait_for("ready");
    [first, second]
}

// spec: U11
// finding: N50
#[test]
fn the_only_active_loop_needs_no_id() {
    let project = Project::new();
    let run = detach(&project, &["hang"], &["--check", "true"]);
    project.wait_for("ready");
    let short = &run.run[run.run.len() - 8..];
    let guided = ralph(&project, &["guide", "Look at the lexer"]).expect(0).stdout;
    assert!(guided.contains(short), "it says which loop: {guided}");
    let paused = ralph(&project, &["pause", "--now"]).expect(0).stdout;
    assert!(paused.contains(short), "{paused}");
    let cancelled = ralph(&project, &["cancel"]).expect(0).stdout;
    assert!(cancelled.contains(short), "{cancelled}");
    assert_eq!(run.wait_and_show(&project)["outcome"], "cancelled");
    for command in [&["pause"][..], &["cancel"], &["guide", "More"], &["attach"]] {
        let refused = project.ralph(command).output().expect(1).stderr;
        assert!(refused.contains("is active in this project"), "{command:?}: {refused}");
    }
}

// spec: U11
// finding: N50
#[test]
fn several_active_loops_are_listed() {
    let project = Project::new();
    let runs = start_two_runs(&project);
    for command in [&["pause"][..], &["cancel"], &["guide", "More"], &["attach"]] {
        let refused = ralph(&project, command).expect(64).stderr;
        for run in &runs {
            let short = &run.run[run.run.len() - 8..];
            assert!(refused.contains(&format!("{short}  do the work")), "{command:?}: {refused}");
        }
    }
    for run in &runs {
        ralph(&project, &["kill", &run.run]).expect(0);
    }
    for run in runs {
        assert_eq!(run.wait_and_show(&project)["outcome"], "cancelled");
    }
}

// spec: U11
#[test]
fn an_id_without_guidance_is_not_sent_as_guidance() {
    let project = Project::new();
    let run = detach(&project, &["hang"], &["--check", "true"]);
    project.wait_for("ready");
    let refused = ralph(&project, &["guide", &run.run]).expect(64).stderr;
    assert!(refused.contains("is missing") && refused.contains("ralph guide"), "{refused}");
    ralph(&project, &["cancel"]).expect(0);
    run.wait_and_show(&project);
}

// spec: U11
#[test]
fn undo_without_an_id_takes_only_the_only_run() {
    let project = Project::new();
    project.commit();
    let change = "echo changed > file; echo '<promise>COMPLETE</promise>'";
    project.run_shell(change).args(["--check", "test -e file"]).output().expect(0);
    project.ralph(["undo"]).output().expect(0);
    assert!(!project.root().join("file").exists());
    project.run_shell(change).args(["--check", "test -e file"]).output().expect(0);
    let refused = project.ralph(["undo"]).output().expect(64).stderr;
    assert!(refused.contains("there are several runs") && refused.contains("do the work"), "{refused}");
    assert!(project.root().join("file").exists());
}

// spec: U11
#[test]
fn accept_and_reject_without_an_id_say_that_no_claim_waits() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let refused = project.ralph(["accept"]).output().expect(1).stderr;
    assert!(refused.contains("no claim waits for a decision"), "{refused}");
}
