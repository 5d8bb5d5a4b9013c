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
pub use value::{Secret, secrets_of};

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
        let mut clean = Vec::with_capacity(text.len());
        redactor.push(text.as_bytes(), &mut clean);
        redactor.finish(&mut clean);
        if clean == text.as_bytes() {
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
    between: Vec<u8>,
}

impl Redactor {
    /// Starts a stream.
    #[must_use]
    pub fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, values: ValueFold::default(), shapes: ShapeFold::default(), between: Vec::new() }
    }

    /// Takes the next piece and appends to `out` what is decided by now.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let Self { secrets, values, shapes, between } = self;
        if secrets.values.is_empty() {
            return shapes.push(&secrets.anchors, piece, out);
        }
        between.clear();
        values.push(&secrets.values, piece, between);
        shapes.push(&secrets.anchors, between, out);
    }

    /// Ends the stream and appends what was still undecided.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let Self { secrets, values, shapes, between } = self;
        between.clear();
        values.finish(&secrets.values, between);
        shapes.push(&secrets.anchors, between, out);
        shapes.finish(&secrets.anchors, out);
    }

    /// Returns how many bytes wait for what follows them.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.values.waiting() + self.shapes.waiting()
    }
}
