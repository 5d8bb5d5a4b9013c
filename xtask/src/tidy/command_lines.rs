//! Below the CLI, no text names a command or a flag of ralph: errors carry a kind, and the CLI adds the hint.
use super::{TidyFinding, contains_word};
use crate::repository::{RepositoryFile, RepositoryFiles};

/// Commands that a hint could name. Words that are also verbs in a sentence ("ralph runs as root") are left out, unless a
/// backtick is before them.
const COMMANDS: &[&str] = &[
    "ralph agents",
    "ralph approve",
    "ralph attach",
    "ralph cancel",
    "ralph config",
    "ralph diff",
    "ralph doctor",
    "ralph export",
    "ralph gc",
    "ralph guide",
    "ralph import",
    "ralph init",
    "ralph install",
    "ralph land",
    "ralph pause",
    "ralph plan",
    "ralph resume",
    "ralph retry",
    "ralph rewind",
    "ralph status",
    "ralph task",
    "ralph templates",
    "ralph trust",
    "ralph undo",
    "ralph uninstall",
    "ralph verify",
    "ralph work",
    "`ralph ",
];

/// Flags that a hint could name.
const FLAGS: &[&str] = &[
    "--acceptance",
    "--agent",
    "--agent-arg",
    "--agent-cmd",
    "--approve",
    "--check",
    "--completion-promise",
    "--config",
    "--detach",
    "--kill",
    "--max-cost",
    "--max-iterations",
    "--no-criteria",
    "--outcome",
    "--parallel",
    "--permission",
    "--plugin",
    "--project",
    "--promise",
    "--require-criteria",
    "--user",
];

/// Paths whose texts are not hints, each with a reason.
const EXEMPT_PATHS: &[&str] = &[
    // The descriptions of the settings, for the JSON schema and `config`.
    "crates/ralph-app/src/config/keys/key_list.rs",
    // Slash commands and prompts: an agent types these commands.
    "crates/ralph-agents/src/install/slash_commands.rs",
    "crates/ralph-core/src/task/generation_prompt.rs",
    // A message that the classic loop fixes, and reasons that journals store.
    "crates/ralph-core/src/outcome.rs",
    "crates/ralph-core/src/control_command.rs",
    // Messages in the reflog of git.
    "crates/ralph-engine/src/worktree/land.rs",
    "crates/ralph-engine/src/worktree/rewind.rs",
];

const CRATES: &str = "crates/";
const CLI_CRATE: &str = "crates/ralph-cli/";

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    repository.rust_files().filter(|file| is_below_cli(&file.path)).flat_map(find_violations).collect()
}

fn is_below_cli(path: &str) -> bool {
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    path.starts_with(CRATES)
        && !path.starts_with(CLI_CRATE)
        && path.contains("/src/")
        && !is_test
        && !EXEMPT_PATHS.contains(&path)
}

/// Checks the lines before the unit tests.
fn find_violations(file: &RepositoryFile) -> Vec<TidyFinding> {
    let source = file.lines.iter().take_while(|line| line.code.trim() != "#[cfg(test)]");
    let hits = source.enumerate().filter_map(|(index, line)| Some((index + 1, find_command_word(&line.strings)?)));
    hits.map(|(line, word)| TidyFinding {
        path: file.path.clone(),
        line,
        rule: "command line",
        problem: format!("the text names `{}`, which only the CLI knows", word.trim_matches(['`', ' '])),
        fix: "return an enum variant such as `Advice`, and write the words in crates/ralph-cli/src/hints".to_owned(),
    })
    .collect()
}

/// Returns the first command or flag in the strings of a line. A string that is only a flag is an argument of another
/// program.
fn find_command_word(strings: &str) -> Option<&'static str> {
    let command = COMMANDS.iter().find(|word| contains_whole_word(strings, word));
    let is_in_text =
        |flag: &&&str| [" ", "`"].iter().any(|before| contains_whole_word(strings, &format!("{before}{flag}")));
    command.or_else(|| FLAGS.iter().find(is_in_text)).copied()
}

/// Returns whether the text contains the word, not as a part of a longer one.
fn contains_whole_word(text: &str, word: &str) -> bool {
    let is_longer = |rest: &str| {
        !word.ends_with(' ') && rest.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_')
    };
    let is_flag = word.contains("--");
    (is_flag || contains_word(text, word))
        && text.match_indices(word).any(|(at, _)| text.get(at + word.len()..).is_some_and(|rest| !is_longer(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding_lines(path: &str, text: &str) -> Vec<usize> {
        check(&RepositoryFiles::from_texts(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_command_or_flag_in_a_text_is_found() {
        let path = "crates/ralph-app/src/run/lookup.rs";
        for text in
            ["\"resume it with `ralph resume {id}`\"", "\"died; ralph resume {id}\"", "\"pass --permission full\""]
        {
            assert_eq!(finding_lines(path, text), [1], "{text}");
        }
        assert_eq!(finding_lines(path, "let a = \"remove it with \\\n    --agent-arg\";\n"), [2]);
    }

    #[test]
    fn comments_tests_arguments_and_sentences_are_allowed() {
        let path = "crates/ralph-app/src/run/lookup.rs";
        let texts = [
            "// `ralph resume` continues it\n",
            "&[\"--permission\", \"--project\"]",
            "\"started with --permission-mode default\"",
            "\"ralph runs as root\"",
            "#[cfg(test)]\nmod tests { fn a() { b(\"`ralph resume`\") } }",
        ];
        for text in texts {
            assert_eq!(finding_lines(path, text), [0; 0], "{text}");
        }
        assert_eq!(finding_lines("crates/ralph-cli/src/hints/mod.rs", "\"`ralph resume`\""), [0; 0]);
    }
}
