//! Decides from its name whether a variable holds a secret: `GITHUB_TOKEN` does, `SSH_AUTH_SOCK` and `TLS_KEY_FILE` do
//! not.
use alloc::string::String;
use alloc::vec::Vec;

/// A name with a part that ends like this is the name of a secret.
const SECRET_ENDINGS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "ACCESSKEY",
    "SECRETKEY",
    "PRIVATEKEY",
];

/// A name with exactly this part is the name of a secret.
const SECRET_WORDS: &[&str] =
    &["KEY", "KEYS", "AUTH", "PASS", "PWD", "PAT", "CRED", "CREDS", "BEARER", "COOKIE", "DSN", "PGPASS"];

/// A name that ends like this describes a secret but does not hold it.
const DESCRIPTIVE_ENDINGS: &[&str] = &[
    "FILE",
    "PATH",
    "DIR",
    "FOLDER",
    "SOCK",
    "SOCKET",
    "ID",
    "NAME",
    "USER",
    "USERNAME",
    "HOST",
    "PORT",
    "TYPE",
    "METHOD",
    "MODE",
    "TTL",
    "EXPIRES",
    "EXPIRY",
    "TIMEOUT",
    "AGE",
    "LENGTH",
    "SIZE",
    "LIMIT",
    "COUNT",
    "ENABLED",
    "COMMAND",
    "HELPER",
    "ALGORITHM",
    "ALG",
    "PREFIX",
    "VERSION",
    "REGION",
    "SCOPE",
    "SCOPES",
    "FORMAT",
    "PROVIDER",
    "PID",
    "URL",
    "URI",
    "ENDPOINT",
    "ISSUER",
    "AUDIENCE",
    "REALM",
    "MODULE",
    "BACKEND",
    "TTY",
];

/// Names that match the rules but do not hold a secret.
const INNOCENT_NAMES: &[&str] = &["PWD", "OLDPWD"];

/// Returns whether a variable with this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let parts = split_name(name);
    let is_secret_part = |part: &String| {
        SECRET_WORDS.contains(&part.as_str()) || SECRET_ENDINGS.iter().any(|ending| part.ends_with(ending))
    };
    let is_descriptive = parts.last().is_some_and(|last| DESCRIPTIVE_ENDINGS.contains(&last.as_str()));
    !is_descriptive && !INNOCENT_NAMES.contains(&name) && parts.iter().any(is_secret_part)
}

/// Splits a name at punctuation and at camel-case boundaries, and returns the parts in upper case.
fn split_name(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut small = false;
    for letter in name.chars() {
        let cut = !letter.is_ascii_alphanumeric() || small && letter.is_ascii_uppercase();
        if cut && !part.is_empty() {
            parts.push(core::mem::take(&mut part));
        }
        if letter.is_ascii_alphanumeric() {
            part.push(letter.to_ascii_uppercase());
        }
        small = letter.is_ascii_lowercase();
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: X3
    fn names_of_secrets_are_recognised() {
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MY_SECRET",
            "npm_config__authToken",
            "githubToken",
            "SENTRY_AUTH",
            "OPENAI_APIKEY",
            "VAULT_CREDENTIALS",
            "GPG_PASSPHRASE",
            "DB_PWD",
            "GH_PAT",
            "secret",
            "NPM_CONFIG_//registry.npmjs.org/:_authToken",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test] // spec: X3
    fn names_that_only_describe_secrets_and_other_names_are_not_secrets() {
        for name in [
            "PATH",
            "HOME",
            "SSH_AUTH_SOCK",
            "TLS_KEY_FILE",
            "GOOGLE_KEY_PATH",
            "AWS_ACCESS_KEY_ID",
            "MAX_THINKING_TOKENS",
            "PWD",
            "OLDPWD",
            "AUTH_TYPE",
            "TOKEN_URL",
            "KEYBOARD",
            "MONKEY",
            "XDG_SESSION_ID",
            "GIT_AUTHOR_NAME",
            "AUTHOR",
            "COMPASS",
            "",
            "_",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
