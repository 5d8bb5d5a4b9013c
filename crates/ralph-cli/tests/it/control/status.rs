//! `ralph status`: active loops, as text and as JSON.
use std::os::unix::fs::symlink;

use rustix::process::Signal;

use crate::control::cancel::{beside, id_of, short, stage, with_task};
use crate::harness::{Project, Running, wait_until};
use crate::terminal::Terminal;

// spec: U3, T3
#[test]
fn status_names_each_loop_by_its_task_and_its_role() {
    let project = with_task();
    let none = project.ralph(["status"]).output().expect(0);
    assert_eq!(none.stdout, "No active Ralph loops\n");
    assert_eq!(project.ralph(["status", "--json"]).output().expect(0).stdout, "[]\n");
    let running = stage(&project, &["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    for name in ["status", "ralph-status"] {
        let printed = beside(&project, &[name]).expect(0).stdout;
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines.len(), 3, "{printed}");
        assert_eq!(lines[0], "Active Ralph Loops:");
        assert!(lines[1].starts_with("  T-1 (coder): iteration 1/15, started "), "{printed}");
        assert!(lines[1].ends_with("s ago"), "{printed}");
        assert_eq!(lines[2], "    Add a login");
    }
    let printed = beside(&project, &["status", "--json"]).expect(0).json();
    assert_eq!((&printed[0]["id"], &printed[0]["status"]), (&id.as_str().into(), &"running".into()));
    assert_eq!((&printed[0]["task"], &printed[0]["iteration"]), (&"T-1".into(), &1.into()));
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert_eq!(project.ralph(["status"]).output().expect(0).stdout, "No active Ralph loops\n");
}

// spec: U3, T3
#[test]
fn a_symlink_with_a_name_of_the_original_scripts_runs_that_command() {
    let project = Project::new();
    let link = project.outside("ralph-status");
    symlink(env!("CARGO_BIN_EXE_ralph"), &link).unwrap();
    let printed = project.ralph(["--json"]).with(|command| {
        let mut linked = std::process::Command::new(&link);
        linked.args(command.get_args()).current_dir(project.root()).env("HOME", project.home());
        *command = linked;
    });
    assert_eq!(printed.output().expect(0).stdout, "[]\n");
}

// spec: U3, L13
#[test]
fn a_loop_whose_ralph_died_is_shown_as_such() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    running.signal(Signal::KILL);
    running.wait_without_invariants();
    let printed = beside(&project, &["status"]).expect(0).stdout;
    let short = short(&id);
    assert!(printed.contains(&format!("  {short} (run): iteration 1/10, started ")), "{printed}");
    assert!(printed.contains(&format!("    died; ralph resume {short}\n")), "{printed}");
    wait_until("its agent is gone too", || project.processes_of_runs().is_empty());
}

// spec: U3
#[test]
fn status_shows_the_activity_beside_the_position_of_a_loop() {
    let project = Project::new();
    let check = "touch ../checking; sleep 600";
    let call = project.run(&["complete"]).args(["--check", check]).env("RALPH_VERIFICATION_BASELINE", "off");
    let running = call.start();
    project.wait_for("checking");
    let printed = beside(&project, &["status"]).expect(0).stdout;
    assert!(printed.contains("\n    checks the claim"), "{printed}");
    running.signal(Signal::INT);
    running.wait().expect(130);
}

// spec: U3
#[test]
fn a_watch_without_a_terminal_prints_a_line_for_every_change() {
    let project = Project::new();
    let script = project.script("touch ../at-1\nwait ../go-1\ntext More.\n---\ntouch ../at-2\nhang\n");
    let watching = project.ralph(["status", "--watch", "--json"]).start();
    let running = project.run(&["script", &script]).start();
    let id = id_of(&running);
    project.wait_for("at-1");
    wait_for_activity(&watching, &id, "running");
    beside(&project, &["pause", &id, "--now"]).expect(0);
    wait_for_activity(&watching, &id, "paused");
    beside(&project, &["cancel", &id]).expect(0);
    wait_for_activity(&watching, &id, "ended");
    running.wait_without_invariants().expect(9);
    watching.signal(Signal::INT);
    watching.wait().expect(130);
}

/// Waits until the watch shows this activity of the run.
fn wait_for_activity(watching: &Running<'_>, id: &str, status: &str) {
    wait_until(&format!("the run is seen as {status}"), || {
        let printed = watching.stdout_so_far();
        let whole = printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut lines = whole.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.any(|line| line["id"] == id && line["status"] == status)
    });
}

// spec: U3
#[test]
fn a_watch_on_a_terminal_redraws_in_place_and_leaves_it_as_it_was() {
    let project = Project::new();
    let running = project.run(&["hang"]).start();
    let id = id_of(&running);
    project.wait_for("ready");
    let mut terminal = Terminal::start(project.ralph(["status", "--watch"]).command());
    let line = format!("{} (run): iteration 1/10, started ", short(&id));
    terminal.wait_for(&line);
    beside(&project, &["cancel", &id]).expect(0);
    running.wait_without_invariants().expect(9);
    terminal.wait_for("\x1b[HNo active Ralph loops\x1b[K\x1b[J");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait().code(), Some(130));
    assert!(terminal.shown().ends_with("\x1b[?25h\x1b[?1049l"), "{:?}", terminal.shown());
}

// spec: U3
#[test]
fn a_watch_that_is_terminated_leaves_the_terminal_as_it_was_too() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 143)] {
        let project = Project::new();
        let mut terminal = Terminal::start(project.ralph(["status", "--watch"]).command());
        terminal.wait_for("No active Ralph loops");
        terminal.signal(signal);
        assert_eq!(terminal.wait().code(), Some(code));
        assert!(terminal.shown().ends_with("\x1b[?25h\x1b[?1049l"), "{:?}", terminal.shown());
    }
}
