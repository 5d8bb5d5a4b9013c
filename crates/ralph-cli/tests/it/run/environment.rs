//! The environment of a run: the agent's exit, folder, variables and files, nested ralph, closed streams.
use std::path::Path;

use crate::harness::{Call, FAKE_AGENT, Project};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

fn log(project: &Project) -> String {
    String::from_utf8_lossy(&project.log("iteration-001.ndjson")).into_owned()
}

// fault: 34
// spec: S4, L5
#[test]
fn a_promise_of_an_agent_that_failed_is_recorded_but_is_not_a_claim() {
    let project = Project::new();
    let answer = project.run(&["promise-exit", "3"]).args(["--max-retries", "0"]).output().expect(4);
    assert_eq!(answer.events_named("attempt.ended")[0]["result"]["ending"]["code"], 3);
    assert_eq!(answer.events_named("claim")[0]["claim"]["accepted"], false);
    assert_eq!(answer.finished()["outcome"], "failed");
}

// fault: 34
// spec: S4, L5
#[test]
fn the_retry_of_a_failed_promise_may_promise_again() {
    let project = Project::new();
    let script = project.script("text {promise}\nexit 1\n---\ntext {promise}\n");
    let answer = project.run(&["script", &script]).output().expect(0);
    assert_eq!(project.starts().len(), 2);
    assert_eq!(answer.finished()["iterations"], 1);
    assert!(String::from_utf8_lossy(&project.log("iteration-001-attempt-2.ndjson")).contains("COMPLETE"));
}

// fault: 35
// spec: C6
#[test]
fn an_agent_that_removes_its_workspace_ends_the_run_with_a_clear_reason() {
    let project = Project::new();
    let answer = project.run(&["chdir-rm"]).output().expect(10);
    let printed = format!("{}{}", answer.stdout, answer.stderr);
    assert!(printed.contains("workspace") && printed.contains("removed"), "{printed}");
    assert_eq!(project.starts().len(), 1);
}

// fault: 35
// spec: C6
#[test]
fn a_promise_in_a_removed_workspace_is_not_accepted() {
    let project = Project::new();
    let agent = "rm -rf \"$PWD\"\necho '<promise>COMPLETE</promise>'";
    let answer = project.run_shell(agent).args(["--check", "true"]).output().expect(10);
    assert!(!answer.stdout.contains("\"completed\""), "{}", answer.stdout);
}

// fault: 35
#[test]
fn ralph_started_in_a_removed_folder_reports_it() {
    let project = Project::new();
    let folder = project.outside("gone");
    std::fs::create_dir(&folder).unwrap();
    let shell = project.shell("cd \"$1\" && rmdir \"$1\" && shift && exec \"$@\"");
    let answer = project.ralph(["runs"]).with(|command| {
        let mut wrapped = std::process::Command::new(&shell);
        wrapped.arg(&folder).args([RALPH, "runs"]).current_dir("/");
        *command = wrapped;
    });
    let answer = answer.output().expect(1);
    assert!(answer.stderr.contains("hint: "), "{}", answer.stderr);
}

// fault: 37
// spec: L14, C6
#[test]
fn ralph_inside_its_own_agent_refuses_the_same_project() {
    let project = Project::new();
    let inner = format!("'{RALPH}' run again --agent text --agent-cmd '{FAKE_AGENT}' --agent-arg complete");
    let agent = format!(
        "{inner}; echo \"root $?\"\nmkdir -p nested && cd nested && {inner}; echo \"nested $?\"\necho '<promise>COMPLETE</promise>'"
    );
    project.run_shell(&agent).output().expect(0);
    assert!(log(&project).contains("root 10\nnested 10\n"), "{}", log(&project));
    let complaint = String::from_utf8_lossy(&project.log("iteration-001.stderr")).into_owned();
    assert!(complaint.contains("hint: an agent must not start ralph on the project"), "{complaint}");
    assert!(project.starts().is_empty(), "the inner agent was never started");
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
}

// fault: 37
// spec: L14
#[test]
fn ralph_inside_its_own_agent_may_work_on_another_project() {
    let project = Project::new();
    let other = project.outside("other");
    let inner = format!("'{RALPH}' run more --agent text --agent-cmd '{FAKE_AGENT}' --promise COMPLETE");
    let agent = format!(
        "git init --quiet '{other}' && cd '{other}' && {inner} --agent-arg complete >/dev/null; echo \"inner $?\"\necho '<promise>COMPLETE</promise>'",
        other = other.display()
    );
    project.run_shell(&agent).output().expect(0);
    assert!(log(&project).contains("inner 0\n"), "{}", log(&project));
    assert_eq!(project.starts().len(), 1);
}

/// Gives ralph descriptor 9 without the mark that closes it at `exec`.
#[expect(unsafe_code, reason = "only between fork and exec can a descriptor be left to the child")]
fn with_open_descriptor(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: dup2 is async-signal-safe; the descriptor is unused in the new child.
    unsafe {
        command.pre_exec(|| if libc::dup2(2, 9) == 9 { Ok(()) } else { Err(std::io::Error::last_os_error()) });
    }
}

// fault: 39
// spec: A6, A7
#[test]
fn an_agent_inherits_only_the_three_standard_descriptors() {
    let project = Project::new();
    let call = project.run(&["fds"]).args(["--max-iterations", "1"]).with(with_open_descriptor);
    call.output().expect(3);
    assert_eq!(log(&project), "0 1 2\n");
}

// fault: 39
// spec: V2
#[test]
fn a_check_inherits_only_the_three_standard_descriptors() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--check", &format!("{FAKE_AGENT} fds")]);
    call.with(with_open_descriptor).output().expect(0);
    assert_eq!(project.log("iteration-001.check-1.log"), b"0 1 2\n");
}

// fault: 39
// spec: A6
#[test]
fn an_agent_gets_the_user_s_variables_except_those_that_mark_nesting() {
    let project = Project::new();
    let call = project.run(&["env"]).args(["--max-iterations", "1"]);
    let call = call.env("CLAUDECODE", "1").env("CLAUDE_CODE_ENTRYPOINT", "cli").env("CODEX_SANDBOX", "seatbelt");
    let call = call.env("GIT_AUTHOR_NAME", "Ada").env("MY_LOGIN", "a b=c\"d");
    let answer = call.output().expect(3);
    let log = log(&project);
    let lines: Vec<&str> = log.lines().collect();
    for nested in ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX"] {
        assert!(!lines.iter().any(|line| line.starts_with(&format!("{nested}="))), "{nested} is in {log}");
    }
    let home = format!("HOME={}", project.home().display());
    let run = format!("RALPH_RUN_ID={}", answer.finished()["run"].as_str().unwrap());
    for kept in ["GIT_AUTHOR_NAME=Ada", "MY_LOGIN=a b=c\"d", &home, &run] {
        assert_eq!(lines.iter().filter(|line| **line == kept).count(), 1, "{kept} is not in {log}");
    }
}

// fault: 39
// spec: A3, A7
#[test]
fn an_agent_works_in_the_project_s_root_in_its_own_group_without_a_terminal() {
    let project = Project::new();
    let below = project.root().join("deep/below");
    std::fs::create_dir_all(&below).unwrap();
    project.run(&["tty-check"]).args(["--max-iterations", "1"]).folder(&below).output().expect(3);
    assert_eq!(log(&project), "stdin=false stdout=false pgid_leader=true\n");
    let where_am_i = project.run_shell("pwd -P").args(["--max-iterations", "1"]).folder(&below);
    where_am_i.output().expect(3);
    assert_eq!(log(&project).trim_end(), project.root().canonicalize().unwrap().to_str().unwrap());
}

/// An agent that works until the test ends it.
fn agent_until(go: &Path) -> [&str; 2] {
    ["wait-file", go.to_str().unwrap()]
}

/// Lets a run continue to its end after the reader of its first line has gone.
#[track_caller]
fn assert_continues_without_reader(project: &Project, call: Call<'_>, go: &Path) {
    let running = call.args(["--check", "true"]).read_first_line_only().start();
    running.wait_for_closed_stream();
    project.wait_for("ready");
    std::fs::write(go, "").unwrap();
    running.wait().expect(0);
    is_completed(project);
}

// fault: 19
// spec: U1
#[test]
fn a_reader_of_the_events_that_goes_away_does_not_stop_the_run() {
    let project = Project::new();
    let go = project.outside("go");
    assert_continues_without_reader(&project, project.run(&agent_until(&go)), &go);
}

// fault: 19
// spec: U1
#[test]
fn a_terminal_that_goes_away_does_not_stop_the_run() {
    let project = Project::new();
    let go = project.outside("go");
    assert_continues_without_reader(&project, project.run_on("do the work", &agent_until(&go)), &go);
}

// fault: 19
// spec: D1
#[test]
fn a_run_without_standard_streams_finishes_and_writes_to_no_other_file() {
    let project = Project::new();
    for how in ["--quiet", "--json"] {
        let call = project.run_on("do the work", &["stderr-mix", "50"]).args([how, "--max-iterations", "2"]);
        let answer = call.with(without_streams).output().expect(3);
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""));
    }
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((&runs[0]["status"], &runs[1]["status"]), (&"exhausted".into(), &"exhausted".into()), "{runs}");
}

/// Starts ralph without any open descriptor.
#[expect(unsafe_code, reason = "only between fork and exec can the child's descriptors be closed")]
fn without_streams(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: close is async-signal-safe, and nothing in the fresh child uses these three.
    unsafe {
        command.pre_exec(|| {
            for number in 0..3 {
                libc::close(number);
            }
            Ok(())
        });
    }
}

fn is_completed(project: &Project) {
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!(runs[0]["status"], "completed", "{runs}");
}

// fault: 36
// spec: D1
#[test]
fn an_agent_that_removes_the_state_ends_the_run_instead_of_completing_it() {
    let project = Project::new();
    let state = project.state().display().to_string();
    let call = project.run_shell(&format!("cat > /dev/null; rm -rf {state}; echo '<promise>COMPLETE</promise>'"));
    let answer = call.args(["--check", "true"]).output().expect(10);
    assert!(answer.stderr.contains("was removed or replaced"), "{}", answer.stderr);
    assert!(!answer.stdout.contains("completed"), "{}", answer.stdout);
}
