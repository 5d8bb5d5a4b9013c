//! What is fixed about an agent: the part of its adapter that is data.
use super::output_format::OutputFormat;
use super::permission::PermissionGrants;
use super::preset::AgentPreset;
use super::profile::AgentProfile;
use super::registry::{AgentProgram, SessionSupport};

#[derive(Debug, Clone, Copy)]
pub struct AgentSpec {
    pub name: &'static str,
    /// What is started when the user names nothing else.
    pub program: AgentProgram,
    pub output_format: OutputFormat,
    /// The arguments that the user may replace.
    pub default_args: &'static [&'static str],
    /// What it may do unasked, by permission.
    pub grants: PermissionGrants,
    /// How one start can go on with the conversation of an earlier one.
    pub session_support: SessionSupport,
    /// Where it comes from and how one logs in.
    pub profile: AgentProfile,
}

impl AgentSpec {
    /// Returns the settings that the user may override.
    pub(super) fn to_preset(self) -> AgentPreset {
        let preset = AgentPreset::new(self.output_format, self.default_args).with_default_grant(&self.grants);
        match self.program {
            AgentProgram::OnPath(cli) => preset.with_cli(cli),
            AgentProgram::OwnBinary | AgentProgram::UserProvided => preset,
        }
    }
}
