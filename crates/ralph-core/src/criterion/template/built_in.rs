//! The templates that everybody has. Their commands are lists: no shell is started.
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Parameter, ParameterKind, Template};
use crate::criterion::{CheckCommand, Criterion, ExternalCheck, Method};

/// One line of the table.
struct Line {
    name: &'static str,
    about: &'static str,
    command: &'static [&'static str],
    parameters: &'static [Hole],
    /// Many of these take long.
    minutes: u64,
}

struct Hole {
    name: &'static str,
    about: &'static str,
    kind: ParameterKind,
    /// The values that hold where none is given; `None`: it must be given.
    default: Option<&'static [&'static str]>,
}

const fn words(about: &'static str) -> Hole {
    Hole { name: "args", about, kind: ParameterKind::Words, default: Some(&[]) }
}

const FOLDER: Hole = Hole {
    name: "path",
    about: "The folder or file to look at",
    kind: ParameterKind::Path,
    default: Some(&["."]),
};
const PERCENT: ParameterKind = ParameterKind::Whole { least: 0, most: 100 };

const TABLE: &[Line] = &[
    Line {
        name: "cargo-test",
        about: "All tests of a Rust workspace pass",
        command: &["cargo", "test", "--workspace", "{{args}}"],
        parameters: &[words("More arguments, such as --all-features")],
        minutes: 30,
    },
    Line {
        name: "cargo-clippy",
        about: "Clippy has nothing to say about a Rust workspace",
        command: &["cargo", "clippy", "--workspace", "--all-targets", "{{args}}", "--", "-D", "warnings"],
        parameters: &[words("More arguments for cargo")],
        minutes: 30,
    },
    Line {
        name: "npm-test",
        about: "`npm test` passes",
        command: &["npm", "test", "--prefix", "{{path}}"],
        parameters: &[FOLDER],
        minutes: 15,
    },
    Line {
        name: "npm-run",
        about: "A script of package.json passes",
        command: &["npm", "run", "--prefix", "{{path}}", "--", "{{script}}"],
        parameters: &[
            FOLDER,
            Hole {
                name: "script",
                about: "The name of the script",
                kind: ParameterKind::Text,
                default: None,
            },
        ],
        minutes: 15,
    },
    Line {
        name: "pytest",
        about: "All tests of pytest pass",
        command: &["python3", "-m", "pytest", "{{args}}", "--", "{{paths}}"],
        parameters: &[
            words("More arguments"),
            Hole {
                name: "paths",
                about: "Folders or files with tests",
                kind: ParameterKind::Paths,
                default: Some(&["."]),
            },
        ],
        minutes: 15,
    },
    Line {
        name: "pytest-coverage",
        about: "All tests of pytest pass and cover enough of the code (needs pytest-cov)",
        command: &[
            "python3",
            "-m",
            "pytest",
            "--cov={{source}}",
            "--cov-fail-under={{min}}",
            "--",
            "{{paths}}",
        ],
        parameters: &[
            Hole { name: "min", about: "Least coverage in per cent", kind: PERCENT, default: Some(&["80"]) },
            Hole {
                name: "source",
                about: "The code that must be covered",
                kind: ParameterKind::Path,
                default: Some(&["."]),
            },
            Hole {
                name: "paths",
                about: "Folders or files with tests",
                kind: ParameterKind::Paths,
                default: Some(&["."]),
            },
        ],
        minutes: 15,
    },
    Line {
        name: "go-test",
        about: "All tests of a Go module pass",
        command: &["go", "test", "{{args}}", "{{packages}}"],
        parameters: &[
            words("More arguments, such as -race"),
            Hole {
                name: "packages",
                about: "The packages to test",
                kind: ParameterKind::Paths,
                default: Some(&["./..."]),
            },
        ],
        minutes: 15,
    },
    Line {
        name: "make",
        about: "A target of the Makefile passes",
        command: &["make", "--", "{{target}}"],
        parameters: &[Hole {
            name: "target",
            about: "The target",
            kind: ParameterKind::Text,
            default: Some(&["test"]),
        }],
        minutes: 15,
    },
    Line {
        name: "lint-clean",
        about: "A linter has nothing to say",
        command: &["{{linter}}", "{{args}}"],
        parameters: &[
            Hole {
                name: "linter",
                about: "The program, such as ruff or eslint",
                kind: ParameterKind::Path,
                default: None,
            },
            words("Its arguments, such as check src"),
        ],
        minutes: 10,
    },
    Line {
        name: "files-exist",
        about: "Files are there, and are not empty",
        command: &[
            "/bin/sh",
            "-c",
            "for file; do test -s \"$file\" || { echo \"missing or empty: $file\"; exit 1; }; done",
            "files-exist",
            "{{files}}",
        ],
        parameters: &[Hole {
            name: "files",
            about: "The files, from the work tree",
            kind: ParameterKind::Paths,
            default: None,
        }],
        minutes: 1,
    },
    Line {
        name: "no-todos",
        about: "No file that git knows holds a mark such as TODO",
        command: &[
            "/bin/sh",
            "-c",
            "git grep -nawF -e \"$1\" -- \"$2\"; case $? in 0) exit 1;; 1) exit 0;; *) exit 126;; esac",
            "no-todos",
            "{{mark}}",
            "{{path}}",
        ],
        parameters: &[
            FOLDER,
            Hole {
                name: "mark",
                about: "The word that must not stand there",
                kind: ParameterKind::Text,
                default: Some(&["TODO"]),
            },
        ],
        minutes: 1,
    },
    Line {
        name: "http-health",
        about: "An address answers with the status that is expected (needs curl)",
        command: &[
            "/bin/sh",
            "-c",
            "command -v curl >/dev/null || exit 127; status=$(curl --silent --show-error --max-time 20 --output /dev/null --write-out '%{http_code}' --url \"$1\"); echo \"$status\"; test \"$status\" = \"$2\"",
            "http-health",
            "{{url}}",
            "{{status}}",
        ],
        parameters: &[
            Hole { name: "url", about: "The address", kind: ParameterKind::Url, default: None },
            Hole {
                name: "status",
                about: "The expected status",
                kind: ParameterKind::Whole { least: 100, most: 599 },
                default: Some(&["200"]),
            },
        ],
        minutes: 1,
    },
    Line {
        name: "command-succeeds",
        about: "A program succeeds",
        command: &["{{program}}", "{{args}}"],
        parameters: &[
            Hole {
                name: "program",
                about: "The program; with a slash it is meant from the work tree",
                kind: ParameterKind::Path,
                default: None,
            },
            words("Its arguments"),
        ],
        minutes: 5,
    },
];

/// Returns all of them, by name.
#[must_use]
pub fn built_in() -> Vec<Template> {
    let mut all: Vec<Template> = TABLE.iter().map(template).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn template(line: &Line) -> Template {
    let command = CheckCommand::Argv(line.command.iter().map(ToString::to_string).collect());
    let check = ExternalCheck { timeout_ms: line.minutes * 60_000, ..ExternalCheck::of(command) };
    Template {
        name: line.name.to_owned(),
        about: line.about.to_owned(),
        parameters: line.parameters.iter().map(parameter).collect(),
        check: Criterion::of(Method::External(check)),
    }
}

fn parameter(hole: &Hole) -> Parameter {
    let texts = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect();
    Parameter {
        name: hole.name.to_owned(),
        about: hole.about.to_owned(),
        kind: hole.kind,
        default: hole.default.map(texts),
    }
}
