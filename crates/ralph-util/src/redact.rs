//! What this process must never show: the secrets of its environment and what others registered. Every border where
//! text leaves ralph asks here; what a secret is stands in `ralph_core::redact`.
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ralph_core::redact::{Redactor, Secret, Secrets, secrets_in, secrets_of};

/// Prepares the search now, so that the first text need not wait for it.
pub fn prepare() {
    LazyLock::force(&KNOWN);
}

struct Known {
    list: Vec<Secret>,
    prepared: Arc<Secrets>,
}

static KNOWN: LazyLock<RwLock<Known>> = LazyLock::new(|| RwLock::new(Known::of_environment()));

impl Known {
    fn of_environment() -> Self {
        let list: Vec<_> = std::env::vars_os().flat_map(|(name, value)| found(&name, &value)).collect();
        Self { prepared: Arc::new(Secrets::new(&list)), list }
    }
}

fn found(name: &OsStr, value: &OsStr) -> Vec<Secret> {
    secrets_of(&name.to_string_lossy(), value.as_bytes())
}

fn secrets() -> Arc<Secrets> {
    Arc::clone(&KNOWN.read().unwrap_or_else(PoisonError::into_inner).prepared)
}

/// Registers the secrets among these variables, which an agent gets beside our own environment.
pub fn register<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) {
    add(variables.into_iter().flat_map(|(name, value)| secrets_of(name, value.as_bytes())).collect());
}

/// Registers a variable of our environment that holds a key, whatever it is called.
pub fn register_key(variable: &str) {
    let value = std::env::var_os(variable).unwrap_or_default();
    add(secrets_in(variable, value.as_bytes()));
}

fn add(new: Vec<Secret>) {
    if new.is_empty() {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.list.extend(new);
    known.prepared = Arc::new(Secrets::new(&known.list));
}

/// Returns a text without its secrets.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    secrets().redact(text)
}

/// Returns a JSON text with what was hidden in it, read again from the variables that the marks name; or the names of
/// those that are not set, or not to one value.
pub fn reveal(json: &str) -> Result<String, Vec<String>> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    ralph_core::redact::reveal(json, |name| {
        let mut values = known.list.iter().filter(|secret| secret.name == name).map(|secret| &secret.value);
        let value = values.next()?;
        let is_only = values.all(|other| other == value);
        String::from_utf8(value.clone()).ok().filter(|_| is_only)
    })
}

/// Tells whether something was hidden in a text.
#[must_use]
pub fn is_marked(text: &str) -> bool {
    text.contains("[redacted]") || text.contains("[redacted:")
}

/// Starts a stream from which secrets are removed.
#[must_use]
pub fn stream() -> Redactor {
    Redactor::new(secrets())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    #[test]
    fn what_is_registered_later_is_hidden_from_then_on() {
        let line = "the value is correct-horse-battery";
        assert_eq!(text(line), line);
        register([("STAPLE_TOKEN", "correct-horse-battery")]);
        assert_eq!(text(line), "the value is [redacted:STAPLE_TOKEN]");
    }
}
