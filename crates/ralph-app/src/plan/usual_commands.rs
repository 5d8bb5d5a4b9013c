//! The usual build and test commands of a project, by the files in its root. Permission `work` allows them.
use std::path::Path;

/// The commands of one ecosystem.
struct Ecosystem {
    /// Any of these files in the root shows that the project belongs to it.
    files: &'static [&'static str],
    commands: &'static [&'static str],
}

const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem {
        files: &["Cargo.toml"],
        commands: &[
            "cargo build",
            "cargo check",
            "cargo clippy",
            "cargo doc",
            "cargo fmt",
            "cargo nextest run",
            "cargo test",
        ],
    },
    Ecosystem {
        files: &["package.json"],
        commands: &["npm test", "npm run build", "npm run check", "npm run lint", "npm run test", "npm run typecheck"],
    },
    Ecosystem {
        files: &["pnpm-lock.yaml"],
        commands: &["pnpm test", "pnpm build", "pnpm lint", "pnpm run build", "pnpm run lint", "pnpm run test"],
    },
    Ecosystem {
        files: &["yarn.lock"],
        commands: &["yarn test", "yarn build", "yarn lint", "yarn run build", "yarn run lint", "yarn run test"],
    },
    Ecosystem {
        files: &["bun.lock", "bun.lockb"],
        commands: &["bun test", "bun run build", "bun run lint", "bun run test"],
    },
    Ecosystem { files: &["tsconfig.json"], commands: &["npx tsc", "tsc"] },
    Ecosystem { files: &["deno.json", "deno.jsonc"], commands: &["deno check", "deno fmt", "deno lint", "deno test"] },
    Ecosystem {
        files: &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "pytest.ini",
            "tox.ini",
            "conftest.py",
            "requirements.txt",
            "tests/conftest.py",
        ],
        commands: &[
            "mypy",
            "pytest",
            "python -m pytest",
            "python -m unittest",
            "python3 -m pytest",
            "python3 -m unittest",
            "ruff check",
            "ruff format",
            "tox",
        ],
    },
    Ecosystem { files: &["uv.lock"], commands: &["uv run mypy", "uv run pytest", "uv run ruff"] },
    Ecosystem { files: &["go.mod"], commands: &["go build", "go fmt", "go test", "go vet", "gofmt"] },
    Ecosystem {
        files: &["Makefile", "makefile", "GNUmakefile"],
        commands: &["make all", "make build", "make check", "make lint", "make test"],
    },
    Ecosystem { files: &["justfile"], commands: &["just build", "just check", "just lint", "just test"] },
    Ecosystem { files: &["CMakeLists.txt"], commands: &["cmake --build", "ctest"] },
    Ecosystem { files: &["meson.build"], commands: &["meson compile", "meson test"] },
    Ecosystem {
        files: &["pom.xml"],
        commands: &["mvn -q test", "mvn compile", "mvn test", "mvn verify", "./mvnw test", "./mvnw verify"],
    },
    Ecosystem {
        files: &["build.gradle", "build.gradle.kts", "gradlew"],
        commands: &[
            "./gradlew build",
            "./gradlew check",
            "./gradlew test",
            "gradle build",
            "gradle check",
            "gradle test",
        ],
    },
    Ecosystem { files: &["mix.exs"], commands: &["mix compile", "mix format", "mix test"] },
    Ecosystem {
        files: &["Gemfile", ".rspec"],
        commands: &["bundle exec rake test", "bundle exec rspec", "bundle exec rubocop", "rake test"],
    },
    Ecosystem { files: &["composer.json"], commands: &["composer test", "vendor/bin/phpunit"] },
    Ecosystem { files: &["global.json"], commands: &["dotnet build", "dotnet format", "dotnet test"] },
    Ecosystem { files: &["Package.swift"], commands: &["swift build", "swift test"] },
    Ecosystem { files: &["build.zig"], commands: &["zig build", "zig test"] },
    Ecosystem { files: &["dune-project"], commands: &["dune build", "dune test"] },
    Ecosystem { files: &["stack.yaml"], commands: &["stack build", "stack test"] },
];

/// Returns the usual build and test commands of the project with this root.
pub(super) fn find_usual_commands(root: &Path) -> Vec<&'static str> {
    let is_used = |ecosystem: &&Ecosystem| ecosystem.files.iter().any(|file| root.join(file).is_file());
    ECOSYSTEMS.iter().filter(is_used).flat_map(|ecosystem| ecosystem.commands).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A11
    #[test]
    fn the_files_in_the_root_decide_which_commands_are_usual() {
        let temp = tempfile::tempdir().unwrap();
        assert!(find_usual_commands(temp.path()).is_empty());
        std::fs::write(temp.path().join("go.mod"), "").unwrap();
        std::fs::write(temp.path().join("Makefile"), "").unwrap();
        let found = find_usual_commands(temp.path());
        assert!(found.contains(&"go test") && found.contains(&"make test"), "{found:?}");
        assert!(!found.contains(&"cargo test"), "{found:?}");
    }

    // spec: A11
    #[test]
    fn every_ecosystem_has_files_and_commands_and_no_command_is_a_bare_interpreter() {
        for Ecosystem { files, commands } in ECOSYSTEMS {
            assert!(!files.is_empty() && !commands.is_empty());
            let scope = ralph_agents::WorkScope::new(commands.iter().copied(), ralph_agents::FileAccess::Edit);
            assert_eq!(scope.commands(), *commands);
        }
    }
}
