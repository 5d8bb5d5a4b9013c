//! The default settings of an agent type. The user can override each of them separately.
use crate::launch::permission::PermissionGrants;
use crate::launch::work_scope::WorkScope;
use crate::stream::output_format::OutputFormat;

/// The settings of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPreset {
    /// The program. `None` if the user must name it.
    pub cli: Option<String>,
    pub args: Vec<String>,
    pub output_format: OutputFormat,
    /// A jq expression whose values are the agent's text.
    pub response_filter: Option<String>,
    /// A jq expression whose values are displayed.
    pub display_filter: Option<String>,
}

/// The user's settings. `None` keeps the preset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresetOverrides {
    pub cli: Option<String>,
    pub args: Option<Vec<String>>,
    pub output_format: Option<OutputFormat>,
    pub response_filter: Option<String>,
    pub display_filter: Option<String>,
}

impl AgentPreset {
    pub(crate) fn new(output_format: OutputFormat, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { cli: None, args, output_format, response_filter: None, display_filter: None }
    }

    /// Adds the flags of the default permission.
    pub(crate) fn with_default_grant(mut self, grants: &PermissionGrants) -> Self {
        self.args.extend(grants.grant_args(None, &WorkScope::default()).flags);
        self
    }

    pub(crate) fn with_cli(self, cli: &str) -> Self {
        Self { cli: Some(cli.to_owned()), ..self }
    }

    /// Returns these settings with the user's overrides applied.
    pub fn overridden_by(self, user: &PresetOverrides) -> Self {
        let user = user.clone();
        Self {
            cli: user.cli.or(self.cli),
            args: user.args.unwrap_or(self.args),
            output_format: user.output_format.unwrap_or(self.output_format),
            response_filter: user.response_filter.or(self.response_filter),
            display_filter: user.display_filter.or(self.display_filter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_preset() -> AgentPreset {
        AgentPreset {
            response_filter: Some(".a".into()),
            ..AgentPreset::new(OutputFormat::Claude, &["-p"]).with_cli("claude")
        }
    }

    #[test] // spec: A2
    fn empty_overrides_change_nothing() {
        assert_eq!(sample_preset().overridden_by(&PresetOverrides::default()), sample_preset());
    }

    #[test] // spec: A2
    fn each_part_can_be_replaced_alone() {
        let cli = PresetOverrides { cli: Some("./mine".into()), ..PresetOverrides::default() };
        assert_eq!(sample_preset().overridden_by(&cli), AgentPreset { cli: Some("./mine".into()), ..sample_preset() });
        let args = PresetOverrides { args: Some(vec![]), ..PresetOverrides::default() };
        assert_eq!(sample_preset().overridden_by(&args), AgentPreset { args: vec![], ..sample_preset() });
        let format = PresetOverrides { output_format: Some(OutputFormat::Text), ..PresetOverrides::default() };
        assert_eq!(
            sample_preset().overridden_by(&format),
            AgentPreset { output_format: OutputFormat::Text, ..sample_preset() }
        );
        let filter = PresetOverrides { response_filter: Some(".b".into()), ..PresetOverrides::default() };
        assert_eq!(
            sample_preset().overridden_by(&filter),
            AgentPreset { response_filter: Some(".b".into()), ..sample_preset() }
        );
        let display = PresetOverrides { display_filter: Some(".c".into()), ..PresetOverrides::default() };
        assert_eq!(
            sample_preset().overridden_by(&display),
            AgentPreset { display_filter: Some(".c".into()), ..sample_preset() }
        );
    }
}
