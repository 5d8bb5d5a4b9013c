//! Scenarios for every real agent, independent of the agent.
use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{AgentSpec, Fixture, SessionStorage};
use super::server::WAIT_TIMEOUT;
use crate::harness::{CallOutput, Project, wait_until_within};
use crate::process_table::is_alive;

pub const DONE: &str = "The work is finished.\n\n<promise>DONE</promise>";

/// A claim with unique text.
pub const LIE: &str = "I have counted them: there are seven.\n\n<promise>DONE</promise>";

/// The tokens of every answer of the model.
const TOKENS: u64 = 7;

fn count(number: &Value) -> u64 {
    number.as_u64().unwrap_or_else(|| panic!("it is unknown: {number}"))
}

fn last_attempt(answer: &CallOutput) -> Value {
    answer.events_named("attempt.ended").pop().unwrap()["result"].clone()
}

/// Returns the session of each attempt.
fn sessions(answer: &CallOutput) -> Vec<Value> {
    answer.events_named("attempt.ended").iter().map(|end| end["result"]["session"].clone()).collect()
}

/// The first claim is false; the second follows an edit by the agent's own tool, in the same session where the agent
/// can resume one.
// spec: A10, A1, A5, L1, L10
pub fn a_false_claim_is_rejected_and_real_work_is_verified(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |project| {
        let file = project.root().join("greeting.txt");
        json!([{"say": LIE}, {"write": {"path": file, "content": "hello\n"}}, {"say": DONE}])
    });
    let proof = ["--check", "grep hello greeting.txt", "--max-iterations", "2"];
    let answer = fixture.run("Write a greeting.").args(proof).output().expect(0);
    let verdicts: Vec<Value> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"], "{}", answer.stdout);
    assert_eq!(answer.finished()["iterations"], 2);
    let written = std::fs::read_to_string(fixture.project.root().join("greeting.txt"));
    assert_eq!(written.unwrap(), "hello\n");
    let ends = answer.events_named("attempt.ended");
    let used: Vec<u64> = ends.iter().map(|end| count(&end["result"]["output_tokens"])).collect();
    // The second had one request more. Some agents report only their last one, and none those before the resume.
    assert!(used[0] > 0 && [used[0], used[0] + TOKENS].contains(&used[1]), "{used:?}");
    let asked: Vec<String> = fixture.server.asked().iter().map(Value::to_string).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].contains("Write a greeting."), "{}", asked[0]);
    assert!(asked[1].contains("grep hello greeting.txt"), "the reason went back: {}", asked[1]);
    let goes_on = agent.sessions != SessionStorage::None;
    assert_eq!(asked[1].contains("there are seven"), goes_on, "what was said before: {}", asked[1]);
    assert_eq!(sessions(&answer)[0] == sessions(&answer)[1], goes_on, "{}", answer.stdout);
}

/// The same agent judges, once and without its tools: it rejects the false claim and quotes the work.
// spec: A10, V3
pub fn a_judge_without_tools_finds_the_false_claim_and_the_work(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |project| {
        let file = project.root().join("greeting.txt");
        json!([{"say": LIE}, {"write": {"path": file, "content": "hello\n"}}, {"say": DONE}])
    });
    let config = fixture.project.outside("judge.yaml");
    let text =
        format!("verification: {{judge: {{agent: {}}}}}\nchecks: [{{check_for: [there is a greeting]}}]\n", agent.name);
    std::fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let answer = fixture.run("Write a greeting.").args(["--config", &config, "--max-iterations", "2"]).output();
    let answer = answer.expect(0);
    let verdicts: Vec<Value> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"], "{}", answer.stdout);
    let check = answer.events_named("verdict").pop().unwrap()["checks"][0].clone();
    assert_eq!(check["judgement"]["findings"][0]["quotation"], "hello", "{check}");
    assert!(check["spend"]["output_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{check}");
    let judged = fixture.server.judged();
    assert_eq!(judged.len(), 2);
    for body in judged {
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> = tools.iter().map(|tool| tool["name"].to_string().to_lowercase()).collect();
        let runs = |name: &String| ["bash", "shell", "exec", "web", "read"].iter().any(|word| name.contains(word));
        assert!(!names.iter().any(runs), "{names:?}");
        assert!(!body.to_string().contains("Write a greeting."), "it knows nothing of the conversation");
    }
}

/// The first answer lacks a required field, which is reported to the agent; the second one is imported and waits.
// spec: A10, T8
pub fn generated_tasks_are_imported_and_wait_for_approval(agent: &'static AgentSpec) {
    let answer = |words: &str| {
        let file = "for notes in .ralph/notes/*.md; do printf '%b' \"$tasks\" > \"${notes%.md}.tasks.yaml\"; done";
        json!({"run": format!("tasks='- id: greet-1\\n  title: Greet\\n  completion: {{outcome: o{words}}}\\n'; {file}")})
    };
    let reply = json!({"say": "They are written.\n\n<promise>TASKS_WRITTEN</promise>"});
    let more = ", acceptance_criteria: [a], coder: {verification_config: {command: make}}";
    let fixture = Fixture::new(agent, |_| json!([answer(""), reply, answer(more), reply]));
    fixture.project.write("greet.md", "# Greet\n\nSay hello.\n");
    let call = ["task", "generate", "greet.md", "--agent", agent.name, "--permission", "full", "--json"];
    let made = fixture.ralph(&call).env("IS_SANDBOX", "1").output().expect(0);
    let printed: Value = serde_json::from_str(made.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(printed["tasks"], json!([{"id": "greet-1", "status": "todo", "approved": false}]));
    let asked: Vec<String> = fixture.server.asked().iter().map(Value::to_string).collect();
    assert!(asked[0].contains("Say hello."), "{}", asked[0]);
    assert!(asked[2].contains("completion.acceptance_criteria: required field is missing"), "{}", asked[2]);
}

// spec: A10, A8
pub fn an_invalid_key_is_reported(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |_| json!([{"refuse": {"status": 401}}]));
    let answer = fixture.run("Do the work.").output().expect(4);
    assert_eq!(answer.finished()["outcome"], "failed");
    let reason = answer.finished()["reason"].to_string();
    // Some print the message of the API, and some only its status.
    assert!(reason.contains("the scripted key is not valid") || reason.contains("401"), "{reason}");
    assert_eq!(answer.events_named("attempt.ended").len(), 1, "no retry helps: {}", answer.stdout);
    assert_eq!(last_attempt(&answer)["status"], "failed");
}

/// The agent retries by itself, and ralph does nothing.
// spec: A10, L5, L6
pub fn temporary_server_failures_and_rate_limits_are_survived(agent: &'static AgentSpec) {
    let refused = |refusal: Value| json!({"refuse": refusal});
    let limit = refused(json!({"status": 429, "retry_after": 1}));
    let fixture = Fixture::new(agent, |_| json!([refused(json!({"status": 500})), limit, {"say": DONE}]));
    let answer = fixture.run("Do the work.").output().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
    assert_eq!(answer.events_named("attempt.ended").len(), 1, "{}", answer.stdout);
    assert_eq!(fixture.server.asked().len(), 3);
}

/// The stream breaks after the promise, and the next answer replaces it.
// spec: A10, S2, L5
pub fn a_promise_in_a_broken_answer_is_not_a_claim(agent: &'static AgentSpec) {
    let broken = "<promise>DONE</promise> or not, I do not know yet and have to look at it again, more closely.";
    let fixture = Fixture::new(agent, |_| json!([{"cut": broken}, {"say": "There is more to do."}]));
    let answer = fixture.run("Do the work.").args(["--max-iterations", "1"]).output();
    assert!([3, 4].contains(&answer.code()), "{}", answer.stdout);
    assert_eq!(answer.events_named("claim").last().unwrap()["claim"]["accepted"], false, "{}", answer.stdout);
}

/// Nothing comes back from the model, not even a header.
// spec: A10, L7
pub fn an_agent_whose_model_is_silent_is_stopped(agent: &'static AgentSpec) {
    is_ended_by_its_silence(agent, |_| json!([{"hang": "before_headers"}]));
}

/// It retries refused requests, or waits as requested, without output.
// spec: A10, L7
pub fn an_agent_that_retries_without_output_is_ended_by_the_silence_timeout(agent: &'static AgentSpec) {
    is_ended_by_its_silence(agent, |_| json!([{"refuse": {"status": 429, "retry_after": 600}}]));
}

/// An agent that was stopped before its first request is inconclusive: a slow machine needs longer.
fn is_ended_by_its_silence(agent: &'static AgentSpec, script: impl FnOnce(&Project) -> Value) {
    let fixture = Fixture::new(agent, script);
    let has_asked = ["20s", "1m", "3m"].into_iter().any(|silence| {
        let limits = ["--idle-timeout", silence, "--max-iterations", "1"];
        let answer = fixture.run("Do the work.").args(limits).output().expect(3);
        assert_eq!(answer.events_named("iteration.ended")[0]["status"], "timed_out");
        assert_eq!(answer.events_named("stop.requested")[0]["reason"], "the agent was silent for too long");
        !fixture.server.asked().is_empty()
    });
    assert!(has_asked, "it was stopped before it had asked the model");
}

/// The server sees the request, and only then the signal is sent.
// spec: A10, A7, L12
pub fn ctrl_c_mid_stream_leaves_no_process(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |_| json!([{"hang": {"mid_stream": "One two three four five six seven"}}]));
    let running = fixture.run("Do the work.").start();
    fixture.server.wait_for(1);
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.finished()["outcome"], "interrupted");
    assert_eq!(last_attempt(&answer)["status"], "interrupted");
    fixture.server.wait_until_left();
}

/// The command runs in a session of its own, where no signal to the agent's group reaches it.
// spec: A10, A7, L12
pub fn ctrl_c_while_a_command_runs_ends_the_command_too(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |_| json!([{"run": "touch started; tail -f /dev/null"}]));
    let running = fixture.run_with_full_permission("Do the work.").start();
    let started = fixture.project.root().join("started");
    // A process that calls exec while the process table is read can be missed.
    let both_live = || started.exists() && fixture.project.processes_of_runs().len() > 1;
    wait_until_within(WAIT_TIMEOUT, "agent and command live", || both_live() || !is_alive(running.pid()));
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.finished()["outcome"], "interrupted");
}

/// The check removes the session, and then accepts only the second claim.
// spec: A10, L10
pub fn a_lost_session_is_replaced_by_a_new_one(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |_| json!([{"say": DONE}]));
    let SessionStorage::Folder(folder) = agent.sessions else { panic!("{} cannot resume", agent.name) };
    let folder = fixture.project.home().join(folder).display().to_string();
    let check = format!("test -d '{folder}' && rm -r '{folder}' && test -e seen || {{ touch seen; false; }}");
    let limits = ["--no-baseline", "--check", &check, "--max-iterations", "2", "--max-retries", "0"];
    let answer = fixture.run("Do the work.").args(limits).output().expect(0);
    assert_eq!(answer.events_named("session.fresh").len(), 1, "{}", answer.stdout);
    let asked = fixture.server.asked();
    assert!(asked[1].to_string().contains("Do the work."), "the whole prompt again: {}", asked[1]);
}

/// The rate limit ends while ralph waits, however often the agent itself had retried.
// spec: A10, L6
pub fn a_long_rate_limit_is_waited_for(agent: &'static AgentSpec) {
    waits_for_a_limit(agent, &json!({}));
}

/// The same with a daily limit.
// spec: A10, L6
pub fn a_daily_limit_is_waited_for(agent: &'static AgentSpec) {
    waits_for_a_limit(agent, &json!({"resets_at": 0}));
}

/// The model is limited for ever and the agent would retry for ever: ralph stops it and waits for the end of the rate
/// limit.
// spec: A10, L6, L7
pub fn an_agent_that_only_retries_requests_is_stopped(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |project| limited_until(&json!({}), project));
    let running = fixture
        .run("Do the work.")
        .env("RALPH_LIMITS_RETRYING_TIMEOUT", "4s")
        .args(["--max-rate-limit-wait", "10s", "--max-retries", "0"])
        .start();
    running.wait_for_event("limit.waiting");
    std::fs::write(fixture.project.outside("open"), "").unwrap();
    let answer = running.wait().expect(0);
    let stop = &answer.events_named("stop.requested")[0]["reason"];
    assert_eq!(*stop, "the agent only retried failed requests for too long");
    assert_eq!(answer.finished()["iterations"], 1);
}

fn limited_until(limit: &Value, project: &Project) -> Value {
    let mut refusal = limit.clone();
    refusal["status"] = json!(429);
    refusal["until"] = json!(project.outside("open"));
    json!([{"refuse": refusal}, {"say": DONE}])
}

fn waits_for_a_limit(agent: &'static AgentSpec, limit: &Value) {
    let fixture = Fixture::new(agent, |project| limited_until(limit, project));
    let limits = ["--max-rate-limit-wait", "10s", "--max-retries", "0"];
    let running = fixture.run("Do the work.").args(limits).start();
    running.wait_for_event("limit.waiting");
    std::fs::write(fixture.project.outside("open"), "").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
    // If the session was not stored, the first start after the wait finds it lost.
    let starts = answer.events_named("attempt.ended").len();
    assert_eq!(starts, 2 + answer.events_named("session.fresh").len(), "{}", answer.stdout);
}
