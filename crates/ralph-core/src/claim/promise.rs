//! The text an agent must promise, and the optional one-time id that goes with it. Both are parsed once,
//! at the edge, so that no later code has to think about an empty promise.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// The text between the promise tags. It is never blank, and nobody can choose a single letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Promise(String);

/// A promise that would be kept by silence, or by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PromiseError {
    #[error("the promise is empty")]
    Empty,
    #[error("the promise is a single letter")]
    OneLetter,
}

impl Promise {
    /// Reads a promise; white space around it is layout and inner white space is one blank.
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

    /// Reads a promise that was stored. Earlier versions took a single letter.
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

/// Returns `text` with every run of white space as one blank and none at the ends.
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

/// Four letters or digits that a prompt asks for once, so that an old tag cannot pass for a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseNonce(String);

impl PromiseNonce {
    /// Makes a nonce from a random number that the caller has rolled.
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
    fn a_blank_promise_and_one_of_a_single_letter_are_refused() {
        assert_eq!(Promise::parse(""), Err(PromiseError::Empty));
        assert_eq!(Promise::parse(" \n\t"), Err(PromiseError::Empty));
        for letter in ["x", " * ", "\u{e4}", "\u{5b8c}"] {
            assert_eq!(Promise::parse(letter), Err(PromiseError::OneLetter), "{letter}");
        }
        assert_eq!(Promise::parse("OK").unwrap().as_str(), "OK");
    }

    // spec: S1, L13
    #[test]
    fn a_single_letter_that_was_stored_before_it_was_refused_can_still_be_read() {
        let stored: Promise = serde_json::from_str("\"x\"").unwrap();
        assert_eq!(stored.as_str(), "x");
        assert!(serde_json::from_str::<Promise>("\" \"").is_err());
    }

    // spec: S1
    #[test]
    fn white_space_in_a_promise_is_layout() {
        assert_eq!(Promise::parse("  ALL \n DONE ").unwrap().as_str(), "ALL DONE");
    }

    // spec: S9
    #[test]
    fn a_nonce_has_four_letters_or_digits() {
        for dice in [0, 1, 35, 36, 1_679_615, u32::MAX] {
            let nonce = PromiseNonce::from_random(dice);
            assert_eq!(nonce.as_str().len(), 4);
            assert!(nonce.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
        }
        assert_ne!(PromiseNonce::from_random(7), PromiseNonce::from_random(8));
    }
}
