//! What all that a worker drives may cost together.
use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::harness::{Answer, Call, FAKE_AGENT, Project, wait_until};
use crate::work::{project, starts, statuses, wish};

/// An agent that gets nowhere for a dollar each time. It can be held at one of its starts for a task.
const DEAR: &str = r#"
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
    project.shell(DEAR);
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
fn slots_that_work_at_the_same_time_spend_from_one_purse() {
    let ids = ["T-1", "T-2", "T-3", "T-4"];
    let project = with_tasks(&ids);
    let answer = work(&project, &["--until-idle", "--slots", "4", "--max-cost", "3"]).output().expect(7);
    assert_eq!(answer.named("work.spent")[0]["max_cost_usd"], 3.0);
    // Who starts while less than three dollars are spent may spend one more.
    assert!((3..=6).contains(&starts(&project).len()), "{:?}", starts(&project));
    let left = statuses(&project).into_iter().filter(|(_, status)| status != "todo");
    assert!(
        left.clone().all(|(_, status)| status == "coding"),
        "new money lets them go on: {:?}",
        left.collect::<Vec<_>>()
    );
}

// spec: L8, P8
// fault: 89
#[test]
fn a_stage_that_is_gone_on_with_spends_from_the_purse_of_whoever_goes_on() {
    let project = with_tasks(&["T-1", "T-2"]);
    wish(&project, "hold-T-1-3");
    let running = work(&project, &["T-1"]).start();
    wait_until("two dollars are spent", || project.outside("marks/holding").exists());
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    // What others spent, even of a run that nobody has ended, is not this worker's.
    let answer = work(&project, &["T-2", "--max-cost", "2"]).output().expect(7);
    let spent = &answer.named("work.spent")[0];
    assert_eq!((&spent["cost_usd"], &spent["max_cost_usd"]), (&json!(2.0), &json!(2.0)));
    let count = |task: &str| starts(&project).iter().filter(|start| start.starts_with(task)).count();
    assert_eq!((count("T-1"), count("T-2")), (3, 2));
    let answer = work(&project, &["T-1", "--max-cost", "1"]).output().expect(7);
    assert_eq!(answer.named("work.spent")[0]["cost_usd"], 1.0);
    assert_eq!(count("T-1"), 4, "the two dollars of before are not counted, and there was one");
    let shown = crate::work::shown(&project, "T-1");
    assert_eq!((shown["runs"].as_array().unwrap().len(), &shown["status"]), (1, &json!("coding")));
}

// spec: L8, P1
#[test]
fn what_was_left_for_want_of_money_is_done_when_there_is_some() {
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
    let first = |answer: &Answer| answer.stderr.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(&call(&[])), "nothing limits what this may cost (--max-cost)");
    assert_eq!(first(&call(&["--max-cost", "2"])), "all of it may cost $2.00");
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    fs::write(project.root().join(".ralph/config.yaml"), "limits: {task: {max_cost_usd: 3}}\n").unwrap();
    let each = "a task may cost $3.00; nothing limits all of them together (--max-cost)";
    assert_eq!(first(&call(&[])), each);
    fs::write(project.root().join(".ralph/config.yaml"), "limits: {spec: {max_cost_usd: 4}}\n").unwrap();
    let each = "a spec may cost $4.00; nothing limits all of them together (--max-cost)";
    assert_eq!(first(&call(&[])), each);
}

// spec: L8
#[test]
fn what_all_of_it_may_cost_is_for_all_tasks_together() {
    let project = project(&[("T-1", ""), ("T-2", ""), ("T-3", "")]);
    let script = project.script("write done-T-1 x\nwrite done-T-2 x\nwrite done-T-3 x\ncommit work\ninit\nsay Built.\\n\\n{promise}\nresult Built.\\n\\n{promise}\n");
    let call = project.ralph(["work", "--until-idle", "--json", "--output-format", "claude", "--max-cost", "0.015"]);
    let call = call.args(["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=script"]);
    let call = call.args([format!("--agent-arg={script}")]).env("FA_PROMISE", "IMPLEMENTATION_COMPLETE");
    let answer = call.env("RALPH_PIPELINE_STAGES", "coder").env("RALPH_VERIFY_PROMISES", "false").output().expect(7);
    let spent = &answer.named("work.spent")[0];
    assert_eq!((&spent["cost_usd"], &spent["max_cost_usd"]), (&json!(0.02), &json!(0.015)));
    let ends: Vec<String> = statuses(&project).into_iter().map(|(_, status)| status).collect();
    assert_eq!(ends, ["done", "coding", "todo"], "the second had half a cent left");
    assert_eq!(project.starts().len(), 2, "the third task was not begun");
}

// spec: L8
#[test]
fn the_help_says_what_the_limits_are_of_and_how_the_events_end() {
    let help = project(&[]).ralph(["work", "--help"]).output().expect(0).stdout;
    assert!(help.contains("Most money of everything that it begins"), "{help}");
    assert!(help.contains("the last one is work.finished"), "{help}");
}
