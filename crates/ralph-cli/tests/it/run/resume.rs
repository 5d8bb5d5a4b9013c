//! `ralph resume`: after a kill at any time, finished work is neither lost nor repeated, and interrupted work is
//! repeated.
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, CallOutput, FAKE_AGENT, Project, wait_until};
use crate::process_table::is_alive;

/// Kills ralph at a named point with SIGKILL, and waits until its processes are gone.
fn crash(project: &Project, call: Call<'_>, point: &str) -> CallOutput {
    let answer = call.env("RALPH_FAIL", point).start().wait_without_invariants();
    assert_eq!(answer.code(), -6, "it died at {point}: {}{}", answer.stdout, answer.stderr);
    wait_until("everything is gone", || project.processes_of_runs().is_empty());
    answer
}

fn resume(project: &Project) -> Call<'_> {
    project.ralph(["resume", "--json"])
}

fn journal(project: &Project) -> Vec<Value> {
    project.ralph(["events"]).output().expect(0).events()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

fn show(project: &Project) -> Value {
    project.ralph(["show", "--json"]).output().expect(0).json()
}

// spec: L13
// fault: 1
#[test]
fn after_a_kill_during_the_agent_its_iteration_is_repeated_with_the_same_number() {
    let project = Project::new();
    let (first, last) = (project.outside("first"), project.outside("last"));
    let agent = format!(
        "cat > /dev/null\n[ -e {last} ] && exec echo '<promise>COMPLETE</promise>'\n\
         [ -e {first} ] && exec sleep 1000\ntouch {first}",
        first = first.display(),
        last = last.display()
    );
    // The second start may die before it has done anything, so files control the agent.
    crash(&project, project.run_shell(&agent), "agent.spawned:2");
    let dead = show(&project);
    assert_eq!((&dead["outcome"], &dead["iterations"][1]["status"]), (&"interrupted".into(), &"interrupted".into()));
    fs::write(&last, "").unwrap();
    let answer = resume(&project).output().expect(0);
    let events = answer.events();
    assert_eq!(names(&events)[..3], ["run.resumed", "attempt.ended", "attempt.started"]);
    assert_eq!((&events[0]["iteration"], &events[0]["attempt"]), (&2.into(), &2.into()));
    assert_eq!(events[1]["result"]["status"], "interrupted");
    assert!(events[1]["result"]["failure"].as_str().unwrap().contains("outcome unknown"));
    let iterations = show(&project)["iterations"].clone();
    let seen: Vec<_> = iterations.as_array().unwrap().iter().map(|one| (&one["number"], &one["attempts"])).collect();
    assert_eq!(seen, [(&1.into(), &1.into()), (&2.into(), &2.into())]);
    let text = project.ralph(["show"]).output().expect(0).stdout;
    assert!(text.contains("attempt 1 interrupted: outcome unknown"), "{text}");
}

// spec: L13
// fault: 2
#[test]
fn after_a_kill_before_the_agents_exit_was_stored_nothing_is_inferred_from_its_log() {
    let project = Project::new();
    crash(&project, project.run(&["complete"]).args(["--check", "true"]), "agent.exited.unrecorded:1");
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    assert!(log.contains("<promise>COMPLETE</promise>"), "the log was written as it came: {log}");
    let answer = resume(&project).output().expect(0);
    assert_eq!(answer.events_named("attempt.started")[0]["attempt"], 2);
    assert_eq!(project.starts().len(), 2);
    assert_eq!(project.log("iteration-001-attempt-2.ndjson"), log.as_bytes(), "each attempt has its own log");
}

// spec: L13
// fault: 1
#[test]
fn after_a_kill_right_after_the_record_of_an_iteration_it_is_not_repeated() {
    let project = Project::new();
    crash(&project, project.run(&["complete-on", "2"]), "iteration.started.recorded:2");
    assert_eq!(project.starts().len(), 1);
    let finished = resume(&project).output().expect(0).finished();
    assert_eq!(finished["iterations"], 2);
    assert_eq!(project.starts().len(), 2, "I2: the first was not done again");
}

// spec: L13, V2
// fault: 3, 4
#[test]
fn after_a_kill_during_or_after_the_checks_they_run_again_and_the_agent_does_not() {
    for point in ["verify.started:1", "verify.passed.unrecorded:1"] {
        let project = Project::new();
        let check = "echo x >> ../checked";
        crash(&project, project.run(&["complete"]).args(["--no-baseline", "--check", check]), point);
        let answer = resume(&project).output().expect(0);
        assert_eq!(names(&answer.events()), ["run.resumed", "verdict", "iteration.ended", "receipt", "run.finished"]);
        assert_eq!(project.starts().len(), 1, "{point}");
        let checked = fs::read_to_string(project.outside("checked")).unwrap().lines().count();
        assert_eq!(checked, if point.starts_with("verify.started") { 1 } else { 2 });
        let log = answer.events_named("verdict")[0]["checks"][0]["log"].clone();
        assert_eq!(log, "iteration-001-round-2.check-1.log", "each round has its own log");
        let completed = journal(&project).iter().filter(|event| event["outcome"] == "completed").count();
        assert_eq!(completed, 1);
    }
}

// spec: L13
// fault: 5
#[test]
fn after_a_kill_between_the_record_of_completion_and_its_announcement_the_result_is_repeated() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--no-baseline", "--check", "echo x >> ../checked"]);
    let crashed = crash(&project, call, "complete.recorded.unannounced:1");
    assert!(!crashed.stdout.contains("run.finished"));
    let before = journal(&project);
    let answer = resume(&project).output().expect(0);
    assert_eq!(answer.events(), [before.last().unwrap().clone()]);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(journal(&project), before, "nothing was recorded");
    assert_eq!(project.starts().len(), 1);
    assert_eq!(fs::read_to_string(project.outside("checked")).unwrap().lines().count(), 1);
    let told = project.ralph(["resume"]).output().expect(0);
    assert!(told.stderr.contains("has ended; nothing was started"), "{}", told.stderr);
    assert!(told.stdout.starts_with("completed: 1 check passed"), "{}", told.stdout);
}

// spec: L13
#[test]
fn resuming_an_exhausted_run_repeats_its_exit_code() {
    let project = Project::new();
    project.run(&["work"]).args(["--max-iterations", "1"]).output().expect(3);
    resume(&project).output().expect(3);
    assert_eq!(project.starts().len(), 1);
}

// spec: L13, L12
// fault: 14
#[test]
fn a_run_ended_by_ctrl_c_says_how_to_resume_and_resumes_at_the_interrupted_iteration() {
    let project = Project::new();
    let script = project.script("text first\n---\nhang\n---\ntext Done.\\n\\n{promise}\n");
    let running = project.run_on("do the work", &["script", &script]).start();
    wait_until("the second iteration works", || project.starts().len() == 2);
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    let command = answer.stdout.lines().find_map(|line| line.strip_prefix("resume    ralph ")).unwrap();
    let call = project.ralph(command.split(' ')).output().expect(0);
    let first = call.stderr.lines().next().unwrap();
    assert!(first.contains("resumes at iteration 2/10: the agent starts, attempt 2"), "{}", call.stderr);
    assert!(call.stdout.contains("completed after 2 iterations"), "{}", call.stdout);
    assert_eq!(project.starts().len(), 3);
    assert_eq!(show(&project)["iterations"].as_array().unwrap().len(), 2);
    let events = journal(&project);
    let finishes: Vec<&Value> = events.iter().filter(|event| event["event"] == "run.finished").collect();
    assert_eq!(finishes.iter().map(|event| &event["outcome"]).collect::<Vec<_>>(), ["interrupted", "completed"]);
    let carried = project.outside("run.jsonl");
    fs::write(&carried, project.ralph(["export"]).output().expect(0).stdout).unwrap();
    Project::new().ralph(["import"]).args([&carried]).output().expect(0);
}

// spec: L13, L12
// fault: 14, 16
#[test]
fn checks_and_retry_waits_interrupted_by_a_signal_are_resumed() {
    let project = Project::new();
    let check = "touch ../checking; test -e ../go || sleep 600";
    let running = project.run(&["complete"]).args(["--check", check]).start();
    project.wait_for("checking");
    running.signal(Signal::TERM);
    running.wait().expect(143);
    fs::write(project.outside("go"), "").unwrap();
    resume(&project).output().expect(0);
    assert_eq!(project.starts().len(), 1, "the claim is kept");

    let project = Project::new();
    let script = project.script("exit 1\n---\ntext {promise}\n");
    let running = project.run(&["script", &script]).start();
    running.wait_for_event("retry.scheduled");
    running.signal(Signal::INT);
    running.wait().expect(130);
    let answer = resume(&project).output().expect(0);
    assert_eq!(answer.events()[0]["next"], "retry");
    assert_eq!(answer.events_named("attempt.started")[0]["attempt"], 2);
}

// spec: L13, A7
// fault: 1
#[test]
fn processes_left_by_a_dead_ralph_are_killed_before_anything_starts() {
    let project = Project::new();
    // Its environment has the run id, but no ralph is alive: as if all processes of ralph had been killed at once.
    crash(&project, project.run(&["complete"]), "iteration.started.recorded:1");
    let run = journal(&project)[0]["run"].as_str().unwrap().to_owned();
    let leftover = |id: &str| {
        let mut command = std::process::Command::new("setsid");
        command.args(["sleep", "600"]).env("RALPH_RUN_ID", id).spawn().unwrap()
    };
    let (mut own, mut foreign) = (leftover(&run), leftover("another-run"));
    let call = project.ralph(["resume"]).output().expect(0);
    assert!(call.stderr.contains("killed leftover processes of the run: 1 process"), "{}", call.stderr);
    wait_until("it is gone", || own.try_wait().unwrap().is_some());
    assert!(is_alive(foreign.id()), "a process of another run is left alone");
    foreign.kill().unwrap();
    foreign.wait().unwrap();
}

// spec: L13
// fault: 12
#[test]
fn changes_since_the_interruption_are_shown_and_recorded() {
    let project = Project::new();
    let prompt = project.write("task.md", "first words");
    let args = ["run", &format!("@{}", prompt.display()), "--agent", "text", "--json", "--promise", "COMPLETE"];
    let call = project.ralph(args).args(["--agent-cmd", FAKE_AGENT, "--agent-arg=complete-on", "--agent-arg=2"]);
    crash(&project, call, "iteration.started.recorded:2");
    project.write("task.md", "other words");
    let answer = project.ralph(["resume"]).output().expect(0);
    assert!(answer.stderr.contains("task.md has changed"), "{}", answer.stderr);
    let resumed = journal(&project).into_iter().find(|event| event["event"] == "run.resumed").unwrap();
    assert_eq!(resumed["changed"].as_array().unwrap().len(), 1);
}

// spec: L13, U1
// fault: 12
#[test]
fn a_missing_agent_or_prompt_is_an_error_and_the_run_is_unchanged() {
    let project = Project::new();
    let agent = project.shell("echo '<promise>COMPLETE</promise>'");
    let prompt = project.write("task.md", "words");
    let args = ["run", "@task.md", "--agent", "text", "--json", "--promise", "COMPLETE", "--agent-cmd", &agent];
    crash(&project, project.ralph(args), "iteration.started.recorded:1");
    let hidden = project.outside("hidden");
    fs::rename(&agent, &hidden).unwrap();
    let refused = resume(&project).output().expect(1);
    assert!(refused.stderr.contains("agent.sh does not exist"), "{}", refused.stderr);
    assert!(refused.stderr.contains("restore the program") && !refused.stderr.contains("--agent-cmd"));
    fs::rename(&hidden, &agent).unwrap();
    fs::remove_file(&prompt).unwrap();
    let refused = resume(&project).output().expect(1);
    let named = format!("the prompt {} of the run can no longer be read", prompt.display());
    assert!(refused.stderr.contains(&named), "{}", refused.stderr);
    project.write("task.md", "words");
    resume(&project).output().expect(0);
}

// spec: L13
#[test]
fn a_run_can_be_resumed_from_any_folder() {
    let project = Project::new();
    let agent = project.shell("echo '<promise>COMPLETE</promise>'");
    fs::create_dir_all(project.root().join("a/b")).unwrap();
    assert!(agent.ends_with("/agent.sh"));
    let args = ["run", "x", "--agent", "text", "--agent-cmd", "../../../agent.sh", "--promise", "COMPLETE", "--json"];
    crash(&project, project.ralph(args).folder(&project.root().join("a/b")), "iteration.started.recorded:1");
    resume(&project).output().expect(0);
}

// spec: L13, U1
#[test]
fn an_empty_run_id_is_a_usage_error() {
    let project = Project::new();
    project.run(&["work"]).args(["--max-iterations", "1"]).output().expect(3);
    for command in ["resume", "show", "attach", "events", "export"] {
        let answer = project.ralph([command, ""]).output().expect(64);
        assert!(answer.stderr.contains("the id of the run is empty"), "{command}: {}", answer.stderr);
    }
}

// spec: L13, U1
#[test]
fn an_unknown_or_ambiguous_run_is_refused() {
    let project = Project::new();
    let refused = project.ralph(["resume"]).output().expect(1);
    assert!(refused.stderr.contains("no runs yet"), "{}", refused.stderr);
    project.run(&["complete"]).output().expect(0);
    project.run(&["complete"]).output().expect(0);
    let refused = project.ralph(["resume", "nonsense"]).output().expect(64);
    assert!(refused.stderr.contains("there is no run and no task \"nonsense\""), "{}", refused.stderr);
    let refused = project.ralph(["resume", "0"]).output().expect(64);
    assert!(refused.stderr.contains("more than one run"), "{}", refused.stderr);
}

// spec: L13, D4, X6
#[test]
fn an_imported_run_is_never_resumed() {
    let project = Project::new();
    crash(&project, project.run(&["complete"]), "iteration.started.recorded:1");
    let file = project.outside("run.jsonl");
    fs::write(&file, project.ralph(["export"]).output().expect(0).stdout).unwrap();
    let elsewhere = Project::new();
    elsewhere.ralph(["import"]).args([&file]).output().expect(0);
    let refused = resume(&elsewhere).output().expect(1);
    assert!(refused.stderr.contains("imported from a file"), "{}", refused.stderr);
    assert!(elsewhere.starts().is_empty());
}

// spec: L13
// fault: 68
#[test]
fn a_wall_clock_that_jumped_an_hour_changes_nothing() {
    for jump in [-3_600_000_i64, 3_600_000] {
        let project = Project::new();
        let script = project.script("exit 1\n---\ntext {promise}\n");
        let running = project.run(&["script", &script]).args(["--timeout", "2m"]).start();
        running.wait_for_event("retry.scheduled");
        running.signal(Signal::KILL);
        running.wait_without_invariants();
        shift_stored_times(&project, jump);
        let answer = resume(&project).output().expect(0);
        assert_eq!(answer.finished()["iterations"], 1, "the iteration did not time out");
        assert!(answer.events_named("iteration.ended")[0]["duration_ms"].as_i64().unwrap() >= 0);
        let order: Vec<i64> = journal(&project).iter().map(|event| event["seq"].as_i64().unwrap()).collect();
        assert!(order.is_sorted(), "order is by number, not by time");
    }
}

/// Shifts the stored times of a run, as if the clock had been changed between two processes.
fn shift_stored_times(project: &Project, by: i64) {
    use sqlx::{ConnectOptions, Connection, Row};
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(project.state().join("ralph.db"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = options.connect().await.unwrap();
        let row = sqlx::query("SELECT loop FROM runs").fetch_one(&mut connection).await.unwrap();
        let mut state: Value = serde_json::from_str(&row.get::<String, _>(0)).unwrap();
        let phase = &mut state["phase"];
        for place in ["/until", "/iteration/started"] {
            let time = phase.pointer_mut(place).unwrap();
            *time = (time.as_i64().unwrap() + by).into();
        }
        let update = sqlx::query("UPDATE runs SET loop = ?, loop_sum = NULL").bind(state.to_string());
        update.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
}

// spec: L13
// fault: 69
#[test]
fn a_run_continues_after_a_suspension_of_eight_hours() {
    let project = Project::new();
    crash(&project, project.run(&["complete-on", "2"]), "iteration.started.recorded:2");
    let eight_hours = ["--time", "--fork", "--boottime", "28800", "--monotonic", "28800", "--"];
    let later = resume(&project).run_under("unshare", eight_hours);
    assert_eq!(later.output().expect(0).finished()["iterations"], 2);
}

// fault: 10
#[test]
fn a_panic_in_a_task_of_the_engine_ends_the_run_with_its_message() {
    for (point, words) in [("agent.spawned", "agent.spawned"), ("verify.started", "verify.started")] {
        let project = Project::new();
        let call = project.run(&["complete"]).args(["--check", "true"]);
        let answer = call.env("RALPH_FAIL", format!("{point}:1:panic")).start().wait_without_invariants();
        assert_eq!(answer.code(), 70, "{}{}", answer.stdout, answer.stderr);
        let finished = answer.finished();
        assert_eq!(finished["outcome"], "failed");
        assert!(finished["reason"].as_str().unwrap().contains(words), "{finished}");
        assert_eq!(answer.events_named("iteration.ended")[0]["status"], "failed");
        wait_until("nothing is left", || project.processes_of_runs().is_empty());
        resume(&project).output().expect(70);
    }
}

// fault: 10
#[test]
fn a_panic_of_the_engine_itself_is_an_internal_error_and_the_run_can_be_resumed() {
    let project = Project::new();
    let call = project.run(&["complete"]).env("RALPH_FAIL", "agent.exited.unrecorded:1:panic");
    let answer = call.start().wait_without_invariants();
    assert_eq!(answer.code(), 70, "{}{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.contains("error: internal error in ralph"), "{}", answer.stderr);
    wait_until("nothing is left", || project.processes_of_runs().is_empty());
    resume(&project).output().expect(0);
}

// spec: L13, O1
#[test]
fn a_run_without_an_active_ralph_is_shown_as_interrupted_and_not_followed_for_ever() {
    let project = Project::new();
    crash(&project, project.run(&["complete"]), "iteration.started.recorded:1");
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((&runs[0]["status"], &runs[0]["exit_code"]), (&"interrupted".into(), &Value::Null));
    assert_eq!(show(&project)["outcome"], "interrupted");
    let followed = project.ralph(["events", "--follow"]).output().expect(0);
    assert!(followed.stderr.contains("ralph resume "), "{}", followed.stderr);
    let go = project.outside("go");
    let running = project.run(&["wait-file", go.to_str().unwrap()]).start();
    project.wait_for("ready");
    let runs = project.ralph(["runs", "--json"]).start().wait_without_invariants().json();
    assert_eq!(runs[0]["status"], "running");
    fs::write(go, "").unwrap();
    running.wait().expect(0);
}
