//! Setup commands of a work tree: stops, cancels and lost leases take effect while they run.
use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::control::cancel::beside;
use crate::harness::{Call, Project, wait_until};
use crate::process_table::{is_alive, state_of};
use crate::processes::signals::suspend;
use crate::work::pipeline::{project, starts, statuses, work};
use crate::work::work_trees::git;

/// Configures these approved setup commands.
pub(crate) fn configure_setup(project: &Project, commands: &[String]) {
    fs::create_dir_all(project.root().join(".ralph")).unwrap();
    let config = serde_json::json!({"pipeline": {"setup": commands}});
    fs::write(project.root().join(".ralph/config.yaml"), config.to_string()).unwrap();
    project.trust();
}

/// Records its pid and waits for a file.
fn waiting_command(project: &Project) -> String {
    let (pids, go) = (project.outside("pids"), project.outside("go"));
    format!("echo $$ >> {}; until test -e {}; do sleep 0.01; done", pids.display(), go.display())
}

pub fn pids(project: &Project) -> Vec<u32> {
    let text = fs::read_to_string(project.outside("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

// spec: P1, L11
#[test]
fn ctrl_c_stops_the_setup_of_a_tree_and_the_next_worker_restarts_it() {
    let project = project(&[("T-1", "")]);
    configure_setup(&project, &[waiting_command(&project)]);
    let running = work(&project, &["--until-idle"]).start();
    wait_until("the tree is being set up", || pids(&project).len() == 1);
    let printed = beside(&project, &["status"]).expect(0).stdout;
    assert_eq!(printed, "Active Ralph Loops:\n  T-1: setting up the work tree\n");
    let json = beside(&project, &["status", "--json"]).expect(0).json();
    assert_eq!((&json[0]["task"], &json[0]["status"]), (&"T-1".into(), &"setting_up".into()));
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.events_named("task.stopped").len(), 1, "{}", answer.stdout);
    assert!(!is_alive(pids(&project)[0]) && starts(&project).is_empty());
    fs::write(project.outside("go"), "").unwrap();
    work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!((statuses(&project)[0].1.as_str(), pids(&project).len()), ("done", 2));
}

// spec: L11, U3
#[test]
fn a_task_is_cancelled_while_its_tree_is_set_up() {
    let project = project(&[("T-1", "")]);
    configure_setup(&project, &[waiting_command(&project)]);
    let running = work(&project, &["T-1"]).start();
    wait_until("the tree is being set up", || pids(&project).len() == 1);
    let call = beside(&project, &["cancel", "T-1"]).expect(0);
    assert_eq!(call.stdout, "Cancelled T-1\n");
    assert!(!is_alive(pids(&project)[0]), "nothing of it is left when it says so");
    assert_eq!(statuses(&project)[0].1, "cancelled");
    let answer = running.wait().expect(3);
    assert_eq!(answer.events_named("task.over")[0]["reason"], "cancelled before its next loop started");
    assert!(starts(&project).is_empty());
    beside(&project, &["retry", "T-1"]).expect(0);
    fs::write(project.outside("go"), "").unwrap();
    work(&project, &["--until-idle"]).output().expect(0);
    assert_eq!(statuses(&project)[0].1, "done", "the order was for then");
}

// spec: P6, P9
#[test]
fn ctrl_c_stops_the_setup_of_a_run_in_its_own_tree_and_leaves_nothing() {
    let project = project(&[]);
    configure_setup(&project, &[waiting_command(&project)]);
    let running = project.run(&["complete"]).args(["--worktree"]).start();
    wait_until("the tree is being set up", || pids(&project).len() == 1);
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert!(!is_alive(pids(&project)[0]));
    assert_eq!(git(&project.root(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&project.root(), &["for-each-ref", "refs/ralph"]), "");
}

// spec: P6
// fault: 94
#[test]
fn a_worker_that_slept_during_a_setup_command_does_not_continue_a_reassigned_task() {
    let project = project(&[("T-1", "")]);
    let second = project.outside("second");
    let again = format!("echo $RALPH_WHO >> {}", second.display());
    configure_setup(&project, &[waiting_command(&project), again]);
    let call = |who: &str| work(&project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1s").env("RALPH_WHO", who);
    let sleeper = call("sleeper").start();
    wait_until("the tree is being set up", || pids(&project).len() == 1);
    sleeper.signal(Signal::STOP);
    let other = call("other").start();
    wait_until("another worker sets it up", || pids(&project).len() == 2);
    assert!(!is_alive(pids(&project)[0]), "what the sleeper had begun is ended first");
    fs::write(project.outside("go"), "").unwrap();
    other.wait_without_invariants().expect(0);
    sleeper.signal(Signal::CONT);
    let woken = sleeper.wait().expect(0);
    assert_eq!(woken.events_named("task.lost")[0]["task"], "T-1", "{}", woken.stdout);
    assert_eq!(fs::read_to_string(second).unwrap(), "other\n");
    assert_eq!(statuses(&project)[0].1, "done");
}

// spec: P6
// fault: 94
#[test]
fn a_worker_that_slept_between_two_setup_commands_starts_none_for_a_reassigned_task() {
    let project = project(&[("T-1", "")]);
    let second = project.outside("second");
    configure_setup(&project, &["true".to_owned(), format!("echo $RALPH_WHO >> {}", second.display())]);
    let call = |who: &str| work(&project, &["T-1"]).env("RALPH_PIPELINE_LEASE", "1s").env("RALPH_WHO", who);
    let sleeper = call("sleeper").env("RALPH_FAIL", "setup.goes.on:2:stop").start();
    wait_until("it sleeps", || state_of(sleeper.pid()) == Some('T'));
    call("other").start().wait_without_invariants().expect(0);
    sleeper.signal(Signal::CONT);
    let woken = sleeper.wait().expect(0);
    assert_eq!(woken.events_named("task.lost")[0]["task"], "T-1", "{}", woken.stdout);
    assert_eq!(fs::read_to_string(second).unwrap(), "other\n");
}

// spec: P6, P9
// fault: 18
#[test]
fn ctrl_z_stops_the_setup_commands_and_they_continue() {
    let calls: [fn(&Project) -> Call<'_>; 2] =
        [|project| work(project, &["--until-idle"]), |project| project.run(&["complete"]).args(["--worktree"])];
    for call in calls {
        let project = project(&[("T-1", "")]);
        // It starts nothing itself: a shell that waits for a child that calls exec looks as if it were stopped.
        let (pipe, noted) = (project.outside("pipe"), project.outside("pids"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        configure_setup(&project, &[format!("echo $$ >> {}; read line < {}", noted.display(), pipe.display())]);
        let running = call(&project).start();
        wait_until("the tree is being set up", || pids(&project).len() == 1);
        suspend(&project, &running);
        wait_until("the command is stopped", || state_of(pids(&project)[0]) == Some('T'));
        running.signal(Signal::CONT);
        fs::write(&pipe, "go\n").unwrap();
        running.wait().expect(0);
        assert_eq!(pids(&project).len(), 1, "it was not begun anew");
    }
}
