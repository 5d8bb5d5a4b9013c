//! One-line summaries for display: the subject of a tool call, and the start of its result.
use ralph_util::json::{self, JsonCursor, MalformedJson, RawJson};

/// Maximum length of an excerpt of reasoning or of a tool result.
pub(crate) const EXCERPT_CHARS: usize = 120;
const DETAIL_CHARS: usize = 160;

/// The members of a tool's input that describe the call, the most descriptive first.
const DESCRIPTIVE_KEYS: &[&str] = &[
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

/// Returns a one-line summary of a tool's input, such as its command or file.
pub(crate) fn summarize_tool_input(input: Option<RawJson<'_>>) -> String {
    input.and_then(|input| most_descriptive_member(input).ok().flatten()).map(value_to_line).unwrap_or_default()
}

fn most_descriptive_member(input: RawJson<'_>) -> Result<Option<RawJson<'_>>, MalformedJson> {
    let mut best: Option<(usize, RawJson<'_>)> = None;
    JsonCursor::new(input).visit_object(|cursor, key| {
        let value = cursor.take_raw()?;
        let rank = DESCRIPTIVE_KEYS.iter().position(|name| name.as_bytes() == key);
        if let Some(rank) = rank.filter(|rank| best.is_none_or(|(best_rank, _)| *rank < best_rank)) {
            best = Some((rank, value));
        }
        Ok(())
    })?;
    Ok(best.map(|(_, value)| value))
}

/// Returns a value as one line, or an empty string if it is missing.
pub(crate) fn summarize_value(value: Option<RawJson<'_>>) -> String {
    value.map(value_to_line).unwrap_or_default()
}

/// Returns a value as one line: a string decoded, a list by its first element, anything else as written.
fn value_to_line(value: RawJson<'_>) -> String {
    if let Some(text) = json::decode_string_prefix(Some(value), DETAIL_CHARS * 2) {
        return to_one_line(&text, DETAIL_CHARS);
    }
    match json::first_element(value) {
        Some(first) if first.starts_with(b"\"") => value_to_line(first),
        Some(_) | None => to_one_line(&lossy_prefix(value), DETAIL_CHARS),
    }
}

/// Returns the start of a tool result: a string, a list of text blocks, or any other JSON.
pub(crate) fn result_excerpt(value: Option<RawJson<'_>>) -> String {
    let Some(value) = value else { return String::new() };
    let text = json::decode_string_prefix(Some(value), EXCERPT_CHARS * 2).or_else(|| first_text_block(value));
    to_one_line(&text.unwrap_or_else(|| lossy_prefix(value)), EXCERPT_CHARS)
}

fn first_text_block(blocks: RawJson<'_>) -> Option<String> {
    let mut text = None;
    let read = JsonCursor::new(blocks).visit_array(|cursor| {
        let block = cursor.take_raw()?;
        if text.is_none() {
            let [found] = json::pick_members_or_none(Some(block), ["text"]);
            text = json::decode_string_prefix(found, EXCERPT_CHARS * 2);
        }
        Ok(())
    });
    read.ok().and(text)
}

fn lossy_prefix(value: RawJson<'_>) -> String {
    String::from_utf8_lossy(value.get(..EXCERPT_CHARS * 4).unwrap_or(value)).into_owned()
}

/// Returns the text as one line of at most `limit` characters. Reads no more of the text than necessary.
pub(crate) fn to_one_line(text: &str, limit: usize) -> String {
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
    fn a_tool_call_is_summarized_by_its_command_or_file() {
        let of = |input: &str| summarize_tool_input(Some(input.as_bytes()));
        assert_eq!(of(r#"{"description":"run tests","command":"npm test\n  --ci"}"#), "npm test --ci");
        assert_eq!(of(r#"{"content":"<promise>X</promise>","file_path":"a.md"}"#), "a.md");
        assert_eq!(of(r#"{"commands":["echo hi","echo ho"]}"#), "echo hi");
        assert_eq!(of(r#"{"content":"secret"}"#), "");
        assert_eq!(of("7"), "");
    }

    #[test] // spec: A4
    fn excerpts_are_one_bounded_line() {
        assert_eq!(result_excerpt(Some(br#""a\n  b\t""#)), "a b");
        assert_eq!(result_excerpt(Some(br#"[{"type":"image"},{"type":"text","text":"seen"}]"#)), "seen");
        assert_eq!(result_excerpt(Some(b"null")), "null");
        let long = format!("\"{}\"", "é".repeat(100_000));
        let cut = result_excerpt(Some(long.as_bytes()));
        assert!(cut.chars().count() <= EXCERPT_CHARS && cut.ends_with('…'), "{cut}");
    }
}
