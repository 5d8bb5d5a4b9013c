//! Hints for problems with the program of an agent.
use ralph_agents::{AgentRemedy, InstallMethod};

pub(super) fn for_install_method(method: InstallMethod) -> String {
    match method {
        InstallMethod::Command { command, requirement } => {
            let requirement = requirement.map(|text| format!(" ({text})")).unwrap_or_default();
            format!("install it with `{command}`{requirement}, or choose another with --agent")
        }
        InstallMethod::UserProgram => "name the program with --agent-cmd PATH".to_owned(),
        InstallMethod::UserProgramWithArgument => {
            "name the program with --agent-cmd PATH, and pass the argument that enables the protocol with --agent-arg"
                .to_owned()
        }
        InstallMethod::BuiltIn => "it is built into ralph".to_owned(),
    }
}

pub(super) fn for_remedy(remedy: &AgentRemedy) -> String {
    match remedy {
        AgentRemedy::Text(text) => text.clone(),
        AgentRemedy::Install(method) => for_install_method(*method),
        AgentRemedy::Grant { level, otherwise } => {
            format!("pass --permission {}; otherwise {otherwise}", level.name())
        }
        AgentRemedy::GrantOrPassArguments { level, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(|argument| format!("--agent-arg={argument}")).collect();
            format!("pass --permission {}, or {}", level.name(), arguments.join(" "))
        }
        AgentRemedy::DoOrGrant { action, level } => format!("{action}, or use --permission {}", level.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_agents::PermissionLevel;

    #[test] // spec: A8
    fn a_remedy_names_the_flags_that_set_it() {
        let level = PermissionLevel::Full;
        let arguments = AgentRemedy::GrantOrPassArguments { level, arguments: &["--add-dir", ".git"] };
        assert_eq!(for_remedy(&arguments), "pass --permission full, or --agent-arg=--add-dir --agent-arg=.git");
        let grant = AgentRemedy::Grant { level, otherwise: "it cannot change anything" };
        assert_eq!(for_remedy(&grant), "pass --permission full; otherwise it cannot change anything");
        let trust = AgentRemedy::DoOrGrant { action: "trust the folder in Gemini", level: PermissionLevel::Edits };
        assert_eq!(for_remedy(&trust), "trust the folder in Gemini, or use --permission edits");
        let method = InstallMethod::Command { command: "npm install -g x", requirement: Some("Node.js 22 or newer") };
        assert_eq!(
            for_remedy(&AgentRemedy::Install(method)),
            "install it with `npm install -g x` (Node.js 22 or newer), or choose another with --agent"
        );
    }
}
