//! The slots: each loop that a process drives, with its task, iteration, running time, last tool call and cost.
use ralph_app::board::{BoardCard, CardKind, LiveLoop};
use ralph_app::view::{format_age, format_cost, format_tokens};
use ratatui::text::{Line, Span};

use super::card_lines::{CardStyle, cut_line};

/// From this width on a slot needs two lines instead of seven.
const WIDE_SLOT: u16 = 76;
const NARROW_HEIGHT: usize = 7;

pub(crate) fn slot_height(width: u16) -> usize {
    if width >= WIDE_SLOT { 2 } else { NARROW_HEIGHT }
}

/// Returns the lines of the slot with this number, from 1.
pub(crate) fn slot_lines(number: usize, card: &BoardCard, style: CardStyle) -> Vec<Line<'static>> {
    let Some(live) = &card.live else { return Vec::new() };
    let head = format!("Slot {number}: {}", card.role);
    let subject = match card.kind {
        CardKind::Task => format!("Task: {}", card.id),
        CardKind::Run | CardKind::Workflow => format!("Run: {}", card.name()),
    };
    let attempt = if live.attempt > 1 { format!(", attempt {}", live.attempt) } else { String::new() };
    let position = format!("Ralph: iteration {}/{}{attempt}", card.iteration.max(1), card.max_iterations);
    let running = running_words(live, style);
    let tool = tool_words(live);
    let cost = cost_words(card, live);
    let tokens = format_tokens(live.input_tokens, live.output_tokens);
    let tokens = tokens.map(|tokens| format!(" · tokens {tokens}")).unwrap_or_default();
    let context = context_words(live);
    if slot_height(u16::try_from(style.width + 2).unwrap_or(u16::MAX)) == 2 {
        let first = format!("   {subject}   {position}   {running}");
        let second = format!("  {tool} · {cost}{context}{tokens}");
        return vec![
            cut_line(vec![Span::styled(head, style.theme.strong()), Span::raw(first)], style.width),
            cut_line(vec![Span::raw(second)], style.width),
        ];
    }
    let mut lines = vec![cut_line(vec![Span::styled(head, style.theme.strong())], style.width)];
    let (position, cost) = (format!("{position}{context}"), format!("{cost}{tokens}"));
    let below = [subject, position, running, tool, cost]
        .map(|text| cut_line(vec![Span::raw(format!("  {text}"))], style.width));
    lines.extend(below);
    lines.push(Line::default());
    lines
}

/// Returns `Running: 5m 23s`. Old data is never shown as running.
fn running_words(live: &LiveLoop, style: CardStyle) -> String {
    if let Some(age) = style.stale_for {
        return format!("Last seen: {} ago", format_age(age));
    }
    let elapsed = format_running_time(style.now.elapsed_since(live.started_at));
    match &live.wait {
        Some(wait) => format!("Waiting: {wait} ({elapsed})"),
        None => format!("Running: {elapsed}"),
    }
}

fn format_running_time(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

fn tool_words(live: &LiveLoop) -> String {
    match live.last_output.as_ref().and_then(|output| output.tool.as_ref()) {
        Some(tool) => format!("Tool: {tool}"),
        None => "Tool: none yet".to_owned(),
    }
}

fn cost_words(card: &BoardCard, live: &LiveLoop) -> String {
    let limit = live.max_cost_micros.map(|micros| format!(" of {}", format_cost(Some(micros)))).unwrap_or_default();
    format!("Cost: {}{limit}", format_cost(card.cost_micros).trim_start_matches("cost "))
}

/// Returns the used part of the context, if the agent reports it.
fn context_words(live: &LiveLoop) -> String {
    let percent = live.last_output.as_ref().and_then(|output| output.context_percent);
    percent.map(|percent| format!(" · context {percent} %")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U4
    #[test]
    fn the_running_time_has_two_units() {
        assert_eq!(format_running_time(323_000), "5m 23s");
        assert_eq!(format_running_time(9_000), "9s");
        assert_eq!(format_running_time(7_260_000), "2h 1m");
    }
}
