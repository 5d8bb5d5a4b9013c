//! How the board uses its terminal, and puts it back.
use rustix::process::{Signal, kill_process};

use crate::board::tmux_screen::{ScreenSize, TmuxScreen};
use crate::harness::{Project, wait_until};

// spec: U4
#[test]
fn without_a_terminal_the_board_says_what_prints_the_same_as_text() {
    let project = Project::new();
    let refused = project.ralph(["board"]).output().expect(1);
    assert_eq!(
        refused.stderr,
        "error: the board needs a terminal, and this is none\n\
         hint: `ralph board --plain` prints one line per change; `ralph status --json` is for programs\n"
    );
}

// spec: U4
#[test]
fn an_empty_project_says_so_in_every_panel() {
    let project = Project::new();
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    for text in ["nothing waits for you", "no loop is running", "3 Running (0)", "4 To do (0)", "5 Ended (0)"] {
        board.wait_for(text);
    }
    board.press(&["?"]);
    board.wait_for("keys that are valid here");
    board.type_text("leave");
    board.press(&["Enter"]);
    board.wait_for_end();
}

// spec: U4
#[test]
fn a_termination_signal_puts_the_terminal_back() {
    let project = Project::new();
    let command = "echo before; \"$RALPH\" board; echo \"ended $?\"; read line";
    let screen = TmuxScreen::start(&project, ScreenSize::SMALL, command);
    screen.wait_for("nothing waits for you");
    kill_process(screen.child(), Signal::TERM).unwrap();
    screen.wait_for("ended 143");
    let shown = screen.shown();
    assert!(shown.starts_with("before\n"), "{shown}");
    screen.type_text("typed");
    screen.wait_for("typed");
}

// spec: U4
#[test]
fn a_stopped_board_gives_the_terminal_back_and_takes_it_again() {
    let project = Project::new();
    let screen = TmuxScreen::start(&project, ScreenSize::SMALL, "PS1='ready> ' exec bash --norc --noprofile -i");
    screen.wait_for("ready>");
    screen.type_text("\"$RALPH\" board");
    screen.press(&["Enter"]);
    screen.wait_for("nothing waits for you");
    screen.press(&["C-z"]);
    screen.wait_for("Stopped");
    screen.type_text("fg");
    screen.press(&["Enter"]);
    screen.wait_for("nothing waits for you");
    screen.press(&["q"]);
    screen.wait_for("Stopped");
}

// spec: U4, L12
#[test]
fn a_closed_terminal_ends_the_board_also_if_it_ignores_hangups() {
    let project = Project::new();
    let screen = TmuxScreen::start(&project, ScreenSize::SMALL, "trap '' HUP; \"$RALPH\" board; exit 0");
    screen.wait_for("nothing waits for you");
    let board = screen.child();
    drop(screen);
    wait_until("the board has ended", || rustix::process::test_kill_process(board).is_err());
}

// spec: U4
#[test]
fn a_panic_puts_the_terminal_back_before_its_message() {
    let project = Project::new();
    let command = "echo before; RALPH_FAIL=board.drawn:2:panic \"$RALPH\" board; echo \"ended $?\"; read line; echo \"got $line\"; read more";
    let screen = TmuxScreen::start(&project, ScreenSize::SMALL, command);
    screen.wait_for("a test requested a panic at board.drawn");
    screen.wait_for("ended 70");
    let shown = screen.shown();
    // What was there before is there again, and what follows does not overwrite it.
    assert!(shown.starts_with("before\n"), "{shown}");
    assert!(shown.trim_end().ends_with("\nended 70"), "{shown}");
    screen.type_text("typed");
    screen.press(&["Enter"]);
    screen.wait_for("got typed");
}

// spec: U4
#[test]
fn a_terminal_that_cannot_move_its_cursor_is_refused_with_the_plain_lines_as_a_hint() {
    let project = Project::new();
    let screen = TmuxScreen::start(&project, ScreenSize::SMALL, "TERM=dumb \"$RALPH\" board; read line");
    screen.wait_for("this terminal cannot draw a board (TERM=dumb)");
    screen.wait_for("ralph board --plain");
}

// spec: U4
#[test]
fn plain_lines_need_no_terminal_and_say_every_change_in_one_line() {
    let project = Project::new();
    let board = project.ralph(["board", "--plain"]).start();
    wait_until("the counts are printed", || {
        board.stdout_so_far() == "0 running, 0 waiting for you, 0 to do, 0 ended\n"
    });
    let task = ["task", "create", "a-1", "s", "Parser\u{1b}[2J", "--outcome", "it works", "--acceptance", "it works"];
    project.ralph(task).start().wait_without_invariants().expect(0);
    wait_until("the new task is printed", || board.stdout_so_far().contains("a-1 Parser"));
    project.ralph(["cancel", "a-1"]).start().wait_without_invariants().expect(0);
    wait_until("its end is printed", || board.stdout_so_far().contains(": cancelled\n"));
    board.signal(Signal::TERM);
    let printed = board.wait().expect(143).stdout;
    assert!(!printed.replace('\n', "").contains(char::is_control), "{printed:?}");
    assert_eq!(printed.lines().count(), 3, "{printed}");
}
