//! The slash commands, in the words that every host gets. Each host has its own way to write a command down.
use ralph_core::task::session_generation_prompt;

const RALPH_TEMPLATE: &str = include_str!("texts/ralph.md");
const CANCEL_TEMPLATE: &str = include_str!("texts/cancel-ralph.md");
const STATUS_TEMPLATE: &str = include_str!("texts/ralph-status.md");

pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    /// One line, for the list of commands.
    pub(super) description: &'static str,
    /// What may stand behind it.
    pub(super) argument_hint: &'static str,
    template: fn(&str) -> String,
}

pub(super) const SLASH_COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        name: "ralph",
        description: "Work in this session until the task is proven done",
        argument_hint: "TASK [--max-iterations=N] [--completion-promise=TEXT] [--check CMD]",
        template: |ralph| insert_program(RALPH_TEMPLATE, ralph),
    },
    SlashCommand {
        name: "cancel-ralph",
        description: "Cancel the loop of this session",
        argument_hint: "",
        template: |ralph| insert_program(CANCEL_TEMPLATE, ralph),
    },
    SlashCommand {
        name: "ralph-status",
        description: "Tell how far the loop of this session is",
        argument_hint: "",
        template: |ralph| insert_program(STATUS_TEMPLATE, ralph),
    },
    SlashCommand {
        name: "ralph-tasks",
        description: "Make tasks for ralph of a spec file",
        argument_hint: "SPEC-FILE [ADVICE]",
        template: |ralph| session_generation_prompt(ARGUMENTS_PLACEHOLDER, ralph),
    },
];

/// Stands in a text where a host puts what the user wrote behind the command.
const ARGUMENTS_PLACEHOLDER: &str = "{{arguments}}";

fn insert_program(text: &str, ralph: &str) -> String {
    text.replace("{{ralph}}", ralph)
}

impl SlashCommand {
    /// Returns what the agent reads, with the words by which ralph is called and the host's own word for the arguments.
    pub(super) fn render_text(&self, ralph: &str, arguments: &str) -> String {
        (self.template)(ralph).replace(ARGUMENTS_PLACEHOLDER, arguments)
    }

    /// Returns a Markdown file with its head.
    pub(super) fn render_markdown(&self, ralph: &str, arguments: &str, front_matter: &[(&str, &str)]) -> String {
        let quoted = |words: &str| serde_json::Value::from(words).to_string();
        let lines = front_matter.iter().map(|(key, value)| match *value {
            "true" | "false" => format!("{key}: {value}\n"),
            value => format!("{key}: {}\n", quoted(value)),
        });
        format!("---\n{}---\n{}", lines.collect::<String>(), self.render_text(ralph, arguments))
    }

    /// Returns a skill, which hosts without commands have instead. `mark` stands before its name when people call it.
    pub(super) fn render_skill(&self, ralph: &str, mark: char) -> String {
        let Self { name, description: about, .. } = self;
        let about = format!("{about}. Only for a user who writes {mark}{name}.");
        let words = format!("what the user wrote behind {mark}{name}");
        self.render_markdown(ralph, &format!("({words})"), &[("name", name), ("description", &about)])
    }
}
