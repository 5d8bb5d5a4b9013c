//! Some things belong to one crate: printing to the command line, signals to `ralph-process`.
use super::{Finding, lines_with};
use crate::tree::{File, Tree};

struct Ownership {
    rule: &'static str,
    words: &'static [&'static str],
    /// The paths below `crates/` where they may be used.
    owners: &'static [&'static str],
    mend: &'static str,
}

const CRATES: &str = "crates/";

const OWNERSHIPS: &[Ownership] = &[
    Ownership {
        rule: "printing",
        words: &["println!", "eprintln!", "print!", "eprint!", "io::stdout", "io::stderr"],
        owners: &["ralph-cli/"],
        mend: "return it to the caller; only the command line prints",
    },
    Ownership {
        rule: "signals",
        words: &["libc::SIG", "Signal::"],
        // The rules call a mark in a text a signal; `signals.rs` turns what people send to ralph into events; `fail.rs` stops ralph where a test asks for it; the rest are tests
        // and their programs.
        owners: &[
            "ralph-core/",
            "ralph-process/",
            "ralph-engine/src/engine/signals.rs",
            "ralph-util/src/fail.rs",
            "ralph-cli/testing/",
            "ralph-cli/tests/",
        ],
        mend: "call `ralph-process`; only it knows signals",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let ours = tree.rust().filter_map(|file| Some((file, file.path.strip_prefix(CRATES)?)));
    ours.flat_map(|(file, inside)| OWNERSHIPS.iter().flat_map(move |owned| breaches(file, inside, owned)))
        .collect()
}

fn breaches(file: &File, inside: &str, owned: &Ownership) -> Vec<Finding> {
    if owned.owners.iter().any(|owner| inside.starts_with(owner)) {
        return Vec::new();
    }
    let hits =
        owned.words.iter().flat_map(|word| lines_with(file, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| Finding {
        path: file.path.clone(),
        line,
        rule: owned.rule,
        says: format!("`{word}` does not belong in this crate"),
        mend: owned.mend.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn only_the_command_line_prints() {
        for word in ["println!(\"a\")", "eprintln!()", "print!()", "io::stdout().lock()", "std::io::stderr()"]
        {
            assert_eq!(rules("crates/ralph-engine/src/engine/drive.rs", word), ["printing"], "{word}");
            assert!(rules("crates/ralph-cli/src/cli/out.rs", word).is_empty());
            assert!(rules("crates/ralph-cli/tests/it/main.rs", word).is_empty());
        }
    }

    #[test]
    fn only_process_knows_signals() {
        assert_eq!(rules("crates/ralph-agents/src/x.rs", "kill(Signal::KILL)"), ["signals"]);
        assert_eq!(rules("crates/ralph-agents/src/x.rs", "kill(libc::SIGKILL)"), ["signals"]);
        assert!(rules("crates/ralph-agents/src/x.rs", "PoliteSignal::Term").is_empty());
        assert!(rules("crates/ralph-process/src/tree.rs", "Signal::KILL").is_empty());
        assert!(rules("crates/ralph-engine/src/engine/signals.rs", "libc::SIGTSTP").is_empty());
    }
}
