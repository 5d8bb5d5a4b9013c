//! The shapes of secrets: how each begins, and what must follow. A new one is a line in the table.

/// One kind of secret that is known by its looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// The letters that it is found by.
    pub(super) anchor: &'static str,
    pub(super) what: What,
}

/// What must follow the anchor.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// The anchor begins a word; at least `least` letters of a kind follow; all of it is the secret.
    Token { letters: Letters, least: usize, needs: Needs },
    /// Two or more parts of letters with full stops between them.
    WebToken,
    /// The lines up to the end marker are the secret.
    PrivateKey,
    /// The name of a header; the value is the secret, after one of these schemes.
    Header { schemes: &'static [&'static str], least: usize },
    /// `user:password@` follows.
    UserInfo,
}

/// The letters that a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Alphanumeric,
    /// Also `_`.
    Word,
    /// Also `_` and `-`.
    Safe,
    /// Also `_`, `-` and `.`.
    Dotted,
    /// Capitals and digits.
    Capital,
    /// Whatever may stand in a header after its scheme.
    Header,
}

impl Letters {
    pub(super) fn has(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            Self::Alphanumeric => b"",
            Self::Word => b"_",
            Self::Safe => b"_-",
            Self::Dotted => b"_-.",
            Self::Capital => return byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Header => b"_-.~+/=",
        };
        byte.is_ascii_alphanumeric() || more.contains(&byte)
    }
}

/// What tells a token from a word that begins alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A digit among the least letters.
    Digit,
    /// Exactly that many letters.
    Exactly,
}

const SCHEMES: &[&str] = &["Bearer", "bearer", "Basic", "basic", "Token", "token", "Bot", "ApiKey"];

const fn token(anchor: &'static str, letters: Letters, least: usize) -> Shape {
    Shape { anchor, what: What::Token { letters, least, needs: Needs::Nothing } }
}

const fn picky(anchor: &'static str, letters: Letters, least: usize, needs: Needs) -> Shape {
    Shape { anchor, what: What::Token { letters, least, needs } }
}

const fn header(anchor: &'static str, schemes: &'static [&'static str], least: usize) -> Shape {
    Shape { anchor, what: What::Header { schemes, least } }
}

/// All shapes. Where two begin alike the first that fits counts.
pub(super) const SHAPES: &[Shape] = &[
    // Model providers.
    token("sk-ant-", Letters::Safe, 16),
    token("sk-proj-", Letters::Safe, 20),
    token("sk-svcacct-", Letters::Safe, 20),
    token("sk-admin-", Letters::Safe, 20),
    token("sk-or-v1-", Letters::Alphanumeric, 20),
    picky("sk-", Letters::Alphanumeric, 20, Needs::Digit),
    token("AIza", Letters::Safe, 35),
    token("hf_", Letters::Alphanumeric, 30),
    token("gsk_", Letters::Alphanumeric, 40),
    picky("xai-", Letters::Alphanumeric, 40, Needs::Digit),
    token("pplx-", Letters::Alphanumeric, 40),
    // Code hosts and package registries.
    token("ghp_", Letters::Alphanumeric, 30),
    token("gho_", Letters::Alphanumeric, 30),
    token("ghu_", Letters::Alphanumeric, 30),
    token("ghs_", Letters::Alphanumeric, 30),
    token("ghr_", Letters::Alphanumeric, 30),
    token("github_pat_", Letters::Word, 22),
    token("glpat-", Letters::Dotted, 20),
    token("glptt-", Letters::Safe, 20),
    token("gldt-", Letters::Safe, 20),
    token("npm_", Letters::Alphanumeric, 30),
    token("pypi-AgE", Letters::Safe, 30),
    token("dckr_pat_", Letters::Safe, 20),
    // Clouds and services.
    picky("AKIA", Letters::Capital, 16, Needs::Exactly),
    picky("ASIA", Letters::Capital, 16, Needs::Exactly),
    token("GOCSPX-", Letters::Safe, 20),
    token("ya29.", Letters::Safe, 20),
    token("xoxb-", Letters::Safe, 10),
    token("xoxp-", Letters::Safe, 10),
    token("xoxa-", Letters::Safe, 10),
    token("xoxr-", Letters::Safe, 10),
    token("xoxs-", Letters::Safe, 10),
    token("xoxe-", Letters::Safe, 10),
    token("xapp-", Letters::Safe, 20),
    token("sk_live_", Letters::Alphanumeric, 16),
    token("sk_test_", Letters::Alphanumeric, 16),
    token("rk_live_", Letters::Alphanumeric, 16),
    token("whsec_", Letters::Alphanumeric, 24),
    token("SG.", Letters::Dotted, 40),
    token("shpat_", Letters::Alphanumeric, 32),
    token("lin_api_", Letters::Alphanumeric, 32),
    token("dop_v1_", Letters::Alphanumeric, 40),
    token("hvs.", Letters::Safe, 24),
    token("AGE-SECRET-KEY-1", Letters::Capital, 50),
    // What every service uses.
    Shape { anchor: "eyJ", what: What::WebToken },
    Shape { anchor: "-----BEGIN ", what: What::PrivateKey },
    header("uthorization", SCHEMES, 8),
    header("-api-key", &[], 16),
    header("-Api-Key", &[], 16),
    header("-API-Key", &[], 16),
    picky("Bearer ", Letters::Header, 20, Needs::Digit),
    Shape { anchor: "://", what: What::UserInfo },
];
