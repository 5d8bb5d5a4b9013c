//! A scanner over the raw bytes of one JSON record. Hand-written because most of an agent's output is tool results that
//! ralph does not need: the scanner skips them without decoding, and without recursion, so deep nesting cannot overflow
//! the stack.
use memchr::memchr;

/// The bytes of one JSON value, as written.
pub type RawJson<'a> = &'a [u8];

/// The text is not a well-formed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedJson;

/// How deep a skipped value may nest. The same limit as in serde_json.
const MAX_NESTING_DEPTH: u32 = 127;

/// A position in a JSON text.
pub struct JsonCursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> JsonCursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns the first byte of the next token.
    pub fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.position), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
        self.bytes.get(self.position).copied()
    }

    /// Visits the members of an object. `visit` gets each key, undecoded, and must consume its value.
    pub fn visit_object<F>(&mut self, mut visit: F) -> Result<(), MalformedJson>
    where
        F: FnMut(&mut Self, RawJson<'a>) -> Result<(), MalformedJson>,
    {
        self.expect_byte(b'{')?;
        if self.take_byte(b'}') {
            return Ok(());
        }
        loop {
            self.expect_byte(b'"')?;
            let key = self.take_string_rest()?;
            self.expect_byte(b':')?;
            visit(self, key)?;
            if self.take_byte(b'}') {
                return Ok(());
            }
            self.expect_byte(b',')?;
        }
    }

    /// Visits the elements of an array. `visit` must consume one element per call.
    pub fn visit_array<F>(&mut self, mut visit: F) -> Result<(), MalformedJson>
    where
        F: FnMut(&mut Self) -> Result<(), MalformedJson>,
    {
        self.expect_byte(b'[')?;
        if self.take_byte(b']') {
            return Ok(());
        }
        loop {
            visit(self)?;
            if self.take_byte(b']') {
                return Ok(());
            }
            self.expect_byte(b',')?;
        }
    }

    /// Consumes one value of any kind and returns its bytes.
    pub fn take_raw(&mut self) -> Result<RawJson<'a>, MalformedJson> {
        let first = self.peek().ok_or(MalformedJson)?;
        let start = self.position;
        match first {
            b'"' => {
                self.position += 1;
                self.take_string_rest()?;
            }
            b'{' | b'[' => self.skip_container()?,
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => self.skip_scalar(),
            _ => return Err(MalformedJson),
        }
        self.bytes.get(start..self.position).ok_or(MalformedJson)
    }

    /// Consumes one value of any kind.
    pub fn skip_value(&mut self) -> Result<(), MalformedJson> {
        self.take_raw().map(drop)
    }

    /// Fails if there is anything after the record.
    pub fn expect_end(&mut self) -> Result<(), MalformedJson> {
        self.peek().map_or(Ok(()), |_| Err(MalformedJson))
    }

    fn expect_byte(&mut self, byte: u8) -> Result<(), MalformedJson> {
        if self.take_byte(byte) { Ok(()) } else { Err(MalformedJson) }
    }

    fn take_byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    /// Consumes up to and including the closing quote. A quote closes the string unless an odd number of backslashes
    /// precedes it. Searching for quotes only, and counting backslashes then, is faster than searching for both.
    fn take_string_rest(&mut self) -> Result<RawJson<'a>, MalformedJson> {
        let start = self.position;
        let mut from = start;
        loop {
            let rest = self.bytes.get(from..).ok_or(MalformedJson)?;
            let quote = from + memchr(b'"', rest).ok_or(MalformedJson)?;
            let body = self.bytes.get(start..quote).ok_or(MalformedJson)?;
            let slashes = body.iter().rev().take_while(|&&byte| byte == b'\\').count();
            if slashes % 2 == 0 {
                self.position = quote + 1;
                return Ok(body);
            }
            from = quote + 1;
        }
    }

    fn skip_scalar(&mut self) {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        self.position += rest.iter().position(ends).unwrap_or(rest.len());
    }

    /// Skips an object or array. The bits of `kinds` record which brackets are open.
    fn skip_container(&mut self) -> Result<(), MalformedJson> {
        let mut kinds = 0_u128;
        let mut depth = 0_u32;
        loop {
            let byte = *self.bytes.get(self.position).ok_or(MalformedJson)?;
            self.position += 1;
            match byte {
                b'"' => {
                    self.take_string_rest()?;
                }
                b'{' | b'[' if depth == MAX_NESTING_DEPTH => return Err(MalformedJson),
                b'{' | b'[' => {
                    kinds = (kinds << 1) | u128::from(byte == b'{');
                    depth += 1;
                }
                b'}' | b']' if (kinds & 1 == 1) != (byte == b'}') => return Err(MalformedJson),
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

/// Stores the value of a key. Fails if the slot is filled: a record that repeats a needed key is ambiguous.
pub fn set_once<T>(slot: &mut Option<T>, value: T) -> Result<(), MalformedJson> {
    if slot.replace(value).is_some() { Err(MalformedJson) } else { Ok(()) }
}

/// Returns the values of `keys`, in this order. `bytes` must contain one object and nothing else.
pub fn pick_members<'a, const N: usize>(
    bytes: &'a [u8],
    keys: [&str; N],
) -> Result<[Option<RawJson<'a>>; N], MalformedJson> {
    let mut found = [None; N];
    let mut cursor = JsonCursor::new(bytes);
    cursor.visit_object(|cursor, key| {
        let value = cursor.take_raw()?;
        match keys.iter().position(|wanted| wanted.as_bytes() == key).and_then(|at| found.get_mut(at)) {
            Some(slot) => set_once(slot, value),
            None => Ok(()),
        }
    })?;
    cursor.expect_end()?;
    Ok(found)
}

/// Like [`pick_members`], for a value that may be missing or not an object.
pub fn pick_members_or_none<'a, const N: usize>(raw: Option<RawJson<'a>>, keys: [&str; N]) -> [Option<RawJson<'a>>; N] {
    raw.and_then(|raw| pick_members(raw, keys).ok()).unwrap_or([None; N])
}

/// Returns the first element of an array, or `None` if there is none.
pub fn first_element(array: RawJson<'_>) -> Option<RawJson<'_>> {
    let mut cursor = JsonCursor::new(array);
    cursor.expect_byte(b'[').and_then(|()| cursor.take_raw()).ok()
}

/// Returns a short name such as a record's type, or "" if the value is not a string. Escapes are not decoded.
pub fn as_name(raw: Option<RawJson<'_>>) -> &str {
    raw.and_then(string_body).and_then(|body| std::str::from_utf8(body).ok()).unwrap_or_default()
}

/// Returns the decoded string, or `None` if the value is not a string.
pub fn decode_string(raw: Option<RawJson<'_>>) -> Option<String> {
    raw.and_then(string_body).map(|body| decode_prefix(body, usize::MAX).0)
}

/// Returns about the first `limit` bytes of a string, with `…` if it was truncated. Decodes no more than that.
pub fn decode_string_prefix(raw: Option<RawJson<'_>>, limit: usize) -> Option<String> {
    let (mut text, rest) = decode_prefix(raw.and_then(string_body)?, limit);
    if !rest.is_empty() {
        text.push('…');
    }
    Some(text)
}

pub fn parse_u64(raw: Option<RawJson<'_>>) -> Option<u64> {
    std::str::from_utf8(raw?).ok()?.parse().ok()
}

pub fn parse_i64(raw: Option<RawJson<'_>>) -> Option<i64> {
    std::str::from_utf8(raw?).ok()?.parse().ok()
}

/// Returns an amount of money, or `None` if it is infinite or negative.
pub fn parse_amount(raw: Option<RawJson<'_>>) -> Option<f64> {
    let value: f64 = std::str::from_utf8(raw?).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

pub fn is_true(raw: Option<RawJson<'_>>) -> bool {
    raw == Some(b"true")
}

/// Returns whether the member is present and not `null`.
pub fn is_set(raw: Option<RawJson<'_>>) -> bool {
    raw.is_some_and(|raw| raw != b"null")
}

fn string_body(raw: RawJson<'_>) -> Option<&[u8]> {
    raw.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// Decodes the content of a JSON string. Invalid text becomes U+FFFD, so that one bad byte does not hide a message:
/// stray bytes, and half a surrogate pair, which programs that truncate strings by UTF-16 units do write. Stops once
/// `limit` bytes are decoded and returns the undecoded rest.
fn decode_prefix(mut body: &[u8], limit: usize) -> (String, &[u8]) {
    let mut text = String::with_capacity(body.len().min(limit));
    while text.len() < limit && !body.is_empty() {
        let window = extend_to_char_boundary(body, limit - text.len());
        let slash = memchr(b'\\', window).unwrap_or(window.len());
        let (plain, rest) = body.split_at(slash);
        text.push_str(&String::from_utf8_lossy(plain));
        body = rest;
        if body.first() == Some(&b'\\') && text.len() < limit {
            let (character, length) = decode_escape(body);
            text.push(character);
            body = body.get(length..).unwrap_or_default();
        }
    }
    (text, body)
}

/// Returns the first `length` bytes, extended to the end of the last character.
fn extend_to_char_boundary(bytes: &[u8], length: usize) -> &[u8] {
    let rest = bytes.get(length..).unwrap_or_default();
    let missing = rest.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    bytes.get(..length + missing).unwrap_or(bytes)
}

/// Returns the character of an escape sequence, and the length of the sequence in bytes.
fn decode_escape(escape: &[u8]) -> (char, usize) {
    match escape.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => decode_unicode_escape(escape),
        Some(&byte @ (b'"' | b'\\' | b'/')) => (char::from(byte), 2),
        Some(_) | None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn decode_unicode_escape(escape: &[u8]) -> (char, usize) {
    let Some(unit) = parse_hex_unit(escape, 2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    let low = escape.get(6..8).filter(|mark| mark == b"\\u").and_then(|_| parse_hex_unit(escape, 8));
    match (char::from_u32(unit), low) {
        (Some(character), _) => (character, 6),
        (None, Some(low)) if unit < 0xdc00 && (0xdc00..0xe000).contains(&low) => {
            let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        (None, _) => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn parse_hex_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(at..at + 4)?).ok()?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests;
