//! Draws the whole board: header, panels, footer, and what covers them.
use ralph_app::board::BoardSnapshot;
use ralph_app::view::{format_age, format_cost, pluralize};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::board_layout::{BoardLayout, PanelArea};
use super::card_lines::cut_line;
use super::detail_lines::{SummaryStyle, summary_lines};
use super::draw_overlay::draw_overlay;
use super::list_panel::{draw_list, panel_block};
use super::output_lines::{output_lines, output_title};
use super::text_width::wrap;
use super::theme::Theme;
use crate::model::board_state::BoardState;
use crate::model::detail_pane::{DetailView, LoadedDetail, Subject};
use crate::model::panel::Panel;

/// Draws the state, and keeps the height of the detail panel for scrolling.
pub(crate) fn draw_board(frame: &mut Frame<'_>, state: &mut BoardState, theme: Theme) {
    let layout = BoardLayout::new(state, frame.area());
    draw_header(frame, state, theme, layout.header);
    for PanelArea { panel, area } in layout.panels {
        match panel {
            Panel::Detail => {
                state.detail_height = usize::from(area.height.saturating_sub(2));
                draw_detail(frame, state, theme, area);
            }
            list => draw_list(frame, state, theme, list, area),
        }
    }
    draw_footer(frame, state, theme, layout.footer);
    draw_overlay(frame, state, theme);
}

/// The first line answers: what runs, what waits for me, what it cost, what went wrong.
fn draw_header(frame: &mut Frame<'_>, state: &BoardState, theme: Theme, area: Rect) {
    let width = usize::from(area.width);
    let mut spans = vec![Span::styled(format!("ralph · {}", state.project_name), theme.strong())];
    match &state.snapshot {
        None => spans.push(Span::raw("  reading the project")),
        Some(snapshot) => spans.extend(header_spans(state, snapshot, theme)),
    }
    let second = match (state.stale_for(), &state.load_problem) {
        (Some(age), problem) => {
            let problem =
                problem.as_ref().map(|problem| format!(": {}", problem.replace('\n', " "))).unwrap_or_default();
            Line::styled(format!("last seen {} ago{problem}", format_age(age)), theme.bad())
        }
        (None, _) => worst_line(state, theme),
    };
    let lines = vec![
        cut_line(spans, width),
        cut_line(second.spans.into_iter().map(|span| span.patch_style(second.style)).collect(), width),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

fn header_spans(state: &BoardState, snapshot: &BoardSnapshot, theme: Theme) -> Vec<Span<'static>> {
    let running = state.line_count(Panel::Slots);
    let waiting = snapshot.inbox.len();
    let word = if state.stale_for().is_some() { "were running" } else { "running" };
    let mut spans =
        vec![Span::styled(format!("  {running} {word}"), if running > 0 { theme.active() } else { theme.dim() })];
    let inbox = match waiting {
        0 => Span::styled("  nothing waits for you", theme.dim()),
        1 => Span::styled("  1 waits for you", theme.waiting()),
        count => Span::styled(format!("  {count} wait for you"), theme.waiting()),
    };
    spans.push(inbox);
    let cost = snapshot.day_cost_micros.map_or_else(|| "cost unknown".to_owned(), |micros| format_cost(Some(micros)));
    spans.push(Span::raw(format!("  24 h: {cost}")));
    if !snapshot.workers.is_empty() {
        let count = i64::try_from(snapshot.workers.len()).unwrap_or(i64::MAX);
        spans.push(Span::styled(format!("  {}", pluralize(count, "background worker")), theme.dim()));
    }
    if !state.filter.is_empty() {
        spans.push(Span::styled(format!("  filter: {}", state.filter.text), theme.waiting()));
    }
    spans
}

/// Returns the first thing that waits, with its reason: what went wrong, and why.
fn worst_line(state: &BoardState, theme: Theme) -> Line<'static> {
    match state.inbox().first() {
        Some(item) => {
            let reason = item.reason.lines().next().unwrap_or_default();
            let text = ralph_util::sanitize::sanitize_text(&format!("{} {}: {reason}", item.id, item.kind.label()));
            Line::styled(text, theme.waiting())
        }
        None => Line::default(),
    }
}

fn draw_footer(frame: &mut Frame<'_>, state: &BoardState, theme: Theme, area: Rect) {
    let width = usize::from(area.width);
    let line = match &state.notice {
        Some(notice) => {
            let (mark, style) = if notice.is_error { ("✗ ", theme.bad()) } else { ("✓ ", theme.good()) };
            cut_line(vec![Span::styled(format!("{mark}{}", notice.text.replace('\n', " · ")), style)], width)
        }
        None if state.pending_orders > 0 => Line::styled("working on it …", theme.active()),
        None => cut_line(vec![Span::styled(footer_keys(state), theme.dim())], width),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn footer_keys(state: &BoardState) -> String {
    let keys = match state.focus {
        Panel::Inbox => "enter open  a approve  x reject  e answer  w why  d diff",
        Panel::Slots | Panel::Running => "enter open  l output  g guide  p pause  c cancel  w why  + - $ limits",
        Panel::ToDo => "enter open  c cancel  / filter  s sort",
        Panel::Ended => "enter open  w why  d diff  r receipt  R retry  / filter",
        Panel::Detail => match state.detail.view {
            DetailView::Output => {
                "f follow  enter fold  o all  / search  n next  t kind  T role  [ ] iteration  L pager"
            }
            DetailView::InboxText => "a approve  x reject  e answer  w why  d diff  esc back",
            DetailView::Summary | DetailView::Diff => {
                "i criteria  w why  d diff  [ ] iteration  r receipt  l output  / search  esc back"
            }
            _ => "i criteria  w why  d diff  r receipt  l output  / search  esc back",
        },
    };
    format!("? keys  q leave  {keys}  z full  : palette")
}

fn draw_detail(frame: &mut Frame<'_>, state: &BoardState, theme: Theme, area: Rect) {
    let Some(subject) = &state.detail.subject else {
        let block = panel_block(state, theme, Panel::Detail, "6 Detail: select a task or run");
        return frame.render_widget(block, area);
    };
    let title = detail_title(state, subject);
    let command = (state.words.text_command)(state.detail.view, &subject.name, subject.iteration);
    let block = panel_block(state, theme, Panel::Detail, &title)
        .title_bottom(Line::styled(format!(" {command} "), theme.dim()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let lines = match state.detail.view {
        DetailView::Output => output_lines(&state.output, theme, width, height),
        _ => loaded_lines(state, theme, width, height),
    };
    frame.render_widget(Paragraph::new(lines), inner);
}

fn detail_title(state: &BoardState, subject: &Subject) -> String {
    let view = state.detail.view;
    let more = match view {
        DetailView::Output => format!(": {}", output_title(&state.output)),
        _ if !state.detail.search.is_empty() => format!(": /{} {} hits", state.detail.search, state.detail.hit_count()),
        _ => String::new(),
    };
    let iteration = match (view, subject.iteration) {
        (DetailView::Diff | DetailView::Summary, Some(iteration)) => format!(" · iteration {iteration}"),
        (_, _) => String::new(),
    };
    format!("6 {} · {}{iteration}{more}", subject.name, view.title())
}

fn loaded_lines(state: &BoardState, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let skip = state.detail.scroll;
    match &state.detail.loaded {
        LoadedDetail::Nothing => Vec::new(),
        LoadedDetail::Loading => vec![Line::styled("reading …", theme.dim())],
        LoadedDetail::Failed(lines) => {
            lines.iter().skip(skip).flat_map(|line| wrap(line, width)).take(height).map(Line::raw).collect()
        }
        LoadedDetail::Grids(grids) => {
            let card = state.detail.subject.as_ref().and_then(|subject| state.card_of(subject));
            let selected = state.detail.subject.as_ref().and_then(|subject| subject.iteration);
            let lines = summary_lines(card, grids, SummaryStyle { theme, width, now: state.now, selected });
            lines.into_iter().skip(skip).take(height).collect()
        }
        LoadedDetail::Lines(lines) => {
            // A diff is cut: its lines must stay apart. Other texts are wrapped.
            let pieces = |line: &String| match state.detail.view {
                DetailView::Diff | DetailView::Graph => vec![line.clone()],
                _ if line.is_empty() => vec![String::new()],
                _ => wrap(line, width),
            };
            let shown = lines.iter().skip(skip).flat_map(pieces).take(height);
            shown.map(|line| text_line(state, theme, &line, width)).collect()
        }
    }
}

fn text_line(state: &BoardState, theme: Theme, line: &str, width: usize) -> Line<'static> {
    let wanted = state.detail.search.to_lowercase();
    let style = match state.detail.view {
        _ if !wanted.is_empty() && line.to_lowercase().contains(&wanted) => theme.selected(),
        DetailView::Diff if line.starts_with('+') => theme.good(),
        DetailView::Diff if line.starts_with('-') => theme.bad(),
        DetailView::Diff if line.starts_with("@@") || line.starts_with("diff ") => theme.active(),
        _ => theme.plain(),
    };
    cut_line(vec![Span::styled(line.replace('\t', "    "), style)], width)
}
