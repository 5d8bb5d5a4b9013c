//! `ralph gc`: old logs go, journals stay, and nothing that is going on is touched.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::harness::{Project, wait_until};

/// Everything that has ended is older than this.
const AT_ONCE: [&str; 3] = ["gc", "--older-than", "1ms"];

fn folders(project: &Project) -> Vec<PathBuf> {
    let runs = fs::read_dir(project.state().join("runs")).unwrap();
    let mut folders: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
    folders.sort();
    folders
}

// spec: D5
#[test]
fn the_logs_of_old_runs_go_and_their_journal_stays() {
    let project = Project::new();
    project.run(&["complete"]).args(["--check", "true"]).output().expect(0);
    let nothing = project.ralph(["gc"]).output().expect(0);
    assert_eq!(nothing.stdout, "removed the logs of 0 runs: 0 bytes\n");
    let planned = project.ralph(AT_ONCE).args(["--dry-run", "--json"]).output().expect(0).json();
    assert_eq!((&planned["dry_run"], folders(&project).len()), (&true.into(), 1));
    let done = project.ralph(AT_ONCE).args(["--json"]).output().expect(0).json();
    assert_eq!(done["runs"], planned["runs"]);
    assert!(done["freed_bytes"].as_u64().unwrap() > 0, "{done}");
    assert_eq!(folders(&project).len(), 0);
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["outcome"], "completed");
    let again = project.ralph(AT_ONCE).output().expect(0);
    assert_eq!(again.stdout, "removed the logs of 0 runs: 0 bytes\n");
    project.run(&["complete"]).output().expect(0);
}

// spec: D5
#[test]
fn a_run_that_is_going_on_is_never_touched() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let running = project.run(&["hang"]).start();
    project.wait_for("ready");
    let gone = project.ralph(AT_ONCE).args(["--all"]).start().wait_without_invariants().expect(0);
    assert!(gone.stdout.contains("forgot 1 run: "), "{}", gone.stdout);
    assert_eq!(folders(&project).len(), 1);
    running.signal(Signal::TERM);
    running.wait().expect(143);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["status"]), (1, &"interrupted".into()));
}

// spec: D5
#[test]
fn a_run_whose_ralph_was_killed_counts_as_ended() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    project.wait_for("ready");
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("the agent is gone", || project.processes_of_runs().is_empty());
    let spared = project.ralph(["gc"]).output().expect(0);
    assert_eq!(spared.stdout, "removed the logs of 0 runs: 0 bytes\n");
    let done = project.ralph(AT_ONCE).args(["--json"]).output().expect(0).json();
    assert_eq!((done["runs"].as_array().unwrap().len(), folders(&project).len()), (1, 0));
}

// spec: D5
#[test]
fn the_newest_are_spared_and_all_forgets_the_rest_for_good() {
    let project = Project::new();
    for _ in 0..3 {
        project.run(&["complete"]).output().expect(0);
    }
    let newest = folders(&project).pop().unwrap();
    project.ralph(AT_ONCE).args(["--keep", "1", "--all"]).output().expect(0);
    assert_eq!(folders(&project), [newest]);
    assert_eq!(project.ralph(["runs", "--json"]).output().expect(0).json().as_array().unwrap().len(), 1);
}

// fault: 62
// spec: D5
#[test]
fn a_link_in_the_place_of_a_run_is_reported_and_left_alone() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let run = folders(&project).pop().unwrap();
    let precious = project.outside("precious");
    fs::rename(&run, &precious).unwrap();
    symlink(&precious, &run).unwrap();
    let answer = project.ralph(AT_ONCE).start().wait_without_invariants().expect(10);
    assert!(
        answer.stderr.contains("is not a folder of ralph's own but a link or a file"),
        "{}",
        answer.stderr
    );
    assert!(precious.join("iteration-001.ndjson").exists());
}

// fault: 41
// spec: D5
#[test]
fn ends_of_logs_that_a_killed_ralph_left_go_from_runs_that_have_ended() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let run = folders(&project).pop().unwrap();
    let left = run.join("iteration-001.ndjson.tail-3");
    fs::write(&left, "half a line").unwrap();
    project.make_private(&left);
    let done = project.ralph(["gc", "--json"]).output().expect(0).json();
    assert_eq!((&done["freed_bytes"], left.exists()), (&11.into(), false));
    assert!(run.join("iteration-001.ndjson").exists());
}

// spec: D5
#[test]
fn a_project_without_runs_has_nothing_to_remove() {
    let project = Project::new();
    assert_eq!(project.ralph(["gc"]).output().expect(0).stdout, "removed the logs of 0 runs: 0 bytes\n");
}
