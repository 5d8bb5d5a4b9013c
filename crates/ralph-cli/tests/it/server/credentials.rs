//! Who may send which request.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::client::{HttpAnswer, HttpRequest, read_head};
use super::served_project::{ServedProject, project_with_script, project_with_shell_agent};
use crate::control::cancel::beside;
use crate::harness::{Project, wait_until};

/// Orders of every kind; the ids need not exist.
const ORDERS: [&str; 15] = [
    "/api/runs",
    "/api/work",
    "/api/workflow-runs",
    "/api/runs/x/cancel",
    "/api/runs/x/pause",
    "/api/runs/x/resume",
    "/api/runs/x/guide",
    "/api/runs/x/accept",
    "/api/tasks/x/retry",
    "/api/tasks/x/approve",
    "/api/tasks/x/land",
    "/api/tasks/x/limits",
    "/api/workflow-runs/x/answers",
    "/api/workflow-runs/x/rerun",
    "/api/no-such-order",
];

const READS: [&str; 8] = [
    "/",
    "/healthz",
    "/api/status",
    "/api/runs",
    "/api/inbox",
    "/openapi.json",
    "/api/changes/stream",
    "/api/runs/x/events/stream",
];

// spec: X2
// fault: 98
#[test]
fn an_order_without_the_right_token_is_refused_before_it_does_anything() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let other_end = if served.token.ends_with('0') { '1' } else { '0' };
    let almost = format!("{}{other_end}", &served.token[..63]);
    for path in ORDERS {
        let order = HttpRequest::post(path, &json!({ "prompt": "x" }));
        for wrong in ["", "x", &almost, &served.token[..10]] {
            let answer = order.clone().bearer(wrong).send(served.port).expect(401);
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            assert!(answer.json()["hints"][0].as_str().unwrap().contains("--print-token"), "{}", answer.body);
        }
        order.clone().send(served.port).expect(401);
        order.header("Authorization", &format!("Basic {}", served.token)).send(served.port).expect(401);
    }
    assert_eq!(served.get("/api/runs").json()["runs"], json!([]));
    let file = project.state().join("serve-token");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(file).unwrap(), served.token);
    served.stop();
}

// spec: X2
// fault: 98
#[test]
fn a_server_that_other_machines_reach_requires_the_token_for_every_request() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start_with(&project, &["--host", "0.0.0.0"]);
    for path in READS {
        HttpRequest::get(path).send(served.port).expect(401);
    }
    HttpRequest::get("/api/status").bearer(&served.token).send(served.port).expect(200);
    // Conversations without a token do not exist there, also with one.
    for request in [HttpRequest::get("/test/messages/a"), HttpRequest::post("/test/message", &json!({}))] {
        request.clone().send(served.port).expect(404);
        request.bearer(&served.token).send(served.port).expect(404);
    }
    let code = served.login_code();
    let cookie = log_in(&served, &code);
    HttpRequest::get("/api/status").header("Cookie", &cookie).send(served.port).expect(200);
    assert!(served.stop().stderr.contains("other machines can reach this server"));
}

// spec: X2
// fault: 98
#[test]
fn a_request_through_a_proxy_has_not_the_rights_of_this_machine() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start_with(&project, &["--allow-host", "ralph.example.org"]);
    let named = |request: HttpRequest| request.header("Host", "ralph.example.org");
    let marked = |request: HttpRequest| request.header("X-Forwarded-For", "203.0.113.9");
    for path in READS {
        named(HttpRequest::get(path)).send(served.port).expect(401);
        marked(HttpRequest::get(path)).send(served.port).expect(401);
    }
    let messages = [HttpRequest::get("/test/messages/a"), HttpRequest::post("/test/message", &json!({}))];
    for request in messages {
        named(request.clone()).send(served.port).expect(404);
        marked(request).bearer(&served.token).send(served.port).expect(404);
    }
    named(HttpRequest::get("/api/status")).bearer(&served.token).send(served.port).expect(200);
    // A browser logs in under the name of the proxy.
    let login = HttpRequest::get(format!("/login?token={}", served.login_code()));
    let answer = named(login).send(served.port).expect(303);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    named(HttpRequest::get("/")).header("Cookie", &cookie).send(served.port).expect(200);
    served.get("/api/status").expect(200);
    served.stop();
}

/// Opens a login address, and returns the cookie.
fn log_in(served: &ServedProject<'_>, code: &str) -> String {
    let answer = HttpRequest::get(format!("/login?token={code}")).send(served.port).expect(303);
    assert_eq!(answer.header("location"), Some("/"));
    let cookie = answer.header("set-cookie").unwrap();
    for attribute in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

// spec: X2
#[test]
fn a_login_address_works_once_and_a_new_one_can_be_printed() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let code = served.login_code();
    HttpRequest::get(format!("/login?token={code}")).method("HEAD").send(served.port).expect(204);
    log_in(&served, &code);
    let again = served.get(&format!("/login?token={code}")).expect(401);
    assert!(again.json()["hints"][0].as_str().unwrap().contains("--print-url"), "{}", again.body);
    served.get("/login").expect(401);
    served.get("/login?token=..%2fserve-token").expect(401);
    let port = served.port.to_string();
    let printed = beside(&project, &["serve", "--print-url", "--port", &port]).expect(0).stdout;
    let address = format!("http://127.0.0.1:{port}/login?token=");
    log_in(&served, printed.trim().strip_prefix(&address).unwrap_or_else(|| panic!("{printed}")));
    served.stop();
}

// spec: X2
// fault: 99
#[test]
fn a_cookie_authorises_an_order_only_with_the_origin_and_the_csrf_header() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let cookie = log_in(&served, &served.login_code());
    let session = HttpRequest::get("/api/session").header("Cookie", &cookie).send(served.port).expect(200).json();
    let csrf = session["csrf_token"].as_str().unwrap();
    assert_eq!(served.get("/api/session").json()["csrf_token"], Value::Null);
    let origin = format!("http://127.0.0.1:{}", served.port);
    let order = HttpRequest::post("/api/runs/none/cancel", &json!({})).header("Cookie", &cookie);
    order.clone().send(served.port).expect(403);
    order.clone().header("Origin", &origin).send(served.port).expect(403);
    order.clone().header("X-Ralph-CSRF", csrf).send(served.port).expect(403);
    let complete = order.header("Origin", &origin).header("X-Ralph-CSRF", csrf);
    // The order is admitted: it fails because there is no such run.
    complete.clone().send(served.port).expect(404);
    for wrong in ["", "x", &csrf[1..]] {
        complete.clone().header("X-Ralph-CSRF", wrong).send(served.port).expect(403);
    }
    let forged = cookie.replace(&cookie[cookie.len() - 4..], "0000");
    complete.clone().header("Cookie", &forged).send(served.port).expect(401);
    served.stop();
}

// spec: X2
// fault: 99
#[test]
fn orders_from_other_sites_and_in_other_formats_are_refused() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let foreign = ["http://evil.test", "null", "http://127.0.0.1:1", "http://localhost.evil.test"];
    for path in ["/api/runs/none/cancel", "/test/message"] {
        let order = HttpRequest::post(path, &json!({})).bearer(&served.token);
        for origin in foreign {
            order.clone().header("Origin", origin).send(served.port).expect(403);
        }
        order.clone().header("Sec-Fetch-Site", "cross-site").send(served.port).expect(403);
        for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            order.clone().header("Content-Type", content_type).send(served.port).expect(403);
        }
        order.clone().without_header("Content-Type").send(served.port).expect(403);
    }
    let answer = served.get("/api/status").expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let preflight = HttpRequest::get("/api/runs").method("OPTIONS");
    preflight.header("Origin", "http://evil.test").send(served.port).expect(403);
    served.stop();
}

// spec: X2
// fault: 100
#[test]
fn a_name_of_another_site_for_this_machine_is_not_answered() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let order = HttpRequest::post("/api/runs", &json!({ "prompt": "x" })).bearer(&served.token);
    let requests =
        READS.map(HttpRequest::get).into_iter().chain([order, HttpRequest::post("/test/message", &json!({}))]);
    for request in requests {
        for host in ["evil.test", &format!("evil.test:{}", served.port), "127.0.0.1.evil.test", ""] {
            request.clone().header("Host", host).send(served.port).expect(421);
        }
    }
    served.get("/healthz").expect(200);
    HttpRequest::get("/healthz").header("Host", &format!("localhost:{}", served.port)).send(served.port).expect(200);
    served.stop();
}

// fault: 103
#[test]
fn paths_outside_of_the_data_are_not_found() {
    let project = project_with_script("text Done. {promise}\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    served.wait_for_status(&run, "completed");
    let outside = [
        "/api/runs/..%2f..%2fetc%2fpasswd",
        "/api/runs/..%2f..%2fserve-token/log",
        "/api/runs/%00",
        "/api/runs/..%5c..%5cetc",
        "/api/tasks/..%2f..",
        "/api/workflows/..%2f..%2fetc%2fpasswd",
        "/api/workflows/%2fetc%2fpasswd/graph.svg",
        "/api/runs/%ff",
        "/../../etc/passwd",
        "/static/..%2f..%2fetc%2fpasswd",
    ];
    for path in outside {
        let answer = served.get(path).expect(404);
        assert!(!answer.body.contains("root:"), "{path}: {}", answer.body);
    }
    served.stop();
}

// spec: X2
#[test]
fn every_answer_has_the_security_headers() {
    let project = Project::new();
    project.commit();
    let served = ServedProject::start(&project);
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
                  form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    let refused = HttpRequest::get("/").header("Host", "evil.test").send(served.port);
    let answers: Vec<HttpAnswer> = vec![
        served.get("/"),
        served.get("/api/status"),
        served.get("/none"),
        served.post("/api/runs", &json!({})),
        refused,
    ];
    for answer in answers {
        assert_eq!(answer.header("content-security-policy"), Some(policy));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
    let mut stream = HttpRequest::get("/api/changes/stream").open(served.port);
    let (_, headers) = read_head(&mut stream);
    assert!(headers.iter().any(|(name, value)| name == "content-security-policy" && value == policy));
    served.stop();
}

// spec: V17, X2
#[test]
fn an_agent_of_a_run_cannot_give_orders_over_http_also_with_the_token() {
    let send = "exec 3<>/dev/tcp/127.0.0.1/$(cat ../port); printf '%s\\r\\n' \"POST $path HTTP/1.1\" \
                \"Host: 127.0.0.1\" \"Authorization: Bearer $(cat ../token)\" 'Content-Type: application/json' \
                'Content-Length: 2' 'Connection: close' '' >&3; printf '{}' >&3; cat <&3 >> ../answers; exec 3>&-";
    let lines = format!(
        "cat > /dev/null; for path in /api/runs/none/cancel /api/runs/none/accept /api/workflow-runs/none/answers \
         /test/message; do export path; bash -c {0}; env -u RALPH_RUN_ID -u RALPH_PROJECT bash -c {0}; done; \
         '{1}' serve --print-token > ../printed 2>&1; echo '<promise>COMPLETE</promise>'",
        shell_quoted(send),
        env!("CARGO_BIN_EXE_ralph"),
    );
    let project = project_with_shell_agent(&lines);
    let served = ServedProject::start(&project);
    fs::write(project.outside("port"), served.port.to_string()).unwrap();
    fs::write(project.outside("token"), &served.token).unwrap();
    let run = served.start_run(&json!({ "prompt": "x" }));
    served.wait_for_status(&run, "completed");
    let answers = fs::read_to_string(project.outside("answers")).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 403 Forbidden").count(), 8, "{answers}");
    assert_eq!(answers.matches("an agent cannot give orders to its own project").count(), 8, "{answers}");
    let printed = fs::read_to_string(project.outside("printed")).unwrap();
    assert!(printed.contains("an agent cannot serve the project"), "{printed}");
    // The same order of a person is admitted.
    served.post("/api/runs/none/cancel", &json!({})).expect(404);
    served.stop();
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

// spec: X2
#[test]
fn a_damaged_or_readable_token_file_is_an_error() {
    let project = Project::new();
    project.commit();
    project.ralph(["serve", "--print-token"]).output().expect(0);
    let file = project.state().join("serve-token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = project.ralph(["serve", "--port", "0"]).output_with_damaged_state().expect(1).stderr;
    assert!(refused.contains("can be read by other users"), "{refused}");
    fs::write(&file, "short").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let refused = project.ralph(["serve", "--print-token"]).output_with_damaged_state().expect(1).stderr;
    assert!(refused.contains("is not a token file of ralph"), "{refused}");
    fs::remove_file(&file).unwrap();
    project.ralph(["serve", "--print-token"]).output().expect(0);
}

// spec: X3
#[test]
fn secrets_of_the_environment_are_redacted_in_every_answer() {
    let project = project_with_shell_agent(
        "cat > /dev/null; echo \"the token is $CANARY_TOKEN\"; echo '<promise>COMPLETE</promise>'",
    );
    let served = ServedProject::start(&project);
    let canary = crate::invariants::CANARY;
    let run = served.start_run(&json!({ "prompt": format!("use {canary} here") }));
    served.wait_for_status(&run, "completed");
    let mut found = 0;
    for part in ["", "/log", "/events", "/why", "/iterations/1", "/iterations/1/prompt", "/events/stream"] {
        let path = format!("/api/runs/{run}{part}");
        // The stream of an ended run ends with its last event.
        let body = HttpRequest::get(&path).send(served.port).expect(200).body;
        assert!(!body.contains(canary), "{path}: {body}");
        found += body.matches("[redacted").count();
    }
    assert!(found > 0);
    let listed = served.get("/api/runs").body;
    assert!(!listed.contains(canary), "{listed}");
    wait_until("the run has ended", || served.get("/api/status").json()["loops"] == json!([]));
    served.stop();
}
