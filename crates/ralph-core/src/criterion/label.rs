//! What messages call a criterion: by its name, never by a script of many lines.
use alloc::format;
use alloc::string::String;

/// More of a command says nothing more to a reader; what was run stands in the receipt and in `ralph show`.
const LONGEST: usize = 80;

/// Returns the name, or else the first line of what it does, as far as it fits.
#[must_use]
pub fn label(name: Option<&str>, does: &str) -> String {
    if let Some(name) = name {
        return String::from(name);
    }
    let whole = does.trim();
    let line = whole.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(LONGEST) {
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
        assert_eq!(label(Some("unit"), "make\nmake test"), "unit");
        assert_eq!(label(None, "make test"), "make test");
        assert_eq!(label(None, "\nset -e\nmake test\n"), "set -e …");
        let long = "é".repeat(81);
        assert_eq!(label(None, &long), format!("{} …", "é".repeat(80)));
        assert_eq!(label(None, &"é".repeat(80)), "é".repeat(80));
        assert_eq!(label(None, ""), "");
    }
}
