//! `ralph gc`: removes old logs, keeps journals, and does not touch active runs.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::harness::{FAKE_AGENT, Project, wait_until};

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
fn the_logs_of_old_runs_are_removed_and_their_journal_stays() {
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
fn an_active_run_is_never_touched() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let running = project.run(&["hang"]).start();
    project.wait_for("ready");
    let gone = project.ralph(AT_ONCE).args(["--all"]).start().wait_without_invariants().expect(0);
    assert!(gone.stdout.contains("removed 1 run: "), "{}", gone.stdout);
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
fn the_newest_runs_are_kept_and_all_deletes_the_rest() {
    let project = Project::new();
    for _ in 0..3 {
        project.run(&["complete"]).output().expect(0);
    }
    let newest = folders(&project).pop().unwrap();
    project.ralph(AT_ONCE).args(["--keep", "1", "--all"]).output().expect(0);
    assert_eq!(folders(&project), [newest]);
    assert_eq!(project.ralph(["runs", "--json"]).output().expect(0).json().as_array().unwrap().len(), 1);
}

// spec: D5
#[test]
fn a_run_without_its_folder_is_deleted_too_unless_it_is_active() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let running = project.run(&["hang"]).start();
    project.wait_for("ready");
    fs::remove_dir_all(project.state().join("runs")).unwrap();
    let listed = || {
        let runs = project.ralph(["runs", "--json"]).start().wait_without_invariants().expect(0).json();
        runs.as_array().unwrap().len()
    };
    let gone = project.ralph(AT_ONCE).args(["--all"]).start().wait_without_invariants().expect(0);
    assert!(gone.stdout.contains("removed 1 run: 0 bytes"), "{}", gone.stdout);
    assert_eq!(listed(), 1, "the other one is active");
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("the agent is gone", || project.processes_of_runs().is_empty());
    let gone = project.ralph(AT_ONCE).args(["--all"]).output().expect(0);
    assert!(gone.stdout.contains("removed 1 run: 0 bytes"), "{}", gone.stdout);
    assert_eq!(listed(), 0);
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
    assert!(answer.stderr.contains("is a link or a file, not a folder that ralph created"), "{}", answer.stderr);
    assert!(precious.join("iteration-001.ndjson").exists());
}

// fault: 41
// spec: D5
#[test]
fn logs_left_in_parts_by_a_killed_ralph_are_joined() {
    let project = Project::new();
    let flood = project.shell("yes 'a line of some length' | head -c 3000000; touch ../flooded; sleep 1000");
    let agent = ["run", "x", "--agent", "text", "--agent-cmd", &flood, "--log-limit", "1M", "--json"];
    let running = project.ralph(agent).start();
    let pieces = || {
        let files = folders(&project).into_iter().flat_map(|run| fs::read_dir(run).unwrap());
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".tail-")).count()
    };
    project.wait_for("flooded");
    wait_until("the end of the log is in pieces", || pieces() == 9);
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    wait_until("the agent is gone", || project.processes_of_runs().is_empty());
    let left = pieces();
    assert!(left >= 8, "one may just have been removed, and the parts are not joined yet: {left}");
    let planned = project.ralph(["gc", "--dry-run", "--json"]).output().expect(0).json();
    assert_eq!((&planned["joined_logs"], pieces()), (&1.into(), left));
    let done = project.ralph(["gc"]).output().expect(0).stdout;
    assert!(done.ends_with("joined the fragments of 1 log\n"), "{done}");
    assert_eq!(pieces(), 0);
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    let (head, end) = log.split_once("\n{\"type\":\"ralph.cut\",\"missing_bytes\":null}\n").unwrap();
    assert!(head.starts_with("a line of some length\n") && end.contains("\na line of some length\n"));
    assert!(log.len() > 300_000 && end.len() > 40_000, "{} and {}", log.len(), end.len());
}

// spec: D5, L16
#[test]
fn notes_are_kept_and_deleted_with_the_journal() {
    let project = Project::new();
    project.run_shell("echo remember > $NOTES_FILE; echo '<promise>COMPLETE</promise>'").output().expect(0);
    let is_note = |path: PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let folder = project.root().join(".ralph/notes");
    let count = || fs::read_dir(&folder).unwrap().filter(|file| is_note(file.as_ref().unwrap().path())).count();
    project.ralph(AT_ONCE).output().expect(0);
    assert_eq!(count(), 1, "a run that is shown still has its notes");
    let done = project.ralph(AT_ONCE).args(["--all", "--json"]).output().expect(0).json();
    assert_eq!((&done["freed_bytes"], count()), (&9.into(), 0));
}

// spec: D5
#[test]
fn a_project_without_runs_has_nothing_to_remove() {
    let project = Project::new();
    assert_eq!(project.ralph(["gc"]).output().expect(0).stdout, "removed the logs of 0 runs: 0 bytes\n");
}

// spec: D5, C5
#[test]
fn the_session_logs_of_old_runs_are_removed_with_their_raw_logs_and_other_files_stay() {
    let project = Project::new();
    let prompt = project.write("go.md", "Do it.\n<promise>COMPLETE</promise>\n");
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete"];
    let logs = project.root().join(".ralph/logs");
    let run = || project.ralph(["prompt".as_ref(), prompt.as_os_str()]).args(agent).output().expect(0);
    let names = || {
        let names = fs::read_dir(&logs).unwrap().map(|log| log.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("session-")).collect();
        names.sort();
        names
    };
    run();
    let first = names();
    run();
    let second: Vec<String> = names().into_iter().filter(|name| !first.contains(name)).collect();
    assert_eq!((first.len(), second.len()), (1, 1), "{first:?} {second:?}");
    fs::write(logs.join("session-mine.log"), "mine").unwrap();
    let precious = project.outside("precious");
    fs::write(&precious, "x").unwrap();
    let list = folders(&project)[0].join("session-logs");
    let listed = fs::read_to_string(&list).unwrap();
    fs::write(&list, format!("{listed}../../../precious\nsession-/../../../../precious.log\n")).unwrap();
    let planned = project.ralph(AT_ONCE).args(["--keep", "1", "--json", "--dry-run"]).output().expect(0).json();
    let logged = fs::metadata(logs.join(&first[0])).unwrap().len();
    assert!(planned["freed_bytes"].as_u64().unwrap() > logged, "{planned}");
    assert_eq!(names().len(), 3);
    project.ralph(AT_ONCE).args(["--keep", "1"]).output().expect(0);
    assert_eq!(names(), [second[0].as_str(), "session-mine.log"]);
    project.ralph(AT_ONCE).args(["--all"]).output().expect(0);
    assert_eq!(names(), ["session-mine.log"]);
    assert!(precious.exists());
}
