//! Redacts secrets that are known by their shape, wherever the stream is split.
use super::ByteSink;
use super::anchor_search::{AnchorCandidate, AnchorSearch, shapes_at};
use super::held_bytes::HeldBytes;
use super::look_behind::LookBehind;
use super::match_shape::{SecretContinuation, ShapeMatch, match_shape};
use super::value_redactor::StreamEnd;

const REDACTION_MARK: &[u8] = b"[redacted]";

/// No key is longer than this. After a key header without an end marker, no more than this is redacted.
const MAX_KEY_BYTES: usize = 16 * 1024;

/// The state of one stream.
#[derive(Debug, Default)]
pub(super) struct ShapeRedactor {
    held: HeldBytes,
    look_behind: LookBehind,
    open_secret: OpenSecret,
}

/// Whether the stream is inside a secret.
#[derive(Debug, Default, Clone, Copy)]
enum OpenSecret {
    #[default]
    None,
    Continuing(SecretContinuation),
    /// Inside the lines of a key.
    PrivateKey {
        hidden_bytes: usize,
    },
}

impl ShapeRedactor {
    pub(super) fn push(&mut self, anchors: &AnchorSearch, piece: &[u8], out: ByteSink<'_>) {
        let mut held = core::mem::take(&mut self.held);
        held.push(piece, |data| self.redact_decided(anchors, data, StreamEnd::Open, out).len());
        self.held = held;
    }

    pub(super) fn finish(&mut self, anchors: &AnchorSearch, out: ByteSink<'_>) {
        let all = self.held.take();
        self.redact_decided(anchors, &all, StreamEnd::Reached, out);
    }

    pub(super) fn pending_bytes(&self) -> usize {
        self.held.len()
    }

    /// Writes everything that is decided and returns the rest.
    fn redact_decided<'a>(
        &mut self,
        anchors: &AnchorSearch,
        data: &'a [u8],
        end: StreamEnd,
        out: ByteSink<'_>,
    ) -> &'a [u8] {
        // Everything before `written` was written or redacted. The output has as few parts as possible: usually one.
        let mut written = 0;
        // Everything before `done` was processed. No secret starts between `done` and `next`.
        let (mut done, mut next) = (0, 0);
        loop {
            if let Some(hidden) = self.continue_secret(data.get(done..).unwrap_or_default(), end) {
                self.advance_look_behind(data, done, done + hidden);
                done += hidden;
                (written, next) = (done, done);
                if let OpenSecret::Continuing(_) | OpenSecret::PrivateKey { .. } = self.open_secret {
                    return data.get(done..).unwrap_or_default();
                }
            }
            let start = match anchors.find_candidate(data, next, end) {
                AnchorCandidate::Nowhere => {
                    self.advance_look_behind(data, done, data.len());
                    out(data.get(written..).unwrap_or_default());
                    return &[];
                }
                AnchorCandidate::Anchor(start) | AnchorCandidate::Unfinished(start) => start,
            };
            self.advance_look_behind(data, done, start);
            (done, next) = (start, start + 1);
            match self.match_shapes(data.get(start..).unwrap_or_default(), end) {
                ShapeMatch::NoMatch => {}
                ShapeMatch::NeedsMoreInput => {
                    out(data.get(written..start).unwrap_or_default());
                    return data.get(start..).unwrap_or_default();
                }
                ShapeMatch::Match { from, to, continuation } => {
                    out(data.get(written..start + from).unwrap_or_default());
                    out(REDACTION_MARK);
                    self.advance_look_behind(data, start, start + from);
                    self.advance_look_behind(data, start + from, start + to);
                    done = start + to;
                    (written, next) = (done, done);
                    self.open_secret = OpenSecret::from_continuation(continuation);
                }
            }
        }
    }

    fn match_shapes(&self, rest: &[u8], end: StreamEnd) -> ShapeMatch {
        let mut results = shapes_at(rest).map(|shape| match_shape(shape, &self.look_behind, rest, end));
        results.find(|result| *result != ShapeMatch::NoMatch).unwrap_or(ShapeMatch::NoMatch)
    }

    /// Returns how many bytes belong to the open secret, if there is one.
    fn continue_secret(&mut self, rest: &[u8], end: StreamEnd) -> Option<usize> {
        let (hidden, inside) = match self.open_secret {
            OpenSecret::None => return None,
            OpenSecret::Continuing(SecretContinuation::WhileInClass(letters)) => {
                let hidden = rest.iter().take_while(|byte| letters.contains_byte(**byte)).count();
                (hidden, if hidden == rest.len() { self.open_secret } else { OpenSecret::None })
            }
            OpenSecret::Continuing(SecretContinuation::Complete | SecretContinuation::UntilKeyEnd) => {
                (0, OpenSecret::None)
            }
            OpenSecret::PrivateKey { hidden_bytes: hidden } => hide_key_lines(rest, hidden),
        };
        self.open_secret = if end == StreamEnd::Reached { OpenSecret::None } else { inside };
        Some(hidden)
    }

    fn advance_look_behind(&mut self, data: &[u8], from: usize, to: usize) {
        self.look_behind = self.look_behind.advanced_by(data.get(from..to).unwrap_or_default());
    }
}

impl OpenSecret {
    fn from_continuation(continuation: SecretContinuation) -> Self {
        match continuation {
            SecretContinuation::Complete => Self::None,
            SecretContinuation::WhileInClass(_) => Self::Continuing(continuation),
            SecretContinuation::UntilKeyEnd => Self::PrivateKey { hidden_bytes: 0 },
        }
    }
}

/// Returns how many bytes of a key to redact: up to its end marker, or to the quotation mark that ends the string that
/// contains it. `before` is the number of bytes that are already redacted.
fn hide_key_lines(rest: &[u8], before: usize) -> (usize, OpenSecret) {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let following = rest.get(at + 1);
        match (byte, following) {
            // An incomplete escape or marker needs the next byte.
            (b'-' | b'\\', None) => return (at, OpenSecret::PrivateKey { hidden_bytes: before + at }),
            (b'-', Some(b'-')) | (b'"', _) => return (at, OpenSecret::None),
            (byte, _) if before + at >= MAX_KEY_BYTES && byte.is_ascii() => return (at, OpenSecret::None),
            (b'\\', Some(_)) => at += 2,
            _ => at += 1,
        }
    }
    (at, OpenSecret::PrivateKey { hidden_bytes: before + at })
}
