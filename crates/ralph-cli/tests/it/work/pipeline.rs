//! `ralph work`: ready tasks go through their stages, each in its own work tree.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Call, CallOutput, Project, Running, wait_until};
use crate::processes::signals::suspend;

/// An agent for every role, controlled by files that a test writes. `$1` is a folder for its own marks.
pub const ROLE_AGENT: &str = r#"
marks=$(dirname "$0")/marks; mkdir -p "$marks"
prompt=$(cat)
task=$(printf '%s\n' "$prompt" | sed -n 's/^- \*\*Task\*\*: //p')
role=$(printf '%s\n' "$prompt" | sed -n 's/^- \*\*Stage\*\*: //p')
printf '%s\n' "$prompt" > "$marks/prompt-$task-$role"
echo "$task $role $PWD" >> "$marks/starts"
once() { [ -e "$marks/wish-$1" ] && mv "$marks/wish-$1" "$marks/granted-$1"; }
commit() { git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet --allow-empty -m "$1"; }
if once "hold-$task-$role"; then touch "$marks/holding" "$marks/holding-$task"; while :; do sleep 1000; done; fi
if [ -e "$marks/always-fail-$task-$role" ] || once "fail-$task-$role"; then exit 7; fi
if [ -e "$marks/always-idle-$task-$role" ]; then echo "I looked around."; exit 0; fi
if once "reject-$task-$role"; then echo "<reject>there is no test for $task</reject>"; exit 0; fi
if once "wait-$task-$role"; then echo "<wait for=\"$(cat "$marks/granted-wait-$task-$role")\">the build runs</wait>"; exit 0; fi
if once "blocked-$task-$role"; then echo "<blocked>I need a key</blocked>"; exit 0; fi
case $role in
coder) echo "$task" >> "done-$task"; commit "work on $task"; echo "Built $task."; echo "<promise>IMPLEMENTATION_COMPLETE</promise>";;
reviewer) echo "It reads well."; echo "<promise>REVIEW_PASSED</promise>";;
tester) echo "test $task" > "test-$task"; echo "4 tests passed."; echo "<promise>TESTS_PASSED</promise>";;
planner) echo "A plan."; echo "<promise>STAGE_COMPLETE</promise>";;
qa) echo "Every criterion holds."; echo "<promise>QA_PASSED</promise>";;
esac
"#;

/// A project whose tasks are checked by a command in every role, and the agent for it.
pub fn project(tasks: &[(&str, &str)]) -> Project {
    let project = Project::new();
    project.commit();
    for (id, more) in tasks {
        let check = |role: &str| {
            format!("{role}: {{verification_method: external, verification_config: {{command: test -e done-{id}}}}}")
        };
        let roles: Vec<String> = ["coder", "reviewer", "tester", "qa"].iter().map(|role| check(role)).collect();
        let text = format!(
            "task:\n  id: {id}\n  spec_id: s\n  title: Do {id}\n{more}  completion:\n    outcome: it is there\n    \
             acceptance_criteria: [the file is there]\n    {}\n",
            roles.join("\n    ")
        );
        let path = project.outside(&format!("{id}.yaml"));
        fs::write(&path, text).unwrap();
        project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
    }
    let agent = project.shell(ROLE_AGENT);
    fs::create_dir_all(project.outside("marks")).unwrap();
    assert!(PathBuf::from(agent).metadata().unwrap().permissions().mode() & 0o100 != 0);
    project
}

pub fn write_agent_command(project: &Project, what: &str) {
    fs::write(project.outside("marks").join(what), "").unwrap();
}

pub fn work<'a>(project: &'a Project, args: &[&str]) -> Call<'a> {
    let agent = project.outside("agent.sh").display().to_string();
    project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, "--json"]).args(args)
}

/// Starts a worker and waits until its agent for this role of T-1 is active. It stays active until it is stopped.
pub fn start_held_worker<'a>(project: &Project, role: &str, call: Call<'a>) -> Running<'a> {
    write_agent_command(project, &format!("wish-hold-T-1-{role}"));
    let running = call.start();
    wait_until(&format!("the {role} is at work"), || project.outside("marks/holding").exists());
    running
}

/// Waits until a worker has reported the end of a task.
pub fn wait_for_end(running: &Running<'_>, task: &str) {
    wait_until(&format!("{task} is over"), || {
        let text = running.stdout_so_far();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut events = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.any(|event| event["event"] == "task.over" && event["task"] == task)
    });
}

pub fn statuses(project: &Project) -> Vec<(String, String)> {
    // Other processes may be active.
    let listed = project.ralph(["task", "list", "--json"]).start().wait_without_invariants().expect(0).json();
    let of = |task: &Value| (text(&task["id"]), text(&task["status"]));
    listed.as_array().unwrap().iter().map(of).collect()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub fn shown(project: &Project, task: &str) -> Value {
    project.ralph(["task", "show", task, "--json"]).output().expect(0).json()
}

/// Returns the tasks that an agent was started for, in order, each with its role.
pub fn starts(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.outside("marks/starts")).unwrap_or_default();
    text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
}

pub fn git(project: &Project, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(project.root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn assert_task_ended(answer: &CallOutput, task: &str) -> Value {
    answer.events_named("task.over").into_iter().rfind(|event| event["task"] == task).unwrap_or_default()
}

// spec: P1, P2, P6, T7
#[test]
fn a_task_goes_through_every_stage_in_a_work_tree_of_its_own() {
    let project = project(&[("T-1", "")]);
    let before = git(&project, &["rev-parse", "HEAD"]);
    let answer = work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(starts(&project), ["T-1 coder", "T-1 reviewer", "T-1 tester", "T-1 qa"]);
    assert_eq!(assert_task_ended(&answer, "T-1")["status"], "done");
    let began = answer.events_named("run.started").into_iter().map(|event| text(&event["run"]));
    let stages = answer.events_named("task.stage").into_iter().map(|event| text(&event["run"]));
    assert_eq!(began.collect::<Vec<_>>(), stages.collect::<Vec<_>>(), "the role of a run comes before it");
    assert_eq!(answer.events_named("baseline").len(), 4, "every stage has the baseline of its task");
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned())]);
    assert_eq!(git(&project, &["rev-parse", "HEAD"]), before, "the user's work tree is untouched");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    let files = git(&project, &["ls-tree", "--name-only", "ralph/T-1"]);
    assert_eq!(files, "done-T-1\ntest-T-1", "what a tester left uncommitted was verified, so it is kept");
    let runs = shown(&project, "T-1")["runs"].as_array().unwrap().clone();
    let printed = |run: &Value| (text(&run["role"]), text(&run["outcome"]));
    let all: Vec<_> = runs.iter().map(printed).collect();
    let expected = ["coder", "reviewer", "tester", "qa"].map(|role| (role.to_owned(), "completed".to_owned()));
    assert_eq!(all, expected);
    let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((&listed[0]["task"], &listed[0]["role"]), (&json!("T-1"), &json!("qa")));
    let lines = project.ralph(["runs"]).output().expect(0).stdout;
    let columns: Vec<usize> = lines.lines().filter_map(|line| line.find("completed")).collect();
    assert!(columns.len() == 4 && columns.iter().all(|at| *at == columns[0]), "{lines}");
    assert!(lines.contains("T-1 reviewer: Do T-1"), "{lines}");
    let newest = project.ralph(["show"]).output().expect(0).stdout;
    assert!(newest.contains("task     T-1, qa"), "{newest}");
}

// spec: P1, T5
#[test]
fn urgent_tasks_come_first_and_a_task_waits_for_its_dependencies() {
    let project = project(&[
        ("LATE", "  priority: 4\n"),
        ("SOON", "  priority: 2\n"),
        ("AFTER", "  priority: 1\n  dependencies: [LATE, SOON]\n"),
    ]);
    work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder").output().expect(0);
    assert_eq!(starts(&project), ["SOON coder", "LATE coder", "AFTER coder"]);
    let tree = git(&project, &["ls-tree", "--name-only", "ralph/AFTER"]);
    assert_eq!(tree, "done-AFTER\ndone-LATE\ndone-SOON", "it begins with the work that it depends on");
}

// spec: P1, L14
#[test]
fn two_slots_work_on_two_tasks_at_the_same_time() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    let running = work(&project, &["--slots", "2"]).start();
    wait_for_end(&running, "T-2");
    let now = [("T-1".to_owned(), "coding".to_owned()), ("T-2".to_owned(), "done".to_owned())];
    assert_eq!(statuses(&project), now, "T-2 is done while T-1 is at work");
    running.signal(Signal::INT);
    running.wait().expect(130);
}

// spec: P3, P4
#[test]
fn a_reviewer_sends_the_work_back_and_the_coder_gets_the_reason() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-reject-T-1-reviewer");
    let answer = work(&project, &["--until-idle"]).output().expect(0);
    let expected = ["coder", "reviewer", "coder", "reviewer", "tester", "qa"].map(|role| format!("T-1 {role}"));
    assert_eq!(starts(&project), expected);
    let back = answer.events_named("task.next").into_iter().find(|event| event["how"] == "sent_back").unwrap();
    assert_eq!((&back["ended"], &back["stage"]), (&json!("reviewer"), &json!("coder")));
    let prompt = fs::read_to_string(project.outside("marks/prompt-T-1-coder")).unwrap();
    assert!(prompt.contains("The reason: there is no test for T-1\n"), "{prompt}");
    assert!(prompt.contains("**coder** was accepted and said:\n\n> Built T-1."), "{prompt}");
    let qa = fs::read_to_string(project.outside("marks/prompt-T-1-qa")).unwrap();
    assert!(qa.contains("**tester** was accepted and said:\n\n> 4 tests passed."), "{qa}");
}

// spec: P4
#[test]
fn work_that_is_sent_back_too_often_is_blocked_with_the_reason() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-reject-T-1-reviewer");
    let call = work(&project, &["--until-idle"]).env("RALPH_PIPELINE_MAX_ROUNDS", "0");
    let answer = call.output().expect(3);
    let end = assert_task_ended(&answer, "T-1");
    assert_eq!(end["status"], "blocked");
    assert_eq!(end["reason"], "reviewer sent the work back for the 1st time: there is no test for T-1");
}

// spec: P5
#[test]
fn an_exhausted_stage_returns_the_task_and_the_second_time_blocks_it() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "always-idle-T-1-coder");
    let call = work(&project, &["--until-idle"]).env("RALPH_CODER_MAX_ITERATIONS", "2");
    let answer = call.output().expect(3);
    let ends: Vec<_> = answer.events_named("task.over").iter().map(|event| event["status"].clone()).collect();
    assert_eq!(ends, ["todo", "blocked"]);
    assert_eq!(starts(&project).len(), 4, "two attempts of two iterations");
    let failure = &shown(&project, "T-1")["metadata"]["ralph_failure"];
    assert_eq!(
        *failure,
        json!({"stage": "coder", "iterations_used": 2, "last_output": "I looked around.",
            "reason": "Max iterations reached without completion promise"})
    );
    let prompt = fs::read_to_string(project.outside("marks/prompt-T-1-coder")).unwrap();
    assert!(prompt.contains("**coder** failed:\n\n> Max iterations reached"), "{prompt}");
    work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(starts(&project).len(), 4, "a blocked task is not taken");
}

// spec: P5, L6
#[test]
fn an_agent_that_crashes_is_retried_and_the_task_is_finished() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-fail-T-1-coder");
    work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(statuses(&project)[0].1, "done");
}

// spec: P5, S6
#[test]
fn a_blocked_agent_blocks_its_task_and_the_others_continue() {
    let project = project(&[("T-1", ""), ("T-2", ""), ("T-3", "  dependencies: [T-1]\n")]);
    write_agent_command(&project, "wish-blocked-T-1-tester");
    let answer = work(&project, &["--until-idle"]).output().expect(3);
    assert_eq!(assert_task_ended(&answer, "T-1")["reason"], "the agent is blocked: I need a key");
    let expected = [("T-1", "blocked"), ("T-2", "done"), ("T-3", "todo")];
    assert_eq!(statuses(&project), expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
}

// spec: P5
#[test]
fn consecutive_agent_failures_stop_the_worker() {
    let ids = ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6"];
    let project = project(&ids.map(|id| (id, "")));
    ids.iter().for_each(|id| write_agent_command(&project, &format!("always-fail-{id}-coder")));
    let call = work(&project, &["--until-idle", "--max-retries", "0"]);
    let answer = call.output().expect(4);
    assert_eq!(answer.events_named("work.braked")[0]["failed"], 3);
    assert_eq!(starts(&project).len(), 3);
    assert!(statuses(&project).iter().all(|(_, status)| status == "todo"), "nothing is lost");
}

// spec: P1, P8
#[test]
fn ctrl_c_stops_at_once_and_the_next_worker_continues() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-tester");
    let running = work(&project, &["--until-idle"]).start();
    wait_until("the tester is at work", || project.outside("marks/holding").exists());
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.events_named("task.stopped")[0]["stage"], "tester");
    assert_eq!(statuses(&project)[0].1, "testing");
    work(&project, &["--until-idle"]).output().expect(0);
    let expected = ["coder", "reviewer", "tester", "tester", "qa"].map(|role| format!("T-1 {role}"));
    assert_eq!(starts(&project), expected);
    let runs = shown(&project, "T-1")["runs"].as_array().unwrap().len();
    assert_eq!(runs, 4, "the tester's run was resumed");
}

// spec: P1, L14
#[test]
fn a_task_leased_by_a_worker_cannot_be_run_manually() {
    let project = project(&[("T-1", "")]);
    let running = start_held_worker(&project, "coder", work(&project, &[]));
    let printed = |args: &[&str]| project.ralph(args).start().wait_without_invariants().expect(1).stderr;
    let agent = project.outside("agent.sh").display().to_string();
    let refused = printed(&["task", "run", "T-1", "--agent", "text", "--agent-cmd", &agent]);
    assert!(refused.contains("a worker has task T-1: process "), "{refused}");
    let refused = printed(&["resume"]);
    assert!(refused.contains("is a stage that a worker drives") && refused.contains("ralph work"), "{refused}");
    running.signal(Signal::TERM);
    running.wait().expect(143);
}

// spec: P1
// fault: 18
#[test]
fn ctrl_z_stops_every_agent_of_a_worker_and_all_continue() {
    let project = project(&[("T-1", ""), ("T-2", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    write_agent_command(&project, "wish-hold-T-2-coder");
    let running = work(&project, &["--until-idle", "--slots", "2", "--timeout", "20s"]).start();
    let held = |id: &str| project.outside(&format!("marks/holding-{id}")).exists();
    wait_until("both coders are at work", || held("T-1") && held("T-2"));
    suspend(&project, &running);
    running.signal(Signal::CONT);
    let all_go = || project.processes_of_runs().iter().all(|process| process.state != 'T');
    wait_until("all continue", all_go);
    assert_eq!(starts(&project).len(), 2, "no agent was started again");
    running.signal(Signal::INT);
    running.wait().expect(130);
}

// spec: P1
// fault: 13
#[test]
fn a_killed_worker_leaves_nothing_behind_and_the_next_one_continues_at_once() {
    let project = project(&[("T-1", "")]);
    let running = start_held_worker(&project, "coder", work(&project, &["--until-idle"]));
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    // Its lease lasts a minute, but a dead worker's lease expires at once.
    work(&project, &["--until-idle"]).output().expect(0);
    let expected = ["coder", "coder", "reviewer", "tester", "qa"].map(|role| format!("T-1 {role}"));
    assert_eq!(starts(&project), expected);
    assert_eq!(statuses(&project)[0].1, "done");
}

// spec: P1
#[test]
fn a_task_in_a_manual_run_is_leased_when_that_run_has_finished() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-coder");
    let agent = project.outside("agent.sh").display().to_string();
    let hand = project.ralph(["task", "run", "T-1", "--agent", "text", "--agent-cmd", &agent]).start();
    wait_until("an agent works on it", || project.outside("marks/holding").exists());
    let waiting = work(&project, &[]).start();
    assert_eq!(waiting.wait_for_event("task.left")["task"], "T-1");
    hand.signal(Signal::INT);
    hand.wait_without_invariants().expect(130);
    waiting.wait_for_event("task.over");
    waiting.signal(Signal::TERM);
    let answer = waiting.wait().expect(143);
    assert_eq!(assert_task_ended(&answer, "T-1")["status"], "done");
    assert_eq!(answer.events_named("task.left").len(), 1, "it is said once");
}

// spec: P2, P8
#[test]
fn an_interrupted_custom_stage_is_resumed() {
    let project = project(&[("T-1", "")]);
    write_agent_command(&project, "wish-hold-T-1-planner");
    let call = || work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "planner,coder");
    let running = call().start();
    wait_until("the planner is at work", || project.outside("marks/holding").exists());
    running.signal(Signal::INT);
    running.wait().expect(130);
    call().output().expect(0);
    let planners =
        shown(&project, "T-1")["runs"].as_array().unwrap().iter().filter(|run| run["role"] == "planner").count();
    assert_eq!(planners, 1, "the run was resumed");
}

// spec: P6, G2
#[test]
fn the_commands_for_a_new_work_tree_run_once_in_it() {
    let project = project(&[("T-1", "")]);
    let log = project.outside("set-up");
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    let config = format!("pipeline: {{setup: ['pwd >> {}'], stages: [coder, qa]}}\n", log.display());
    fs::write(project.root().join(".ralph/config.yaml"), config).unwrap();
    let refused = work(&project, &["--until-idle"]).output().expect(1);
    assert!(refused.stderr.contains("you have not approved the commands"), "{}", refused.stderr);
    project.trust();
    work(&project, &["--until-idle"]).output().expect(0);
    let places = fs::read_to_string(log).unwrap();
    assert_eq!(places.lines().count(), 1);
    assert!(places.trim_end().ends_with("/T-1") && !places.starts_with(project.root().to_str().unwrap()));
}

// spec: P5, V13
#[test]
fn a_coder_whose_earlier_attempt_committed_need_not_commit_again() {
    let project = project(&[("T-1", "")]);
    // The coder commits once in all, and the tester crashes once.
    let once = "coder) [ -e done-T-1 ] || { echo x > done-T-1; commit work; }; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit;;";
    project.shell(&ROLE_AGENT.replace("case $role in", &format!("case $role in {once} esac; case $role in")));
    write_agent_command(&project, "wish-fail-T-1-tester");
    let call = || work(&project, &["--until-idle", "--max-retries", "0"]);
    let answer = call().output().expect(0);
    let ends: Vec<_> = answer.events_named("task.over").iter().map(|event| event["status"].clone()).collect();
    assert_eq!(ends, ["todo", "done"]);
    let again = ["coder", "reviewer", "tester", "coder", "reviewer", "tester", "qa"];
    assert_eq!(starts(&project), again.map(|role| format!("T-1 {role}")));
    project.ralph(["task", "edit", "T-1", "--status", "todo"]).output().expect(0);
    call().output().expect(0);
}

// spec: P4, V13
#[test]
fn a_coder_whose_work_was_sent_back_must_change_it() {
    let project = project(&[("T-1", "")]);
    let once = "coder) [ -e done-T-1 ] || { echo x > done-T-1; commit work; }; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit;;";
    project.shell(&ROLE_AGENT.replace("case $role in", &format!("case $role in {once} esac; case $role in")));
    write_agent_command(&project, "wish-reject-T-1-reviewer");
    let answer = work(&project, &["--until-idle"])
        .env("RALPH_CODER_MAX_ITERATIONS", "1")
        .env("RALPH_PIPELINE_MAX_ATTEMPTS", "1")
        .output()
        .expect(3);
    let last = answer.events_named("verdict").pop().unwrap();
    let reason = last["checks"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("nothing was committed since the work was sent back"), "{reason}");
}
