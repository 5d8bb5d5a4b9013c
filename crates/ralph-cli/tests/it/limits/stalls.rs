//! Runs without progress end as stalled, and runs with progress do not.
use std::fs;

use crate::harness::{Call, Project};

/// Prepares a run of a scripted agent with the default stall detection.
fn run_with_stall_detection<'a>(project: &'a Project, script: &str) -> Call<'a> {
    project.agents(&[("mine", script)], "");
    project.run_agent_mine().with(remove_stall_setting)
}

/// Removes the stall setting of the harness.
fn remove_stall_setting(command: &mut std::process::Command) {
    command.env_remove("RALPH_STALL_ITERATIONS");
}

const TALK: &str = "init\nsay thinking about it\nresult thinking about it\n";

// spec: L9, C6
// fault: 90
#[test]
fn three_iterations_that_change_nothing_end_a_run_as_stalled() {
    let project = Project::new();
    let answer = run_with_stall_detection(&project, TALK).output().expect(8);
    let end = answer.finished();
    assert_eq!((&end["outcome"], &end["iterations"]), (&"stalled".into(), &3.into()));
    assert!(end["reason"].as_str().unwrap().starts_with("3 iterations in a row changed no file"), "{end}");
    assert_eq!(project.starts().len(), 3);
}

// spec: L9
#[test]
fn the_last_prompt_before_a_stall_warns_and_the_agent_starts_a_new_session() {
    let project = Project::new();
    let [second, third] = ["second", "third"].map(|name| project.outside(name));
    let keep = |path: &std::path::Path| format!("prompt {}\nconverse still thinking\n", path.display());
    let script = format!("converse thinking\n---\n{}---\n{}", keep(&second), keep(&third));
    run_with_stall_detection(&project, &script).args(["--continue"]).output().expect(8);
    let [second, third] = [second, third].map(|path| fs::read_to_string(path).unwrap());
    assert!(second.contains("[RALPH LOOP - ITERATION 2/10]"), "{second}");
    assert!(third.contains("## Nothing has changed"), "{third}");
    assert!(third.starts_with("do the work"), "the whole prompt again: {third}");
}

// spec: L9
// fault: 90
#[test]
fn an_agent_that_writes_commits_or_updates_its_plan_makes_progress() {
    let project = Project::new();
    project.write(".gitignore", "prd.json\n");
    project.commit();
    let on = "append notes.txt line {n}\n";
    let steps = [on, "commit the notes\n", "append prd.json {n}\n", on];
    let script = steps.map(|step| format!("{step}{TALK}")).join("---\n");
    let answer =
        run_with_stall_detection(&project, &script).args(["--max-iterations", "4", "--stall", "1"]).output().expect(3);
    assert_eq!(answer.finished()["outcome"], "exhausted");
}

// spec: L9
// fault: 90
#[test]
fn ignored_files_and_unchanged_rewrites_are_not_progress() {
    let project = Project::new();
    project.write(".gitignore", "*.log\n");
    project.write("report", "the same\n");
    project.commit();
    let script = format!("append run.log {{n}}\nwrite report the same\n{TALK}");
    let answer = run_with_stall_detection(&project, &script).output().expect(8);
    assert!(answer.finished()["iterations"].as_i64().unwrap() <= 4, "fooled once at most");
}

// spec: L9
#[test]
fn files_written_by_checks_are_not_progress_of_the_agent() {
    let project = Project::new();
    let claim = "init\nsay All done.\\n\\n{promise}\nresult All done.\\n\\n{promise}\n";
    let call = run_with_stall_detection(&project, claim).args(["--check", "date >> checked.txt; exit 1"]);
    let answer = call.output().expect(8);
    assert_eq!(answer.events_named("verdict").len(), 3, "claims are verified first");
}

// spec: L9
#[test]
fn classic_mode_does_not_stall_unless_configured() {
    let project = Project::new();
    project.write("prompt.md", "do it <promise>COMPLETE</promise>\n");
    project.commit();
    project.agents(&[("mine", TALK)], "");
    let plain = |more: &[&str]| {
        let call = project.ralph(["prompt", "prompt.md", "5", "--agent", "mine", "--json"]);
        let call = call.args(more).with(remove_stall_setting);
        call.output()
    };
    assert_eq!(plain(&[]).expect(0).finished()["iterations"], 5);
    assert_eq!(plain(&["--stall", "2"]).expect(8).finished()["iterations"], 2);
}
