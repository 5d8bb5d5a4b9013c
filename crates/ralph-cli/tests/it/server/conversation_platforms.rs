//! Slack and signed webhooks, against a server on this machine that speaks their protocol.
use std::time::{SystemTime, UNIX_EPOCH};

use ralph_util::hmac::sign_hex;
use serde_json::{Value, json};

use super::conversations::{RALPH_LOOP, RELEASE, project_with};
use super::platform_server::{PlatformAnswer, PlatformServer};
use super::server_process::{ServerAnswer, ServerProcess};
use crate::harness::{Project, wait_until};

const SLACK_SECRET: &str = "slack-signing-secret-8f742231b10e8888";
const WEBHOOK_SECRET: &str = "webhook-secret-5d41402abc4b2a76b971";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn start_slack<'a>(project: &'a Project, platform: &PlatformServer) -> ServerProcess<'a> {
    let call = project.ralph(["serve", "--port", "0"]);
    ServerProcess::start_call(call.env("TEAM_SLACK_URL", &platform.url).env("TEAM_SLACK_SIGNING", SLACK_SECRET))
}

const SLACK_CONFIG: &str = "platforms: {slack: {url_env: TEAM_SLACK_URL, secret_env: TEAM_SLACK_SIGNING}}\n";

/// Sends an event as Slack does.
fn send_slack_at(server: &ServerProcess<'_>, secret: &str, time: u64, event: &Value) -> ServerAnswer {
    let body = event.to_string();
    let signature = format!("v0={}", sign_hex(secret.as_bytes(), format!("v0:{time}:{body}").as_bytes()));
    let time = time.to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Slack-Request-Timestamp", time.as_str()),
        ("X-Slack-Signature", signature.as_str()),
    ];
    server.request("POST", "/hooks/slack", &headers, &body)
}

fn send_slack(server: &ServerProcess<'_>, event: &Value) -> ServerAnswer {
    send_slack_at(server, SLACK_SECRET, now(), event)
}

fn mention(id: &str, ts: &str, text: &str) -> Value {
    json!({ "type": "event_callback", "event_id": id, "event": { "type": "app_mention", "user": "U7", "channel": "C1",
        "ts": ts, "thread_ts": "1.1", "text": text } })
}

// spec: W9, W13
#[test]
fn a_slack_thread_starts_a_workflow_answers_its_question_and_gets_its_messages() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = project_with(&[("release", RELEASE)], "text unused\n", SLACK_CONFIG);
    let server = start_slack(&project, &platform);
    let challenge = send_slack(&server, &json!({ "type": "url_verification", "challenge": "abc" })).expect(200);
    assert_eq!(challenge.json(), json!({ "challenge": "abc" }));
    let started = mention("Ev1", "1.1", "<@U0> ship it");
    send_slack(&server, &started).expect(202);
    // Slack repeats a request that it takes for lost, and sends a mention as a message too.
    assert_eq!(send_slack(&server, &started).expect(200).json()["repeated"], true);
    assert_eq!(send_slack(&server, &mention("Ev2", "1.1", "<@U0> ship it")).expect(200).json()["repeated"], true);
    platform.wait_for_text("text", "ask asks:\nPublish?");
    send_slack(&server, &mention("Ev3", "1.2", "/workflow approve")).expect(202);
    let texts = platform.wait_for_text("text", "Workflow completed: ");
    assert_eq!(texts.iter().filter(|text| text.starts_with("Workflow release started")).count(), 1, "{texts:#?}");
    assert!(texts.iter().any(|text| text.contains("ask: approve, by slack user U7")), "{texts:#?}");
    for request in platform.received() {
        assert_eq!((&request.json()["channel"], &request.json()["thread_ts"]), (&"C1".into(), &"1.1".into()));
    }
    let output = server.stop();
    for secret in [SLACK_SECRET, "url-secret-77aa"] {
        assert!(!output.stderr.contains(secret) && !output.stdout.contains(secret), "{}", output.stderr);
        let shown = project.ralph(["config", "show", "--json"]).output().expect(0).stdout;
        assert!(!shown.contains(secret), "{shown}");
    }
}

// spec: W9, X2
#[test]
fn unsigned_old_and_forged_requests_and_those_of_bots_start_nothing() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = project_with(&[("release", RELEASE)], "text unused\n", SLACK_CONFIG);
    let server = start_slack(&project, &platform);
    let event = mention("Ev1", "1.1", "ship it");
    send_slack_at(&server, "another secret", now(), &event).expect(401);
    send_slack_at(&server, SLACK_SECRET, now() - 301, &event).expect(401);
    let json_type = ("Content-Type", "application/json");
    server.request("POST", "/hooks/slack", &[json_type], &event.to_string()).expect(401);
    server.request("POST", "/hooks/webhook", &[json_type], "{}").expect(404);
    let mut own = event;
    own["event"]["bot_id"] = "B1".into();
    assert_eq!(send_slack(&server, &own).expect(200).json()["ignored"], true);
    assert_eq!(server.get("/api/conversations").expect(200).json(), json!([]));
    server.stop();
    assert_eq!(platform.received().len(), 0);
}

const WEBHOOK_CONFIG: &str = "platforms: {webhook: {url: 'URL', secret_env: HOOK_SECRET}}\n";

fn webhook_project(platform: &PlatformServer, script: &str) -> Project {
    project_with(&[("ralph", RALPH_LOOP)], script, &WEBHOOK_CONFIG.replace("URL", &platform.url))
}

fn start_webhook(project: &Project) -> ServerProcess<'_> {
    ServerProcess::start_call(project.ralph(["serve", "--port", "0"]).env("HOOK_SECRET", WEBHOOK_SECRET))
}

fn sign_webhook(time: &str, body: &str) -> String {
    format!("v1={}", sign_hex(WEBHOOK_SECRET.as_bytes(), format!("{time}.{body}").as_bytes()))
}

fn send_webhook(server: &ServerProcess<'_>, time: u64, message: &str) -> ServerAnswer {
    let body = json!({ "conversationId": "ci", "message": message, "author": "build bot" }).to_string();
    let time = time.to_string();
    let signature = sign_webhook(&time, &body);
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Ralph-Timestamp", time.as_str()),
        ("X-Ralph-Signature", signature.as_str()),
    ];
    server.request("POST", "/hooks/webhook", &headers, &body)
}

const ONE_ITERATION: &str = "text Done.\ntext <promise>COMPLETE</promise>\n";

// spec: W9, W8
#[test]
fn a_signed_webhook_starts_a_workflow_and_gets_signed_messages_in_order_after_failures() {
    let platform = PlatformServer::start(PlatformAnswer::FailFirst(3));
    let project = webhook_project(&platform, ONE_ITERATION);
    let server = start_webhook(&project);
    let time = now();
    send_webhook(&server, time, "run ralph").expect(202);
    assert_eq!(send_webhook(&server, time, "run ralph").expect(200).json()["repeated"], true, "a replay");
    send_webhook(&server, time - 400, "run ralph").expect(401);
    platform.wait_for_text("message", "Workflow completed: ");
    server.stop();
    let received = platform.received();
    for request in &received {
        let expected = sign_webhook(&request.header("x-ralph-timestamp"), &request.body);
        assert_eq!(request.header("x-ralph-signature"), expected);
        assert_eq!(request.json()["conversationId"], "ci");
    }
    let sequence: Vec<u64> = received[3..].iter().map(|request| request.json()["sequence"].as_u64().unwrap()).collect();
    assert!(sequence.is_sorted(), "{sequence:?}");
    let texts = platform.texts("message");
    assert!(texts[..4].iter().all(|text| text.starts_with("Workflow ralph started")), "sent again: {texts:#?}");
    assert!(texts[4..].iter().any(|text| text == "**Iteration 1/20**"), "{texts:#?}");
}

// spec: W8
#[test]
fn lost_messages_do_not_stop_the_run_and_its_end_says_how_many_were_lost() {
    let platform = PlatformServer::start(PlatformAnswer::FailMessagesWith("**Iteration"));
    let project = webhook_project(&platform, ONE_ITERATION);
    let server = start_webhook(&project);
    send_webhook(&server, now(), "run ralph").expect(202);
    let texts = platform.wait_for_text("message", "could not be sent here");
    assert!(texts.last().unwrap().starts_with("1 message of workflow run "), "{texts:#?}");
    let tries = texts.iter().filter(|text| *text == "**Iteration 1/20**").count();
    assert_eq!(tries, 4, "one send and three retries: {texts:#?}");
    assert!(texts.iter().any(|text| text.starts_with("Workflow completed: ")), "{texts:#?}");
    server.stop();
}

// spec: W9, X2
#[test]
fn redirects_are_not_followed_and_a_message_is_kept_for_the_next_server() {
    let platform = PlatformServer::start(PlatformAnswer::Redirect);
    let project = webhook_project(&platform, ONE_ITERATION);
    let server = start_webhook(&project);
    send_webhook(&server, now(), "run ralph").expect(202);
    wait_until("a message was tried", || !platform.received().is_empty());
    wait_until("the run has completed", || {
        let runs = project.ralph(["runs", "--json"]).start().wait_without_invariants().expect(0).json();
        runs.as_array().unwrap().iter().any(|run| run["status"] == "completed")
    });
    server.stop();
    let paths: Vec<String> =
        platform.received().iter().map(|request| request.head.lines().next().unwrap().to_owned()).collect();
    assert!(paths.iter().all(|line| line == "POST /services/T0/B0/url-secret-77aa HTTP/1.1"), "{paths:?}");
    let next = PlatformServer::start(PlatformAnswer::Accept);
    let folder = project.home().join(".config/ralph/config.yaml");
    let config = std::fs::read_to_string(&folder).unwrap().replace(&platform.url, &next.url);
    std::fs::write(&folder, config).unwrap();
    let server = start_webhook(&project);
    next.wait_for_text("message", "Workflow ralph started");
    server.stop();
}

// spec: W9, X6
#[test]
fn a_platform_of_the_project_or_without_its_variable_is_refused_before_the_server_listens() {
    let project = project_with(&[("release", RELEASE)], "text unused\n", SLACK_CONFIG);
    let refused = project.ralph(["serve", "--port", "0"]).output().expect(1).stderr;
    assert!(refused.contains("the environment variable of platforms.slack.url_env is not set"), "{refused}");
    let project = project_with(&[("release", RELEASE)], "text unused\n", "");
    project.write(".ralph/config.yaml", SLACK_CONFIG);
    project.trust();
    let call = project.ralph(["serve", "--port", "0"]).env("TEAM_SLACK_URL", "x").env("TEAM_SLACK_SIGNING", "y");
    let refused = call.output().expect(1).stderr;
    assert!(refused.contains("cannot be set by the project's file"), "{refused}");
    assert!(refused.contains("hint: move it to your own configuration file"), "{refused}");
}
