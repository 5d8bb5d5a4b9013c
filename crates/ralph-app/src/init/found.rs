//! What can be found out about a project without asking: how it is tested, and where its specifications are.
use std::path::Path;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub agent: Option<&'static str>,
    /// Test commands whose program is there.
    pub checks: Vec<&'static str>,
    /// Test commands that fit the project, but whose program is missing here.
    pub missing: Vec<&'static str>,
    pub specs_dir: &'static str,
}

/// A way to test, recognised by a file of the project's root.
struct Sign {
    file: &'static str,
    /// Words of which the file must hold one; none: the file alone is enough.
    holds: &'static [&'static str],
    check: &'static str,
}

const fn sign(file: &'static str, holds: &'static [&'static str], check: &'static str) -> Sign {
    Sign { file, holds, check }
}

/// A project's own word for its tests stands above what its tools suggest.
const OWN_WORDS: &[Sign] = &[
    sign("Makefile", &["\ntest:"], "make test"),
    sign("makefile", &["\ntest:"], "make test"),
    sign("justfile", &["\ntest:", "\ntest "], "just test"),
];

const TOOLS: &[Sign] = &[
    sign("Cargo.toml", &[], "cargo test"),
    sign("go.mod", &[], "go test ./..."),
    sign("deno.json", &[], "deno test"),
    sign("mix.exs", &[], "mix test"),
    sign("pom.xml", &[], "mvn -q test"),
    sign("gradlew", &[], "./gradlew test"),
    sign("pytest.ini", &[], "pytest"),
    sign("conftest.py", &[], "pytest"),
    sign("tests/conftest.py", &[], "pytest"),
    sign("pyproject.toml", &["pytest"], "pytest"),
    sign("tox.ini", &["[pytest]"], "pytest"),
    sign("setup.cfg", &["[tool:pytest]"], "pytest"),
    sign(".rspec", &[], "bundle exec rspec"),
];

/// By lock file; the last one needs none.
const NODE: &[(&str, &str)] = &[
    ("pnpm-lock.yaml", "pnpm test"),
    ("yarn.lock", "yarn test"),
    ("bun.lock", "bun run test"),
    ("", "npm test"),
];

/// Files longer than this are not looked into.
const LONGEST: u64 = 1024 * 1024;

/// Looks at a project. `is_there` tells whether a program can be started.
pub fn look(root: &Path, agents: &[(&'static str, &str)], is_there: impl Fn(&str) -> bool) -> Found {
    let (checks, missing) = checks(root).into_iter().partition(|check| is_there(program(check)));
    let agent = agents.iter().find(|(_, program)| is_there(program)).map(|(name, _)| *name);
    let specs_dir = ["specs", "docs/specs", "spec/specs"].into_iter().find(|dir| root.join(dir).is_dir());
    Found { agent, checks, missing, specs_dir: specs_dir.unwrap_or("specs") }
}

fn program(check: &str) -> &str {
    check.split(' ').next().unwrap_or(check)
}

fn checks(root: &Path) -> Vec<&'static str> {
    if let Some(own) = OWN_WORDS.iter().find(|sign| is_given(root, sign)) {
        return vec![own.check];
    }
    let mut checks: Vec<_> =
        TOOLS.iter().filter(|sign| is_given(root, sign)).map(|sign| sign.check).collect();
    checks.extend(node(root));
    checks.dedup();
    checks
}

fn is_given(root: &Path, sign: &Sign) -> bool {
    if sign.holds.is_empty() {
        return root.join(sign.file).is_file();
    }
    let text = read(&root.join(sign.file)).map(|text| format!("\n{text}"));
    text.is_some_and(|text| sign.holds.iter().any(|word| text.contains(word)))
}

/// A `package.json` as `npm init` writes it has a test script that only fails.
fn node(root: &Path) -> Option<&'static str> {
    let text = read(&root.join("package.json"))?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    if script.contains("no test specified") {
        return None;
    }
    NODE.iter().find(|(lock, _)| lock.is_empty() || root.join(lock).is_file()).map(|(_, check)| *check)
}

fn read(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    (found.is_file() && found.len() <= LONGEST).then(|| std::fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Found {
        let temp = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = temp.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        look(temp.path(), &[("claude", "claude")], |program| !["claude", "yarn"].contains(&program))
    }

    // spec: U2
    #[test]
    fn how_a_project_is_tested_is_found_out() {
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
            (
                &[("package.json", "{\"scripts\":{\"test\":\"vitest\"}}"), ("pnpm-lock.yaml", "")],
                &["pnpm test"],
            ),
            (
                &[(
                    "package.json",
                    "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}",
                )],
                &[],
            ),
            (&[("package.json", "not json")], &[]),
        ];
        for (files, checks) in cases {
            assert_eq!(found(files).checks, *checks, "{files:?}");
        }
    }

    // spec: U2
    #[test]
    fn a_test_command_whose_program_is_missing_is_only_named() {
        let found = found(&[("package.json", "{\"scripts\":{\"test\":\"jest\"}}"), ("yarn.lock", "")]);
        assert_eq!((found.checks, found.missing), (vec![], vec!["yarn test"]));
    }

    // spec: U2
    #[test]
    fn the_agent_on_the_path_and_the_folder_of_specs_are_found() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("docs/specs")).unwrap();
        let agents = [("claude", "claude"), ("codex", "codex")];
        let found = look(temp.path(), &agents, |program| program == "codex");
        assert_eq!((found.agent, found.specs_dir), (Some("codex"), "docs/specs"));
        assert_eq!(look(temp.path(), &agents, |_| false).agent, None);
    }
}
