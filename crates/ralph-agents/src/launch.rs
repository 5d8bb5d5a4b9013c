//! What an agent is asked to do, and how it is started for that.
use super::permission::{PermissionGrants, PermissionLevel};
use super::registry::AgentProgram;

/// Variables by which coding agents notice that they run inside one another. A nested agent that sees them
/// joins the outer session, refuses to start or believes itself sandboxed. Logins are not among them.
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

/// Variables that every command has which an agent runs in a session of its own. A person at a terminal has none of them.
const SESSION_SHELL_VARIABLES: &[&str] =
    &["CLAUDECODE", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID", "GEMINI_CLI", "OPENCODE", "QWEN_CODE"];

/// Tells whether an agent has started us in a session of its own.
#[must_use]
pub fn is_inside_agent_session(is_set: impl Fn(&str) -> bool) -> bool {
    SESSION_SHELL_VARIABLES.iter().any(|name| is_set(name))
}

/// One start of an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct LaunchRequest<'a> {
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    /// Added behind all other arguments.
    pub extra_args: &'a [String],
    /// The agent's own session to resume.
    pub resume_session: Option<&'a str>,
    /// The id for a new session, where the agent takes one ([`Sessions::Chosen`](super::Sessions)) and none is
    /// resumed: a UUID of version 4 that was never used, for every start another.
    pub new_session_id: Option<&'a str>,
    /// What the agent may do unasked. `None` leaves it to the preset.
    pub permission: Option<PermissionLevel>,
    /// The program to start instead of the preset's.
    pub program_override: Option<&'a str>,
    /// Arguments in place of the preset's.
    pub args_override: Option<&'a [String]>,
    /// A file where the agent may leave what it has used, where it tells that nowhere else
    /// ([`Agent::writes_usage`](super::Agent::writes_usage)).
    pub usage_file: Option<&'a str>,
    /// Variables from the user. They win over the adapter's own.
    pub env: &'a [(String, String)],
}

/// How to start the process. First take `env_remove` out of our own environment, then set `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInvocation {
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub env_remove: Vec<String>,
    pub stdin: StdinText,
}

/// The prompt. It goes by standard input, never by the command line, where every user of the machine reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdinText(pub String);

impl LaunchRequest<'_> {
    /// Begins an invocation: the program, the preset's arguments unless the user gave others, the prompt.
    pub(super) fn base_invocation(&self, program: AgentProgram, preset_args: &[&str]) -> AgentInvocation {
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
    /// Adds what gives the agent its permission. Arguments of the user's own are taken to give one too, unless he
    /// asks for another.
    pub(super) fn with_permission(mut self, request: &LaunchRequest<'_>, grants: &PermissionGrants) -> Self {
        let is_own = request.args_override.is_some() && request.permission.is_none();
        if let Some(grant) = grants.effective_grant(request.permission).filter(|_| !is_own) {
            self.args.extend(grant.flags.iter().map(|&flag| flag.to_owned()));
            self.env.extend(grant.env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        }
        self
    }

    /// Adds a flag and its value.
    pub(super) fn with_flag(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.args.extend([name.to_owned(), value.to_owned()]);
        }
        self
    }

    /// Adds the session to resume, or else the id for a new one.
    pub(super) fn with_session(self, resume: &str, begin: &str, request: &LaunchRequest<'_>) -> Self {
        match request.resume_session {
            Some(session) => self.with_flag(resume, Some(session)),
            None => self.with_flag(begin, request.new_session_id),
        }
    }

    /// Ends an invocation: the adapter's variables, then whatever the user added.
    pub(super) fn with_user_additions(mut self, request: &LaunchRequest<'_>, env: &[(&str, &str)]) -> Self {
        self.args.extend_from_slice(request.extra_args);
        self.env.extend(env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        self.env.extend_from_slice(request.env);
        self
    }
}
