//! Runs and stages that reached a limit are continued with other limits, and the limits of a running loop are changed.
use std::fs;

use crate::control::cancel::{beside, id_of, short};
use crate::harness::Project;
use crate::work::pipeline::{project as task_project, starts, statuses, work, write_agent_command};

/// Claims completion in its third iteration, and keeps its prompts.
const THIRD_TIME: &str = r#"
cat >> "$(dirname "$0")/prompts"; echo >> count
if [ "$(wc -l < count)" -ge 3 ]; then echo '<promise>COMPLETE</promise>'; else echo 'not yet'; fi
"#;

fn prompts(project: &Project) -> String {
    fs::read_to_string(project.outside("prompts")).unwrap()
}

// spec: L19
// finding: N49
#[test]
fn an_exhausted_run_is_continued_in_the_same_journal_with_more_iterations_and_guidance() {
    let project = Project::new();
    let ended = project.run_shell(THIRD_TIME).args(["--max-iterations", "2"]).output().expect(3).finished();
    let run = ended["run"].as_str().unwrap();
    let again = project.ralph(["resume", short(run)]).output().expect(3);
    assert!(again.stderr.contains("has ended; nothing was started"), "{}", again.stderr);
    let resume = ["resume", short(run), "--max-iterations", "+2", "--guide", "count to three", "--json"];
    let answer = project.ralph(resume).output().expect(0);
    assert_eq!((&answer.finished()["outcome"], &answer.finished()["iterations"]), (&"completed".into(), &3.into()));
    assert!(prompts(&project).contains("> count to three\n"), "{}", prompts(&project));
    let events = project.ralph(["events", run]).output().expect(0).events();
    let changed = events.iter().find(|event| event["event"] == "limits.changed").unwrap();
    assert_eq!(changed["max_iterations"], 4, "{changed}");
    let shown = project.ralph(["show", run, "--json"]).output().expect(0).json();
    assert_eq!((&shown["status"], &shown["max_iterations"]), (&"completed".into(), &4.into()), "{shown}");
}

// spec: L19
// finding: N49
#[test]
fn the_end_of_a_run_names_the_command_that_continues_it() {
    let project = Project::new();
    for (script, limit, options) in [
        ("echo not yet; echo >> count", "--max-iterations=1", "--max-iterations +5\n"),
        ("echo not yet", "--stall=1", "--guide 'TEXT'\n"),
        ("echo '<blocked>no redis</blocked>'", "--max-iterations=9", "--guide 'ANSWER'\n"),
    ] {
        let agent = project.shell(script);
        let ended = project.ralph(["run", "x", "--agent", "text", "--agent-cmd", &agent, limit]).output().stdout;
        let named = ended.lines().find_map(|line| line.strip_prefix("continue  ralph resume ")).unwrap_or_default();
        assert!(format!("{named}\n").ends_with(options), "{ended}");
    }
}

// spec: L19
// finding: N49
#[test]
fn a_run_over_budget_is_continued_with_a_higher_cost_limit_and_keeps_its_spending() {
    let project = Project::new();
    project.agents(&[("mine", "init\nsay still at it\nresult still at it\n")], "");
    let ended = project.run_agent_mine().args(["--max-cost", "0.02"]).output().expect(7).finished();
    let run = ended["run"].as_str().unwrap();
    let low = project.ralph(["resume", run, "--max-cost", "+0.00001"]).output();
    assert_eq!(low.code(), 7, "one more turn is possible");
    let refused = project.ralph(["resume", run, "--max-cost", "0.01"]).output().expect(1).stderr;
    assert!(refused.contains("would end again at once: $0.03 of $0.01 spent"), "{refused}");
    let answer = project.ralph(["resume", run, "--max-cost", "0.04", "--json"]).output().expect(7);
    assert_eq!(answer.finished()["reason"], "$0.04 of $0.04 spent (max_cost_usd)");
}

// spec: L19
#[test]
fn a_limit_that_does_not_exist_cannot_be_raised_and_a_completed_run_is_not_continued() {
    let project = Project::new();
    let run = |lines| project.run_shell(lines).args(["--max-iterations", "1"]).output().finished()["run"].clone();
    let open = run("echo working");
    let refused = project.ralph(["resume", open.as_str().unwrap(), "--max-cost", "+1"]).output().expect(64).stderr;
    assert!(refused.contains("has no limit max_cost_usd"), "{refused}");
    let done = run("echo '<promise>COMPLETE</promise>'");
    let refused = project.ralph(["resume", done.as_str().unwrap(), "--max-iterations", "9"]).output().expect(1).stderr;
    assert!(refused.contains("is completed"), "{refused}");
}

// spec: L19
#[test]
fn a_blocked_run_is_continued_with_the_answer() {
    let project = Project::new();
    let agent = "if grep -q 'in the safe'; then echo '<promise>COMPLETE</promise>'; \
        else echo '<blocked>which key?</blocked>'; fi";
    let ended = project.run_shell(agent).args(["--max-iterations", "1"]).output().expect(6).finished();
    let resume = ["resume", ended["run"].as_str().unwrap(), "--guide", "the key is in the safe", "--json"];
    assert_eq!(project.ralph(resume).output().expect(0).finished()["iterations"], 2);
}

// spec: L19
#[test]
fn the_limits_of_a_running_loop_are_changed_by_another_process() {
    let project = Project::new();
    let agent = r#"touch "$(dirname "$0")/holding"; while [ ! -e go ]; do sleep 0.05; done; echo working"#;
    let running = project.run_shell(agent).args(["--max-iterations", "1"]).start();
    let run = id_of(&running);
    crate::harness::wait_until("the agent works", || project.outside("holding").exists());
    let unknown = beside(&project, &["limit", short(&run)]).expect(64).stderr;
    assert!(unknown.contains("no limit is given"), "{unknown}");
    let printed = beside(&project, &["limit", short(&run), "--max-iterations", "+1"]).expect(0).stdout;
    assert_eq!(printed, format!("The Ralph loop for {} at iteration 1/2 has new limits: 2 iterations\n", short(&run)));
    let printed = beside(&project, &["limit", short(&run), "--max-iterations", "2"]).expect(0).stdout;
    assert!(printed.contains("has these limits already"), "{printed}");
    project.write("go", "");
    assert_eq!(running.wait().expect(3).finished()["iterations"], 2);
    let ended = project.ralph(["limit", short(&run), "--max-iterations", "9"]).output().expect(1).stderr;
    assert!(ended.contains("ralph resume") && ended.contains("no loop is running"), "{ended}");
}

// spec: L19
#[test]
fn a_lower_cost_limit_stops_the_agent_that_is_running() {
    let project = Project::new();
    let script = "init\nsay one\nresult one\nwait go\nsay two\nresult two\nhang\n";
    project.agents(&[("mine", script)], "");
    let running = project.run_agent_mine().args(["--after-result", "10m", "--max-cost", "5"]).start();
    let run = id_of(&running);
    running.wait_for_event("attempt.started");
    beside(&project, &["limit", short(&run), "--max-cost", "0.01"]).expect(0);
    project.write("go", "");
    let answer = running.wait().expect(7);
    assert!(answer.events_named("stop.requested")[0]["reason"].as_str().unwrap().contains("of $0.01 spent"));
}

// spec: L19
// finding: N49
#[test]
fn a_stalled_stage_of_a_task_is_continued_by_the_next_worker() {
    let project = task_project(&[("T-1", "")]);
    write_agent_command(&project, "always-idle-T-1-coder");
    let worker = || {
        let call = work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder");
        call.env("RALPH_PIPELINE_MAX_ATTEMPTS", "1")
    };
    worker().output().expect(3);
    assert_eq!(statuses(&project), [("T-1".to_owned(), "blocked".to_owned())]);
    let before = starts(&project).len();
    fs::remove_file(project.outside("marks/always-idle-T-1-coder")).unwrap();
    let printed =
        project.ralph(["resume", "T-1", "--max-iterations", "+1", "--guide", "look in src"]).output().expect(0);
    assert!(printed.stdout.contains("T-1 continues its stage coder when `ralph work` runs"), "{}", printed.stdout);
    let answer = worker().output().expect(0);
    assert_eq!(statuses(&project), [("T-1".to_owned(), "done".to_owned())]);
    assert_eq!(starts(&project).len(), before + 1);
    assert_eq!(answer.events_named("run.started").len(), 0, "the same run continues");
    let prompt = fs::read_to_string(project.outside("marks/prompt-T-1-coder")).unwrap();
    assert!(prompt.contains("> look in src\n"), "{prompt}");
}
