//! Which cards each panel lists, in which order. Computed when the snapshot, the filter or the order changes, never by drawing.
use ralph_app::board::{BoardCard, BoardSnapshot, CardLane};

use super::card_filter::CardFilter;
use super::card_sort::CardSort;
use super::panel::Panel;

/// Positions in the snapshot, by panel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VisibleCards {
    inbox: Vec<usize>,
    slots: Vec<usize>,
    running: Vec<usize>,
    to_do: Vec<usize>,
    ended: Vec<usize>,
}

impl VisibleCards {
    pub(crate) fn select(snapshot: &BoardSnapshot, filter: &CardFilter, sort: CardSort) -> Self {
        let cards = &snapshot.cards;
        let mut visible = Self { inbox: (0..snapshot.inbox.len()).collect(), ..Self::default() };
        for (at, card) in cards.iter().enumerate().filter(|(_, card)| filter.is_empty() || filter.matches(card)) {
            match card.lane {
                CardLane::Running => visible.running.push(at),
                CardLane::ToDo => visible.to_do.push(at),
                CardLane::Ended => visible.ended.push(at),
            }
        }
        for lane in [&mut visible.running, &mut visible.to_do, &mut visible.ended] {
            sort.sort(cards, lane);
        }
        visible.slots = slot_positions(cards);
        visible
    }

    /// Returns the positions that a panel lists. The detail panel lists none.
    pub(crate) fn of_panel(&self, panel: Panel) -> &[usize] {
        match panel {
            Panel::Inbox => &self.inbox,
            Panel::Slots => &self.slots,
            Panel::Running => &self.running,
            Panel::ToDo => &self.to_do,
            Panel::Ended => &self.ended,
            Panel::Detail => &[],
        }
    }
}

/// A slot is a loop that a process drives. Filters do not hide slots; the oldest loop has slot 1.
fn slot_positions(cards: &[BoardCard]) -> Vec<usize> {
    let started = |at: &usize| cards.get(*at).and_then(|card| card.live.as_ref()).map_or(0, |live| live.started_at.0);
    let is_driven = |card: &BoardCard| card.live.as_ref().is_some_and(|live| live.is_driven);
    let mut slots: Vec<usize> = (0..cards.len()).filter(|at| cards.get(*at).is_some_and(is_driven)).collect();
    slots.sort_by_key(started);
    slots
}
