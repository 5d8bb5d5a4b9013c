//! Help, palette, questions and confirmations over the board.
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Clear, Paragraph};

use super::card_lines::cut_line;
use super::text_width::{pad, wrap};
use super::theme::Theme;
use crate::keys::search_bindings;
use crate::model::board_state::BoardState;
use crate::model::overlay::Overlay;
use crate::model::text_field::TextField;

pub(crate) fn draw_overlay(frame: &mut Frame<'_>, state: &BoardState, theme: Theme) {
    match &state.overlay {
        None => {}
        Some(Overlay::Help { query, selected }) => draw_help(frame, state, theme, query, *selected),
        Some(Overlay::Palette(field)) => draw_field(frame, theme, ":", field),
        Some(Overlay::Search(field)) => draw_field(frame, theme, "/", field),
        Some(Overlay::Ask(asked)) => draw_question(frame, theme, &asked.question, Some(&asked.field)),
        Some(Overlay::Confirm { question, .. }) => draw_question(frame, theme, question, None),
    }
}

/// Draws a line of input over the last line of the screen.
fn draw_field(frame: &mut Frame<'_>, theme: Theme, prefix: &str, field: &TextField) {
    let area = frame.area();
    let line = Rect { y: area.bottom().saturating_sub(1), height: 1.min(area.height), ..area };
    frame.render_widget(Clear, line);
    frame.render_widget(Paragraph::new(field_line(theme, prefix, field, usize::from(line.width))), line);
}

/// The character at the cursor is reversed: the cursor of the terminal stays hidden.
fn field_line(theme: Theme, prefix: &str, field: &TextField, width: usize) -> Line<'static> {
    let before: String = field.text.chars().take(field.cursor).collect();
    let at: String = field.text.chars().skip(field.cursor).take(1).collect();
    let after: String = field.text.chars().skip(field.cursor + 1).collect();
    // The end of a long text is what is being typed.
    let room = width.saturating_sub(prefix.len() + 2);
    let skipped = before.chars().count().saturating_sub(room);
    let before: String = before.chars().skip(skipped).collect();
    let at = if at.is_empty() { " ".to_owned() } else { at };
    let spans = vec![
        Span::styled(prefix.to_owned(), theme.strong()),
        Span::raw(before),
        Span::styled(at, theme.selected()),
        Span::raw(after),
    ];
    cut_line(spans, width)
}

fn draw_question(frame: &mut Frame<'_>, theme: Theme, question: &str, field: Option<&TextField>) {
    let area = frame.area();
    let width = area.width.saturating_sub(4).min(90);
    let inner_width = usize::from(width.saturating_sub(4));
    let mut lines: Vec<Line<'static>> = wrap(question, inner_width).into_iter().map(Line::raw).collect();
    lines.push(Line::default());
    let keys = match field {
        Some(field) => {
            lines.push(field_line(theme, "> ", field, inner_width));
            " enter: send   esc: back "
        }
        None => {
            lines.push(Line::styled("y: yes   n or esc: no", theme.strong()));
            " nothing has happened yet "
        }
    };
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let place = centered(area, width, height);
    frame.render_widget(Clear, place);
    let block = Block::new().borders(Borders::ALL).border_type(BorderType::Double).title_bottom(Line::raw(keys));
    let inner = block.inner(place);
    frame.render_widget(block, place);
    frame.render_widget(Paragraph::new(lines), Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner });
}

fn draw_help(frame: &mut Frame<'_>, state: &BoardState, theme: Theme, query: &TextField, selected: usize) {
    let area = frame.area();
    let place = centered(area, area.width.saturating_sub(4).min(84), area.height.saturating_sub(2));
    frame.render_widget(Clear, place);
    let title = Line::styled(" keys that are valid here ", theme.strong());
    let bottom = Line::raw(" type to search   enter: do it   esc: back ");
    let block = Block::new().borders(Borders::ALL).border_type(BorderType::Double).title(title).title_bottom(bottom);
    let inner = block.inner(place);
    frame.render_widget(block, place);
    let width = usize::from(inner.width);
    let mut lines = vec![field_line(theme, "search: ", query, width)];
    let found = search_bindings(state, &query.text);
    let room = usize::from(inner.height).saturating_sub(1);
    let first = selected.saturating_sub(room.saturating_sub(1));
    for (at, binding) in found.iter().enumerate().skip(first).take(room) {
        let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
        let text = format!(" {}  {}", pad(&keys.join(" "), 16), binding.help);
        let style = if at == selected { theme.selected() } else { theme.plain() };
        lines.push(cut_line(vec![Span::styled(pad(&text, width), style)], width));
    }
    if found.is_empty() {
        lines.push(Line::raw(" no key matches"));
    }
    for (key, command) in state.user_commands.iter().filter(|_| query.text.is_empty()) {
        lines.push(cut_line(
            vec![Span::styled(format!(" {}  {command}", pad(&key.to_string(), 16)), theme.dim())],
            width,
        ));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}
