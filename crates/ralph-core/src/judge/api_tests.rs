//! Tests of requests to judges over HTTP and of their replies.
use alloc::string::{String, ToString};

use serde_json::{Value, json};

use super::judge_api::{JudgeApi, JudgeApiReply, error_message};
use crate::attempt::ModelSpend;

fn request_body(api: JudgeApi) -> Value {
    serde_json::from_str(&api.request_body("small", "is it done?")).unwrap()
}

fn reply_text(api: JudgeApi, answer: &Value) -> Result<String, String> {
    api.parse_reply(answer.to_string().as_bytes()).text
}

// spec: V3
#[test]
fn a_request_has_the_model_and_the_schema_and_no_other_tools() {
    let anthropic = request_body(JudgeApi::Anthropic);
    assert_eq!((&anthropic["model"], &anthropic["messages"][0]["content"]), (&"small".into(), &"is it done?".into()));
    assert_eq!(anthropic["tool_choice"]["name"], anthropic["tools"][0]["name"]);
    assert_eq!(anthropic["tools"].as_array().unwrap().len(), 1);
    let openai = request_body(JudgeApi::OpenAi);
    assert_eq!((&openai["model"], &openai["messages"][1]["content"]), (&"small".into(), &"is it done?".into()));
    let schema = &openai["response_format"]["json_schema"]["schema"];
    assert_eq!((schema, &schema["required"]), (&anthropic["tools"][0]["input_schema"], &json!(["id", "findings"])));
    assert!(openai["tools"].is_null());
}

// spec: V3, X3
#[test]
fn the_key_is_sent_in_a_header() {
    for (api, header) in [(JudgeApi::Anthropic, ("x-api-key", "k")), (JudgeApi::OpenAi, ("authorization", "Bearer k"))]
    {
        let headers = api.request_headers(Some("k"));
        let found = headers.iter().find(|(name, _)| *name == header.0).map(|(_, value)| value.as_str());
        assert_eq!(found, Some(header.1));
        assert!(!api.request_headers(None).iter().any(|(name, _)| *name == header.0));
    }
}

// spec: V3
#[test]
fn a_reply_has_text_model_and_usage() {
    let anthropic = json!({"model": "m", "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2},
        "content": [{"type": "text", "text": "Well."}, {"type": "tool_use", "name": "findings", "input": {"id": "x"}}]});
    let spend = ModelSpend { input_tokens: Some(3), output_tokens: Some(2), cost_micros: None };
    let expected = JudgeApiReply { text: Ok("{\"id\":\"x\"}".to_string()), model: Some("m".to_string()), spend };
    assert_eq!(JudgeApi::Anthropic.parse_reply(anthropic.to_string().as_bytes()), expected);
    let openai = json!({"model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        "choices": [{"finish_reason": "stop", "message": {"content": "{\"id\":\"x\"}", "refusal": null}}]});
    assert_eq!(JudgeApi::OpenAi.parse_reply(openai.to_string().as_bytes()), expected);
    let plain = json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
    assert_eq!(reply_text(JudgeApi::Anthropic, &plain), Ok("ab".to_string()), "the text is validated elsewhere");
}

// spec: V3
#[test]
fn a_truncated_declined_repeated_or_unknown_reply_has_no_text() {
    let choice = |finish: &str| json!({"finish_reason": finish, "message": {"content": "{}"}});
    let bad = [
        (JudgeApi::Anthropic, json!({"stop_reason": "max_tokens", "content": []}), "truncated"),
        (JudgeApi::Anthropic, json!({"stop_reason": "refusal", "content": []}), "declined"),
        (
            JudgeApi::Anthropic,
            json!({"content": [{"type": "tool_use", "input": {}}, {"type": "tool_use", "input": {}}]}),
            "more than once",
        ),
        (JudgeApi::Anthropic, json!({"content": "VERIFIED"}), "does not match this API"),
        (JudgeApi::Anthropic, json!([1]), "does not match this API"),
        (JudgeApi::OpenAi, json!({"choices": [choice("length")]}), "truncated"),
        (JudgeApi::OpenAi, json!({"choices": [choice("content_filter")]}), "declined"),
        (JudgeApi::OpenAi, json!({"choices": [{"message": {"content": null, "refusal": "no"}}]}), "declined"),
        (JudgeApi::OpenAi, json!({"choices": [choice("stop"), choice("stop")]}), "exactly once"),
        (JudgeApi::OpenAi, json!({"choices": []}), "exactly once"),
        (JudgeApi::OpenAi, json!({"choices": [{"message": {"content": null}}]}), "does not match this API"),
        (JudgeApi::OpenAi, json!("VERIFIED"), "does not match this API"),
    ];
    for (api, answer, reason) in bad {
        assert!(reply_text(api, &answer).unwrap_err().contains(reason), "{answer}");
    }
    for api in JudgeApi::ALL {
        assert_eq!(api.parse_reply(b"<html>").text, Err("its response is not JSON".to_string()));
    }
}

// spec: V3, L8
#[test]
fn an_unusable_reply_still_counts_its_usage() {
    let cut = json!({"stop_reason": "max_tokens", "content": [], "usage": {"input_tokens": 3, "output_tokens": 8192}});
    assert_eq!(JudgeApi::Anthropic.parse_reply(cut.to_string().as_bytes()).spend.output_tokens, Some(8192));
}

// spec: V3
#[test]
fn the_message_of_an_error_response_is_found_and_truncated() {
    assert_eq!(error_message(br#"{"error":{"message":"bad key"}}"#).as_deref(), Some("bad key"));
    assert_eq!(error_message(br#"{"error":"bad key"}"#).as_deref(), Some("bad key"));
    let long = json!({"message": "x".repeat(10_000)}).to_string();
    assert_eq!(error_message(long.as_bytes()).unwrap().len(), 300);
    assert_eq!((error_message(b"<html>"), error_message(b"{}")), (None, None));
}
