//! Runs that get nowhere end by themselves, and those that get on do not.
use std::fs;

use crate::harness::{Call, Project};

/// Prepares a run of a scripted agent for which the breaker has its usual setting.
fn watched<'a>(project: &'a Project, script: &str) -> Call<'a> {
    project.agents(&[("mine", script)], "");
    project.run_mine().with(usual)
}

/// Takes back what the tests say about stalls.
fn usual(command: &mut std::process::Command) {
    command.env_remove("RALPH_STALL_ITERATIONS");
}

const TALK: &str = "init\nsay thinking about it\nresult thinking about it\n";

// spec: L9, C6
// fault: 90
#[test]
fn three_iterations_that_change_nothing_end_a_run_as_stalled() {
    let project = Project::new();
    let answer = watched(&project, TALK).output().expect(8);
    let end = answer.finished();
    assert_eq!((&end["outcome"], &end["iterations"]), (&"stalled".into(), &3.into()));
    assert!(end["reason"].as_str().unwrap().starts_with("3 iterations in a row changed no file"), "{end}");
    assert_eq!(project.starts().len(), 3);
}

// spec: L9
#[test]
fn the_last_prompt_before_that_says_so_and_the_agent_begins_afresh() {
    let project = Project::new();
    let [second, third] = ["second", "third"].map(|name| project.outside(name));
    let keep = |path: &std::path::Path| format!("prompt {}\nconverse still thinking\n", path.display());
    let script = format!("converse thinking\n---\n{}---\n{}", keep(&second), keep(&third));
    watched(&project, &script).args(["--continue"]).output().expect(8);
    let [second, third] = [second, third].map(|path| fs::read_to_string(path).unwrap());
    assert!(second.contains("[RALPH LOOP - ITERATION 2/10]"), "{second}");
    assert!(third.contains("## Nothing has changed"), "{third}");
    assert!(third.starts_with("do the work"), "the whole prompt again: {third}");
}

// spec: L9
// fault: 90
#[test]
fn an_agent_that_writes_commits_or_keeps_its_accounts_gets_on() {
    let project = Project::new();
    project.write(".gitignore", "prd.json\n");
    project.commit();
    let on = "append notes.txt line {n}\n";
    let steps = [on, "commit the notes\n", "append prd.json {n}\n", on];
    let script = steps.map(|step| format!("{step}{TALK}")).join("---\n");
    let answer = watched(&project, &script).args(["--max-iterations", "4", "--stall", "1"]).output().expect(3);
    assert_eq!(answer.finished()["outcome"], "exhausted");
}

// spec: L9
// fault: 90
#[test]
fn what_is_ignored_or_written_again_as_it_was_is_nothing() {
    let project = Project::new();
    project.write(".gitignore", "*.log\n");
    project.write("report", "the same\n");
    project.commit();
    let script = format!("append run.log {{n}}\nwrite report the same\n{TALK}");
    let answer = watched(&project, &script).output().expect(8);
    assert!(answer.finished()["iterations"].as_i64().unwrap() <= 4, "fooled once at most");
}

// spec: L9
#[test]
fn what_the_checks_leave_is_no_movement_of_the_agent_s() {
    let project = Project::new();
    let claim = "init\nsay All done.\\n\\n{promise}\nresult All done.\\n\\n{promise}\n";
    let call = watched(&project, claim).args(["--check", "date >> checked.txt; exit 1"]);
    let answer = call.output().expect(8);
    assert_eq!(answer.named("verdict").len(), 3, "claims are verified first");
}

// spec: L9
#[test]
fn classic_mode_may_stand_still_unless_it_is_told_otherwise() {
    let project = Project::new();
    project.write("prompt.md", "do it <promise>COMPLETE</promise>\n");
    project.commit();
    project.agents(&[("mine", TALK)], "");
    let plain = |more: &[&str]| {
        let call = project.ralph(["prompt", "prompt.md", "5", "--agent", "mine", "--json"]);
        let call = call.args(more).with(usual);
        call.output()
    };
    assert_eq!(plain(&[]).expect(0).finished()["iterations"], 5);
    assert_eq!(plain(&["--stall", "2"]).expect(8).finished()["iterations"], 2);
}
