//! Hides what is known by its shape, wherever the stream is cut.
use super::Out;
use super::anchors::{Anchors, Candidate, shapes_at};
use super::behind::Behind;
use super::held::Held;
use super::recognise::{Look, Then, look};
use super::values::End;

const MARK: &[u8] = b"[redacted]";

/// No key is longer than this. A beginning without an end hides no more.
const LONGEST_KEY: usize = 16 * 1024;

/// One stream on its way through the shapes.
#[derive(Debug, Default)]
pub(super) struct ShapeFold {
    held: Held,
    behind: Behind,
    inside: Inside,
}

/// Whether a secret goes on.
#[derive(Debug, Default, Clone, Copy)]
enum Inside {
    #[default]
    Nothing,
    Secret(Then),
    /// The lines of a key, so many bytes by now.
    Key {
        hidden: usize,
    },
}

impl ShapeFold {
    pub(super) fn push(&mut self, anchors: &Anchors, piece: &[u8], out: Out<'_>) {
        let mut held = core::mem::take(&mut self.held);
        held.push(piece, |data| self.pass(anchors, data, End::Open, out).len());
        self.held = held;
    }

    pub(super) fn finish(&mut self, anchors: &Anchors, out: Out<'_>) {
        let all = self.held.take();
        self.pass(anchors, &all, End::Reached, out);
    }

    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Passes on what is decided and returns the rest.
    fn pass<'a>(&mut self, anchors: &Anchors, data: &'a [u8], end: End, out: Out<'_>) -> &'a [u8] {
        // What lies before was passed on or hidden. It is passed on in as few parts as possible: usually it is one.
        let mut shown = 0;
        // What lies before was read; from there to `next` is nothing.
        let (mut done, mut next) = (0, 0);
        loop {
            if let Some(hidden) = self.goes_on(data.get(done..).unwrap_or_default(), end) {
                self.advance(data, done, done + hidden);
                done += hidden;
                (shown, next) = (done, done);
                if let Inside::Secret(_) | Inside::Key { .. } = self.inside {
                    return data.get(done..).unwrap_or_default();
                }
            }
            let start = match anchors.find(data, next, end) {
                Candidate::Nowhere => {
                    self.advance(data, done, data.len());
                    out(data.get(shown..).unwrap_or_default());
                    return &[];
                }
                Candidate::Anchor(start) | Candidate::Unfinished(start) => start,
            };
            self.advance(data, done, start);
            (done, next) = (start, start + 1);
            match self.look(data.get(start..).unwrap_or_default(), end) {
                Look::No => {}
                Look::More => {
                    out(data.get(shown..start).unwrap_or_default());
                    return data.get(start..).unwrap_or_default();
                }
                Look::Yes { from, to, then } => {
                    out(data.get(shown..start + from).unwrap_or_default());
                    out(MARK);
                    self.advance(data, start, start + from);
                    self.advance(data, start + from, start + to);
                    done = start + to;
                    (shown, next) = (done, done);
                    self.inside = Inside::after(then);
                }
            }
        }
    }

    fn look(&self, rest: &[u8], end: End) -> Look {
        let looks = shapes_at(rest).map(|shape| look(shape, &self.behind, rest, end));
        looks.into_iter().find(|look| *look != Look::No).unwrap_or(Look::No)
    }

    /// Returns how many bytes still belong to the secret that was begun, if one was.
    fn goes_on(&mut self, rest: &[u8], end: End) -> Option<usize> {
        let (hidden, inside) = match self.inside {
            Inside::Nothing => return None,
            Inside::Secret(Then::Letters(letters)) => {
                let hidden = rest.iter().take_while(|byte| letters.has(**byte)).count();
                (hidden, if hidden == rest.len() { self.inside } else { Inside::Nothing })
            }
            Inside::Secret(Then::Nothing | Then::KeyLines) => (0, Inside::Nothing),
            Inside::Key { hidden } => key_lines(rest, hidden),
        };
        self.inside = if end == End::Reached { Inside::Nothing } else { inside };
        Some(hidden)
    }

    fn advance(&mut self, data: &[u8], from: usize, to: usize) {
        self.behind = self.behind.then(data.get(from..to).unwrap_or_default());
    }
}

impl Inside {
    fn after(then: Then) -> Self {
        match then {
            Then::Nothing => Self::Nothing,
            Then::Letters(_) => Self::Secret(then),
            Then::KeyLines => Self::Key { hidden: 0 },
        }
    }
}

/// Hides lines of a key up to its end marker, or to the quotation mark that ends the text around it.
fn key_lines(rest: &[u8], before: usize) -> (usize, Inside) {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let following = rest.get(at + 1);
        match (byte, following) {
            // Half an escape or half a marker waits for its other half.
            (b'-' | b'\\', None) => return (at, Inside::Key { hidden: before + at }),
            (b'-', Some(b'-')) | (b'"', _) => return (at, Inside::Nothing),
            (byte, _) if before + at >= LONGEST_KEY && byte.is_ascii() => return (at, Inside::Nothing),
            (b'\\', Some(_)) => at += 2,
            _ => at += 1,
        }
    }
    (at, Inside::Key { hidden: before + at })
}
