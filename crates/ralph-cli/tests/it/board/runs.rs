//! Stories of a run on the board: watched, explained, guided, cancelled, left.
use std::fs;

use crate::board::tmux_screen::{ScreenSize, TmuxScreen};
use crate::harness::{Project, Running, wait_until};

/// Starts a run whose agent stores each prompt as `prompt-N`, and claims when `go-N` exists. Its check needs `done`.
fn start_run(project: &Project) -> Running<'_> {
    let folder = project.outside("");
    let folder = folder.display();
    let agent = project.shell(&format!(
        "n=1; while [ -e {folder}/prompt-$n ]; do n=$((n+1)); done\n\
         cat > {folder}/prompt-$n\n\
         echo \"I work on step $n\"\n\
         while [ ! -e {folder}/go-$n ]; do sleep 0.05; done\n\
         echo '<promise>COMPLETE</promise>'"
    ));
    let call =
        ["run", "Repair the parser", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE", "--json"];
    let check = format!("test -e {folder}/done");
    project.ralph(call).args(["--max-iterations", "4", "--check", &check]).start()
}

fn let_agent_claim(project: &Project, iteration: u32) {
    fs::write(project.outside(&format!("go-{iteration}")), "").unwrap();
}

// spec: U4, U9
#[test]
fn a_run_is_watched_explained_and_guided_and_the_words_are_in_its_next_prompt() {
    let project = Project::new();
    let run = start_run(&project);
    run.wait_for_event("attempt.started");
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("Repair the parser");
    board.wait_for("Run (1/4)");
    board.press(&["w"]);
    board.wait_for("the agent works on iteration 1 of 4");
    board.press(&["g"]);
    board.wait_for("guidance for the next prompt");
    board.type_text("Use the table in docs/grammar.md");
    board.press(&["Enter"]);
    board.wait_for("adds it to the next prompt");
    let_agent_claim(&project, 1);
    project.wait_for("prompt-2");
    wait_until("the second prompt is complete", || {
        fs::read_to_string(project.outside("prompt-2")).unwrap().contains("Use the table in docs/grammar.md")
    });
    board.press(&["l"]);
    board.wait_for("I work on step 2");
    board.press(&["i"]);
    board.wait_for("✗");
    fs::write(project.outside("done"), "").unwrap();
    let_agent_claim(&project, 2);
    assert_eq!(run.wait().expect(0).finished()["outcome"], "completed");
    board.wait_for("✗✓");
}

// spec: U4
#[test]
fn leaving_the_board_in_any_size_does_not_stop_the_run_and_cancelling_asks_first() {
    let project = Project::new();
    let run = start_run(&project);
    run.wait_for_event("attempt.started");
    let board = TmuxScreen::start_board(&project, ScreenSize::SMALL);
    board.wait_for("Run (1/4)");
    board.resize(ScreenSize::LARGE);
    board.wait_for("Slot 1: run");
    board.wait_for("Ralph: iteration 1/4");
    board.press(&["q"]);
    board.wait_for_end();
    assert!(run.is_alive());
    let second = TmuxScreen::start_board(&project, ScreenSize::LARGE);
    second.wait_for("Slot 1: run");
    second.press(&["c"]);
    second.wait_for("a cancelled run cannot be resumed");
    second.press(&["n", "c", "y"]);
    second.wait_for("✓ cancelled");
    assert_eq!(run.wait().finished()["outcome"], "cancelled");
    second.wait_for("no loop is running");
}

// spec: U4, L19
#[test]
fn a_run_is_paused_resumed_and_gets_more_iterations() {
    let project = Project::new();
    let run = start_run(&project);
    run.wait_for_event("attempt.started");
    let board = TmuxScreen::start_board(&project, ScreenSize::LARGE);
    board.wait_for("Ralph: iteration 1/4");
    board.press(&["+"]);
    board.wait_for("Ralph: iteration 1/5");
    board.press(&["p"]);
    board.wait_for("pauses when the iteration has ended");
    let_agent_claim(&project, 1);
    board.wait_for("paused");
    board.wait_for("1 Inbox (1)");
    board.press(&["3", "u"]);
    board.wait_for("✓ resumed");
    project.wait_for("prompt-2");
    fs::write(project.outside("done"), "").unwrap();
    let_agent_claim(&project, 2);
    assert_eq!(run.wait().expect(0).finished()["outcome"], "completed");
}
