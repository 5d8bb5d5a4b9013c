//! Small text helpers that several rules need.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Signals that terminate programs and have the same number on all platforms.
const COMMON_SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];

/// Returns the number and name of a signal, such as `signal 9 (SIGKILL)`.
#[must_use]
pub fn describe_signal(number: i32) -> String {
    match COMMON_SIGNALS.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}

/// Formats a duration in its two largest units: `2h 5m`, `3d 4h`, `12s`.
#[must_use]
pub fn format_duration_ms(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let parts = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(3);
    let shown = parts.iter().skip(first).take(2).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = shown.map(|(count, unit)| format!("{count}{unit}")).collect();
    if parts.is_empty() { String::from("0s") } else { parts.join(" ") }
}

/// The length to which the title of a prompt is cut.
const MAX_TITLE_CHARS: usize = 200;

/// Returns the line that identifies a prompt: its first line with a letter or digit, without the marks of a heading.
#[must_use]
pub fn prompt_title(prompt: &str) -> String {
    let line = prompt.lines().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    line.trim().trim_start_matches('#').trim().chars().take(MAX_TITLE_CHARS).collect()
}

/// Returns at most the last `bytes` of a text, cut at a character boundary.
#[must_use]
pub fn text_tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// Returns at most the first `bytes` of a text, cut at a character boundary.
#[must_use]
pub fn text_head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U9
    #[test]
    fn the_first_line_with_a_word_identifies_a_prompt() {
        assert_eq!(prompt_title("\n---\n## Fix the parser\n\nDetails"), "Fix the parser");
        assert_eq!(prompt_title("  Fix it  "), "Fix it");
        assert_eq!(prompt_title("\n \n***\n"), "");
        assert_eq!(prompt_title(&"é".repeat(500)).chars().count(), 200);
    }

    // fault: 33
    #[test]
    fn a_signal_is_named_if_its_number_is_the_same_on_all_platforms() {
        assert_eq!(describe_signal(9), "signal 9 (SIGKILL)");
        assert_eq!(describe_signal(10), "signal 10", "SIGUSR1 on Linux, SIGBUS elsewhere");
    }

    #[test]
    fn a_duration_is_formatted_in_its_two_largest_units() {
        let table = [
            (0, "0s"),
            (1, "1s"),
            (59_000, "59s"),
            (60_000, "1m"),
            (3_661_000, "1h 1m"),
            (6 * 3_600_000, "6h"),
            (90_061_000, "1d 1h"),
        ];
        for (ms, expected) in table {
            assert_eq!(format_duration_ms(ms), expected);
        }
    }

    #[test]
    fn a_truncated_text_keeps_whole_characters() {
        assert_eq!(text_tail("grün", 2), "n");
        assert_eq!(text_tail("grün", 3), "ün");
        assert_eq!(text_tail("ab", 10), "ab");
        assert_eq!((text_head("grün", 3), text_head("grün", 4), text_head("ab", 10)), ("gr", "grü", "ab"));
    }
}
