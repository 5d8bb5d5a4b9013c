//! Names that look like paths are never used as paths.
use std::fs;

use crate::harness::Project;

/// Names that are path traversals.
fn traversals() -> Vec<String> {
    let mut names: Vec<String> =
        ["../../etc/passwd", "/etc/passwd", "a/../../b", "..", ".", "%2e%2e%2f", "..\\\\x"].map(str::to_owned).into();
    names.extend(["\u{ff0e}\u{ff0e}/x".to_owned(), "con".to_owned(), "x".repeat(5_000), "a\nb".to_owned()]);
    names
}

// spec: U1
// fault: 81
#[test]
fn a_run_id_is_never_used_as_a_path() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    fs::write(project.outside("secret"), "keep out").unwrap();
    for name in traversals() {
        for command in ["show", "events", "export", "resume", "attach"] {
            let answer = project.ralph([command, &name]).output();
            let answer = answer.expect(64);
            assert!(answer.stderr.contains("there is no run"), "{command} {name}: {}", answer.stderr);
            assert!(!answer.stdout.contains("keep out"));
        }
    }
}

// spec: D4
// fault: 81
#[test]
fn an_imported_run_with_a_path_as_its_id_is_refused_and_nothing_is_written() {
    let project = Project::new();
    project.run(&["complete"]).output().expect(0);
    let exported = project.ralph(["export"]).output().expect(0).stdout;
    let first: serde_json::Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    for name in traversals() {
        let quoted = serde_json::to_string(&name).unwrap();
        let forged = exported.replace(&format!("\"{id}\""), &quoted);
        let file = project.outside("forged.jsonl");
        fs::write(&file, forged).unwrap();
        let elsewhere = Project::new();
        let answer = elsewhere.ralph(["import".as_ref(), file.as_os_str()]).output().expect(1);
        assert!(answer.stderr.contains("the id is not a UUID"), "{name}: {}", answer.stderr);
        assert!(!elsewhere.state().join("ralph.db").exists());
    }
}

// spec: A2, G2
// fault: 81
#[test]
fn an_agent_name_is_never_used_as_a_path() {
    let project = Project::new();
    for name in traversals() {
        let answer = project.ralph(["run", "x", "--agent", &name]).output().expect(64);
        assert!(answer.stderr.contains("there is no agent named"), "{name}: {}", answer.stderr);
        assert!(project.starts().is_empty());
    }
}
