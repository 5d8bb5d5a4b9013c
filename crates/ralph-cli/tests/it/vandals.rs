//! An agent that is at the state: the engine notices before it writes again, stops with exit code 10, and keeps a
//! copy. What the agent claims then is worth nothing.
use std::fs;
use std::path::Path;

use crate::harness::{Answer, Project};

const CLAIM: &str = "echo '<promise>COMPLETE</promise>'";

/// Runs an agent that does something to the state and then claims to be done.
fn vandal(project: &Project, deed: &str) -> Answer {
    let agent = format!("cat > /dev/null; cd .ralph/state; {deed}\n{CLAIM}");
    let call = project.run_shell(&agent).args(["--check", "true"]);
    let answer = call.output_whatever_the_state();
    assert_eq!(answer.code(), 10, "{deed}: {}", answer.stderr);
    assert!(!answer.stdout.contains("completed"), "{}", answer.stdout);
    assert!(answer.stderr.contains("error: the database "), "{}", answer.stderr);
    assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
    answer
}

#[track_caller]
fn is_kept(answer: &Answer, expected: &[u8]) {
    let kept = answer.stderr.split("a copy is kept in ").nth(1).unwrap_or_else(|| panic!("{}", answer.stderr));
    let kept = Path::new(kept.lines().next().unwrap());
    assert!(fs::read(kept.join("ralph.db")).unwrap().starts_with(expected));
}

// fault: 36
// spec: D1, X4
#[test]
fn an_agent_that_overwrites_every_file_of_the_state_is_stopped() {
    let project = Project::new();
    let state = project.state().display().to_string();
    let answer = project.run(&["touch-state", &state]).args(["--check", "true"]);
    let answer = answer.output_whatever_the_state().expect(10);
    assert!(answer.stderr.contains("was changed during the run"), "{}", answer.stderr);
    assert!(!answer.stdout.contains("completed"), "{}", answer.stdout);
    is_kept(&answer, b"garbage");
    assert_eq!(project.starts().len(), 1);
}

// fault: 36
// spec: D1, X4
#[test]
fn a_database_that_an_agent_cut_or_scribbled_over_is_noticed() {
    // Old enough that parts of it lie in the file and parts in the log, which would make good what is lost of the newest.
    for deed in [
        "truncate -s 0 ralph.db",
        "truncate -s 4096 ralph.db",
        "dd if=/dev/zero of=ralph.db bs=4096 seek=1 count=$(($(stat -c %s ralph.db) / 4096 - 1)) conv=notrunc status=none",
        "dd if=/dev/urandom of=ralph.db bs=4096 count=$(($(stat -c %s ralph.db) / 4096)) conv=notrunc status=none",
    ] {
        let project = Project::new();
        project.run(&["work"]).args(["--max-iterations", "30"]).output().expect(3);
        let answer = vandal(&project, deed);
        assert!(answer.stderr.contains("was changed while"), "{deed}: {}", answer.stderr);
        is_kept(&answer, b"");
    }
}

// fault: 36
#[test]
fn a_log_or_its_index_that_an_agent_cut_or_removed_is_noticed() {
    for deed in [
        "truncate -s 0 ralph.db-wal",
        "dd if=/dev/urandom of=ralph.db-wal bs=4096 count=20 conv=notrunc status=none",
        "truncate -s 0 ralph.db-shm",
        "rm ralph.db-wal",
        "rm ralph.db-shm",
    ] {
        let project = Project::new();
        let answer = vandal(&project, deed);
        assert!(answer.stderr.contains("during the run"), "{deed}: {}", answer.stderr);
    }
}

// fault: 36
#[test]
fn another_database_in_the_place_of_the_right_one_is_noticed() {
    let other = Project::new();
    other.run(&["complete"]).output().expect(0);
    let foreign = other.state().join("ralph.db").display().to_string();
    for deed in [format!("cat '{foreign}' > ralph.db"), format!("cp '{foreign}' new; mv new ralph.db")] {
        let project = Project::new();
        project.run(&["work"]).args(["--max-iterations", "3"]).output().expect(3);
        vandal(&project, &deed);
    }
}

// fault: 36
// spec: D1
#[test]
fn another_ralph_that_writes_to_the_same_state_is_no_vandal() {
    let project = Project::new();
    // A completed run could not be given another id: its receipt names the first.
    project.run(&["work"]).args(["--max-iterations", "1"]).output().expect(3);
    let exported = project.ralph(["export"]).output().expect(0).stdout;
    let file = project.outside("run.jsonl");
    let id = exported.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
    let renamed = exported.replace(id, "01a1e1d1-f115-73ef-a693-000000000000");
    fs::write(&file, renamed).unwrap();
    let agent = format!("cat > /dev/null; '{}' import '{}' >&2\n{CLAIM}", env!("CARGO_BIN_EXE_ralph"), file.display());
    project.run_shell(&agent).args(["--check", "true"]).output().expect(0);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 3);
}
