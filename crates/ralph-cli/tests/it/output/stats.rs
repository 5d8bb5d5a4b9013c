//! `ralph stats`: totals by role, agent, model, task, spec and iteration.
use serde_json::{Value, json};

use crate::harness::{Call, FAKE_AGENT, Project};

const WORK: &str = "init\nsay still at it\nresult still at it\n";
const DONE: &str = "init\nsay Done.\\n\\n{promise}\nresult Done.\\n\\n{promise}\n";

fn project() -> Project {
    let project = Project::new();
    let task = |id: &str, spec: &str| {
        format!(
            "- id: {id}\n  spec_id: {spec}\n  title: T\n  completion:\n    outcome: O\n    acceptance_criteria: [a]\n    \
             coder: {{verification_config: {{command: test -e fixed}}}}\n    \
             reviewer: {{verification_method: string_match}}\n"
        )
    };
    project.write("tasks.yaml", task("T-1", "auth") + &task("T-2", "shop"));
    project.ralph(["task", "import", "tasks.yaml"]).output().expect(0);
    project
}

/// A stage whose agent costs a cent and 110 tokens each time, and reports its model.
fn stage<'a>(project: &'a Project, (task, role): (&str, &str), steps: &str) -> Call<'a> {
    let script = project.script(steps);
    let _ = std::fs::remove_file(project.outside("starts"));
    let promise = if role == "coder" { "IMPLEMENTATION_COMPLETE" } else { "REVIEW_PASSED" };
    let agent = ["task", "run", task, "--role", role, "--agent", "text", "--agent-cmd", FAKE_AGENT];
    let call = project.ralph(agent).args(["--output-format", "claude"]);
    let call = call.env("RALPH_VERIFICATION_ROLE_CHECKS", "off").env("FA_PROMISE", promise);
    call.args(["--agent-arg=script", &format!("--agent-arg={script}")])
}

/// T-1: a coder that claims once too often, a reviewer that sends back. T-2: a coder that fails. Then a run
/// of an agent that reports no usage.
fn history() -> Project {
    let project = project();
    let fixes = DONE.replace("init\n", "init\nwrite fixed yes\n");
    stage(&project, ("T-1", "coder"), &format!("{WORK}---\n{DONE}---\n{fixes}")).output().expect(0);
    let rejects = "init\nsay <reject>no tests</reject>\nresult <reject>no tests</reject>\n";
    stage(&project, ("T-1", "reviewer"), rejects).output().expect(3);
    std::fs::remove_file(project.root().join("fixed")).unwrap();
    stage(&project, ("T-2", "coder"), WORK).args(["--max-iterations", "2"]).output().expect(3);
    project.run(&["complete"]).output().expect(0);
    project
}

fn stats(project: &Project, args: &[&str]) -> Value {
    project.ralph(["stats", "--json"]).args(args).output().expect(0).json()
}

fn group<'a>(stats: &'a Value, key: &str) -> &'a Value {
    let groups = stats["groups"].as_array().unwrap();
    let is_meant = |group: &&Value| group["key"].as_str().unwrap_or("none") == key;
    groups.iter().find(is_meant).unwrap_or_else(|| panic!("{key} is not in {stats}"))
}

fn stats_text(group: &Value) -> [Value; 6] {
    ["runs", "completed", "sent_back", "cost_usd", "cost_unknown_runs", "false_claims"].map(|key| group[key].clone())
}

// spec: P9, O2
#[test]
fn runs_are_added_up_by_role_and_unknown_stays_unknown() {
    let project = history();
    let stats = stats(&project, &[]);
    let coder = group(&stats, "coder");
    assert_eq!(stats_text(coder), [json!(2), json!(1), json!(0), json!(0.05), json!(0), json!(1)]);
    assert_eq!(coder["success_rate"], 0.5);
    assert_eq!(coder["iterations"], json!({ "mean": 2.5, "median": 2.5, "max": 3 }));
    assert_eq!((&coder["input_tokens"], &coder["output_tokens"]), (&json!(500), &json!(50)));
    let reviewer = group(&stats, "reviewer");
    assert_eq!(stats_text(reviewer), [json!(1), json!(0), json!(1), json!(0.01), json!(0), json!(0)]);
    assert_eq!(reviewer["success_rate"], Value::Null, "it did its work, and sent back that of another");
    let none = group(&stats, "none");
    assert_eq!(stats_text(none), [json!(1), json!(1), json!(0), Value::Null, json!(1), json!(0)]);
    assert_eq!((&none["input_tokens"], &none["tokens_unknown_runs"]), (&Value::Null, &json!(1)));
    let total = &stats["total"];
    assert_eq!((&total["runs"], &total["ended"], &total["cost_usd"]), (&json!(4), &json!(4), &json!(0.06)));
    assert!(coder["time_ms"]["total"].as_u64().unwrap() > 0, "{coder}");
}

// spec: P9, O2
#[test]
fn runs_are_added_up_by_agent_model_task_spec_and_iteration() {
    let project = history();
    let by = |what: &str| stats(&project, &["--by", what]);
    let models = by("model");
    let known: Vec<&Value> =
        models["groups"].as_array().unwrap().iter().filter(|group| !group["key"].is_null()).collect();
    assert_eq!(stats_text(known[0]), [json!(3), json!(1), json!(1), json!(0.06), json!(0), json!(1)], "{models}");
    assert_eq!(stats_text(group(&models, "none"))[..1], [json!(1)], "a run without a named model");
    assert_eq!(group(&by("agent"), "text")["runs"], 4);
    let tasks = by("task");
    assert_eq!(group(&tasks, "T-1")["cost_usd"], 0.04, "{tasks}");
    assert_eq!(group(&tasks, "T-2")["cost_usd"], 0.02, "{tasks}");
    assert_eq!(group(&by("spec"), "shop")["runs"], 1);
    let iterations = by("iteration");
    let numbers: Vec<&Value> = iterations["groups"].as_array().unwrap().iter().map(|group| &group["key"]).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    assert_eq!(stats_text(group(&iterations, "3"))[..2], [json!(1), json!(1)], "{iterations}");
    assert_eq!(group(&iterations, "2")["false_claims"], 1);
}

// spec: P9, L6
#[test]
fn a_run_counts_for_each_of_its_agents_with_the_usage_of_that_agent() {
    let project = Project::new();
    let limited = "init\nlimit 3600\n";
    project.agents(&[("mine", limited), ("other", DONE)], "fallback: [other]\n");
    project.run_agent_mine().output().expect(0);
    let stats = stats(&project, &["--by", "agent"]);
    let (mine, other) = (group(&stats, "mine"), group(&stats, "other"));
    assert_eq!((&mine["runs"], &other["runs"], &stats["total"]["runs"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!((&mine["cost_usd"], &other["cost_usd"]), (&json!(0.0), &json!(0.01)), "{stats}");
}

// spec: P9, U1
#[test]
fn the_default_output_is_a_table_and_unknown_groups_are_refused() {
    let project = history();
    let text = project.ralph(["stats"]).output().expect(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    assert!(lines[0].starts_with("role") && lines[0].ends_with("false"), "{text}");
    assert!(lines[1].contains("coder") && lines[1].contains("50%") && lines[1].contains("2.5/2.5/3"), "{text}");
    assert!(text.contains("$0.06 +1?") && text.contains("unknown or incomplete"), "{text}");
    for (args, words) in [
        (["--by", "colour"], "possible values"),
        (["--since", "soon"], "2026-11-01"),
        (["-n", "0"], "at least 1 group"),
    ] {
        let refused = project.ralph(["stats"]).args(args).output().expect(64);
        assert!(refused.stderr.contains(words), "{args:?}: {}", refused.stderr);
    }
    let later = project.ralph(["stats", "--since", "2999-01-01"]).output().expect(0);
    assert!(later.stdout.is_empty() && later.stderr.contains("no runs"), "{}", later.stderr);
    assert_eq!(stats(&project, &["--since", "7d"])["total"]["runs"], 4);
    let nothing = Project::new().ralph(["stats", "--json"]).output().expect(0).json();
    assert_eq!((&nothing["total"]["runs"], &nothing["groups"]), (&json!(0), &json!([])));
}

// spec: P9, D4, D5
#[test]
fn an_imported_run_is_added_up_and_a_forgotten_one_is_not() {
    let project = history();
    let coder = project.ralph(["task", "show", "T-1", "--json"]).output().expect(0).json();
    let id = coder["runs"][0]["id"].as_str().unwrap().to_owned();
    let file = project.ralph(["export", &id]).output().expect(0).stdout;
    let other = Project::new();
    other.write("run.jsonl", file);
    other.ralph(["import", "run.jsonl"]).output().expect(0);
    let there = stats(&other, &["--by", "model"]);
    let [group] = there["groups"].as_array().unwrap().as_slice() else { panic!("{there}") };
    assert_eq!(stats_text(group), [json!(1), json!(1), json!(0), json!(0.03), json!(0), json!(1)]);
    assert!(there["total"]["time_ms"]["total"].as_u64().is_some_and(|ms| ms > 0), "{there}");
    project.ralph(["gc", "--all", "--older-than", "1ms"]).output().expect(0);
    let after = stats(&project, &["--by", "model"]);
    assert_eq!((&after["total"]["runs"], &after["groups"]), (&json!(0), &json!([])));
}
