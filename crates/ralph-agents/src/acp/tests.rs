//! The ACP conversation, message by message: what ralph sends, and which events the agent's messages become.
use serde_json::{Value, json};

use super::stream_parser;
use crate::stream::parser::{ConversationRequest, PriorUsage, StdinDisposition, StreamParser};
use crate::tests::final_text;
use crate::{AgentErrorKind, AgentEvent, PermissionLevel, WorkScope, is_lost_session_message};

struct AcpScenario {
    parser: Box<dyn StreamParser>,
    events: Vec<AgentEvent>,
    sent_messages: Vec<Value>,
    is_stdin_closed: bool,
}

fn sample_request() -> ConversationRequest {
    ConversationRequest {
        prompt: "Write hello.txt.".into(),
        folder: "/home/p".into(),
        session: None,
        model: None,
        permission: PermissionLevel::Edits,
        work_scope: WorkScope::default(),
    }
}

impl AcpScenario {
    fn start_conversation(request: ConversationRequest) -> Self {
        let mut scenario = Self {
            parser: Box::new(stream_parser()),
            events: Vec::new(),
            sent_messages: Vec::new(),
            is_stdin_closed: false,
        };
        scenario.parser.start_conversation(request);
        scenario.collect_sent();
        scenario
    }

    fn collect_sent(&mut self) {
        let pending = self.parser.take_pending_stdin();
        let lines = pending.bytes.split_inclusive(|byte| *byte == b'\n');
        self.sent_messages.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        self.is_stdin_closed |= pending.disposition == StdinDisposition::Close;
    }

    fn receive_message(mut self, message: &Value) -> Self {
        self.parser.push(format!("{message}\n").as_bytes(), &mut self.events);
        self.collect_sent();
        self
    }

    /// Sends the agent's response to our last request.
    fn respond_with(self, result: &Value) -> Self {
        let id = self.last_request_id();
        self.receive_message(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn respond_with_error(self, error: &Value) -> Self {
        let id = self.last_request_id();
        self.receive_message(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    fn last_request_id(&self) -> Value {
        self.sent_messages.iter().rfind(|sent| sent["method"].is_string() && sent["id"].is_u64()).unwrap()["id"].clone()
    }

    fn initialize_with(self, capabilities: &Value) -> Self {
        self.respond_with(&json!({"protocolVersion": 1, "agentCapabilities": capabilities}))
    }

    fn open_session(self) -> Self {
        self.respond_with(&json!({"sessionId": "s1"}))
    }

    /// Starts a conversation and runs it up to the prompt, in a new session.
    fn with_prompt_sent() -> Self {
        Self::start_conversation(sample_request()).initialize_with(&json!({"loadSession": true})).open_session()
    }

    fn receive_update(self, update: &Value) -> Self {
        self.receive_message(
            &json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}),
        )
    }

    fn agent_says(self, text: &str) -> Self {
        self.receive_update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
    }

    fn user_says(self, text: &str) -> Self {
        self.receive_update(&json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}))
    }

    fn request_permission(self, id: &Value, kind: &str, title: &str) -> Self {
        let tool = json!({"toolCallId": "t", "title": title, "kind": kind});
        let options = json!([{"optionId": "always", "kind": "allow_always"}, {"optionId": "yes", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"}]);
        let params = json!({"sessionId": "s1", "toolCall": tool, "options": options});
        self.receive_message(
            &json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}),
        )
    }

    fn stop_turn(self, reason: &str) -> Self {
        self.respond_with(&json!({"stopReason": reason}))
    }

    fn last_sent(&self) -> &Value {
        self.sent_messages.last().unwrap()
    }

    fn fatal_error(&self) -> (AgentErrorKind, String) {
        let found = self.events.iter().find_map(|event| match event {
            AgentEvent::Error { kind, message, fatal: true } => Some((*kind, message.clone())),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{:?}", self.events))
    }
}

#[test] // spec: A1
fn the_agent_is_initialized_given_a_session_and_then_the_prompt() {
    let scenario = AcpScenario::start_conversation(sample_request());
    assert_eq!(scenario.last_sent()["method"], "initialize");
    assert_eq!(scenario.last_sent()["params"]["protocolVersion"], 1);
    assert_eq!(scenario.last_sent()["params"]["clientCapabilities"]["fs"]["writeTextFile"], false);
    assert_eq!(scenario.last_sent()["params"]["clientCapabilities"]["terminal"], false);
    let scenario = scenario.initialize_with(&json!({"loadSession": true}));
    assert_eq!(scenario.last_sent()["method"], "session/new");
    assert_eq!(scenario.last_sent()["params"], json!({"cwd": "/home/p", "mcpServers": []}));
    let scenario = scenario.open_session();
    assert_eq!(scenario.last_sent()["method"], "session/prompt");
    assert_eq!(scenario.last_sent()["params"]["prompt"], json!([{"type": "text", "text": "Write hello.txt."}]));
    assert_eq!(scenario.events, [AgentEvent::Started { session: Some("s1".into()), model: None }]);
    let scenario = scenario.agent_says("Done. ").agent_says("<promise>X</promise>").stop_turn("end_turn");
    assert_eq!(final_text(&scenario.events), "Done. <promise>X</promise>");
    assert_eq!(scenario.events.last(), Some(&AgentEvent::Finished { ok: true }));
    assert!(scenario.is_stdin_closed && scenario.parser.is_conversation_over());
}

#[test] // spec: A1, A5
fn an_unsupported_or_missing_protocol_version_is_reported_and_ends_the_conversation() {
    let scenario = AcpScenario::start_conversation(sample_request()).respond_with(&json!({"protocolVersion": 2}));
    let (kind, message) = scenario.fatal_error();
    assert_eq!(kind, AgentErrorKind::Format);
    assert!(message.contains("speaks version 2"), "{message}");
    assert!(scenario.is_stdin_closed);
    let scenario = AcpScenario::start_conversation(sample_request()).respond_with(&json!({}));
    assert!(scenario.fatal_error().1.contains("reported no version"));
    assert!(scenario.is_stdin_closed && scenario.sent_messages.len() == 1);
}

#[test] // spec: A1, L10
fn a_session_is_resumed_if_supported_and_otherwise_loaded() {
    let old = || ConversationRequest { session: Some("s1".into()), ..sample_request() };
    let both = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let scenario = AcpScenario::start_conversation(old()).initialize_with(&both);
    assert_eq!(scenario.last_sent()["method"], "session/resume");
    assert_eq!(scenario.last_sent()["params"]["sessionId"], "s1");
    let scenario = scenario.respond_with(&json!({}));
    assert_eq!(scenario.last_sent()["method"], "session/prompt");
    assert_eq!(scenario.events, [AgentEvent::Started { session: Some("s1".into()), model: None }]);
    let scenario = AcpScenario::start_conversation(old()).initialize_with(&json!({"loadSession": true}));
    assert_eq!(scenario.last_sent()["method"], "session/load");
}

#[test] // spec: L10, A1
fn a_session_that_cannot_be_resumed_is_lost_and_never_reported() {
    let old = ConversationRequest { session: Some("s1".into()), ..sample_request() };
    let scenario = AcpScenario::start_conversation(old.clone()).initialize_with(&json!({}));
    assert!(is_lost_session_message(&scenario.fatal_error().1), "{:?}", scenario.events);
    let gemini =
        json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "agentInfo": {"name": "gemini-cli"}});
    let scenario = AcpScenario::start_conversation(old.clone()).respond_with(&gemini);
    assert!(is_lost_session_message(&scenario.fatal_error().1), "gemini-cli replays the old conversation too late");
    let scenario = AcpScenario::start_conversation(sample_request()).initialize_with(&json!({})).open_session();
    assert_eq!(scenario.events, [AgentEvent::Started { session: None, model: None }]);
    let gone = json!({"code": -32603, "message": "Internal error", "data": {"details": "No previous sessions found"}});
    let vague = json!({"code": -32603, "message": "Internal error: OpenCode service failure"});
    let scenario = AcpScenario::start_conversation(old.clone())
        .initialize_with(&json!({"loadSession": true}))
        .respond_with_error(&vague);
    assert!(is_lost_session_message(&scenario.fatal_error().1), "{:?}", scenario.events);
    let locked = json!({"code": -32000, "message": "Authentication required"});
    let scenario = AcpScenario::start_conversation(old.clone())
        .initialize_with(&json!({"loadSession": true}))
        .respond_with_error(&locked);
    assert_eq!(scenario.fatal_error().0, AgentErrorKind::Auth);
    assert!(!is_lost_session_message(&scenario.fatal_error().1), "{:?}", scenario.events);
    let scenario =
        AcpScenario::start_conversation(old).initialize_with(&json!({"loadSession": true})).respond_with_error(&gone);
    assert!(is_lost_session_message(&scenario.fatal_error().1), "{:?}", scenario.events);
}

#[test] // spec: S2, L10
fn a_replayed_conversation_is_not_a_claim() {
    let old = ConversationRequest { session: Some("s1".into()), ..sample_request() };
    let loading = AcpScenario::start_conversation(old)
        .initialize_with(&json!({"loadSession": true}))
        .user_says("old")
        .agent_says("<promise>X</promise>");
    assert!(loading.events.is_empty());
    let scenario = loading.respond_with(&Value::Null).agent_says("Not yet.").stop_turn("end_turn");
    assert_eq!(final_text(&scenario.events), "Not yet.");
    assert_eq!(scenario.events.last(), Some(&AgentEvent::Finished { ok: true }));
}

#[test] // spec: S2, L10
fn a_replay_that_continues_after_the_prompt_makes_the_session_unusable() {
    let old = || ConversationRequest { session: Some("s1".into()), ..sample_request() };
    let loaded = || {
        AcpScenario::start_conversation(old()).initialize_with(&json!({"loadSession": true})).respond_with(&Value::Null)
    };
    let scenario = loaded().user_says("Another prompt").agent_says("<promise>X</promise>").stop_turn("end_turn");
    assert!(is_lost_session_message(&scenario.fatal_error().1), "{:?}", scenario.events);
    assert_eq!(final_text(&scenario.events), "");
    assert_eq!(scenario.last_sent()["method"], "session/cancel");
    let echoed =
        loaded().user_says("Write ").user_says("hello.txt.").agent_says("<promise>X</promise>").stop_turn("end_turn");
    assert_eq!(final_text(&echoed.events), "<promise>X</promise>", "our own prompt may be echoed");
}

#[test] // spec: S2
fn only_agent_text_after_the_prompt_in_its_own_session_counts() {
    let promise = "<promise>X</promise>";
    let early = AcpScenario::start_conversation(sample_request())
        .initialize_with(&json!({}))
        .agent_says(promise)
        .open_session();
    let title = json!({"sessionUpdate": "session_info_update", "title": promise});
    let plan = json!({"sessionUpdate": "plan", "entries": [{"content": promise}]});
    let thought = json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": promise}});
    let other = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s2", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": promise}}}});
    let suggestion = json!({"jsonrpc": "2.0", "method": "x/notify/prompt-suggestion", "params": {"text": promise}});
    let scenario = early
        .receive_update(&title)
        .receive_update(&plan)
        .receive_update(&thought)
        .user_says(promise)
        .receive_message(&other)
        .receive_message(&suggestion);
    let mut scenario = scenario.agent_says("Not yet.").stop_turn("end_turn").agent_says(promise);
    scenario.parser.finish(&mut scenario.events);
    assert_eq!(final_text(&scenario.events), "Not yet.");
    let ended = scenario.events.iter().filter(|event| matches!(event, AgentEvent::Finished { .. })).count();
    assert_eq!(ended, 1, "{:?}", scenario.events);
}

#[test] // spec: S4
fn a_tool_call_separates_two_messages_and_an_id_joins_one() {
    let tool = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "kind": "execute", "status": "completed"});
    let scenario = AcpScenario::with_prompt_sent()
        .agent_says("<promise>X</promise>")
        .receive_update(&tool)
        .agent_says("")
        .agent_says("Next.")
        .stop_turn("end_turn");
    assert_eq!(final_text(&scenario.events), "Next.");
    let piece = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": text}});
    let scenario = AcpScenario::with_prompt_sent()
        .receive_update(&piece("<promise>"))
        .receive_update(&tool)
        .receive_update(&piece("X</promise>"));
    assert_eq!(final_text(&scenario.events), "<promise>X</promise>");
}

#[test] // spec: A6
fn permission_requests_are_answered_by_the_permission_level_and_refusals_are_reported() {
    let chosen = |permission, kind: &str| {
        let scenario = AcpScenario::start_conversation(ConversationRequest { permission, ..sample_request() })
            .initialize_with(&json!({}))
            .open_session();
        let scenario = scenario.request_permission(&json!(0), kind, "do it");
        assert_eq!(scenario.last_sent()["id"], 0);
        let is_reported = scenario.events.iter().any(|event| {
            matches!(event, AgentEvent::ToolResult { ok: false, excerpt } if excerpt.contains("refused by permission") && excerpt.contains("do it"))
        });
        (scenario.last_sent()["result"]["outcome"]["optionId"].clone(), is_reported)
    };
    assert_eq!(chosen(PermissionLevel::Full, "execute"), (json!("yes"), false));
    assert_eq!(chosen(PermissionLevel::Edits, "edit"), (json!("yes"), false));
    assert_eq!(chosen(PermissionLevel::Edits, "execute"), (json!("no"), true));
    assert_eq!(chosen(PermissionLevel::Ask, "read"), (json!("no"), true));
}

#[test] // spec: A6
fn a_request_without_a_known_option_is_cancelled_and_an_ambiguous_one_is_refused() {
    let ask = |params: &str| {
        let mut scenario = AcpScenario::start_conversation(ConversationRequest {
            permission: PermissionLevel::Full,
            ..sample_request()
        });
        scenario = scenario.initialize_with(&json!({})).open_session();
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"session/request_permission\",\"params\":{params}}}\n");
        scenario.parser.push(line.as_bytes(), &mut scenario.events);
        scenario.collect_sent();
        scenario
    };
    let unknown_kind =
        r#"{"toolCall":{"toolCallId":"t","title":"do it"},"options":[{"optionId":"a","kind":"allow_session"}]}"#;
    let empty = r#"{"toolCall":{"title":"do it"},"options":[]}"#;
    for params in [unknown_kind, empty, r#"{"options":"all","toolCall":null}"#, r#"{"options":[7]}"#, "[1]", "null"] {
        let scenario = ask(params);
        assert_eq!(scenario.last_sent()["result"]["outcome"], json!({"outcome": "cancelled"}), "{params}");
        let is_report = |event: &AgentEvent| matches!(event, AgentEvent::ToolResult { ok: false, excerpt } if excerpt.contains("offered no option to allow"));
        assert!(scenario.events.iter().any(is_report), "{:?}", scenario.events);
    }
    for params in [r#"{"options":[],"options":[]}"#, r#"{"toolCall":{"kind":"read","kind":"execute"},"options":[]}"#] {
        let scenario = ask(params);
        assert_eq!(
            (&scenario.last_sent()["id"], &scenario.last_sent()["error"]["code"]),
            (&json!(5), &json!(-32602)),
            "{params}"
        );
    }
}

#[test] // spec: A6
fn a_tool_call_keeps_the_kind_reported_before_its_permission_request() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "w"});
    let kind = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "edit"});
    let ask = json!({"jsonrpc": "2.0", "id": "a-b", "method": "session/request_permission", "params": {"sessionId": "s1",
        "toolCall": {"toolCallId": "t"}, "options": [{"optionId": "yes", "kind": "allow_once"}]}});
    let scenario = AcpScenario::with_prompt_sent().receive_update(&call).receive_update(&kind).receive_message(&ask);
    assert_eq!(
        *scenario.last_sent(),
        json!({"jsonrpc": "2.0", "id": "a-b", "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
    );
}

#[test] // spec: A1
fn unsupported_requests_are_answered_with_method_not_found() {
    let scenario = AcpScenario::with_prompt_sent()
        .receive_message(&json!({"jsonrpc": "2.0", "id": 0, "method": "craft/drainMidTurnQueue", "params": {}}));
    assert_eq!((&scenario.last_sent()["id"], &scenario.last_sent()["error"]["code"]), (&json!(0), &json!(-32601)));
    let sent_count = scenario.sent_messages.len();
    let scenario =
        scenario.receive_message(&json!({"jsonrpc": "2.0", "id": "x".repeat(5_000), "method": "fs/read_text_file"}));
    assert_eq!(scenario.sent_messages.len(), sent_count, "an oversized id is ignored");
}

#[test] // spec: A7, L12
fn a_turn_is_cancelled_once_and_later_permission_requests_are_cancelled_too() {
    let mut scenario = AcpScenario::with_prompt_sent().agent_says("<promise>X</promise>");
    scenario.parser.interrupt_turn();
    scenario.parser.interrupt_turn();
    scenario.collect_sent();
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}});
    assert_eq!(scenario.sent_messages.iter().filter(|sent| **sent == cancel).count(), 1);
    let scenario = scenario.request_permission(&json!(3), "edit", "w");
    assert_eq!(scenario.last_sent()["result"]["outcome"], json!({"outcome": "cancelled"}));
    let scenario = scenario.stop_turn("cancelled");
    assert_eq!((scenario.fatal_error().0, final_text(&scenario.events)), (AgentErrorKind::Crash, String::new()));
    assert!(scenario.is_stdin_closed);
    let mut initializing = AcpScenario::start_conversation(sample_request());
    initializing.parser.interrupt_turn();
    initializing.collect_sent();
    assert_eq!(initializing.sent_messages.len(), 1, "there is no turn to cancel");
}

#[test] // spec: A5, L5
fn a_turn_succeeds_only_with_end_turn() {
    let table = [
        ("max_tokens", AgentErrorKind::Unknown),
        ("max_turn_requests", AgentErrorKind::Budget),
        ("refusal", AgentErrorKind::Unknown),
        ("something new", AgentErrorKind::Format),
    ];
    for (reason, kind) in table {
        let scenario = AcpScenario::with_prompt_sent().agent_says("<promise>X</promise>").stop_turn(reason);
        assert_eq!((scenario.fatal_error().0, final_text(&scenario.events)), (kind, String::new()), "{reason}");
    }
}

#[test] // spec: A5, L6
fn an_error_text_is_an_error_unless_a_model_has_answered() {
    let error_text = "Error: Last error: 429 Rate limit reached";
    assert_eq!(
        AcpScenario::with_prompt_sent().agent_says(error_text).stop_turn("end_turn").fatal_error().0,
        AgentErrorKind::RateLimit
    );
    let answered = json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 7}});
    let scenario = AcpScenario::with_prompt_sent().agent_says(error_text).respond_with(&answered);
    assert_eq!(scenario.events.last(), Some(&AgentEvent::Finished { ok: true }));
    let scenario = AcpScenario::with_prompt_sent()
        .agent_says("Error: ")
        .agent_says("that was in the log. Fixed.")
        .stop_turn("end_turn");
    assert_eq!(scenario.events.last(), Some(&AgentEvent::Finished { ok: true }), "a model sends its text in pieces");
}

fn total_usage(events: &[AgentEvent]) -> (u64, u64, f64) {
    events.iter().fold((0, 0, 0.0), |sum, event| match event {
        AgentEvent::Usage { input_tokens, output_tokens, cost_usd } => {
            (sum.0 + input_tokens.unwrap_or(0), sum.1 + output_tokens.unwrap_or(0), sum.2 + cost_usd.unwrap_or(0.0))
        }
        _ => sum,
    })
}

#[test] // spec: A5, L8
fn tokens_are_found_wherever_they_are_reported_and_counted_once() {
    let tokens = json!({"inputTokens": 5, "outputTokens": 7});
    let quota = json!({"quota": {"token_count": {"input_tokens": 5, "output_tokens": 7}}});
    let ends = [
        json!({"stopReason": "end_turn", "usage": tokens}),
        json!({"stopReason": "end_turn", "_meta": quota}),
        json!({"stopReason": "end_turn", "usage": tokens, "_meta": quota}),
    ];
    for end in ends {
        assert_eq!(total_usage(&AcpScenario::with_prompt_sent().respond_with(&end).events), (5, 7, 0.0), "{end}");
    }
    let empty = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": {"usage": tokens}});
    let scenario = AcpScenario::with_prompt_sent()
        .receive_update(&empty)
        .agent_says("Hi.")
        .receive_update(&empty)
        .stop_turn("end_turn");
    assert_eq!(total_usage(&scenario.events), (10, 14, 0.0));
}

#[test] // spec: A5, L8
fn of_a_cumulative_session_cost_only_the_increase_is_reported() {
    let cost = |amount: f64| json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": amount, "currency": "USD"}});
    let scenario = AcpScenario::with_prompt_sent()
        .receive_update(&cost(0.25))
        .receive_update(&cost(0.75))
        .receive_update(&cost(0.75))
        .stop_turn("end_turn");
    assert!((total_usage(&scenario.events).2 - 0.75).abs() < 1e-9);
    let resumed = |before| {
        let mut scenario = AcpScenario::with_prompt_sent();
        scenario.parser.continue_session(PriorUsage { cost_usd: before, ..PriorUsage::default() });
        total_usage(&scenario.receive_update(&cost(1.0)).receive_update(&cost(1.5)).events).2
    };
    assert!((resumed(Some(0.75)) - 0.75).abs() < 1e-9);
    assert!((resumed(None) - 0.5).abs() < 1e-9, "an increase from an unknown total is not counted");
}

#[test] // spec: A6
fn a_model_is_selected_by_the_option_or_the_request_that_the_agent_offers() {
    let wanting = || {
        AcpScenario::start_conversation(ConversationRequest { model: Some("big".into()), ..sample_request() })
            .initialize_with(&json!({}))
    };
    let setting = json!({"sessionId": "s1", "configOptions": [{"id": "mode", "category": "mode", "currentValue": "x"},
        {"id": "m", "category": "model", "currentValue": "small"}]});
    let scenario = wanting().respond_with(&setting);
    assert_eq!(scenario.last_sent()["method"], "session/set_config_option");
    assert_eq!(scenario.last_sent()["params"], json!({"sessionId": "s1", "configId": "m", "value": "big"}));
    let scenario = scenario.respond_with(&json!({}));
    assert_eq!(scenario.last_sent()["method"], "session/prompt");
    let scenario = wanting().respond_with(&json!({"sessionId": "s1", "models": {"currentModelId": "small"}}));
    assert_eq!(scenario.last_sent()["params"], json!({"sessionId": "s1", "modelId": "big"}));
    let scenario = scenario.respond_with_error(&json!({"code": -32602, "message": "no such thing"}));
    assert_eq!(scenario.fatal_error(), (AgentErrorKind::Model, "the agent refused the model: no such thing".into()));
    assert_eq!(wanting().open_session().fatal_error().0, AgentErrorKind::Model);
    let scenario = wanting().respond_with(&json!({"sessionId": "s1", "models": {"currentModelId": "big"}}));
    assert_eq!(scenario.last_sent()["method"], "session/prompt", "the model is already selected");
}

#[test] // spec: L5
fn an_agent_that_exits_during_the_conversation_has_failed() {
    let mut scenario = AcpScenario::with_prompt_sent().agent_says("<promise>X</promise>");
    scenario.parser.finish(&mut scenario.events);
    assert_eq!(
        scenario.fatal_error(),
        (AgentErrorKind::Crash, "the agent exited before it answered session/prompt".into())
    );
    assert_eq!(final_text(&scenario.events), "");
}

#[test] // spec: A5
fn unexpected_responses_and_foreign_protocols_change_nothing() {
    let scenario = AcpScenario::with_prompt_sent()
        .receive_message(&json!({"jsonrpc": "2.0", "id": 77, "result": {"stopReason": "end_turn"}}));
    let scenario =
        scenario.receive_message(&json!({"jsonrpc": "1.0", "id": 3, "result": {}})).receive_message(&json!(["x"]));
    assert_eq!(scenario.events.len(), 1);
    assert_eq!((scenario.parser.record_counts().recognised, scenario.parser.record_counts().unknown), (3, 2));
}
