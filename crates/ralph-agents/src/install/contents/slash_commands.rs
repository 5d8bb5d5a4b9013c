//! The slash commands, with the same text for every host. Each host has its own file format for commands.
use ralph_core::task::session_generation_prompt;

const RALPH_TEMPLATE: &str = include_str!("texts/ralph.md");
const CANCEL_TEMPLATE: &str = include_str!("texts/cancel-ralph.md");
const STATUS_TEMPLATE: &str = include_str!("texts/ralph-status.md");

pub(crate) struct SlashCommand {
    pub(crate) name: &'static str,
    /// One line, for the list of commands.
    pub(crate) description: &'static str,
    /// The arguments of the command, for display.
    pub(crate) argument_hint: &'static str,
    template: fn(&str) -> String,
}

pub(crate) const SLASH_COMMANDS: &[SlashCommand] = &[
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
        description: "Show the progress of the loop in this session",
        argument_hint: "",
        template: |ralph| insert_program(STATUS_TEMPLATE, ralph),
    },
    SlashCommand {
        name: "ralph-tasks",
        description: "Create ralph tasks from a spec file",
        argument_hint: "SPEC-FILE [ADVICE]",
        template: |ralph| session_generation_prompt(ARGUMENTS_PLACEHOLDER, ralph),
    },
];

/// Placeholder for the user's arguments. Each host replaces it with its own placeholder.
const ARGUMENTS_PLACEHOLDER: &str = "{{arguments}}";

fn insert_program(text: &str, ralph: &str) -> String {
    text.replace("{{ralph}}", ralph)
}

impl SlashCommand {
    /// Returns the prompt of the command. `ralph` is the command that calls ralph, `arguments` the host's placeholder.
    pub(crate) fn render_text(&self, ralph: &str, arguments: &str) -> String {
        (self.template)(ralph).replace(ARGUMENTS_PLACEHOLDER, arguments)
    }

    /// Returns the command as a Markdown file with front matter.
    pub(crate) fn render_markdown(&self, ralph: &str, arguments: &str, front_matter: &[(&str, &str)]) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let lines = front_matter.iter().map(|(key, value)| match *value {
            "true" | "false" => format!("{key}: {value}\n"),
            value => format!("{key}: {}\n", quoted(value)),
        });
        format!("---\n{}---\n{}", lines.collect::<String>(), self.render_text(ralph, arguments))
    }

    /// Returns the command as a skill, for hosts without slash commands. The user calls it as `prefix` and its name.
    pub(crate) fn render_skill(&self, ralph: &str, prefix: char) -> String {
        let Self { name, description, .. } = self;
        let description = format!("{description}. Use only when the user writes {prefix}{name}.");
        let arguments = format!("(what the user wrote after {prefix}{name})");
        self.render_markdown(ralph, &arguments, &[("name", name), ("description", &description)])
    }
}
