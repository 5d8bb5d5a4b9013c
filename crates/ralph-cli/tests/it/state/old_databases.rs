//! Databases with the schemas 1, 2, 3, 5, 12, 13 and 14. They must load for ever.
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::Project;
use crate::server::conversations::{messages, send};
use crate::server::server_process::ServerProcess;
use crate::state::disk_faults::run_in_mount_namespace;

const SCHEMA_1: &[u8] = include_bytes!("../data/old_databases/schema-1.db");
const SCHEMA_2: &[u8] = include_bytes!("../data/old_databases/schema-2.db");
const SCHEMA_3: &[u8] = include_bytes!("../data/old_databases/schema-3.db");
/// The first with tasks; two of them, one with a run.
const SCHEMA_5: &[u8] = include_bytes!("../data/old_databases/schema-5.db");

/// The first with workflow runs; one of them waits for an approval.
const SCHEMA_12: &[u8] = include_bytes!("../data/old_databases/schema-12.db");
/// A conversation that has started a workflow run.
const SCHEMA_14: &[u8] = include_bytes!("../data/old_databases/schema-14.db");

/// The first with conversations; one of them has started the workflow run that waits.
const SCHEMA_13: &[u8] = include_bytes!("../data/old_databases/schema-13.db");

/// Puts a database into a new project.
fn project_with(database: &[u8]) -> (Project, PathBuf) {
    let project = Project::new();
    fs::create_dir_all(project.state()).unwrap();
    project.make_private(&project.state());
    let path = project.state().join("ralph.db");
    fs::write(&path, database).unwrap();
    project.make_private(&path);
    (project, path)
}

fn statuses(project: &Project) -> Vec<Value> {
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    runs.as_array().unwrap().iter().map(|run| run["status"].clone()).collect()
}

/// Returns the id of the run with this place among the newest.
fn id_of(project: &Project, place: usize) -> String {
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    runs[place]["id"].as_str().unwrap().to_owned()
}

// spec: D1, D4, T9
#[test]
fn a_database_of_the_first_schema_is_read_and_upgraded() {
    let (project, _) = project_with(SCHEMA_1);
    assert_eq!(statuses(&project), ["failed", "completed"]);
    let show = project.ralph(["show", &id_of(&project, 1), "--json"]).output().expect(0).json();
    assert_eq!(show["iterations"][0]["verdict"], "accepted");
    project.run(&["complete"]).output().expect(0);
    assert_eq!(statuses(&project), ["completed", "failed", "completed"]);
}

// spec: D1, D4, T9, L13
#[test]
fn runs_of_later_schemas_are_kept_shown_and_resumed() {
    for database in [SCHEMA_2, SCHEMA_3] {
        let (project, _) = project_with(database);
        assert_eq!(statuses(&project), ["interrupted", "completed"]);
        let stats = project.ralph(["stats", "--by", "agent", "--json"]).output().expect(0).json();
        assert_eq!((&stats["total"]["runs"], &stats["total"]["ended"]), (&2.into(), &1.into()));
        assert_eq!(stats["groups"][0]["iterations"]["max"], 1, "{stats}");
        let show = project.ralph(["show", &id_of(&project, 1), "--json"]).output().expect(0).json();
        let check = &show["iterations"][0]["checks"][0];
        assert_eq!((&check["command"], &check["verdict"]), (&"test -s note".into(), &"accepted".into()));
        assert_eq!(
            (&check["method"], &check["tries"], &check["cached"]),
            (&"external".into(), &1.into(), &false.into())
        );
        assert_eq!(show["receipt"], Value::Null, "there were no receipts");
        let cannot = project.ralph(["verify", &id_of(&project, 1)]).output().expect(1).stderr;
        assert!(cannot.contains("an older ralph, which wrote no receipts"), "{cannot}");
        project.write("go", "");
        project.ralph(["resume", "--json"]).output().expect(0);
        assert_eq!(statuses(&project), ["completed", "completed"]);
        let show = project.ralph(["show", "--json"]).output().expect(0).json();
        assert_eq!(show["receipt"]["verified"], true, "what is completed now has one");
    }
}

// spec: T9
#[test]
fn the_export_of_an_old_run_can_be_imported_into_a_new_project() {
    let (project, _) = project_with(SCHEMA_3);
    let exported = project.ralph(["export", &id_of(&project, 1)]).output().expect(0).stdout;
    let elsewhere = Project::new();
    let file = elsewhere.outside("run.jsonl");
    fs::write(&file, exported).unwrap();
    elsewhere.ralph(["import"]).args([&file]).output().expect(0);
    assert_eq!(statuses(&elsewhere), ["completed"]);
}

// spec: T9
#[test]
fn a_newer_database_is_refused_and_not_a_byte_of_it_is_touched() {
    let mut newer = SCHEMA_3.to_vec();
    // The schema version is at offset 60 of the file.
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let (project, path) = project_with(&newer);
    let commands: [&[&str]; 9] = [
        &["runs"],
        &["show"],
        &["verify"],
        &["resume"],
        &["export"],
        &["run", "x", "--agent", "demo"],
        &["task", "list"],
        &["task", "create", "A", "s", "t", "--no-criteria"],
        &["task", "approve", "--all", "--yes"],
    ];
    for command in commands {
        let answer = project.ralph(command).output_with_damaged_state().expect(10);
        assert!(answer.stderr.contains("99"), "{}", answer.stderr);
        assert!(fs::read(&path).unwrap() == newer, "{command:?} has written");
    }
    let files: Vec<_> = fs::read_dir(project.state()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(
        files.iter().all(|name| ["ralph.db", "lock", "runs", "project"].iter().any(|known| name == known)),
        "{files:?}"
    );
}

// spec: T9, T8
#[test]
fn tasks_of_an_older_schema_are_kept_and_worked_on_and_need_no_approval() {
    let (project, _) = project_with(SCHEMA_5);
    let list = project.ralph(["task", "list", "--json"]).output().expect(0).json();
    let row = |row: &Value| (row["id"].clone(), row["status"].clone(), row["approved"].clone());
    let rows: Vec<_> = list.as_array().unwrap().iter().map(row).collect();
    assert_eq!(rows, [("T-1".into(), "reviewing".into(), true.into()), ("T-2".into(), "todo".into(), true.into())]);
    let shown = project.ralph(["task", "show", "T-1", "--json"]).output().expect(0).json();
    assert_eq!(shown["completion"]["coder"]["verification_config"]["command"], "test -e fixed");
    let verdicts: Vec<_> = shown["runs"][0]["iterations"].as_array().unwrap().iter().collect();
    let verdicts: Vec<_> = verdicts.iter().map(|iteration| iteration["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    project.ralph(["task", "edit", "T-1", "--status", "done"]).output().expect(0);
    let ready = project.ralph(["task", "list", "--ready", "--json"]).output().expect(0).json();
    assert_eq!(ready[0]["id"], "T-2");
    project.ralph(["task", "followup", "T-1", "T-3"]).output().expect(0);
    project.ralph(["task", "delete", "T-2"]).output().expect(0);
}

// spec: T9
#[test]
fn a_workflow_run_of_an_older_schema_still_waits_and_can_be_cancelled() {
    let (project, _) = project_with(SCHEMA_12);
    let inbox = project.ralph(["inbox", "--json"]).output().expect(0).json();
    assert!(inbox.to_string().contains("chain: hello"), "{inbox}");
    let shown = project.ralph(["show", &id_of(&project, 0), "--json"]).output().expect(0).json();
    assert_eq!((&shown["status"], &shown["nodes"][0]["status"]), (&"waiting".into(), &"completed".into()));
    project.ralph(["cancel", &id_of(&project, 0)]).output().expect(0);
    assert_eq!(statuses(&project), ["cancelled"]);
}

// spec: T9, W7, W9
#[test]
fn a_conversation_of_an_older_schema_is_kept_and_its_workflow_run_can_be_continued() {
    let (project, _) = project_with(SCHEMA_13);
    let run = id_of(&project, 0);
    assert_eq!(statuses(&project), ["waiting"]);
    project.ralph(["workflow", "approve", &run, "--json"]).output().expect(0);
    assert_eq!(statuses(&project), ["completed"]);
    let server = ServerProcess::start(&project, &[]);
    let conversation = server.get("/test/messages/test-ralph").expect(200).json();
    assert_eq!(conversation["messages"][0]["message"], "Starting workflow chain");
    server.stop();
}

// spec: T9, W9
#[test]
fn a_conversation_of_an_older_schema_is_kept_and_continues() {
    let (project, _) = project_with(SCHEMA_14);
    let server = ServerProcess::start(&project, &[]);
    let kept = messages(&server, "a");
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1].ends_with("hello"), "{kept:?}");
    send(&server, "a", "/status");
    assert_eq!(
        messages(&server, "a")[2],
        "greet (run 9a7c5307): completed: all nodes have ended; nothing was verified"
    );
    assert_eq!(server.get("/api/tasks").expect(200).json()["tasks"][0]["id"], "T-1");
    server.stop();
}

// spec: T9
#[test]
fn an_older_database_that_cannot_be_written_says_why_it_cannot_be_read() {
    for database in [SCHEMA_1, SCHEMA_5] {
        let (project, path) = project_with(database);
        let script = "mount --bind \"$STATE\" \"$STATE\"; mount -o remount,ro,bind \"$STATE\"\n\
                      \"$RALPH\" task list || echo \"list $?\"; \"$RALPH\" task show T-1 || echo \"show $?\"; \
                      \"$RALPH\" runs || echo \"runs $?\"";
        let answer = run_in_mount_namespace(&project, script);
        assert_eq!(answer.stdout, "list 10\nshow 10\nruns 10\n", "{}", answer.stderr);
        assert_eq!(answer.stderr.matches("was written by an older ralph and is read-only").count(), 3);
        assert!(answer.stderr.contains("and its folder writable"), "{}", answer.stderr);
        assert!(fs::read(&path).unwrap() == database);
    }
}
