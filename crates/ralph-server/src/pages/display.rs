//! Text and numbers as pages show them. Text from outside becomes a [`DisplayText`] first: without control characters and
//! secrets, and escaped by the template.
use std::fmt;

use ralph_app::view::{format_age, format_clock_time, format_timestamp, timestamp_json};
use ralph_core::event::UnixMillis;
use ralph_engine::run_driver::Clock;
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

/// Text without control characters and secrets. Templates escape it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DisplayText(String);

impl DisplayText {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self(sanitize_text(&redact_text(text.as_ref())))
    }

    /// The first line, cut to this many characters.
    pub(super) fn first_line(text: impl AsRef<str>, max_chars: usize) -> Self {
        // A secret may span the cut, so it is removed first.
        let clean = sanitize_text(&redact_text(text.as_ref().trim()));
        let clean = clean.lines().next().unwrap_or_default().to_owned();
        match clean.char_indices().nth(max_chars) {
            Some((end, _)) => Self(format!("{}…", clean.get(..end).unwrap_or_default())),
            None => Self(clean),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a line of evidence quotes output.
    pub(super) fn is_output(&self) -> bool {
        self.0.starts_with("| ")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for DisplayText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<T: AsRef<str>> From<T> for DisplayText {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A moment, for `<time>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DisplayTime {
    /// ISO 8601 in UTC.
    pub(super) iso: String,
    /// The time of day, with the date if it is another day.
    pub(super) clock: String,
    pub(super) full: String,
    /// `5m ago`.
    pub(super) ago: String,
}

impl DisplayTime {
    pub(super) fn new(millis: i64) -> Self {
        let now = Clock::wall_now();
        Self {
            iso: timestamp_json(millis).as_str().unwrap_or_default().to_owned(),
            clock: format_clock_time(UnixMillis(millis), now),
            full: format_timestamp(millis),
            ago: format!("{} ago", format_age(now.elapsed_since(UnixMillis(millis)))),
        }
    }
}

/// A status: a word with a glyph, and the class of its colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusMark {
    pub(super) word: DisplayText,
    pub(super) glyph: &'static str,
    pub(super) class: &'static str,
}

impl StatusMark {
    /// Returns the mark of a status, an outcome, or the verdict on a claim.
    pub(super) fn new(status: &str) -> Self {
        let (glyph, class) = glyph_and_class(status);
        Self { word: DisplayText::new(status.replace('_', " ")), glyph, class }
    }

    pub(super) fn with_word(status: &str, word: &str) -> Self {
        Self { word: DisplayText::new(word), ..Self::new(status) }
    }
}

fn glyph_and_class(status: &str) -> (&'static str, &'static str) {
    match status {
        "completed" | "accepted" | "done" | "proven" | "checked" | "passed" => ("✓", "good"),
        "failed" | "rejected" | "blocked" | "over_budget" => ("✗", "bad"),
        "exhausted" | "stalled" | "interrupted" | "died" | "timed_out" | "could_not_evaluate" | "unverified"
        | "judged" => ("!", "warn"),
        "waiting" | "paused" | "parked" | "rate_limited" | "retrying" => ("‖", "wait"),
        "running" | "preparing" | "verifying" | "stopping" | "setting_up" | "coding" | "reviewing" | "testing"
        | "qa" => ("●", "run"),
        "skipped" | "cancelled" => ("–", ""),
        _ => ("○", ""),
    }
}

/// Returns a headline without the status at its beginning, which a mark beside it shows.
pub(super) fn without_status(headline: &str) -> &str {
    headline.split_once(": ").filter(|(status, _)| !status.contains(' ')).map_or(headline, |(_, reason)| reason)
}

/// Encodes an id as one segment of a path.
pub(super) fn path_segment(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Formats a known cost, and an unknown one as `unknown`.
pub(super) fn short_cost(micros: Option<i64>) -> String {
    micros.map_or_else(|| "unknown".to_owned(), |_| ralph_app::view::format_cost(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 107
    #[test]
    fn text_from_outside_loses_its_control_characters() {
        assert_eq!(DisplayText::new("a\u{1b}[31mb\u{202e}c\u{7}").as_str(), "abc");
    }

    #[test]
    fn a_title_is_one_line_of_limited_length() {
        assert_eq!(DisplayText::first_line("\n  one two\nthree", 5).as_str(), "one t…");
        assert_eq!(DisplayText::first_line("one", 5).as_str(), "one");
    }

    #[test]
    fn a_headline_beside_its_status_does_not_repeat_it() {
        assert_eq!(without_status("over_budget: it cost $5: too much"), "it cost $5: too much");
        assert_eq!(without_status("iteration 1 of 5: rejected"), "iteration 1 of 5: rejected");
    }

    // fault: 103
    #[test]
    fn an_id_is_one_segment_of_a_path() {
        assert_eq!(path_segment("../a b?é"), "..%2Fa%20b%3F%C3%A9");
    }

    // spec: U5
    #[test]
    fn every_status_has_a_word_and_a_glyph() {
        for status in ["completed", "over_budget", "rate_limited", "running", "some future word"] {
            let mark = StatusMark::new(status);
            assert!(!mark.word.is_empty() && !mark.glyph.is_empty(), "{status}");
        }
    }
}
