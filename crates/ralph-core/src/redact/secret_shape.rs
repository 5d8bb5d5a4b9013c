//! The table of secret shapes: how each secret starts and what must follow.

/// One kind of secret with a recognizable format.
#[derive(Debug, Clone, Copy)]
pub(super) struct SecretShape {
    /// The literal text to search for.
    pub(super) anchor: &'static str,
    pub(super) kind: SecretShapeKind,
}

/// The text that must follow the anchor.
#[derive(Debug, Clone, Copy)]
pub(super) enum SecretShapeKind {
    /// The anchor starts a word, and at least `least` letters of a class follow. The secret includes the anchor.
    Token { letters: CharClass, least: usize, needs: TokenRequirement },
    /// A JSON web token: two or more parts, separated by dots.
    WebToken,
    /// A PEM key. The secret is everything up to the end marker.
    PrivateKey,
    /// A header name. The secret is the value after one of these schemes.
    Header { schemes: &'static [&'static str], least: usize },
    /// `user:password@` follows.
    UserInfo,
}

/// The characters that a secret may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharClass {
    Alphanumeric,
    /// Also `_`.
    Word,
    /// Also `_` and `-`.
    UrlSafe,
    /// Also `_`, `-` and `.`.
    UrlSafeOrDot,
    /// Upper-case letters and digits.
    UppercaseOrDigit,
    /// The characters of a header value after its scheme.
    HeaderValue,
}

impl CharClass {
    pub(super) fn contains_byte(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            Self::Alphanumeric => b"",
            Self::Word => b"_",
            Self::UrlSafe => b"_-",
            Self::UrlSafeOrDot => b"_-.",
            Self::UppercaseOrDigit => return byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::HeaderValue => b"_-.~+/=",
        };
        byte.is_ascii_alphanumeric() || more.contains(&byte)
    }
}

/// The property that distinguishes a token from a word with the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRequirement {
    MinLength,
    /// At least one digit within the minimum length.
    MinLengthAndDigit,
    /// Exactly the minimum length.
    ExactLength,
}

const AUTH_SCHEMES: &[&str] = &["Bearer", "bearer", "Basic", "basic", "Token", "token", "Bot", "ApiKey"];

const fn token_shape(anchor: &'static str, letters: CharClass, least: usize) -> SecretShape {
    SecretShape { anchor, kind: SecretShapeKind::Token { letters, least, needs: TokenRequirement::MinLength } }
}

const fn strict_token_shape(
    anchor: &'static str,
    letters: CharClass,
    least: usize,
    needs: TokenRequirement,
) -> SecretShape {
    SecretShape { anchor, kind: SecretShapeKind::Token { letters, least, needs } }
}

const fn header_shape(anchor: &'static str, schemes: &'static [&'static str], least: usize) -> SecretShape {
    SecretShape { anchor, kind: SecretShapeKind::Header { schemes, least } }
}

/// All shapes. If several match at one position, the first one is used.
pub(super) const SECRET_SHAPES: &[SecretShape] = &[
    // Model providers.
    token_shape("sk-ant-", CharClass::UrlSafe, 16),
    token_shape("sk-proj-", CharClass::UrlSafe, 20),
    token_shape("sk-svcacct-", CharClass::UrlSafe, 20),
    token_shape("sk-admin-", CharClass::UrlSafe, 20),
    token_shape("sk-or-v1-", CharClass::Alphanumeric, 20),
    strict_token_shape("sk-", CharClass::Alphanumeric, 20, TokenRequirement::MinLengthAndDigit),
    token_shape("AIza", CharClass::UrlSafe, 35),
    token_shape("hf_", CharClass::Alphanumeric, 30),
    token_shape("gsk_", CharClass::Alphanumeric, 40),
    strict_token_shape("xai-", CharClass::Alphanumeric, 40, TokenRequirement::MinLengthAndDigit),
    token_shape("pplx-", CharClass::Alphanumeric, 40),
    // Code hosts and package registries.
    token_shape("ghp_", CharClass::Alphanumeric, 30),
    token_shape("gho_", CharClass::Alphanumeric, 30),
    token_shape("ghu_", CharClass::Alphanumeric, 30),
    token_shape("ghs_", CharClass::Alphanumeric, 30),
    token_shape("ghr_", CharClass::Alphanumeric, 30),
    token_shape("github_pat_", CharClass::Word, 22),
    token_shape("glpat-", CharClass::UrlSafeOrDot, 20),
    token_shape("glptt-", CharClass::UrlSafe, 20),
    token_shape("gldt-", CharClass::UrlSafe, 20),
    token_shape("npm_", CharClass::Alphanumeric, 30),
    token_shape("pypi-AgE", CharClass::UrlSafe, 30),
    token_shape("dckr_pat_", CharClass::UrlSafe, 20),
    // Clouds and services.
    strict_token_shape("AKIA", CharClass::UppercaseOrDigit, 16, TokenRequirement::ExactLength),
    strict_token_shape("ASIA", CharClass::UppercaseOrDigit, 16, TokenRequirement::ExactLength),
    token_shape("GOCSPX-", CharClass::UrlSafe, 20),
    token_shape("ya29.", CharClass::UrlSafe, 20),
    token_shape("xoxb-", CharClass::UrlSafe, 10),
    token_shape("xoxp-", CharClass::UrlSafe, 10),
    token_shape("xoxa-", CharClass::UrlSafe, 10),
    token_shape("xoxr-", CharClass::UrlSafe, 10),
    token_shape("xoxs-", CharClass::UrlSafe, 10),
    token_shape("xoxe-", CharClass::UrlSafe, 10),
    token_shape("xapp-", CharClass::UrlSafe, 20),
    token_shape("sk_live_", CharClass::Alphanumeric, 16),
    token_shape("sk_test_", CharClass::Alphanumeric, 16),
    token_shape("rk_live_", CharClass::Alphanumeric, 16),
    token_shape("whsec_", CharClass::Alphanumeric, 24),
    token_shape("SG.", CharClass::UrlSafeOrDot, 40),
    token_shape("shpat_", CharClass::Alphanumeric, 32),
    token_shape("lin_api_", CharClass::Alphanumeric, 32),
    token_shape("dop_v1_", CharClass::Alphanumeric, 40),
    token_shape("hvs.", CharClass::UrlSafe, 24),
    token_shape("AGE-SECRET-KEY-1", CharClass::UppercaseOrDigit, 50),
    // Formats that many services use.
    SecretShape { anchor: "eyJ", kind: SecretShapeKind::WebToken },
    SecretShape { anchor: "-----BEGIN ", kind: SecretShapeKind::PrivateKey },
    header_shape("uthorization", AUTH_SCHEMES, 8),
    header_shape("-api-key", &[], 16),
    header_shape("-Api-Key", &[], 16),
    header_shape("-API-Key", &[], 16),
    strict_token_shape("Bearer ", CharClass::HeaderValue, 20, TokenRequirement::MinLengthAndDigit),
    SecretShape { anchor: "://", kind: SecretShapeKind::UserInfo },
];
