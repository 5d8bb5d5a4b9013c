//! The shared cost limit of all tasks of a worker.
use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, wait_until};
use crate::work::pipeline::{project, starts, statuses, write_agent_command};

/// An agent that never claims and costs a dollar each time. A test can hold it at one of its starts.
const EXPENSIVE_AGENT: &str = r#"
marks=$(dirname "$0")/marks
task=$(sed -n 's/^- \*\*Task\*\*: //p')
echo "$task coder" >> "$marks/starts"
nth=$(grep -c "^$task " "$marks/starts")
echo '{"type":"system","subtype":"init","session_id":"s"}'
if [ -e "$marks/hold-$task-$nth" ]; then touch "$marks/holding"; while :; do sleep 1000; done; fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"Still at it.","session_id":"s","total_cost_usd":1.0}'
"#;

fn with_tasks(ids: &[&str]) -> Project {
    let tasks: Vec<(&str, &str)> = ids.iter().map(|id| (*id, "")).collect();
    let project = project(&tasks);
    project.shell(EXPENSIVE_AGENT);
    project
}

fn work<'a>(project: &'a Project, args: &[&str]) -> Call<'a> {
    let agent = project.outside("agent.sh").display().to_string();
    let call = project.ralph(["work", "--json", "--agent", "text", "--agent-cmd", &agent]);
    let call = call.args(["--output-format", "claude"]).args(args);
    call.env("RALPH_PIPELINE_STAGES", "coder").env("RALPH_STALL_ITERATIONS", "0")
}

// spec: L8
// fault: 89
#[test]
fn concurrent_slots_share_one_budget() {
    let ids = ["T-1", "T-2", "T-3", "T-4"];
    let project = with_tasks(&ids);
    let answer = work(&project, &["--until-idle", "--slots", "4", "--max-cost", "3"]).output().expect(7);
    assert_eq!(answer.events_named("work.spent")[0]["max_cost_usd"], 3.0);
    // An agent that starts below three dollars may spend one more.
    assert!((3..=6).contains(&starts(&project).len()), "{:?}", starts(&project));
    let left = statuses(&project).into_iter().filter(|(_, status)| status != "todo");
    assert!(
        left.clone().all(|(_, status)| status == "coding"),
        "a new budget lets them continue: {:?}",
        left.collect::<Vec<_>>()
    );
}

// spec: L8, P8
// fault: 89
#[test]
fn a_resumed_stage_uses_the_budget_of_the_resuming_worker() {
    let project = with_tasks(&["T-1", "T-2"]);
    write_agent_command(&project, "hold-T-1-3");
    let running = work(&project, &["T-1"]).start();
    wait_until("two dollars are spent", || project.outside("marks/holding").exists());
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    // The cost of other runs, even of unfinished ones, does not count for this worker.
    let answer = work(&project, &["T-2", "--max-cost", "2"]).output().expect(7);
    let spent = &answer.events_named("work.spent")[0];
    assert_eq!((&spent["cost_usd"], &spent["max_cost_usd"]), (&json!(2.0), &json!(2.0)));
    let count = |task: &str| starts(&project).iter().filter(|start| start.starts_with(task)).count();
    assert_eq!((count("T-1"), count("T-2")), (3, 2));
    let answer = work(&project, &["T-1", "--max-cost", "1"]).output().expect(7);
    assert_eq!(answer.events_named("work.spent")[0]["cost_usd"], 1.0);
    assert_eq!(count("T-1"), 4, "the two dollars of before are not counted, and there was one");
    let shown = crate::work::pipeline::shown(&project, "T-1");
    assert_eq!((shown["runs"].as_array().unwrap().len(), &shown["status"]), (1, &json!("coding")));
}

// spec: L8, P1
#[test]
fn tasks_skipped_for_lack_of_budget_are_done_with_a_new_budget() {
    let project = with_tasks(&["T-1"]);
    work(&project, &["--until-idle", "--max-cost", "1"]).output().expect(7);
    project.shell("touch done-T-1; git add --all; git -c user.name=A -c user.email=a@example.invalid commit -qm x; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'");
    let agent = project.outside("agent.sh").display().to_string();
    let call = project.ralph(["work", "--until-idle", "--agent", "text", "--agent-cmd", &agent, "--max-cost", "1"]);
    call.env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    assert_eq!(statuses(&project)[0].1, "done");
}

// spec: L8
#[test]
fn the_first_line_says_when_nothing_limits_the_cost() {
    let project = project(&[]);
    let agent = project.outside("agent.sh").display().to_string();
    project.ralph(["task", "create", "T-1", "s", "x", "--no-criteria"]).output().expect(0);
    let call = |more: &[&str]| {
        let args = ["work", "--until-idle", "--agent", "text", "--agent-cmd", &agent];
        project.ralph(args).args(more).output()
    };
    let first = |answer: &CallOutput| answer.stderr.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(&call(&[])), "no cost limit (set one with --max-cost)");
    assert_eq!(first(&call(&["--max-cost", "2"])), "cost limit $2.00 for all tasks together");
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    fs::write(project.root().join(".ralph/config.yaml"), "limits: {task: {max_cost_usd: 3}}\n").unwrap();
    let each = "cost limit $3.00 per task; no limit for all tasks together (--max-cost)";
    assert_eq!(first(&call(&[])), each);
    fs::write(project.root().join(".ralph/config.yaml"), "limits: {spec: {max_cost_usd: 4}}\n").unwrap();
    let each = "cost limit $4.00 per spec; no limit for all tasks together (--max-cost)";
    assert_eq!(first(&call(&[])), each);
}

// spec: L8
#[test]
fn the_cost_limit_applies_to_all_tasks_together() {
    let project = project(&[("T-1", ""), ("T-2", ""), ("T-3", "")]);
    let script = project.script("write done-T-1 x\nwrite done-T-2 x\nwrite done-T-3 x\ncommit work\ninit\nsay Built.\\n\\n{promise}\nresult Built.\\n\\n{promise}\n");
    let call = project.ralph(["work", "--until-idle", "--json", "--output-format", "claude", "--max-cost", "0.015"]);
    let call = call.args(["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=script"]);
    let call = call.args([format!("--agent-arg={script}")]).env("FA_PROMISE", "IMPLEMENTATION_COMPLETE");
    let answer = call.env("RALPH_PIPELINE_STAGES", "coder").env("RALPH_VERIFY_PROMISES", "false").output().expect(7);
    let spent = &answer.events_named("work.spent")[0];
    assert_eq!((&spent["cost_usd"], &spent["max_cost_usd"]), (&json!(0.02), &json!(0.015)));
    let ends: Vec<String> = statuses(&project).into_iter().map(|(_, status)| status).collect();
    assert_eq!(ends, ["done", "coding", "todo"], "the second had half a cent left");
    assert_eq!(project.starts().len(), 2, "the third task was not begun");
}

// spec: L8
#[test]
fn the_help_explains_the_limits_and_the_last_event() {
    let help = project(&[]).ralph(["work", "--help"]).output().expect(0).stdout;
    assert!(help.contains("Spending limit in US dollars for all tasks that this worker starts"), "{help}");
    assert!(help.contains("the last one is work.finished"), "{help}");
}
