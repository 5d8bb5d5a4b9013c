//! Ids of tasks, specs and roles. They become branch and file names, so only few characters are allowed.
use alloc::string::String;

const MAX_ID_BYTES: usize = 100;

/// Returns whether a text is a valid id: letters, digits, `-`, `_` and `.`, a letter or digit first, and valid as a git
/// branch name.
#[must_use]
pub fn is_valid_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends_badly = text.ends_with('.') || text.to_ascii_lowercase().ends_with(".lock");
    text.len() <= MAX_ID_BYTES
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_part)
        && !ends_badly
        && !text.contains("..")
}

/// Converts a text to an id: letters and digits in lower case, and everything else as one `-`.
#[must_use]
pub fn to_slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(60);
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: T1
    #[test]
    fn an_id_is_a_valid_branch_and_file_name() {
        for good in ["TASK-001", "US-1.2", "a", "my_task"] {
            assert!(is_valid_id(good), "{good}");
        }
        let long = "x".repeat(101);
        for bad in ["", " ", "-x", ".x", "a/b", "a..b", "a b", "x.lock", "x.", "ä", "a\n", long.as_str()] {
            assert!(!is_valid_id(bad), "{bad:?}");
        }
    }

    // spec: T4
    #[test]
    fn a_title_is_converted_to_an_id() {
        assert_eq!(to_slug("  Add JWT (auth) to the API! "), "add-jwt-auth-to-the-api");
        assert_eq!(to_slug("«»"), "");
        assert!(is_valid_id(&to_slug(&"long word ".repeat(40))));
    }
}
