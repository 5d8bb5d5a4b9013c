//! Whole screens in a terminal emulator, at three sizes, without colours.
use std::sync::Arc;

use ralph_app::board::{BoardCard, BoardSnapshot, CardLane, CheckMark, CriterionRow, RunGrid};
use ralph_core::event::UnixMillis;
use ralph_store::RunRow;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::draw_board;
use super::theme::Theme;
use crate::model::board_input::KeyPress::{Char, Enter};
use crate::model::board_input::{BoardInput, DetailContent};
use crate::model::board_state::BoardState;
use crate::model::detail_pane::DetailView;
use crate::model::handle_input::handle_input;
use crate::model::output_pane::BlockKind;
use crate::model::test_board::{NOW, board_with, busy_board, busy_snapshot, card, press, type_text};

/// Draws the board as a terminal shows it.
fn emulate(state: &mut BoardState, columns: u16, rows: u16, is_colored: bool) -> vt100::Parser {
    let mut bytes = Vec::new();
    let viewport = Viewport::Fixed(Rect { x: 0, y: 0, width: columns, height: rows });
    let mut terminal = Terminal::with_options(CrosstermBackend::new(&mut bytes), TerminalOptions { viewport }).unwrap();
    terminal.draw(|frame| draw_board(frame, state, Theme { is_colored })).unwrap();
    drop(terminal);
    let mut screen = vt100::Parser::new(rows, columns, 0);
    screen.process(&bytes);
    screen
}

fn screen(state: &mut BoardState, columns: u16, rows: u16) -> String {
    emulate(state, columns, rows, false).screen().contents()
}

fn run_row() -> RunRow {
    RunRow {
        id: "0197-3f2a9c41".to_owned(),
        kind: "stage".to_owned(),
        task: Some("TASK-001".to_owned()),
        role: Some("coder".to_owned()),
        status: "running".to_owned(),
        reason: None,
        exit_code: None,
        agent: "claude".to_owned(),
        promise: "DONE".to_owned(),
        max_iterations: 15,
        first_max_iterations: 15,
        iterations: 3,
        started_at: NOW.0 - 323_000,
        ended_at: None,
        input_tokens: Some(12_000),
        output_tokens: Some(3_400),
        cost_micros: Some(410_000),
        proof: None,
        accepted_by: None,
        settings: String::new(),
    }
}

fn grid() -> RunGrid {
    let iteration = |number, verdict: Option<&str>| ralph_store::IterationRow {
        number,
        status: "finished".to_owned(),
        started_at: NOW.0,
        duration_ms: Some(134_000),
        attempts: 1,
        claimed: Some(verdict.is_some()),
        claim_reason: Some("no promise".to_owned()),
        verdict: verdict.map(str::to_owned),
        verdict_reason: verdict.map(|_| "cargo test: 2 failed".to_owned()),
        input_tokens: None,
        output_tokens: None,
        cost_micros: Some(140_000),
    };
    let criterion = |name: &str, marks: &[CheckMark], evidence: &str| CriterionRow {
        name: name.to_owned(),
        marks: marks.to_vec(),
        last_evidence: evidence.to_owned(),
        is_required: true,
        depth: 0,
    };
    use CheckMark::{CouldNotEvaluate, Met, NotChecked, NotMet};
    RunGrid {
        run: run_row(),
        headline: "running: the agent works on iteration 3 of 15, attempt 1".to_owned(),
        iterations: vec![iteration(1, Some("rejected")), iteration(2, None), iteration(3, Some("could_not_evaluate"))],
        criteria: vec![
            criterion("cargo test", &[NotMet, NotChecked, Met], "exit code 0"),
            criterion("judged", &[NotMet, NotChecked, CouldNotEvaluate], "the judge did not answer"),
        ],
    }
}

/// The board with the criteria of the first running task open.
fn detailed_board() -> BoardState {
    let mut state = busy_board();
    press(&mut state, &[Char('3')]);
    let subject = state.detail.subject.clone().unwrap();
    let content = Ok(DetailContent::Grids(vec![grid()]));
    handle_input(&mut state, BoardInput::Detail { subject, view: DetailView::Summary, content });
    state
}

fn output_board() -> BoardState {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('l')]);
    {
        let mut buffer = state.output.buffer.lock();
        buffer.iteration = 1;
        buffer.push(BlockKind::Event, "iteration 1");
        buffer.push(BlockKind::Words, "I run the tests first.");
        buffer.push(BlockKind::Tool, "Bash cargo test");
        buffer.add_lines(["running 3 tests", "test result: FAILED. 2 failed"].into_iter());
    }
    state
}

// spec: U4
#[test]
fn one_column_at_80x24() {
    insta::assert_snapshot!(screen(&mut busy_board(), 80, 24));
}

// spec: U4
#[test]
fn two_columns_at_120x40() {
    insta::assert_snapshot!(screen(&mut detailed_board(), 120, 40));
}

// spec: U4
#[test]
fn three_columns_at_200x60() {
    insta::assert_snapshot!(screen(&mut detailed_board(), 200, 60));
}

// spec: U4
#[test]
fn the_detail_fills_a_small_screen_and_a_zoomed_panel_any() {
    let mut state = detailed_board();
    press(&mut state, &[Enter]);
    insta::assert_snapshot!("criteria_at_80x24", screen(&mut state, 80, 24));
    let mut state = detailed_board();
    press(&mut state, &[Char('z')]);
    insta::assert_snapshot!("running_in_full_screen", screen(&mut state, 120, 12));
}

// spec: U4
#[test]
fn the_output_is_folded_and_marks_new_lines() {
    let mut state = output_board();
    insta::assert_snapshot!("output_followed", screen(&mut state, 80, 12));
    press(&mut state, &[Char('o')]);
    screen(&mut state, 80, 6);
    press(&mut state, &[Char('k')]);
    (0..812).for_each(|at| state.output.buffer.lock().push(BlockKind::Words, &format!("line {at}")));
    insta::assert_snapshot!("output_scrolled", screen(&mut state, 80, 8));
}

// spec: U4
#[test]
fn an_empty_project_and_one_that_is_still_read_say_so() {
    insta::assert_snapshot!("empty", screen(&mut board_with(BoardSnapshot::default()), 80, 24));
    let mut loading = BoardState::new("shop".to_owned(), crate::model::test_board::words(), NOW);
    insta::assert_snapshot!("loading", screen(&mut loading, 80, 10));
}

// spec: U4
#[test]
fn old_data_is_never_shown_as_running() {
    let mut state = busy_board();
    handle_input(&mut state, BoardInput::LoadFailed("the database is busy".to_owned()));
    handle_input(&mut state, BoardInput::Tick(UnixMillis(NOW.0 + 40_000)));
    let shown = screen(&mut state, 120, 40);
    insta::assert_snapshot!(shown);
    assert!(!shown.contains('▶') && !shown.contains("Running: "), "{shown}");
}

// spec: U4
#[test]
fn questions_help_and_palette_cover_the_board() {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('g')]);
    type_text(&mut state, "Use the table");
    insta::assert_snapshot!("guidance", screen(&mut state, 80, 24));
    let mut state = busy_board();
    press(&mut state, &[Char('?')]);
    type_text(&mut state, "diff");
    insta::assert_snapshot!("help", screen(&mut state, 80, 12));
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('c')]);
    insta::assert_snapshot!("confirmation", screen(&mut state, 80, 24));
}

// spec: U4
#[test]
fn without_colours_no_colour_is_sent_and_with_them_the_text_is_the_same() {
    let colors = |parser: &vt100::Parser| {
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        cells
            .filter_map(|(row, column)| parser.screen().cell(row, column))
            .filter(|cell| cell.fgcolor() != vt100::Color::Default)
            .count()
    };
    let plain = emulate(&mut busy_board(), 80, 24, false);
    let colored = emulate(&mut busy_board(), 80, 24, true);
    assert_eq!(colors(&plain), 0);
    assert!(colors(&colored) > 0);
    assert_eq!(plain.screen().contents(), colored.screen().contents());
}

// spec: U4
#[test]
fn every_size_is_drawn_without_a_panic() {
    for (columns, rows) in [(1, 1), (3, 2), (20, 5), (79, 9), (99, 24), (159, 7), (300, 100)] {
        let mut state = output_board();
        screen(&mut state, columns, rows);
        screen(&mut detailed_board(), columns, rows);
        press(&mut state, &[Char('?')]);
        screen(&mut state, columns, rows);
    }
}

// spec: F6
#[test]
fn only_the_cards_in_sight_are_drawn() {
    let cards: Vec<BoardCard> = (0..10_000).map(|at| card(&format!("TASK-{at:05}"), CardLane::ToDo)).collect();
    let mut state = board_with(BoardSnapshot { cards, ..busy_snapshot() });
    press(&mut state, &[Char('4')]);
    state.select_line(crate::model::panel::Panel::ToDo, 5_000);
    let shown = screen(&mut state, 80, 24);
    assert!(shown.contains("TASK-05000") && !shown.contains("TASK-05030"), "{shown}");
    handle_input(&mut state, BoardInput::Snapshot(Arc::new(busy_snapshot())));
    assert!(screen(&mut state, 80, 24).contains("TASK-003"));
}
