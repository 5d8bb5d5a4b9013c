//! The talk, line by line: what is said to the agent, and what its words become.
use serde_json::{Value, json};

use super::parser;
use crate::parser::{Before, Parser, Talk, Then};
use crate::tests::final_text;
use crate::{AgentEvent, ErrorKind, Permission, session_is_lost};

struct Scene {
    parser: Box<dyn Parser>,
    events: Vec<AgentEvent>,
    said: Vec<Value>,
    ended: bool,
}

fn talk() -> Talk {
    Talk {
        prompt: "Write hello.txt.".into(),
        folder: "/home/p".into(),
        session: None,
        model: None,
        permission: Permission::Edits,
    }
}

impl Scene {
    fn begin(talk: Talk) -> Self {
        let mut scene =
            Self { parser: Box::new(parser()), events: Vec::new(), said: Vec::new(), ended: false };
        scene.parser.converse(talk);
        scene.take();
        scene
    }

    fn take(&mut self) {
        let words = self.parser.take_words();
        let lines = words.bytes.split_inclusive(|byte| *byte == b'\n');
        self.said.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        self.ended |= words.then == Then::End;
    }

    fn hears(mut self, message: &Value) -> Self {
        self.parser.push(format!("{message}\n").as_bytes(), &mut self.events);
        self.take();
        self
    }

    /// The agent answers our last request.
    fn answers(self, result: &Value) -> Self {
        let id = self.last_id();
        self.hears(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn refuses(self, error: &Value) -> Self {
        let id = self.last_id();
        self.hears(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    fn last_id(&self) -> Value {
        self.said.iter().rfind(|said| said["method"].is_string() && said["id"].is_u64()).unwrap()["id"]
            .clone()
    }

    fn greets(self, abilities: &Value) -> Self {
        self.answers(&json!({"protocolVersion": 1, "agentCapabilities": abilities}))
    }

    fn opens(self) -> Self {
        self.answers(&json!({"sessionId": "s1"}))
    }

    /// Up to the prompt, in a new session.
    fn at_work() -> Self {
        Self::begin(talk()).greets(&json!({"loadSession": true})).opens()
    }

    fn updates(self, update: &Value) -> Self {
        self.hears(&json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}))
    }

    fn says(self, text: &str) -> Self {
        self.updates(
            &json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}),
        )
    }

    fn user(self, text: &str) -> Self {
        self.updates(
            &json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}),
        )
    }

    fn asks(self, id: &Value, kind: &str, title: &str) -> Self {
        let tool = json!({"toolCallId": "t", "title": title, "kind": kind});
        let options = json!([{"optionId": "always", "kind": "allow_always"}, {"optionId": "yes", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"}]);
        let params = json!({"sessionId": "s1", "toolCall": tool, "options": options});
        self.hears(
            &json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}),
        )
    }

    fn stops(self, reason: &str) -> Self {
        self.answers(&json!({"stopReason": reason}))
    }

    fn last(&self) -> &Value {
        self.said.last().unwrap()
    }

    fn failure(&self) -> (ErrorKind, String) {
        let found = self.events.iter().find_map(|event| match event {
            AgentEvent::Error { kind, message, fatal: true } => Some((*kind, message.clone())),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{:?}", self.events))
    }
}

#[test] // spec: A1
fn the_agent_is_greeted_given_a_session_and_then_the_prompt() {
    let scene = Scene::begin(talk());
    assert_eq!(scene.last()["method"], "initialize");
    assert_eq!(scene.last()["params"]["protocolVersion"], 1);
    assert_eq!(scene.last()["params"]["clientCapabilities"]["fs"]["writeTextFile"], false);
    assert_eq!(scene.last()["params"]["clientCapabilities"]["terminal"], false);
    let scene = scene.greets(&json!({"loadSession": true}));
    assert_eq!(scene.last()["method"], "session/new");
    assert_eq!(scene.last()["params"], json!({"cwd": "/home/p", "mcpServers": []}));
    let scene = scene.opens();
    assert_eq!(scene.last()["method"], "session/prompt");
    assert_eq!(scene.last()["params"]["prompt"], json!([{"type": "text", "text": "Write hello.txt."}]));
    assert_eq!(scene.events, [AgentEvent::Started { session: Some("s1".into()), model: None }]);
    let scene = scene.says("Done. ").says("<promise>X</promise>").stops("end_turn");
    assert_eq!(final_text(&scene.events), "Done. <promise>X</promise>");
    assert_eq!(scene.events.last(), Some(&AgentEvent::Finished { ok: true }));
    assert!(scene.ended && scene.parser.is_over());
}

#[test] // spec: A1, A5
fn another_version_of_the_protocol_or_none_is_told_and_ends_the_talk() {
    let scene = Scene::begin(talk()).answers(&json!({"protocolVersion": 2}));
    let (kind, message) = scene.failure();
    assert_eq!(kind, ErrorKind::Format);
    assert!(message.contains("speaks version 2"), "{message}");
    assert!(scene.ended);
    let scene = Scene::begin(talk()).answers(&json!({}));
    assert!(scene.failure().1.contains("named no version"));
    assert!(scene.ended && scene.said.len() == 1);
}

#[test] // spec: A1, L10
fn a_session_is_resumed_where_that_can_be_had_and_else_loaded() {
    let old = || Talk { session: Some("s1".into()), ..talk() };
    let both = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let scene = Scene::begin(old()).greets(&both);
    assert_eq!(scene.last()["method"], "session/resume");
    assert_eq!(scene.last()["params"]["sessionId"], "s1");
    let scene = scene.answers(&json!({}));
    assert_eq!(scene.last()["method"], "session/prompt");
    assert_eq!(scene.events, [AgentEvent::Started { session: Some("s1".into()), model: None }]);
    let scene = Scene::begin(old()).greets(&json!({"loadSession": true}));
    assert_eq!(scene.last()["method"], "session/load");
}

#[test] // spec: L10, A1
fn a_session_that_cannot_be_gone_on_with_is_lost_and_never_named() {
    let old = Talk { session: Some("s1".into()), ..talk() };
    let scene = Scene::begin(old.clone()).greets(&json!({}));
    assert!(session_is_lost(&scene.failure().1), "{:?}", scene.events);
    let gemini = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "agentInfo": {"name": "gemini-cli"}});
    let scene = Scene::begin(old.clone()).answers(&gemini);
    assert!(session_is_lost(&scene.failure().1), "it repeats the old conversation too late");
    let scene = Scene::begin(talk()).greets(&json!({})).opens();
    assert_eq!(scene.events, [AgentEvent::Started { session: None, model: None }]);
    let gone = json!({"code": -32603, "message": "Internal error", "data": {"details": "No previous sessions found"}});
    let vague = json!({"code": -32603, "message": "Internal error: OpenCode service failure"});
    let scene = Scene::begin(old.clone()).greets(&json!({"loadSession": true})).refuses(&vague);
    assert!(session_is_lost(&scene.failure().1), "{:?}", scene.events);
    let locked = json!({"code": -32000, "message": "Authentication required"});
    let scene = Scene::begin(old.clone()).greets(&json!({"loadSession": true})).refuses(&locked);
    assert_eq!(scene.failure().0, ErrorKind::Auth);
    assert!(!session_is_lost(&scene.failure().1), "{:?}", scene.events);
    let scene = Scene::begin(old).greets(&json!({"loadSession": true})).refuses(&gone);
    assert!(session_is_lost(&scene.failure().1), "{:?}", scene.events);
}

#[test] // spec: S2, L10
fn what_is_repeated_of_an_old_conversation_is_no_claim() {
    let old = Talk { session: Some("s1".into()), ..talk() };
    let loading =
        Scene::begin(old).greets(&json!({"loadSession": true})).user("old").says("<promise>X</promise>");
    assert!(loading.events.is_empty());
    let scene = loading.answers(&Value::Null).says("Not yet.").stops("end_turn");
    assert_eq!(final_text(&scene.events), "Not yet.");
    assert_eq!(scene.events.last(), Some(&AgentEvent::Finished { ok: true }));
}

#[test] // spec: S2, L10
fn an_old_conversation_that_is_still_told_after_the_prompt_makes_the_session_useless() {
    let old = || Talk { session: Some("s1".into()), ..talk() };
    let loaded = || Scene::begin(old()).greets(&json!({"loadSession": true})).answers(&Value::Null);
    let scene = loaded().user("Another prompt").says("<promise>X</promise>").stops("end_turn");
    assert!(session_is_lost(&scene.failure().1), "{:?}", scene.events);
    assert_eq!(final_text(&scene.events), "");
    assert_eq!(scene.last()["method"], "session/cancel");
    let echoed = loaded().user("Write ").user("hello.txt.").says("<promise>X</promise>").stops("end_turn");
    assert_eq!(final_text(&echoed.events), "<promise>X</promise>", "our own prompt may come back");
}

#[test] // spec: S2
fn only_the_agents_own_words_after_the_prompt_in_its_own_session_count() {
    let promise = "<promise>X</promise>";
    let early = Scene::begin(talk()).greets(&json!({})).says(promise).opens();
    let title = json!({"sessionUpdate": "session_info_update", "title": promise});
    let plan = json!({"sessionUpdate": "plan", "entries": [{"content": promise}]});
    let thought =
        json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": promise}});
    let other = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s2", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": promise}}}});
    let suggestion =
        json!({"jsonrpc": "2.0", "method": "x/notify/prompt-suggestion", "params": {"text": promise}});
    let scene =
        early.updates(&title).updates(&plan).updates(&thought).user(promise).hears(&other).hears(&suggestion);
    let mut scene = scene.says("Not yet.").stops("end_turn").says(promise);
    scene.parser.finish(&mut scene.events);
    assert_eq!(final_text(&scene.events), "Not yet.");
    let ended = scene.events.iter().filter(|event| matches!(event, AgentEvent::Finished { .. })).count();
    assert_eq!(ended, 1, "{:?}", scene.events);
}

#[test] // spec: S4
fn a_tool_parts_two_messages_and_an_id_holds_one_together() {
    let tool = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "kind": "execute", "status": "completed"});
    let scene =
        Scene::at_work().says("<promise>X</promise>").updates(&tool).says("").says("Next.").stops("end_turn");
    assert_eq!(final_text(&scene.events), "Next.");
    let piece = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": text}});
    let scene = Scene::at_work().updates(&piece("<promise>")).updates(&tool).updates(&piece("X</promise>"));
    assert_eq!(final_text(&scene.events), "<promise>X</promise>");
}

#[test] // spec: A6
fn what_the_agent_asks_for_is_answered_by_the_permission_and_a_refusal_is_told() {
    let chosen = |permission, kind: &str| {
        let scene = Scene::begin(Talk { permission, ..talk() }).greets(&json!({})).opens();
        let scene = scene.asks(&json!(0), kind, "do it");
        assert_eq!(scene.last()["id"], 0);
        let told = scene.events.iter().any(|event| {
            matches!(event, AgentEvent::ToolResult { ok: false, excerpt } if excerpt.contains("refused by permission") && excerpt.contains("do it"))
        });
        (scene.last()["result"]["outcome"]["optionId"].clone(), told)
    };
    assert_eq!(chosen(Permission::Full, "execute"), (json!("yes"), false));
    assert_eq!(chosen(Permission::Edits, "edit"), (json!("yes"), false));
    assert_eq!(chosen(Permission::Edits, "execute"), (json!("no"), true));
    assert_eq!(chosen(Permission::Ask, "read"), (json!("no"), true));
}

#[test] // spec: A6
fn a_request_that_no_known_option_answers_is_cancelled_and_one_of_two_meanings_is_refused() {
    let ask = |params: &str| {
        let mut scene = Scene::begin(Talk { permission: Permission::Full, ..talk() });
        scene = scene.greets(&json!({})).opens();
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"session/request_permission\",\"params\":{params}}}\n"
        );
        scene.parser.push(line.as_bytes(), &mut scene.events);
        scene.take();
        scene
    };
    let strange = r#"{"toolCall":{"toolCallId":"t","title":"do it"},"options":[{"optionId":"a","kind":"allow_session"}]}"#;
    let empty = r#"{"toolCall":{"title":"do it"},"options":[]}"#;
    for params in
        [strange, empty, r#"{"options":"all","toolCall":null}"#, r#"{"options":[7]}"#, "[1]", "null"]
    {
        let scene = ask(params);
        assert_eq!(scene.last()["result"]["outcome"], json!({"outcome": "cancelled"}), "{params}");
        let told = |event: &AgentEvent| matches!(event, AgentEvent::ToolResult { ok: false, excerpt } if excerpt.contains("offered no way to allow"));
        assert!(scene.events.iter().any(told), "{:?}", scene.events);
    }
    for params in
        [r#"{"options":[],"options":[]}"#, r#"{"toolCall":{"kind":"read","kind":"execute"},"options":[]}"#]
    {
        let scene = ask(params);
        assert_eq!(
            (&scene.last()["id"], &scene.last()["error"]["code"]),
            (&json!(5), &json!(-32602)),
            "{params}"
        );
    }
}

#[test] // spec: A6
fn a_tool_keeps_the_kind_that_was_told_before_it_asked() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "w"});
    let kind = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "edit"});
    let ask = json!({"jsonrpc": "2.0", "id": "a-b", "method": "session/request_permission", "params": {"sessionId": "s1",
        "toolCall": {"toolCallId": "t"}, "options": [{"optionId": "yes", "kind": "allow_once"}]}});
    let scene = Scene::at_work().updates(&call).updates(&kind).hears(&ask);
    assert_eq!(
        *scene.last(),
        json!({"jsonrpc": "2.0", "id": "a-b", "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
    );
}

#[test] // spec: A1
fn requests_that_we_do_not_offer_are_answered_so() {
    let scene = Scene::at_work()
        .hears(&json!({"jsonrpc": "2.0", "id": 0, "method": "craft/drainMidTurnQueue", "params": {}}));
    assert_eq!((&scene.last()["id"], &scene.last()["error"]["code"]), (&json!(0), &json!(-32601)));
    let said = scene.said.len();
    let scene =
        scene.hears(&json!({"jsonrpc": "2.0", "id": "x".repeat(5_000), "method": "fs/read_text_file"}));
    assert_eq!(scene.said.len(), said, "an absurd id is none");
}

#[test] // spec: A7, L12
fn a_turn_is_cancelled_once_and_what_is_asked_then_is_cancelled_too() {
    let mut scene = Scene::at_work().says("<promise>X</promise>");
    scene.parser.interrupt();
    scene.parser.interrupt();
    scene.take();
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}});
    assert_eq!(scene.said.iter().filter(|said| **said == cancel).count(), 1);
    let scene = scene.asks(&json!(3), "edit", "w");
    assert_eq!(scene.last()["result"]["outcome"], json!({"outcome": "cancelled"}));
    let scene = scene.stops("cancelled");
    assert_eq!((scene.failure().0, final_text(&scene.events)), (ErrorKind::Crash, String::new()));
    assert!(scene.ended);
    let mut greeting = Scene::begin(talk());
    greeting.parser.interrupt();
    greeting.take();
    assert_eq!(greeting.said.len(), 1, "there is no turn to cancel");
}

#[test] // spec: A5, L5
fn a_turn_ends_well_by_its_end_and_by_no_other_reason() {
    let table = [
        ("max_tokens", ErrorKind::Unknown),
        ("max_turn_requests", ErrorKind::Budget),
        ("refusal", ErrorKind::Unknown),
        ("something new", ErrorKind::Format),
    ];
    for (reason, kind) in table {
        let scene = Scene::at_work().says("<promise>X</promise>").stops(reason);
        assert_eq!((scene.failure().0, final_text(&scene.events)), (kind, String::new()), "{reason}");
    }
}

#[test] // spec: A5, L6
fn an_error_in_the_place_of_an_answer_is_an_error_unless_a_model_has_answered() {
    let words = "Error: Last error: 429 Rate limit reached";
    assert_eq!(Scene::at_work().says(words).stops("end_turn").failure().0, ErrorKind::RateLimit);
    let answered = json!({"stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 7}});
    let scene = Scene::at_work().says(words).answers(&answered);
    assert_eq!(scene.events.last(), Some(&AgentEvent::Finished { ok: true }));
    let scene = Scene::at_work().says("Error: ").says("that was in the log. Fixed.").stops("end_turn");
    assert_eq!(scene.events.last(), Some(&AgentEvent::Finished { ok: true }), "a model writes in pieces");
}

fn usage(events: &[AgentEvent]) -> (u64, u64, f64) {
    events.iter().fold((0, 0, 0.0), |sum, event| match event {
        AgentEvent::Usage { input_tokens, output_tokens, cost_usd } => (
            sum.0 + input_tokens.unwrap_or(0),
            sum.1 + output_tokens.unwrap_or(0),
            sum.2 + cost_usd.unwrap_or(0.0),
        ),
        _ => sum,
    })
}

#[test] // spec: A5, L8
fn tokens_are_found_wherever_they_are_told_and_counted_once() {
    let tokens = json!({"inputTokens": 5, "outputTokens": 7});
    let quota = json!({"quota": {"token_count": {"input_tokens": 5, "output_tokens": 7}}});
    let ends = [
        json!({"stopReason": "end_turn", "usage": tokens}),
        json!({"stopReason": "end_turn", "_meta": quota}),
        json!({"stopReason": "end_turn", "usage": tokens, "_meta": quota}),
    ];
    for end in ends {
        assert_eq!(usage(&Scene::at_work().answers(&end).events), (5, 7, 0.0), "{end}");
    }
    let empty = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": {"usage": tokens}});
    let scene = Scene::at_work().updates(&empty).says("Hi.").updates(&empty).stops("end_turn");
    assert_eq!(usage(&scene.events), (10, 14, 0.0));
}

#[test] // spec: A5, L8
fn of_a_cost_that_is_counted_over_the_session_only_what_is_new_is_told() {
    let cost = |amount: f64| json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": amount, "currency": "USD"}});
    let scene =
        Scene::at_work().updates(&cost(0.25)).updates(&cost(0.75)).updates(&cost(0.75)).stops("end_turn");
    assert!((usage(&scene.events).2 - 0.75).abs() < 1e-9);
    let resumed = |before| {
        let mut scene = Scene::at_work();
        scene.parser.continues(Before { cost_usd: before, ..Before::default() });
        usage(&scene.updates(&cost(1.0)).updates(&cost(1.5)).events).2
    };
    assert!((resumed(Some(0.75)) - 0.75).abs() < 1e-9);
    assert!((resumed(None) - 0.5).abs() < 1e-9, "what nobody knows to start from is not counted");
}

#[test] // spec: A6
fn a_model_is_chosen_by_the_setting_or_the_request_that_the_agent_offers() {
    let wanting = || Scene::begin(Talk { model: Some("big".into()), ..talk() }).greets(&json!({}));
    let setting = json!({"sessionId": "s1", "configOptions": [{"id": "mode", "category": "mode", "currentValue": "x"},
        {"id": "m", "category": "model", "currentValue": "small"}]});
    let scene = wanting().answers(&setting);
    assert_eq!(scene.last()["method"], "session/set_config_option");
    assert_eq!(scene.last()["params"], json!({"sessionId": "s1", "configId": "m", "value": "big"}));
    let scene = scene.answers(&json!({}));
    assert_eq!(scene.last()["method"], "session/prompt");
    let scene = wanting().answers(&json!({"sessionId": "s1", "models": {"currentModelId": "small"}}));
    assert_eq!(scene.last()["params"], json!({"sessionId": "s1", "modelId": "big"}));
    let scene = scene.refuses(&json!({"code": -32602, "message": "no such thing"}));
    assert_eq!(scene.failure(), (ErrorKind::Model, "the agent refused the model: no such thing".into()));
    assert_eq!(wanting().opens().failure().0, ErrorKind::Model);
    let scene = wanting().answers(&json!({"sessionId": "s1", "models": {"currentModelId": "big"}}));
    assert_eq!(scene.last()["method"], "session/prompt", "it is the one already");
}

#[test] // spec: L5
fn an_agent_that_ends_in_the_middle_of_the_talk_has_failed() {
    let mut scene = Scene::at_work().says("<promise>X</promise>");
    scene.parser.finish(&mut scene.events);
    assert_eq!(
        scene.failure(),
        (ErrorKind::Crash, "the agent ended before it had answered session/prompt".into())
    );
    assert_eq!(final_text(&scene.events), "");
}

#[test] // spec: A5
fn answers_to_nobody_and_words_in_another_language_change_nothing() {
    let scene =
        Scene::at_work().hears(&json!({"jsonrpc": "2.0", "id": 77, "result": {"stopReason": "end_turn"}}));
    let scene = scene.hears(&json!({"jsonrpc": "1.0", "id": 3, "result": {}})).hears(&json!(["x"]));
    assert_eq!(scene.events.len(), 1);
    assert_eq!((scene.parser.counts().recognised, scene.parser.counts().unknown), (3, 2));
}
