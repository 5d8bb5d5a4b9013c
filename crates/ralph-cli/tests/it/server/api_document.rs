//! The document of the API, and requests that are generated from it.
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::served_project::{ServedProject, project_with_script};
use crate::harness::Project;

/// How many requests are generated for each route.
const EXAMPLES_PER_ROUTE: &str = "8";
/// Generating requests takes at most this long, in seconds.
const TIME_LIMIT: &str = "45";

// spec: U5
#[test]
fn every_documented_route_exists() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let document = served.get("/openapi.json").expect(200).json();
    assert_eq!(document["info"]["version"], "1");
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 40, "{}", paths.len());
    for (path, operations) in paths.iter().filter(|(path, _)| !path.ends_with("/stream")) {
        let concrete = path.replace("{iteration}", "1").replace("{id}", "none").replace("{name}", "none");
        for method in operations.as_object().unwrap().keys() {
            let answer = match method.as_str() {
                "post" => served.post(&concrete, &serde_json::json!({})),
                _ => served.get(&concrete),
            };
            // An unknown route answers with the hint to read the document.
            assert!(!answer.body.contains("/openapi.json lists"), "{method} {path}: {}", answer.body);
            assert_ne!(answer.status, 405, "{method} {path}");
        }
    }
    served.stop();
}

/// Returns the folder with the Python packages of schemathesis.
fn api_tester_packages() -> PathBuf {
    let Some(folder) = std::env::var_os("RALPH_TEST_API_TESTER").map(PathBuf::from) else {
        panic!("this test needs schemathesis: run `cargo xtask test`, or `eval \"$(cargo xtask agents)\"` first");
    };
    folder.join("python")
}

// spec: U5, X2
#[test]
fn generated_requests_are_answered_as_the_document_says() {
    let packages = api_tester_packages();
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
    let tester = Command::new("python3")
        .args(["-m", "schemathesis.cli", "run", "--no-color", "--phases", "examples,coverage,fuzzing"])
        .args(["--checks", checks, "--max-examples", EXAMPLES_PER_ROUTE, "--max-time", TIME_LIMIT])
        .args(["--generation-deterministic", "--no-shrink", "--exclude-path-regex", "/stream$"])
        .args(["--warnings", "off", "--header", &format!("Authorization: Bearer {}", served.token)])
        .arg(format!("http://127.0.0.1:{}/openapi.json", served.port))
        .env("PYTHONPATH", packages)
        .current_dir(project.outside(""))
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&tester.stdout).into_owned();
    assert!(tester.status.success(), "{report}\n{}", String::from_utf8_lossy(&tester.stderr));
    // The server still answers, and its loops have ended or end now.
    served.get("/healthz").expect(200);
    crate::harness::wait_until("no loop is active", || {
        served.get("/api/status").json()["loops"] == Value::Array(vec![])
    });
    served.stop();
}
