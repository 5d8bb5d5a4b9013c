//! A panel that lists cards, slots or inbox items. Only the lines in sight are made.
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Borders, Paragraph};

use super::card_lines::{CardStyle, card_lines, inbox_lines, is_tall};
use super::slot_lines::{slot_height, slot_lines};
use super::theme::Theme;
use crate::model::board_state::BoardState;
use crate::model::panel::Panel;

/// Returns the border of a panel with its title. The focused panel has a thick border, which needs no colour.
pub(crate) fn panel_block(state: &BoardState, theme: Theme, panel: Panel, title: &str) -> Block<'static> {
    let is_focused = state.focus == panel;
    let kind = if is_focused { BorderType::Thick } else { BorderType::Plain };
    let title = Line::styled(format!(" {title} "), if is_focused { theme.strong() } else { theme.plain() });
    Block::new().borders(Borders::ALL).border_type(kind).border_style(theme.border(is_focused)).title(title)
}

pub(crate) fn draw_list(frame: &mut Frame<'_>, state: &BoardState, theme: Theme, panel: Panel, area: Rect) {
    let count = state.line_count(panel);
    let title = list_title(state, panel, count);
    if area.height < 3 {
        let mark = if state.focus == panel { "▶" } else { "─" };
        let style = if state.focus == panel { theme.strong() } else { theme.dim() };
        frame.render_widget(Paragraph::new(Line::styled(format!("{mark} {title}"), style)), area);
        return;
    }
    let block = panel_block(state, theme, panel, &title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let style = CardStyle { theme, now: state.now, width: usize::from(inner.width), stale_for: state.stale_for() };
    let first = first_entry(state, panel, inner);
    let mut y = inner.y;
    for entry in first..count {
        if y >= inner.bottom() {
            break;
        }
        let lines = entry_lines(state, panel, entry, style);
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(inner.bottom() - y);
        let place = Rect { y, height, ..inner };
        let is_selected = state.focus == panel && state.selected_line(panel) == entry;
        frame.render_widget(Paragraph::new(lines), place);
        if is_selected {
            let marked = if panel == Panel::Slots { Rect { height: height.min(1), ..place } } else { place };
            frame.buffer_mut().set_style(marked, theme.selected());
        }
        y += height;
    }
}

fn list_title(state: &BoardState, panel: Panel, count: usize) -> String {
    let number = panel.number();
    match (panel, count) {
        (_, _) if state.snapshot.is_none() => format!("{number} {}: loading", panel.title()),
        (Panel::Inbox, 0) => format!("{number} Inbox: nothing waits for you"),
        (Panel::Slots, 0) => format!("{number} Slots: no loop is running"),
        (Panel::Inbox | Panel::Slots, count) => format!("{number} {} ({count})", panel.title()),
        (lane, count) if state.filter.is_empty() => {
            let totals = state.snapshot.as_ref().map(|snapshot| snapshot.totals).unwrap_or_default();
            let total = match lane {
                Panel::ToDo => totals.to_do.max(count),
                Panel::Ended => totals.ended.max(count),
                _ => count,
            };
            format!("{number} {} ({total})", lane.title())
        }
        (lane, count) => {
            let so_far = if state.waits_for_cards() { " so far" } else { "" };
            format!("{number} {} ({count}{so_far}) /{}", lane.title(), state.filter.text)
        }
    }
}

fn entry_lines(state: &BoardState, panel: Panel, entry: usize, style: CardStyle) -> Vec<Line<'static>> {
    let Some(at) = state.visible.of_panel(panel).get(entry).copied() else { return Vec::new() };
    match panel {
        Panel::Inbox => state.inbox().get(at).map(|item| inbox_lines(item, style)).unwrap_or_default(),
        Panel::Slots => state.cards().get(at).map(|card| slot_lines(entry + 1, card, style)).unwrap_or_default(),
        Panel::Running | Panel::ToDo | Panel::Ended => {
            state.cards().get(at).map(|card| card_lines(card, style)).unwrap_or_default()
        }
        Panel::Detail => Vec::new(),
    }
}

/// Returns the entry at the top, so that the selected one is in sight near the middle. Looks only at entries that can be on
/// the screen.
pub(crate) fn first_entry(state: &BoardState, panel: Panel, inner: Rect) -> usize {
    let selected = state.selected_line(panel);
    let room = usize::from(inner.height);
    let mut first = selected;
    let mut used = entry_height(state, panel, selected, inner.width);
    // Entries below the selected one that there are to show leave it near the middle.
    let below = (selected + 1..state.line_count(panel)).take(room / 2);
    let below: usize = below.map(|entry| entry_height(state, panel, entry, inner.width)).sum();
    let room_above = room.saturating_sub(below.min(room / 2));
    while let Some(previous) = first.checked_sub(1) {
        let height = entry_height(state, panel, previous, inner.width);
        if used + height > room_above {
            break;
        }
        used += height;
        first = previous;
    }
    first
}

pub(crate) fn entry_height(state: &BoardState, panel: Panel, entry: usize, width: u16) -> usize {
    match panel {
        Panel::Inbox => 2,
        Panel::Slots => slot_height(width + 2),
        Panel::Running | Panel::ToDo | Panel::Ended => {
            let at = state.visible.of_panel(panel).get(entry).copied();
            1 + usize::from(at.and_then(|at| state.cards().get(at)).is_some_and(is_tall))
        }
        Panel::Detail => 1,
    }
}

/// Returns the entry at a row of the panel.
pub(crate) fn entry_at_row(state: &BoardState, panel: Panel, inner: Rect, row: u16) -> usize {
    let mut y = inner.y;
    let mut entry = first_entry(state, panel, inner);
    while y < inner.bottom() && entry < state.line_count(panel) {
        let height = u16::try_from(entry_height(state, panel, entry, inner.width)).unwrap_or(1);
        if row < y + height {
            return entry;
        }
        y += height;
        entry += 1;
    }
    entry
}
