//! The scope of permission `work` in one run: which commands, and whether files may be edited. It prevents accidents; it is
//! not a sandbox, because the commands of a project run code that the agent may have written.
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
#[cfg(test)]
use crate::launch::permission::PermissionLevel;
#[cfg(test)]
use crate::registry::Agent;

/// Programs that run anything: alone, without arguments, they are never allowed.
const OPEN_ENDED_PROGRAMS: &[&str] = &[
    "bash", "bun", "dash", "deno", "env", "eval", "exec", "node", "nohup", "perl", "python", "python3", "ruby", "sh",
    "sudo", "time", "xargs", "zsh",
];

/// Characters that separate rules or their parts in the arguments of agents.
const RULE_SEPARATORS: &[char] = &['(', ')', ',', '\n'];

/// Words that continue or end a construct of the shell.
const SHELL_KEYWORDS: &[&str] =
    &["!", "{", "}", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"];

/// The scope of permission `work` in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkScope {
    /// The commands that the agent may run, each also with more arguments.
    commands: Vec<String>,
    #[serde(default)]
    files: FileAccess,
}

/// Whether the agent may edit the files of the project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileAccess {
    #[default]
    Edit,
    Read,
}

impl WorkScope {
    /// Allows these command lines of a shell: each as a whole, and its simple commands.
    #[must_use]
    pub fn new<'a>(lines: impl IntoIterator<Item = &'a str>, files: FileAccess) -> Self {
        let mut commands = Vec::new();
        let mut allow = |command: &str| {
            let command = command.trim();
            if is_specific(command) && !commands.iter().any(|known| known == command) {
                commands.push(command.to_owned());
            }
        };
        for line in lines {
            allow(line);
            split_command_line(line).iter().for_each(|part| allow(part));
        }
        Self { commands, files }
    }

    #[must_use]
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    #[must_use]
    pub fn files(&self) -> FileAccess {
        self.files
    }

    /// Returns the commands that can be written into a rule of the form `Tool(command)`.
    pub(crate) fn rule_commands(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(String::as_str).filter(|command| !command.contains(RULE_SEPARATORS))
    }

    /// Returns whether each simple command of this line is allowed.
    pub(crate) fn allows_command(&self, line: &str) -> bool {
        let line = line.trim();
        if self.commands.iter().any(|allowed| allowed == line) {
            return true;
        }
        let is_plain = !line.contains("$(") && !line.replace("&&", "").contains(['`', '<', '>', '&']);
        let parts = split_command_line(line);
        let is_allowed = |part: &String| self.commands.iter().any(|allowed| is_call_of(part, allowed));
        is_plain && !parts.is_empty() && parts.iter().all(is_allowed)
    }
}

/// Returns whether a command is this one, perhaps with more arguments.
fn is_call_of(command: &str, allowed: &str) -> bool {
    command.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns whether allowing a command, with any arguments, allows less than everything.
fn is_specific(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command);
    !command.is_empty() && !OPEN_ENDED_PROGRAMS.contains(&name) && !SHELL_KEYWORDS.contains(&command)
}

/// Removes the keywords before a simple command.
fn without_keywords(command: &str) -> &str {
    match command.split_once(' ') {
        Some((first, rest)) if SHELL_KEYWORDS.contains(&first) => without_keywords(rest.trim_start()),
        Some(_) | None => command,
    }
}

/// Splits a command line of a shell into its simple commands, without their redirections. Quoted text is not split.
fn split_command_line(line: &str) -> Vec<String> {
    let mut splitter = CommandSplitter::default();
    let mut chars = line.chars().peekable();
    while let Some(next) = chars.next() {
        match (splitter.quote, next) {
            (Some(quote), _) if next == quote => splitter.close_quote(next),
            (Some(_), _) => splitter.push(next),
            (None, '\'' | '"' | '`') => splitter.open_quote(next),
            (None, '\\') => {
                splitter.push(next);
                chars.next().into_iter().for_each(|escaped| splitter.push(escaped));
            }
            (None, '(') => splitter.open_parenthesis(),
            (None, ')') => splitter.close_parenthesis(),
            (None, '&') if splitter.is_after_redirection => splitter.push(next),
            (None, ';' | '\n' | '|' | '&') => splitter.end_command(),
            (None, '>' | '<') => splitter.begin_redirection(),
            (None, _) => splitter.push(next),
        }
    }
    splitter.end_command();
    splitter.commands
}

#[derive(Debug, Default)]
struct CommandSplitter {
    commands: Vec<String>,
    command: String,
    quote: Option<char>,
    depth: u32,
    /// The rest of the simple command names files, and is skipped.
    is_after_redirection: bool,
}

impl CommandSplitter {
    fn push(&mut self, next: char) {
        if !self.is_after_redirection {
            self.command.push(next);
        }
    }

    fn open_quote(&mut self, quote: char) {
        self.quote = Some(quote);
        self.push(quote);
    }

    fn close_quote(&mut self, quote: char) {
        self.quote = None;
        self.push(quote);
    }

    fn open_parenthesis(&mut self) {
        self.depth += 1;
        self.push('(');
    }

    fn close_parenthesis(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.push(')');
    }

    fn begin_redirection(&mut self) {
        // The number of a file descriptor belongs to the redirection.
        let head = self.command.trim_end_matches(|last: char| last.is_ascii_digit());
        if head.ends_with(' ') && !self.is_after_redirection {
            self.command.truncate(head.len());
        }
        self.is_after_redirection = true;
    }

    fn end_command(&mut self) {
        if self.depth > 0 {
            self.push(';');
            return;
        }
        self.is_after_redirection = false;
        let command = std::mem::take(&mut self.command);
        let simple = without_keywords(command.trim());
        if !simple.is_empty() {
            self.commands.push(simple.to_owned());
        }
    }
}

/// Builds the start of an agent with permission `work` for `make test` and `git commit`.
#[cfg(test)]
pub(crate) fn work_invocation(agent: &dyn Agent, files: FileAccess) -> AgentInvocation {
    let scope = WorkScope::new(["make test", "git commit"], files);
    let permission = Some(PermissionLevel::Work);
    agent.build_invocation(&LaunchRequest { permission, work_scope: Some(&scope), ..LaunchRequest::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(lines: &[&str]) -> Vec<String> {
        WorkScope::new(lines.iter().copied(), FileAccess::Edit).commands
    }

    // spec: A11
    #[test]
    fn a_command_line_is_allowed_as_a_whole_and_by_its_simple_commands() {
        assert_eq!(commands(&["make test"]), ["make test"]);
        assert_eq!(
            commands(&["make build && cargo test --quiet 2>&1 | tail -5; echo 'a; b'"]),
            [
                "make build && cargo test --quiet 2>&1 | tail -5; echo 'a; b'",
                "make build",
                "cargo test --quiet",
                "tail -5",
                "echo 'a; b'"
            ]
        );
        assert_eq!(
            commands(&["if ! grep -q x a.txt > log; then exit 1; fi"]),
            ["if ! grep -q x a.txt > log; then exit 1; fi", "grep -q x a.txt", "exit 1"]
        );
        assert_eq!(commands(&["(cd a; make)"]), ["(cd a; make)"], "a subshell is not split");
    }

    // spec: A11
    #[test]
    fn a_program_that_runs_anything_is_not_allowed_alone() {
        assert_eq!(commands(&["cat check.sh | sh"]), ["cat check.sh | sh", "cat check.sh"]);
        assert_eq!(commands(&["python3", "/usr/bin/env", "bash check.sh"]), ["bash check.sh"]);
        assert!(commands(&["", "  ", "&&"]).iter().all(|command| command == "&&"));
    }

    // spec: A11
    #[test]
    fn a_command_is_allowed_with_more_arguments_and_in_a_chain_of_allowed_ones() {
        let scope = WorkScope::new(["cargo test", "git add", "test -z \"$(ls x)\""], FileAccess::Edit);
        for allowed in ["cargo test", "cargo test --all", "cargo test && git add .", "test -z \"$(ls x)\""] {
            assert!(scope.allows_command(allowed), "{allowed}");
        }
        let refused = [
            "cargo testing",
            "cargo",
            "curl x",
            "cargo test && curl x",
            "cargo test; rm -r .",
            "cargo test > /etc/x",
            "cargo test & curl x",
            "cargo test $(curl x)",
            "cargo test `curl x`",
            "",
        ];
        for line in refused {
            assert!(!scope.allows_command(line), "{line}");
        }
    }

    // spec: A11
    #[test]
    fn a_command_that_would_break_a_rule_is_left_out_of_the_rules() {
        let scope = WorkScope::new(["make test", "test $(id -u) = 0", "f a,b"], FileAccess::Read);
        assert_eq!(scope.rule_commands().collect::<Vec<_>>(), ["make test"]);
    }
}
