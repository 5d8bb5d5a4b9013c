//! The judge that is asked over HTTP: whether what is written about it makes sense, and is safe.
use std::net::IpAddr;

use ralph_core::judge::JudgeEndpoint;
use reqwest::Url;

use super::error::{ConfigError, ValueError};
use super::settings::Settings;

impl Settings {
    /// Returns where the judge is asked, if it is asked over HTTP.
    #[must_use]
    pub fn judge_endpoint(&self) -> Option<JudgeEndpoint> {
        let api = self.judge.api.value?;
        let (url, key_env) = (self.judge.url.value.clone(), self.judge.key_env.value.clone());
        // A key is for its vendor: another address gets one only if that is written.
        let usual = url.is_none().then(|| api.default_key_variable().to_owned());
        Some(JudgeEndpoint {
            api,
            url: url.unwrap_or_else(|| api.default_url().to_owned()),
            key_env: key_env.or(usual),
        })
    }

    /// An address that cannot be asked, or that would give the key away, is refused before anything is spent.
    pub(super) fn validate_judge(&self) -> Result<(), ConfigError> {
        let judge = &self.judge;
        for (key, part) in [("url", &judge.url), ("key_env", &judge.key_env)] {
            let Some(value) = &part.value else { continue };
            let checked = match (key, judge.api.value) {
                (_, None) => Err(ValueError::new("it means nothing without verification.judge.api")
                    .with_hint("add `api: anthropic` or `api: openai`: what is spoken at that address")),
                ("url", Some(_)) => validate_url(value),
                (_, Some(_)) => validate_variable_name(value),
            };
            checked.map_err(|refusal| {
                let what = format!("verification.judge.{key}: {}", refusal.message);
                ValueError { message: what, ..refusal }.at_place(part.origin.to_string())
            })?;
        }
        Ok(())
    }
}

fn validate_url(written: &str) -> Result<(), ValueError> {
    let hint = "write the whole address, such as https://api.openai.com/v1/chat/completions";
    let url = Url::parse(written)
        .map_err(|error| ValueError::new(format!("{written:?} is no address: {error}")).with_hint(hint))?;
    if !url.username().is_empty() || url.password().is_some() {
        // The address is not repeated: it holds a password.
        return Err(ValueError::new("it holds a name or a password")
            .with_hint("put the key into a variable, and its name into verification.judge.key_env"));
    }
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => Ok(()),
        ("http", Some(host)) if is_loopback_host(host) => Ok(()),
        ("http", Some(host)) => {
            Err(ValueError::new(format!("http to {host} would carry the work, and the key, in the clear"))
                .with_hint("use https; http is for this machine alone (localhost, 127.0.0.1, [::1])"))
        }
        (_, _) => Err(ValueError::new(format!("{written:?} is no address of a web server")).with_hint(hint)),
    }
}

fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What is no name may be the key itself, and is not repeated.
fn validate_variable_name(name: &str) -> Result<(), ValueError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain && !name.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(());
    }
    Err(ValueError::new("it is no name of a variable").with_hint(
        "put the key into a variable such as JUDGE_API_KEY, and that name here; the key itself never stands in a file",
    ))
}
