//! A scanner over the raw bytes of one JSON record. It walks the members that a parser needs and skips the
//! rest without decoding: most of an agent's output is tool results that nobody asks for. It never recurses
//! into what it skips, so deep nesting costs nothing and overflows nothing.
use memchr::memchr;

/// The bytes of one JSON value, as written.
pub type Raw<'a> = &'a [u8];

/// The line is no well-formed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// How deep a skipped value may nest. The same as serde_json's own limit.
const DEPTH_LIMIT: u32 = 127;

/// A place in a JSON text.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the first byte of the next token.
    pub fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Walks an object. `visit` gets each key, undecoded, and must consume its value.
    pub fn object<F>(&mut self, mut visit: F) -> Result<(), Malformed>
    where
        F: FnMut(&mut Self, Raw<'a>) -> Result<(), Malformed>,
    {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.expect(b'"')?;
            let key = self.string_rest()?;
            self.expect(b':')?;
            visit(self, key)?;
            if self.take(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Walks an array. `visit` must consume one element each time.
    pub fn array<F>(&mut self, mut visit: F) -> Result<(), Malformed>
    where
        F: FnMut(&mut Self) -> Result<(), Malformed>,
    {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            visit(self)?;
            if self.take(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Consumes one value of any kind and returns its bytes.
    pub fn raw(&mut self) -> Result<Raw<'a>, Malformed> {
        let first = self.peek().ok_or(Malformed)?;
        let start = self.at;
        match first {
            b'"' => {
                self.at += 1;
                self.string_rest()?;
            }
            b'{' | b'[' => self.skip_container()?,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => self.skip_scalar(),
            _ => return Err(Malformed),
        }
        self.bytes.get(start..self.at).ok_or(Malformed)
    }

    /// Consumes one value of any kind.
    pub fn skip(&mut self) -> Result<(), Malformed> {
        self.raw().map(drop)
    }

    /// Refuses anything after the record.
    pub fn end(&mut self) -> Result<(), Malformed> {
        self.peek().map_or(Ok(()), |_| Err(Malformed))
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.take(byte) { Ok(()) } else { Err(Malformed) }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Consumes up to and including the closing quote. A quote closes the string unless an odd number of
    /// backslashes stands before it: looking for quotes alone stops far less often than looking for both.
    fn string_rest(&mut self) -> Result<Raw<'a>, Malformed> {
        let start = self.at;
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).ok_or(Malformed)?;
            let quote = from + memchr(b'"', rest).ok_or(Malformed)?;
            let body = self.bytes.get(start..quote).ok_or(Malformed)?;
            let slashes = body.iter().rev().take_while(|&&byte| byte == b'\\').count();
            if slashes % 2 == 0 {
                self.at = quote + 1;
                return Ok(body);
            }
            from = quote + 1;
        }
    }

    fn skip_scalar(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
    }

    /// Skips an object or array. Which bracket must close is kept in the bits of `kinds`.
    fn skip_container(&mut self) -> Result<(), Malformed> {
        let mut kinds = 0_u128;
        let mut depth = 0_u32;
        loop {
            let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
            self.at += 1;
            match byte {
                b'"' => {
                    self.string_rest()?;
                }
                b'{' | b'[' if depth == DEPTH_LIMIT => return Err(Malformed),
                b'{' | b'[' => {
                    kinds = (kinds << 1) | u128::from(byte == b'{');
                    depth += 1;
                }
                b'}' | b']' if (kinds & 1 == 1) != (byte == b'}') => return Err(Malformed),
                b'}' | b']' if depth == 1 => return Ok(()),
                b'}' | b']' => {
                    kinds >>= 1;
                    depth -= 1;
                }
                _ => {}
            }
        }
    }
}

/// Stores a value that may stand only once. Which of two equal keys counts is anybody's guess, so a record
/// that repeats one we need is refused.
pub fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), Malformed> {
    if slot.replace(value).is_some() { Err(Malformed) } else { Ok(()) }
}

/// Returns the values of `keys` in an object that fills `bytes`, in the order asked for.
pub fn pick<'a, const N: usize>(bytes: &'a [u8], keys: [&str; N]) -> Result<[Option<Raw<'a>>; N], Malformed> {
    let mut found = [None; N];
    let mut cursor = Cursor::new(bytes);
    cursor.object(|cursor, key| {
        let value = cursor.raw()?;
        match keys.iter().position(|wanted| wanted.as_bytes() == key).and_then(|at| found.get_mut(at)) {
            Some(slot) => once(slot, value),
            None => Ok(()),
        }
    })?;
    cursor.end()?;
    Ok(found)
}

/// Like [`pick`], for a member that may be missing or no object at all.
pub fn pick_in<'a, const N: usize>(raw: Option<Raw<'a>>, keys: [&str; N]) -> [Option<Raw<'a>>; N] {
    raw.and_then(|raw| pick(raw, keys).ok()).unwrap_or([None; N])
}

/// Returns the first element of an array that has one.
pub fn first_element(array: Raw<'_>) -> Option<Raw<'_>> {
    let mut cursor = Cursor::new(array);
    cursor.expect(b'[').and_then(|()| cursor.raw()).ok()
}

/// Returns a short name such as a record's type, or "" if it is none. Names never need escapes.
pub fn name(raw: Option<Raw<'_>>) -> &str {
    raw.and_then(quoted).and_then(|body| std::str::from_utf8(body).ok()).unwrap_or_default()
}

/// Returns the decoded string, if the value is one.
pub fn string(raw: Option<Raw<'_>>) -> Option<String> {
    raw.and_then(quoted).map(|body| decode_start(body, usize::MAX).0)
}

/// Returns the beginning of a string, about `limit` bytes of it and a mark where it was cut. No more than that
/// is decoded.
pub fn start_of_string(raw: Option<Raw<'_>>, limit: usize) -> Option<String> {
    let (mut text, left) = decode_start(raw.and_then(quoted)?, limit);
    if !left.is_empty() {
        text.push('…');
    }
    Some(text)
}

pub fn count(raw: Option<Raw<'_>>) -> Option<u64> {
    std::str::from_utf8(raw?).ok()?.parse().ok()
}

pub fn signed(raw: Option<Raw<'_>>) -> Option<i64> {
    std::str::from_utf8(raw?).ok()?.parse().ok()
}

/// Returns an amount of money. Infinite and negative ones are nonsense and count as unknown.
pub fn amount(raw: Option<Raw<'_>>) -> Option<f64> {
    let value: f64 = std::str::from_utf8(raw?).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

pub fn is_true(raw: Option<Raw<'_>>) -> bool {
    raw == Some(b"true")
}

/// Returns whether the member is there and not `null`.
pub fn is_set(raw: Option<Raw<'_>>) -> bool {
    raw.is_some_and(|raw| raw != b"null")
}

fn quoted(raw: Raw<'_>) -> Option<&[u8]> {
    raw.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Decodes the inside of a JSON string. What is no valid text (stray bytes, half a surrogate pair, which
/// programs that cut strings by UTF-16 units do write) becomes U+FFFD: one bad byte must not hide a message.
/// Nothing is begun once `limit` bytes are there; what is left is returned too.
fn decode_start(mut body: &[u8], limit: usize) -> (String, &[u8]) {
    let mut text = String::with_capacity(body.len().min(limit));
    while text.len() < limit && !body.is_empty() {
        let window = until_character_end(body, limit - text.len());
        let slash = memchr(b'\\', window).unwrap_or(window.len());
        let (plain, rest) = body.split_at(slash);
        text.push_str(&String::from_utf8_lossy(plain));
        body = rest;
        if body.first() == Some(&b'\\') && text.len() < limit {
            let (character, length) = unescape(body);
            text.push(character);
            body = body.get(length..).unwrap_or_default();
        }
    }
    (text, body)
}

/// Returns `length` bytes and the rest of the character that they end in.
fn until_character_end(bytes: &[u8], length: usize) -> &[u8] {
    let rest = bytes.get(length..).unwrap_or_default();
    let missing = rest.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    bytes.get(..length + missing).unwrap_or(bytes)
}

/// Returns the character that an escape stands for, and how many bytes the escape takes.
fn unescape(escape: &[u8]) -> (char, usize) {
    match escape.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => unescape_unicode(escape),
        Some(&byte @ (b'"' | b'\\' | b'/')) => (char::from(byte), 2),
        Some(_) | None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn unescape_unicode(escape: &[u8]) -> (char, usize) {
    let Some(unit) = hex(escape, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    let low = escape.get(6..8).filter(|mark| mark == b"\\u").and_then(|_| hex(escape, 8));
    match (char::from_u32(unit), low) {
        (Some(character), _) => (character, 6),
        (None, Some(low)) if unit < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
            let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        (None, _) => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(at..at + 4)?).ok()?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests;
