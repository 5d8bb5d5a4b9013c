//! Any agent that speaks version 1 of the Agent Client Protocol: JSON-RPC on its standard streams. The conversation
//! itself is in [`conversation`] and is pure.

use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, WorkGrant,
};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::{JsonLinesParser, StreamParser};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install: InstallMethod::UserProgramWithArgument,
    login_hint: "log in with the program's own command",
    login_variables: &[],
    login_files: &[],
    login_file_members: &[],
    reports_cost: true,
};

/// Agents have no flags in common: ralph answers permission requests, and the agent's settings decide what it does without
/// asking.
pub(super) const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &[],
        "may do what its settings allow without asking; its permission requests are refused",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &[],
        "may do what its settings allow without asking; requests to read, search and edit in the project are allowed, \
         all others (commands, deletions, fetches) are refused",
    )),
    work: Ok(WorkGrant {
        build_args: |_| GrantArgs::default(),
        edit_description: "may do what its settings allow without asking; requests to read, search and edit in the \
             project, to run its checks and usual build and test commands, and to commit are allowed, all others are refused",
        read_description: "may do what its settings allow without asking; requests to read, search and run the project's \
             checks and usual build and test commands are allowed, all others are refused",
    }),
    full: Ok(PermissionGrant::from_flags(&[], "may do everything; its permission requests are allowed")),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<super::conversation::AcpConversation>::default()
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

pub(crate) struct AcpAgent;

impl Agent for AcpAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// Model, session and permission are set in the conversation, not on the command line.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        self.base_invocation(request).with_user_additions(request, &[])
    }
}
