//! Names of workflows, commands and scripts. A name is one path component, so that it cannot leave its folder.

/// Longest name; file systems allow 255 bytes with the ending.
const MAX_NAME_BYTES: usize = 200;

/// Returns why a text is not the name of a command or script, or `None` if it is one.
pub(super) fn command_name_problem(name: &str) -> Option<&'static str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.+@ ".contains(letter);
    match name {
        "" => Some("it is empty"),
        _ if name.len() > MAX_NAME_BYTES => Some("it is too long"),
        _ if name.contains(['/', '\\']) => Some("it contains a slash"),
        _ if name.contains("..") => Some("it contains `..`"),
        _ if name.starts_with('.') => Some("it begins with a dot"),
        _ if name.trim() != name => Some("it begins or ends with a blank"),
        _ if !name.chars().all(is_plain) => Some("it contains a character that is not allowed"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W5
    // fault: 81
    #[test]
    fn a_name_cannot_leave_its_folder() {
        let long = "x".repeat(300);
        let names =
            ["", ".", "..", "../x", "/etc/x", "a/../b", "a\\b", ".hidden", "a\0b", "%2e%2e/x", "a\u{202e}b", &long];
        for name in names {
            assert_ne!(command_name_problem(name), None, "{name:?}");
        }
    }

    // spec: W5
    #[test]
    fn usual_names_are_allowed() {
        for name in ["review", "fix-issue_2", "v1.2", "prüfen"] {
            assert_eq!(command_name_problem(name), None, "{name:?}");
        }
    }
}
