//! Facts about an agent that are not needed to start or parse it: how to install it, how to log in, and known
//! problems of its versions.
use crate::launch::permission::PermissionLevel;
use crate::launch::preflight::LaunchEnvironment;

/// Static facts about an agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentProfile {
    /// The npm package that contains it, if any.
    pub npm_package: Option<&'static str>,
    /// The newest version that ralph was tested with. `None` for a program that the project has never run.
    pub tested_version: Option<&'static str>,
    /// How to install the program if it is missing.
    pub install: InstallMethod,
    /// How to log in.
    pub login_hint: &'static str,
    /// Environment variables, each of which is a login.
    pub login_variables: &'static [&'static str],
    /// Files, each of which indicates a login. They start with `~/` or with a variable, `$NAME/`.
    pub login_files: &'static [&'static str],
    /// If not empty, a login file counts only if it is a JSON object in which one of these members has a value. The file
    /// also exists without a login.
    pub login_file_members: &'static [&'static str],
    /// Whether it can report cost. Whether it does may depend on its provider.
    pub reports_cost: bool,
}

/// How to get the program of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallMethod {
    /// A shell command installs it.
    Command { command: &'static str, requirement: Option<&'static str> },
    /// The user must name the program.
    UserProgram,
    /// The user must name the program, and the argument that makes it speak the protocol.
    UserProgramWithArgument,
    /// It is part of ralph.
    BuiltIn,
}

impl InstallMethod {
    pub(super) const fn from_command(command: &'static str) -> Self {
        Self::Command { command, requirement: None }
    }

    /// Returns the command that installs it, if there is one.
    #[must_use]
    pub fn command(self) -> Option<&'static str> {
        match self {
            Self::Command { command, .. } => Some(command),
            Self::UserProgram | Self::UserProgramWithArgument | Self::BuiltIn => None,
        }
    }
}

/// The facts that an adapter can inspect to find known problems on this machine.
#[derive(Clone, Copy)]
pub struct DiagnosticContext<'a> {
    pub version: Option<&'a AgentVersion>,
    pub environment: LaunchEnvironment<'a>,
    /// Returns whether a path exists. It is relative to the project root, or to the home folder if it starts with `~/`.
    pub has_path: &'a dyn Fn(&str) -> bool,
}

/// Something that the user should know about an agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentAdvisory {
    pub severity: AdvisorySeverity,
    pub message: String,
    pub remedy: AgentRemedy,
}

/// How to fix or avoid a problem of an agent. Where the answer is a flag, the remedy only says which setting: the
/// command line knows its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRemedy {
    /// A remedy that is the same on every screen.
    Text(String),
    Install(InstallMethod),
    /// Grant this permission; the text says what happens otherwise.
    Grant {
        level: PermissionLevel,
        otherwise: &'static str,
    },
    /// Grant this permission, or pass these arguments to the agent.
    GrantOrPassArguments {
        level: PermissionLevel,
        arguments: &'static [&'static str],
    },
    /// Do this, or grant the permission.
    DoOrGrant {
        action: &'static str,
        level: PermissionLevel,
    },
}

impl From<&str> for AgentRemedy {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AgentRemedy {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdvisorySeverity {
    /// A limitation that ralph handles.
    Note,
    /// A possible cause of failures.
    Warning,
}

impl AgentAdvisory {
    pub(super) fn new_note(message: impl Into<String>, remedy: impl Into<AgentRemedy>) -> Self {
        Self { severity: AdvisorySeverity::Note, message: message.into(), remedy: remedy.into() }
    }

    pub(super) fn new_warning(message: impl Into<String>, remedy: impl Into<AgentRemedy>) -> Self {
        Self { severity: AdvisorySeverity::Warning, message: message.into(), remedy: remedy.into() }
    }
}

/// A version such as 2.1.325.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentVersion(Vec<u64>);

impl AgentVersion {
    /// Returns the first version in a text: numbers separated by dots.
    #[must_use]
    pub fn find_in_text(text: &str) -> Option<Self> {
        let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
        words.map(|word| word.trim_matches('.')).find_map(|word| {
            let numbers: Option<Vec<u64>> = word.split('.').map(|number| number.parse().ok()).collect();
            numbers.filter(|numbers| numbers.len() > 1).map(Self)
        })
    }
}

impl std::fmt::Display for AgentVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

impl AgentProfile {
    /// Returns a warning about a version that is older than the tested one, or a note about a newer one.
    pub(super) fn version_advisory(&self, context: &DiagnosticContext<'_>) -> Option<AgentAdvisory> {
        self.outdated_version_advisory(context).or_else(|| {
            let note = self.describe_newer_version(context.version?)?;
            Some(AgentAdvisory::new_note(
                note,
                "ralph reports records that it does not know; update ralph if there are any",
            ))
        })
    }

    /// Describes a version that is newer than the newest tested one.
    #[must_use]
    pub fn describe_newer_version(&self, found: &AgentVersion) -> Option<String> {
        let tested = AgentVersion::find_in_text(self.tested_version?)?;
        (*found > tested)
            .then(|| format!("version {found} is newer than {tested}, the newest that ralph is tested with"))
    }

    fn outdated_version_advisory(&self, context: &DiagnosticContext<'_>) -> Option<AgentAdvisory> {
        let (found, tested) = (context.version?, AgentVersion::find_in_text(self.tested_version?)?);
        let update = self.npm_package.map(|package| {
            format!("npm install -g {package}@{tested} (with an old Node.js, npm silently installs an old version)")
        });
        (*found < tested).then(|| {
            AgentAdvisory::new_warning(
                format!("version {found} is older than {tested}, the version that ralph is tested with"),
                update.map_or(AgentRemedy::Install(self.install), AgentRemedy::Text),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, AgentProgram};

    #[test] // spec: A8
    fn a_version_is_found_anywhere_in_a_text() {
        let table = [
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("GitHub Copilot CLI 1.0.102.", Some("1.0.102")),
            ("0.0.1790142911-gabc", Some("0.0.1790142911")),
            (" 1.34.0\n", Some("1.34.0")),
            ("version 7", None),
            ("...", None),
            ("99999999999999999999999.1", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(AgentVersion::find_in_text(text).map(|found| found.to_string()).as_deref(), expected, "{text}");
        }
        assert!(AgentVersion::find_in_text("2.1.197") < AgentVersion::find_in_text("2.1.325"));
        assert!(AgentVersion::find_in_text("0.24.4") > AgentVersion::find_in_text("0.15.10"));
    }

    #[test] // spec: A12
    fn a_version_newer_than_the_tested_one_is_named() {
        let profile = crate::find_agent("codex").unwrap().profile();
        let version = |text: &str| AgentVersion::find_in_text(text).unwrap();
        let tested = profile.tested_version.unwrap();
        assert_eq!(profile.describe_newer_version(&version(tested)), None);
        assert_eq!(profile.describe_newer_version(&version("0.1.0")), None);
        let note = profile.describe_newer_version(&version("999.0.1")).unwrap();
        assert_eq!(note, format!("version 999.0.1 is newer than {tested}, the newest that ralph is tested with"));
    }

    /// The pinned versions of the real agents that the tests run.
    #[test] // spec: A12
    fn the_tested_versions_are_the_pinned_ones() {
        let pins = [
            include_str!("../../ralph-cli/testing/agents/package.json"),
            include_str!("../../ralph-cli/testing/more_agents/package.json"),
        ];
        let mut compared = 0;
        for pins in pins {
            let package: serde_json::Value = serde_json::from_str(pins).unwrap();
            for (name, pinned) in package["dependencies"].as_object().unwrap() {
                let agent = AGENTS.iter().find(|agent| agent.profile().npm_package == Some(name.as_str()));
                let Some(agent) = agent else { continue };
                // The version of the goose package is not that of the program in it.
                if agent.name() != "goose" {
                    assert_eq!(agent.profile().tested_version, pinned.as_str(), "{name}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 10);
    }

    #[test] // spec: A8
    fn every_program_has_install_and_login_hints() {
        for agent in AGENTS {
            let profile = agent.profile();
            assert!(!profile.login_hint.is_empty(), "{}", agent.name());
            if let AgentProgram::OnPath(_) = agent.program() {
                assert!(profile.install.command().is_some_and(|command| !command.is_empty()), "{}", agent.name());
                assert!(!profile.login_variables.is_empty() || !profile.login_files.is_empty(), "{}", agent.name());
            }
        }
    }
}
