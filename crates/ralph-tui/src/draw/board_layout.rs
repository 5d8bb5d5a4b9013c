//! Where the panels are, by the size of the terminal: one column, two, or three.
use ratatui::layout::Rect;

use crate::model::board_state::BoardState;
use crate::model::panel::Panel;

/// From this width on there are two columns, and from the next one three.
const TWO_COLUMNS: u16 = 100;
const THREE_COLUMNS: u16 = 160;
const HEADER_HEIGHT: u16 = 2;
const FOOTER_HEIGHT: u16 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoardLayout {
    pub header: Rect,
    pub panels: Vec<PanelArea>,
    pub footer: Rect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PanelArea {
    pub panel: Panel,
    pub area: Rect,
}

/// The height that a panel asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PanelWish {
    panel: Panel,
    /// With its border.
    wanted: u16,
    is_focused: bool,
}

impl BoardLayout {
    pub(crate) fn new(state: &BoardState, area: Rect) -> Self {
        let header = Rect { height: HEADER_HEIGHT.min(area.height), ..area };
        let footer_height = FOOTER_HEIGHT.min(area.height.saturating_sub(header.height));
        let footer = Rect { y: area.bottom().saturating_sub(footer_height), height: footer_height, ..area };
        let body =
            Rect { y: header.bottom(), height: area.height.saturating_sub(header.height + footer.height), ..area };
        Self { header, panels: place_panels(state, body), footer }
    }

    /// Returns the panel at a place.
    pub(crate) fn panel_at(&self, column: u16, row: u16) -> Option<PanelArea> {
        let is_hit = |placed: &&PanelArea| placed.area.contains(ratatui::layout::Position { x: column, y: row });
        self.panels.iter().find(is_hit).copied()
    }
}

fn place_panels(state: &BoardState, body: Rect) -> Vec<PanelArea> {
    if state.is_zoomed {
        return vec![PanelArea { panel: state.focus, area: body }];
    }
    if body.width < TWO_COLUMNS {
        return match state.focus {
            Panel::Detail => vec![PanelArea { panel: Panel::Detail, area: body }],
            _ => stack(state, &Panel::LISTS, body),
        };
    }
    if body.width < THREE_COLUMNS {
        let left = Rect { width: body.width * 45 / 100, ..body };
        let right = Rect { x: left.right(), width: body.width - left.width, ..body };
        let mut panels = stack(state, &[Panel::Inbox, Panel::Running, Panel::ToDo, Panel::Ended], left);
        panels.extend(stack_slots_and_detail(state, right));
        return panels;
    }
    let left = Rect { width: body.width * 27 / 100, ..body };
    let middle = Rect { x: left.right(), width: body.width * 33 / 100, ..body };
    let right = Rect { x: middle.right(), width: body.width - left.width - middle.width, ..body };
    let mut panels = stack(state, &[Panel::Inbox, Panel::Slots], left);
    panels.extend(stack(state, &[Panel::Running, Panel::ToDo, Panel::Ended], middle));
    panels.push(PanelArea { panel: Panel::Detail, area: right });
    panels
}

/// The detail has more than half of the column.
fn stack_slots_and_detail(state: &BoardState, area: Rect) -> Vec<PanelArea> {
    let wanted = wish_of(state, Panel::Slots, area.width).wanted;
    let most = if state.focus == Panel::Slots { area.height } else { area.height * 2 / 5 };
    let slots = Rect { height: wanted.min(most).min(area.height.saturating_sub(LEAST_HEIGHT)), ..area };
    let detail = Rect { y: slots.bottom(), height: area.height - slots.height, ..area };
    vec![PanelArea { panel: Panel::Slots, area: slots }, PanelArea { panel: Panel::Detail, area: detail }]
}

/// Puts panels below each other. The focused one gets what the others leave.
fn stack(state: &BoardState, panels: &[Panel], area: Rect) -> Vec<PanelArea> {
    let wishes: Vec<PanelWish> = panels.iter().map(|panel| wish_of(state, *panel, area.width)).collect();
    let mut y = area.y;
    let heights = share_height(&wishes, area.height);
    let place = |(wish, height): (&PanelWish, u16)| {
        let placed = PanelArea { panel: wish.panel, area: Rect { y, height, ..area } };
        y += height;
        placed
    };
    wishes.iter().zip(heights).map(place).collect()
}

fn wish_of(state: &BoardState, panel: Panel, width: u16) -> PanelWish {
    let count = state.line_count(panel);
    let lines = match panel {
        Panel::Detail => usize::from(u16::MAX),
        Panel::Slots => count * super::slot_lines::slot_height(width),
        Panel::Inbox | Panel::Running => count * 2,
        Panel::ToDo | Panel::Ended => count + super::card_lines::tall_card_count(state, panel),
    };
    // An empty panel is only its title.
    let wanted = if count == 0 && panel != Panel::Detail { 1 } else { lines + 2 };
    PanelWish { panel, wanted: u16::try_from(wanted).unwrap_or(u16::MAX), is_focused: state.focus == panel }
}

/// The least height of a panel with lines: its border and two lines.
const LEAST_HEIGHT: u16 = 4;

fn share_height(wishes: &[PanelWish], total: u16) -> Vec<u16> {
    let mut heights: Vec<u16> = wishes.iter().map(|wish| wish.wanted.min(LEAST_HEIGHT)).collect();
    // Too low for all of them: the others show their titles only.
    while heights.iter().sum::<u16>() > total {
        let tallest =
            (0..wishes.len()).rev().filter(|at| !wishes[*at].is_focused || heights.iter().all(|height| *height <= 1));
        let Some(at) = tallest.max_by_key(|at| heights[*at]).filter(|at| heights[*at] > 0) else { break };
        heights[at] -= 1;
    }
    let mut rest = total.saturating_sub(heights.iter().sum());
    let focused = wishes.iter().position(|wish| wish.is_focused);
    let order = focused.into_iter().chain(0..wishes.len());
    for at in order {
        let more = wishes[at].wanted.saturating_sub(heights[at]).min(rest);
        heights[at] += more;
        rest -= more;
    }
    // The rest belongs to the focused panel, or to the last one.
    if let Some(height) = heights.get_mut(focused.unwrap_or(wishes.len().saturating_sub(1))) {
        *height += rest;
    }
    heights
}
