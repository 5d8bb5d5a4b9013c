//! Databases of every schema that was ever released stay here for ever, and must load.
use std::fs;

use serde_json::Value;

use crate::harness::Project;

const SCHEMA_1: &[u8] = include_bytes!("old_data/schema-1.db");

// spec: D1, D4
#[test]
fn a_database_of_the_first_schema_is_read_and_written_on() {
    let project = Project::new();
    fs::create_dir_all(project.state()).unwrap();
    project.make_private(&project.state());
    let database = project.state().join("ralph.db");
    fs::write(&database, SCHEMA_1).unwrap();
    project.make_private(&database);
    let statuses = |runs: &Value| -> Vec<Value> {
        runs.as_array().unwrap().iter().map(|run| run["status"].clone()).collect()
    };
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(statuses(&runs), ["failed", "completed"]);
    let id = runs[1]["id"].as_str().unwrap();
    let show = project.ralph(["show", id, "--json"]).output().expect(0).json();
    assert_eq!(show["iterations"][0]["verdict"], "accepted");
    project.run(&["complete"]).output().expect(0);
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(statuses(&runs), ["completed", "failed", "completed"]);
}
