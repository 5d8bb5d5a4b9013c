//! What an agent is asked to do, and how it is started for that.
use super::grant::{Grants, Permission};
use super::registry::Program;

/// Variables by which coding agents notice that they run inside one another. A nested agent that sees them
/// joins the outer session, refuses to start or believes itself sandboxed. Logins are not among them.
const NESTED_SESSION: &[&str] = &[
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
const SESSION_SHELL: &[&str] =
    &["CLAUDECODE", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID", "GEMINI_CLI", "OPENCODE", "QWEN_CODE"];

/// Tells whether an agent has started us in a session of its own.
#[must_use]
pub fn is_session_shell(is_set: impl Fn(&str) -> bool) -> bool {
    SESSION_SHELL.iter().any(|name| is_set(name))
}

/// One start of an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Job<'a> {
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    /// Added behind all other arguments.
    pub extra_args: &'a [String],
    /// The agent's own session to resume.
    pub session: Option<&'a str>,
    /// The id for a new session, where the agent takes one ([`Sessions::Chosen`](super::Sessions)) and none is
    /// resumed: a UUID of version 4 that was never used, for every start another.
    pub new_session: Option<&'a str>,
    /// What the agent may do unasked. `None` leaves it to the preset.
    pub permission: Option<Permission>,
    /// The program to start instead of the preset's.
    pub program: Option<&'a str>,
    /// Arguments in place of the preset's.
    pub args: Option<&'a [String]>,
    /// A file where the agent may leave what it has used, where it tells that nowhere else
    /// ([`Agent::writes_usage`](super::Agent::writes_usage)).
    pub usage_file: Option<&'a str>,
    /// Variables from the user. They win over the adapter's own.
    pub env: &'a [(String, String)],
}

/// How to start the process. First take `env_remove` out of our own environment, then set `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub env_remove: Vec<String>,
    pub stdin: StdinText,
}

/// The prompt. It goes by standard input, never by the command line, where every user of the machine reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdinText(pub String);

impl Job<'_> {
    /// Begins an invocation: the program, the preset's arguments unless the user gave others, the prompt.
    pub(super) fn start(&self, program: Program, preset_args: &[&str]) -> Invocation {
        let args = match self.args {
            Some(args) => args.to_vec(),
            None => preset_args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        Invocation {
            program: self.program.unwrap_or(program.name()).to_owned(),
            args,
            env: Vec::new(),
            env_remove: NESTED_SESSION.iter().map(|&name| name.to_owned()).collect(),
            stdin: StdinText(self.prompt.to_owned()),
        }
    }
}

impl Invocation {
    /// Adds what gives the agent its permission. Arguments of the user's own are taken to give one too, unless he
    /// asks for another.
    pub(super) fn granted(mut self, job: &Job<'_>, grants: &Grants) -> Self {
        let is_own = job.args.is_some() && job.permission.is_none();
        if let Some(grant) = grants.grant(job.permission).filter(|_| !is_own) {
            self.args.extend(grant.flags.iter().map(|&flag| flag.to_owned()));
            self.env.extend(grant.env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        }
        self
    }

    /// Adds a flag and its value.
    pub(super) fn flag(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.args.extend([name.to_owned(), value.to_owned()]);
        }
        self
    }

    /// Adds the session to resume, or else the id for a new one.
    pub(super) fn session(self, resume: &str, begin: &str, job: &Job<'_>) -> Self {
        match job.session {
            Some(session) => self.flag(resume, Some(session)),
            None => self.flag(begin, job.new_session),
        }
    }

    /// Ends an invocation: the adapter's variables, then whatever the user added.
    pub(super) fn finished_by(mut self, job: &Job<'_>, env: &[(&str, &str)]) -> Self {
        self.args.extend_from_slice(job.extra_args);
        self.env.extend(env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        self.env.extend_from_slice(job.env);
        self
    }
}
