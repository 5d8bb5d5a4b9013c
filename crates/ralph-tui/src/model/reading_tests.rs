//! Which cards, diffs and reports the board takes, one sentence each.
use std::sync::Arc;

use ralph_app::board::{BoardSnapshot, CardLane, CardScope, LaneTotals};
use ralph_core::event::UnixMillis;

use super::board_action::BoardAction;
use super::board_input::KeyPress::{self, Char, Enter, Escape};
use super::board_input::{BoardInput, DetailContent};
use super::detail_pane::{DetailView, LoadedDetail};
use super::handle_input::handle_input;
use super::panel::Panel;
use super::test_board::{NOW, board_with, busy_board, busy_snapshot, card, press, type_text};

/// A snapshot of a large project: 300 of its 10,000 tasks.
fn partial_snapshot() -> BoardSnapshot {
    let cards = (0..300).map(|at| card(&format!("TASK-{at:05}"), CardLane::ToDo)).collect();
    BoardSnapshot { cards, totals: LaneTotals { to_do: 10_000, ended: 0 }, ..busy_snapshot() }
}

fn scopes(actions: &[BoardAction]) -> Vec<CardScope> {
    let scope = |action: &BoardAction| match action {
        BoardAction::SetScope(scope) => Some(*scope),
        _ => None,
    };
    actions.iter().filter_map(scope).collect()
}

// spec: U4, F6
#[test]
fn all_cards_are_asked_for_by_a_filter_an_order_and_the_end_of_a_lane_and_no_longer_than_that() {
    let mut state = board_with(partial_snapshot());
    assert_eq!(scopes(&press(&mut state, &[Char('4'), Char('j')])), []);
    assert_eq!(scopes(&press(&mut state, &[KeyPress::End])), [CardScope::Everything]);
    assert_eq!(scopes(&press(&mut state, &[KeyPress::Home])), [CardScope::Window]);
    press(&mut state, &[Char('/')]);
    assert_eq!(scopes(&type_text(&mut state, "x")), [CardScope::Everything]);
    assert_eq!(scopes(&press(&mut state, &[Enter, Escape])), [CardScope::Window]);
    assert_eq!(scopes(&press(&mut state, &[Char('s')])), [CardScope::Everything]);
    // A small project is complete already.
    assert_eq!(scopes(&press(&mut busy_board(), &[Char('s'), Char('4'), KeyPress::End])), []);
}

// spec: U4, F6
#[test]
fn a_jump_to_a_card_that_was_not_read_is_done_when_it_has_been() {
    let mut state = board_with(partial_snapshot());
    press(&mut state, &[Char(':')]);
    type_text(&mut state, "task TASK-07777");
    assert_eq!(scopes(&press(&mut state, &[Enter])), [CardScope::Everything]);
    let cards = (0..10_000).map(|at| card(&format!("TASK-{at:05}"), CardLane::ToDo)).collect();
    let all = BoardSnapshot { cards, scope: CardScope::Everything, ..partial_snapshot() };
    handle_input(&mut state, BoardInput::Snapshot(Arc::new(all)));
    assert_eq!((state.focus, state.subject().unwrap().id.as_str()), (Panel::Detail, "TASK-07777"));
    assert_eq!(state.pending_jump, None);
}

// spec: U4
#[test]
fn a_report_that_waited_to_be_taken_is_as_old_as_it_is() {
    let mut state = busy_board();
    handle_input(&mut state, BoardInput::Tick(UnixMillis(NOW.0 + 40_000)));
    handle_input(&mut state, BoardInput::Unchanged(UnixMillis(NOW.0 + 1_000)));
    handle_input(&mut state, BoardInput::Snapshot(Arc::new(busy_snapshot())));
    assert_eq!(state.stale_for(), Some(39_000));
}

// spec: U4
#[test]
fn an_iteration_is_selected_for_the_diff_and_the_output() {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Enter, Char('['), Char('[')]);
    assert_eq!(state.subject().unwrap().iteration, Some(2));
    let actions = press(&mut state, &[Char('d')]);
    let iteration = |action: &BoardAction| match action {
        BoardAction::Load { subject, view: DetailView::Diff } => subject.iteration,
        _ => None,
    };
    assert_eq!(actions.iter().map(iteration).collect::<Vec<_>>(), [Some(2)]);
    let next: Vec<BoardAction> = press(&mut state, &[Char(']'), Char(']')]);
    assert_eq!(next.iter().map(iteration).collect::<Vec<_>>(), [Some(3), None]);
    press(&mut state, &[Char('['), Char('l')]);
    assert_eq!(state.output.iteration, Some(3));
}

// spec: U4
#[test]
fn the_diff_of_another_iteration_than_the_selected_one_is_not_shown() {
    let mut state = busy_board();
    press(&mut state, &[Char('3'), Char('d')]);
    let whole = state.detail.subject.clone().unwrap();
    press(&mut state, &[Char('[')]);
    let content = Ok(DetailContent::Text("+ of the whole run".to_owned()));
    handle_input(&mut state, BoardInput::Detail { subject: whole, view: DetailView::Diff, content });
    assert!(matches!(state.detail.loaded, LoadedDetail::Loading));
}
