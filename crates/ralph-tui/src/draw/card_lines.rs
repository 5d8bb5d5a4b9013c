//! Cards and inbox items as lines.
use ralph_app::board::{BoardCard, CardKind, CardLane, LiveLoop};
use ralph_app::inbox::InboxItem;
use ralph_app::view::{format_age, format_cost};
use ralph_core::event::UnixMillis;
use ralph_util::sanitize::sanitize_text;
use ratatui::text::{Line, Span};

use super::text_width::fit;
use super::theme::Theme;
use crate::model::board_state::BoardState;
use crate::model::panel::Panel;

/// How many cards of a panel are counted for its height. More do not fit on a screen.
const COUNTED_CARDS: usize = 100;

/// With what a card is drawn.
#[derive(Clone, Copy)]
pub(crate) struct CardStyle {
    pub theme: Theme,
    pub now: UnixMillis,
    pub width: usize,
    /// For how long nothing is known.
    pub stale_for: Option<u64>,
}

/// Returns how many of the first cards of a panel take two lines.
pub(crate) fn tall_card_count(state: &BoardState, panel: Panel) -> usize {
    let positions = state.visible.of_panel(panel).iter().take(COUNTED_CARDS);
    positions.filter_map(|at| state.cards().get(*at)).filter(|card| is_tall(card)).count()
}

/// Finished and good is one line; running, waiting and failed are two.
pub(crate) fn is_tall(card: &BoardCard) -> bool {
    card.lane == CardLane::Running || card.has_failed()
}

pub(crate) fn card_lines(card: &BoardCard, style: CardStyle) -> Vec<Line<'static>> {
    let mut lines = vec![title_line(card, style)];
    if is_tall(card) {
        lines.push(state_line(card, style));
    }
    lines
}

fn title_line(card: &BoardCard, style: CardStyle) -> Line<'static> {
    let CardStyle { theme, width, .. } = style;
    let (mark, mark_style) = card_mark(card, style);
    let suffix = match card.lane {
        CardLane::Running => String::new(),
        CardLane::ToDo if !card.waits_for.is_empty() => format!("  after {}", card.waits_for.join(", ")),
        CardLane::ToDo => card.reason.as_ref().map(|reason| format!("  {reason}")).unwrap_or_default(),
        CardLane::Ended => ended_words(card),
    };
    let name = card.name().to_owned();
    let suffix = fit(&suffix, width / 2);
    let used = 2 + columns(&name) + 2 + columns(&suffix);
    let title = fit(&card.title, width.saturating_sub(used));
    let gap = width.saturating_sub(2 + columns(&name) + 2 + columns(&title) + columns(&suffix));
    Line::from(vec![
        Span::styled(format!("{mark} "), mark_style),
        Span::styled(name, theme.strong()),
        Span::raw(format!("  {title}{}", " ".repeat(gap))),
        Span::styled(suffix, theme.dim()),
    ])
}

fn ended_words(card: &BoardCard) -> String {
    let proof = card.proof.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
    let cost = card.cost_micros.map(|micros| format!(" {}", format_cost(Some(micros)))).unwrap_or_default();
    format!("  {}{proof}{cost}", card.status)
}

fn card_mark(card: &BoardCard, style: CardStyle) -> (&'static str, ratatui::style::Style) {
    let theme = style.theme;
    match (card.lane, &card.live) {
        (CardLane::Running, _) if style.stale_for.is_some() => ("?", theme.waiting()),
        (CardLane::Running, Some(live)) if !live.is_driven => ("✗", theme.bad()),
        (CardLane::Running, Some(live)) if live.status == "paused" => ("‖", theme.waiting()),
        (CardLane::Running, Some(live)) if live.wait.is_some() => ("…", theme.waiting()),
        (CardLane::Running, Some(_)) => ("▶", theme.active()),
        (CardLane::Running, None) if card.status == "running" => ("▶", theme.active()),
        (CardLane::Running, None) => ("·", theme.waiting()),
        (CardLane::ToDo, _) if card.waits_for.is_empty() => ("○", theme.plain()),
        (CardLane::ToDo, _) => ("·", theme.dim()),
        (CardLane::Ended, _) if card.has_failed() => ("✗", theme.bad()),
        (CardLane::Ended, _) if card.status == "cancelled" => ("-", theme.dim()),
        (CardLane::Ended, _) => ("✓", theme.good()),
    }
}

/// Returns the second line: position, state, agent, age of the last output, spend against the limit, unmet criteria.
fn state_line(card: &BoardCard, style: CardStyle) -> Line<'static> {
    let theme = style.theme;
    let mut spans = vec![Span::styled(format!("  {}", card.position()), theme.active())];
    let mut add = |text: String, style| spans.push(Span::styled(format!(" · {text}"), style));
    match &card.live {
        None if card.lane == CardLane::Running => add(idle_words(card), theme.waiting()),
        None => {
            let reason = card.reason.clone().unwrap_or_default();
            add(
                if reason.is_empty() { card.status.clone() } else { format!("{}: {reason}", card.status) },
                theme.bad(),
            );
        }
        Some(live) => {
            if let Some(age) = style.stale_for {
                add(format!("last seen {} ago", format_age(age)), theme.waiting());
            } else if let Some(wait) = &live.wait {
                add(wait.clone(), theme.waiting());
            }
            if live.is_pause_requested {
                add("pauses after this iteration".to_owned(), theme.waiting());
            }
            if let Some(words) = live.pending_guidance.last() {
                add(format!("guidance waits: {}", fit(words, 24)), theme.active());
            }
            if let Some(output) = live.last_output.as_ref().filter(|_| live.wait.is_none()) {
                add(format!("output {} ago", format_age(style.now.elapsed_since(output.at))), theme.plain());
            }
            add(spend_words(card.cost_micros, live), theme.plain());
            if !live.unmet.is_empty() {
                add(unmet_words(live), theme.plain());
            }
            if let Some(agent) = &card.agent {
                add(agent.clone(), theme.dim());
            }
        }
    }
    cut_line(spans, style.width)
}

fn idle_words(card: &BoardCard) -> String {
    match (card.kind, card.status.as_str()) {
        (CardKind::Task, status) => format!("{status}; no worker has it"),
        (CardKind::Run, "interrupted") => "died: no process drives it".to_owned(),
        (CardKind::Run | CardKind::Workflow, status) => status.to_owned(),
    }
}

/// Returns `$0.41/$5.00 [██░░░░]`, or that the cost is unknown.
fn spend_words(cost: Option<i64>, live: &LiveLoop) -> String {
    match (cost, live.max_cost_micros) {
        (None, Some(limit)) => format!("cost unknown, limit {}", format_cost(Some(limit))),
        (cost, None) => format_cost(cost),
        (Some(cost), Some(limit)) => {
            format!("{}/{} {}", format_cost(Some(cost)), format_cost(Some(limit)), bar(cost, limit))
        }
    }
}

fn bar(value: i64, limit: i64) -> String {
    const CELLS: i64 = 6;
    let filled = if limit > 0 { (value.saturating_mul(CELLS) / limit).clamp(0, CELLS) } else { 0 };
    let filled = usize::try_from(filled).unwrap_or(0);
    format!("[{}{}]", "█".repeat(filled), "░".repeat(6 - filled))
}

/// Returns the unmet criteria of each iteration as a sparkline, and the newest count.
pub(crate) fn unmet_words(live: &LiveLoop) -> String {
    let newest = live.unmet.last().copied().unwrap_or(0);
    format!("unmet {} {newest}/{}", sparkline(&live.unmet), live.criteria)
}

/// Going down is progress.
fn sparkline(values: &[usize]) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const SHOWN: usize = 12;
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let newest = values.get(values.len().saturating_sub(SHOWN)..).unwrap_or_default();
    newest.iter().map(|value| LEVELS.get(value * 7 / most).copied().unwrap_or('█')).collect()
}

/// Returns the lines of an inbox item: what waits, since when, and why.
pub(crate) fn inbox_lines(item: &InboxItem, style: CardStyle) -> Vec<Line<'static>> {
    let theme = style.theme;
    let age = item.since.map(|since| format!(" {}", format_age(style.now.elapsed_since(since)))).unwrap_or_default();
    let holds = if item.holds_slot { " holds a slot" } else { "" };
    let blocks = match item.blocked_tasks {
        0 => String::new(),
        1 => " blocks 1 task".to_owned(),
        count => format!(" blocks {count} tasks"),
    };
    let head = vec![
        Span::styled("! ", theme.bad()),
        Span::styled(sanitize_text(&item.id), theme.strong()),
        Span::styled(format!("  {}", item.kind.label()), theme.waiting()),
        Span::raw(format!("{age}{holds}{blocks}  {}", sanitize_text(&item.title))),
    ];
    let reason = sanitize_text(item.reason.lines().next().unwrap_or_default());
    vec![cut_line(head, style.width), cut_line(vec![Span::raw(format!("  {reason}"))], style.width)]
}

/// Cuts the spans of a line to a width.
pub(crate) fn cut_line(spans: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut shown = Vec::new();
    for span in spans {
        let text = fit(&span.content, left);
        left -= columns(&text).min(left);
        shown.push(Span::styled(text, span.style));
    }
    Line::from(shown)
}

fn columns(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U4
    #[test]
    fn a_sparkline_goes_down_with_the_unmet_criteria() {
        assert_eq!(sparkline(&[4, 2, 1, 0]), "█▄▂▁");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
    }

    // spec: U4
    #[test]
    fn spend_is_shown_against_its_limit_and_never_past_the_end_of_its_bar() {
        assert_eq!(bar(1, 2), "[███░░░]");
        assert_eq!(bar(9, 2), "[██████]");
        assert_eq!(bar(1, 0), "[░░░░░░]");
    }
}
