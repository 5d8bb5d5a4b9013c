//! The last bytes before a position in a stream. Rules use them to detect the start of a word or the inside of an
//! escape.

const LOOK_BEHIND_BYTES: usize = 16;

/// The last bytes before the current position.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LookBehind {
    bytes: [u8; LOOK_BEHIND_BYTES],
    length: usize,
}

impl LookBehind {
    /// Returns the look-behind after these bytes.
    pub(super) fn advanced_by(&self, passed: &[u8]) -> Self {
        let mut next = Self::default();
        let start = passed.len().saturating_sub(LOOK_BEHIND_BYTES);
        let new = passed.get(start..).unwrap_or_default();
        let kept = self.length.min(LOOK_BEHIND_BYTES - new.len());
        let old = self.known_bytes().get(self.length - kept..).unwrap_or_default();
        for (place, byte) in next.bytes.iter_mut().zip(old.iter().chain(new)) {
            *place = *byte;
        }
        next.length = kept + new.len();
        next
    }

    fn known_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Returns whether a word may start here: not inside another word, but an escape such as `\n` may precede it.
    pub(super) fn is_word_start(&self) -> bool {
        match self.known_bytes() {
            [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => self.is_escape_start(2),
            [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
            [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()) => {
                self.is_escape_start(6)
            }
            [.., last] => !last.is_ascii_alphanumeric(),
            [] => true,
        }
    }

    /// Returns how many of the next bytes belong to an open JSON escape.
    pub(super) fn open_escape_len(&self, next: &[u8]) -> usize {
        match self.known_bytes() {
            [.., b'\\'] if self.is_escape_start(1) => {
                if next.first() == Some(&b'u') {
                    5
                } else {
                    1
                }
            }
            [.., b'\\', b'u'] if self.is_escape_start(2) => 4,
            [.., b'\\', b'u', _] if self.is_escape_start(3) => 3,
            [.., b'\\', b'u', _, _] if self.is_escape_start(4) => 2,
            [.., b'\\', b'u', _, _, _] if self.is_escape_start(5) => 1,
            _ => 0,
        }
    }

    /// Returns whether the backslash `back` bytes before the end starts an escape and is not escaped itself.
    fn is_escape_start(&self, back: usize) -> bool {
        let before = self.known_bytes().get(..(self.length + 1).saturating_sub(back)).unwrap_or_default();
        before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_behind_after(text: &str) -> LookBehind {
        text.bytes().fold(LookBehind::default(), |behind, byte| behind.advanced_by(&[byte]))
    }

    #[test]
    fn the_look_behind_does_not_depend_on_how_the_stream_is_split() {
        let text = "0123456789 and then some more";
        let whole = LookBehind::default().advanced_by(text.as_bytes());
        assert_eq!(whole.known_bytes(), &text.as_bytes()[text.len() - LOOK_BEHIND_BYTES..]);
        assert_eq!(whole.known_bytes(), look_behind_after(text).known_bytes());
        assert_eq!(look_behind_after("abc").advanced_by(b"defghijklmnopqrstuvwxyz").known_bytes(), b"klmnopqrstuvwxyz");
    }

    #[test]
    fn a_word_starts_after_anything_but_a_word() {
        for text in ["", " ", "a ", "\"", "\\n", "\\\\\\n", "%3D", "\\u003d", "="] {
            assert!(look_behind_after(text).is_word_start(), "{text}");
        }
        for text in ["a", "0", "\\\\n", "di", "%x0", "\\\\u003d"] {
            assert!(!look_behind_after(text).is_word_start(), "{text}");
        }
    }

    #[test]
    fn an_open_escape_is_detected() {
        for (text, next, open) in [
            ("\\", "n", 1),
            ("\\\\", "n", 0),
            ("\\\\\\", "n", 1),
            ("\\", "u00e9", 5),
            ("\\u", "00e9", 4),
            ("\\u0", "0e9", 3),
            ("\\u00", "e9", 2),
            ("\\u00e", "9", 1),
            ("\\u00e9", "", 0),
            ("a", "b", 0),
        ] {
            assert_eq!(look_behind_after(text).open_escape_len(next.as_bytes()), open, "{text}");
        }
    }
}
