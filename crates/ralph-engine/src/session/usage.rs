//! What a session has used since the last stop, where its transcript tells: only what was added since is read. What cannot
//! be told is unknown, never zero.
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use ralph_core::attempt::Spend;

use super::tail::{open, read};
use ralph_agents::hooks::{Protocol, Used};

/// More than this between two stops is not read: an answer must not take long.
const MOST: u64 = 8 * 1024 * 1024;

/// What was used, and how far the transcript was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) spend: Spend,
    pub(super) until: u64,
}

/// Adds up what a transcript tells from this place on. Without a place, what was written since the loop began.
pub(super) fn count(
    path: &Path,
    (from, began): (Option<u64>, &str),
    host: &dyn Protocol,
) -> io::Result<Counted> {
    let file = open(path)?;
    let until = file.metadata()?.len();
    // A transcript that became shorter is another one.
    let from = from.filter(|from| *from <= until);
    let start = from.unwrap_or(until.saturating_sub(MOST));
    if until - start > MOST {
        return Ok(Counted { spend: Spend::default(), until });
    }
    let is_newer = |used: &Used| from.is_some() || used.at.as_str() >= began;
    let bytes = read(&file, start, until)?;
    let mut messages = BTreeMap::new();
    // What was told last of a message is what it used, and nothing before the loop needs to be read.
    for used in lines_backwards(&bytes).filter_map(|line| host.used(line)).take_while(is_newer) {
        messages.entry(used.message).or_insert(used.spend);
    }
    let spend = messages.into_values().reduce(Spend::plus).unwrap_or_default();
    Ok(Counted { spend, until })
}

/// Returns the lines, the last one first.
fn lines_backwards(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut left = Some(bytes);
    std::iter::from_fn(move || {
        let all = left?;
        let end = memchr::memrchr(b'\n', all);
        left = end.and_then(|end| all.get(..end));
        all.get(end.map_or(0, |end| end + 1)..)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::protocol;

    const BEGAN: &str = "2026-11-15T10:00:00.000Z";

    fn line(id: &str, at: &str, output: u64) -> String {
        format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"{at}\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"input_tokens\":10,\"output_tokens\":{output}}}}}}}\n"
        )
    }

    fn counted(text: &str, from: Option<u64>) -> Counted {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("t");
        std::fs::write(&path, text).unwrap();
        count(&path, (from, BEGAN), protocol("claude").unwrap()).unwrap()
    }

    fn tokens(input: u64, output: u64) -> Spend {
        Spend { input_tokens: Some(input), output_tokens: Some(output), cost_micros: None }
    }

    // spec: H6, L8
    #[test]
    fn each_message_counts_once_and_what_was_before_the_loop_does_not() {
        let old = line("a", "2026-11-15T09:59:59.000Z", 100);
        let text = format!(
            "{old}{0}{0}{1}",
            line("b", "2026-11-15T10:00:01.000Z", 5),
            line("c", "2026-11-15T10:00:02.000Z", 7)
        );
        assert_eq!(counted(&text, None).spend, tokens(20, 12));
        assert_eq!(counted(&text, Some(text.len() as u64 - 20)).spend, Spend::default());
    }

    // spec: H6, L8
    #[test]
    fn what_is_too_much_to_read_is_unknown() {
        let text = format!("{}{}", line("b", "2026-11-15T10:00:01.000Z", 5), " ".repeat(9 << 20));
        assert_eq!(counted(&text, Some(0)), Counted { spend: Spend::default(), until: text.len() as u64 });
    }

    // spec: H6, L8
    #[test]
    fn a_transcript_that_became_shorter_is_another_one() {
        let text = line("b", "2026-11-15T10:00:01.000Z", 5);
        assert_eq!(counted(&text, Some(1 << 30)).spend, tokens(10, 5));
    }
}
