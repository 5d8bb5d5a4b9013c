//! What is wrong with a check, wherever it is written: in a configuration, a template or a task.
use alloc::format;
use alloc::string::String;

/// More tries of one check would make anything pass.
pub const MAX_CHECK_RETRIES: u32 = 10;

/// What is said of a check, as far as a value of it can be wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckFields<'a> {
    pub retries: u32,
    pub output_contains: Option<&'a str>,
    pub output_not_contains: Option<&'a str>,
    pub working_dir: Option<&'a str>,
}

/// A value that cannot stay as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFieldProblem {
    /// The key, as it is written everywhere.
    pub key: &'static str,
    pub problem: String,
    pub hint: &'static str,
}

/// Returns the first thing that is wrong with a check and the variables that it sets.
#[must_use]
pub fn find_check_problem<'a>(
    parts: &CheckFields<'a>,
    mut variables: impl Iterator<Item = &'a str>,
) -> Option<CheckFieldProblem> {
    let flaw = |key, what, hint| Some(CheckFieldProblem { key, problem: what, hint });
    if parts.retries > MAX_CHECK_RETRIES {
        let what = format!("{} is too often: at most {MAX_CHECK_RETRIES}", parts.retries);
        return flaw("retries", what, "more tries would make anything pass");
    }
    let outputs = [("output_contains", parts.output_contains), ("output_not_contains", parts.output_not_contains)];
    if let Some((key, _)) = outputs.into_iter().find(|(_, text)| *text == Some("")) {
        return flaw(key, String::from("it is empty, and stands in every output"), "say what, or leave it out");
    }
    if let Some(folder) = parts.working_dir.filter(|folder| leaves_folder(folder)) {
        let what = format!("{folder:?} leads out of the work tree");
        return flaw("working_dir", what, "name a folder inside it");
    }
    let name = variables.find(|name| name.is_empty() || name.contains(['=', '\0']))?;
    flaw("env", format!("{name:?} is no name of a variable"), "a name has no `=` and is not empty")
}

/// Tells whether a path leaves the folder from which it is meant.
fn leaves_folder(path: &str) -> bool {
    let mut depth = 0_i32;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    path.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V2, V12
    #[test]
    fn a_check_follows_the_same_rules_wherever_it_is_written() {
        let key = |parts: CheckFields<'_>| find_check_problem(&parts, core::iter::empty()).map(|flaw| flaw.key);
        for folder in [".", "src", "a/../b", "./x//y"] {
            assert_eq!(key(CheckFields { retries: 10, working_dir: Some(folder), ..CheckFields::default() }), None);
        }
        assert_eq!(key(CheckFields { retries: 11, ..CheckFields::default() }), Some("retries"));
        assert_eq!(key(CheckFields { output_contains: Some(""), ..CheckFields::default() }), Some("output_contains"));
        assert_eq!(
            key(CheckFields { output_not_contains: Some(""), ..CheckFields::default() }),
            Some("output_not_contains")
        );
        for folder in ["..", "../x", "a/../../b", "/etc"] {
            assert_eq!(key(CheckFields { working_dir: Some(folder), ..CheckFields::default() }), Some("working_dir"));
        }
        for name in ["", "A=B", "A\0"] {
            let found = find_check_problem(&CheckFields::default(), ["GOOD", name].into_iter()).unwrap();
            assert_eq!(found.key, "env", "{name:?}");
        }
    }
}
