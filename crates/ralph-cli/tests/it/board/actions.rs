//! What a person does on the board changes tasks and runs as the commands do.
use std::fs;

use serde_json::Value;

use crate::board::tmux_screen::{ScreenSize, TmuxScreen, board_mark};
use crate::control::decisions;
use crate::harness::{Project, wait_until};
use crate::process_table::find_marked;
use crate::work::pipeline::statuses;
use crate::work::rewind::task_with_two_iterations;
use crate::work::work_trees::with_tasks;
use crate::workflows::runs::{project_with, result_of, run_with};

/// Returns a run as `show` prints it, while the board and its runs are active.
fn shown(project: &Project, run: &str) -> Value {
    project.ralph(["show", run, "--json"]).start().wait_without_invariants().expect(0).json()
}

/// Waits until a run that the board has resumed has this status, and the process that drove it has ended.
fn wait_for_status(project: &Project, run: &str, status: &str) {
    wait_until(&format!("the run is {status}"), || shown(project, run)["status"] == status);
    let drivers = || find_marked(&board_mark(project), "RALPH_TEST_MARK=");
    wait_until("its driver has ended", || !drivers().iter().any(|process| format!("{process:?}").contains(" resume ")));
}

// spec: U4
#[test]
fn a_cancelled_task_is_retried_after_a_yes() {
    let project = with_tasks(&[("T-1", "true")]);
    project.ralph(["cancel", "T-1"]).output().expect(0);
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("cancelled");
    board.press(&["5", "R"]);
    board.wait_for("retry T-1 from its first stage");
    board.press(&["n", "R", "y"]);
    board.wait_for("✓ T-1 is ready again");
    board.wait_for("4 To do (1)");
    assert_eq!(statuses(&project), [("T-1".to_owned(), "todo".to_owned())]);
}

// spec: U4, P7
#[test]
fn the_work_tree_of_a_task_is_rewound_to_an_iteration() {
    let (project, tree) = task_with_two_iterations();
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("T-1");
    board.press(&["4", "b"]);
    board.wait_for("rewind T-1 to the end of iteration");
    board.type_text("1");
    board.press(&["Enter"]);
    board.wait_for("reset the files of T-1 to iteration 1");
    board.press(&["y"]);
    board.wait_for("✓ T-1 has the files of iteration 1 of coder again");
    assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "one\n");
}

// spec: U4, V17
#[test]
fn a_claim_with_changed_tests_is_accepted_with_a_reason() {
    let project = decisions::project();
    let run = decisions::blocked_run(&project, &[]);
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("changed tests");
    board.press(&["1", "e"]);
    board.wait_for("why do you accept the claim");
    board.type_text("the target was wrong");
    board.press(&["Enter"]);
    board.wait_for("is completed (checked, accepted by");
    board.wait_for("1 Inbox: nothing waits for you");
    let shown = shown(&project, &run);
    assert_eq!(
        (&shown["status"], &shown["accepted_by"]["because"]),
        (&"completed".into(), &"the target was wrong".into())
    );
}

/// Claims completion in its third iteration.
const THIRD_TIME: &str = r#"
cat > /dev/null; echo >> count
if [ "$(wc -l < count)" -ge 3 ]; then echo '<promise>COMPLETE</promise>'; else echo 'not yet'; fi
"#;

// spec: U4, L19
#[test]
fn a_run_that_reached_its_limit_continues_with_more_iterations_from_the_board() {
    let project = Project::new();
    let ended = project.run_shell(THIRD_TIME).args(["--max-iterations", "2"]).output().expect(3).finished();
    let run = ended["run"].as_str().unwrap();
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("exhausted");
    board.press(&["5", "+"]);
    board.wait_for("in the background with new limits");
    wait_for_status(&project, run, "completed");
    assert_eq!(shown(&project, run)["max_iterations"], 3);
    board.wait_for("completed");
}

// spec: U4, U10
#[test]
fn the_question_of_an_agent_is_answered_and_its_next_prompt_has_the_answer() {
    let project = Project::new();
    let agent = "prompt=$(cat)\n\
        if printf '%s' \"$prompt\" | grep -q 'use the test key'; then echo '<promise>COMPLETE</promise>'\n\
        else echo '<blocked>which API key?</blocked>'; fi";
    let ended = project.run_shell(agent).args(["--max-iterations", "4"]).output().expect(6).finished();
    let run = ended["run"].as_str().unwrap();
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("which API key?");
    board.press(&["1", "e"]);
    board.wait_for("your answer for");
    board.type_text("use the test key");
    board.press(&["Enter"]);
    board.wait_for("answered the question of run");
    wait_for_status(&project, run, "completed");
}

const RELEASE: &str = r#"
name: release
description: asks before it publishes
nodes:
  - id: build
    bash: echo v1
  - id: ask
    depends_on: [build]
    approval:
      message: Publish $build.output?
      capture_response: true
  - id: publish
    depends_on: [ask]
    bash: |
      printf 'published: %s' "$ask.output"
"#;

// spec: U4, W13
#[test]
fn the_approval_of_a_workflow_is_answered_and_the_graph_shows_the_rest() {
    let project = project_with("release", RELEASE);
    let output = run_with(&project, "release", &[]).output().expect(6);
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("ask asks: Publish v1?");
    board.press(&["1", "v"]);
    board.wait_for("? ask");
    board.press(&["e"]);
    board.wait_for("answer for node ask");
    board.type_text("approve ship it");
    board.press(&["Enter"]);
    board.wait_for("answered node ask: approve");
    wait_for_status(&project, &run, "completed");
    board.wait_for("✓ publish");
}
