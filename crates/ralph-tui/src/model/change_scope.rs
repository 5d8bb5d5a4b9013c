//! Which cards the board needs: those near the tops of the lanes, or all of them.
use ralph_app::board::{CardScope, LANE_WINDOW};

use super::board_action::BoardAction;
use super::board_state::BoardState;
use super::card_sort::CardSort;
use super::panel::Panel;

/// All cards are read when the selection is this near to the end of those that were read.
const READ_AHEAD: usize = 60;

/// Asks for other cards if the selection, a filter, an order or a jump needs them, or if they are not needed any more.
pub(super) fn change_scope(state: &mut BoardState) -> Option<BoardAction> {
    let wanted = wanted_scope(state);
    (std::mem::replace(&mut state.scope, wanted) != wanted).then_some(BoardAction::SetScope(wanted))
}

fn wanted_scope(state: &BoardState) -> CardScope {
    let is_searching = !state.filter.is_empty() || state.sort != CardSort::default() || state.pending_jump.is_some();
    let window = LANE_WINDOW as usize;
    let farthest = [Panel::ToDo, Panel::Ended].map(|panel| state.selected_line(panel)).into_iter().max().unwrap_or(0);
    let needs_all = match state.scope {
        CardScope::Window => {
            (is_searching || farthest + READ_AHEAD >= window)
                && state.snapshot.as_ref().is_some_and(|snapshot| snapshot.is_partial())
        }
        CardScope::Everything => is_searching || farthest >= window / 2,
    };
    if needs_all { CardScope::Everything } else { CardScope::Window }
}
