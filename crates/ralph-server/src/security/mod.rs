//! Permissions of requests. Reads of this machine need no token; every order needs the token of the project, or the session
//! cookie of a browser together with a matching origin and the CSRF header. Agents of the project cannot give orders.
mod access_token;
mod login;
mod login_codes;
mod order_rules;
mod request_gate;
mod request_source;
mod response_headers;
mod session;

pub(crate) use access_token::AccessToken;
pub use access_token::{AccessTokenError, read_access_token};
pub(crate) use login::routes;
pub(crate) use login_codes::LoginCodes;
pub use login_codes::create_login_url;
pub(crate) use request_gate::check_request;
pub(crate) use request_source::{AllowedHosts, ClientConnection};
pub(crate) use response_headers::add_security_headers;
pub(crate) use session::SessionState;

use std::net::IpAddr;

use ralph_engine::project::Project;

/// Where the server can be reached from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerReach {
    /// Only from this machine.
    Loopback,
    /// Also from other machines: every request needs the token.
    Network,
}

impl ServerReach {
    pub(crate) fn of_address(address: IpAddr) -> Self {
        if address.to_canonical().is_loopback() { Self::Loopback } else { Self::Network }
    }
}

/// The settings for the checks of a request.
pub(crate) struct SecuritySettings {
    pub token: AccessToken,
    pub logins: LoginCodes,
    pub hosts: AllowedHosts,
}

impl SecuritySettings {
    /// Reads the token of the project. Creates it if there is none.
    pub(crate) fn open(project: &Project, address: IpAddr, extra_hosts: Vec<String>) -> Result<Self, AccessTokenError> {
        let reach = ServerReach::of_address(address);
        Ok(Self {
            token: AccessToken::open(project)?,
            logins: LoginCodes::open(project)?,
            hosts: AllowedHosts::new(reach, extra_hosts),
        })
    }
}
