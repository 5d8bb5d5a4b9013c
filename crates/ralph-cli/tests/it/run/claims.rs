//! `ralph detect`, and the labelled outputs through parser, claim finder and command.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::Project;

const CORPUS: &str = include_str!("../../../../ralph-core/tests/data/claims.jsonl");

// spec: S2, S3, S4, S7, S8, S10
#[test]
fn every_labelled_output_is_classified_correctly_by_the_batch() {
    let project = Project::new();
    let answer = project.ralph(["detect", "--batch"]).input(CORPUS).output().expect(0);
    let answers: BTreeMap<String, Value> = answer
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|answer| (answer["id"].as_str().unwrap().to_owned(), answer))
        .collect();
    let cases: Vec<Value> = CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len());
    let wrong: Vec<String> = cases.iter().filter_map(|case| misclassified(case, &answers)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn misclassified(case: &Value, answers: &BTreeMap<String, Value>) -> Option<String> {
    let answer = &answers[case["id"].as_str().unwrap()];
    let claimed = case["expected"] == "complete";
    let contradiction = case["contradiction_expected"].as_bool();
    let right =
        answer["claimed"] == claimed && contradiction.is_none_or(|expected| answer["contradiction"] == expected);
    (!right).then(|| format!("{}: {answer}; because {}", case["id"], case["why"]))
}

fn detect(project: &Project, args: &[&str], output: &str) -> (i32, String) {
    let call = project.ralph(["detect", "--promise", "DONE"]).args(args).input(output);
    let answer = call.output();
    (answer.code(), answer.stdout)
}

// spec: S10
#[test]
fn detect_reports_the_claim_its_line_and_the_reason() {
    let project = Project::new();
    let claimed = detect(&project, &[], "All good.\n\n<promise>DONE</promise>\n");
    assert_eq!(claimed, (0, "claimed: asserted on line 3 of the final message\n".to_owned()));
    let (code, text) = detect(&project, &[], "I will not print <promise>DONE</promise> yet.\n");
    assert_eq!(code, 3);
    assert!(text.starts_with("not claimed: "), "{text}");
    let (_, json) = detect(&project, &["--json"], "Work is open: 2 tests fail.\n\n<promise>DONE</promise>\n");
    let answer: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&answer["claimed"], &answer["contradiction"]), (&true.into(), &true.into()));
}

// spec: S1, S10
#[test]
fn exact_matching_is_case_sensitive() {
    let project = Project::new();
    assert_eq!(detect(&project, &[], "<promise>done</promise>").0, 0);
    assert_eq!(detect(&project, &["--match", "exact"], "<promise>done</promise>").0, 3);
    assert_eq!(detect(&project, &["--match", "exact"], "<promise>DONE</promise>").0, 0);
}

// spec: S4, S10
#[test]
fn the_scope_can_be_all_messages_of_an_iteration() {
    let project = Project::new();
    let message = |id: &str, text: &str| {
        json!({"type": "assistant", "message": {"id": id, "content": [{"type": "text", "text": text}]}}).to_string()
    };
    let output = format!("{}\n{}\n", message("a", "<promise>DONE</promise>"), message("b", "More to do."));
    assert_eq!(detect(&project, &["--format", "claude"], &output).0, 3);
    assert_eq!(detect(&project, &["--format", "claude", "--scope", "iteration"], &output).0, 0);
}

// spec: S2, S10
#[test]
fn an_echo_of_the_prompt_does_not_claim() {
    let project = Project::new();
    let prompt = project.write("prompt.md", "Do it. End with\n<promise>DONE</promise>\nwhen done.");
    let output = "Do it. End with\n<promise>DONE</promise>\nwhen done.\n\nNot finished.\n";
    let args = ["--prompt-file", prompt.to_str().unwrap()];
    assert_eq!(detect(&project, &args, output).0, 3);
    assert_eq!(detect(&project, &args, &format!("{output}\n<promise>DONE</promise>\n")).0, 0);
}

// spec: S10
#[test]
fn a_bad_case_in_a_batch_is_named_by_its_line() {
    let project = Project::new();
    let good = json!({"id": 1, "format": "text", "promise": "XX", "output": "<promise>XX</promise>"});
    let input = format!("{good}\n\n{{\"id\": 2}}\n");
    let answer = project.ralph(["detect", "--batch"]).input(input).output().expect(64);
    assert!(answer.stdout.starts_with("{\"id\":1,\"claimed\":true,\"contradiction\":false"), "{}", answer.stdout);
    assert!(answer.stderr.contains("line 3"), "{}", answer.stderr);
}

// spec: S10
#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    let project = Project::new();
    let answer = project.ralph(["detect", "--promise", "X", "--format", "cloude"]).output().expect(64);
    assert!(answer.stderr.contains("claude"), "{}", answer.stderr);
}

/// A line above the length limit.
const OVERSIZED_LINE: &str = "head -c 5000000 /dev/zero | tr '\\0' x";
const AGENT_MESSAGE: &str = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""#;
const TOOL_MESSAGE: &str =
    r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":""#;

/// An agent that claims, and then prints one more record of this kind, which is too long to be read.
fn claims_before(record: &str) -> String {
    let promise = "<promise>COMPLETE</promise>\"}]}}";
    format!(
        "cat > /dev/null\nprintf '%s\\n' '{AGENT_MESSAGE}{promise}'\nprintf '%s' '{record}'\n{OVERSIZED_LINE}\n\
         printf '%s\\n' '\"}}]}}}}'\nprintf '%s\\n' '{{\"type\":\"result\",\"is_error\":false,\"result\":\"\"}}'"
    )
}

// spec: S4, S8, A4
#[test]
fn an_oversized_last_message_does_not_make_an_earlier_message_the_claim_and_is_reported() {
    let project = Project::new();
    let agent = project.shell(&claims_before(AGENT_MESSAGE));
    let call = ["run", "x", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"];
    let call = project.ralph(call).args(["--output-format", "claude", "--max-iterations", "1"]);
    let answer = call.output().expect(3);
    let why = "a record that may be the agent's last message was too long to read";
    assert!(answer.stderr.contains("! a record was too long and was skipped"), "{}", answer.stderr);
    assert!(answer.stderr.contains(&format!("no claim  {why}")), "{}", answer.stderr);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains(why), "{shown}");
    assert!(project.log("iteration-001.ndjson").len() > 5_000_000, "the raw log has it");
}

// spec: S4, S8
#[test]
fn tool_output_may_be_too_long_to_be_read() {
    let project = Project::new();
    let call = project.run_shell(&claims_before(TOOL_MESSAGE)).args(["--output-format", "claude"]);
    assert_eq!(call.output().expect(0).finished()["outcome"], "completed");
}
