//! An agent with the user's settings for it, and how its process is started.
use ralph_agents::{
    Agent, AgentPreset, AgentProgram, FilterError, JqFilter, LaunchBlocker, LaunchEnvironment, LaunchRequest,
    OutputFormat, PermissionLevel, PresetOverrides, SessionSupport, WorkScope,
};
use ralph_process::JobSpec;

use crate::run_driver::attempt::attempt_io::SessionRequest;

/// An agent with the user's settings for it.
pub struct AgentChoice {
    /// The name in the configuration.
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub overrides: PresetOverrides,
    pub model: Option<String>,
    /// The permission level, if the user has set one or the run has its own default.
    pub permission: Option<PermissionLevel>,
    /// The scope of permission `work` in the run.
    pub work_scope: Option<WorkScope>,
    pub extra_args: Vec<String>,
    /// Environment variables, which override those of the adapter.
    pub env: Vec<(String, String)>,
}

/// How an agent process is started.
pub struct AgentJob {
    pub spec: JobSpec,
    /// The text for its stdin.
    pub stdin: String,
}

impl AgentChoice {
    #[must_use]
    pub fn preset(&self) -> AgentPreset {
        self.adapter.preset().overridden_by(&self.overrides)
    }

    #[must_use]
    pub fn output_format(&self) -> OutputFormat {
        self.preset().output_format
    }

    /// Describes what the agent may do: a sentence without its subject.
    #[must_use]
    pub fn describe_permissions(&self) -> &'static str {
        let grants = self.adapter.grants();
        let is_set_by_args = self.overrides.args.is_some() && self.permission.is_none();
        match self.adapter.program() {
            AgentProgram::OnPath(_) if is_set_by_args => "may do what its own arguments allow",
            // ralph answers permission requests in the conversation, whatever the arguments are.
            AgentProgram::OnPath(_) | AgentProgram::UserProvided | AgentProgram::OwnBinary => {
                let files = self.work_scope.as_ref().map(WorkScope::files).unwrap_or_default();
                grants.describe_grant(self.permission, files)
            }
        }
    }

    /// Returns a problem that is certain to prevent the start. Some agents would hang, or fail without a reason.
    #[must_use]
    pub fn preflight_problem(&self, is_root: bool) -> Option<LaunchBlocker> {
        let is_set = |name: &str| match self.env.iter().rfind(|(set, _)| set == name) {
            Some((_, value)) => !value.is_empty(),
            None => std::env::var_os(name).is_some_and(|value| !value.is_empty()),
        };
        let job = LaunchRequest {
            permission: self.permission,
            args_override: self.overrides.args.as_deref(),
            ..LaunchRequest::default()
        };
        self.adapter.launch_blocker(&job, &LaunchEnvironment { is_root, has_variable: &is_set })
    }

    /// Returns the session to start with: the one to resume, or a new id if the agent accepts one.
    #[must_use]
    pub fn session_request(&self, resume_id: Option<String>) -> SessionRequest {
        let session_mode = self.adapter.session_support();
        let is_new = resume_id.is_none() && session_mode == SessionSupport::CallerAssignedId;
        SessionRequest { session_mode, resume_id, new_id: is_new.then(|| uuid::Uuid::new_v4().to_string()) }
    }

    /// Returns the response filter, if the user has set one. Fails if it cannot be compiled.
    pub fn response_filter(&self) -> Result<Option<String>, FilterError> {
        validate_filter(self.preset().response_filter)
    }

    /// Returns the display filter, if the user has set one. Fails if it cannot be compiled.
    pub fn display_filter(&self) -> Result<Option<String>, FilterError> {
        validate_filter(self.preset().display_filter)
    }
}

/// Refuses a filter that cannot be compiled. The filter process compiles it again.
fn validate_filter(source: Option<String>) -> Result<Option<String>, FilterError> {
    source.map(|source| JqFilter::compile(&source).map(|_| source)).transpose()
}
