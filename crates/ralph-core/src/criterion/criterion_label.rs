//! What messages call a criterion: by its name, never by a script of many lines.
use alloc::format;
use alloc::string::String;

/// More of a command says nothing more to a reader; what was run stands in the receipt and in `ralph show`.
const MAX_LABEL_CHARS: usize = 80;

/// Returns the name, or else the first line of what it does, as far as it fits.
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
    fn a_criterion_is_called_by_its_name_and_else_by_the_beginning_of_its_script() {
        assert_eq!(criterion_label(Some("unit"), "make\nmake test"), "unit");
        assert_eq!(criterion_label(None, "make test"), "make test");
        assert_eq!(criterion_label(None, "\nset -e\nmake test\n"), "set -e …");
        let long = "é".repeat(81);
        assert_eq!(criterion_label(None, &long), format!("{} …", "é".repeat(80)));
        assert_eq!(criterion_label(None, &"é".repeat(80)), "é".repeat(80));
        assert_eq!(criterion_label(None, ""), "");
    }
}
