//! The input for starting an agent ([`LaunchRequest`]) and the resulting process invocation ([`AgentInvocation`]).
use crate::launch::permission::{PermissionGrants, PermissionLevel};
use crate::launch::work_scope::WorkScope;
use crate::registry::AgentProgram;

/// Variables by which coding agents detect that they run inside another agent. A nested agent that sees them joins the
/// outer session, refuses to start, or assumes that it is sandboxed. None of them is a login.
const NESTED_SESSION_VARIABLES: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "OPENCODE_PID",
    "QWEN_CODE",
];

/// Variables that agents set for the commands they run in a session. They are not set in a user's terminal.
const SESSION_SHELL_VARIABLES: &[&str] =
    &["CLAUDECODE", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID", "GEMINI_CLI", "OPENCODE", "QWEN_CODE"];

/// Returns whether ralph was started by an agent inside a session.
#[must_use]
pub fn is_inside_agent_session(is_set: impl Fn(&str) -> bool) -> bool {
    SESSION_SHELL_VARIABLES.iter().any(|name| is_set(name))
}

/// A variable of [`SESSION_SHELL_VARIABLES`], or the one beside it that has the id of the session.
struct SessionVariable {
    host: &'static str,
    variable: &'static str,
    has_session_id: bool,
}

const SESSION_MARKS: &[SessionVariable] = &[
    SessionVariable { host: "claude", variable: "CLAUDE_CODE_SESSION_ID", has_session_id: true },
    SessionVariable { host: "codex", variable: "CODEX_THREAD_ID", has_session_id: true },
    SessionVariable { host: "copilot", variable: "COPILOT_AGENT_SESSION_ID", has_session_id: true },
    SessionVariable { host: "gemini", variable: "GEMINI_CLI", has_session_id: false },
    SessionVariable { host: "opencode", variable: "OPENCODE", has_session_id: false },
    SessionVariable { host: "qwen", variable: "QWEN_CODE", has_session_id: false },
];

/// Returns whether a process with these variables was started by the agent of this session. A program that does not
/// pass on the id of the session is recognized by its own variable alone.
#[must_use]
pub fn belongs_to_session(
    host: Option<&str>,
    session_id: &str,
    variable: impl Fn(&str) -> Option<std::ffi::OsString>,
) -> bool {
    SESSION_MARKS.iter().filter(|mark| host.is_none_or(|host| host == mark.host)).any(|mark| {
        variable(mark.variable)
            .is_some_and(|value| !mark.has_session_id || value.as_encoded_bytes() == session_id.as_bytes())
    })
}

/// The input for one start of an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct LaunchRequest<'a> {
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    /// Appended to all other arguments.
    pub extra_args: &'a [String],
    /// The session to resume.
    pub resume_session: Option<&'a str>,
    /// The id for a new session, if the agent accepts one ([`SessionSupport::CallerAssignedId`]) and no session is
    /// resumed: a fresh version 4 UUID for every start.
    ///
    /// [`SessionSupport::CallerAssignedId`]: crate::SessionSupport::CallerAssignedId
    pub new_session_id: Option<&'a str>,
    /// The requested permission level. `None` uses the preset.
    pub permission: Option<PermissionLevel>,
    /// The scope of permission `work`. `None` allows no command.
    pub work_scope: Option<&'a WorkScope>,
    /// Replaces the preset's program.
    pub program_override: Option<&'a str>,
    /// Replaces the preset's arguments.
    pub args_override: Option<&'a [String]>,
    /// A file to which the agent can write its token usage, if its output does not contain it
    /// ([`Agent::writes_usage_file`](crate::Agent::writes_usage_file)).
    pub usage_file: Option<&'a str>,
    /// Variables set by the user. They take precedence over the adapter's variables.
    pub env: &'a [(String, String)],
}

/// How to start the process. Remove `env_remove` from the inherited environment first, then set `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInvocation {
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub env_remove: Vec<String>,
    pub stdin: StdinText,
}

/// The prompt. It is passed on stdin, never on the command line, which every user of the machine can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdinText(pub String);

impl LaunchRequest<'_> {
    /// Creates an invocation with the program, the preset's or the user's arguments, and the prompt.
    pub(crate) fn base_invocation(&self, program: AgentProgram, preset_args: &[&str]) -> AgentInvocation {
        let args = match self.args_override {
            Some(args) => args.to_vec(),
            None => preset_args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        AgentInvocation {
            program: self.program_override.unwrap_or(program.name()).to_owned(),
            args,
            env: Vec::new(),
            env_remove: NESTED_SESSION_VARIABLES.iter().map(|&name| name.to_owned()).collect(),
            stdin: StdinText(self.prompt.to_owned()),
        }
    }
}

impl AgentInvocation {
    /// Adds the flags and variables that grant the permission. Arguments that replace the preset are assumed to define
    /// the permission, unless the user also requests one.
    pub(crate) fn with_permission(mut self, request: &LaunchRequest<'_>, grants: &PermissionGrants) -> Self {
        let is_user_defined = request.args_override.is_some() && request.permission.is_none();
        if !is_user_defined {
            let no_commands = WorkScope::default();
            let args = grants.grant_args(request.permission, request.work_scope.unwrap_or(&no_commands));
            self.args.extend(args.flags);
            self.env.extend(args.env);
        }
        self
    }

    /// Adds a flag with a value, if there is a value.
    pub(crate) fn with_flag(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.args.extend([name.to_owned(), value.to_owned()]);
        }
        self
    }

    /// Adds the session to resume, or otherwise the id for a new session.
    pub(crate) fn with_session(self, resume_flag: &str, new_flag: &str, request: &LaunchRequest<'_>) -> Self {
        match request.resume_session {
            Some(session) => self.with_flag(resume_flag, Some(session)),
            None => self.with_flag(new_flag, request.new_session_id),
        }
    }

    /// Adds the adapter's variables, then the user's arguments and variables.
    pub(crate) fn with_user_additions(mut self, request: &LaunchRequest<'_>, env: &[(&str, &str)]) -> Self {
        self.args.extend_from_slice(request.extra_args);
        self.env.extend(env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        self.env.extend_from_slice(request.env);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::belongs_to_session;

    // finding: N17
    #[test]
    fn a_process_belongs_to_a_session_by_its_id_or_by_a_program_that_passes_no_id_on() {
        let with = |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.into());
        assert!(belongs_to_session(Some("claude"), "s1", with("CLAUDE_CODE_SESSION_ID", "s1")));
        assert!(!belongs_to_session(Some("claude"), "s1", with("CLAUDE_CODE_SESSION_ID", "s2")));
        assert!(!belongs_to_session(Some("claude"), "s1", with("OPENCODE", "1")));
        assert!(belongs_to_session(Some("opencode"), "s1", with("OPENCODE", "1")));
        assert!(belongs_to_session(None, "s1", with("CODEX_THREAD_ID", "s1")));
    }
}
