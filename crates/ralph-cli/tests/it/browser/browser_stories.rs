//! What a person does on the dashboard.
use std::fs;
use std::io::{BufRead, BufReader, Write};

use super::browser_story::{BrowserStory, print_login_url};
use crate::harness::{Project, wait_until};
use crate::server::server_process::ServerProcess;

const HOSTILE_TEXT: &str = "<img src=x onerror=alert(1)></script>";

/// A project whose test fails until the demo agent has done its work.
fn demo_project() -> Project {
    let project = Project::new();
    project.write("slugify.sh", "#!/bin/sh\nprintf '%s\\n' \"$1\" | tr ' ' '-'\n");
    project.write(
        "test.sh",
        "#!/bin/sh\ngot=$(sh slugify.sh 'Hello, World!')\n[ \"$got\" = hello-world ] && exit 0\n\
         echo \"FAILED  Hello, World!: got $got\"\nexit 1\n",
    );
    project.git(&["config", "user.name", "A"]);
    project.git(&["config", "user.email", "a@example.invalid"]);
    project.commit();
    project
}

/// Returns the id of the newest run.
fn newest_run(project: &Project) -> String {
    let listed = project.ralph(["runs", "--json"]).start().wait_without_invariants().expect(0);
    listed.json()[0]["id"].as_str().unwrap().to_owned()
}

// spec: U5, U6
#[test]
fn a_run_is_started_on_the_page_and_its_rejected_claim_is_explained() {
    let project = demo_project();
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("run_story", &project).play(&server);
    server.stop();
}

// spec: U5, U10, W8
#[test]
fn the_gate_of_a_workflow_is_approved_on_its_page() {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(
        ".ralph/workflows/ship.yaml",
        "name: ship\ndescription: Releases a version.\nnodes:\n\
         - id: classify\n  bash: printf minor\n\
         - id: gate\n  depends_on: [classify]\n  approval:\n    message: Release it?\n\
         - id: release\n  depends_on: [gate]\n  bash: echo released\n\
         - id: hotfix\n  depends_on: [gate, classify]\n  when: $classify.output == 'major'\n  bash: echo hotfix\n",
    );
    project.commit();
    project.trust();
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("approval_story", &project).value("WORKFLOW", "ship").play(&server);
    server.stop();
}

// spec: U5
#[test]
fn a_comment_on_a_line_of_the_diff_is_in_the_next_prompt() {
    let project = Project::new();
    project.commit();
    let agent = "if grep -q 'Write it in capitals'; then echo '<promise>COMPLETE</promise>'; \
                 else echo 'first line' > work.txt; echo '<blocked>Which case?</blocked>'; fi";
    project.run_shell(agent).args(["--max-iterations", "3"]).output().expect(6);
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("comment_story", &project).value("RUN", newest_run(&project)).play(&server);
    server.stop();
}

// spec: U5
#[test]
fn a_run_is_cancelled_on_the_page() {
    let project = Project::new();
    project.commit();
    let run = project.run_shell("touch \"$HOME/at-work\"; exec sleep 600").start();
    wait_until("the agent works", || project.home().join("at-work").exists());
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("cancel_story", &project).play(&server);
    run.wait_without_invariants();
    server.stop();
}

/// A project with a completed run, an exhausted one, a task, and a workflow run. Returns the addresses of its pages.
fn project_with_pages() -> (Project, String) {
    let project = demo_project();
    project.ralph(["run", "Make `sh test.sh` pass", "--agent", "demo", "--check", "sh test.sh"]).output().expect(0);
    let long = format!("Write {}", "averylongwordwithoutspaces".repeat(9));
    let failing = ["--agent", "demo", "--check", "false", "--max-iterations", "1"];
    project.ralph(["run", &long]).args(failing).output().expect(3);
    create_task(&project, &long);
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(
        ".ralph/workflows/greet.yaml",
        "name: greet\ndescription: Says hello.\nnodes:\n- id: hello\n  bash: echo hello\n",
    );
    project.trust();
    project.ralph(["workflow", "run", "greet", "a message"]).output().expect(0);
    let run = newest_run_without_workflow(&project);
    let workflow_run = newest_workflow_run(&project);
    let task = newest_task(&project);
    let paths = format!(
        "/ /board /runs /runs/{run} /runs/{run}?view=timeline /runs/{run}?view=journal /runs/{run}/iterations/1 \
         /runs/{run}/diff /tasks /tasks/{task} /workflows /workflows/greet /workflow-runs/{workflow_run} \
         /compare?a={run}&b={run} /stats /start"
    );
    (project, paths)
}

fn newest_run_without_workflow(project: &Project) -> String {
    let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
    let is_run = |run: &&serde_json::Value| run["kind"] == "run";
    listed.as_array().unwrap().iter().find(is_run).unwrap()["id"].as_str().unwrap().to_owned()
}

fn newest_workflow_run(project: &Project) -> String {
    let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
    let is_workflow = |run: &&serde_json::Value| run["kind"] == "workflow";
    listed.as_array().unwrap().iter().find(is_workflow).unwrap()["id"].as_str().unwrap().to_owned()
}

fn create_task(project: &Project, title: &str) {
    let task = ["task", "create", "T-1", "spec", title, "--outcome", "done", "--acceptance", "it works"];
    project.ralph(task).output().expect(0);
}

fn newest_task(project: &Project) -> String {
    let listed = project.ralph(["task", "list", "--json"]).output().expect(0).json();
    listed[0]["id"].as_str().unwrap().to_owned()
}

// spec: U5
#[test]
fn every_page_fits_the_width_of_a_phone() {
    let (project, paths) = project_with_pages();
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("phone_story", &project).value("PATHS", paths).play(&server);
    server.stop();
}

// spec: U5
#[test]
fn every_page_can_be_read_without_javascript() {
    let (project, paths) = project_with_pages();
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("plain_story", &project).value("PATHS", paths).play(&server);
    server.stop();
}

// spec: U5
#[test]
fn a_person_finds_and_starts_runs_with_the_keyboard_alone() {
    let (project, _) = project_with_pages();
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("keyboard_story", &project).play(&server);
    server.stop();
}

/// Starts a story that says a line, does something, and lets the story continue to its end.
fn play_with_pause(story: BrowserStory<'_>, server: &ServerProcess<'_>, line: &str, act: impl FnOnce()) {
    let mut story = story.start(server);
    let mut said = BufReader::new(story.stdout.take().unwrap()).lines();
    let said = said.next().and_then(Result::ok).unwrap_or_default();
    if said == line {
        act();
        story.stdin.take().unwrap().write_all(b"continue\n").unwrap();
    }
    let output = story.wait_with_output().unwrap();
    assert!(output.status.success(), "{said}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, line);
}

// spec: U5
#[test]
fn the_filter_of_a_table_survives_a_change_of_the_page() {
    let project = Project::new();
    project.commit();
    let create = |id: &str, title: &str| {
        let task = ["task", "create", id, "spec", title, "--outcome", "done", "--acceptance", "it works"];
        project.ralph(task).start().wait_without_invariants().expect(0);
    };
    create("T-1", "a kept row");
    create("T-2", "another row");
    let server = ServerProcess::start(&project, &[]);
    play_with_pause(BrowserStory::new("filter_story", &project), &server, "filtered", || {
        create("T-3", "a new row");
        create("T-4", "a new row that is kept");
    });
    server.stop();
}

// spec: U5, U10, X6
#[test]
fn a_person_approves_on_the_page_only_what_the_page_shows() {
    const WORKFLOW: &str = "name: greet\ndescription: d\nnodes:\n- id: hello\n  bash: echo hello\n";
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(".ralph/workflows/greet.yaml", WORKFLOW);
    project.commit();
    let tasks = project.outside("tasks.yaml");
    let checks = "- id: T-1\n  title: Greet\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    \
                  coder: {verification_config: {command: touch canary}}\n";
    fs::write(&tasks, checks).unwrap();
    project.ralph(["task", "import", "--by-agent", tasks.to_str().unwrap()]).output().expect(0);
    let server = ServerProcess::start(&project, &[]);
    let login = print_login_url(&project, &server);
    let story = BrowserStory::new("decision_story", &project).value("LOGIN_URL", login);
    play_with_pause(story, &server, "read", || {
        project.write(".ralph/workflows/greet.yaml", WORKFLOW.replace("echo hello", "rm -r /"));
    });
    server.stop();
}

// spec: U5, X2
// fault: 49, 107
#[test]
fn markup_of_agents_and_tasks_stays_text() {
    let project = Project::new();
    project.commit();
    let agent = format!(
        "echo '{HOSTILE_TEXT}' > '<img src=x onerror=alert(1)>'; echo '{HOSTILE_TEXT}'; echo '<promise>COMPLETE</promise>'"
    );
    let agent = project.shell(&agent);
    let run = ["run", HOSTILE_TEXT, "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"];
    project.ralph(run).output().expect(0);
    create_task(&project, HOSTILE_TEXT);
    let (run, task) = (newest_run(&project), newest_task(&project));
    let paths = format!(
        "/ /board /runs /runs/{run} /runs/{run}?view=journal /runs/{run}/iterations/1 /runs/{run}/diff /tasks /tasks/{task}"
    );
    let server = ServerProcess::start(&project, &[]);
    BrowserStory::new("hostile_story", &project).value("PATHS", paths).play(&server);
    server.stop();
}

// spec: U5
#[test]
fn a_page_says_since_when_its_server_is_gone_and_becomes_live_again() {
    let project = Project::new();
    project.commit();
    let server = ServerProcess::start(&project, &[]);
    let port = server.host.rsplit(':').next().unwrap().to_owned();
    let mut story = BrowserStory::new("stale_story", &project).start(&server);
    let mut said = BufReader::new(story.stdout.take().unwrap()).lines();
    let mut next = || said.next().and_then(Result::ok).unwrap_or_default();
    let mut input = story.stdin.take().unwrap();
    assert_eq!(next(), "live");
    server.stop();
    input.write_all(b"stopped\n").unwrap();
    assert_eq!(next(), "stale");
    let server = ServerProcess::start_call(project.ralph(["serve", "--port", &port]));
    input.write_all(b"started\n").unwrap();
    let output = story.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    server.stop();
}
