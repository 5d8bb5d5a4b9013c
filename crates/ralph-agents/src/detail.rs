//! Short lines for display: what a tool call is about, and the beginning of what came back.
use ralph_util::json::{self, Cursor, Malformed, Raw};

/// How much of a thought or a tool result is kept.
pub(super) const EXCERPT: usize = 120;
const DETAIL: usize = 160;

/// The members that say most about a tool call, the best first.
const TELLING: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "commands",
    "skill",
    "description",
    "title",
    "prompt",
];

/// Returns one line about a tool's input: its command, file or the like.
pub(super) fn of_input(input: Option<Raw<'_>>) -> String {
    input.and_then(|input| most_telling(input).ok().flatten()).map(line_of_value).unwrap_or_default()
}

fn most_telling(input: Raw<'_>) -> Result<Option<Raw<'_>>, Malformed> {
    let mut best: Option<(usize, Raw<'_>)> = None;
    Cursor::new(input).object(|cursor, key| {
        let value = cursor.raw()?;
        let rank = TELLING.iter().position(|name| name.as_bytes() == key);
        if let Some(rank) = rank.filter(|rank| best.is_none_or(|(so_far, _)| *rank < so_far)) {
            best = Some((rank, value));
        }
        Ok(())
    })?;
    Ok(best.map(|(_, value)| value))
}

/// Returns one line of a value that is known to be telling.
pub(super) fn of_value(value: Option<Raw<'_>>) -> String {
    value.map(line_of_value).unwrap_or_default()
}

/// Returns a value as one line: a string decoded, a list by its first element, anything else as written.
fn line_of_value(value: Raw<'_>) -> String {
    if let Some(text) = json::start_of_string(Some(value), DETAIL * 2) {
        return one_line(&text, DETAIL);
    }
    match json::first_element(value) {
        Some(first) if first.starts_with(b"\"") => line_of_value(first),
        Some(_) | None => one_line(&start(value), DETAIL),
    }
}

/// Returns the beginning of a tool result: a string, a list of text blocks, or whatever else it is.
pub(super) fn excerpt(value: Option<Raw<'_>>) -> String {
    let Some(value) = value else { return String::new() };
    let text = json::start_of_string(Some(value), EXCERPT * 2).or_else(|| first_text(value));
    one_line(&text.unwrap_or_else(|| start(value)), EXCERPT)
}

fn first_text(blocks: Raw<'_>) -> Option<String> {
    let mut text = None;
    let read = Cursor::new(blocks).array(|cursor| {
        let block = cursor.raw()?;
        if text.is_none() {
            let [found] = json::pick_in(Some(block), ["text"]);
            text = json::start_of_string(found, EXCERPT * 2);
        }
        Ok(())
    });
    read.ok().and(text)
}

fn start(value: Raw<'_>) -> String {
    String::from_utf8_lossy(value.get(..EXCERPT * 4).unwrap_or(value)).into_owned()
}

/// Returns the text as one line of at most `limit` characters. It looks at no more of the text than it needs.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let text = text.trim();
    let mut line = String::with_capacity(text.len().min(limit * 2));
    let mut room = limit;
    for letter in text.chars() {
        let is_space = letter.is_whitespace();
        if is_space && line.ends_with(' ') {
            continue;
        }
        if room == 0 {
            line.pop();
            line.push('…');
            break;
        }
        line.push(if is_space { ' ' } else { letter });
        room -= 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A4
    fn a_tool_call_is_told_by_its_command_or_file() {
        let of = |input: &str| of_input(Some(input.as_bytes()));
        assert_eq!(of(r#"{"description":"run tests","command":"npm test\n  --ci"}"#), "npm test --ci");
        assert_eq!(of(r#"{"content":"<promise>X</promise>","file_path":"a.md"}"#), "a.md");
        assert_eq!(of(r#"{"commands":["echo hi","echo ho"]}"#), "echo hi");
        assert_eq!(of(r#"{"content":"secret"}"#), "");
        assert_eq!(of("7"), "");
    }

    #[test] // spec: A4
    fn excerpts_are_one_bounded_line() {
        assert_eq!(excerpt(Some(br#""a\n  b\t""#)), "a b");
        assert_eq!(excerpt(Some(br#"[{"type":"image"},{"type":"text","text":"seen"}]"#)), "seen");
        assert_eq!(excerpt(Some(b"null")), "null");
        let long = format!("\"{}\"", "é".repeat(100_000));
        let cut = excerpt(Some(long.as_bytes()));
        assert!(cut.chars().count() <= EXCERPT && cut.ends_with('…'), "{cut}");
    }
}
