//! What each kind of target receives.
use std::fs;

use ralph_util::hmac::sign_hex;
use serde_json::{Value, json};

use super::{SECRET, blocked_run, configure, first_target, webhook};
use crate::config::trust::on_a_terminal;
use crate::harness::Project;
use crate::invariants::CANARY;
use crate::server::platform_server::{PlatformAnswer, PlatformServer};

// spec: U7, X3
#[test]
fn a_blocked_run_tells_a_signed_webhook_what_where_why_and_how_to_answer() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    configure(&project, &webhook(&platform.url, ", link: 'https://ralph.example.net/'"));
    let finished = blocked_run(&project, "needs STRIPE_KEY, not $CANARY_TOKEN").output().expect(6).finished();
    let received = platform.received();
    assert_eq!(received.len(), 1);
    let (time, body) = (received[0].header("x-ralph-timestamp"), &received[0].body);
    let expected = format!("v1={}", sign_hex(SECRET.as_bytes(), format!("{time}.{body}").as_bytes()));
    assert_eq!(received[0].header("x-ralph-signature"), expected);
    assert!(!body.contains(CANARY), "{body}");
    let message = received[0].json();
    let run = finished["run"].as_str().unwrap();
    let short = &run[run.len() - 8..];
    assert_eq!(
        (&message["version"], &message["type"], &message["count"]),
        (&json!(1), &json!("notification"), &json!(1))
    );
    assert_eq!(message["id"], json!(received[0].header("x-ralph-delivery")));
    let item = &message["items"][0];
    assert_eq!((&item["event"], &item["kind"], &item["run"]), (&json!("blocked"), &json!("run"), &json!(run)));
    assert_eq!(item["events"], json!(["blocked", "waiting"]), "its question waits for an answer");
    let text = message["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(&format!("{short} do the work · blocked: \"needs STRIPE_KEY, not ")), "{text}");
    assert_eq!(lines[1], format!("ralph guide {short} TEXT && ralph resume {short}"));
    assert_eq!(lines[2], format!("https://ralph.example.net/runs/{run}"));
}

// spec: U7, X1
#[test]
fn slack_gets_a_text_that_mentions_nobody() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    configure(&project, "  - {kind: slack, url_env: TEAM_SLACK_URL}\n");
    let call = blocked_run(&project, "<!channel> a && b").env("TEAM_SLACK_URL", &platform.url);
    let output = call.output().expect(6);
    let texts = platform.texts("text");
    assert_eq!(texts.len(), 1, "{}", output.stderr);
    assert!(texts[0].contains("blocked: \"&lt;!channel&gt; a &amp;&amp; b\""), "{texts:?}");
    assert!(!output.stderr.contains("url-secret-77aa"), "{}", output.stderr);
}

// spec: U7, X1
#[test]
fn a_script_gets_json_on_its_standard_input_and_no_shell_sees_the_words_of_the_agent() {
    let project = Project::new();
    let script = project.outside("notify.sh");
    fs::write(&script, "#!/bin/sh\ncat > \"$1\"\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let target = project.outside("a $(touch pwned) file");
    configure(&project, &format!("  - {{kind: script, command: ['{}', '{}']}}\n", script.display(), target.display()));
    blocked_run(&project, "\\$(touch pwned); 'x' \\\"y\\\"").output().expect(6);
    let message: Value = serde_json::from_str(&fs::read_to_string(&target).unwrap()).unwrap();
    let text = message["items"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("blocked: \"$(touch pwned); 'x' \"y\"\""), "{text}");
    assert!(!project.root().join("pwned").exists());
}

// spec: U7, X1
#[test]
fn a_desktop_target_writes_to_the_terminal_if_there_is_one_and_is_kept_otherwise() {
    let project = Project::new();
    configure(&project, "  - {kind: desktop}\n");
    let shown = project.ralph(["notify", "test"]).with(on_a_terminal).output().expect(0).stdout;
    assert!(shown.contains("\x1b]9; project · this is a test message of ralph\x07"), "{shown:?}");
    project.run(&["complete"]).output().expect(0);
    let kept = first_target(&project)["undelivered"].clone();
    assert_eq!(kept[0]["error"], "this process has no terminal and no desktop");
}

// spec: U7
#[test]
fn a_failing_or_hanging_script_changes_no_exit_code_and_its_failure_is_listed() {
    let project = Project::new();
    let script = project.outside("notify.sh");
    fs::write(&script, "#!/bin/sh\necho 'no network' >&2\nexit 3\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    configure(&project, &format!("  - {{kind: script, command: ['{}']}}\n", script.display()));
    project.run(&["complete"]).output().expect(0);
    let undelivered = first_target(&project)["undelivered"].clone();
    assert_eq!(undelivered[0]["error"], "exit status: 3: no network");
    fs::write(&script, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    project.run(&["complete"]).output().expect(0);
    let undelivered = first_target(&project)["undelivered"].clone();
    assert_eq!(undelivered[1]["error"], "it did not end in time and was killed");
}

// spec: U7
#[test]
fn a_test_message_says_for_each_target_what_happened() {
    let platform = PlatformServer::start(PlatformAnswer::Accept);
    let project = Project::new();
    let nothing = project.ralph(["notify", "test"]).output().expect(1).stderr;
    assert!(nothing.contains("no target of notifications is configured"), "{nothing}");
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let targets = [
        webhook(&platform.url, ", name: phone, on: [failed], quiet: '00:00-23:59'"),
        webhook(&format!("http://{gone}/x"), ", name: gone"),
        "  - {kind: slack, url_env: NO_SUCH_VARIABLE}\n".to_owned(),
    ];
    configure(&project, &targets.concat());
    let tested = project.ralph(["notify", "test"]).env("NOTIFY_SECRET", SECRET).output().expect(1).stdout;
    let lines: Vec<&str> = tested.lines().collect();
    assert_eq!(lines[0], "phone (webhook): sent");
    assert!(lines[1].starts_with("gone (webhook): failed: it cannot be reached"), "{tested}");
    assert_eq!(lines[2], "slack (slack): failed: the environment variable NO_SUCH_VARIABLE is not set in this process");
    assert!(platform.texts("text")[0].contains("this is a test message of ralph"));
    let one = project.ralph(["notify", "test", "phone", "--json"]).env("NOTIFY_SECRET", SECRET).output().expect(0);
    assert_eq!(one.json(), json!([{ "name": "phone", "kind": "webhook", "sent": true, "error": null }]));
    let other = project.ralph(["notify", "test", "phones"]).output().expect(64).stderr;
    assert!(other.contains("hint: the targets are: phone, gone, slack"), "{other}");
}

// spec: U7, G1
#[test]
fn a_wrong_target_is_refused_with_its_line() {
    let project = Project::new();
    for (target, message) in [
        ("{kind: pager}", "there is no kind \"pager\""),
        ("{kind: webhook, url: 'https://a.example/x'}", "a webhook needs a secret"),
        ("{kind: webhook, url: 'http://a.example/x', secret_env: S}", "url: use https"),
        ("{kind: script, command: []}", "a script needs a command"),
        ("{kind: desktop, url: 'https://a.example/x'}", "`url` does not belong to the kind desktop"),
        ("{kind: desktop, on: [blokked]}", "on: \"blokked\" is not a valid value"),
        ("{kind: desktop, quiet: 22-7}", "quiet: \"22-7\" is not a time span"),
        ("{kind: desktop, quiet: '22:00-07:00', digest: '06:00'}", "the digest at 06:00 is in the quiet hours"),
        ("{kind: desktop, secret: x}", "there is no key notify.secret"),
    ] {
        configure(&project, &format!("  - {target}\n"));
        let refused = project.ralph(["notify", "list"]).output().expect(1).stderr;
        assert!(refused.contains("config.yaml:2:") && refused.contains(message), "{target}: {refused}");
    }
}
