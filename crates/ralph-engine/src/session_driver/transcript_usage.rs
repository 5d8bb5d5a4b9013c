//! Counts the usage of a session since the last stop. Only the part of the transcript that was added since is read.
//! Usage that cannot be determined is unknown, never zero.
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ralph_core::attempt::ModelSpend;

use super::transcript_tail::{open_transcript, read_range};
use ralph_agents::hooks::{HookProtocol, MessageUsage};

/// More than this between two stops is not read: the hook must reply soon.
const MAX_USAGE_BYTES: u64 = 8 * 1024 * 1024;

/// The usage, and the offset up to which the transcript was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TranscriptUsage {
    pub(super) spend: ModelSpend,
    pub(super) read_until: u64,
}

/// Adds up the usage in a transcript from this offset on; without an offset, the usage since the loop started.
pub(super) fn count_usage(
    path: &Path,
    from: Option<u64>,
    loop_started_at: &str,
    host: &dyn HookProtocol,
) -> io::Result<TranscriptUsage> {
    let file = open_transcript(path)?;
    let until = file.metadata()?.len();
    // A transcript that is shorter than the offset was replaced.
    let from = from.filter(|from| *from <= until);
    let start = from.unwrap_or(until.saturating_sub(MAX_USAGE_BYTES));
    if until - start > MAX_USAGE_BYTES {
        return Ok(TranscriptUsage { spend: ModelSpend::default(), read_until: until });
    }
    let is_newer = |usage: &MessageUsage| from.is_some() || usage.timestamp.as_str() >= loop_started_at;
    let bytes = read_range(&file, start, until)?;
    let mut messages = BTreeMap::new();
    // The last record of a message contains its total. Reading backwards stops at the start of the loop.
    for usage in reverse_lines(&bytes).filter_map(|line| host.parse_usage(line)).take_while(is_newer) {
        messages.entry(usage.message_id).or_insert(usage.spend);
    }
    let spend = messages.into_values().reduce(ModelSpend::add_known).unwrap_or_default();
    Ok(TranscriptUsage { spend, read_until: until })
}

/// Returns the lines, the last one first.
fn reverse_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let unread = rest?;
        let end = memchr::memrchr(b'\n', unread);
        rest = end.and_then(|end| unread.get(..end));
        unread.get(end.map_or(0, |end| end + 1)..)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_driver::find_hook_protocol;

    const LOOP_STARTED_AT: &str = "2026-11-15T10:00:00.000Z";

    fn usage_line(id: &str, at: &str, output: u64) -> String {
        format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"{at}\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"input_tokens\":10,\"output_tokens\":{output}}}}}}}\n"
        )
    }

    fn usage_of_text(text: &str, from: Option<u64>) -> TranscriptUsage {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("t");
        std::fs::write(&path, text).unwrap();
        count_usage(&path, from, LOOP_STARTED_AT, find_hook_protocol("claude").unwrap()).unwrap()
    }

    fn spend_of_tokens(input: u64, output: u64) -> ModelSpend {
        ModelSpend { input_tokens: Some(input), output_tokens: Some(output), cost_micros: None }
    }

    // spec: H6, L8
    #[test]
    fn each_message_counts_once_and_messages_before_the_loop_do_not_count() {
        let old = usage_line("a", "2026-11-15T09:59:59.000Z", 100);
        let text = format!(
            "{old}{0}{0}{1}",
            usage_line("b", "2026-11-15T10:00:01.000Z", 5),
            usage_line("c", "2026-11-15T10:00:02.000Z", 7)
        );
        assert_eq!(usage_of_text(&text, None).spend, spend_of_tokens(20, 12));
        assert_eq!(usage_of_text(&text, Some(text.len() as u64 - 20)).spend, ModelSpend::default());
    }

    // spec: H6, L8
    #[test]
    fn usage_is_unknown_when_there_is_too_much_to_read() {
        let text = format!("{}{}", usage_line("b", "2026-11-15T10:00:01.000Z", 5), " ".repeat(9 << 20));
        assert_eq!(
            usage_of_text(&text, Some(0)),
            TranscriptUsage { spend: ModelSpend::default(), read_until: text.len() as u64 }
        );
    }

    // spec: H6, L8
    #[test]
    fn a_transcript_that_became_shorter_is_read_from_the_start() {
        let text = usage_line("b", "2026-11-15T10:00:01.000Z", 5);
        assert_eq!(usage_of_text(&text, Some(1 << 30)).spend, spend_of_tokens(10, 5));
    }
}
