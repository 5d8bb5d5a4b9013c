//! What every real agent must get through. Each story names its agent nowhere.
use rustix::process::Signal;
use serde_json::{Value, json};

use super::scene::{Real, Scene};
use crate::harness::Answer;

const DONE: &str = "The work is finished.\n\n<promise>DONE</promise>";

fn last_attempt(answer: &Answer) -> Value {
    answer.named("attempt.ended").pop().unwrap()["result"].clone()
}

/// The first claim is a lie; the second follows an edit by the agent's own tool.
// spec: A10, A1, L1
pub fn a_lie_is_rejected_and_real_work_is_proven(agent: &'static Real) {
    let scene = Scene::new(agent, |project| {
        let file = project.root().join("greeting.txt");
        json!([{"say": DONE}, {"write": {"path": file, "content": "hello\n"}}, {"say": DONE}])
    });
    let answer =
        scene.run("Write a greeting.").args(["--check", "grep hello greeting.txt"]).output().expect(0);
    let verdicts: Vec<Value> = answer.named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"], "{}", answer.stdout);
    assert_eq!(answer.finished()["iterations"], 2);
    let written = std::fs::read_to_string(scene.project.root().join("greeting.txt"));
    assert_eq!(written.unwrap(), "hello\n");
    let asked = scene.server.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[0].to_string().contains("Write a greeting."), "{}", asked[0]);
    assert!(asked[1].to_string().contains("grep hello greeting.txt"), "the reason went back: {}", asked[1]);
}

// spec: A10, A8
pub fn an_invalid_key_is_reported(agent: &'static Real) {
    let scene = Scene::new(agent, |_| json!([{"refuse": {"status": 401}}]));
    let answer = scene.run("Do the work.").output().expect(4);
    assert_eq!(answer.finished()["outcome"], "failed");
    let reason = answer.finished()["reason"].to_string();
    // Some tell what the API said, and some only its status.
    assert!(reason.contains("the scripted key is not valid") || reason.contains("401"), "{reason}");
    assert_eq!(answer.named("attempt.ended").len(), 1, "no retry helps: {}", answer.stdout);
    assert_eq!(last_attempt(&answer)["status"], "failed");
}

/// It tries again by itself, and ralph has nothing to do.
// spec: A10, L6
pub fn a_limit_of_a_moment_is_survived(agent: &'static Real) {
    let scene = Scene::new(agent, |_| json!([{"refuse": {"status": 429, "retry_after": 1}}, {"say": DONE}]));
    let answer = scene.run("Do the work.").output().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
    assert_eq!(scene.server.asked().len(), 2);
}

// spec: A10, L5
pub fn a_server_that_fails_once_is_survived(agent: &'static Real) {
    let scene = Scene::new(agent, |_| json!([{"refuse": {"status": 500}}, {"say": DONE}]));
    let answer = scene.run("Do the work.").output().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
}

/// The promise has been heard when the stream breaks, and what comes then takes it back.
// spec: A10, S2, L5
pub fn a_promise_in_a_broken_answer_is_no_claim(agent: &'static Real) {
    let broken =
        "<promise>DONE</promise> or not, I do not know yet and have to look at it again, more closely.";
    let scene = Scene::new(agent, |_| json!([{"cut": broken}, {"say": "There is more to do."}]));
    let answer = scene.run("Do the work.").args(["--max-iterations", "1"]).output();
    assert!([3, 4].contains(&answer.code()), "{}", answer.stdout);
    assert_eq!(answer.named("claim").last().unwrap()["claim"]["accepted"], false, "{}", answer.stdout);
}

/// Nothing comes back from the model, not even a header.
// spec: A10, L7
pub fn an_agent_whose_model_is_silent_is_stopped(agent: &'static Real) {
    let scene = Scene::new(agent, |_| json!([{"hang": "before_headers"}]));
    let limits = ["--idle-timeout", "20s", "--max-iterations", "1"];
    let answer = scene.run("Do the work.").args(limits).output().expect(3);
    assert_eq!(answer.named("iteration.ended")[0]["status"], "timed_out");
}

/// The server sees the request, and only then the signal is sent.
// spec: A10, A7, L12
pub fn ctrl_c_mid_stream_leaves_no_process(agent: &'static Real) {
    let scene = Scene::new(agent, |_| json!([{"hang": {"mid_stream": "One two three four five six seven"}}]));
    let running = scene.run("Do the work.").start();
    scene.server.wait_for(1);
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.finished()["outcome"], "interrupted");
    assert_eq!(last_attempt(&answer)["status"], "interrupted");
    scene.server.wait_until_left();
}
