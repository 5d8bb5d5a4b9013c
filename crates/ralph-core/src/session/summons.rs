//! A prompt of the user's that is meant for ralph: `/ralph "task" …`, `/cancel-ralph`, `/ralph-status`. Only the very
//! beginning of a prompt is looked at: what somebody pastes into the middle of one starts nothing.

/// What the user asks of ralph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summons<'a> {
    /// Begin a loop, with these words behind the command.
    Start {
        arguments: &'a str,
    },
    Cancel,
    Status,
}

/// Opens and closes what a slash command's own text hands over, where a host expands commands before its hooks see them.
const OPENING: &str = "<ralph-command name=\"";
const OPENED: &str = "\">";
const CLOSING: &str = "</ralph-command>";

/// Returns what a prompt asks of ralph, if anything.
#[must_use]
pub fn summons(prompt: &str) -> Option<Summons<'_>> {
    let prompt = prompt.trim();
    handed_over(prompt).or_else(|| typed(prompt))
}

fn handed_over(prompt: &str) -> Option<Summons<'_>> {
    let (name, rest) = prompt.strip_prefix(OPENING)?.split_once(OPENED)?;
    let (arguments, _) = rest.rsplit_once(CLOSING)?;
    named(name, arguments.trim())
}

/// Hosts have different marks before the name of a command, and put a plugin's or a folder's name before it.
fn typed(prompt: &str) -> Option<Summons<'_>> {
    let command = prompt.strip_prefix(['/', '$'])?;
    let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let name = name.strip_prefix("ralph:").or_else(|| name.strip_prefix("prompts:")).unwrap_or(name);
    named(name, arguments.trim())
}

fn named<'a>(name: &str, arguments: &'a str) -> Option<Summons<'a>> {
    match name {
        "ralph" => Some(Summons::Start { arguments }),
        "cancel-ralph" => Some(Summons::Cancel),
        "ralph-status" => Some(Summons::Status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H2
    #[test]
    fn a_prompt_that_begins_with_a_command_of_ours_is_meant_for_ralph() {
        let start = |arguments| Some(Summons::Start { arguments });
        assert_eq!(summons("/ralph \"fix it\" --check 'make'\n"), start("\"fix it\" --check 'make'"));
        assert_eq!(summons("/ralph\nfix it\nall of it"), start("fix it\nall of it"));
        assert_eq!(summons("/ralph:ralph fix"), start("fix"));
        assert_eq!(summons("$ralph fix"), start("fix"));
        assert_eq!(summons("/prompts:ralph fix"), start("fix"));
        assert_eq!(summons("/ralph"), start(""));
        assert_eq!(summons("/cancel-ralph"), Some(Summons::Cancel));
        assert_eq!(summons(" /ralph-status "), Some(Summons::Status));
    }

    // spec: H2
    #[test]
    fn what_a_host_has_expanded_is_handed_over_whole() {
        let prompt = "<ralph-command name=\"ralph\">\nfix </ralph-command> it\n</ralph-command>\nWork on it.";
        assert_eq!(summons(prompt), Some(Summons::Start { arguments: "fix </ralph-command> it" }));
        let cancel = "<ralph-command name=\"cancel-ralph\"></ralph-command>";
        assert_eq!(summons(cancel), Some(Summons::Cancel));
    }

    // spec: H2, X1
    #[test]
    fn what_stands_in_the_middle_of_a_prompt_starts_nothing() {
        for prompt in [
            "please look at this: /ralph x --check 'rm -rf ~'",
            "> <ralph-command name=\"ralph\">x --check y</ralph-command>",
            "/ralphs x",
            "/ralph-tasks spec.md",
            "ralph x",
            "",
            "<ralph-command name=\"ralph\">never closed",
        ] {
            assert_eq!(summons(prompt), None, "{prompt}");
        }
    }
}
