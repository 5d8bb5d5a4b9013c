//! The verification settings of a role or a stage, as written. Each method uses some of the fields.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::criterion::CheckCommand;
use crate::criterion::template::ParameterValues;
use crate::task::{MethodName, TimeoutSpec};

/// Placeholder for the acceptance criteria of the task.
pub const ACCEPTANCE_PLACEHOLDER: &str = "{{acceptance_criteria}}";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CheckCommand>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_not_contains: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeoutSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_for: Option<CheckForSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_patterns: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_all: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<StageSpec>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// Additional configuration for a plugin, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// How often a failed check is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The name of a criterion template. The template defines the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The parameters of the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<BTreeMap<String, OneOrMany>>,
}

/// The value of a template parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    More(Vec<String>),
}

impl OneOrMany {
    fn to_values(&self) -> ParameterValues {
        match self {
            Self::One(value) => [value.clone()].into(),
            Self::More(values) => values.clone(),
        }
    }
}

/// The statements to judge: a list, or [`ACCEPTANCE_PLACEHOLDER`], which may also be an item of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CheckForSpec {
    Text(String),
    List(Vec<String>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<MethodName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<VerificationConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

impl StageSpec {
    /// The name of a stage without a name.
    pub const UNNAMED_STAGE: &str = "unnamed";

    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(Self::UNNAMED_STAGE)
    }

    #[must_use]
    pub fn method_or_default(&self) -> MethodName {
        self.method.unwrap_or(MethodName::StringMatch)
    }
}

impl VerificationConfig {
    /// Returns the names of all fields.
    #[must_use]
    pub fn field_names() -> [&'static str; 18] {
        Self::default().all_fields().map(|(name, ..)| name)
    }

    /// Returns the fields that are set, each with the methods that use it.
    #[must_use]
    pub fn written_fields(&self) -> Vec<(&'static str, &'static [MethodName])> {
        let written = self.all_fields().into_iter().filter(|(_, is_set, _)| *is_set);
        written.map(|(name, _, methods)| (name, methods)).collect()
    }

    /// Returns for each field its name, whether it is set, and the methods that use it.
    fn all_fields(&self) -> [(&'static str, bool, &'static [MethodName]); 18] {
        use MethodName::{External, MultiStage, Plugin, Semantic};
        [
            ("command", self.command.is_some(), &[External]),
            ("success_exit_code", self.success_exit_code.is_some(), &[External]),
            ("output_contains", self.output_contains.is_some(), &[External]),
            ("output_not_contains", self.output_not_contains.is_some(), &[External]),
            ("timeout", self.timeout.is_some(), &[External, Plugin]),
            ("working_dir", self.working_dir.is_some(), &[External]),
            ("env", self.env.is_some(), &[External]),
            ("check_for", self.check_for.is_some(), &[Semantic]),
            ("negative_patterns", self.negative_patterns.is_some(), &[Semantic]),
            ("model", self.model.is_some(), &[Semantic]),
            ("require_all", self.require_all.is_some(), &[MultiStage]),
            ("parallel", self.parallel.is_some(), &[MultiStage]),
            ("stages", self.stages.is_some(), &[MultiStage]),
            ("plugin", self.plugin.is_some(), &[Plugin]),
            ("config", self.config.is_some(), &[Plugin]),
            ("retries", self.retries.is_some(), &[External, Semantic, MultiStage, Plugin]),
            ("template", self.template.is_some(), &[External, Semantic, MultiStage, Plugin]),
            ("with", self.with.is_some(), &[External, Semantic, MultiStage, Plugin]),
        ]
    }

    /// Returns the values of the template parameters.
    #[must_use]
    pub fn template_values(&self) -> BTreeMap<String, ParameterValues> {
        let with = self.with.iter().flatten();
        with.map(|(name, value)| (name.clone(), value.to_values())).collect()
    }
}
