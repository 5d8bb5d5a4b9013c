//! Words that no code of ours contains, wherever it stands.
use super::{TidyFinding, lines_with_word};
use crate::repository::{RepositoryFile, RepositoryFiles};

struct WordBan {
    rule: &'static str,
    words: &'static [&'static str],
    fix: &'static str,
    /// Paths where it is allowed, each for a reason.
    exempt_paths: &'static [&'static str],
}

const WORD_BANS: &[WordBan] = &[
    WordBan {
        rule: "unfinished",
        words: &["todo!", "unimplemented!", "dbg!"],
        fix: "finish it, or leave it out until it is needed",
        exempt_paths: &[],
    },
    WordBan {
        rule: "lint",
        words: &["#[allow(", "#![allow("],
        fix: "write `#[expect(lint, reason = \"…\")]`, which speaks up when it is no longer needed",
        exempt_paths: &[],
    },
    WordBan {
        rule: "ignored test",
        words: &["#[ignore"],
        fix: "make it run everywhere, or let it fail with the reason why it cannot",
        exempt_paths: &[],
    },
    WordBan {
        rule: "far reach",
        words: &["super::super::"],
        fix: "name the path from the root, `crate::module::thing`",
        exempt_paths: &[],
    },
    WordBan {
        rule: "sleep",
        words: &["thread::sleep"],
        fix: "wait for the condition itself: a channel, a child's end, a file that the harness waits for",
        exempt_paths: &[
            // It plays agents that hang and dawdle.
            "crates/ralph-cli/testing/fake_agent/",
            // The one place where tests look again until a condition holds.
            "crates/ralph-cli/tests/it/harness.rs",
            // People read the demo while it runs.
            "crates/ralph-app/src/demo/",
            // It waits for the end of processes that are not its children: the kernel tells it nothing.
            "crates/ralph-process/src/sweep.rs",
            // Not every system can wait for the end of a process with a deadline.
            "crates/ralph-process/src/process_handle.rs",
        ],
    },
];

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    repository.rust_files().flat_map(|file| WORD_BANS.iter().flat_map(|ban| find_breaches(file, ban))).collect()
}

fn find_breaches(file: &RepositoryFile, ban: &WordBan) -> Vec<TidyFinding> {
    if ban.exempt_paths.iter().any(|path| file.path.starts_with(path)) {
        return Vec::new();
    }
    let hits = ban.words.iter().flat_map(|word| lines_with_word(file, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| TidyFinding {
        path: file.path.clone(),
        line,
        rule: ban.rule,
        problem: format!("`{word}` stands in the code"),
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
        assert_rules("a.rs", "use super::super::x;", &["far reach"]);
        assert_rules("a.rs", "std::thread::sleep(x)", &["sleep"]);
    }

    #[test]
    fn banned_words_in_comments_and_strings_are_allowed() {
        assert_rules("a.rs", "use super::supervisor::supervise;", &[]);
        assert_rules("a.rs", "// todo!() later\nsay(\"dbg!\"); mytodo!()", &[]);
    }

    #[test]
    fn exempt_paths_may_sleep() {
        assert_rules("crates/ralph-cli/testing/fake_agent/life.rs", "std::thread::sleep(x)", &[]);
    }
}
