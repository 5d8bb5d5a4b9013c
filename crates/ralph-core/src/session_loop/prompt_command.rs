//! Recognizes prompts that are commands for ralph: `/ralph "task" …`, `/cancel-ralph`, `/ralph-status`. A command must
//! be at the start of the prompt, so that pasted text cannot start a loop.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptCommand<'a> {
    /// Start a loop with the text after the command.
    Start {
        arguments: &'a str,
    },
    Cancel,
    Status,
}

/// The tags around the arguments in hosts that expand a slash command before its hooks see it.
const COMMAND_OPEN_PREFIX: &str = "<ralph-command name=\"";
const COMMAND_OPEN_SUFFIX: &str = "\">";
const COMMAND_CLOSE_TAG: &str = "</ralph-command>";

/// Returns the command in a prompt, if there is one.
#[must_use]
pub fn parse_prompt_command(prompt: &str) -> Option<PromptCommand<'_>> {
    let prompt = prompt.trim();
    parse_expanded_command(prompt).or_else(|| parse_typed_command(prompt))
}

fn parse_expanded_command(prompt: &str) -> Option<PromptCommand<'_>> {
    let (name, rest) = prompt.strip_prefix(COMMAND_OPEN_PREFIX)?.split_once(COMMAND_OPEN_SUFFIX)?;
    let (arguments, _) = rest.rsplit_once(COMMAND_CLOSE_TAG)?;
    command_by_name(name, arguments.trim())
}

/// Hosts use different prefix characters, and some add the name of a plugin or a folder.
fn parse_typed_command(prompt: &str) -> Option<PromptCommand<'_>> {
    let command = prompt.strip_prefix(['/', '$'])?;
    let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let name = name.strip_prefix("ralph:").or_else(|| name.strip_prefix("prompts:")).unwrap_or(name);
    command_by_name(name, arguments.trim())
}

fn command_by_name<'a>(name: &str, arguments: &'a str) -> Option<PromptCommand<'a>> {
    match name {
        "ralph" => Some(PromptCommand::Start { arguments }),
        "cancel-ralph" => Some(PromptCommand::Cancel),
        "ralph-status" => Some(PromptCommand::Status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H2
    #[test]
    fn a_prompt_that_starts_with_a_ralph_command_is_a_prompt_command() {
        let start = |arguments| Some(PromptCommand::Start { arguments });
        assert_eq!(parse_prompt_command("/ralph \"fix it\" --check 'make'\n"), start("\"fix it\" --check 'make'"));
        assert_eq!(parse_prompt_command("/ralph\nfix it\nall of it"), start("fix it\nall of it"));
        assert_eq!(parse_prompt_command("/ralph:ralph fix"), start("fix"));
        assert_eq!(parse_prompt_command("$ralph fix"), start("fix"));
        assert_eq!(parse_prompt_command("/prompts:ralph fix"), start("fix"));
        assert_eq!(parse_prompt_command("/ralph"), start(""));
        assert_eq!(parse_prompt_command("/cancel-ralph"), Some(PromptCommand::Cancel));
        assert_eq!(parse_prompt_command(" /ralph-status "), Some(PromptCommand::Status));
    }

    // spec: H2
    #[test]
    fn a_command_expanded_by_the_host_keeps_its_whole_arguments() {
        let prompt = "<ralph-command name=\"ralph\">\nfix </ralph-command> it\n</ralph-command>\nWork on it.";
        assert_eq!(parse_prompt_command(prompt), Some(PromptCommand::Start { arguments: "fix </ralph-command> it" }));
        let cancel = "<ralph-command name=\"cancel-ralph\"></ralph-command>";
        assert_eq!(parse_prompt_command(cancel), Some(PromptCommand::Cancel));
    }

    // spec: H2, X1
    #[test]
    fn a_command_in_the_middle_of_a_prompt_is_ignored() {
        for prompt in [
            "please look at this: /ralph x --check 'rm -rf ~'",
            "> <ralph-command name=\"ralph\">x --check y</ralph-command>",
            "/ralphs x",
            "/ralph-tasks spec.md",
            "ralph x",
            "",
            "<ralph-command name=\"ralph\">never closed",
        ] {
            assert_eq!(parse_prompt_command(prompt), None, "{prompt}");
        }
    }
}
