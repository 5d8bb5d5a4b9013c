//! The one-line label of a criterion in messages: its name, or the start of its script.
use alloc::format;
use alloc::string::String;

/// Longer commands are truncated. The receipt and `ralph show` have the full command.
const MAX_LABEL_CHARS: usize = 80;

/// Returns the name or, if there is none, the first line of the description, truncated to `MAX_LABEL_CHARS`.
#[must_use]
pub fn criterion_label(name: Option<&str>, description: &str) -> String {
    if let Some(name) = name {
        return String::from(name);
    }
    let whole = description.trim();
    let line = whole.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MAX_LABEL_CHARS) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default().trim_end()),
        None if line.len() < whole.len() => format!("{line} …"),
        None => String::from(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2
    #[test]
    fn the_label_is_the_name_or_the_first_line_of_the_script() {
        assert_eq!(criterion_label(Some("unit"), "make\nmake test"), "unit");
        assert_eq!(criterion_label(None, "make test"), "make test");
        assert_eq!(criterion_label(None, "\nset -e\nmake test\n"), "set -e …");
        let long = "é".repeat(81);
        assert_eq!(criterion_label(None, &long), format!("{} …", "é".repeat(80)));
        assert_eq!(criterion_label(None, &"é".repeat(80)), "é".repeat(80));
        assert_eq!(criterion_label(None, ""), "");
    }
}
