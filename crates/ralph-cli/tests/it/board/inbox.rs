//! What waits for a person is answered on the board, and commands of the user run with values as arguments.
use std::fs;

use crate::board::tmux_screen::{ScreenSize, TmuxScreen};
use crate::harness::{Project, wait_until};

// spec: U4, U10, X6
#[test]
fn commands_are_approved_only_after_they_were_shown() {
    let project = Project::new();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "checks: ['make deploy-everything']\n");
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("not approved");
    board.press(&["a"]);
    board.wait_for("read what you approve");
    board.wait_for("make deploy-everything");
    board.press(&["a"]);
    board.wait_for("approve what is shown");
    board.press(&["y"]);
    board.wait_for("✓ approved");
    let shown = project.ralph(["trust", "--show"]).output().expect(0).stdout;
    assert!(shown.ends_with("\napproved\n"), "{shown}");
}

// spec: U4, X6
#[test]
fn a_key_of_the_user_runs_its_command_with_the_id_as_one_argument() {
    let project = Project::new();
    fs::create_dir(project.root().join(".ralph")).unwrap();
    let script = project.shell("printf '%s|' \"$@\" > \"$(dirname \"$0\")/arguments\"");
    project.write(".ralph/config.yaml", format!("board:\n  keys:\n    T: \"{script} {{id}} fixed\"\n"));
    let task = ["task", "create", "a-1", "grammar", "Parser", "--outcome", "it parses", "--acceptance", "it parses"];
    project.ralph(task).output().expect(0);
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("a-1");
    board.press(&["4", "T"]);
    board.wait_for("comes with the project and is not approved");
    project.trust();
    board.press(&["T"]);
    let arguments = project.outside("arguments");
    wait_until("the command has run", || fs::read_to_string(&arguments).is_ok_and(|text| text == "a-1|fixed|"));
    board.wait_for("exit status: 0");
}
