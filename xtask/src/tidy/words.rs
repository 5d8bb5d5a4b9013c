//! Words that no code of ours contains, wherever it stands.
use super::{Finding, lines_with};
use crate::tree::{File, Tree};

struct Ban {
    rule: &'static str,
    words: &'static [&'static str],
    mend: &'static str,
    /// Paths where it is allowed, each for a reason.
    except: &'static [&'static str],
}

const BANS: &[Ban] = &[
    Ban {
        rule: "unfinished",
        words: &["todo!", "unimplemented!", "dbg!"],
        mend: "finish it, or leave it out until it is needed",
        except: &[],
    },
    Ban {
        rule: "lint",
        words: &["#[allow(", "#![allow("],
        mend: "write `#[expect(lint, reason = \"…\")]`, which speaks up when it is no longer needed",
        except: &[],
    },
    Ban {
        rule: "ignored test",
        words: &["#[ignore"],
        mend: "make it run everywhere, or let it fail with the reason why it cannot",
        except: &[],
    },
    Ban {
        rule: "far reach",
        words: &["super::super::"],
        mend: "name the path from the root, `crate::module::thing`",
        except: &[],
    },
    Ban {
        rule: "sleep",
        words: &["thread::sleep"],
        mend: "wait for the condition itself: a channel, a child's end, a file that the harness waits for",
        except: &[
            // It plays agents that hang and dawdle.
            "crates/ralph-cli/testing/fake_agent/",
            // The one place where tests look again until a condition holds.
            "crates/ralph-cli/tests/it/harness.rs",
            // People read the demo while it runs.
            "crates/ralph-app/src/demo/",
            // It waits for the end of processes that are not its children: the kernel tells it nothing.
            "crates/ralph-process/src/sweep.rs",
            // Not every system can wait for the end of a process with a deadline.
            "crates/ralph-process/src/handle.rs",
        ],
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(|file| BANS.iter().flat_map(|ban| breaches(file, ban))).collect()
}

fn breaches(file: &File, ban: &Ban) -> Vec<Finding> {
    if ban.except.iter().any(|path| file.path.starts_with(path)) {
        return Vec::new();
    }
    let hits =
        ban.words.iter().flat_map(|word| lines_with(file, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| Finding {
        path: file.path.clone(),
        line,
        rule: ban.rule,
        says: format!("`{word}` stands in the code"),
        mend: ban.mend.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(path: &str, text: &str, expected: &[&str]) {
        let rules: Vec<_> = check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected, "{text}");
    }

    #[test]
    fn each_banned_word_is_found() {
        for word in ["todo!()", "unimplemented!()", "dbg!(x)"] {
            found("a.rs", word, &["unfinished"]);
        }
        found("a.rs", "#[allow(dead_code)]", &["lint"]);
        found("a.rs", "#![allow(dead_code)]", &["lint"]);
        found("a.rs", "#[ignore = \"slow\"]", &["ignored test"]);
        found("a.rs", "use super::super::x;", &["far reach"]);
        found("a.rs", "std::thread::sleep(x)", &["sleep"]);
    }

    #[test]
    fn words_in_comments_and_strings_are_no_code() {
        found("a.rs", "use super::supervisor::supervise;", &[]);
        found("a.rs", "// todo!() later\nsay(\"dbg!\"); mytodo!()", &[]);
    }

    #[test]
    fn who_must_sleep_may() {
        found("crates/ralph-cli/testing/fake_agent/life.rs", "std::thread::sleep(x)", &[]);
    }
}
