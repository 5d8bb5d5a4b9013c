//! Full, read-only and limited disks, with real mounts in a namespace. Unrecorded results are not announced, and
//! recorded ones survive.
use std::fs;
use std::process::Command;

use crate::harness::{CallOutput, FAKE_AGENT, Project};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// A run of the scripted agent, for a shell script.
const RUN: &str = "\"$RALPH\" run work --agent text --agent-cmd \"$AGENT\" --promise COMPLETE --json";

/// Runs a script in the project in its own mount namespace.
pub fn run_in_mount_namespace(project: &Project, script: &str) -> CallOutput {
    let call = project.ralph(["--version"]).with(|command| {
        let mut wrapped = Command::new("unshare");
        wrapped.args(["--map-root-user", "--mount", "sh", "-euc", script]).current_dir(project.root());
        wrapped.env_clear().env("RALPH", RALPH).env("AGENT", FAKE_AGENT).env("STATE", project.state());
        for (name, value) in command.get_envs() {
            wrapped.env(name, value.unwrap_or_default());
        }
        *command = wrapped;
    });
    let answer = call.output_with_damaged_state();
    assert!(!answer.stderr.contains("unshare:"), "mounts need a user namespace: {}", answer.stderr);
    answer.expect(0)
}

// fault: 57, 56
// spec: C6, L13
#[test]
fn a_full_disk_at_the_completion_record_announces_nothing_and_the_run_can_be_resumed() {
    let project = Project::new();
    let check = "test -e again || { touch again; cat /dev/zero > $STATE/fill 2> /dev/null; }; true";
    let answer = run_in_mount_namespace(
        &project,
        &format!(
            "mkdir -p \"$STATE\"; mount -t tmpfs -o size=4m,mode=700 tmpfs \"$STATE\"
             {RUN} --agent-arg=complete --no-baseline --check '{check}' || echo \"first $?\"
             rm \"$STATE/fill\"
             \"$RALPH\" resume --json || echo \"second $?\""
        ),
    );
    let (before, after) = answer.stdout.split_once("first 10\n").unwrap_or_else(|| panic!("{}", answer.stdout));
    assert!(!before.contains("completed") && before.contains("\"claim\""), "{before}");
    assert!(after.contains("\"outcome\":\"completed\""), "{after}");
    assert!(answer.stderr.contains("/ralph.db cannot be used"), "{}", answer.stderr);
    assert!(answer.stderr.contains("is full: free some space"), "{}", answer.stderr);
    assert_eq!(project.starts().len(), 1, "only the checks run again");
}

// fault: 56
// spec: A4
#[test]
fn a_log_that_fills_the_disk_stops_with_one_warning_and_leaves_room_for_the_state() {
    let project = Project::new();
    let agent = project
        .shell("cat > /dev/null; head -c 12000000 /dev/zero | tr '\\0' x; echo; echo '<promise>COMPLETE</promise>'");
    let answer = run_in_mount_namespace(
        &project,
        &format!(
            "mkdir -p \"$STATE\"; mount -t tmpfs -o size=4m,mode=700 tmpfs \"$STATE\"
             {RUN} --check true --agent-cmd '{agent}'
             \"$RALPH\" runs --json"
        )
        .replace("--agent-cmd \"$AGENT\" ", ""),
    );
    assert!(answer.stdout.contains("\"outcome\":\"completed\""), "{}", answer.stdout);
    assert_eq!(answer.stdout.matches("is not complete: No space left").count(), 1, "{}", answer.stdout);
}

// fault: 58
// spec: C6
#[test]
fn a_read_only_project_starts_nothing_but_can_be_read() {
    let project = Project::new();
    let read_only = "mount --bind . .; cd \"$PWD\"; mount -o remount,ro,bind .";
    let run = format!("{RUN} --agent-arg=complete || echo \"run $?\"");
    let answer = run_in_mount_namespace(&project, &format!("{read_only}\n{run}"));
    assert_eq!(answer.stdout, "run 10\n");
    assert!(answer.stderr.contains(".git/ralph-project") && answer.stderr.contains("Read-only"), "{}", answer.stderr);
    assert!(answer.stderr.contains("hint: the file system of "), "{}", answer.stderr);
    assert!(project.starts().is_empty());

    project.run(&["complete"]).output().expect(0);
    let before = fs::read(project.state().join("ralph.db")).unwrap();
    let script = format!("{read_only}\n{run}\n\"$RALPH\" runs --json\n\"$RALPH\" show --json\n\"$RALPH\" events");
    let answer = run_in_mount_namespace(&project, &script);
    assert!(answer.stdout.starts_with("run 10\n"), "{}", answer.stdout);
    assert!(answer.stdout.matches("completed").count() >= 3, "{}", answer.stdout);
    assert_eq!(project.starts().len(), 1);
    assert_eq!(fs::read(project.state().join("ralph.db")).unwrap(), before);
}

/// Limits the size of files.
fn limited(project: &Project, bytes: u32, agent: &str) -> CallOutput {
    let agent = project.shell(agent);
    let call = project.ralph(["--version"]).with(|command| {
        let mut wrapped = Command::new("prlimit");
        let run = ["run", "work", "--agent", "text", "--promise", "COMPLETE", "--check", "true", "--json"];
        wrapped.arg(format!("--fsize={bytes}")).arg(RALPH).args(run).args(["--agent-cmd", &agent]);
        wrapped.current_dir(project.root()).env_clear();
        for (name, value) in command.get_envs() {
            wrapped.env(name, value.unwrap_or_default());
        }
        *command = wrapped;
    });
    call.output_with_damaged_state()
}

// fault: 56
#[test]
fn a_file_size_limit_is_an_error_and_does_not_kill_ralph() {
    let agent = "cat > /dev/null; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo '<promise>COMPLETE</promise>'";
    let project = Project::new();
    let answer = limited(&project, 1_000_000, agent).expect(0);
    assert_eq!(answer.stdout.matches("is not complete: File too large").count(), 1, "{}", answer.stdout);
    let project = Project::new();
    let answer = limited(&project, 8_192, "touch started").expect(10);
    assert!(answer.stderr.contains("ralph.db cannot be used"), "{}", answer.stderr);
    assert!(answer.stderr.contains("hint: the disk of "), "{}", answer.stderr);
    assert!(!project.root().join("started").exists());
}

// fault: 56
#[test]
fn an_agent_does_not_inherit_the_ignored_file_size_signal() {
    let project = Project::new();
    let agent = "cat > /dev/null; head -c 3000000 /dev/zero > big; echo \"writer $?\"";
    limited(&project, 1_000_000, &format!("sh -c '{agent}'; echo '<promise>COMPLETE</promise>'")).expect(0);
    let log = String::from_utf8(project.log("iteration-001.ndjson")).unwrap();
    assert!(log.contains("writer 153"), "it died by SIGXFSZ, as it would without ralph: {log}");
}

// fault: 57
// spec: U2
#[test]
fn a_full_disk_leaves_no_partial_configuration() {
    let project = Project::new();
    let answer = run_in_mount_namespace(
        &project,
        "mkdir .ralph; mount -t tmpfs -o size=64k,mode=700 tmpfs .ralph
         cat /dev/zero > .ralph/fill 2> /dev/null || true
         \"$RALPH\" init || echo \"first $?\"
         rm .ralph/fill
         \"$RALPH\" init",
    );
    assert!(answer.stdout.starts_with("first 1\nwrote  .ralph/config.yaml\n"), "{}", answer.stdout);
    assert!(answer.stderr.contains("cannot write") && answer.stderr.contains("config.yaml"), "{}", answer.stderr);
}
