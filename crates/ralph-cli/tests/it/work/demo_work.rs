//! `ralph demo --work`: a whole specification with the scripted agent, without an account, and the morning after it.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{CallOutput, Project};
use crate::work::pipeline::{project, statuses};

fn demo_folder(project: &Project) -> PathBuf {
    let entries = fs::read_dir(project.outside("")).unwrap().map(|entry| entry.unwrap().path());
    let is_demo = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("ralph-demo-");
    entries.into_iter().find(is_demo).unwrap()
}

fn call(project: &Project, folder: &Path, args: &[&str]) -> CallOutput {
    project.ralph(args).folder(folder).start().wait_without_invariants().expect(0)
}

// spec: U2, A9, P1, P3
// finding: N21, N50
#[test]
fn the_demo_of_work_runs_a_specification_and_everything_can_be_read_and_landed_in_the_morning() {
    let project = Project::new();
    let demo = project.ralph(["demo", "--work"]).start().wait_without_invariants().expect(0);
    for line in [
        "GREET-1 coder  rejected  `sh tests/greet.sh`: Command exited with 1, expected 0",
        "GREET-2  reviewer sends the work back to coder",
        "$1 is not quoted, so a name with spaces loses its second word",
    ] {
        assert!(demo.stderr.contains(line), "{line:?} is missing in\n{}", demo.stderr);
    }
    for line in [
        "3 of 3 tasks done",
        "GREET-1  done (proven): Greet by name · 1 false claim rejected\n",
        "GREET-2  done (proven): Greet loudly · sent back 1 time\n",
        "GREET-3  done (proven): Choose how to greet\n",
        "land --dry-run GREET-1 GREET-2 GREET-3\n",
    ] {
        assert!(demo.stdout.contains(line), "{line:?} is missing in\n{}", demo.stdout);
    }
    let folder = demo_folder(&project);
    let status = call(&project, &folder, &["status"]).stdout;
    let next = "finished, not merged: GREET-1 GREET-2 GREET-3; ralph land --dry-run GREET-1 GREET-2 GREET-3\n";
    assert_eq!(status, format!("No active Ralph loops\n{next}"));
    let runs = call(&project, &folder, &["runs", "--json"]).json();
    assert_eq!(runs.as_array().unwrap().len(), 14, "twelve stages, and a rejected review with its repair");
    let table = call(&project, &folder, &["runs"]).stdout;
    let sent_back: Vec<&str> = table.lines().filter(|line| line.contains("  sent back  ")).collect();
    assert!(matches!(sent_back[..], [line] if line.contains("GREET-2 reviewer")), "{table}");
    assert!(!table.contains("blocked"), "nothing waits for a person: {table}");
    let show = call(&project, &folder, &["show", "GREET-2"]).stdout;
    assert!(show.contains("completed"), "{show}");
    let logs = call(&project, &folder, &["logs", "GREET-2", "--role", "reviewer"]);
    assert!(format!("{}{}", logs.stdout, logs.stderr).contains("is not quoted"), "{}", logs.stdout);
    let diff = call(&project, &folder, &["diff", "GREET-2"]).stdout;
    assert!(diff.contains("shout.sh"), "{diff}");
    let tasks = ["GREET-1", "GREET-2", "GREET-3"];
    let preview = call(&project, &folder, &[&["land", "--dry-run"], &tasks[..]].concat());
    assert!(preview.stdout.contains("hello.sh"), "{}", preview.stdout);
    assert!(!folder.join("hello.sh").exists(), "a preview changes nothing");
    call(&project, &folder, &[&["land"], &tasks[..]].concat());
    assert_eq!(call(&project, &folder, &["status"]).stdout, "No active Ralph loops\n");
    let greeting = Command::new("sh").args(["hello.sh", "--loud", "Ada Lovelace"]).current_dir(&folder).output();
    assert_eq!(String::from_utf8(greeting.unwrap().stdout).unwrap(), "HELLO, ADA LOVELACE!\n");
}

// spec: A9, P1
// finding: N21
#[test]
fn work_can_be_tried_with_the_demo_agent_in_any_project() {
    let project = project(&[]);
    let tasks = "- id: D-1\n  spec_id: s\n  title: Note it\n  completion:\n    outcome: a note\n    \
                 acceptance_criteria: [a note]\n    coder: { verification_method: external, verification_config: { command: test -e DEMO.md } }\n    \
                 reviewer: { verification_method: string_match }\n    tester: { verification_method: string_match }\n    \
                 qa: { verification_method: string_match }\n";
    fs::write(project.outside("demo.yaml"), tasks).unwrap();
    project.ralph(["task", "import", project.outside("demo.yaml").to_str().unwrap()]).output().expect(0);
    project.ralph(["work", "D-1", "--agent", "demo"]).output().expect(0);
    assert_eq!(statuses(&project), [("D-1".to_owned(), "done".to_owned())]);
}

// spec: U2
// finding: N46
#[test]
fn a_demo_that_cannot_start_leaves_no_folder_and_an_old_one_is_removed_by_the_next_demo() {
    let project = Project::new();
    let folders = |project: &Project| {
        let entries = fs::read_dir(project.outside("")).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_str().unwrap().starts_with("ralph-demo-")).count()
    };
    project.ralph(["demo", "--fast"]).env("PATH", "/nonexistent").start().wait_without_invariants().expect(1);
    assert_eq!(folders(&project), 0);
    for demo in [&["demo", "--fast"][..], &["demo", "--work", "--fast"]] {
        let no_home = project.ralph(demo).env("HOME", project.outside("no/home"));
        let refused = no_home.start().wait_without_invariants();
        assert!(refused.stderr.contains("does not exist"), "{}", refused.stderr);
        assert_eq!(folders(&project), 0);
    }
    project.ralph(["demo", "--fast"]).start().wait_without_invariants().expect(0);
    let old = demo_folder(&project);
    let week_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(8 * 24 * 3_600);
    fs::File::open(&old).unwrap().set_modified(week_ago).unwrap();
    project.ralph(["demo", "--fast"]).start().wait_without_invariants().expect(0);
    assert!(!old.exists() && folders(&project) == 1);
}
