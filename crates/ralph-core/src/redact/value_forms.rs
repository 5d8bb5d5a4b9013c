//! The encodings in which a secret value may occur: plain, escaped for JSON, URLs, shells or XML, and inside base64.
//! Hand-written because base64 is needed at every offset and JSON escapes in the styles of other writers.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::value_redactor::MIN_SECRET_BYTES;

/// Longer values are redacted in parts.
const MAX_PART_BYTES: usize = 1024;

/// Returns every form of a value that is long enough to be distinctive.
pub(super) fn all_forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    for part in split_into_parts(value) {
        // A backslash at the end may be the start of the next escape.
        let end = part.iter().rposition(|byte| *byte != b'\\').map_or(0, |last| last + 1);
        forms.insert(part.get(..end).unwrap_or_default().to_vec());
        forms.extend(escaped_forms(part));
        forms.extend(base64_forms(part));
    }
    forms.retain(|form| form.len() >= MIN_SECRET_BYTES);
    forms
}

/// Splits a long value into parts of about the same length.
fn split_into_parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = value.len().div_ceil(MAX_PART_BYTES).max(1);
    value.chunks(value.len().div_ceil(count).max(1))
}

/// Returns the forms that are escaped for JSON, URLs, shells and XML, if there is something to escape.
fn escaped_forms(part: &[u8]) -> Vec<Vec<u8>> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    if part.iter().all(plain) {
        return Vec::new();
    }
    let mut forms = Vec::new();
    if let Ok(text) = core::str::from_utf8(part) {
        for style in &JSON_STYLES {
            let once = escape_json(text, style);
            forms.push(escape_json(&once, &JSON_STYLES[0]).into_bytes());
            forms.push(once.into_bytes());
        }
    }
    for kept in ["", "/", "!'()*"] {
        let upper = percent_encode(part, kept);
        forms.push(lowercase_escapes(&upper));
        forms.push(upper.replace("%20", "+").into_bytes());
        forms.push(upper.into_bytes());
    }
    if let Ok(text) = core::str::from_utf8(part) {
        // A backslash at the end may be the start of the next escape.
        let text = text.trim_end_matches('\\');
        let styles = SHELL_STYLES.iter().chain(DOUBLED_QUOTE_STYLES).chain(XML_STYLES);
        let quoted = styles.map(|style| replace_letters(text, style));
        let quoted = quoted.filter(|form| form != text);
        // Logs are JSON lines, so these forms also occur inside a JSON string.
        forms.extend(quoted.flat_map(|form| [escape_json(&form, &JSON_STYLES[0]).into_bytes(), form.into_bytes()]));
    }
    forms.extend(percent_decode(part));
    forms
}

/// A function that returns the escape of a letter, if it has one.
type LetterEscapes = fn(char) -> Option<&'static str>;

/// How shells quote a value: inside single quotes, in two ways; inside double quotes; without quotes (`%q`); and as
/// `$'…'`, which bash uses for line breaks and Python for a text with both kinds of quotes.
const SHELL_STYLES: &[LetterEscapes] = &[
    |letter| (letter == '\'').then_some("'\\''"),
    |letter| (letter == '\'').then_some("'\"'\"'"),
    |letter| match letter {
        '"' => Some("\\\""),
        '$' => Some("\\$"),
        '`' => Some("\\`"),
        '\\' => Some("\\\\"),
        _ => None,
    },
    |letter| BACKSLASHED_LETTERS.iter().find(|escape| escape.ends_with(letter)).copied(),
    |letter| match letter {
        '\'' => Some("\\'"),
        '\\' => Some("\\\\"),
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        _ => None,
    },
];

/// How YAML and SQL quote a value in single quotes, and CSV in double quotes.
const DOUBLED_QUOTE_STYLES: &[LetterEscapes] =
    &[|letter| (letter == '\'').then_some("''"), |letter| (letter == '"').then_some("\"\"")];

/// The letters that `printf %q` escapes with a backslash.
const BACKSLASHED_LETTERS: &[&str] = &[
    "\\ ", "\\!", "\\\"", "\\#", "\\$", "\\&", "\\'", "\\(", "\\)", "\\*", "\\,", "\\;", "\\<", "\\>", "\\?", "\\[",
    "\\\\", "\\]", "\\^", "\\`", "\\{", "\\|", "\\}", "\\~",
];

/// How XML and HTML writers escape a value.
const XML_STYLES: &[LetterEscapes] = &[
    |letter| xml_escape(letter).filter(|_| matches!(letter, '&' | '<' | '>')),
    |letter| xml_escape(letter).filter(|_| letter != '\''),
    xml_escape,
    |letter| if letter == '\'' { Some("&#39;") } else { xml_escape(letter) },
    |letter| if letter == '\'' { Some("&#x27;") } else { xml_escape(letter) },
    |letter| match letter {
        '"' => Some("&#34;"),
        '\'' => Some("&#39;"),
        _ => xml_escape(letter),
    },
    // In an attribute, a line break is escaped too.
    |letter| if letter == '\n' { Some("&#10;") } else { xml_escape(letter).filter(|_| letter != '\'') },
    |letter| if letter == '\n' { Some("&#xA;") } else { xml_escape(letter) },
];

fn xml_escape(letter: char) -> Option<&'static str> {
    match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&apos;"),
        _ => None,
    }
}

fn replace_letters(text: &str, escapes: &LetterEscapes) -> String {
    let mut replaced = String::with_capacity(text.len());
    for letter in text.chars() {
        match escapes(letter) {
            Some(escape) => replaced.push_str(escape),
            None => replaced.push(letter),
        }
    }
    replaced
}

/// Returns the value with its percent escapes decoded, if it has any: programs print a password of a URL without them.
fn percent_decode(part: &[u8]) -> Option<Vec<u8>> {
    let (mut decoded, mut at, mut has_escape) = (Vec::with_capacity(part.len()), 0, false);
    while let Some(byte) = part.get(at) {
        let digits = part.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let escape = digits.and_then(|digits| u8::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok());
        decoded.push(escape.unwrap_or(*byte));
        has_escape |= escape.is_some();
        at += if escape.is_some() { 3 } else { 1 };
    }
    has_escape.then_some(decoded)
}

/// The optional escapes of a JSON writer.
struct JsonEscapeStyle {
    extra: &'static [char],
    ascii_only: bool,
}

const JSON_STYLES: [JsonEscapeStyle; 4] = [
    JsonEscapeStyle { extra: &[], ascii_only: false },
    JsonEscapeStyle { extra: &['/'], ascii_only: false },
    JsonEscapeStyle { extra: &['<', '>', '&'], ascii_only: false },
    JsonEscapeStyle { extra: &[], ascii_only: true },
];

fn escape_json(text: &str, style: &JsonEscapeStyle) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '/' if style.extra.contains(&'/') => escaped.push_str("\\/"),
            other if other.is_ascii_control() || style.extra.contains(&other) => {
                push_unicode_escape(&mut escaped, other);
            }
            other if style.ascii_only && !other.is_ascii() => push_unicode_escape(&mut escaped, other),
            other => escaped.push(other),
        }
    }
    escaped
}

fn push_unicode_escape(text: &mut String, letter: char) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        text.push_str(&format!("\\u{unit:04x}"));
    }
}

fn percent_encode(part: &[u8], kept: &str) -> String {
    let mut escaped = String::with_capacity(part.len() * 3);
    for byte in part {
        let letter = char::from(*byte);
        let stays = letter.is_ascii_alphanumeric() || "-_.~".contains(letter) || kept.contains(letter);
        if stays && byte.is_ascii() {
            escaped.push(letter);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Returns the text with lower-case escapes: `%3d` for `%3D`.
fn lowercase_escapes(escaped: &str) -> Vec<u8> {
    let mut digits = 0;
    let lowercase = |byte: u8| match byte {
        b'%' => {
            digits = 2;
            byte
        }
        _ if digits > 0 => {
            digits -= 1;
            byte.to_ascii_lowercase()
        }
        _ => byte,
    };
    escaped.bytes().map(lowercase).collect()
}

const BASE64_ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the value inside base64, for each of the three offsets relative to the groups of four letters. Omits letters
/// that also depend on neighbouring bytes.
fn base64_forms(part: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let standard = base64_fragment(part, before);
        let safe = standard.iter().map(|letter| match letter {
            b'+' => b'-',
            b'/' => b'_',
            other => *other,
        });
        forms.push(safe.collect());
        forms.push(standard);
    }
    forms
}

fn base64_fragment(part: &[u8], before: usize) -> Vec<u8> {
    let bit = |index: usize| -> usize {
        let byte = part.get(index / 8).copied().unwrap_or(0);
        usize::from(byte >> (7 - index % 8) & 1)
    };
    let (first, last) = (before * 8, (before + part.len()) * 8);
    let letters = first.div_ceil(6)..last / 6;
    let six = |letter: usize| (0..6).fold(0, |bits, index| bits << 1 | bit(letter * 6 + index - first));
    letters.map(|letter| BASE64_ALPHABET.get(six(letter)).copied().unwrap_or(b'A')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_form(value: &str, form: &str) -> bool {
        all_forms(value.as_bytes()).contains(form.as_bytes())
    }

    #[test] // spec: X3
    fn a_plain_key_has_a_plain_form_and_base64_forms() {
        let forms = all_forms(b"s3cr3t-key-42");
        assert!(forms.contains(b"s3cr3t-key-42".as_slice()));
        // From `printf 's3cr3t-key-42' | base64`, and the same with one and two letters before it.
        assert!(has_form("s3cr3t-key-42", "czNjcjN0LWtleS00M"));
        assert!(has_form("s3cr3t-key-42", "MzY3IzdC1rZXktND"));
        assert!(has_form("s3cr3t-key-42", "zM2NyM3Qta2V5LTQy"));
        assert_eq!(forms.len(), 4);
    }

    #[test] // spec: X3
    fn a_value_that_needs_escaping_has_escaped_forms() {
        let value = "p@ss/w\"rd\n<é>";
        for form in [
            "p@ss/w\\\"rd\\n<é>",
            "p@ss\\/w\\\"rd\\n<é>",
            "p@ss/w\\\"rd\\n\\u003cé\\u003e",
            "p@ss/w\\\"rd\\n<\\u00e9>",
            "p@ss/w\\\\\\\"rd\\\\n<é>",
            "p%40ss%2Fw%22rd%0A%3C%C3%A9%3E",
            "p%40ss%2fw%22rd%0a%3c%c3%a9%3e",
            "p%40ss/w%22rd%0A%3C%C3%A9%3E",
        ] {
            assert!(has_form(value, form), "{form}");
        }
    }

    // spec: X3
    // finding: N45
    #[test]
    fn a_value_that_is_quoted_for_a_shell_has_these_forms() {
        for (value, form) in [
            ("it's a key", r"it'\''s a key"),
            ("it's a key", r#"it'"'"'s a key"#),
            ("it's a key", r"it\'s\ a\ key"),
            ("pa$$wo`rd\"1", r#"pa\$\$wo\`rd\"1"#),
            ("it's a key", r"it'\\''s a key"),
            ("it's \"a\" \\key", r#"it\'s "a" \\key"#),
            ("it's\na key", r"it\'s\na key"),
        ] {
            assert!(has_form(value, form), "{form}");
        }
    }

    // spec: X3
    // finding: N45
    #[test]
    fn a_value_in_doubled_quotes_has_these_forms() {
        assert!(has_form("it's a key", "it''s a key"), "YAML and SQL");
        assert!(has_form("a \"key\" 1", "a \"\"key\"\" 1"), "CSV");
    }

    // spec: X3
    // finding: N45
    #[test]
    fn a_line_break_in_an_xml_attribute_is_escaped() {
        assert!(has_form("first line\nsecond'line", "first line&#10;second'line"));
        assert!(has_form("first line\nsecond'line", "first line&#xA;second&apos;line"));
    }

    // spec: X3
    // finding: N45
    #[test]
    fn a_value_that_is_escaped_for_xml_has_these_forms() {
        let value = "a<b>&'key\"1";
        for form in [
            "a&lt;b&gt;&amp;'key\"1",
            "a&lt;b&gt;&amp;'key&quot;1",
            "a&lt;b&gt;&amp;&apos;key&quot;1",
            "a&lt;b&gt;&amp;&#39;key&quot;1",
            "a&lt;b&gt;&amp;&#x27;key&quot;1",
            "a&lt;b&gt;&amp;&#39;key&#34;1",
        ] {
            assert!(has_form(value, form), "{form}");
        }
    }

    // spec: X3
    // finding: N45
    #[test]
    fn a_value_with_percent_escapes_is_known_without_them_too() {
        assert!(has_form("p%40ss%2Fword", "p@ss/word"));
        assert!(has_form("two words", "two+words"));
        assert!(!has_form("100%sure-thing", "100sure-thing"));
    }

    #[test] // spec: X3
    fn a_long_value_is_split_into_parts_that_cover_it() {
        let value: Vec<u8> = (0..2500_u32).map(|number| b'a' + u8::try_from(number * number % 23).unwrap()).collect();
        let lengths: Vec<usize> = split_into_parts(&value).map(<[u8]>::len).collect();
        assert_eq!(lengths, [834, 834, 832]);
        assert!(split_into_parts(&value).all(|part| all_forms(&value).contains(part)));
    }

    #[test]
    fn a_trailing_backslash_is_omitted_so_that_no_escape_is_split() {
        let forms = all_forms(b"password1\\");
        assert!(forms.contains(b"password1".as_slice()) && !forms.contains(b"password1\\".as_slice()));
    }
}
