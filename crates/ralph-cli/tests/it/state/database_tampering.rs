//! An agent that changes the state: the engine detects it before the next write, stops with exit code 10, keeps a copy,
//! and accepts no claim.
use std::fs;
use std::path::Path;

use crate::harness::{CallOutput, Project};

const CLAIM: &str = "echo '<promise>COMPLETE</promise>'";

/// Runs an agent that changes the state and then claims.
fn tampering_agent(project: &Project, agent_script: &str) -> CallOutput {
    let agent = format!("cat > /dev/null; cd {}; {agent_script}\n{CLAIM}", project.state().display());
    let call = project.run_shell(&agent).args(["--check", "true"]);
    let answer = call.output_with_damaged_state();
    assert_eq!(answer.code(), 10, "{agent_script}: {}", answer.stderr);
    assert!(!answer.stdout.contains("completed"), "{}", answer.stdout);
    assert!(answer.stderr.contains("error: the database "), "{}", answer.stderr);
    assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
    answer
}

#[track_caller]
fn assert_copy_kept(answer: &CallOutput, expected: &[u8]) {
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
    let answer = answer.output_with_damaged_state().expect(10);
    assert!(answer.stderr.contains("was changed during the run"), "{}", answer.stderr);
    assert!(!answer.stdout.contains("completed"), "{}", answer.stdout);
    assert_copy_kept(&answer, b"garbage");
    assert_eq!(project.starts().len(), 1);
}

// fault: 36
// spec: D1, X4
#[test]
fn a_database_truncated_or_overwritten_by_an_agent_is_detected() {
    // Old enough that parts are in the file and parts in the WAL, which would restore the newest.
    for agent_script in [
        "truncate -s 0 ralph.db",
        "truncate -s 4096 ralph.db",
        "dd if=/dev/zero of=ralph.db bs=4096 seek=1 count=$(($(stat -c %s ralph.db) / 4096 - 1)) conv=notrunc status=none",
        "dd if=/dev/urandom of=ralph.db bs=4096 count=$(($(stat -c %s ralph.db) / 4096)) conv=notrunc status=none",
    ] {
        let project = Project::new();
        project.run(&["work"]).args(["--max-iterations", "30"]).output().expect(3);
        let answer = tampering_agent(&project, agent_script);
        assert!(answer.stderr.contains("was changed during the run"), "{agent_script}: {}", answer.stderr);
        assert_copy_kept(&answer, b"");
    }
}

// fault: 36
#[test]
fn a_wal_or_its_index_truncated_or_removed_by_an_agent_is_detected() {
    for agent_script in [
        "truncate -s 0 ralph.db-wal",
        "dd if=/dev/urandom of=ralph.db-wal bs=4096 count=20 conv=notrunc status=none",
        "truncate -s 0 ralph.db-shm",
        "rm ralph.db-wal",
        "rm ralph.db-shm",
    ] {
        let project = Project::new();
        let answer = tampering_agent(&project, agent_script);
        assert!(answer.stderr.contains("during the run"), "{agent_script}: {}", answer.stderr);
    }
}

// fault: 36
#[test]
fn a_replaced_database_is_detected() {
    let other = Project::new();
    other.run(&["complete"]).output().expect(0);
    let foreign = other.state().join("ralph.db").display().to_string();
    for agent_script in [format!("cat '{foreign}' > ralph.db"), format!("cp '{foreign}' new; mv new ralph.db")] {
        let project = Project::new();
        project.run(&["work"]).args(["--max-iterations", "3"]).output().expect(3);
        tampering_agent(&project, &agent_script);
    }
}

// fault: 36
// spec: D1
#[test]
fn writes_of_another_ralph_are_not_tampering() {
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
