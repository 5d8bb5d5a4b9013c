//! Any agent that speaks the Agent Client Protocol: JSON-RPC over its standard streams, version 1. It is talked to instead
//! of being given a prompt; the talk itself is next door, and pure.
mod conversation;
mod handshake;
mod message;
mod notifications;
mod permission_policy;
mod requests;
mod rpc_error;
#[cfg(test)]
mod tests;
mod tool_calls;
mod turn;
mod usage;

use super::launch::{AgentInvocation, LaunchRequest};
use super::output_format::OutputFormat;
use super::parser::{JsonLinesParser, StreamParser};
use super::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use super::profile::AgentProfile;
use super::registry::{Agent, AgentProgram, SessionSupport};
use super::spec::AgentSpec;

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install_hint: "name the program with --agent-cmd PATH, and what makes it speak the protocol with --agent-arg",
    login_hint: "log in with the program's own command",
    login_variables: &[],
    login_files: &[],
    reports_cost: true,
};

/// It has no flags in common with others: what it asks for is answered, and what it does unasked its own settings decide.
const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &[],
        "may do what its own settings allow unasked; whatever it asks for is refused",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &[],
        "may do what its own settings allow unasked; of what it asks for, reads, searches and edits in the project are \
         allowed and the rest (commands, deletions, fetches) is refused",
    )),
    full: Ok(PermissionGrant::from_flags(&[], "may do everything that it asks for")),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

pub(super) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<conversation::AcpConversation>::default()
}

const SPEC: AgentSpec = AgentSpec {
    name: "acp",
    program: AgentProgram::UserProvided,
    output_format: OutputFormat::Acp,
    default_args: &[],
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

pub(super) struct AcpAgent;

impl Agent for AcpAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// Model, session and permission are matters of the talk.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        self.base_invocation(request).with_user_additions(request, &[])
    }
}
