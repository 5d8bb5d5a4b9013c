//! Tests of single rules of Claude's stream. Whole recordings are tested in `src/tests`.
use crate::tests::{final_text, parse_events};
use crate::{AgentErrorKind, AgentEvent, LimitReset, OutputFormat};

fn read_lines(lines: &[&str]) -> Vec<AgentEvent> {
    parse_events(OutputFormat::Claude, &lines.join("\n"))
}

fn assistant_line(text: &str) -> String {
    format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

#[test] // spec: A5, S2
fn the_order_of_members_does_not_matter() {
    let line = r#"{"parent_tool_use_id":null,"message":{"content":[{"text":"hi","type":"text"}],"id":"m"},"type":"assistant"}"#;
    assert_eq!(read_lines(&[line]), [AgentEvent::Text { message: 1, text: "hi".into() }]);
}

#[test] // spec: A5, S2
fn a_message_may_be_a_bare_string() {
    let line = r#"{"type":"assistant","message":{"content":"hi"}}"#;
    assert_eq!(read_lines(&[line]), [AgentEvent::Text { message: 1, text: "hi".into() }]);
    let line = r#"{"type":"assistant","parent_tool_use_id":"t","message":{"content":"hi"}}"#;
    assert_eq!(read_lines(&[line]), []);
}

#[test] // spec: S2
fn text_and_prompts_of_a_sub_agent_are_ignored() {
    let text = r#"{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"x"}]}}"#;
    let prompt = r#"{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"do"}]}}"#;
    let bare = r#"{"type":"user","parent_tool_use_id":"t","message":{"content":"do"}}"#;
    let delta = r#"{"type":"stream_event","parent_tool_use_id":"t","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}}"#;
    assert_eq!(read_lines(&[text, prompt, bare, delta]), []);
}

#[test] // spec: S2, S4
fn a_user_message_starts_a_new_turn() {
    for content in [r#""continue""#, r#"[{"type":"text","text":"continue"}]"#] {
        let line = format!(r#"{{"type":"user","message":{{"role":"user","content":{content}}}}}"#);
        assert_eq!(read_lines(&[&line]), [AgentEvent::Prompted]);
        assert_eq!(final_text(&read_lines(&[&assistant_line("done"), &line])), "");
    }
}

#[test] // spec: A5, A4
fn only_an_excerpt_of_a_tool_result_is_kept() {
    let long = "z".repeat(100_000);
    let line = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","content":"{long}","is_error":true}}]}}}}"#
    );
    let events = read_lines(&[&line]);
    let [AgentEvent::ToolResult { ok: false, excerpt }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(excerpt.chars().count(), 120);
}

#[test] // spec: S2, F2
fn without_a_display_only_text_and_usage_are_reported() {
    let lines = [
        r#"{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","name":"Bash","input":{}}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"},{"type":"text","text":"continue"}]}}"#,
        r#"{"type":"assistant","message":{"id":"b","content":[{"type":"text","text":"done"}]}}"#,
    ];
    use crate::stream::parser::StreamParser;
    let mut parser = super::stream_parser();
    parser.skip_display_events();
    let mut events = Vec::new();
    parser.push(lines.join("\n").as_bytes(), &mut events);
    parser.finish(&mut events);
    assert!(
        matches!(events.as_slice(),
            [AgentEvent::ToolCall { name, detail }, AgentEvent::AtWork, AgentEvent::Prompted, AgentEvent::Text { text, .. }]
                if name == "Bash" && detail.is_empty() && text == "done"),
        "{events:?}"
    );
    assert_eq!(parser.record_counts().recognised, 3);
}

#[test] // spec: A5, S2
fn a_result_text_counts_only_if_there_was_no_agent_text() {
    let result = r#"{"type":"result","is_error":false,"result":"the answer"}"#;
    assert_eq!(final_text(&read_lines(&[result])), "the answer");
    let texts = read_lines(&[&assistant_line("mine"), result]);
    assert_eq!(texts, [AgentEvent::Text { message: 1, text: "mine".into() }, AgentEvent::Finished { ok: true }]);
}

#[test] // spec: S4, L5
fn the_result_s_error_flag_decides_and_not_its_subtype() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 Overloaded"}"#;
    let events = read_lines(&[&assistant_line("done"), result]);
    let error = AgentEvent::Error {
        kind: AgentErrorKind::Overloaded,
        message: "API Error: 529 Overloaded".into(),
        fatal: true,
    };
    assert_eq!(events[1..], [error, AgentEvent::Finished { ok: false }]);
    assert_eq!(final_text(&events), "");
}

#[test] // spec: S4, A5
fn text_that_talks_about_errors_is_only_text() {
    let events = read_lines(&[&assistant_line("API Error: 529 overloaded, retrying."), &assistant_line("done")]);
    assert_eq!(final_text(&events), "done");
    assert!(events.iter().all(|event| matches!(event, AgentEvent::Text { .. })));
}

#[test] // spec: A5, L6
fn a_failure_in_the_shape_of_an_answer_is_a_recoverable_error() {
    let failed = r#"{"type":"assistant","error":"rate_limit","api_error_status":429,"message":{"model":"<synthetic>","content":[{"type":"text","text":"slow"}]}}"#;
    let events = read_lines(&[failed, &assistant_line("done")]);
    let error = AgentEvent::Error { kind: AgentErrorKind::RateLimit, message: "slow".into(), fatal: false };
    assert_eq!(events[0], error);
    assert_eq!(final_text(&events), "done");
}

#[test] // spec: L6
fn a_rejected_rate_limit_has_a_reset_time_and_a_warning_is_ignored() {
    let line = |status: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1794790000,"rateLimitType":"five_hour"}}}}"#
        )
    };
    assert_eq!(read_lines(&[&line("allowed_warning")]), []);
    let message = "usage limit reached (five_hour)".to_owned();
    assert_eq!(
        read_lines(&[&line("rejected")]),
        [AgentEvent::RateLimit { reset: LimitReset::At { reset_at: 1_794_790_000 }, message }]
    );
}

#[test] // spec: S8, S4
fn pieces_count_until_the_whole_message_arrives() {
    let piece = |text: &str| {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{text}"}}}}}}"#
        )
    };
    let pieces = [piece("<pro"), piece("mise>")];
    assert_eq!(final_text(&read_lines(&[&pieces[0], &pieces[1]])), "<promise>");
    let whole = read_lines(&[&pieces[0], &pieces[1], &assistant_line("<promise>")]);
    assert_eq!(final_text(&whole), "<promise>");
}

#[test] // spec: A5
fn a_later_result_counts_after_an_earlier_one() {
    let result = |text: &str| format!(r#"{{"type":"result","is_error":false,"result":"{text}"}}"#);
    let events = read_lines(&[&assistant_line("one"), &result("one"), &assistant_line("two"), &result("two")]);
    assert_eq!(final_text(&events), "two");
    assert_eq!(events.iter().filter(|event| **event == AgentEvent::Finished { ok: true }).count(), 2);
}

#[test] // spec: S2, S4
fn a_result_never_repeats_the_text_of_an_earlier_turn() {
    let prompt = r#"{"type":"user","message":{"content":"continue"}}"#;
    let result = r#"{"type":"result","is_error":false,"result":"done"}"#;
    assert_eq!(final_text(&read_lines(&[&assistant_line("done"), result, prompt, result])), "");
}

#[test] // spec: A5
fn a_repeated_member_makes_a_record_unreadable() {
    let forged = r#"{"type":"user","type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#;
    assert_eq!(read_lines(&[forged]), []);
    let forged = r#"{"type":"assistant","message":{"content":[]},"message":{"content":[{"type":"text","text":"x"}]}}"#;
    assert_eq!(read_lines(&[forged]), []);
}

#[test] // spec: U8, S2
fn the_call_of_a_sub_agent_gives_no_signal() {
    let call = |parent: &str| {
        let block = r#"[{"type":"tool_use","name":"mcp__ralph__claim_completion","input":{}}]"#;
        format!(r#"{{"type":"assistant","message":{{"id":"a","content":{block}}},"parent_tool_use_id":{parent}}}"#)
    };
    let names = |parent: &str| match read_lines(&[&call(parent)]).as_slice() {
        [AgentEvent::ToolCall { name, .. }] => name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(names("null"), "mcp__ralph__claim_completion");
    assert_eq!(names("\"toolu_1\""), "mcp__ralph__claim_completion (sub-agent)");
}
