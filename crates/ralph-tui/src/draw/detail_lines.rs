//! The criteria of runs by iteration, as lines.
use std::time::Duration;

use ralph_app::board::{BoardCard, CheckMark, CriterionRow, RunGrid};
use ralph_app::view::{format_age, format_cost, format_tokens, run_title, short_id};
use ralph_core::event::UnixMillis;
use ratatui::text::{Line, Span};

use ralph_util::duration::format_rounded;

use super::card_lines::{cut_line, unmet_words};
use super::text_width::{pad, wrap};
use super::theme::Theme;

/// With what the summary is drawn.
#[derive(Clone, Copy)]
pub(crate) struct SummaryStyle {
    pub theme: Theme,
    pub width: usize,
    pub now: UnixMillis,
    /// The selected iteration of the newest run.
    pub selected: Option<u32>,
}

/// The newest iterations that have a cell.
const SHOWN_ITERATIONS: usize = 40;

pub(crate) fn summary_lines(card: Option<&BoardCard>, grids: &[RunGrid], style: SummaryStyle) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(card) = card {
        lines.extend(card_head(card, style));
    }
    for (at, grid) in grids.iter().enumerate() {
        // The newest run comes first.
        let selected = style.selected.filter(|_| at == 0);
        lines.extend(grid_lines(grid, SummaryStyle { selected, ..style }));
    }
    lines
}

fn card_head(card: &BoardCard, style: SummaryStyle) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> =
        wrap(&card.title, style.width).into_iter().map(|line| Line::styled(line, style.theme.strong())).collect();
    let mut facts = vec![card.status.clone()];
    if card.max_iterations > 0 {
        facts.push(card.position());
    }
    facts.extend(card.priority.map(|priority| format!("priority {priority}")));
    if !card.waits_for.is_empty() {
        facts.push(format!("after {}", card.waits_for.join(", ")));
    }
    if let Some(live) = &card.live {
        facts.extend(live.wait.clone());
        if !live.unmet.is_empty() {
            facts.push(unmet_words(live));
        }
        facts.extend(live.pending_guidance.iter().map(|words| format!("guidance waits for the next prompt: {words}")));
    }
    lines.extend(wrap(&facts.join(" · "), style.width).into_iter().map(Line::raw));
    lines.push(Line::default());
    lines
}

fn grid_lines(grid: &RunGrid, style: SummaryStyle) -> Vec<Line<'static>> {
    let SummaryStyle { theme, width, now, .. } = style;
    let run = &grid.run;
    let role = run.role.as_deref().unwrap_or(&run.kind);
    let age = format_age(now.elapsed_since(UnixMillis(run.started_at)));
    let head = format!("{role} · run {} · {} · started {age} ago", short_id(&run.id), run.agent);
    let mut lines = vec![cut_line(vec![Span::styled(head, theme.strong())], width)];
    if run.task.is_none() {
        lines.push(cut_line(vec![Span::raw(run_title(run))], width));
    }
    lines.extend(wrap(&grid.headline, width).into_iter().map(Line::raw));
    let tokens = format_tokens(run.input_tokens, run.output_tokens);
    let tokens = tokens.map(|tokens| format!(" · tokens {tokens}")).unwrap_or_default();
    let spent =
        format!("iteration {}/{} · {}{tokens}", run.iterations, run.max_iterations, format_cost(run.cost_micros));
    lines.push(Line::styled(spent, theme.dim()));
    lines.push(Line::default());
    lines.extend(criteria_table(grid, style));
    lines.extend(iteration_lines(grid, style));
    lines.push(Line::default());
    lines
}

/// Returns the criteria, one per line: a cell for each iteration, then the last evidence.
fn criteria_table(grid: &RunGrid, style: SummaryStyle) -> Vec<Line<'static>> {
    let SummaryStyle { theme, width, .. } = style;
    if grid.criteria.is_empty() {
        return Vec::new();
    }
    let skipped = grid.iterations.len().saturating_sub(SHOWN_ITERATIONS);
    let cells = grid.iterations.len() - skipped;
    let name_width = (width / 3).clamp(10, 40);
    let numbers: String =
        grid.iterations.iter().skip(skipped).map(|iteration| char_of_number(iteration.number)).collect();
    let mut lines =
        vec![Line::styled(format!("{} {numbers}  last evidence", pad("criterion", name_width)), theme.dim())];
    for criterion in &grid.criteria {
        let mut spans = vec![Span::raw(format!("{} ", pad(&criterion_name(criterion), name_width)))];
        spans.extend(criterion.marks.iter().skip(skipped).take(cells).map(|mark| mark_span(*mark, theme)));
        spans.push(Span::raw(format!("  {}", criterion.last_evidence)));
        lines.push(cut_line(spans, width));
    }
    lines.push(Line::styled("✓ met  ✗ not met  ? could not be evaluated  · no check", theme.dim()));
    lines.push(Line::default());
    lines
}

fn criterion_name(criterion: &CriterionRow) -> String {
    let optional = if criterion.is_required { "" } else { " (optional)" };
    format!("{}{}{optional}", "  ".repeat(criterion.depth), criterion.name)
}

/// Returns the last digit of an iteration, so that every cell is one column.
fn char_of_number(number: i64) -> char {
    u32::try_from(number % 10).ok().and_then(|digit| char::from_digit(digit, 10)).unwrap_or('?')
}

fn mark_span(mark: CheckMark, theme: Theme) -> Span<'static> {
    match mark {
        CheckMark::Met => Span::styled("✓", theme.good()),
        CheckMark::NotMet => Span::styled("✗", theme.bad()),
        CheckMark::CouldNotEvaluate => Span::styled("?", theme.waiting()),
        CheckMark::NotChecked => Span::styled("·", theme.dim()),
    }
}

/// Returns the iterations, newest first: how each ended, and what its claim was worth.
fn iteration_lines(grid: &RunGrid, style: SummaryStyle) -> Vec<Line<'static>> {
    let line = |iteration: &ralph_store::IterationRow| {
        let took = iteration.duration_ms.map(|took| format!("  {}", elapsed_words(took))).unwrap_or_default();
        let cost = iteration.cost_micros.map(|micros| format!("  {}", format_cost(Some(micros)))).unwrap_or_default();
        let verdict = match (&iteration.verdict, iteration.claimed) {
            (Some(verdict), _) => verdict.replace('_', " "),
            (None, Some(true)) => "claimed".to_owned(),
            (None, _) if iteration.duration_ms.is_none() => "not ended".to_owned(),
            (None, _) => "no claim".to_owned(),
        };
        let why = iteration.verdict_reason.as_deref().or(iteration.claim_reason.as_deref()).unwrap_or_default();
        let why = ralph_util::sanitize::sanitize_text(why).replace('\n', " ");
        let mark = match style.selected {
            Some(selected) if i64::from(selected) == iteration.number => "▸ ",
            Some(_) => "  ",
            None => "",
        };
        let text = format!("{mark}[{}/{}] {verdict}{took}{cost}  {why}", iteration.number, grid.run.max_iterations);
        cut_line(vec![Span::raw(text)], style.width)
    };
    grid.iterations.iter().rev().take(SHOWN_ITERATIONS).map(line).collect()
}

fn elapsed_words(ms: i64) -> String {
    format_rounded(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
}
