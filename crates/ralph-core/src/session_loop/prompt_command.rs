//! A prompt of the user's that is meant for ralph: `/ralph "task" …`, `/cancel-ralph`, `/ralph-status`. Only the very
//! beginning of a prompt is looked at: what somebody pastes into the middle of one starts nothing.

/// What the user asks of ralph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptCommand<'a> {
    /// Begin a loop, with these words behind the command.
    Start {
        arguments: &'a str,
    },
    Cancel,
    Status,
}

/// Opens and closes what a slash command's own text hands over, where a host expands commands before its hooks see them.
const COMMAND_OPEN_PREFIX: &str = "<ralph-command name=\"";
const COMMAND_OPEN_SUFFIX: &str = "\">";
const COMMAND_CLOSE_TAG: &str = "</ralph-command>";

/// Returns what a prompt asks of ralph, if anything.
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

/// Hosts have different marks before the name of a command, and put a plugin's or a folder's name before it.
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
