//! `cargo xtask spec`: lists which requirements of `docs/requirements.md` have tests, according to `spec:` comments.
//! Requirements in `docs/delivered.txt` must have one.
mod requirement;
mod spec_comment;

use std::collections::BTreeMap;

use crate::error::{Result, XtaskError};
use crate::out;
use crate::repository::RepositoryFiles;

use requirement::{Requirement, RequirementId};
use spec_comment::SpecComment;

const REQUIREMENTS: &str = "docs/requirements.md";
const DELIVERED: &str = "docs/delivered.txt";

/// The requirements, the comments that refer to them, and the delivered ids.
struct RequirementCoverage {
    requirements: Vec<Requirement>,
    comments: Vec<SpecComment>,
    delivered: Vec<RequirementId>,
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    let mut coverage = RequirementCoverage::read(&RepositoryFiles::read()?)?;
    match args {
        [] => {}
        [flag, ids] if flag == "--require" => coverage.delivered = requirement::parse_comma_separated_ids(ids)?,
        _ => {
            return Err(
                XtaskError::new("unknown arguments for spec").with_hint("usage: cargo xtask spec [--require L1,L2,…]")
            );
        }
    }
    out::print_line(&coverage.format_report());
    coverage.ensure_covered()
}

/// Fails if a delivered requirement has no test, or a comment names an unknown requirement.
pub(crate) fn check() -> Result<()> {
    RequirementCoverage::read(&RepositoryFiles::read()?)?.ensure_covered()
}

impl RequirementCoverage {
    fn read(repository: &RepositoryFiles) -> Result<Self> {
        let text = |path: &str| {
            repository
                .get(path)
                .map(|file| file.text.as_str())
                .ok_or_else(|| XtaskError::new(format!("{path} is missing")))
        };
        Ok(Self {
            requirements: requirement::parse_requirements(text(REQUIREMENTS)?),
            comments: repository.rust_files().flat_map(spec_comment::find_spec_comments).collect(),
            delivered: requirement::parse_id_list(text(DELIVERED)?)?,
        })
    }

    fn comments_by_requirement(&self) -> BTreeMap<&RequirementId, Vec<&SpecComment>> {
        let mut tests: BTreeMap<&RequirementId, Vec<&SpecComment>> = BTreeMap::new();
        for mark in &self.comments {
            tests.entry(&mark.id).or_default().push(mark);
        }
        tests
    }

    fn format_report(&self) -> String {
        let tests = self.comments_by_requirement();
        let mut lines = Vec::new();
        let (with, without): (Vec<_>, Vec<_>) =
            self.requirements.iter().partition(|requirement| tests.contains_key(&requirement.id));
        for requirement in &with {
            let comments = &tests[&requirement.id];
            lines.push(format!("{:<4} {:>3}  {}", requirement.id.0, comments.len(), requirement.summary));
            lines
                .extend(comments.iter().map(|comment| format!("            {} ({})", comment.test_name, comment.path)));
        }
        lines.push(String::new());
        lines.push("without a test:".to_owned());
        lines.extend(without.iter().map(|requirement| format!("{:<4}      {}", requirement.id.0, requirement.summary)));
        lines.push(String::new());
        lines.push(format!("{} of {} requirements have tests", with.len(), self.requirements.len()));
        lines.join("\n")
    }

    fn ensure_covered(&self) -> Result<()> {
        let known = |id: &RequirementId| self.requirements.iter().any(|requirement| requirement.id == *id);
        let mut problems: Vec<String> = Vec::new();
        for SpecComment { id, path, line, .. } in self.comments.iter().filter(|comment| !known(&comment.id)) {
            problems.push(format!("{path}:{line}: {REQUIREMENTS} has no requirement {:?}", id.0));
        }
        let tests = self.comments_by_requirement();
        for id in &self.delivered {
            if !known(id) {
                problems.push(format!("{DELIVERED}: {REQUIREMENTS} has no requirement {}", id.0));
            } else if !tests.contains_key(id) {
                problems.push(format!("{}: delivered, but no test refers to it", id.0));
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(XtaskError::new(format!("requirements and tests are inconsistent in {} places", problems.len()))
            .with_details(problems.join("\n"))
            .with_hint(format!(
                "add `// spec: ID` to a test of the requirement (`#[test] // spec: L3`), or correct {DELIVERED}"
            )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: (&str, &str) = (REQUIREMENTS, "# What\n- L1 A pure machine.\n- L2 Outcomes: many.\n");

    fn read_coverage(delivered: &str, code: &str) -> RequirementCoverage {
        RequirementCoverage::read(&RepositoryFiles::from_texts(&[DOCUMENT, (DELIVERED, delivered), ("a.rs", code)]))
            .unwrap()
    }

    #[test]
    fn a_delivered_requirement_must_have_a_test() {
        assert_eq!(read_coverage("L1\n", "#[test] // spec: L1\nfn a() {}\n").ensure_covered(), Ok(()));
        let message =
            read_coverage("L1\nL2\n", "#[test] // spec: L1\nfn a() {}\n").ensure_covered().unwrap_err().to_string();
        assert!(message.starts_with("L2: delivered, but no test refers to it\n"), "{message}");
    }

    #[test]
    fn a_comment_with_an_unknown_requirement_is_a_problem() {
        let message = read_coverage("", "\n// spec: L1, L9\nfn a() {}\n").ensure_covered().unwrap_err().to_string();
        assert!(message.starts_with("a.rs:2: docs/requirements.md has no requirement \"L9\"\n"), "{message}");
        assert!(read_coverage("L9\n", "").ensure_covered().is_err());
    }

    #[test]
    fn the_report_names_tests_and_gaps() {
        let report = read_coverage("", "#[test] // spec: L1\nfn the_machine_is_pure() {}\n").format_report();
        assert!(report.contains("L1     1  A pure machine.\n            the_machine_is_pure (a.rs)"), "{report}");
        assert!(report.contains("without a test:\nL2        Outcomes: many."), "{report}");
        assert!(report.ends_with("1 of 2 requirements have tests"), "{report}");
    }

    #[test]
    fn both_documents_are_required() {
        assert!(RequirementCoverage::read(&RepositoryFiles::from_texts(&[DOCUMENT])).is_err());
    }
}
