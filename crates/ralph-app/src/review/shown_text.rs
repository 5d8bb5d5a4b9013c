//! A text that a person decides on, with the digest that a decision must carry.
use ralph_util::digest::sha256_hex;

use crate::error::{AppError, AppResult};

/// A text as a person sees it. Characters that a screen would not show are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownText {
    pub text: String,
    /// Changes with the text, and with everything else that the decision covers.
    pub digest: String,
}

impl ShownText {
    /// `covered` is what the decision covers besides the text, for example the full hashes of files.
    pub(crate) fn new(text: String, covered: &[&str]) -> Self {
        let parts = std::iter::once(text.as_str()).chain(covered.iter().copied());
        // The lengths separate the parts unambiguously.
        let hashed: String = parts.map(|part| format!("{}\n{part}", part.len())).collect();
        Self { digest: sha256_hex(hashed), text }
    }

    /// Refuses a decision on another text than this one. `name` says what the text is about.
    pub fn ensure_seen(&self, seen: &str, name: &str) -> AppResult<()> {
        if self.digest == seen {
            return Ok(());
        }
        Err(AppError::preflight(format!("{name} changed after they were shown, or were never shown"))
            .with_advice("read them again, and decide on what you see: nothing was decided"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U10
    #[test]
    fn a_decision_on_another_text_is_refused() {
        let shown = ShownText::new("rm -r build".to_owned(), &["hash"]);
        assert!(shown.ensure_seen(&shown.digest, "the commands").is_ok());
        let other_text = ShownText::new("rm -r /".to_owned(), &["hash"]);
        let other_files = ShownText::new("rm -r build".to_owned(), &["h"]);
        for other in [other_text, other_files] {
            let error = shown.ensure_seen(&other.digest, "the commands").unwrap_err();
            assert_eq!(error.to_string(), "the commands changed after they were shown, or were never shown");
        }
    }

    // spec: U10
    #[test]
    fn the_parts_of_a_decision_cannot_be_exchanged() {
        let digest = |text: &str, covered: &[&str]| ShownText::new(text.to_owned(), covered).digest;
        assert_ne!(digest("ab", &["c"]), digest("a", &["bc"]));
        assert_ne!(digest("a", &["b", "c"]), digest("a", &["b"]));
    }
}
