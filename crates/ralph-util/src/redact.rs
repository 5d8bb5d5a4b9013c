//! The secrets that this process must never show: those of its environment and those registered later. Every text that
//! leaves ralph passes through here. `ralph_core::redact` defines which values are secrets.
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ralph_core::redact::{NamedSecret, SecretMatcher, StreamRedactor, secrets_in_value, secrets_of_variable};

/// Builds the search index now, so that the first redaction need not wait for it.
pub fn prepare_secrets() {
    LazyLock::force(&KNOWN_SECRETS);
}

struct KnownSecrets {
    list: Vec<NamedSecret>,
    searcher: Arc<SecretMatcher>,
}

static KNOWN_SECRETS: LazyLock<RwLock<KnownSecrets>> = LazyLock::new(|| RwLock::new(KnownSecrets::from_environment()));

impl KnownSecrets {
    fn from_environment() -> Self {
        let list: Vec<_> =
            std::env::vars_os().flat_map(|(name, value)| secrets_of_os_variable(&name, &value)).collect();
        Self { searcher: Arc::new(SecretMatcher::new(&list)), list }
    }
}

fn secrets_of_os_variable(name: &OsStr, value: &OsStr) -> Vec<NamedSecret> {
    secrets_of_variable(&name.to_string_lossy(), value.as_bytes())
}

fn known_secrets() -> Arc<SecretMatcher> {
    Arc::clone(&KNOWN_SECRETS.read().unwrap_or_else(PoisonError::into_inner).searcher)
}

/// Registers the secrets among these variables, which an agent gets in addition to ralph's environment.
pub fn register_variables<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) {
    add_secrets(variables.into_iter().flat_map(|(name, value)| secrets_of_variable(name, value.as_bytes())).collect());
}

/// Registers the value of an environment variable as a secret, whatever its name is.
pub fn register_key_variable(variable: &str) {
    let value = std::env::var_os(variable).unwrap_or_default();
    add_secrets(secrets_in_value(variable, value.as_bytes()));
}

fn add_secrets(new: Vec<NamedSecret>) {
    if new.is_empty() {
        return;
    }
    let mut known = KNOWN_SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    known.list.extend(new);
    known.searcher = Arc::new(SecretMatcher::new(&known.list));
}

/// Returns the text with its secrets replaced by marks.
#[must_use]
pub fn redact_text(text: &str) -> Cow<'_, str> {
    known_secrets().redact_text(text)
}

/// Replaces the redaction marks in a JSON text with the values of the variables that they name. Fails with the names of
/// variables that are not set or have several values.
pub fn reveal_secrets(json: &str) -> Result<String, Vec<String>> {
    let known = KNOWN_SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    ralph_core::redact::reveal_secrets(json, |name| {
        let mut values = known.list.iter().filter(|secret| secret.name == name).map(|secret| &secret.value);
        let value = values.next()?;
        let is_only = values.all(|other| other == value);
        String::from_utf8(value.clone()).ok().filter(|_| is_only)
    })
}

/// Returns whether a text contains a redaction mark.
#[must_use]
pub fn has_redaction_mark(text: &str) -> bool {
    text.contains("[redacted]") || text.contains("[redacted:")
}

/// Returns a redactor for a stream.
#[must_use]
pub fn new_redactor() -> StreamRedactor {
    StreamRedactor::new(known_secrets())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    #[test]
    fn a_secret_registered_later_is_hidden_from_then_on() {
        let line = "the value is correct-horse-battery";
        assert_eq!(redact_text(line), line);
        register_variables([("STAPLE_TOKEN", "correct-horse-battery")]);
        assert_eq!(redact_text(line), "the value is [redacted:STAPLE_TOKEN]");
    }
}
