//! Criteria: what must be verified before ralph accepts a claim. They are written with the task and fixed when a run
//! starts.
mod check_command;
mod check_problem;
mod criterion_label;
mod executed_files;
mod external_check;
mod proof;
pub mod template;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use check_command::CheckCommand;
pub use check_problem::{CheckFieldProblem, CheckFields, MAX_CHECK_RETRIES, find_check_problem};
pub use criterion_label::criterion_label;
pub use executed_files::{ExecutedFiles, PythonModule, TaskCall};
pub use external_check::ExternalCheck;
pub use proof::reasons_without_proof;

/// One requirement, and how it is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// Optional display name. Without it, messages show the command or a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often a failed check is retried, in case it is flaky.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    #[serde(flatten)]
    pub method: VerificationMethod,
}

/// How a criterion is verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", content = "config", rename_all = "snake_case")]
pub enum VerificationMethod {
    /// The claim alone is enough. It was found before verification starts.
    StringMatch,
    /// A command must succeed.
    External(ExternalCheck),
    /// A model judges the work.
    Semantic(SemanticCheck),
    /// Several criteria, run as stages.
    MultiStage(StagedCheck),
    /// A plugin program of the user decides.
    Plugin(PluginCheck),
}

/// The questions to a judge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SemanticCheck {
    /// The statements to judge; the judge returns one finding for each. If the list is empty, no model is called.
    pub check_for: Vec<String>,
    /// Phrases that reject the claim at once if they occur in the agent's output. Case-insensitive.
    pub negative_patterns: Vec<String>,
    /// The judge's model, if the criterion sets one.
    pub model: Option<String>,
}

/// Criteria that are verified one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedCheck {
    pub stages: Vec<CheckStage>,
    /// Stop at the first required stage that fails. Otherwise all stages run.
    pub require_all: bool,
    /// Run adjacent external stages in parallel.
    pub parallel: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckStage {
    /// If false, a failure of this stage is only a warning.
    pub required: bool,
    #[serde(flatten)]
    pub criterion: Criterion,
}

/// An external check found among the criteria or their stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalCheckRef<'a> {
    pub check: &'a ExternalCheck,
    pub name: Option<&'a str>,
    /// Whether a failure rejects the claim.
    pub required: bool,
}

/// Returns all external checks, including those inside stages.
#[must_use]
pub fn external_checks(criteria: &[Criterion]) -> Vec<ExternalCheckRef<'_>> {
    let mut found = Vec::new();
    criteria.iter().for_each(|criterion| collect_external_checks(criterion, true, &mut found));
    found
}

fn collect_external_checks<'a>(criterion: &'a Criterion, required: bool, found: &mut Vec<ExternalCheckRef<'a>>) {
    match &criterion.method {
        VerificationMethod::External(check) => {
            found.push(ExternalCheckRef { check, name: criterion.name.as_deref(), required });
        }
        VerificationMethod::MultiStage(staged) => {
            for stage in &staged.stages {
                collect_external_checks(&stage.criterion, required && stage.required, found);
            }
        }
        VerificationMethod::StringMatch | VerificationMethod::Semantic(_) | VerificationMethod::Plugin(_) => {}
    }
}

/// A program that reads a JSON request and writes a JSON answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginCheck {
    pub plugin: String,
    /// Additional configuration for the plugin, as JSON text.
    pub config: String,
    pub timeout_ms: u64,
}

impl StagedCheck {
    /// Splits the stages into groups that may run in parallel. A group has several stages only if `parallel` is set and
    /// all of them are commands.
    #[must_use]
    pub fn parallel_groups(&self) -> Vec<&[CheckStage]> {
        let is_command = |stage: &CheckStage| matches!(stage.criterion.method, VerificationMethod::External(_));
        let together = |a: &CheckStage, b: &CheckStage| self.parallel && is_command(a) && is_command(b);
        self.stages.chunk_by(together).collect()
    }
}

impl PluginCheck {
    /// The default timeout of a plugin.
    pub const DEFAULT_TIMEOUT_MS: u64 = ExternalCheck::DEFAULT_TIMEOUT_MS;

    /// Returns whether this is a valid plugin name. A valid name cannot lead out of the plugin folder.
    #[must_use]
    pub fn is_valid_name(name: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && !name.starts_with(['.', '-']) && name.bytes().all(is_plain)
    }
}

impl Criterion {
    #[must_use]
    pub fn from_method(method: VerificationMethod) -> Self {
        Self { name: None, retries: 0, method }
    }

    /// Returns whether a judge model must be called for it.
    #[must_use]
    pub fn needs_judge(&self) -> bool {
        match &self.method {
            VerificationMethod::Semantic(check) => !check.check_for.is_empty(),
            VerificationMethod::MultiStage(staged) => staged.stages.iter().any(|stage| stage.criterion.needs_judge()),
            VerificationMethod::StringMatch | VerificationMethod::External(_) | VerificationMethod::Plugin(_) => false,
        }
    }

    /// Returns whether it sets the model for every judge that it needs.
    #[must_use]
    pub fn names_judge_model(&self) -> bool {
        match &self.method {
            VerificationMethod::Semantic(check) => check.check_for.is_empty() || check.model.is_some(),
            VerificationMethod::MultiStage(staged) => {
                staged.stages.iter().all(|stage| stage.criterion.names_judge_model())
            }
            VerificationMethod::StringMatch | VerificationMethod::External(_) | VerificationMethod::Plugin(_) => true,
        }
    }

    /// Returns the names of the plugins that it starts.
    #[must_use]
    pub fn plugin_names(&self) -> Vec<&str> {
        match &self.method {
            VerificationMethod::Plugin(check) => [check.plugin.as_str()].into(),
            VerificationMethod::MultiStage(staged) => {
                staged.stages.iter().flat_map(|stage| stage.criterion.plugin_names()).collect()
            }
            VerificationMethod::StringMatch | VerificationMethod::External(_) | VerificationMethod::Semantic(_) => {
                Vec::new()
            }
        }
    }

    /// Sets the timeout of every command and plugin that it starts.
    pub fn set_timeout(&mut self, ms: u64) {
        match &mut self.method {
            VerificationMethod::External(check) => check.timeout_ms = ms,
            VerificationMethod::Plugin(check) => check.timeout_ms = ms,
            VerificationMethod::MultiStage(staged) => {
                staged.stages.iter_mut().for_each(|stage| stage.criterion.set_timeout(ms));
            }
            VerificationMethod::StringMatch | VerificationMethod::Semantic(_) => {}
        }
    }

    /// Returns its label in messages.
    #[must_use]
    pub fn display_name(&self) -> String {
        criterion_label(self.name.as_deref(), &self.method.summary_line())
    }

    /// Returns its name and what it does, in one line.
    #[must_use]
    pub fn summary_line(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}: {}", self.method.summary_line()),
            None => self.method.summary_line(),
        }
    }
}

impl From<ExternalCheck> for Criterion {
    fn from(check: ExternalCheck) -> Self {
        Self::from_method(VerificationMethod::External(check))
    }
}

impl VerificationMethod {
    /// Returns its name in configuration files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::StringMatch => "string_match",
            Self::External(_) => "external",
            Self::Semantic(_) => "semantic",
            Self::MultiStage(_) => "multi_stage",
            Self::Plugin(_) => "plugin",
        }
    }

    /// Returns what it does, in one line.
    #[must_use]
    pub fn summary_line(&self) -> String {
        match self {
            Self::StringMatch => "the promise itself".to_string(),
            Self::External(check) => check.command.to_string(),
            Self::Semantic(check) => format_count("judged criterion", "judged criteria", check.check_for.len()),
            Self::MultiStage(staged) => format_count("stage", "stages", staged.stages.len()),
            Self::Plugin(check) => format!("plugin {}", check.plugin),
        }
    }
}

fn format_count(one: &str, many: &str, count: usize) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V4
    #[test]
    fn only_adjacent_commands_run_in_parallel_and_only_if_requested() {
        let stage = |method| CheckStage { required: true, criterion: Criterion::from_method(method) };
        let command = || stage(VerificationMethod::External(ExternalCheck::from_shell_text("true")));
        let judged = stage(VerificationMethod::Semantic(SemanticCheck::default()));
        let stages = [command(), command(), judged, command(), command(), command()].to_vec();
        let mut staged = StagedCheck { stages, require_all: true, parallel: true };
        let sizes = |staged: &StagedCheck| staged.parallel_groups().iter().map(|group| group.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&staged), [2, 1, 3]);
        staged.parallel = false;
        assert_eq!(sizes(&staged), [1; 6]);
    }

    // spec: V5
    #[test]
    fn the_name_of_a_plugin_cannot_leave_its_folder() {
        for name in ["coverage", "api_1.py", "no-secrets"] {
            assert!(PluginCheck::is_valid_name(name), "{name}");
        }
        for name in ["", ".", "..", "../x", "a/b", "/bin/true", ".hidden", "-rf", "a b", "a\0b", "é"] {
            assert!(!PluginCheck::is_valid_name(name), "{name}");
        }
    }

    // spec: V2, V4
    #[test]
    fn a_criterion_is_stored_and_read_back_unchanged() {
        let stage = |required, method| CheckStage { required, criterion: Criterion::from_method(method) };
        let judged = SemanticCheck { check_for: ["no secrets".to_string()].into(), ..SemanticCheck::default() };
        let stages = [
            stage(true, VerificationMethod::External(ExternalCheck::from_shell_text("make test"))),
            stage(false, VerificationMethod::Semantic(judged)),
            stage(true, VerificationMethod::StringMatch),
        ];
        let staged = StagedCheck { stages: stages.into(), require_all: true, parallel: false };
        let criterion =
            Criterion { name: Some("all".to_string()), retries: 2, method: VerificationMethod::MultiStage(staged) };
        let stored = serde_json::to_string(&criterion).unwrap();
        assert_eq!(serde_json::from_str::<Criterion>(&stored).unwrap(), criterion);
        assert_eq!(criterion.summary_line(), "all: 3 stages");
        let commands = external_checks(core::slice::from_ref(&criterion));
        assert_eq!(commands.len(), 1, "checks inside stages are included");
        assert!(commands[0].required && commands[0].check.command == CheckCommand::from("make test"));
    }
}
