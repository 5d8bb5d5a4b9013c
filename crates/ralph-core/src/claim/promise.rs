//! The text that an agent must promise, and the optional one-time id of the tag. Both are validated when they are
//! parsed, so later code never sees an empty promise.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// The text between the promise tags. It is never blank, and a new promise is longer than one character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Promise(String);

/// Why a text cannot be a promise: an agent could print it by accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PromiseError {
    #[error("the promise is empty")]
    Empty,
    #[error("the promise is a single letter")]
    OneLetter,
}

impl Promise {
    /// Parses a promise. Surrounding whitespace is removed, and inner whitespace becomes one blank.
    pub fn parse(text: &str) -> Result<Self, PromiseError> {
        let promise = Self::try_from(String::from(text))?;
        match promise.0.chars().nth(1) {
            None => Err(PromiseError::OneLetter),
            Some(_) => Ok(promise),
        }
    }

    /// Returns the promised text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Promise {
    type Error = PromiseError;

    /// Reads a stored promise. A single letter is allowed here, because earlier versions accepted it.
    fn try_from(text: String) -> Result<Self, PromiseError> {
        let text = collapse_whitespace(&text);
        if text.is_empty() { Err(PromiseError::Empty) } else { Ok(Self(text)) }
    }
}

impl From<Promise> for String {
    fn from(promise: Promise) -> Self {
        promise.0
    }
}

/// Collapses every run of whitespace into one blank and trims both ends.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A four-character id that a prompt asks for once, so that an old tag does not count as a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseNonce(String);

impl PromiseNonce {
    /// Creates a nonce from a random number that the caller supplies.
    pub fn from_random(random: u32) -> Self {
        const NONCE_ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut rest = random;
        let mut text = String::with_capacity(4);
        for _ in 0..4 {
            let letter = NONCE_ALPHABET.get((rest % 36) as usize).copied().unwrap_or(b'a');
            text.push(char::from(letter));
            rest /= 36;
        }
        Self(text)
    }

    /// Returns the four characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: S1
    // fault: 86
    #[test]
    fn a_blank_or_single_letter_promise_is_rejected() {
        assert_eq!(Promise::parse(""), Err(PromiseError::Empty));
        assert_eq!(Promise::parse(" \n\t"), Err(PromiseError::Empty));
        for letter in ["x", " * ", "\u{e4}", "\u{5b8c}"] {
            assert_eq!(Promise::parse(letter), Err(PromiseError::OneLetter), "{letter}");
        }
        assert_eq!(Promise::parse("OK").unwrap().as_str(), "OK");
    }

    // spec: S1, L13
    #[test]
    fn a_stored_single_letter_promise_can_still_be_read() {
        let stored: Promise = serde_json::from_str("\"x\"").unwrap();
        assert_eq!(stored.as_str(), "x");
        assert!(serde_json::from_str::<Promise>("\" \"").is_err());
    }

    // spec: S1
    #[test]
    fn whitespace_in_a_promise_is_collapsed() {
        assert_eq!(Promise::parse("  ALL \n DONE ").unwrap().as_str(), "ALL DONE");
    }

    // spec: S9
    #[test]
    fn a_nonce_has_four_letters_or_digits() {
        for random in [0, 1, 35, 36, 1_679_615, u32::MAX] {
            let nonce = PromiseNonce::from_random(random);
            assert_eq!(nonce.as_str().len(), 4);
            assert!(nonce.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
        }
        assert_ne!(PromiseNonce::from_random(7), PromiseNonce::from_random(8));
    }
}
