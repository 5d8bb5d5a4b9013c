//! The slash commands, in the words that every host gets. Each host has its own way to write a command down.
use ralph_core::task::session_prompt;

const RALPH: &str = include_str!("texts/ralph.md");
const CANCEL: &str = include_str!("texts/cancel-ralph.md");
const STATUS: &str = include_str!("texts/ralph-status.md");

pub(super) struct Command {
    pub(super) name: &'static str,
    /// One line, for the list of commands.
    pub(super) about: &'static str,
    /// What may stand behind it.
    pub(super) hint: &'static str,
    text: fn(&str) -> String,
}

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "ralph",
        about: "Work in this session until the task is proven done",
        hint: "TASK [--max-iterations=N] [--completion-promise=TEXT] [--check CMD]",
        text: |ralph| with_own(RALPH, ralph),
    },
    Command {
        name: "cancel-ralph",
        about: "Cancel the loop of this session",
        hint: "",
        text: |ralph| with_own(CANCEL, ralph),
    },
    Command {
        name: "ralph-status",
        about: "Tell how far the loop of this session is",
        hint: "",
        text: |ralph| with_own(STATUS, ralph),
    },
    Command {
        name: "ralph-tasks",
        about: "Make tasks for ralph of a spec file",
        hint: "SPEC-FILE [ADVICE]",
        text: |ralph| session_prompt(ARGUMENTS, ralph),
    },
];

/// Stands in a text where a host puts what the user wrote behind the command.
const ARGUMENTS: &str = "{{arguments}}";

fn with_own(text: &str, ralph: &str) -> String {
    text.replace("{{ralph}}", ralph)
}

impl Command {
    /// Returns what the agent reads, with the words by which ralph is called and the host's own word for the arguments.
    pub(super) fn text(&self, ralph: &str, arguments: &str) -> String {
        (self.text)(ralph).replace(ARGUMENTS, arguments)
    }

    /// Returns a Markdown file with its head.
    pub(super) fn markdown(&self, ralph: &str, arguments: &str, head: &[(&str, &str)]) -> String {
        let quoted = |words: &str| serde_json::Value::from(words).to_string();
        let lines = head.iter().map(|(key, value)| match *value {
            "true" | "false" => format!("{key}: {value}\n"),
            value => format!("{key}: {}\n", quoted(value)),
        });
        format!("---\n{}---\n{}", lines.collect::<String>(), self.text(ralph, arguments))
    }

    /// Returns a skill, which hosts without commands have instead. `mark` stands before its name when people call it.
    pub(super) fn skill(&self, ralph: &str, mark: char) -> String {
        let Self { name, about, .. } = self;
        let about = format!("{about}. Only for a user who writes {mark}{name}.");
        let words = format!("what the user wrote behind {mark}{name}");
        self.markdown(ralph, &format!("({words})"), &[("name", name), ("description", &about)])
    }
}
