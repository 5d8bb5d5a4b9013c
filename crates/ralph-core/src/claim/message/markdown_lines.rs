//! Classifies the lines of a message by their Markdown form: prose, code, quotation, table, heading or list item.
//! Hand-written because the message may start inside a code block, and agents write Markdown that a strict parser
//! classifies differently.

use alloc::vec::Vec;

use crate::claim::message::code_block::CodeBlockScanner;
use crate::claim::slice_or_empty;

/// The Markdown form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Blank,
    Code,
    Quote,
    Table,
    Heading,
    Bullet,
    Numbered,
    Prose,
}

/// One line without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageLine {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: LineKind,
    indent_columns: usize,
}

/// Splits `text` into lines; `code_blocks` is the state of the scan at its start.
pub(crate) fn split_lines(text: &str, mut code_blocks: CodeBlockScanner) -> Vec<MessageLine> {
    let mut out: Vec<MessageLine> = Vec::new();
    let mut start = 0;
    let mut block_start = 0;
    for raw in text.split('\n') {
        let inside = code_blocks.is_open();
        code_blocks.scan_text(raw);
        code_blocks.scan_text("\n");
        if !inside && code_blocks.is_open() {
            block_start = out.len() + 1;
        }
        let is_tag_behind_fence = inside && !code_blocks.is_open() && after_fence(raw).starts_with('<');
        let is_code = (inside || code_blocks.is_open()) && !is_tag_behind_fence;
        let kind = if is_code { LineKind::Code } else { classify_line(raw) };
        out.push(MessageLine { start, end: start + raw.len(), kind, indent_columns: indent_width(raw) });
        start += raw.len() + 1;
    }
    let is_tag = |line: &MessageLine| {
        let raw = slice_or_empty(text, line.start..line.end).trim();
        raw.starts_with('<') && raw.ends_with('>')
    };
    let is_blank = |line: &MessageLine| slice_or_empty(text, line.start..line.end).trim().is_empty();
    let closing = out.iter().rposition(|line| !is_blank(line)).filter(|&at| out.get(at).is_some_and(is_tag));
    if code_blocks.is_open()
        && let Some(tag_line) = closing
    {
        reopen_unclosed_block(text, &mut out, block_start, tag_line);
    }
    mark_indented_code(&mut out, closing);
    out
}

/// Returns the text of a line behind its code fence, or the whole line.
pub(crate) fn after_fence(raw: &str) -> &str {
    let text = raw.trim_start();
    let rest = text.trim_start_matches(['`', '~']);
    if text.len() - rest.len() >= 3 { rest } else { raw }
}

/// Reads the lines of a code block that is never closed as text if the message ends with a lone tag behind other text:
/// then a fence is missing. A block whose only line is the tag stays code, and so does a tag right below code.
fn reopen_unclosed_block(text: &str, lines: &mut [MessageLine], block_start: usize, tag_line: usize) {
    let raw = |line: &MessageLine| slice_or_empty(text, line.start..line.end);
    let is_blank = |at: usize| lines.get(at).is_none_or(|line| raw(line).trim().is_empty());
    let has_text_above_tag = (block_start..tag_line).any(|at| !is_blank(at));
    let fence = block_start.checked_sub(1).and_then(|at| lines.get(at)).map_or("", raw).trim();
    let is_bare_fence = !fence.is_empty() && fence.chars().all(|c| c == '`' || c == '~');
    if has_text_above_tag && (is_bare_fence || is_blank(tag_line - 1)) {
        for line in lines.iter_mut().skip(block_start) {
            line.kind = classify_line(slice_or_empty(text, line.start..line.end));
        }
    }
}

/// Returns the index of the line that contains the byte `at`.
pub(crate) fn line_index_at(lines: &[MessageLine], at: usize) -> usize {
    lines.partition_point(|line| line.start <= at).saturating_sub(1)
}

fn indent_width(raw: &str) -> usize {
    raw.chars()
        .take_while(|c| matches!(c, ' ' | '\t'))
        .fold(0, |width, c| if c == '\t' { width / 4 * 4 + 4 } else { width + 1 })
}

fn classify_line(raw: &str) -> LineKind {
    let text = raw.trim();
    if text.is_empty() {
        return LineKind::Blank;
    }
    if text.starts_with('>') {
        return LineKind::Quote;
    }
    if text.starts_with('|') && text.len() > 1 {
        return LineKind::Table;
    }
    if is_heading(text) {
        return LineKind::Heading;
    }
    if list_number_len(text) > 0 {
        return LineKind::Numbered;
    }
    if text.starts_with("- ") || text.starts_with("* ") || text.starts_with("+ ") || text.starts_with("\u{2022} ") {
        return LineKind::Bullet;
    }
    LineKind::Prose
}

fn is_heading(text: &str) -> bool {
    let rest = text.trim_start_matches('#');
    let marks = text.len() - rest.len();
    (1..=6).contains(&marks) && rest.starts_with(' ')
}

/// Returns the length of a list number such as `3. `, `(b) ` or `Step 4: `, or 0.
pub(crate) fn list_number_len(text: &str) -> usize {
    let bytes = text.trim_start_matches(['*', '_']);
    let shift = text.len() - bytes.len();
    let lower = bytes.get(..5).unwrap_or("").to_ascii_lowercase();
    let lead = if lower == "step " { 5 } else { usize::from(bytes.starts_with('(')) };
    let rest = slice_or_empty(bytes, lead..bytes.len());
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let letter = usize::from(digits == 0 && lead != 5 && rest.starts_with(|c: char| c.is_ascii_lowercase()));
    let length = digits + letter;
    let after = slice_or_empty(rest, length..rest.len());
    let closed = after.starts_with([')', ':']) || (after.starts_with('.') && digits > 0);
    let spaced = slice_or_empty(after, 1..after.len()).trim_start_matches(['*', '_']).starts_with(' ');
    let alone = lead == 1 && !after.starts_with(')');
    let plausible = (1..=3).contains(&length) && closed && spaced && !alone && !(letter == 1 && after.starts_with(':'));
    if plausible && !(digits > 0 && after.starts_with(':') && lead != 5) { shift + lead + length + 1 } else { 0 }
}

/// Marks lines as code that follow a blank line and are indented four columns deeper than the prose. A lone tag on the
/// last line, `closing`, is not code: some agents indent it.
fn mark_indented_code(lines: &mut [MessageLine], closing: Option<usize>) {
    let prose = lines.iter().filter(|line| !matches!(line.kind, LineKind::Blank | LineKind::Code));
    let base = prose.map(|line| line.indent_columns).min().unwrap_or(0);
    let mut after_blank = true;
    let mut in_list = false;
    let mut in_code = false;
    for (at, line) in lines.iter_mut().enumerate() {
        if line.kind == LineKind::Blank {
            after_blank = true;
            continue;
        }
        let deep = line.indent_columns >= base + 4;
        let lone = after_blank && !in_code && closing == Some(at);
        in_code = line.kind != LineKind::Code && deep && !in_list && !lone && (after_blank || in_code);
        if in_code {
            line.kind = LineKind::Code;
        } else if !deep {
            in_list = matches!(line.kind, LineKind::Bullet | LineKind::Numbered);
        }
        after_blank = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn line_kinds(text: &str) -> Vec<LineKind> {
        split_lines(text, CodeBlockScanner::default()).into_iter().map(|line| line.kind).collect()
    }

    // spec: S3
    #[test]
    fn lines_are_classified_by_their_markdown_form() {
        let text = "a\n\n> b\n| c | d |\n# e\n- f\n2. g\n```\nh\n```";
        use LineKind::{Blank, Bullet, Code, Heading, Numbered, Prose, Quote, Table};
        assert_eq!(line_kinds(text), vec![Prose, Blank, Quote, Table, Heading, Bullet, Numbered, Code, Code, Code]);
    }

    // spec: S3
    #[test]
    fn indented_lines_are_code_only_if_the_prose_is_less_indented() {
        assert_eq!(
            line_kinds("a\n\n    b\nc"),
            vec![LineKind::Prose, LineKind::Blank, LineKind::Code, LineKind::Prose]
        );
        assert_eq!(line_kinds("    a\n\n    b"), vec![LineKind::Prose, LineKind::Blank, LineKind::Prose]);
        assert_eq!(line_kinds("- a\n\n    b"), vec![LineKind::Bullet, LineKind::Blank, LineKind::Prose]);
    }

    // spec: S3
    // finding: N27
    #[test]
    fn a_missing_fence_does_not_turn_the_final_tag_into_code() {
        let last_kind = |text: &str| line_kinds(text).pop();
        assert_eq!(last_kind("```\nls\n```\nand\n```\nAll tests pass.\n\n<promise>X</promise>"), Some(LineKind::Prose));
        assert_eq!(last_kind("```bash\nls\n\nAll tests pass.\n\n<promise>X</promise>"), Some(LineKind::Prose));
        assert_eq!(last_kind("```\nls\n```<promise>X</promise>"), Some(LineKind::Prose));
        assert_eq!(last_kind("Print this:\n```\n<promise>X</promise>"), Some(LineKind::Code));
        assert_eq!(last_kind("```xml\n<a/>\n<promise>X</promise>"), Some(LineKind::Code));
    }

    #[test]
    fn list_numbers_are_distinguished_from_words() {
        for text in ["1. x", "12) x", "(b) x", "b) x", "Step 3: x", "**2.** x"] {
            assert!(list_number_len(text) > 0, "{text}");
        }
        for text in ["a. x", "4.5 x", "2024: x", "I) ", "x", "(all) x", "1.x"] {
            assert_eq!(list_number_len(text), 0, "{text}");
        }
    }
}
