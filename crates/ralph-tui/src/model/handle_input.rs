//! How an input changes the state, and which actions follow.
use super::board_action::BoardAction;
use super::board_input::{BoardInput, KeyPress, OrderResult};
use super::board_state::BoardState;
use super::card_filter::CardFilter;
use super::change_scope::change_scope;
use super::detail_pane::DetailView;
use super::overlay::Overlay;
use super::palette::PaletteLine;
use super::panel::Panel;
use super::perform_command::{answer_text, open_selected, perform_command, view_subject};
use super::text_field::TextField;
use crate::keys::{BoardCommand, binding_for_key, search_bindings};
use ralph_app::board::{BoardCard, BoardSnapshot};
use std::sync::Arc;

/// Applies an input to the state. Returns what the surroundings have to do.
pub(crate) fn handle_input(state: &mut BoardState, input: BoardInput) -> Vec<BoardAction> {
    let mut actions = apply_input(state, input);
    actions.extend(change_scope(state));
    actions
}

fn apply_input(state: &mut BoardState, input: BoardInput) -> Vec<BoardAction> {
    match input {
        BoardInput::Key(key) => press_key(state, key),
        BoardInput::Paste(text) => paste(state, &text),
        BoardInput::Click { panel, line } => click(state, panel, line),
        BoardInput::Scroll { panel, lines } => scroll_panel(state, panel, lines),
        BoardInput::Tick(now) => {
            state.now = now;
            state.expire_notice();
            Vec::new()
        }
        BoardInput::Snapshot(snapshot) => receive_snapshot(state, snapshot),
        BoardInput::Unchanged(at) => {
            state.confirm(at);
            Vec::new()
        }
        BoardInput::LoadFailed(text) => {
            state.load_problem = Some(text);
            Vec::new()
        }
        BoardInput::Detail { subject, view, content } => {
            state.detail.receive(&subject, view, content);
            Vec::new()
        }
        BoardInput::OrderDone(OrderResult { is_done, text }) => {
            state.pending_orders = state.pending_orders.saturating_sub(1);
            if is_done {
                state.show_notice(text);
            } else {
                state.show_error(text);
            }
            let mut actions = vec![BoardAction::Reload];
            actions.extend(reload_detail(state));
            actions
        }
    }
}

fn receive_snapshot(state: &mut BoardState, snapshot: Arc<BoardSnapshot>) -> Vec<BoardAction> {
    state.confirm(snapshot.taken_at);
    let new = newly_waiting(state.snapshot.as_deref(), &snapshot);
    let is_first = state.snapshot.is_none();
    let changed = state.detail.subject.as_ref().is_some_and(|subject| {
        let card_in = |snapshot: &BoardSnapshot| card_without_output(snapshot, &subject.id);
        state.snapshot.as_deref().and_then(card_in) != card_in(&snapshot)
    });
    state.snapshot = Some(snapshot);
    state.refresh_visible();
    if is_first {
        let first = [Panel::Inbox, Panel::Running, Panel::ToDo, Panel::Ended];
        state.focus = first.into_iter().find(|panel| state.line_count(*panel) > 0).unwrap_or(Panel::Inbox);
    }
    let mut actions: Vec<BoardAction> = new.into_iter().map(BoardAction::Notify).collect();
    if !state.waits_for_cards()
        && let Some(id) = state.pending_jump.take()
    {
        actions.extend(jump_to(state, &id));
    }
    if changed || is_first {
        actions.extend(reload_detail(state));
    }
    if state.focus != Panel::Detail {
        actions.extend(preview_selected(state));
    }
    actions
}

/// Returns a card without its last output, which changes all the time and is not part of the loaded views.
fn card_without_output(snapshot: &BoardSnapshot, id: &str) -> Option<BoardCard> {
    let mut card = snapshot.cards.iter().find(|card| card.id == id).cloned()?;
    if let Some(live) = &mut card.live {
        live.last_output = None;
    }
    Some(card)
}

/// Describes the items that were not in the inbox before: what waits, where and why.
fn newly_waiting(before: Option<&BoardSnapshot>, now: &BoardSnapshot) -> Vec<String> {
    let Some(before) = before else { return Vec::new() };
    let is_new = |item: &&ralph_app::inbox::InboxItem| {
        !before.inbox.iter().any(|known| known.id == item.id && known.kind == item.kind && known.run == item.run)
    };
    let describe = |item: &ralph_app::inbox::InboxItem| {
        format!("{} · {}: {}", item.id, item.kind.label(), item.reason.lines().next().unwrap_or_default())
    };
    now.inbox.iter().filter(is_new).map(describe).collect()
}

/// Reads the open view again. The output follows by itself.
fn reload_detail(state: &BoardState) -> Option<BoardAction> {
    let subject = state.detail.subject.clone()?;
    let view = state.detail.view;
    (view != DetailView::Output).then_some(BoardAction::Load { subject, view })
}

/// Shows the summary of the selected card next to the lists. It never opens the output by itself.
pub(crate) fn preview_selected(state: &mut BoardState) -> Vec<BoardAction> {
    let Some(subject) = state.subject() else { return Vec::new() };
    let is_shown =
        state.detail.subject.as_ref().is_some_and(|shown| shown.id == subject.id && shown.item == subject.item);
    if is_shown {
        return Vec::new();
    }
    let view = match (&subject.item, subject.kind) {
        (Some(_), _) => DetailView::InboxText,
        (None, ralph_app::board::CardKind::Workflow) => DetailView::Graph,
        (None, _) => DetailView::Summary,
    };
    view_subject(state, subject, view)
}

fn press_key(state: &mut BoardState, key: KeyPress) -> Vec<BoardAction> {
    if state.notice.as_ref().is_some_and(|notice| notice.is_error) {
        state.notice = None;
    }
    match state.overlay.take() {
        Some(overlay) => press_in_overlay(state, overlay, key),
        None => match (binding_for_key(state, key), key) {
            (_, KeyPress::Char(character)) if state.user_commands.contains_key(&character) => {
                run_user_command(state, character)
            }
            (Some(binding), _) => perform_command(state, binding.command),
            (None, _) => {
                state.show_error(format!("{} does nothing here; ? lists the keys", key.name()));
                Vec::new()
            }
        },
    }
}

fn run_user_command(state: &mut BoardState, key: char) -> Vec<BoardAction> {
    match state.subject() {
        Some(subject) => vec![BoardAction::RunUserCommand { key: key.to_string(), subject }],
        None => {
            state.show_error("select a task or run first");
            Vec::new()
        }
    }
}

fn press_in_overlay(state: &mut BoardState, overlay: Overlay, key: KeyPress) -> Vec<BoardAction> {
    if matches!(key, KeyPress::Escape | KeyPress::Control('c')) {
        return Vec::new();
    }
    match overlay {
        Overlay::Help { query, selected } => press_in_help(state, HelpOverlay { query, selected }, key),
        Overlay::Palette(mut field) => match key {
            KeyPress::Enter => run_palette_line(state, &field.text),
            key => {
                field.press(key);
                state.overlay = Some(Overlay::Palette(field));
                Vec::new()
            }
        },
        Overlay::Search(mut field) => {
            let is_done = key == KeyPress::Enter;
            if !is_done {
                field.press(key);
                state.overlay = Some(Overlay::Search(field.clone()));
            }
            apply_search(state, &field.text, is_done);
            Vec::new()
        }
        Overlay::Ask(mut asked) => match key {
            KeyPress::Enter => answer_text(state, *asked),
            key => {
                asked.field.press(key);
                state.overlay = Some(Overlay::Ask(asked));
                Vec::new()
            }
        },
        Overlay::Confirm { question, action } => match key {
            KeyPress::Char('y' | 'Y') => {
                state.pending_orders += 1;
                vec![*action]
            }
            KeyPress::Char('n' | 'N') => Vec::new(),
            // Enter is too easily pressed by mistake.
            _ => {
                state.overlay = Some(Overlay::Confirm { question, action });
                Vec::new()
            }
        },
    }
}

struct HelpOverlay {
    query: TextField,
    selected: usize,
}

fn press_in_help(state: &mut BoardState, help: HelpOverlay, key: KeyPress) -> Vec<BoardAction> {
    let HelpOverlay { mut query, mut selected } = help;
    let found = search_bindings(state, &query.text);
    match key {
        KeyPress::Enter => {
            return match found.get(selected) {
                Some(binding) if binding.command != BoardCommand::ShowHelp => perform_command(state, binding.command),
                Some(_) | None => Vec::new(),
            };
        }
        KeyPress::Down | KeyPress::Tab => selected = (selected + 1).min(found.len().saturating_sub(1)),
        KeyPress::Up | KeyPress::BackTab => selected = selected.saturating_sub(1),
        KeyPress::PageDown => selected = (selected + 10).min(found.len().saturating_sub(1)),
        KeyPress::PageUp => selected = selected.saturating_sub(10),
        key => {
            query.press(key);
            selected = 0;
        }
    }
    state.overlay = Some(Overlay::Help { query, selected });
    Vec::new()
}

fn run_palette_line(state: &mut BoardState, text: &str) -> Vec<BoardAction> {
    match PaletteLine::parse(text) {
        Err(problem) => state.show_error(problem),
        Ok(PaletteLine::Quit) => return vec![BoardAction::Quit],
        Ok(PaletteLine::Help) => return perform_command(state, BoardCommand::ShowHelp),
        Ok(PaletteLine::Jump(id)) => return jump_to(state, &id),
        Ok(PaletteLine::ShowAll) => {
            (state.filter, state.sort) = (CardFilter::default(), Default::default());
            state.refresh_visible();
        }
        Ok(PaletteLine::Sort(column)) => {
            state.sort.column = column;
            state.refresh_visible();
        }
        Ok(PaletteLine::Filter(filter)) => {
            state.filter = filter;
            state.refresh_visible();
            focus_lane_with_cards(state);
        }
    }
    Vec::new()
}

/// Moves the focus to a lane that has cards after a filter, so that its hits are in sight.
fn focus_lane_with_cards(state: &mut BoardState) {
    let lanes = [Panel::Running, Panel::ToDo, Panel::Ended];
    if !lanes.contains(&state.focus) || state.line_count(state.focus) == 0 {
        state.focus = lanes.into_iter().find(|lane| state.line_count(*lane) > 0).unwrap_or(state.focus);
    }
}

fn jump_to(state: &mut BoardState, id: &str) -> Vec<BoardAction> {
    let is_named = |text: &str| text == id || text.starts_with(id) || text.ends_with(id);
    for panel in [Panel::Running, Panel::ToDo, Panel::Ended] {
        let is_hit = |line: &usize| {
            state
                .subject_at(panel, *line)
                .is_some_and(|subject| is_named(&subject.id) || subject.run.as_deref().is_some_and(is_named))
        };
        if let Some(line) = (0..state.line_count(panel)).find(is_hit) {
            state.focus = panel;
            state.select_line(panel, line);
            return open_selected(state);
        }
    }
    if state.snapshot.as_ref().is_some_and(|snapshot| snapshot.is_partial()) && state.pending_jump.is_none() {
        state.pending_jump = Some(id.to_owned());
        state.show_notice(format!("reading all tasks to find {id}"));
        return Vec::new();
    }
    state.show_error(format!("nothing here has the id {id}; :all removes the filter"));
    Vec::new()
}

/// Filters the lanes while the text is typed, or searches the open text when it is complete.
fn apply_search(state: &mut BoardState, text: &str, is_done: bool) {
    if state.focus == Panel::Detail {
        match state.detail.view {
            DetailView::Output => {
                text.clone_into(&mut state.output.search);
                if is_done {
                    state.output.find_next(true);
                }
            }
            _ => {
                text.clone_into(&mut state.detail.search);
                if is_done {
                    state.detail.find_next(true);
                }
            }
        }
        return;
    }
    match CardFilter::parse(text) {
        Ok(filter) => {
            state.filter = filter;
            state.refresh_visible();
            if is_done {
                focus_lane_with_cards(state);
            }
        }
        Err(problem) if is_done => state.show_error(problem),
        // An expression that is still being typed.
        Err(_) => {}
    }
}

fn paste(state: &mut BoardState, text: &str) -> Vec<BoardAction> {
    match &mut state.overlay {
        Some(Overlay::Help { query: field, .. } | Overlay::Palette(field) | Overlay::Search(field)) => {
            field.insert(text);
        }
        Some(Overlay::Ask(asked)) => asked.field.insert(text),
        Some(Overlay::Confirm { .. }) | None => {}
    }
    Vec::new()
}

fn click(state: &mut BoardState, panel: Panel, line: usize) -> Vec<BoardAction> {
    if state.overlay.is_some() {
        return Vec::new();
    }
    let is_second = state.focus == panel && state.selected_line(panel) == line;
    state.focus = panel;
    if panel == Panel::Detail || line >= state.line_count(panel) {
        return Vec::new();
    }
    state.select_line(panel, line);
    if is_second { open_selected(state) } else { preview_selected(state) }
}

fn scroll_panel(state: &mut BoardState, panel: Panel, lines: i32) -> Vec<BoardAction> {
    let focus = std::mem::replace(&mut state.focus, panel);
    let command = if lines > 0 { BoardCommand::MoveDown } else { BoardCommand::MoveUp };
    let actions = (0..lines.unsigned_abs()).flat_map(|_| perform_command(state, command)).collect();
    if panel != Panel::Detail {
        state.focus = focus;
    }
    actions
}
