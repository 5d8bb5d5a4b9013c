//! Modes that speak Claude's stream format.
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::Mode;
use crate::agent_start::{AgentStart, print_output, report_ready, starts_so_far, usage_error, wait_for_file};

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("claude-complete", complete),
    ("claude-work", work),
    ("claude-complete-on", complete_on),
    ("claude-cost", cost),
    ("claude-long-json", long_json),
    ("claude-rate-limit", rate_limit),
    ("claude-rate-limit-at", rate_limit_at),
    ("claude-api-error", api_error),
    ("after-result", after_result),
    ("after-result-talk", after_result_talk),
];

/// The output of a real Claude for each failure: name, category, status, message.
const FAILURES: &[(&str, &str, Option<u64>, &str)] = &[
    ("rate_limit", "rate_limit", Some(429), "API Error: Request rejected (429) · slow down"),
    ("auth", "authentication_failed", Some(401), "Invalid API key · Fix external API key"),
    ("overloaded", "server_error", Some(529), "API Error: 529 Overloaded."),
    ("server", "server_error", Some(500), "API Error: 500 Internal server error."),
    ("network", "server_error", None, "API Error: Connection refused (ECONNREFUSED)"),
    ("model", "model_not_found", Some(404), "There's an issue with the selected model (x)."),
    ("context", "invalid_request", Some(400), "Prompt is too long"),
    ("credit", "billing_error", Some(400), "Credit balance is too low"),
    ("request", "unknown", Some(400), "API Error: 400 messages: bad"),
];

pub(crate) fn print_record(value: &Value) -> io::Result<()> {
    print_output(format!("{value}\n"))
}

/// Prints the init record, with the session to resume if the command line names one.
pub(crate) fn print_init(args: &[String]) -> io::Result<()> {
    let resumed = args.iter().skip_while(|arg| *arg != "--resume").nth(1);
    let session = resumed.map_or("fake-session", String::as_str);
    print_record(&json!({"type": "system", "subtype": "init", "session_id": session, "model": "fake-model"}))
}

pub(crate) fn print_message(text: &str) -> io::Result<()> {
    let content = json!([{"type": "text", "text": text}]);
    print_record(&json!({"type": "assistant", "message": {"role": "assistant", "content": content},
        "parent_tool_use_id": null}))
}

pub(crate) fn print_tool_use(name: &str, command: &str, output: &str) -> io::Result<()> {
    print_tool_call(name, &json!({ "command": command }))?;
    print_tool_result(output)
}

pub(crate) fn print_tool_call(name: &str, input: &Value) -> io::Result<()> {
    let call = json!([{"type": "tool_use", "id": "t", "name": name, "input": input}]);
    print_record(&json!({"type": "assistant", "message": {"role": "assistant", "content": call}}))
}

pub(crate) fn print_tool_result(output: &str) -> io::Result<()> {
    let answer = json!([{"type": "tool_result", "tool_use_id": "t", "content": output, "is_error": false}]);
    print_record(&json!({"type": "user", "message": {"role": "user", "content": answer}}))
}

pub(crate) fn print_result(text: &str, cost: f64) -> io::Result<()> {
    print_record(&json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
        "total_cost_usd": cost, "usage": {"input_tokens": 100, "output_tokens": 10}}))
}

/// Prints the failure that has this name, as an answer and as a result.
pub(crate) fn print_failure(name: &str) -> io::Result<()> {
    let known = FAILURES.iter().find(|(known, ..)| *known == name);
    let (_, category, status, message) = known.ok_or_else(|| usage_error(&format!("unknown failure {name}")))?;
    let content = json!([{"type": "text", "text": message}]);
    print_record(
        &json!({"type": "assistant", "message": {"model": "<synthetic>", "role": "assistant", "content": content},
        "error": category, "is_api_error_message": true, "api_error_status": status}),
    )?;
    print_record(&json!({"type": "result", "subtype": "success", "is_error": true, "result": message,
        "api_error_status": status, "total_cost_usd": 0}))
}

fn print_answer(start: &AgentStart, text: &str) -> io::Result<u8> {
    print_init(&start.args)?;
    print_message(text)?;
    print_result(text, 0.01)?;
    Ok(0)
}

fn complete(start: &AgentStart) -> io::Result<u8> {
    print_answer(start, &format!("All done.\n\n{}", start.tag))
}

fn work(start: &AgentStart) -> io::Result<u8> {
    print_answer(start, "One story done, more remain.")
}

fn complete_on(start: &AgentStart) -> io::Result<u8> {
    if starts_so_far() >= start.number_or(1)? { complete(start) } else { work(start) }
}

fn cost(start: &AgentStart) -> io::Result<u8> {
    print_init(&start.args)?;
    print_message("worked")?;
    print_result("worked", start.number_or(1.0)?)?;
    Ok(0)
}

/// Prints one valid line of many megabytes, in chunks.
fn long_json(start: &AgentStart) -> io::Result<u8> {
    let megabyte = vec![b'z'; 1 << 20];
    print_output(
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":""#,
    )?;
    for _ in 0..start.number_or(100_usize)? {
        io::stdout().write_all(&megabyte)?;
    }
    print_output("\"}]}}\n")?;
    print_message(&start.tag)?;
    print_result(&start.tag, 0.01)?;
    Ok(0)
}

fn rate_limit(start: &AgentStart) -> io::Result<u8> {
    let words = start.arg_or("You've hit your limit · resets 3pm (Asia/Tokyo)");
    print_record(&json!({"type": "result", "subtype": "success", "is_error": true, "result": words}))?;
    Ok(1)
}

fn rate_limit_at(start: &AgentStart) -> io::Result<u8> {
    print_init(&start.args)?;
    print_rate_limit(start.number_or(0)?)?;
    Ok(1)
}

/// Prints a rate limit with its reset time, as an event and as a result.
pub(crate) fn print_rate_limit(reset: i64) -> io::Result<()> {
    print_record(&json!({"type": "rate_limit_event", "rate_limit_info":
        {"status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour"}}))?;
    print_failure("rate_limit")
}

fn api_error(start: &AgentStart) -> io::Result<u8> {
    print_init(&start.args)?;
    print_failure(start.arg_or("overloaded"))?;
    Ok(1)
}

fn after_result(start: &AgentStart) -> io::Result<u8> {
    complete(start)?;
    report_ready()?;
    std::thread::sleep(start.seconds_or(3600.0)?);
    Ok(0)
}

fn after_result_talk(start: &AgentStart) -> io::Result<u8> {
    print_init(&start.args)?;
    print_message("I started it and stop now.")?;
    print_result("I started it and stop now.", 0.01)?;
    report_ready()?;
    if let Some(path) = start.arg() {
        wait_for_file(path);
    }
    print_message(&format!("Now it is done.\n\n{}", start.tag))?;
    print_result(&format!("Now it is done.\n\n{}", start.tag), 0.02)?;
    Ok(0)
}
