//! Programs that speak the Agent Client Protocol, as data: `--agent kimi` is `--agent acp` with this program and these
//! arguments. Those with a tested version are run by the tests; the facts about the others are from their documentation.
use super::launch::PERMISSION_GRANTS;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

/// An ACP program with its own name.
pub(crate) struct AcpPresetAgent(AgentSpec);

/// The known facts about an ACP program.
struct AcpPreset {
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    npm_package: Option<&'static str>,
    tested_version: Option<&'static str>,
    install: &'static str,
    login_hint: &'static str,
    login_variables: &'static [&'static str],
    login_files: &'static [&'static str],
}

impl AcpPresetAgent {
    const fn new(preset: &AcpPreset) -> Self {
        let profile = AgentProfile {
            npm_package: preset.npm_package,
            tested_version: preset.tested_version,
            install: InstallMethod::from_command(preset.install),
            login_hint: preset.login_hint,
            login_variables: preset.login_variables,
            login_files: preset.login_files,
            login_file_members: &[],
            reports_cost: false,
        };
        Self(AgentSpec {
            name: preset.name,
            program: AgentProgram::OnPath(preset.program),
            output_format: OutputFormat::Acp,
            default_args: preset.args,
            grants: PERMISSION_GRANTS,
            session_support: SessionSupport::AgentAssignedId,
            profile,
        })
    }
}

impl Agent for &'static AcpPresetAgent {
    fn spec(&self) -> &'static AgentSpec {
        &self.0
    }

    /// Model, session and permission are set in the conversation, not on the command line.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let spec = self.spec();
        request.base_invocation(spec.program, spec.default_args).with_user_additions(request, &[])
    }
}

pub(crate) static KIMI: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "kimi",
    program: "kimi",
    args: &["acp"],
    npm_package: None,
    tested_version: None,
    install: "uv tool install kimi-cli",
    login_hint: "run `kimi login`",
    login_variables: &["KIMI_API_KEY"],
    login_files: &["~/.kimi/credentials"],
});

pub(crate) static VIBE: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "vibe",
    program: "vibe-acp",
    args: &[],
    npm_package: None,
    tested_version: None,
    install: "uv tool install mistral-vibe",
    login_hint: "run `vibe --setup`, or set MISTRAL_API_KEY",
    login_variables: &["MISTRAL_API_KEY"],
    login_files: &["~/.vibe/.env"],
});

pub(crate) static KIRO: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "kiro",
    program: "kiro-cli",
    args: &["acp"],
    npm_package: None,
    tested_version: None,
    install: "curl -fsSL https://cli.kiro.dev/install | bash",
    login_hint: "run `kiro-cli login`",
    login_variables: &["KIRO_API_KEY"],
    login_files: &[],
});

pub(crate) static CURSOR_AGENT: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "cursor-agent",
    program: "cursor-agent",
    args: &["acp"],
    npm_package: None,
    tested_version: None,
    install: "curl https://cursor.com/install -fsS | bash",
    login_hint: "run `cursor-agent login`, or set CURSOR_API_KEY",
    login_variables: &["CURSOR_API_KEY"],
    login_files: &[],
});

pub(crate) static AUGGIE: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "auggie",
    program: "auggie",
    args: &["--acp"],
    npm_package: Some("@augmentcode/auggie"),
    tested_version: None,
    install: "npm install -g @augmentcode/auggie",
    login_hint: "run `auggie login`, or set AUGMENT_SESSION_AUTH",
    login_variables: &["AUGMENT_SESSION_AUTH"],
    login_files: &["~/.augment/session.json"],
});

pub(crate) static DROID: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "droid",
    program: "droid",
    args: &["exec", "--output-format", "acp"],
    npm_package: Some("@factory/cli"),
    tested_version: None,
    install: "npm install -g @factory/cli",
    login_hint: "run `droid` once and log in, or set FACTORY_API_KEY",
    login_variables: &["FACTORY_API_KEY"],
    login_files: &[],
});

pub(crate) static CLAUDE_AGENT_ACP: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "claude-agent-acp",
    program: "claude-agent-acp",
    args: &[],
    npm_package: Some("@agentclientprotocol/claude-agent-acp"),
    tested_version: Some("0.100.0"),
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
    login_hint: "run `claude` once and log in, or set ANTHROPIC_API_KEY",
    login_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    login_files: &["~/.claude/.credentials.json", "$CLAUDE_CONFIG_DIR/.credentials.json"],
});

pub(crate) static CODEX_ACP: AcpPresetAgent = AcpPresetAgent::new(&AcpPreset {
    name: "codex-acp",
    program: "codex-acp",
    args: &[],
    npm_package: Some("@agentclientprotocol/codex-acp"),
    tested_version: Some("2.6.0"),
    install: "npm install -g @agentclientprotocol/codex-acp",
    login_hint: "run `codex login`, or set OPENAI_API_KEY",
    login_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    login_files: &["~/.codex/auth.json", "$CODEX_HOME/auth.json"],
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_agent;

    // finding: N75
    // spec: A1
    #[test]
    fn a_preset_starts_its_program_in_acp_mode() {
        let table = [
            ("kimi", "kimi acp"),
            ("vibe", "vibe-acp"),
            ("kiro", "kiro-cli acp"),
            ("cursor-agent", "cursor-agent acp"),
            ("auggie", "auggie --acp"),
            ("droid", "droid exec --output-format acp"),
            ("claude-agent-acp", "claude-agent-acp"),
            ("codex-acp", "codex-acp"),
        ];
        for (name, command) in table {
            let agent = find_agent(name).unwrap();
            let request = LaunchRequest { model: Some("m"), resume_session: Some("s"), ..LaunchRequest::default() };
            let invocation = agent.build_invocation(&request);
            let started = [&[invocation.program], invocation.args.as_slice()].concat().join(" ");
            assert_eq!(started, command);
            assert!(agent.output_format().is_conversation());
        }
    }
}
