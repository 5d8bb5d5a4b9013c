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
