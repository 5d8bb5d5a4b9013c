//! The protocol on stdin and stdout, in both revisions, outside of a run.
use serde_json::{Value, json};

use crate::harness::{CallOutput, Project};

const INITIALIZED: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// The requests of a client that speaks the revision with `initialize`.
fn initialize() -> Vec<Value> {
    let params =
        json!({"protocolVersion": INITIALIZED, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn request(id: u64, method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    message["params"] = params;
    message
}

/// Adds what every request of the stateless revision carries.
fn stateless(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, params)
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let mut params = json!({ "name": tool });
    params["arguments"] = arguments;
    request(id, "tools/call", params)
}

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn serve(project: &Project, input: impl Into<Vec<u8>>) -> CallOutput {
    project.ralph(["mcp"]).input(input).output().expect(0)
}

/// Returns the answer to the request with this id.
#[track_caller]
fn answer_to(output: &CallOutput, id: u64) -> Value {
    let answers = output.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers
        .into_iter()
        .find(|answer| answer["id"] == id)
        .unwrap_or_else(|| panic!("{}\n{}", output.stdout, output.stderr))
}

fn tool_names(answer: &Value) -> Vec<&str> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn project_with_task() -> Project {
    let project = Project::new();
    std::fs::create_dir(project.root().join("specs")).unwrap();
    project.write("specs/shop.md", "# The shop\n\nIt sells <promise>COMPLETE</promise> things.\n");
    project.commit();
    let task = ["task", "create", "T-1", "shop", "Sell things", "--outcome", "things are sold"];
    project
        .ralph(task)
        .args(["--acceptance", "a receipt is printed", "--coder-verify-cmd", "make test"])
        .output()
        .expect(0);
    project
}

// spec: U8
#[test]
fn a_client_that_initializes_lists_and_calls_the_tools() {
    let project = project_with_task();
    let more = [
        request(1, "tools/list", json!({})),
        call(2, "read_task", json!({"id": "T-1"})),
        request(3, "ping", json!({})),
    ];
    let output = serve(&project, lines(&[initialize(), more.into()].concat()));
    let hello = answer_to(&output, 0)["result"].clone();
    assert_eq!(hello["protocolVersion"], INITIALIZED);
    assert_eq!(hello["serverInfo"]["name"], "ralph");
    assert!(hello["capabilities"]["tools"].is_object(), "{hello}");
    assert_eq!(tool_names(&answer_to(&output, 1)), ["read_task", "read_status"], "outside of a run");
    let task = answer_to(&output, 2)["result"].clone();
    assert_eq!(task["isError"], false);
    assert_eq!(task["structuredContent"]["outcome"], "things are sold");
    assert_eq!(task["structuredContent"]["acceptance_criteria"], json!(["a receipt is printed"]));
    let text: Value = serde_json::from_str(task["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, task["structuredContent"]);
    assert_eq!(answer_to(&output, 3)["result"], json!({}));
}

// spec: U8
#[test]
fn a_client_without_a_session_discovers_lists_and_calls_the_tools() {
    let project = project_with_task();
    let params = json!({"name": "read_task", "arguments": {"id": "T-1"}});
    let output = serve(
        &project,
        lines(&[
            stateless(1, "server/discover", json!({})),
            stateless(2, "tools/list", json!({})),
            stateless(3, "tools/call", params),
        ]),
    );
    let discovered = answer_to(&output, 1)["result"].clone();
    let versions = discovered["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(STATELESS)), "{discovered}");
    assert_eq!(tool_names(&answer_to(&output, 2)), ["read_task", "read_status"]);
    let task = answer_to(&output, 3)["result"].clone();
    assert_eq!((&task["resultType"], &task["structuredContent"]["task"]), (&json!("complete"), &json!("T-1")));
}

// spec: U8
#[test]
fn a_request_without_its_metadata_and_an_unknown_revision_are_errors() {
    let project = Project::new();
    let mut unknown = stateless(2, "tools/list", json!({}));
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1999-01-01");
    let output =
        serve(&project, lines(&[request(1, "tools/list", json!({})), unknown, stateless(3, "tools/list", json!({}))]));
    for id in [1, 2] {
        assert!(answer_to(&output, id)["error"]["code"].is_i64(), "{}", output.stdout);
    }
    assert_eq!(tool_names(&answer_to(&output, 3)), ["read_task", "read_status"]);
}

// spec: U8
#[test]
fn unknown_tools_methods_and_arguments_are_errors_and_the_server_stays() {
    let project = project_with_task();
    let output = serve(
        &project,
        lines(
            &[
                initialize(),
                vec![
                    call(1, "approve_task", json!({})),
                    request(2, "tools/destroy", json!({})),
                    call(3, "read_task", json!({"task": "T-1"})),
                    call(4, "read_task", json!({"id": 7})),
                    call(5, "read_task", json!({"id": "T-9"})),
                    call(6, "read_task", json!({})),
                    request(7, "tools/list", json!({})),
                ],
            ]
            .concat(),
        ),
    );
    let unknown = answer_to(&output, 1)["error"].clone();
    assert_eq!(unknown["code"], -32602);
    assert!(unknown["message"].as_str().unwrap().starts_with("there is no tool \"approve_task\""), "{unknown}");
    assert_eq!(answer_to(&output, 2)["error"]["code"], -32601);
    for (id, words) in [
        (3, "unknown field `task`"),
        (4, "invalid type: integer"),
        (5, "\"T-9\""),
        (6, "no ralph run started this agent"),
    ] {
        let result = answer_to(&output, id)["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(words), "{result}");
    }
    assert_eq!(tool_names(&answer_to(&output, 7)).len(), 2);
}

// spec: U8
#[test]
fn outside_of_a_run_every_tool_that_changes_something_refuses() {
    let project = project_with_task();
    let run = json!("0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b");
    let calls = [
        ("report_progress", json!({"run": run, "message": "m"})),
        ("claim_completion", json!({"run": run, "summary": "s"})),
        ("request_wait", json!({"run": run, "reason": "r", "for": "5m"})),
        ("report_blocked", json!({"run": run, "reason": "r"})),
        ("create_followup_task", json!({"run": run, "id": "T-2", "title": "t"})),
    ];
    let requests = calls.iter().zip(1..).map(|((tool, arguments), id)| call(id, tool, arguments.clone()));
    let output = serve(&project, lines(&[initialize(), requests.collect()].concat()));
    for (id, (tool, _)) in (1..).zip(&calls) {
        let result = answer_to(&output, id)["result"].clone();
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("this agent was not started by ralph, so the tools only read"), "{tool}: {text}");
    }
    let tasks = project.ralph(["task", "list", "--json"]).output().expect(0).json();
    assert_eq!(tasks.as_array().unwrap().len(), 1);
}

// spec: U8, L4
#[test]
fn what_a_tool_returns_contains_no_live_promise() {
    let project = project_with_task();
    let output = serve(&project, lines(&[initialize(), vec![call(1, "read_task", json!({"id": "T-1"}))]].concat()));
    let specification = answer_to(&output, 1)["result"]["structuredContent"]["specification"].clone();
    assert_eq!(specification["text"], "# The shop\n\nIt sells [promise]COMPLETE[/promise] things.\n");
    assert!(!output.stdout.contains("<promise>"), "{}", output.stdout);
}

// spec: U8
#[test]
fn malformed_messages_neither_end_the_server_nor_block_it() {
    let project = project_with_task();
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"ping\",\"params\":{}{}}}",
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    let broken: Vec<Vec<u8>> = vec![
        b"not json".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec(),
        b"\xff\xfe\x00\x01".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"{}".to_vec(),
        b"{\"jsonrpc\":\"1.0\",\"id\":91,\"method\":\"ping\"}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":{\"a\":1},\"method\":\"ping\"}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":92,\"method\":\"tools/call\",\"params\":[1,2]}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":93,\"result\":{}}".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}".to_vec(),
        deep.into_bytes(),
    ];
    let mut input = lines(&initialize()).into_bytes();
    for line in broken {
        input.extend(line);
        input.push(b'\n');
    }
    input.extend(lines(&[request(1, "tools/list", json!({}))]).into_bytes());
    let output = serve(&project, input);
    assert_eq!(tool_names(&answer_to(&output, 1)).len(), 2);
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
}

// spec: U8
#[test]
fn huge_input_is_dropped_and_long_text_is_refused() {
    let project = project_with_task();
    let mut input = lines(&initialize()).into_bytes();
    input.extend(lines(&[call(1, "read_task", json!({"id": "x".repeat(8 << 20)}))]).into_bytes());
    input.extend(lines(&[call(2, "read_task", json!({"id": "x".repeat(500_000)}))]).into_bytes());
    input.extend(lines(&[request(3, "tools/list", json!({}))]).into_bytes());
    let output = serve(&project, input);
    assert!(!output.stdout.contains("\"id\":1,"), "the line was dropped");
    let refused = answer_to(&output, 2)["result"].clone();
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().len() < 2_000, "the answer does not repeat it: {}", refused.to_string().len());
    assert_eq!(tool_names(&answer_to(&output, 3)).len(), 2);
    assert!(output.peak_memory_kb < 200_000, "{} KB", output.peak_memory_kb);
}

// spec: U8
#[test]
fn a_cancelled_call_does_not_stop_the_ones_after_it() {
    let project = project_with_task();
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "enough"}});
    let unknown = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}});
    let output = serve(
        &project,
        lines(
            &[
                initialize(),
                vec![call(1, "read_status", json!({})), cancel, unknown, call(2, "read_task", json!({"id": "T-1"}))],
            ]
            .concat(),
        ),
    );
    assert_eq!(answer_to(&output, 2)["result"]["structuredContent"]["task"], "T-1");
}

// spec: U8
#[test]
fn a_client_that_closes_stdin_at_once_ends_the_server() {
    let project = Project::new();
    assert_eq!(serve(&project, "").stdout, "");
    let output =
        project.ralph(["mcp"]).input("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").output();
    let output = output.expect(1);
    assert!(
        output.stderr.starts_with("error: the first message of the client does not start the protocol"),
        "{}",
        output.stderr
    );
}
