//! Which CI system reads the output.
use std::path::PathBuf;

/// The CI system that runs this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CiSystem {
    /// It folds groups of lines, and shows a summary of the job in Markdown if it names a file for it.
    GithubActions {
        summary_file: Option<PathBuf>,
    },
    Other,
}

/// Returns the CI system that these variables name, if any.
#[must_use]
pub fn detect_ci_system(variable: impl Fn(&str) -> Option<String>) -> Option<CiSystem> {
    if variable("GITHUB_ACTIONS").as_deref() == Some("true") {
        let summary_file = variable("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from);
        return Some(CiSystem::GithubActions { summary_file });
    }
    variable("CI").filter(|value| !matches!(value.as_str(), "" | "0" | "false")).map(|_| CiSystem::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> Option<CiSystem> {
        detect_ci_system(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test] // spec: U1
    fn a_ci_system_is_recognised_by_its_variables() {
        assert_eq!(detect(&[]), None);
        assert_eq!(detect(&[("CI", "false")]), None);
        assert_eq!(detect(&[("CI", "true")]), Some(CiSystem::Other));
        let github = [("CI", "true"), ("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", "/tmp/summary")];
        assert_eq!(detect(&github), Some(CiSystem::GithubActions { summary_file: Some("/tmp/summary".into()) }));
    }
}
