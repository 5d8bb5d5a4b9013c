//! Small helpers on text that several rules need.

/// Returns at most the last `bytes` of a text, cut at a whole character.
#[must_use]
pub fn tail_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_end_and_whole_characters() {
        assert_eq!(tail_of("grün", 2), "n");
        assert_eq!(tail_of("grün", 3), "ün");
        assert_eq!(tail_of("ab", 10), "ab");
    }
}
