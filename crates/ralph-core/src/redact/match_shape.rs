//! Decides whether a shape matches at a position. Each rule looks ahead a bounded distance and reports when it needs
//! more input.
use super::look_behind::LookBehind;
use super::secret_shape::{CharClass, SecretShape, SecretShapeKind, TokenRequirement};
use super::value_redactor::StreamEnd;

/// The maximum length of the first part of a web token.
const MAX_WEB_TOKEN_HEAD_BYTES: usize = 2048;
/// The maximum length of a user name and of a password in a URL.
const MAX_USER_INFO_BYTES: usize = 256;
/// The maximum length of a PEM label such as `RSA PRIVATE KEY`.
const MAX_KEY_LABEL_BYTES: usize = 64;
/// The base64 text of a key starts within this distance of its marker.
const KEY_SEARCH_BYTES: usize = 256;
/// A base64 run of at least this length is a key.
const MIN_KEY_RUN_BYTES: usize = 32;
/// The maximum number of quotation marks, colons and spaces between a header and its value.
const MAX_HEADER_SEPARATOR_BYTES: usize = 12;

/// Whether a secret starts at the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeMatch {
    NoMatch,
    /// More input is needed to decide.
    NeedsMoreInput,
    /// The secret starts at `from` and reaches at least to `to`, both relative to the anchor. `continuation` says how
    /// it continues after that.
    Match {
        from: usize,
        to: usize,
        continuation: SecretContinuation,
    },
}

/// How a secret continues after the matched part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretContinuation {
    Complete,
    WhileInClass(CharClass),
    /// Up to the end marker of a key.
    UntilKeyEnd,
}

/// Matches a shape at its anchor. `rest` starts with the anchor, or is the first part of it.
pub(super) fn match_shape(shape: &SecretShape, behind: &LookBehind, rest: &[u8], end: StreamEnd) -> ShapeMatch {
    let is_word = matches!(shape.kind, SecretShapeKind::Token { .. } | SecretShapeKind::WebToken);
    if is_word && !behind.is_word_start() {
        return ShapeMatch::NoMatch;
    }
    let Some(after) = rest.strip_prefix(shape.anchor.as_bytes()) else { return undecided_until(end) };
    let result = match shape.kind {
        SecretShapeKind::Token { letters, least, needs } => {
            match_token(after, end, &TokenRule { letters, least, needs })
        }
        SecretShapeKind::WebToken => match_web_token(after, end),
        SecretShapeKind::PrivateKey => match_private_key(after, end),
        SecretShapeKind::Header { schemes, least } => match_header(after, end, schemes, least),
        SecretShapeKind::UserInfo => match_user_info(after, end),
    };
    let anchor = shape.anchor.len();
    match result {
        ShapeMatch::Match { from, to, continuation } => {
            ShapeMatch::Match { from: if is_word { 0 } else { anchor + from }, to: anchor + to, continuation }
        }
        ShapeMatch::NoMatch | ShapeMatch::NeedsMoreInput => result,
    }
}

fn undecided_until(end: StreamEnd) -> ShapeMatch {
    match end {
        StreamEnd::Open => ShapeMatch::NeedsMoreInput,
        StreamEnd::Reached => ShapeMatch::NoMatch,
    }
}

struct TokenRule {
    letters: CharClass,
    least: usize,
    needs: TokenRequirement,
}

fn match_token(after: &[u8], end: StreamEnd, rule: &TokenRule) -> ShapeMatch {
    let run = prefix_run_len(after, rule.least + 1, |byte| rule.letters.contains_byte(byte));
    let reaches_end = run == after.len();
    let has_digit = || after.iter().take(rule.least).any(u8::is_ascii_digit);
    let matches = match rule.needs {
        TokenRequirement::MinLength => run >= rule.least,
        TokenRequirement::MinLengthAndDigit => run >= rule.least && has_digit(),
        TokenRequirement::ExactLength => run == rule.least && (!reaches_end || end == StreamEnd::Reached),
    };
    match matches {
        true => {
            ShapeMatch::Match { from: 0, to: rule.least, continuation: SecretContinuation::WhileInClass(rule.letters) }
        }
        false if reaches_end && run <= rule.least => undecided_until(end),
        false => ShapeMatch::NoMatch,
    }
}

fn match_web_token(after: &[u8], end: StreamEnd) -> ShapeMatch {
    let head = prefix_run_len(after, MAX_WEB_TOKEN_HEAD_BYTES, |byte| CharClass::UrlSafe.contains_byte(byte));
    if head == after.len() {
        return undecided_until(end);
    }
    let Some([b'.', body @ ..]) = after.get(head..).filter(|_| head >= 12) else {
        return ShapeMatch::NoMatch;
    };
    match prefix_run_len(body, 8, |byte| CharClass::UrlSafe.contains_byte(byte)) {
        8 => ShapeMatch::Match {
            from: 0,
            to: head + 1,
            continuation: SecretContinuation::WhileInClass(CharClass::UrlSafeOrDot),
        },
        short if short == body.len() => undecided_until(end),
        _ => ShapeMatch::NoMatch,
    }
}

/// Matches the text after `-----BEGIN `. The marker is kept; the lines after it are the secret.
fn match_private_key(after: &[u8], end: StreamEnd) -> ShapeMatch {
    let label = prefix_run_len(after, MAX_KEY_LABEL_BYTES, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let (name, rest) = after.split_at_checked(label).unwrap_or((after, &[]));
    if rest.len() < 5 && b"-----".starts_with(rest) {
        return undecided_until(end);
    }
    let is_key = name.ends_with(b"PRIVATE KEY") || name.ends_with(b"PRIVATE KEY BLOCK");
    let Some(lines) = rest.strip_prefix(b"-----").filter(|_| is_key) else { return ShapeMatch::NoMatch };
    let mut run = 0;
    let mut last = 0;
    for byte in lines.iter().take(KEY_SEARCH_BYTES) {
        run = if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') { run + 1 } else { 0 };
        let begin = label + 5;
        match (*byte, last) {
            _ if run >= MIN_KEY_RUN_BYTES => {
                return ShapeMatch::Match { from: begin, to: begin, continuation: SecretContinuation::UntilKeyEnd };
            }
            (b'-', b'-') => return ShapeMatch::NoMatch,
            (b'"', before) if before != b'\\' => return ShapeMatch::NoMatch,
            _ => last = *byte,
        }
    }
    if lines.len() < KEY_SEARCH_BYTES { undecided_until(end) } else { ShapeMatch::NoMatch }
}

fn match_header(after: &[u8], end: StreamEnd, schemes: &[&str], least: usize) -> ShapeMatch {
    let signs = prefix_run_len(after, MAX_HEADER_SEPARATOR_BYTES, |byte| b" \t\"'\\:=".contains(&byte));
    let (between, rest) = after.split_at_checked(signs).unwrap_or((after, &[]));
    if rest.is_empty() && signs < MAX_HEADER_SEPARATOR_BYTES {
        return undecided_until(end);
    }
    if !between.iter().any(|byte| b":=".contains(byte)) {
        return ShapeMatch::NoMatch;
    }
    let Some(scheme) = scheme_len(rest, schemes) else {
        let cut = schemes.iter().any(|scheme| rest.len() <= scheme.len() && scheme.as_bytes().starts_with(rest));
        return if cut { undecided_until(end) } else { ShapeMatch::NoMatch };
    };
    let value = rest.get(scheme..).unwrap_or_default();
    let begin = signs + scheme;
    match prefix_run_len(value, least, |byte| CharClass::HeaderValue.contains_byte(byte)) {
        run if run == least => ShapeMatch::Match {
            from: begin,
            to: begin + least,
            continuation: SecretContinuation::WhileInClass(CharClass::HeaderValue),
        },
        run if run == value.len() => undecided_until(end),
        _ => ShapeMatch::NoMatch,
    }
}

/// Returns the length of the scheme and the space after it: 0 if no scheme is required, `None` if it is missing.
fn scheme_len(rest: &[u8], schemes: &[&str]) -> Option<usize> {
    if schemes.is_empty() {
        return Some(0);
    }
    let named = schemes
        .iter()
        .find(|scheme| rest.strip_prefix(scheme.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' ')));
    named.map(|scheme| scheme.len() + 1)
}

/// Matches the text after `://`: the password of `user:password@`, and also the user if it is long enough for a token.
fn match_user_info(after: &[u8], end: StreamEnd) -> ShapeMatch {
    let is_allowed = |byte: u8| byte > b' ' && !b"/@\"'\\<>`:?#".contains(&byte);
    let user = prefix_run_len(after, MAX_USER_INFO_BYTES, is_allowed);
    let Some((separator, rest)) = after.get(user..).and_then(<[u8]>::split_first) else {
        return undecided_until(end);
    };
    if *separator != b':' {
        return ShapeMatch::NoMatch;
    }
    let password = prefix_run_len(rest, MAX_USER_INFO_BYTES, |byte| is_allowed(byte) || byte == b':');
    match rest.get(password) {
        None => undecided_until(end),
        Some(b'@') if password > 0 && !is_placeholder(rest.get(..password).unwrap_or_default()) => {
            let from = if user < 20 { user + 1 } else { 0 };
            ShapeMatch::Match { from, to: user + 1 + password, continuation: SecretContinuation::Complete }
        }
        Some(_) => ShapeMatch::NoMatch,
    }
}

/// Returns whether the password is a placeholder: `$PASSWORD`, `${PASSWORD}`, `{password}`, `%PASSWORD%`, `***` or a
/// redaction mark.
fn is_placeholder(password: &[u8]) -> bool {
    match password {
        [b'$', b'{', .., b'}'] | [b'$', b'(', .., b')'] | [b'{', .., b'}'] | [b'%', .., b'%'] => true,
        [b'$', name @ ..] => name.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_'),
        _ => password.starts_with(b"[redacted") || password.iter().all(|byte| matches!(byte, b'*' | b'x' | b'.')),
    }
}

/// Returns how many bytes at the start match, at most `max`.
fn prefix_run_len(bytes: &[u8], max: usize, matches: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(max).take_while(|byte| matches(**byte)).count()
}
