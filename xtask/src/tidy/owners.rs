//! Some things belong to one room: printing to `cli` and `report`, signals to `process`.
use super::{Finding, lines_with};
use crate::tree::{File, Tree};

struct Ownership {
    rule: &'static str,
    words: &'static [&'static str],
    /// The rooms, as paths, where they may be used.
    owners: &'static [&'static str],
    mend: &'static str,
}

const ROOMS: &str = "crates/ralph/src/";

const OWNERSHIPS: &[Ownership] = &[
    Ownership {
        rule: "printing",
        words: &["println!", "eprintln!", "print!", "eprint!", "io::stdout", "io::stderr"],
        owners: &["cli/", "report/", "main.rs"],
        mend: "return it to the caller; only `cli`, `report` and `main` print",
    },
    Ownership {
        rule: "signals",
        words: &["libc::SIG", "Signal::"],
        // `engine/signals.rs` turns what people send to ralph into events; `fail.rs` stops ralph where a test asks for it.
        owners: &["process/", "engine/signals.rs", "fail.rs"],
        mend: "ask the `process` room; only it knows signals",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rooms = tree.rust().filter_map(|file| Some((file, file.path.strip_prefix(ROOMS)?)));
    rooms
        .flat_map(|(file, inside)| OWNERSHIPS.iter().flat_map(move |owned| breaches(file, inside, owned)))
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
        says: format!("`{word}` does not belong in this room"),
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
    fn only_cli_report_and_main_print() {
        for word in ["println!(\"a\")", "eprintln!()", "print!()", "io::stdout().lock()", "std::io::stderr()"]
        {
            assert_eq!(rules("crates/ralph/src/engine/drive.rs", word), ["printing"], "{word}");
            assert!(rules("crates/ralph/src/cli/out.rs", word).is_empty());
            assert!(rules("crates/ralph/tests/it/main.rs", word).is_empty());
        }
    }

    #[test]
    fn only_process_knows_signals() {
        assert_eq!(rules("crates/ralph/src/agent/x.rs", "kill(Signal::KILL)"), ["signals"]);
        assert_eq!(rules("crates/ralph/src/agent/x.rs", "kill(libc::SIGKILL)"), ["signals"]);
        assert!(rules("crates/ralph/src/agent/x.rs", "PoliteSignal::Term").is_empty());
        assert!(rules("crates/ralph/src/process/tree.rs", "Signal::KILL").is_empty());
        assert!(rules("crates/ralph/src/engine/signals.rs", "libc::SIGTSTP").is_empty());
    }
}
