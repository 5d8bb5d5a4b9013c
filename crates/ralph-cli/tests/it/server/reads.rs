//! Reads over HTTP.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::client::{HttpRequest, read_head};
use super::served_project::{ServedProject, project_with_script};
use crate::control::cancel::beside;
use crate::harness::{Project, wait_until};

// spec: U5, U6
#[test]
fn a_run_is_read_with_its_iterations_prompts_log_and_explanation() {
    let project = project_with_script("text Trying.\n---\ntext Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "make it so", "checks": ["true"] }));
    let shown = served.wait_for_status(&run, "completed");
    let short = &run[run.len() - 8..];
    let get = |part: &str| served.get(&format!("/api/runs/{short}{part}")).expect(200).json();
    assert_eq!(get(""), shown);
    assert_eq!(shown, beside(&project, &["show", &run, "--json"]).expect(0).json());
    assert_eq!(get("/iterations/2")["iteration"], shown["iterations"][1]);
    let prompt = get("/iterations/1/prompt");
    assert!(prompt["text"].as_str().unwrap().contains("make it so"), "{prompt}");
    let log = get("/log?iteration=2").to_string();
    assert!(log.contains("Done."), "{log}");
    assert!(!log.contains("Trying."), "{log}");
    let why = get("/why");
    assert_eq!(why, beside(&project, &["why", &run, "--json"]).expect(0).json());
    assert_eq!(why["headline"], shown["headline"]);
    assert_eq!(get("/why?iteration=1")["kind"], "iteration");
    assert_eq!(get("/receipt")["verified"], true);
    assert_eq!(get("/diff")["run"], run);
    for missing in ["/iterations/3", "/iterations/x", "/why?iteration=9"] {
        served.get(&format!("/api/runs/{run}{missing}")).expect(404);
    }
    served.stop();
}

/// Puts a git before the real one that waits while a file exists.
fn slow_git(project: &Project) -> String {
    let folder = project.outside("slow-git");
    fs::create_dir_all(&folder).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = "#!/bin/sh\nwhile [ -e \"$HOME/hold-git\" ]; do touch \"$HOME/git-waits\"; sleep 0.05; done\n\
                  PATH=${PATH#*:}; exec git \"$@\"\n";
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", folder.display())
}

// spec: U5
#[test]
fn pages_that_wait_for_git_do_not_keep_other_requests_waiting() {
    let project = project_with_script("touch new\ntext Done.\\n\\n{promise}\n");
    let call = project.ralph(["serve", "--port", "0"]).env("PATH", slow_git(&project));
    let served = ServedProject::start_call(&project, call);
    let run = served.start_run(&json!({ "prompt": "x" }));
    served.wait_for_status(&run, "completed");
    let hold = project.home().join("hold-git");
    fs::write(&hold, "").unwrap();
    let cores = std::thread::available_parallelism().unwrap().get();
    let path = format!("/runs/{run}/diff");
    let waiting: Vec<_> = (0..cores * 4).map(|_| HttpRequest::get(path.as_str()).open(served.port)).collect();
    wait_until("git waits", || project.home().join("git-waits").exists());
    for _ in 0..20 {
        served.get("/healthz").expect(200);
    }
    served.get(&format!("/api/runs/{run}")).expect(200);
    fs::remove_file(&hold).unwrap();
    for mut answer in waiting {
        assert_eq!(read_head(&mut answer).0, 200);
    }
    served.stop();
}

// spec: U5, U6
#[test]
fn the_runs_behind_a_verdict_are_listed() {
    let project = project_with_script("text Done.\\n\\n{promise}\n---\ntouch fixed\ntext Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let rejected = served.start_run(&json!({ "prompt": "one", "checks": ["test -e fixed"] }));
    served.wait_for_status(&rejected, "completed");
    let accepted = served.start_run(&json!({ "prompt": "two", "checks": ["true"] }));
    served.wait_for_status(&accepted, "completed");
    let ids = |query: &str| -> Vec<String> {
        let runs = served.get(&format!("/api/runs?{query}")).expect(200).json();
        runs["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("verdict=accepted"), [accepted.clone(), rejected.clone()]);
    assert_eq!(ids("verdict=rejected&method=external"), std::slice::from_ref(&rejected));
    assert_eq!(ids("verdict=rejected&method=none"), [""; 0]);
    let stats = served.get("/stats").expect(200).body;
    assert!(stats.contains("/runs?verdict=rejected&#38;method=external"), "{stats}");
    let listed = served.get("/runs?verdict=rejected&method=external").expect(200).body;
    assert!(listed.contains(&format!("/runs/{rejected}")), "{listed}");
    assert!(!listed.contains(&format!("/runs/{accepted}")), "{listed}");
    served.stop();
}

// spec: U5
#[test]
fn runs_are_listed_page_by_page() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let mut started = Vec::new();
    for _ in 0..5 {
        let run = served.start_run(&json!({ "prompt": "x" }));
        served.wait_for_status(&run, "completed");
        started.insert(0, run);
    }
    let mut listed = Vec::new();
    let mut path = "/api/runs?limit=2".to_owned();
    loop {
        let page = served.get(&path).expect(200).json();
        listed.extend(page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("/api/runs?limit=2&before={next}"),
            None => break,
        }
    }
    assert_eq!(listed, started);
    assert_eq!(served.get("/api/runs?status=running").json()["runs"], json!([]));
    assert_eq!(served.get("/api/runs?status=completed&kind=run").json()["runs"].as_array().unwrap().len(), 5);
    assert_eq!(served.get("/api/runs?kind=plan").json()["runs"], json!([]));
    served.get("/api/runs?limit=0").expect(422);
    served.get("/api/runs?limit=many").expect(422);
    served.stop();
}

// spec: U5, U10
#[test]
fn tasks_the_inbox_and_statistics_are_those_of_the_commands() {
    let project = Project::new();
    project.commit();
    for id in ["T-1", "T-2", "T-3"] {
        let create = ["task", "create", id, "s", "Mine", "--outcome", "o", "--acceptance", "a"];
        project.ralph(create).output().expect(0);
    }
    let served = ServedProject::start(&project);
    let listed = beside(&project, &["task", "list", "--json"]).expect(0).json();
    let tasks = served.get("/api/tasks").expect(200).json();
    assert_eq!(tasks["tasks"], listed);
    let page = served.get("/api/tasks?limit=2").json();
    assert_eq!((page["tasks"].as_array().unwrap().len(), &page["next"], &page["total"]), (2, &json!("T-2"), &json!(3)));
    assert_eq!(served.get("/api/tasks?limit=2&after=T-2").json()["tasks"][0]["id"], "T-3");
    let shown = beside(&project, &["task", "show", "T-1", "--json"]).expect(0).json();
    assert_eq!(served.get("/api/tasks/T-1").expect(200).json(), shown);
    let why = beside(&project, &["why", "T-1", "--json"]).expect(0).json();
    assert_eq!(served.get("/api/tasks/T-1/why").expect(200).json(), why);
    let inbox: Value = beside(&project, &["inbox", "--json"]).expect(0).json();
    assert_eq!(served.get("/api/inbox").json()["items"], inbox);
    let stats = beside(&project, &["stats", "--json"]).expect(0).json();
    assert_eq!(served.get("/api/stats").expect(200).json(), stats);
    served.get("/api/stats?by=mood").expect(422);
    served.get("/api/tasks?status=odd").expect(422);
    served.stop();
}

// spec: U5
#[test]
fn workflows_and_their_graphs_are_read() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let listed = beside(&project, &["workflow", "list", "--json"]).expect(0).json();
    assert_eq!(served.get("/api/workflows").expect(200).json()["workflows"], listed);
    let name = listed[0]["name"].as_str().unwrap();
    assert_eq!(served.get(&format!("/api/workflows/{name}")).expect(200).json()["name"], name);
    let graph = served.get(&format!("/api/workflows/{name}/graph.svg")).expect(200);
    assert_eq!(graph.header("content-type"), Some("image/svg+xml"));
    assert!(graph.body.starts_with("<svg"), "{:.100}", graph.body);
    served.get("/api/workflows/nothing").expect(404);
    served.stop();
}
