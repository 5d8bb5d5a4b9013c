//! The built-in templates. Their commands are argument lists, so no shell parses the values.
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{CriterionTemplate, ParameterKind, TemplateParameter};
use crate::criterion::{CheckCommand, Criterion, ExternalCheck, VerificationMethod};

/// One row of the table.
struct BuiltInTemplate {
    name: &'static str,
    about: &'static str,
    command: &'static [&'static str],
    parameters: &'static [BuiltInParameter],
    timeout_minutes: u64,
    /// A text that the program prints only if a test ran and passed: some programs also succeed without any test.
    output_contains: Option<&'static str>,
}

struct BuiltInParameter {
    name: &'static str,
    about: &'static str,
    kind: ParameterKind,
    /// The default values. `None` means that the parameter is required.
    default: Option<&'static [&'static str]>,
}

const fn extra_arguments(about: &'static str) -> BuiltInParameter {
    BuiltInParameter { name: "args", about, kind: ParameterKind::Words, default: Some(&[]) }
}

const PATH_PARAMETER: BuiltInParameter = BuiltInParameter {
    name: "path",
    about: "The folder or file to check",
    kind: ParameterKind::Path,
    default: Some(&["."]),
};
const PERCENT_KIND: ParameterKind = ParameterKind::WholeNumber { min: 0, max: 100 };

const BUILT_IN_TEMPLATES: &[BuiltInTemplate] = &[
    BuiltInTemplate {
        name: "cargo-test",
        about: "All tests of a Rust workspace pass",
        command: &["cargo", "test", "--workspace", "{{args}}"],
        parameters: &[extra_arguments("Additional arguments, such as --all-features")],
        timeout_minutes: 30,
        output_contains: Some(" ... ok"),
    },
    BuiltInTemplate {
        name: "cargo-clippy",
        about: "Clippy reports no warnings in a Rust workspace",
        command: &["cargo", "clippy", "--workspace", "--all-targets", "{{args}}", "--", "-D", "warnings"],
        parameters: &[extra_arguments("Additional arguments for cargo")],
        timeout_minutes: 30,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "npm-test",
        about: "`npm test` passes",
        command: &["npm", "test", "--prefix", "{{path}}"],
        parameters: &[PATH_PARAMETER],
        timeout_minutes: 15,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "npm-run",
        about: "A script in package.json passes",
        command: &["npm", "run", "--prefix", "{{path}}", "--", "{{script}}"],
        parameters: &[
            PATH_PARAMETER,
            BuiltInParameter {
                name: "script",
                about: "The name of the script",
                kind: ParameterKind::Text,
                default: None,
            },
        ],
        timeout_minutes: 15,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "pytest",
        about: "All pytest tests pass",
        command: &["python3", "-m", "pytest", "{{args}}", "--", "{{paths}}"],
        parameters: &[
            extra_arguments("Additional arguments"),
            BuiltInParameter {
                name: "paths",
                about: "Folders or files with tests",
                kind: ParameterKind::Paths,
                default: Some(&["."]),
            },
        ],
        timeout_minutes: 15,
        output_contains: Some(" passed"),
    },
    BuiltInTemplate {
        name: "pytest-coverage",
        about: "All pytest tests pass and reach the minimum coverage (needs pytest-cov)",
        command: &["python3", "-m", "pytest", "--cov={{source}}", "--cov-fail-under={{min}}", "--", "{{paths}}"],
        parameters: &[
            BuiltInParameter {
                name: "min",
                about: "Minimum coverage in percent",
                kind: PERCENT_KIND,
                default: Some(&["80"]),
            },
            BuiltInParameter {
                name: "source",
                about: "The code to measure",
                kind: ParameterKind::Path,
                default: Some(&["."]),
            },
            BuiltInParameter {
                name: "paths",
                about: "Folders or files with tests",
                kind: ParameterKind::Paths,
                default: Some(&["."]),
            },
        ],
        timeout_minutes: 15,
        output_contains: Some(" passed"),
    },
    BuiltInTemplate {
        name: "go-test",
        about: "All tests of a Go module pass",
        command: &["go", "test", "{{args}}", "{{packages}}"],
        parameters: &[
            extra_arguments("Additional arguments, such as -race"),
            BuiltInParameter {
                name: "packages",
                about: "The packages to test",
                kind: ParameterKind::Paths,
                default: Some(&["./..."]),
            },
        ],
        timeout_minutes: 15,
        output_contains: Some("ok  "),
    },
    BuiltInTemplate {
        name: "make",
        about: "A Makefile target passes",
        command: &["make", "--", "{{target}}"],
        parameters: &[BuiltInParameter {
            name: "target",
            about: "The target",
            kind: ParameterKind::Text,
            default: Some(&["test"]),
        }],
        timeout_minutes: 15,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "lint-clean",
        about: "A linter reports no problems",
        command: &["{{linter}}", "{{args}}"],
        parameters: &[
            BuiltInParameter {
                name: "linter",
                about: "The program, such as ruff or eslint",
                kind: ParameterKind::Path,
                default: None,
            },
            extra_arguments("Its arguments, such as check src"),
        ],
        timeout_minutes: 10,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "files-exist",
        about: "Files exist and are not empty",
        command: &[
            "/bin/sh",
            "-c",
            "for file; do test -s \"$file\" || { echo \"missing or empty: $file\"; exit 1; }; done",
            "files-exist",
            "{{files}}",
        ],
        parameters: &[BuiltInParameter {
            name: "files",
            about: "The files, relative to the work tree",
            kind: ParameterKind::Paths,
            default: None,
        }],
        timeout_minutes: 1,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "no-todos",
        about: "No file tracked by git contains a marker such as TODO",
        command: &[
            "/bin/sh",
            "-c",
            "git grep -nawF -e \"$1\" -- \"$2\"; case $? in 0) exit 1;; 1) exit 0;; *) exit 126;; esac",
            "no-todos",
            "{{mark}}",
            "{{path}}",
        ],
        parameters: &[
            PATH_PARAMETER,
            BuiltInParameter {
                name: "mark",
                about: "The word that must not occur",
                kind: ParameterKind::Text,
                default: Some(&["TODO"]),
            },
        ],
        timeout_minutes: 1,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "http-health",
        about: "A URL responds with the expected status (needs curl)",
        command: &[
            "/bin/sh",
            "-c",
            "command -v curl >/dev/null || exit 127; status=$(curl --silent --show-error --max-time 20 --output /dev/null --write-out '%{http_code}' --url \"$1\"); echo \"$status\"; test \"$status\" = \"$2\"",
            "http-health",
            "{{url}}",
            "{{status}}",
        ],
        parameters: &[
            BuiltInParameter { name: "url", about: "The URL", kind: ParameterKind::Url, default: None },
            BuiltInParameter {
                name: "status",
                about: "The expected HTTP status",
                kind: ParameterKind::WholeNumber { min: 100, max: 599 },
                default: Some(&["200"]),
            },
        ],
        timeout_minutes: 1,
        output_contains: None,
    },
    BuiltInTemplate {
        name: "command-succeeds",
        about: "A program succeeds",
        command: &["{{program}}", "{{args}}"],
        parameters: &[
            BuiltInParameter {
                name: "program",
                about: "The program; a path with a slash is relative to the work tree",
                kind: ParameterKind::Path,
                default: None,
            },
            extra_arguments("Its arguments"),
        ],
        timeout_minutes: 5,
        output_contains: None,
    },
];

/// Returns all built-in templates, sorted by name.
#[must_use]
pub fn built_in_templates() -> Vec<CriterionTemplate> {
    let mut all: Vec<CriterionTemplate> = BUILT_IN_TEMPLATES.iter().map(to_template).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn to_template(row: &BuiltInTemplate) -> CriterionTemplate {
    let command = CheckCommand::Argv(row.command.iter().map(ToString::to_string).collect());
    let check = ExternalCheck {
        timeout_ms: row.timeout_minutes * 60_000,
        output_contains: row.output_contains.map(ToOwned::to_owned),
        ..ExternalCheck::new(command)
    };
    CriterionTemplate {
        name: row.name.to_owned(),
        about: row.about.to_owned(),
        parameters: row.parameters.iter().map(to_parameter).collect(),
        criterion: Criterion::from_method(VerificationMethod::External(check)),
    }
}

fn to_parameter(parameter: &BuiltInParameter) -> TemplateParameter {
    let texts = |values: &[&str]| values.iter().map(|value| String::from(*value)).collect();
    TemplateParameter {
        name: parameter.name.to_owned(),
        about: parameter.about.to_owned(),
        kind: parameter.kind,
        default: parameter.default.map(texts),
    }
}
