//! Finds the comments that link a test to requirements: they begin with `spec:` and list ids.
use super::requirement::RequirementId;
use crate::repository::RepositoryFile;

/// Maximum distance between a comment and its function.
const MAX_LINES_TO_FUNCTION: usize = 12;

/// A requirement id in a comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SpecComment {
    pub(super) id: RequirementId,
    pub(super) path: String,
    pub(super) line: usize,
    /// The function below the comment, or a name for the whole file.
    pub(super) test_name: String,
}

pub(super) fn find_spec_comments(file: &RepositoryFile) -> Vec<SpecComment> {
    let comments = file.lines.iter().enumerate();
    comments
        .flat_map(|(index, line)| {
            let ids = line.comment.strip_prefix("spec:").unwrap_or_default();
            let ids = ids.split(',').map(first_word).filter(|id| !id.is_empty());
            // Invalid ids are kept, so that they are reported.
            ids.map(move |id| SpecComment {
                id: RequirementId::parse(id).unwrap_or_else(|| RequirementId(id.to_owned())),
                path: file.path.clone(),
                line: index + 1,
                test_name: function_at(file, index),
            })
        })
        .collect()
}

fn first_word(entry: &str) -> &str {
    let word = entry.split_whitespace().next().unwrap_or_default();
    word.trim_end_matches(['.', ';', ':'])
}

fn function_at(file: &RepositoryFile, index: usize) -> String {
    let names = file.lines.iter().skip(index).take(MAX_LINES_TO_FUNCTION).filter_map(|line| function_name(&line.code));
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
    fn assert_comments(code: &str, expected: &[(&str, usize, &str)]) {
        let file = RepositoryFile::new("a.rs", code);
        let found = find_spec_comments(&file);
        let found: Vec<_> =
            found.iter().map(|comment| (comment.id.0.as_str(), comment.line, comment.test_name.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_comment_names_the_test_below_it() {
        assert_comments("#[test] // spec: L3\nfn a_claim_counts() {}\n", &[("L3", 1, "a_claim_counts")]);
        assert_comments("// spec: L3, S4\n#[test]\nfn both() {}\n", &[("L3", 1, "both"), ("S4", 1, "both")]);
        assert_comments("/// spec: S4.\nasync fn story(s: S) {}\n", &[("S4", 1, "story")]);
        assert_comments("//! spec: F1\n", &[("F1", 1, "the whole file")]);
    }

    #[test]
    fn a_comment_about_spec_comments_is_not_one() {
        assert_comments("// Write `spec: L3` beside it.\nlet a = \"// spec: L4\";\n", &[]);
    }

    #[test]
    fn an_invalid_id_is_kept_so_that_it_is_reported() {
        assert_comments("// spec: later\nfn a() {}\n", &[("later", 1, "a")]);
    }
}
