//! The output view: folded blocks, search hits, and the marker of new lines.
use ratatui::text::{Line, Span};

use super::card_lines::cut_line;
use super::theme::Theme;
use crate::model::output_pane::{BlockKind, LineAnchor, OutputBlock, OutputBuffer, OutputPane};

/// Returns the lines in sight.
pub(crate) fn output_lines(pane: &OutputPane, theme: Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let buffer = pane.buffer.lock();
    let lines = pane.lines(&buffer);
    let first = pane.first_line(&lines, height);
    let shown = lines.iter().skip(first).take(height);
    let base = buffer.blocks().next().map_or(0, |block| block.number);
    shown
        .filter_map(|anchor| anchor_line(pane, &buffer, base, *anchor).map(|shown| shown.to_line(theme, width)))
        .collect()
}

/// Returns what the title of the view says: filters, following, new lines.
pub(crate) fn output_title(pane: &OutputPane) -> String {
    let mut parts =
        vec![if pane.is_following() { "following".to_owned() } else { format!("+{} new lines", pane.new_lines()) }];
    if pane.kinds != Default::default() {
        parts.push(pane.kinds.as_str().to_owned());
    }
    parts.extend(pane.role.as_ref().map(ToString::to_string));
    parts.extend(pane.iteration.map(|iteration| format!("iteration {iteration}")));
    if !pane.search.is_empty() {
        parts.push(format!("/{} {} hits", pane.search, pane.hits().len()));
    }
    parts.extend(pane.buffer.lock().end.clone());
    parts.join(" · ")
}

struct ShownLine {
    text: String,
    kind: BlockKind,
    is_title: bool,
    is_hit: bool,
}

fn anchor_line(pane: &OutputPane, buffer: &OutputBuffer, base: u64, anchor: LineAnchor) -> Option<ShownLine> {
    let block = buffer.block_at(usize::try_from(anchor.block - base).ok()?)?;
    let text = match anchor.line {
        0 => format!("{}{}", fold_mark(pane, block), block.title),
        line if block.kind == BlockKind::Words => block.body.get(line - 1)?.clone(),
        line => format!("  {}", block.body.get(line - 1)?),
    };
    let is_hit = !pane.search.is_empty() && text.to_lowercase().contains(&pane.search.to_lowercase());
    Some(ShownLine { text, kind: block.kind, is_title: anchor.line == 0, is_hit })
}

fn fold_mark(pane: &OutputPane, block: &OutputBlock) -> String {
    match block.kind {
        BlockKind::Words => String::new(),
        BlockKind::Event => "── ".to_owned(),
        BlockKind::Tool | BlockKind::Thinking => match (pane.is_open(block), block.body.len()) {
            (_, 0) => "  ".to_owned(),
            (true, _) => "▾ ".to_owned(),
            (false, count) => format!("▸ ({count} lines) "),
        },
    }
}

impl ShownLine {
    fn to_line(&self, theme: Theme, width: usize) -> Line<'static> {
        let style = match (self.kind, self.is_title) {
            _ if self.is_hit => theme.selected(),
            (BlockKind::Event, _) => theme.strong(),
            (BlockKind::Words, _) => theme.plain(),
            (BlockKind::Tool, true) => theme.active(),
            (BlockKind::Tool, false) | (BlockKind::Thinking, _) => theme.dim(),
        };
        cut_line(vec![Span::styled(self.text.clone(), style)], width)
    }
}
