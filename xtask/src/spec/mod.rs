//! `cargo xtask spec`: which requirements of `docs/requirements.md` have tests, by the `spec:` comments beside them.
//! What `docs/delivered.txt` lists must have one.
mod mark;
mod requirement;

use std::collections::BTreeMap;

use crate::failure::{Failure, Result};
use crate::out;
use crate::tree::Tree;

use mark::Mark;
use requirement::{Id, Requirement};

const REQUIREMENTS: &str = "docs/requirements.md";
const DELIVERED: &str = "docs/delivered.txt";

/// The requirements, the comments that name them, and what was promised.
struct Coverage {
    requirements: Vec<Requirement>,
    marks: Vec<Mark>,
    delivered: Vec<Id>,
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    let mut coverage = Coverage::read(&Tree::read()?)?;
    match args {
        [] => {}
        [flag, ids] if flag == "--require" => coverage.delivered = requirement::ids(ids)?,
        _ => {
            return Err(Failure::new("spec does not know these arguments")
                .hint("cargo xtask spec [--require L1,L2,…]"));
        }
    }
    out::line(&coverage.report());
    coverage.verdict()
}

/// Fails when something delivered has no test, or a comment names what does not exist.
pub(crate) fn check() -> Result<()> {
    Coverage::read(&Tree::read()?)?.verdict()
}

impl Coverage {
    fn read(tree: &Tree) -> Result<Self> {
        let text = |path: &str| {
            tree.get(path)
                .map(|file| file.text.as_str())
                .ok_or_else(|| Failure::new(format!("{path} is missing")))
        };
        Ok(Self {
            requirements: requirement::read(text(REQUIREMENTS)?),
            marks: tree.rust().flat_map(mark::marks).collect(),
            delivered: requirement::list(text(DELIVERED)?)?,
        })
    }

    fn tests(&self) -> BTreeMap<&Id, Vec<&Mark>> {
        let mut tests: BTreeMap<&Id, Vec<&Mark>> = BTreeMap::new();
        for mark in &self.marks {
            tests.entry(&mark.id).or_default().push(mark);
        }
        tests
    }

    fn report(&self) -> String {
        let tests = self.tests();
        let mut lines = Vec::new();
        let (with, without): (Vec<_>, Vec<_>) =
            self.requirements.iter().partition(|requirement| tests.contains_key(&requirement.id));
        for requirement in &with {
            let marks = &tests[&requirement.id];
            lines.push(format!("{:<4} {:>3}  {}", requirement.id.0, marks.len(), requirement.summary));
            lines.extend(marks.iter().map(|mark| format!("            {} ({})", mark.test, mark.path)));
        }
        lines.push(String::new());
        lines.push("without a test:".to_owned());
        lines.extend(
            without.iter().map(|requirement| format!("{:<4}      {}", requirement.id.0, requirement.summary)),
        );
        lines.push(String::new());
        lines.push(format!("{} of {} requirements have tests", with.len(), self.requirements.len()));
        lines.join("\n")
    }

    fn verdict(&self) -> Result<()> {
        let known = |id: &Id| self.requirements.iter().any(|requirement| requirement.id == *id);
        let mut wrong: Vec<String> = Vec::new();
        for Mark { id, path, line, .. } in self.marks.iter().filter(|mark| !known(&mark.id)) {
            wrong.push(format!("{path}:{line}: {REQUIREMENTS} has no requirement {:?}", id.0));
        }
        let tests = self.tests();
        for id in &self.delivered {
            if !known(id) {
                wrong.push(format!("{DELIVERED}: {REQUIREMENTS} has no requirement {}", id.0));
            } else if !tests.contains_key(id) {
                wrong.push(format!("{}: it is delivered, and no test names it", id.0));
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!("the requirements and the tests disagree in {} places", wrong.len()))
            .details(wrong.join("\n"))
            .hint(format!("name the requirement beside the test that shows it (`#[test] // spec: L3`), or correct {DELIVERED}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: (&str, &str) = (REQUIREMENTS, "# What\n- L1 A pure machine.\n- L2 Outcomes: many.\n");

    fn coverage(delivered: &str, code: &str) -> Coverage {
        Coverage::read(&Tree::of(&[DOCUMENT, (DELIVERED, delivered), ("a.rs", code)])).unwrap()
    }

    #[test]
    fn what_is_delivered_must_have_a_test() {
        assert_eq!(coverage("L1\n", "#[test] // spec: L1\nfn a() {}\n").verdict(), Ok(()));
        let said =
            coverage("L1\nL2\n", "#[test] // spec: L1\nfn a() {}\n").verdict().unwrap_err().to_string();
        assert!(said.starts_with("L2: it is delivered, and no test names it\n"), "{said}");
    }

    #[test]
    fn a_comment_that_names_nothing_is_wrong() {
        let said = coverage("", "\n// spec: L1, L9\nfn a() {}\n").verdict().unwrap_err().to_string();
        assert!(said.starts_with("a.rs:2: docs/requirements.md has no requirement \"L9\"\n"), "{said}");
        assert!(coverage("L9\n", "").verdict().is_err());
    }

    #[test]
    fn the_report_names_tests_and_gaps() {
        let report = coverage("", "#[test] // spec: L1\nfn the_machine_is_pure() {}\n").report();
        assert!(
            report.contains("L1     1  A pure machine.\n            the_machine_is_pure (a.rs)"),
            "{report}"
        );
        assert!(report.contains("without a test:\nL2        Outcomes: many."), "{report}");
        assert!(report.ends_with("1 of 2 requirements have tests"), "{report}");
    }

    #[test]
    fn both_documents_must_be_there() {
        assert!(Coverage::read(&Tree::of(&[DOCUMENT])).is_err());
    }
}
