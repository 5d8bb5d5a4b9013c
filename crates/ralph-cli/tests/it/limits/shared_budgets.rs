//! Budgets that all runs of a task or a spec share.
use serde_json::Value;

use crate::harness::{Call, Project};

/// One turn that costs a cent and 110 tokens.
const WORK: &str = "init\nsay still at it\nresult still at it\n";

/// Two tasks of one spec, and an agent that never claims.
fn project(limits: &str, script: &str) -> Project {
    let project = Project::new();
    let task = |id: &str| {
        format!(
            "- id: {id}\n  spec_id: auth\n  title: T\n  completion:\n    outcome: O\n    acceptance_criteria: [a]\n    \
             coder: {{verification_config: {{command: test -e fixed}}}}\n"
        )
    };
    project.write("tasks.yaml", task("T-1") + &task("T-2"));
    project.ralph(["task", "import", "tasks.yaml"]).output().expect(0);
    project.agents(&[("mine", script)], limits);
    project
}

fn coder<'a>(project: &'a Project, task: &str, iterations: &str) -> Call<'a> {
    let stage = ["task", "run", task, "--agent", "mine", "--json", "--max-iterations", iterations];
    project.ralph(stage).env("RALPH_VERIFICATION_ROLE_CHECKS", "off")
}

fn end(call: Call<'_>) -> (Value, Value) {
    let end = call.output().expect(7).finished();
    assert_eq!(end["outcome"], "over_budget");
    (end["reason"].clone(), end["iterations"].clone())
}

// spec: L8
// fault: 89
#[test]
fn the_cost_of_earlier_runs_of_a_task_counts_and_that_of_other_tasks_does_not() {
    let project = project("limits: { task: { max_cost_usd: 0.03 } }", WORK);
    coder(&project, "T-2", "2").output().expect(3);
    coder(&project, "T-1", "2").output().expect(3);
    let used_up = "the budget of task T-1 is used up: $0.03 of $0.03 spent (max_cost_usd)";
    assert_eq!(end(coder(&project, "T-1", "9")), (used_up.into(), 1.into()));
    let starts = project.starts().len();
    assert_eq!(end(coder(&project, "T-1", "9")), (used_up.into(), 0.into()));
    assert_eq!(project.starts().len(), starts, "nothing is left, and nothing is started");
    project.run_agent_mine().args(["--max-iterations", "1"]).output().expect(3);
}

// spec: L8
#[test]
fn iterations_of_all_runs_of_a_task_are_counted_together() {
    let project = project("limits: { task: { max_iterations: 3 } }", WORK);
    coder(&project, "T-1", "2").output().expect(3);
    let used_up = "the runs of task T-1 have reached their limit of 3 iterations (max_iterations)";
    assert_eq!(end(coder(&project, "T-1", "9")), (used_up.into(), 1.into()));
    coder(&project, "T-2", "2").output().expect(3);
}

// spec: L8
#[test]
fn the_tasks_of_a_spec_share_its_budget() {
    let project = project("limits: { spec: { max_tokens: 330 } }", WORK);
    coder(&project, "T-2", "2").output().expect(3);
    let used_up = "the budget of spec auth is used up: 330 of 330 tokens used (max_tokens)";
    assert_eq!(end(coder(&project, "T-1", "9")), (used_up.into(), 1.into()));
}

// spec: L8
// fault: 89
#[test]
fn an_agent_is_stopped_during_its_work_when_a_shared_budget_is_used_up() {
    let project = project("limits: { spec: { max_cost_usd: 0.02 } }", &format!("{WORK}---\n{WORK}hang\n"));
    coder(&project, "T-2", "1").output().expect(3);
    let answer = coder(&project, "T-1", "9").args(["--after-result", "10m"]).output().expect(7);
    let stop = answer.events_named("stop.requested");
    let used_up = "the budget of spec auth is used up: $0.02 of $0.02 spent (max_cost_usd)";
    assert_eq!(stop[0]["reason"], used_up);
    assert_eq!(project.processes_of_runs().len(), 0);
}

// spec: L8
#[test]
fn the_time_of_a_task_is_the_total_of_its_runs() {
    let project = project("", &format!("{WORK}---\ninit\nhang\n"));
    coder(&project, "T-1", "1").output().expect(3);
    let limited = |task| coder(&project, task, "9").env("RALPH_LIMITS_TASK_MAX_DURATION", "300ms");
    let over =
        |task| Value::from(format!("the runs of task {task} have reached their time limit of 1s (max_duration)"));
    assert_eq!(end(limited("T-2")).0, over("T-2"), "it hangs, and is stopped");
    assert_eq!(end(limited("T-2")), (over("T-2"), 0.into()), "nothing is left");
    assert_eq!(project.processes_of_runs().len(), 0);
}

// spec: L8
#[test]
fn a_stage_prints_its_shared_budgets_and_an_unknown_cost_stops_it_when_required() {
    let silent = "text still at it\n";
    let project = project("limits: { task: { max_cost_usd: 5 }, spec: { max_tokens: 2M } }", silent);
    let stage = ["task", "run", "T-1", "--agent", "mine", "--max-iterations", "1"];
    let printed = project.ralph(stage).args(["--output-format", "text"]).output().expect(3).stderr;
    assert!(printed.contains("budget    $5.00 for task T-1\n"), "{printed}");
    assert!(printed.contains("budget    2000000 tokens for spec auth\n"), "{printed}");
    let known = coder(&project, "T-1", "9").env("RALPH_LIMITS_REQUIRE_KNOWN_COST", "true");
    let (reason, iterations) = end(known);
    assert_eq!(iterations, 0);
    assert!(reason.as_str().unwrap().contains("not all of its runs report their cost"), "{reason}");
}
