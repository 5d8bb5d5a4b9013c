//! What an agent type gives by default. A user may replace each part alone; what is written always wins.
use super::format::Format;
use super::grant::Grants;

/// The settings of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// The program. `None` where the user must name it.
    pub cli: Option<String>,
    pub args: Vec<String>,
    pub output_format: Format,
    /// A jq expression whose values are the agent's own text.
    pub response_filter: Option<String>,
    /// A jq expression whose values are what people see.
    pub display_filter: Option<String>,
}

/// What the user wrote. `None` keeps the preset's part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    pub cli: Option<String>,
    pub args: Option<Vec<String>>,
    pub output_format: Option<Format>,
    pub response_filter: Option<String>,
    pub display_filter: Option<String>,
}

impl Preset {
    pub(super) fn new(output_format: Format, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { cli: None, args, output_format, response_filter: None, display_filter: None }
    }

    /// Adds the flags of what the agent may do where the user says nothing.
    pub(super) fn granted(mut self, grants: &Grants) -> Self {
        let flags = grants.grant(None).map_or(&[][..], |grant| grant.flags);
        self.args.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    pub(super) fn with_cli(self, cli: &str) -> Self {
        Self { cli: Some(cli.to_owned()), ..self }
    }

    /// Returns these settings with the user's own in place of those he named.
    pub fn overridden_by(self, user: &Overrides) -> Self {
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

    fn preset() -> Preset {
        Preset {
            response_filter: Some(".a".into()),
            ..Preset::new(Format::Claude, &["-p"]).with_cli("claude")
        }
    }

    #[test] // spec: A2
    fn nothing_written_changes_nothing() {
        assert_eq!(preset().overridden_by(&Overrides::default()), preset());
    }

    #[test] // spec: A2
    fn each_part_can_be_replaced_alone() {
        let cli = Overrides { cli: Some("./mine".into()), ..Overrides::default() };
        assert_eq!(preset().overridden_by(&cli), Preset { cli: Some("./mine".into()), ..preset() });
        let args = Overrides { args: Some(vec![]), ..Overrides::default() };
        assert_eq!(preset().overridden_by(&args), Preset { args: vec![], ..preset() });
        let format = Overrides { output_format: Some(Format::Text), ..Overrides::default() };
        assert_eq!(preset().overridden_by(&format), Preset { output_format: Format::Text, ..preset() });
        let filter = Overrides { response_filter: Some(".b".into()), ..Overrides::default() };
        assert_eq!(
            preset().overridden_by(&filter),
            Preset { response_filter: Some(".b".into()), ..preset() }
        );
        let display = Overrides { display_filter: Some(".c".into()), ..Overrides::default() };
        assert_eq!(
            preset().overridden_by(&display),
            Preset { display_filter: Some(".c".into()), ..preset() }
        );
    }
}
