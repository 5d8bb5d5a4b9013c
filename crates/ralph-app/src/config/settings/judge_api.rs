//! Validates the settings of a judge over HTTP: they must be complete, and must not leak the key.
use std::net::IpAddr;

use ralph_core::judge::JudgeEndpoint;
use reqwest::Url;

use crate::config::error::{ConfigError, ValueError};
use crate::config::settings::all_settings::Settings;

impl Settings {
    /// Returns the endpoint of the judge, if it is called over HTTP.
    #[must_use]
    pub fn judge_endpoint(&self) -> Option<JudgeEndpoint> {
        let api = self.judge.api.value?;
        let (url, key_env) = (self.judge.url.value.clone(), self.judge.key_env.value.clone());
        // The vendor's usual key must not be sent to another address: that needs an explicit `key_env`.
        let vendor_key = url.is_none().then(|| api.default_key_variable().to_owned());
        Some(JudgeEndpoint {
            api,
            url: url.unwrap_or_else(|| api.default_url().to_owned()),
            key_env: key_env.or(vendor_key),
        })
    }

    /// Refuses a URL that cannot be called or would leak the key, before the run spends anything.
    pub(in crate::config) fn validate_judge(&self) -> Result<(), ConfigError> {
        let judge = &self.judge;
        for (key, part) in [("url", &judge.url), ("key_env", &judge.key_env)] {
            let Some(value) = &part.value else { continue };
            let checked = match (key, judge.api.value) {
                (_, None) => Err(ValueError::new("it requires verification.judge.api")
                    .with_hint("add `api: anthropic` or `api: openai`, the protocol of that address")),
                ("url", Some(_)) => validate_url(value),
                (_, Some(_)) => validate_variable_name(value),
            };
            checked.map_err(|refusal| {
                let message = format!("verification.judge.{key}: {}", refusal.message);
                ValueError { message, ..refusal }.at_place(part.origin.to_string())
            })?;
        }
        Ok(())
    }
}

/// Checks an address that messages are sent to. The error does not repeat it.
pub fn validate_address(written: &str) -> Result<(), String> {
    let url = Url::parse(written).map_err(|error| format!("it is not a URL: {error}"))?;
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => Ok(()),
        ("http", Some(host)) if is_loopback_host(host) => Ok(()),
        (_, _) => Err("use https; http is allowed only for this machine (localhost, 127.0.0.1, [::1])".to_owned()),
    }
}

fn validate_url(written: &str) -> Result<(), ValueError> {
    let hint = "write the full URL, such as https://api.openai.com/v1/chat/completions";
    let url = Url::parse(written)
        .map_err(|error| ValueError::new(format!("{written:?} is not a valid URL: {error}")).with_hint(hint))?;
    if !url.username().is_empty() || url.password().is_some() {
        // The message must not repeat the URL: it contains a password.
        return Err(ValueError::new("the URL contains a user name or password").with_hint(
            "put the key into an environment variable, and the variable's name into verification.judge.key_env",
        ));
    }
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => Ok(()),
        ("http", Some(host)) if is_loopback_host(host) => Ok(()),
        ("http", Some(host)) => {
            Err(ValueError::new(format!("http to {host} would send the work and the key unencrypted"))
                .with_hint("use https; http is allowed only for this machine (localhost, 127.0.0.1, [::1])"))
        }
        (_, _) => Err(ValueError::new(format!("{written:?} is not an http or https URL")).with_hint(hint)),
    }
}

fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses an invalid variable name without repeating it: it may be the key itself.
fn validate_variable_name(name: &str) -> Result<(), ValueError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain && !name.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(());
    }
    Err(ValueError::new("not a valid variable name").with_hint(
        "put the key into an environment variable such as JUDGE_API_KEY, and write that name here; never write the key into a file",
    ))
}
