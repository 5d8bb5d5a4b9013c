//! The comments that tie a test to a requirement: a comment that begins with `spec:` and lists ids.
use super::requirement::Id;
use crate::tree::File;

/// So far below its comment may a function stand.
const REACH: usize = 12;

/// One id in one comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) id: Id,
    pub(super) path: String,
    pub(super) line: usize,
    /// The function that the comment stands at; the file where there is none.
    pub(super) test: String,
}

pub(super) fn marks(file: &File) -> Vec<Mark> {
    let comments = file.lines.iter().enumerate();
    comments
        .flat_map(|(index, line)| {
            let ids = line.comment.strip_prefix("spec:").unwrap_or_default();
            let ids = ids.split(',').map(first_word).filter(|id| !id.is_empty());
            // What is no id is kept as it is, so that it is reported and not passed over.
            ids.map(move |id| Mark {
                id: Id::parse(id).unwrap_or_else(|| Id(id.to_owned())),
                path: file.path.clone(),
                line: index + 1,
                test: function_at(file, index),
            })
        })
        .collect()
}

fn first_word(entry: &str) -> &str {
    let word = entry.split_whitespace().next().unwrap_or_default();
    word.trim_end_matches(['.', ';', ':'])
}

fn function_at(file: &File, index: usize) -> String {
    let names = file.lines.iter().skip(index).take(REACH).filter_map(|line| function_name(&line.code));
    names.map(str::to_owned).next().unwrap_or_else(|| "the whole file".to_owned())
}

fn function_name(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("fn ")?;
    let fits = before.is_empty() || before.ends_with(' ');
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (fits && end > 0).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[(&str, usize, &str)]) {
        let file = File::new("a.rs", code);
        let found = marks(&file);
        let found: Vec<_> =
            found.iter().map(|mark| (mark.id.0.as_str(), mark.line, mark.test.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_comment_names_the_test_below_it() {
        check("#[test] // spec: L3\nfn a_claim_counts() {}\n", &[("L3", 1, "a_claim_counts")]);
        check("// spec: L3, S4\n#[test]\nfn both() {}\n", &[("L3", 1, "both"), ("S4", 1, "both")]);
        check("/// spec: S4.\nasync fn story(s: S) {}\n", &[("S4", 1, "story")]);
        check("//! spec: F1\n", &[("F1", 1, "the whole file")]);
    }

    #[test]
    fn a_comment_about_marks_is_no_mark() {
        check("// Write `spec: L3` beside it.\nlet a = \"// spec: L4\";\n", &[]);
    }

    #[test]
    fn what_is_no_id_is_kept_to_be_reported() {
        check("// spec: later\nfn a() {}\n", &[("later", 1, "a")]);
    }
}
