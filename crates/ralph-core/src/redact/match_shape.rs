//! Decides whether a shape stands at a place. Each rule looks ahead a bounded way and says when it must see more.
use super::look_behind::LookBehind;
use super::secret_shape::{CharClass, SecretShape, SecretShapeKind, TokenRequirement};
use super::value_redactor::StreamEnd;

/// The longest first part of a web token.
const MAX_WEB_TOKEN_HEAD_BYTES: usize = 2048;
/// The longest user name and the longest password in an address.
const MAX_USER_INFO_BYTES: usize = 256;
/// The longest kind of a key, as in `RSA PRIVATE KEY`.
const MAX_KEY_LABEL_BYTES: usize = 64;
/// A key shows itself so soon after its marker.
const KEY_SEARCH_BYTES: usize = 256;
/// So many letters of base64 in a row are a key.
const MIN_KEY_RUN_BYTES: usize = 32;
/// Quotation marks, colons and spaces between a header and its value.
const MAX_HEADER_SEPARATOR_BYTES: usize = 12;

/// The answer to: does the secret stand here?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeMatch {
    NoMatch,
    /// The stream must go on before it is known.
    NeedsMoreInput,
    /// From `from` to `to`, counted from the anchor, and what follows as far as `then` says.
    Match {
        from: usize,
        to: usize,
        continuation: SecretContinuation,
    },
}

/// How far a secret goes on behind what was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretContinuation {
    Complete,
    WhileInClass(CharClass),
    /// Up to the end marker of a key.
    UntilKeyEnd,
}

/// Looks at what stands at the anchor of a shape. `rest` begins with the anchor or is its beginning.
pub(super) fn match_shape(shape: &SecretShape, behind: &LookBehind, rest: &[u8], end: StreamEnd) -> ShapeMatch {
    let is_word = matches!(shape.kind, SecretShapeKind::Token { .. } | SecretShapeKind::WebToken);
    if is_word && !behind.is_word_start() {
        return ShapeMatch::NoMatch;
    }
    let Some(after) = rest.strip_prefix(shape.anchor.as_bytes()) else { return undecided_until(end) };
    let look = match shape.kind {
        SecretShapeKind::Token { letters, least, needs } => {
            match_token(after, end, &TokenRule { letters, least, needs })
        }
        SecretShapeKind::WebToken => match_web_token(after, end),
        SecretShapeKind::PrivateKey => match_private_key(after, end),
        SecretShapeKind::Header { schemes, least } => match_header(after, end, schemes, least),
        SecretShapeKind::UserInfo => match_user_info(after, end),
    };
    let anchor = shape.anchor.len();
    match look {
        ShapeMatch::Match { from, to, continuation: then } => {
            ShapeMatch::Match { from: if is_word { 0 } else { anchor + from }, to: anchor + to, continuation: then }
        }
        ShapeMatch::NoMatch | ShapeMatch::NeedsMoreInput => look,
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

fn match_token(after: &[u8], end: StreamEnd, kind: &TokenRule) -> ShapeMatch {
    let run = prefix_run_len(after, kind.least + 1, |byte| kind.letters.contains_byte(byte));
    let all = run == after.len();
    let has_digit = || after.iter().take(kind.least).any(u8::is_ascii_digit);
    let fits = match kind.needs {
        TokenRequirement::MinLength => run >= kind.least,
        TokenRequirement::MinLengthAndDigit => run >= kind.least && has_digit(),
        TokenRequirement::ExactLength => run == kind.least && (!all || end == StreamEnd::Reached),
    };
    match fits {
        true => {
            ShapeMatch::Match { from: 0, to: kind.least, continuation: SecretContinuation::WhileInClass(kind.letters) }
        }
        false if all && run <= kind.least => undecided_until(end),
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

/// After `-----BEGIN `: the marker itself stays, the lines after it are the secret.
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

/// Returns the length of the scheme with its space; nothing where none is needed.
fn scheme_len(rest: &[u8], schemes: &[&str]) -> Option<usize> {
    if schemes.is_empty() {
        return Some(0);
    }
    let named = schemes
        .iter()
        .find(|scheme| rest.strip_prefix(scheme.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' ')));
    named.map(|scheme| scheme.len() + 1)
}

/// After `://`: the password of `user:password@`, and the user as well if it is so long that it may be a token.
fn match_user_info(after: &[u8], end: StreamEnd) -> ShapeMatch {
    let may_stand = |byte: u8| byte > b' ' && !b"/@\"'\\<>`:?#".contains(&byte);
    let user = prefix_run_len(after, MAX_USER_INFO_BYTES, may_stand);
    let Some((separator, rest)) = after.get(user..).and_then(<[u8]>::split_first) else {
        return undecided_until(end);
    };
    if *separator != b':' {
        return ShapeMatch::NoMatch;
    }
    let password = prefix_run_len(rest, MAX_USER_INFO_BYTES, |byte| may_stand(byte) || byte == b':');
    match rest.get(password) {
        None => undecided_until(end),
        Some(b'@') if password > 0 && !is_placeholder(rest.get(..password).unwrap_or_default()) => {
            let from = if user < 20 { user + 1 } else { 0 };
            ShapeMatch::Match { from, to: user + 1 + password, continuation: SecretContinuation::Complete }
        }
        Some(_) => ShapeMatch::NoMatch,
    }
}

/// `$PASSWORD`, `${PASSWORD}`, `{password}`, `%PASSWORD%`, `***` and our own mark are no passwords.
fn is_placeholder(password: &[u8]) -> bool {
    match password {
        [b'$', b'{', .., b'}'] | [b'$', b'(', .., b')'] | [b'{', .., b'}'] | [b'%', .., b'%'] => true,
        [b'$', name @ ..] => name.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_'),
        _ => password.starts_with(b"[redacted") || password.iter().all(|byte| matches!(byte, b'*' | b'x' | b'.')),
    }
}

/// Returns how many bytes from the beginning are of a kind, at most so many.
fn prefix_run_len(bytes: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(most).take_while(|byte| is(**byte)).count()
}
