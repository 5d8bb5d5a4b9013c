//! The static description of an agent: the part of its adapter that is data.
use crate::launch::permission::PermissionGrants;
use crate::launch::preset::AgentPreset;
use crate::profile::AgentProfile;
use crate::registry::{AgentProgram, SessionSupport};
use crate::stream::output_format::OutputFormat;

#[derive(Debug, Clone, Copy)]
pub struct AgentSpec {
    pub name: &'static str,
    /// The default program.
    pub program: AgentProgram,
    pub output_format: OutputFormat,
    /// The default arguments, which the user can replace.
    pub default_args: &'static [&'static str],
    /// How each permission level is granted.
    pub grants: PermissionGrants,
    /// Whether and how an earlier session can be resumed.
    pub session_support: SessionSupport,
    /// How to install it and log in.
    pub profile: AgentProfile,
}

impl AgentSpec {
    /// Returns the settings that the user can override.
    pub(super) fn to_preset(self) -> AgentPreset {
        let preset = AgentPreset::new(self.output_format, self.default_args).with_default_grant(&self.grants);
        match self.program {
            AgentProgram::OnPath(cli) => preset.with_cli(cli),
            AgentProgram::OwnBinary | AgentProgram::UserProvided => preset,
        }
    }
}
