//! Redacts secrets in a byte stream with a bounded look-behind. The result does not depend on how the stream is split
//! into pieces, and everything else passes through unchanged. Secrets known by value are redacted first
//! (`value_redactor`), then secrets known by shape (`shape_redactor`). Hand-written because a regex would have to
//! buffer the stream.
mod anchor_search;
mod held_bytes;
mod look_behind;
mod match_shape;
mod named_secret;
mod record_words;
mod reveal_secrets;
mod secret_names;
mod secret_shape;
mod shape_redactor;
mod value_forms;
mod value_redactor;

#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use named_secret::{NamedSecret, secrets_in_value, secrets_of_variable};
pub use record_words::is_record_word;
pub use reveal_secrets::reveal_secrets;

use anchor_search::AnchorSearch;
use shape_redactor::ShapeRedactor;
use value_redactor::{ValueDictionary, ValueRedactor};

/// The secret values, prepared for the search, and the built-in secret shapes.
#[derive(Debug)]
pub struct SecretMatcher {
    values: ValueDictionary,
    anchors: AnchorSearch,
}

impl SecretMatcher {
    /// Prepares the search. The redaction mark of a value contains its name.
    #[must_use]
    pub fn new(secrets: &[NamedSecret]) -> Self {
        Self { values: ValueDictionary::new(secrets), anchors: AnchorSearch::new() }
    }

    /// Returns the text with its secrets redacted.
    #[must_use]
    pub fn redact_text<'a>(self: &Arc<Self>, text: &'a str) -> Cow<'a, str> {
        let mut redactor = StreamRedactor::new(Arc::clone(self));
        // A text without a secret or an undecided rest is passed through as one part: no copy is needed.
        let mut is_whole = false;
        let mut clean = Vec::new();
        let mut keep = |part: &[u8]| match core::ptr::eq(part, text.as_bytes()) {
            true => is_whole = true,
            false => clean.extend_from_slice(part),
        };
        redactor.push(text.as_bytes(), &mut keep);
        redactor.finish(&mut keep);
        if is_whole || clean == text.as_bytes() {
            return Cow::Borrowed(text);
        }
        let lossy = |error: alloc::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
        Cow::Owned(String::from_utf8(clean).unwrap_or_else(lossy))
    }
}

/// Redacts the secrets in one stream.
#[derive(Debug)]
pub struct StreamRedactor {
    secrets: Arc<SecretMatcher>,
    values: ValueRedactor,
    shapes: ShapeRedactor,
}

/// Receives the redacted output in order, in parts that may be empty.
type ByteSink<'a> = &'a mut dyn FnMut(&[u8]);

impl StreamRedactor {
    #[must_use]
    pub fn new(secrets: Arc<SecretMatcher>) -> Self {
        Self { secrets, values: ValueRedactor::default(), shapes: ShapeRedactor::default() }
    }

    /// Processes the next piece and writes everything that is decided. Copies nothing if no secrets are known.
    pub fn push(&mut self, piece: &[u8], out: &mut dyn FnMut(&[u8])) {
        let Self { secrets, values, shapes } = self;
        if secrets.values.is_empty() {
            return shapes.push(&secrets.anchors, piece, out);
        }
        values.push(&secrets.values, piece, &mut |part| shapes.push(&secrets.anchors, part, out));
    }

    /// Ends the stream and writes the undecided rest.
    pub fn finish(&mut self, out: &mut dyn FnMut(&[u8])) {
        let Self { secrets, values, shapes } = self;
        values.finish(&secrets.values, &mut |part| shapes.push(&secrets.anchors, part, out));
        shapes.finish(&secrets.anchors, out);
    }

    /// Returns whether the stream so far ends with what may be the beginning of a known secret.
    #[must_use]
    pub fn may_be_inside_secret(&self) -> bool {
        self.values.pending_bytes() > 0
    }

    /// Returns how many bytes are held until more input decides about them.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.values.pending_bytes() + self.shapes.pending_bytes()
    }
}
