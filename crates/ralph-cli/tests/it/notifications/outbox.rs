//! What is stored, when it is sent, and that nothing is lost or sent twice.
use std::fs;

use serde_json::{Value, json};

use super::{SECRET, blocked_run, configure, first_target, webhook};
use crate::harness::{Project, wait_until};
use crate::server::platform_server::{PlatformAnswer, PlatformServer, ReceivedRequest};
use crate::server::server_process::ServerProcess;
use crate::work::pipeline;
use crate::workflows::runs::{project_with, run_with};

fn complete(project: &Project) {
    project.run(&["complete"]).env("NOTIFY_SECRET", SECRET).output().expect(0);
}

fn events(platform: &PlatformServer) -> Vec<Value> {
    platform.received().iter().map(|request| request.json()["items"][0]["event"].clone()).collect()
}

// spec: U7
#[test]
fn a_rule_selects_what_a_target_gets() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    configure(&project, &webhook(&platform.url, ", on: [completed]"));
    blocked_run(&project, "no key").output().expect(6);
    complete(&project);
    assert_eq!(events(&platform), ["completed"]);
    configure(&project, &webhook(&platform.url, ", runs: [task, workflow]"));
    complete(&project);
    assert_eq!(events(&platform), ["completed"], "a run without a task is not wanted");
}

// spec: U7
#[test]
fn a_message_that_failed_is_sent_again_by_the_server_and_only_once() {
    let platform = PlatformServer::start(PlatformAnswer::FailFirst(1));
    let project = Project::new();
    configure(&project, &webhook(&platform.url, ""));
    blocked_run(&project, "no key").output().expect(6);
    let waiting = first_target(&project)["undelivered"][0].clone();
    assert_eq!((&waiting["failures"], &waiting["error"]), (&json!(1), &json!("HTTP status 503")));
    let server = ServerProcess::start_call(project.ralph(["serve", "--port", "0"]).env("NOTIFY_SECRET", SECRET));
    wait_until("the message was sent again", || platform.received().len() == 2);
    wait_until("it is recorded as sent", || {
        let listed = project.ralph(["notify", "list", "--json"]).start().wait_without_invariants().expect(0).json();
        listed[0]["undelivered"] == json!([])
    });
    let host = server.host.clone();
    server.stop();
    let received = platform.received();
    assert_eq!(received[0].header("x-ralph-delivery"), received[1].header("x-ralph-delivery"));
    assert_eq!(received.len(), 2);
    let link = received[1].json()["items"][0]["link"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&format!("http://{host}/runs/")), "{link}");
}

// spec: U7
#[test]
fn a_server_that_hangs_or_cannot_be_reached_changes_neither_exit_code_nor_result() {
    let platform = PlatformServer::start(PlatformAnswer::Hang);
    let project = Project::new();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let targets =
        [webhook(&platform.url, ", name: hangs"), webhook(&format!("http://{gone}/x"), ", name: gone")].concat();
    configure(&project, &targets);
    let output = project.run(&["complete"]).env("NOTIFY_SECRET", SECRET).output().expect(0);
    assert_eq!(output.finished()["outcome"], "completed");
    assert_eq!(output.finished()["exit_code"], 0);
    let listed = project.ralph(["notify", "list", "--json"]).output().expect(0).json();
    assert_eq!(listed[0]["undelivered"][0]["error"], "it did not answer in time");
    let error = listed[1]["undelivered"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("it cannot be reached"), "{error}");
}

// spec: U7, X2
#[test]
fn a_redirect_is_not_followed_and_the_message_is_given_up() {
    let platform = PlatformServer::start(PlatformAnswer::Redirect);
    let project = Project::new();
    configure(&project, &webhook(&platform.url, ""));
    complete(&project);
    complete(&project);
    let paths: Vec<String> =
        platform.received().iter().map(|request| request.head.lines().next().unwrap().to_owned()).collect();
    assert_eq!(paths, ["POST /services/T0/B0/url-secret-77aa HTTP/1.1"; 2], "one attempt for each run");
    assert_eq!(first_target(&project)["undelivered"], json!([]));
}

// spec: U7
#[test]
fn what_ended_while_nothing_was_sent_is_sent_by_the_next_process() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    configure(&project, &webhook(&platform.url, ""));
    complete(&project);
    // As if its ralph had died after the end of the run.
    blocked_run(&project, "no key").env("RALPH_NOTIFY", "[]").output().expect(6);
    assert_eq!(events(&platform), ["completed"]);
    complete(&project);
    let mut all = events(&platform);
    all.sort_by_key(Value::to_string);
    assert_eq!(all, ["blocked", "completed", "completed"]);
}

// spec: U7
#[test]
fn runs_before_the_first_configuration_of_a_target_are_not_notified() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    blocked_run(&project, "no key").output().expect(6);
    configure(&project, &webhook(&platform.url, ""));
    complete(&project);
    assert_eq!(events(&platform), ["completed"]);
}

// spec: U7
#[test]
fn a_digest_keeps_messages_and_sends_them_as_one() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    // Twelve hours from now, wherever this runs.
    let now = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC);
    let later = format!("{:02}:{:02}", (now.hour() + 12) % 24, now.minute());
    configure(&project, &webhook(&platform.url, &format!(", digest: '{later}'")));
    for _ in 0..2 {
        project.run(&["complete"]).env("NOTIFY_SECRET", SECRET).env("TZ", "UTC").output().expect(0);
    }
    assert_eq!(platform.received().len(), 0);
    let kept = first_target(&project)["undelivered"].clone();
    assert_eq!((kept.as_array().unwrap().len(), &kept[0]["failures"]), (2, &json!(0)));
    // A quarter of a day earlier in the time zone of the user, the digest is due only later; without it, at once.
    configure(&project, &webhook(&platform.url, ""));
    for _ in 0..2 {
        complete(&project);
    }
    let received = platform.received();
    let counts: Vec<Value> = received.iter().map(|request| request.json()["count"].clone()).collect();
    assert_eq!(counts, [1, 1, 1, 1].map(Value::from), "three at a time are sent separately");
    assert_eq!(first_target(&project)["undelivered"], json!([]));
}

// spec: U7
#[test]
fn many_messages_at_the_same_time_are_sent_as_one() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    configure(&project, &webhook(&platform.url, ""));
    complete(&project);
    for _ in 0..4 {
        blocked_run(&project, "no key").env("RALPH_NOTIFY", "[]").output().expect(6);
    }
    complete(&project);
    let messages: Vec<Value> = platform.received().iter().map(ReceivedRequest::json).collect();
    let counts = messages.iter().map(|message| message["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 6, "every event arrives once: {messages:#?}");
    let digests: Vec<&Value> = messages.iter().filter(|message| message["type"] == "digest").collect();
    assert_eq!(digests.len(), 1, "{messages:#?}");
    let text = digests[0]["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("{} messages of project\n- ", digests[0]["count"])), "{text}");
}

// spec: U7, X6
// fault: 83
#[test]
fn a_target_of_the_project_is_used_only_after_approval_and_cannot_replace_one_of_the_user() {
    let (mine, theirs) = (PlatformServer::start(PlatformAnswer::Accept), PlatformServer::start(PlatformAnswer::Accept));
    let project = Project::new();
    configure(&project, &webhook(&mine.url, ", name: mine"));
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    let write = |name: &str| {
        let target = webhook(&theirs.url, &format!(", name: {name}"));
        project.write(".ralph/config.yaml", format!("notify:\n{target}"));
    };
    write("theirs");
    complete(&project);
    assert_eq!((mine.received().len(), theirs.received().len()), (1, 0));
    let listed = project.ralph(["notify", "list"]).output().expect(0).stdout;
    assert!(listed.contains("not used: it comes with the project and is not approved"), "{listed}");
    let shown = project.ralph(["trust", "--yes"]).output().expect(0).stdout;
    assert!(shown.contains("notify.theirs: {"), "{shown}");
    complete(&project);
    assert_eq!((mine.received().len(), theirs.received().len()), (2, 1));
    write("mine");
    let refused = project.ralph(["notify", "list"]).output().expect(1).stderr;
    assert!(refused.contains("the name \"mine\" is taken"), "{refused}");
}

// spec: U7
#[test]
fn a_task_is_notified_when_it_is_done_or_blocked_and_not_after_each_stage() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = pipeline::project(&[("A", ""), ("B", "")]);
    configure(&project, &webhook(&platform.url, ""));
    fs::write(project.outside("marks/wish-blocked-B-coder"), "").unwrap();
    pipeline::work(&project, &["--until-idle"]).env("NOTIFY_SECRET", SECRET).output();
    let mut items: Vec<Value> = platform.received().iter().map(|request| request.json()["items"][0].clone()).collect();
    items.sort_by_key(|item| item["subject"].to_string());
    let found: Vec<_> = items.iter().map(|item| (item["subject"].clone(), item["event"].clone())).collect();
    assert_eq!(found, [(json!("A"), json!("completed")), (json!("B"), json!("blocked"))]);
    assert_eq!(items[1]["text"], "B · coder · blocked: \"I need a key\"");
    assert_eq!(items[1]["commands"], json!(["ralph guide B TEXT && ralph retry B"]));
}

// spec: U7, W10
#[test]
fn a_question_of_a_workflow_is_notified_with_the_commands_that_answer() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = project_with(
        "release",
        "name: release\ndescription: asks\nnodes:\n  - id: ask\n    approval: {message: 'Publish <b>1.2</b>?'}\n",
    );
    configure(&project, &webhook(&platform.url, ""));
    run_with(&project, "release", &[]).env("NOTIFY_SECRET", SECRET).output().expect(6);
    let item = platform.received()[0].json()["items"][0].clone();
    assert_eq!((&item["event"], &item["kind"], &item["role"]), (&json!("waiting"), &json!("workflow"), &json!("ask")));
    assert!(item["text"].as_str().unwrap().ends_with("release · ask · waiting: \"Publish <b>1.2</b>?\""), "{item}");
    assert!(item["commands"][0].as_str().unwrap().starts_with("ralph workflow approve "), "{item}");
    assert_eq!(platform.received().len(), 1);
}
