//! What is known about an agent beside how it is started and read: where it comes from, how one logs in, and what is
//! odd about which version.
use super::obstacle::Surroundings;

/// The facts that never change while ralph runs.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The npm package that it comes in, if it does.
    pub package: Option<&'static str>,
    /// The version that the recordings are from.
    pub tested: Option<&'static str>,
    /// Says how to get the program when it is missing.
    pub install_hint: &'static str,
    /// Says how to log in.
    pub login_hint: &'static str,
    /// Variables, each of which is a login.
    pub login_variables: &'static [&'static str],
    /// Files, each of which is a sign of a login. They begin with `~/` or with a variable, `$NAME/`.
    pub login_files: &'static [&'static str],
    /// Whether it can tell what it costs. Whether it does may depend on its provider.
    pub tells_cost: bool,
}

/// What an adapter may look at to tell what is odd here.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    pub version: Option<&'a Version>,
    pub around: Surroundings<'a>,
    /// Tells whether something is there: a path from the project's root, or from home where it begins with `~/`.
    pub has_path: &'a dyn Fn(&str) -> bool,
}

/// Something that people should know about an agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    pub weight: Weight,
    pub what: String,
    pub hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It is so, and ralph copes with it.
    Note,
    /// It may go wrong.
    Warning,
}

impl Trap {
    pub(super) fn note(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { weight: Weight::Note, what: what.into(), hint: hint.into() }
    }

    pub(super) fn warning(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { weight: Weight::Warning, what: what.into(), hint: hint.into() }
    }
}

/// A version such as 2.1.325.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u64>);

impl Version {
    /// Returns the first version that stands in a text: numbers with dots between them.
    #[must_use]
    pub fn in_text(text: &str) -> Option<Self> {
        let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
        words.map(|word| word.trim_matches('.')).find_map(|word| {
            let numbers: Option<Vec<u64>> = word.split('.').map(|number| number.parse().ok()).collect();
            numbers.filter(|numbers| numbers.len() > 1).map(Self)
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

impl About {
    /// Warns of a version that is older than the one whose recordings we have.
    pub(super) fn older(&self, machine: &Machine<'_>) -> Option<Trap> {
        let (found, tested) = (machine.version?, Version::in_text(self.tested?)?);
        let update = self.package.map(|package| {
            format!("npm install -g {package}@{tested} (on an old node, npm quietly installs an old version)")
        });
        (*found < tested).then(|| {
            Trap::warning(
                format!("version {found} is older than {tested}, the one that ralph is tested with"),
                update.unwrap_or_else(|| self.install_hint.to_owned()),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, Program};

    #[test] // spec: A8
    fn a_version_is_found_wherever_it_stands() {
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
            assert_eq!(Version::in_text(text).map(|found| found.to_string()).as_deref(), expected, "{text}");
        }
        assert!(Version::in_text("2.1.197") < Version::in_text("2.1.325"));
        assert!(Version::in_text("0.24.4") > Version::in_text("0.15.10"));
    }

    #[test] // spec: A8
    fn of_every_program_it_is_known_how_to_get_it_and_how_to_log_in() {
        for agent in AGENTS {
            let about = agent.about();
            assert!(!about.install_hint.is_empty() && !about.login_hint.is_empty(), "{}", agent.name());
            if let Program::Named(_) = agent.program() {
                assert!(about.tested.is_some(), "{}", agent.name());
                assert!(
                    !about.login_variables.is_empty() || !about.login_files.is_empty(),
                    "{}",
                    agent.name()
                );
            }
        }
    }
}
