//! The HTTP client of judges and platforms. It follows no redirects, so that keys are sent only to the configured address.
use reqwest::{Client, Url};

use crate::dns::ThreadedDnsResolver;

/// Builds a client that follows no redirects. Plain HTTP, which is for servers on this machine, bypasses proxies.
pub fn build_http_client(url: &Url) -> Result<Client, String> {
    // This fails if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .dns_resolver(ThreadedDnsResolver)
        .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")));
    let builder = if url.scheme() == "https" { builder } else { builder.no_proxy() };
    builder.build().map_err(|error| format!("cannot create the HTTP client: {}", describe_http_error(&error)))
}

/// Describes an error and its causes, without the address, which the user knows.
pub fn describe_http_error(error: &reqwest::Error) -> String {
    let summary = if error.is_connect() {
        "it cannot be reached"
    } else if error.is_builder() {
        "the request is invalid"
    } else {
        "the connection failed"
    };
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let mut parts = vec![summary.to_owned()];
    for cause in causes.map(ToString::to_string) {
        // An error often repeats the text of its cause.
        if !parts.iter().any(|part| part.contains(&cause)) {
            parts.push(cause);
        }
    }
    parts.join(": ")
}
