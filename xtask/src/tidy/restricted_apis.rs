//! Some APIs are restricted to one place: printing to the CLI, signals to `ralph-process`, the database driver to one
//! module of `ralph-store`.
use super::{TidyFinding, lines_with_word};
use crate::repository::{RepositoryFile, RepositoryFiles};

struct RestrictedApi {
    rule: &'static str,
    patterns: &'static [&'static str],
    /// The paths below `crates/` that may use them.
    allowed_paths: &'static [&'static str],
    fix: &'static str,
}

const CRATES: &str = "crates/";

const RESTRICTED_APIS: &[RestrictedApi] = &[
    RestrictedApi {
        rule: "printing",
        patterns: &["println!", "eprintln!", "print!", "eprint!", "io::stdout", "io::stderr"],
        // The tests of other crates that start a keeper have a main function, which reports the results.
        allowed_paths: &["ralph-cli/", "ralph-process/tests/", "ralph-engine/tests/", "ralph-app/tests/use_cases.rs"],
        fix: "return the text to the caller; only the CLI prints",
    },
    RestrictedApi {
        rule: "signals",
        patterns: &["libc::SIG", "Signal::"],
        // In `ralph-core` a signal is a tag in a text. `control_input.rs` converts signals sent to ralph into events.
        // `failpoints.rs` stops ralph where a test requests it. The rest are tests and test programs.
        allowed_paths: &[
            "ralph-core/",
            "ralph-process/",
            "ralph-engine/src/run_driver/control_input.rs",
            "ralph-util/src/failpoints.rs",
            "ralph-cli/testing/",
            "ralph-cli/tests/",
        ],
        fix: "call `ralph-process`; only it handles signals",
    },
    RestrictedApi {
        rule: "database driver",
        patterns: &["sqlx::"],
        allowed_paths: &["ralph-store/src/driver/", "ralph-cli/tests/"],
        fix: "call `ralph_store::driver`; a second database is added only there",
    },
];

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let ours = repository.rust_files().filter_map(|file| Some((file, file.path.strip_prefix(CRATES)?)));
    ours.flat_map(|(file, inside)| RESTRICTED_APIS.iter().flat_map(move |api| find_violations(file, inside, api)))
        .collect()
}

fn find_violations(file: &RepositoryFile, inside: &str, api: &RestrictedApi) -> Vec<TidyFinding> {
    if api.allowed_paths.iter().any(|owner| inside.starts_with(owner)) {
        return Vec::new();
    }
    let hits =
        api.patterns.iter().flat_map(|word| lines_with_word(file, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| TidyFinding {
        path: file.path.clone(),
        line,
        rule: api.rule,
        problem: format!("`{word}` is not allowed in this crate"),
        fix: api.fix.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&RepositoryFiles::from_texts(&[(path, text)])).iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn only_one_module_names_the_database_driver() {
        let word = "use sqlx::Row;";
        assert_eq!(broken_rules("crates/ralph-store/src/queries/runs.rs", word), ["database driver"]);
        assert!(broken_rules("crates/ralph-store/src/driver/mod.rs", word).is_empty());
    }

    #[test]
    fn only_the_cli_prints() {
        for word in ["println!(\"a\")", "eprintln!()", "print!()", "io::stdout().lock()", "std::io::stderr()"] {
            assert_eq!(
                broken_rules("crates/ralph-engine/src/run_driver/process_driver.rs", word),
                ["printing"],
                "{word}"
            );
            assert!(broken_rules("crates/ralph-cli/src/commands/out.rs", word).is_empty());
            assert!(broken_rules("crates/ralph-cli/tests/it/main.rs", word).is_empty());
            assert!(broken_rules("crates/ralph-process/tests/process_trees/main.rs", word).is_empty());
        }
    }

    #[test]
    fn only_ralph_process_uses_signals() {
        assert_eq!(broken_rules("crates/ralph-agents/src/x.rs", "kill(Signal::KILL)"), ["signals"]);
        assert_eq!(broken_rules("crates/ralph-agents/src/x.rs", "kill(libc::SIGKILL)"), ["signals"]);
        assert!(broken_rules("crates/ralph-agents/src/x.rs", "GracefulSignal::Term").is_empty());
        assert!(broken_rules("crates/ralph-process/src/processes/process_tree.rs", "Signal::KILL").is_empty());
        assert!(broken_rules("crates/ralph-engine/src/run_driver/control_input.rs", "libc::SIGTSTP").is_empty());
    }
}
