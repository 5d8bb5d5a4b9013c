//! The commands in groups by what people want to do, for `ralph help`. Plumbing is not listed there.
use std::fmt::Write;

/// A command with its line in the list.
pub struct GroupedCommand {
    pub name: &'static str,
    /// The names that people may type instead.
    pub aliases: &'static str,
    pub summary: &'static str,
}

/// A group of commands.
pub struct CommandGroup {
    pub title: &'static str,
    pub commands: &'static [GroupedCommand],
}

const fn command(name: &'static str, summary: &'static str) -> GroupedCommand {
    GroupedCommand { name, aliases: "", summary }
}

const fn command_with_aliases(name: &'static str, aliases: &'static str, summary: &'static str) -> GroupedCommand {
    GroupedCommand { name, aliases, summary }
}

/// All commands that the help lists.
pub const COMMAND_GROUPS: &[CommandGroup] = &[
    CommandGroup {
        title: "Run",
        commands: &[
            command("run", "run an agent until it claims completion and the checks pass"),
            command("plan", "create the implementation plan: run prompts/plan.md"),
            command("build", "implement the plan: run prompts/build.md"),
            command("prompt", "run your own prompt file"),
            command("resume", "continue a run that was paused or interrupted"),
            command("demo", "show a run with a scripted agent; needs no account"),
        ],
    },
    CommandGroup {
        title: "Tasks",
        commands: &[
            command("task", "create, import, list, edit and approve tasks"),
            command("work", "run every ready task through its stages"),
            command_with_aliases("land", "merge", "merge finished work into your branch"),
            command("retry", "make a blocked, cancelled or failed task ready again"),
            command("rewind", "reset the work tree of a task to an earlier attempt"),
        ],
    },
    CommandGroup {
        title: "Workflows",
        commands: &[command("workflow", "run, list, show, check and draw workflows; answer their questions")],
    },
    CommandGroup {
        title: "Look",
        commands: &[
            command_with_aliases("status", "ps", "active loops and what they do"),
            command("board", "everything on one screen, with keys to steer it"),
            command("inbox", "everything that waits for you, with the command that answers"),
            command("runs", "list the runs"),
            command("show", "outcome, iterations, claims and verdicts of a run"),
            command("why", "the rule that decided on a run or task, and its evidence"),
            command("report", "a file about a run or task to share: HTML or Markdown"),
            command("serve", "the dashboard in a browser, the API and conversations over HTTP"),
            command_with_aliases("logs", "log", "what the agent said and did"),
            command("diff", "the file changes of a run"),
            command("verify", "repeat the checks of a completed run"),
            command("attach", "follow a run to its end"),
            command("stats", "success, cost, tokens and time of runs"),
            command("events", "the journal of a run as JSON lines"),
        ],
    },
    CommandGroup {
        title: "Control",
        commands: &[
            command("pause", "pause a loop"),
            command_with_aliases("cancel", "stop, kill", "end a loop"),
            command("guide", "add guidance to the next prompt of a loop"),
            command("limit", "change the limits of a running loop"),
            command("accept", "accept a claim that waits for your decision"),
            command("reject", "reject a claim that waits for your decision"),
            command("undo", "restore the files that a run changed"),
        ],
    },
    CommandGroup {
        title: "Set up",
        commands: &[
            command("init", "prepare this project for `ralph plan` and `ralph build`"),
            command("install", "use ralph inside the sessions of your agent"),
            command("uninstall", "remove ralph from the sessions of an agent"),
            command("agents", "list the supported agents"),
            command("doctor", "check that agents and this machine are ready"),
            command("trust", "approve the commands in this project's configuration"),
            command("notify", "list and test the targets of notifications"),
            command("config", "show the configuration and what can be set"),
            command("templates", "list ready-made checks"),
            command("gc", "remove old logs and merged work trees"),
            command("completions", "print the completion script for your shell"),
            command("man", "print a man page"),
            command("help", "the help of a command, or a page of the guide"),
        ],
    },
];

/// Commands for scripts and for the programs that ralph works with.
pub const PLUMBING: &[GroupedCommand] = &[
    command("loop", "start, cancel and show loops inside agent sessions"),
    command("hook", "answer one hook event of an agent session"),
    command("mcp", "serve tools to agents over the Model Context Protocol"),
    command("detect", "check whether output of an agent claims completion"),
    command("export", "print a run as JSON lines"),
    command("import", "import a run that `ralph export` wrote"),
    command("backup", "copy the database of this project to a file"),
];

/// Returns the template of the main help, with the commands in groups.
pub fn grouped_help_template() -> String {
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for group in COMMAND_GROUPS {
        let _ = writeln!(text, "{}:", group.title);
        group.commands.iter().for_each(|command| write_command(&mut text, command));
        text.push('\n');
    }
    text.push_str("Commands for scripts: ralph help plumbing\n\nOptions:\n{options}{after-help}");
    text
}

/// Returns the list of the plumbing commands.
pub fn format_plumbing() -> String {
    let mut text = String::from("Commands for scripts and for the programs that ralph works with:\n");
    PLUMBING.iter().for_each(|command| write_command(&mut text, command));
    text
}

fn write_command(text: &mut String, command: &GroupedCommand) {
    let aliases = if command.aliases.is_empty() { String::new() } else { format!(" (or: {})", command.aliases) };
    let _ = writeln!(text, "  {:<12} {}{aliases}", command.name, command.summary);
}
