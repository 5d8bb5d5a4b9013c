//! Other programs in the terminal of the board, and what hostile output cannot do to it.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::board::tmux_screen::{ScreenSize, TmuxScreen};
use crate::harness::Project;

/// Writes a pager that shows what it was given and waits for a key, and returns its path.
fn write_pager(project: &Project) -> String {
    let path = project.outside("pager.sh");
    let script = "#!/bin/sh\ntrap '' INT\necho \"pager of $(basename \"$1\")\"\ncat \"$1\"\nread -r line\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

// spec: U4
#[test]
fn the_log_opens_in_the_pager_and_the_board_comes_back_with_what_has_changed_meanwhile() {
    let project = Project::new();
    let pager = write_pager(&project);
    project
        .run_shell("cat > /dev/null; echo 'words of the agent'; echo '<promise>COMPLETE</promise>'")
        .output()
        .expect(0);
    let board = TmuxScreen::start(&project, ScreenSize::SMALL, &format!("PAGER={pager} exec \"$RALPH\" board"));
    board.wait_for("5 Ended (1)");
    board.press(&["5", "L"]);
    board.wait_for("pager of iteration-001.ndjson");
    board.wait_for("words of the agent");
    for id in ["a-1", "a-2", "a-3"] {
        let task = ["task", "create", id, "s", "A task", "--outcome", "it works", "--acceptance", "it works"];
        project.ralph(task).start().wait_without_invariants().expect(0);
    }
    // It belongs to the pager, and does not end the board.
    board.press(&["C-c", "Enter"]);
    board.wait_for("4 To do (3)");
    // Keys arrive at the board again.
    board.press(&["q"]);
    board.wait_for_end();
}

// spec: U4
#[test]
fn the_mouse_selects_opens_and_scrolls_when_it_is_asked_for() {
    let project = Project::new();
    for id in ["a-1", "a-2", "a-3"] {
        let task = ["task", "create", id, "s", "A task", "--outcome", "it works", "--acceptance", "it works"];
        project.ralph(task).output().expect(0);
    }
    let board = TmuxScreen::start(&project, ScreenSize::SMALL, "exec \"$RALPH\" board --mouse");
    board.wait_for("4 To do (3)");
    // The first click selects.
    board.click_on("a-3");
    board.press(&["Enter"]);
    board.wait_for("6 a-3 · criteria");
    board.press(&["Escape"]);
    board.wait_for("4 To do (3)");
    board.click_on("a-1");
    board.click_on("a-1");
    board.wait_for("6 a-1 · criteria");
}

// spec: U4, S8
#[test]
fn control_characters_of_an_agent_do_not_reach_the_terminal() {
    let project = Project::new();
    let agent = "cat > /dev/null; printf 'The parser works.\\033[2J\\033[1;1H\\033]0;stolen title\\007 All tests pass.\\n'\n\
        echo '<promise>COMPLETE</promise>'";
    project.run_shell(agent).output().expect(0);
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("5 Ended (1)");
    board.press(&["5", "l"]);
    board.wait_for("All tests pass.");
    assert_ne!(board.title(), "stolen title");
    let shown = board.shown();
    assert!(shown.starts_with("ralph · "), "{shown}");
}
