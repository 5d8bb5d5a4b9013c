//! Detects the test commands, the specs folder and the installed agent of a project.
use std::path::Path;

/// The detected properties of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedProject {
    pub agent: Option<&'static str>,
    /// Test commands whose program is installed.
    pub checks: Vec<&'static str>,
    /// Test commands that fit the project but whose program is not installed.
    pub missing_checks: Vec<&'static str>,
    pub specs_dir: &'static str,
}

/// A test command that is detected by a file in the project's root.
struct TestCommandRule {
    file: &'static str,
    /// The file must contain one of these texts; if empty, its existence is enough.
    required_words: &'static [&'static str],
    check: &'static str,
}

const fn test_rule(file: &'static str, holds: &'static [&'static str], check: &'static str) -> TestCommandRule {
    TestCommandRule { file, required_words: holds, check }
}

/// A test target of the project takes precedence over the defaults of its tools.
const PROJECT_TEST_RULES: &[TestCommandRule] = &[
    test_rule("Makefile", &["\ntest:"], "make test"),
    test_rule("makefile", &["\ntest:"], "make test"),
    test_rule("justfile", &["\ntest:", "\ntest "], "just test"),
];

const TOOL_TEST_RULES: &[TestCommandRule] = &[
    test_rule("Cargo.toml", &[], "cargo test"),
    test_rule("go.mod", &[], "go test ./..."),
    test_rule("deno.json", &[], "deno test"),
    test_rule("mix.exs", &[], "mix test"),
    test_rule("pom.xml", &[], "mvn -q test"),
    test_rule("gradlew", &[], "./gradlew test"),
    test_rule("pytest.ini", &[], "pytest"),
    test_rule("conftest.py", &[], "pytest"),
    test_rule("tests/conftest.py", &[], "pytest"),
    test_rule("pyproject.toml", &["pytest"], "pytest"),
    test_rule("tox.ini", &["[pytest]"], "pytest"),
    test_rule("setup.cfg", &["[tool:pytest]"], "pytest"),
    test_rule(".rspec", &[], "bundle exec rspec"),
];

/// Node test commands by lock file; the last one needs no lock file.
const NODE_TEST_COMMANDS: &[(&str, &str)] =
    &[("pnpm-lock.yaml", "pnpm test"), ("yarn.lock", "yarn test"), ("bun.lock", "bun run test"), ("", "npm test")];

/// Files longer than this are not read.
const MAX_INSPECTED_BYTES: u64 = 1024 * 1024;

/// Detects the properties of a project. `is_installed` returns whether a program is on PATH.
pub fn detect_project(
    root: &Path,
    agents: &[(&'static str, &str)],
    is_installed: impl Fn(&str) -> bool,
) -> DetectedProject {
    let (checks, missing) = detect_checks(root).into_iter().partition(|check| is_installed(program_name(check)));
    let agent = agents.iter().find(|(_, program)| is_installed(program)).map(|(name, _)| *name);
    let specs_dir = ["specs", "docs/specs", "spec/specs"].into_iter().find(|dir| root.join(dir).is_dir());
    DetectedProject { agent, checks, missing_checks: missing, specs_dir: specs_dir.unwrap_or("specs") }
}

fn program_name(check: &str) -> &str {
    check.split(' ').next().unwrap_or(check)
}

fn detect_checks(root: &Path) -> Vec<&'static str> {
    if let Some(own) = PROJECT_TEST_RULES.iter().find(|rule| is_rule_met(root, rule)) {
        return vec![own.check];
    }
    let mut checks: Vec<_> =
        TOOL_TEST_RULES.iter().filter(|rule| is_rule_met(root, rule)).map(|rule| rule.check).collect();
    checks.extend(detect_node_check(root));
    checks.dedup();
    checks
}

fn is_rule_met(root: &Path, rule: &TestCommandRule) -> bool {
    if rule.required_words.is_empty() {
        return root.join(rule.file).is_file();
    }
    let text = read_small_file(&root.join(rule.file)).map(|text| format!("\n{text}"));
    text.is_some_and(|text| rule.required_words.iter().any(|word| text.contains(word)))
}

/// Returns the test command of a Node project. Ignores the placeholder script of `npm init`, which always fails.
fn detect_node_check(root: &Path) -> Option<&'static str> {
    let text = read_small_file(&root.join("package.json"))?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    if script.contains("no test specified") {
        return None;
    }
    NODE_TEST_COMMANDS.iter().find(|(lock, _)| lock.is_empty() || root.join(lock).is_file()).map(|(_, check)| *check)
}

fn read_small_file(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.len() <= MAX_INSPECTED_BYTES).then(|| std::fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect_in_files(files: &[(&str, &str)]) -> DetectedProject {
        let temp = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = temp.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        detect_project(temp.path(), &[("claude", "claude")], |program| !["claude", "yarn"].contains(&program))
    }

    // spec: U2
    #[test]
    fn the_test_command_of_a_project_is_detected() {
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (&[], &[]),
            (&[("Cargo.toml", "")], &["cargo test"]),
            (&[("Cargo.toml", ""), ("go.mod", "")], &["cargo test", "go test ./..."]),
            (&[("Cargo.toml", ""), ("Makefile", "all:\n\ntest: all\n\tcargo test\n")], &["make test"]),
            (&[("Cargo.toml", ""), ("Makefile", "all:\nretest:\n")], &["cargo test"]),
            (&[("justfile", "test *ARGS:\n  cargo test\n")], &["just test"]),
            (&[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("pytest.ini", "")], &["pytest"]),
            (&[("pyproject.toml", "[project]\n")], &[]),
            (&[("package.json", "{\"scripts\":{\"test\":\"vitest run\"}}")], &["npm test"]),
            (&[("package.json", "{\"scripts\":{\"test\":\"vitest\"}}"), ("pnpm-lock.yaml", "")], &["pnpm test"]),
            (&[("package.json", "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}")], &[]),
            (&[("package.json", "not json")], &[]),
        ];
        for (files, checks) in cases {
            assert_eq!(detect_in_files(files).checks, *checks, "{files:?}");
        }
    }

    // spec: U2
    #[test]
    fn a_test_command_whose_program_is_missing_is_reported_separately() {
        let found = detect_in_files(&[("package.json", "{\"scripts\":{\"test\":\"jest\"}}"), ("yarn.lock", "")]);
        assert_eq!((found.checks, found.missing_checks), (vec![], vec!["yarn test"]));
    }

    // spec: U2
    #[test]
    fn the_installed_agent_and_the_specs_folder_are_detected() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("docs/specs")).unwrap();
        let agents = [("claude", "claude"), ("codex", "codex")];
        let found = detect_project(temp.path(), &agents, |program| program == "codex");
        assert_eq!((found.agent, found.specs_dir), (Some("codex"), "docs/specs"));
        assert_eq!(detect_project(temp.path(), &agents, |_| false).agent, None);
    }
}
