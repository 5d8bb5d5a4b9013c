//! Hides secrets in a stream of bytes: bytes in, bytes out, with a bounded look-behind. The result does not depend on
//! how the stream was cut into pieces, and everything that is no secret comes out as it went in.
//!
//! First what is known by its value is hidden (`values`), then what is known by its shape (`shapes`).
mod anchors;
mod behind;
mod forms;
mod held;
mod name;
mod own;
mod recognise;
mod reveal;
mod shape;
mod shapes;
mod value;
mod values;

#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use own::is_own_word;
pub use reveal::reveal;
pub use value::{Secret, secrets_in, secrets_of};

use anchors::Anchors;
use shapes::ShapeFold;
use values::{Dictionary, ValueFold};

/// The values that are hidden, prepared for the search, and the shapes that always are.
#[derive(Debug)]
pub struct Secrets {
    values: Dictionary,
    anchors: Anchors,
}

impl Secrets {
    /// Prepares the search. The names stand in the marks, so that people know what was hidden.
    #[must_use]
    pub fn new(secrets: &[Secret]) -> Self {
        Self { values: Dictionary::new(secrets), anchors: Anchors::new() }
    }

    /// Returns a text without its secrets.
    #[must_use]
    pub fn redact<'a>(self: &Arc<Self>, text: &'a str) -> Cow<'a, str> {
        let mut redactor = Redactor::new(Arc::clone(self));
        // A text with nothing to hide and nothing undecided comes out as it is.
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
        let lossy =
            |error: alloc::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
        Cow::Owned(String::from_utf8(clean).unwrap_or_else(lossy))
    }
}

/// Hides secrets in one stream.
#[derive(Debug)]
pub struct Redactor {
    secrets: Arc<Secrets>,
    values: ValueFold,
    shapes: ShapeFold,
}

/// Takes what comes out: part after part, in order, some of them empty.
type Out<'a> = &'a mut dyn FnMut(&[u8]);

impl Redactor {
    /// Starts a stream.
    #[must_use]
    pub fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, values: ValueFold::default(), shapes: ShapeFold::default() }
    }

    /// Takes the next piece and passes on what is decided by now, without a copy where nothing is hidden.
    pub fn push(&mut self, piece: &[u8], out: &mut dyn FnMut(&[u8])) {
        let Self { secrets, values, shapes } = self;
        if secrets.values.is_empty() {
            return shapes.push(&secrets.anchors, piece, out);
        }
        values.push(&secrets.values, piece, &mut |part| shapes.push(&secrets.anchors, part, out));
    }

    /// Ends the stream and passes on what was still undecided.
    pub fn finish(&mut self, out: &mut dyn FnMut(&[u8])) {
        let Self { secrets, values, shapes } = self;
        values.finish(&secrets.values, &mut |part| shapes.push(&secrets.anchors, part, out));
        shapes.finish(&secrets.anchors, out);
    }

    /// Returns how many bytes wait for what follows them.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.values.waiting() + self.shapes.waiting()
    }
}
