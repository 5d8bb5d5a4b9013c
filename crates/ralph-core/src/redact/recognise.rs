//! Decides whether a shape stands at a place. Each rule looks ahead a bounded way and says when it must see more.
use super::behind::Behind;
use super::shape::{Letters, Needs, Shape, What};
use super::values::End;

/// The longest first part of a web token.
const WEB_TOKEN_HEAD: usize = 2048;
/// The longest user name and the longest password in an address.
const USER_INFO: usize = 256;
/// The longest kind of a key, as in `RSA PRIVATE KEY`.
const KEY_LABEL: usize = 64;
/// A key shows itself so soon after its marker.
const KEY_WINDOW: usize = 256;
/// So many letters of base64 in a row are a key.
const KEY_RUN: usize = 32;
/// Quotation marks, colons and spaces between a header and its value.
const HEADER_SIGNS: usize = 12;

/// The answer to: does the secret stand here?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    No,
    /// The stream must go on before it is known.
    More,
    /// From `from` to `to`, counted from the anchor, and what follows as far as `then` says.
    Yes {
        from: usize,
        to: usize,
        then: Then,
    },
}

/// How far a secret goes on behind what was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    Letters(Letters),
    /// Up to the end marker of a key.
    KeyLines,
}

/// Looks at what stands at the anchor of a shape. `rest` begins with the anchor or is its beginning.
pub(super) fn look(shape: &Shape, behind: &Behind, rest: &[u8], end: End) -> Look {
    let is_word = matches!(shape.what, What::Token { .. } | What::WebToken);
    if is_word && !behind.begins_word() {
        return Look::No;
    }
    let Some(after) = rest.strip_prefix(shape.anchor.as_bytes()) else { return unfinished(end) };
    let look = match shape.what {
        What::Token { letters, least, needs } => token(after, end, &Kind { letters, least, needs }),
        What::WebToken => web_token(after, end),
        What::PrivateKey => private_key(after, end),
        What::Header { schemes, least } => header(after, end, schemes, least),
        What::UserInfo => user_info(after, end),
    };
    let anchor = shape.anchor.len();
    match look {
        Look::Yes { from, to, then } => {
            Look::Yes { from: if is_word { 0 } else { anchor + from }, to: anchor + to, then }
        }
        Look::No | Look::More => look,
    }
}

fn unfinished(end: End) -> Look {
    match end {
        End::Open => Look::More,
        End::Reached => Look::No,
    }
}

struct Kind {
    letters: Letters,
    least: usize,
    needs: Needs,
}

fn token(after: &[u8], end: End, kind: &Kind) -> Look {
    let run = run_of(after, kind.least + 1, |byte| kind.letters.has(byte));
    let all = run == after.len();
    let has_digit = || after.iter().take(kind.least).any(u8::is_ascii_digit);
    let fits = match kind.needs {
        Needs::Nothing => run >= kind.least,
        Needs::Digit => run >= kind.least && has_digit(),
        Needs::Exactly => run == kind.least && (!all || end == End::Reached),
    };
    match fits {
        true => Look::Yes { from: 0, to: kind.least, then: Then::Letters(kind.letters) },
        false if all && run <= kind.least => unfinished(end),
        false => Look::No,
    }
}

fn web_token(after: &[u8], end: End) -> Look {
    let head = run_of(after, WEB_TOKEN_HEAD, |byte| Letters::Safe.has(byte));
    if head == after.len() {
        return unfinished(end);
    }
    let Some([b'.', body @ ..]) = after.get(head..).filter(|_| head >= 12) else { return Look::No };
    match run_of(body, 8, |byte| Letters::Safe.has(byte)) {
        8 => Look::Yes { from: 0, to: head + 1, then: Then::Letters(Letters::Dotted) },
        short if short == body.len() => unfinished(end),
        _ => Look::No,
    }
}

/// After `-----BEGIN `: the marker itself stays, the lines after it are the secret.
fn private_key(after: &[u8], end: End) -> Look {
    let label =
        run_of(after, KEY_LABEL, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let (name, rest) = after.split_at_checked(label).unwrap_or((after, &[]));
    if rest.len() < 5 && b"-----".starts_with(rest) {
        return unfinished(end);
    }
    let is_key = name.ends_with(b"PRIVATE KEY") || name.ends_with(b"PRIVATE KEY BLOCK");
    let Some(lines) = rest.strip_prefix(b"-----").filter(|_| is_key) else { return Look::No };
    let mut run = 0;
    let mut last = 0;
    for byte in lines.iter().take(KEY_WINDOW) {
        run = if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') { run + 1 } else { 0 };
        let begin = label + 5;
        match (*byte, last) {
            _ if run >= KEY_RUN => return Look::Yes { from: begin, to: begin, then: Then::KeyLines },
            (b'-', b'-') => return Look::No,
            (b'"', before) if before != b'\\' => return Look::No,
            _ => last = *byte,
        }
    }
    if lines.len() < KEY_WINDOW { unfinished(end) } else { Look::No }
}

fn header(after: &[u8], end: End, schemes: &[&str], least: usize) -> Look {
    let signs = run_of(after, HEADER_SIGNS, |byte| b" \t\"'\\:=".contains(&byte));
    let (between, rest) = after.split_at_checked(signs).unwrap_or((after, &[]));
    if rest.is_empty() && signs < HEADER_SIGNS {
        return unfinished(end);
    }
    if !between.iter().any(|byte| b":=".contains(byte)) {
        return Look::No;
    }
    let Some(scheme) = scheme_length(rest, schemes) else {
        let cut =
            schemes.iter().any(|scheme| rest.len() <= scheme.len() && scheme.as_bytes().starts_with(rest));
        return if cut { unfinished(end) } else { Look::No };
    };
    let value = rest.get(scheme..).unwrap_or_default();
    let begin = signs + scheme;
    match run_of(value, least, |byte| Letters::Header.has(byte)) {
        run if run == least => {
            Look::Yes { from: begin, to: begin + least, then: Then::Letters(Letters::Header) }
        }
        run if run == value.len() => unfinished(end),
        _ => Look::No,
    }
}

/// Returns the length of the scheme with its space; nothing where none is needed.
fn scheme_length(rest: &[u8], schemes: &[&str]) -> Option<usize> {
    if schemes.is_empty() {
        return Some(0);
    }
    let named = schemes
        .iter()
        .find(|scheme| rest.strip_prefix(scheme.as_bytes()).is_some_and(|rest| rest.first() == Some(&b' ')));
    named.map(|scheme| scheme.len() + 1)
}

/// After `://`: the password of `user:password@`, and the user as well if it is so long that it may be a token.
fn user_info(after: &[u8], end: End) -> Look {
    let may_stand = |byte: u8| byte > b' ' && !b"/@\"'\\<>`:?#".contains(&byte);
    let user = run_of(after, USER_INFO, may_stand);
    let Some((separator, rest)) = after.get(user..).and_then(<[u8]>::split_first) else {
        return unfinished(end);
    };
    if *separator != b':' {
        return Look::No;
    }
    let password = run_of(rest, USER_INFO, |byte| may_stand(byte) || byte == b':');
    match rest.get(password) {
        None => unfinished(end),
        Some(b'@') if password > 0 && !is_placeholder(rest.get(..password).unwrap_or_default()) => {
            let from = if user < 20 { user + 1 } else { 0 };
            Look::Yes { from, to: user + 1 + password, then: Then::Nothing }
        }
        Some(_) => Look::No,
    }
}

/// `$PASSWORD`, `${PASSWORD}`, `{password}`, `%PASSWORD%`, `***` and our own mark are no passwords.
fn is_placeholder(password: &[u8]) -> bool {
    match password {
        [b'$', b'{', .., b'}'] | [b'$', b'(', .., b')'] | [b'{', .., b'}'] | [b'%', .., b'%'] => true,
        [b'$', name @ ..] => name.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_'),
        _ => {
            password.starts_with(b"[redacted")
                || password.iter().all(|byte| matches!(byte, b'*' | b'x' | b'.'))
        }
    }
}

/// Returns how many bytes from the beginning are of a kind, at most so many.
fn run_of(bytes: &[u8], most: usize, is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(most).take_while(|byte| is(**byte)).count()
}
