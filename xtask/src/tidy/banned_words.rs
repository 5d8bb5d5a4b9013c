//! Words that must not occur in code.
use super::{TidyFinding, lines_with_word};
use crate::repository::{RepositoryFile, RepositoryFiles};

struct WordBan {
    rule: &'static str,
    words: &'static [&'static str],
    fix: &'static str,
    /// Paths where the word is allowed, each with a reason.
    exempt_paths: &'static [&'static str],
}

const WORD_BANS: &[WordBan] = &[
    WordBan {
        rule: "unfinished",
        words: &["todo!", "unimplemented!", "dbg!"],
        fix: "implement it, or remove it until it is needed",
        exempt_paths: &[],
    },
    WordBan {
        rule: "lint",
        words: &["#[allow(", "#![allow("],
        fix: "write `#[expect(lint, reason = \"…\")]`, which warns when it is no longer needed",
        exempt_paths: &[],
    },
    WordBan {
        rule: "ignored test",
        words: &["#[ignore"],
        fix: "make it run everywhere, or let it fail with the reason",
        exempt_paths: &[],
    },
    WordBan {
        rule: "super path",
        words: &["super::super::"],
        fix: "write the path from the crate root, `crate::module::thing`",
        exempt_paths: &[],
    },
    WordBan {
        rule: "sleep",
        words: &["thread::sleep"],
        fix: "wait for a condition: a channel, the exit of a child, a file that the harness polls for",
        exempt_paths: &[
            // Simulates agents that hang or are slow.
            "crates/ralph-cli/testing/fake_agent/",
            // The helper with which tests poll for a condition.
            "crates/ralph-cli/tests/it/harness.rs",
            // The demo is paced for readers.
            "crates/ralph-app/src/demo/",
            // Polls for the end of processes that are not its children.
            "crates/ralph-process/src/processes/kill_run_processes.rs",
            // Not every system can wait for a process with a timeout.
            "crates/ralph-process/src/processes/process_handle.rs",
        ],
    },
];

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    repository.rust_files().flat_map(|file| WORD_BANS.iter().flat_map(|ban| find_violations(file, ban))).collect()
}

fn find_violations(file: &RepositoryFile, ban: &WordBan) -> Vec<TidyFinding> {
    if ban.exempt_paths.iter().any(|path| file.path.starts_with(path)) {
        return Vec::new();
    }
    let hits = ban.words.iter().flat_map(|word| lines_with_word(file, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| TidyFinding {
        path: file.path.clone(),
        line,
        rule: ban.rule,
        problem: format!("`{word}` is not allowed"),
        fix: ban.fix.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_rules(path: &str, text: &str, expected: &[&str]) {
        let rules: Vec<_> =
            check(&RepositoryFiles::from_texts(&[(path, text)])).iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected, "{text}");
    }

    #[test]
    fn each_banned_word_is_found() {
        for word in ["todo!()", "unimplemented!()", "dbg!(x)"] {
            assert_rules("a.rs", word, &["unfinished"]);
        }
        assert_rules("a.rs", "#[allow(dead_code)]", &["lint"]);
        assert_rules("a.rs", "#![allow(dead_code)]", &["lint"]);
        assert_rules("a.rs", "#[ignore = \"slow\"]", &["ignored test"]);
        assert_rules("a.rs", "use super::super::x;", &["super path"]);
        assert_rules("a.rs", "std::thread::sleep(x)", &["sleep"]);
    }

    #[test]
    fn banned_words_in_comments_and_strings_are_allowed() {
        assert_rules("a.rs", "use super::supervisor::supervise;", &[]);
        assert_rules("a.rs", "// todo!() later\nsay(\"dbg!\"); mytodo!()", &[]);
    }

    #[test]
    fn exempt_paths_may_sleep() {
        assert_rules("crates/ralph-cli/testing/fake_agent/lifetime_modes.rs", "std::thread::sleep(x)", &[]);
    }
}
