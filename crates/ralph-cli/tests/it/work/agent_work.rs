//! The work of an agent in the work tree of a task: who commits it, and that a rejection is answered with a change.
use std::fs;

use crate::harness::Project;
use crate::work::pipeline::{ROLE_AGENT, git, project, shown, work, write_agent_command};

/// Makes the coder run these lines instead of its own.
fn replace_coder(project: &Project, lines: &str) {
    let coder = format!("coder) {lines}; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit;;");
    project.shell(&ROLE_AGENT.replace("case $role in", &format!("case $role in {coder} esac; case $role in")));
}

// spec: V13
// finding: N14
#[test]
fn ralph_commits_what_the_coder_left_uncommitted() {
    let project = project(&[("T-1", "")]);
    replace_coder(&project, "echo x > done-T-1");
    let answer = work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "accepted");
    assert_eq!(git(&project, &["show", "ralph/T-1:done-T-1"]).trim(), "x");
    let log = git(&project, &["log", "--format=%s|%(trailers:key=Committed-By-Ralph,valueonly)", "ralph/T-1"]);
    assert!(log.contains("T-1: work of coder|before verification"), "{log}");
}

// spec: V13
#[test]
fn secret_shaped_and_large_files_are_left_out_and_named() {
    let project = project(&[("T-1", "")]);
    replace_coder(
        &project,
        "echo x > done-T-1; echo TOKEN=1 > .env; head -c 6000000 /dev/zero > big; echo out > .gitignore; echo y > out",
    );
    let answer = work(&project, &["--until-idle"]).output().expect(0);
    let warnings = answer.events_named("warning");
    let expected = "left out of the commit: .env looks like a secret, big is larger than 5 MB";
    assert!(warnings.iter().any(|warning| warning["message"].as_str().unwrap().contains(expected)), "{warnings:?}");
    let files = git(&project, &["ls-tree", "--name-only", "ralph/T-1"]);
    let expected: Vec<&str> =
        files.lines().filter(|name| [".env", "big", "out", ".gitignore", "done-T-1"].contains(name)).collect();
    assert_eq!(expected, [".gitignore", "done-T-1"], "{files}");
}

// spec: V13
#[test]
fn the_agent_must_commit_if_the_configuration_says_so() {
    let project = project(&[("T-1", "")]);
    replace_coder(&project, "echo x > done-T-1");
    let answer = work(&project, &["--until-idle"])
        .env("RALPH_PIPELINE_COMMIT", "agent")
        .env("RALPH_CODER_MAX_ITERATIONS", "1")
        .env("RALPH_PIPELINE_MAX_ATTEMPTS", "1")
        .output()
        .expect(3);
    let reason = answer.events_named("verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("nothing was committed since the work on the task began: done-T-1"), "{reason}");
}

// spec: V13
// finding: N15
#[test]
fn a_coder_that_ignores_a_rejection_is_not_accepted_in_the_next_attempt() {
    let project = project(&[("T-1", "")]);
    replace_coder(&project, "[ -e done-T-1 ] || echo x > done-T-1");
    write_agent_command(&project, "wish-reject-T-1-reviewer");
    let answer = work(&project, &["--until-idle"])
        .env("RALPH_CODER_MAX_ITERATIONS", "1")
        .env("RALPH_PIPELINE_MAX_ATTEMPTS", "2")
        .output()
        .expect(3);
    let verdicts = answer.events_named("verdict");
    let words: Vec<_> = verdicts.iter().map(|verdict| verdict["verdict"].as_str().unwrap()).collect();
    assert_eq!(words, ["accepted", "rejected", "rejected"]);
    assert!(verdicts[2]["reason"].as_str().unwrap().contains("since the work was sent back"), "{}", verdicts[2]);
    assert_eq!(shown(&project, "T-1")["status"], "blocked");
    let prompt = fs::read_to_string(project.outside("marks/prompt-T-1-coder")).unwrap();
    assert!(prompt.contains("## The Work Was Sent Back\n\nThe reason: there is no test for T-1\n"), "{prompt}");
    project.ralph(["retry", "T-1"]).output().expect(0);
    let retried = work(&project, &["--until-idle"])
        .env("RALPH_CODER_MAX_ITERATIONS", "1")
        .env("RALPH_PIPELINE_MAX_ATTEMPTS", "1")
        .output()
        .expect(3);
    assert_eq!(retried.events_named("verdict")[0]["verdict"], "rejected", "a retry does not answer the rejection");
}

// spec: V13
// finding: N15
#[test]
fn a_change_of_an_earlier_attempt_answers_a_rejection() {
    let project = project(&[("T-1", "")]);
    // After the rejection, the coder changes something in one attempt, crashes, and changes nothing in the next one.
    let rework = "if [ -e rework ]; then :; elif [ -e done-T-1 ]; then echo y > rework; commit rework; exit 7; \
                  else echo x > done-T-1; fi";
    replace_coder(&project, rework);
    write_agent_command(&project, "wish-reject-T-1-reviewer");
    let call = work(&project, &["--until-idle", "--max-retries", "0"]).env("RALPH_PIPELINE_MAX_ATTEMPTS", "3");
    call.output().expect(0);
    assert_eq!(shown(&project, "T-1")["status"], "done");
}
