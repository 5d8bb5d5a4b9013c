//! Where a request comes from: its `Host` and `Origin` headers, and the connection.
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, Uri, header};
use ralph_process::LoopbackConnection;

use super::ServerReach;

const FETCH_SITE_HEADER: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Headers that only a proxy adds.
const PROXY_HEADERS: [HeaderName; 5] = [
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
];

/// The addresses of the connection that a request came over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientConnection {
    pub own: SocketAddr,
    pub peer: SocketAddr,
}

impl ClientConnection {
    /// Returns the connection if both ends are on this machine.
    pub(super) fn loopback(self) -> Option<LoopbackConnection> {
        let Self { own, peer } = self;
        let is_local = peer.ip().to_canonical().is_loopback() || peer.ip() == own.ip();
        is_local.then_some(LoopbackConnection { own, peer })
    }
}

/// The names under which this server may be addressed. A page of another site that points its name at this machine (DNS
/// rebinding) sends its own name.
pub(crate) struct AllowedHosts {
    reach: ServerReach,
    names: Vec<String>,
}

impl AllowedHosts {
    pub(crate) fn new(reach: ServerReach, names: Vec<String>) -> Self {
        Self { reach, names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Returns the host and port that a request names, if they are allowed.
    pub(super) fn requested_authority<'a>(&self, headers: &'a HeaderMap, uri: &Uri) -> Option<&'a str> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let authority = hosts.next()?.to_str().ok()?;
        let is_only = hosts.next().is_none();
        let is_same = uri.authority().is_none_or(|target| target.as_str() == authority);
        (is_only && is_same && self.allows(authority)).then_some(authority)
    }

    /// Returns where a request may come from. The connection says nothing: that of a proxy comes from this machine. So only a
    /// request that names this machine, and that no proxy has marked, has the rights of a local one.
    pub(super) fn reach_of_request(&self, headers: &HeaderMap, authority: &str) -> ServerReach {
        let names_this_machine = host_of_authority(authority).is_some_and(is_loopback_name);
        let is_marked = PROXY_HEADERS.iter().any(|name| headers.contains_key(name));
        if names_this_machine && !is_marked { self.reach } else { ServerReach::Network }
    }

    fn allows(&self, authority: &str) -> bool {
        let Some(host) = host_of_authority(authority) else { return false };
        let host = host.to_ascii_lowercase();
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            // Rebinding needs a name, so every address is safe.
            Ok(address) => self.reach == ServerReach::Network || address.to_canonical().is_loopback(),
            Err(_) => host == "localhost" || self.names.contains(&host),
        }
    }
}

fn is_loopback_name(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// Returns the host of `host:port`, `[address]:port` or either without a port.
fn host_of_authority(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(end) => authority.split_at_checked(end + 2)?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |text: &str| text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (!host.is_empty() && (port.is_empty() || is_port(port))).then_some(host)
}

/// The page that sends a request, by its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// A page of this server.
    SameOrigin,
    /// A page of another site.
    Foreign,
    /// No page, or a browser that does not say.
    Unknown,
}

impl RequestOrigin {
    pub(super) fn from_headers(headers: &HeaderMap, authority: &str) -> Self {
        let site = headers.get(FETCH_SITE_HEADER).map(axum::http::HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return Self::Foreign;
        }
        match headers.get(header::ORIGIN).map(|value| value.to_str()) {
            None => Self::Unknown,
            Some(Ok(origin)) if is_origin_of(origin, authority) => Self::SameOrigin,
            Some(_) => Self::Foreign,
        }
    }
}

/// A proxy in front of the server may add TLS.
fn is_origin_of(origin: &str, authority: &str) -> bool {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(reach: ServerReach, host: &str) -> bool {
        AllowedHosts::new(reach, vec!["Ralph.Example".to_owned()]).allows(host)
    }

    // fault: 100
    #[test]
    fn on_loopback_only_names_of_this_machine_are_allowed() {
        for host in ["localhost", "localhost:3000", "127.0.0.1:3000", "[::1]:3000", "LOCALHOST:1", "ralph.example:80"] {
            assert!(is_allowed(ServerReach::Loopback, host), "{host}");
        }
        for host in [
            "evil.test:3000",
            "",
            ":3000",
            "127.0.0.1.evil.test",
            "192.168.1.2:3000",
            "localhost:x",
            "[::1",
            "a@localhost",
        ] {
            assert!(!is_allowed(ServerReach::Loopback, host), "{host}");
        }
        assert!(is_allowed(ServerReach::Network, "192.168.1.2:3000"));
        assert!(!is_allowed(ServerReach::Network, "evil.test:3000"));
    }

    // spec: X2
    #[test]
    fn only_a_request_for_this_machine_that_no_proxy_has_marked_is_local() {
        let hosts = AllowedHosts::new(ServerReach::Loopback, vec!["ralph.example".to_owned()]);
        let reach = |authority: &str, marks: &[HeaderName]| {
            let mark = |name: &HeaderName| (name.clone(), axum::http::HeaderValue::from_static("203.0.113.9"));
            hosts.reach_of_request(&HeaderMap::from_iter(marks.iter().map(mark)), authority)
        };
        for host in ["localhost:3000", "LOCALHOST", "127.0.0.1:3000", "[::1]:3000"] {
            assert_eq!(reach(host, &[]), ServerReach::Loopback, "{host}");
            for header in PROXY_HEADERS {
                assert_eq!(reach(host, &[header]), ServerReach::Network, "{host}");
            }
        }
        assert_eq!(reach("ralph.example:3000", &[]), ServerReach::Network);
        let public = AllowedHosts::new(ServerReach::Network, Vec::new());
        assert_eq!(public.reach_of_request(&HeaderMap::new(), "localhost"), ServerReach::Network);
    }

    // fault: 99
    #[test]
    fn an_origin_matches_only_the_requested_host_and_port() {
        let origin = |name: HeaderName, value: &'static str| {
            let headers = HeaderMap::from_iter([(name, axum::http::HeaderValue::from_static(value))]);
            RequestOrigin::from_headers(&headers, "localhost:3000")
        };
        assert_eq!(origin(header::ORIGIN, "http://localhost:3000"), RequestOrigin::SameOrigin);
        for foreign in ["http://localhost:3001", "http://evil.test", "null", "http://localhost:3000.evil.test"] {
            assert_eq!(origin(header::ORIGIN, foreign), RequestOrigin::Foreign, "{foreign}");
        }
        assert_eq!(origin(FETCH_SITE_HEADER, "cross-site"), RequestOrigin::Foreign);
        assert_eq!(origin(header::ACCEPT, "*/*"), RequestOrigin::Unknown);
    }
}
