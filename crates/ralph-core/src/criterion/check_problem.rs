//! Validates the fields that checks have in common in configurations, templates and tasks.
use alloc::format;
use alloc::string::String;

/// Upper limit for the retries of one check. With enough retries, any flaky check passes.
pub const MAX_CHECK_RETRIES: u32 = 10;

/// The fields of a check whose values can be invalid.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckFields<'a> {
    pub retries: u32,
    pub output_contains: Option<&'a str>,
    pub output_not_contains: Option<&'a str>,
    pub working_dir: Option<&'a str>,
}

/// An invalid field value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFieldProblem {
    /// The configuration key of the field.
    pub key: &'static str,
    pub problem: String,
    pub hint: &'static str,
}

/// Returns the first invalid field of a check. `variables` are the names of the environment variables that it sets.
#[must_use]
pub fn find_check_problem<'a>(
    fields: &CheckFields<'a>,
    mut variables: impl Iterator<Item = &'a str>,
) -> Option<CheckFieldProblem> {
    let field_problem = |key, problem, hint| Some(CheckFieldProblem { key, problem, hint });
    if fields.retries > MAX_CHECK_RETRIES {
        let problem = format!("{} is too high: the maximum is {MAX_CHECK_RETRIES}", fields.retries);
        return field_problem("retries", problem, "with more retries almost any flaky check would pass");
    }
    let outputs = [("output_contains", fields.output_contains), ("output_not_contains", fields.output_not_contains)];
    if let Some((key, _)) = outputs.into_iter().find(|(_, text)| *text == Some("")) {
        return field_problem(
            key,
            String::from("it is empty, and every output contains it"),
            "set a text or remove the key",
        );
    }
    if let Some(folder) = fields.working_dir.filter(|folder| leaves_folder(folder)) {
        let problem = format!("{folder:?} is outside the work tree");
        return field_problem("working_dir", problem, "use a folder inside the work tree");
    }
    let name = variables.find(|name| name.is_empty() || name.contains(['=', '\0']))?;
    let problem = format!("{name:?} is not a valid variable name");
    field_problem("env", problem, "a variable name is not empty and contains no `=`")
}

/// Returns whether a path leaves the folder that it is relative to.
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
        let key = |fields: CheckFields<'_>| find_check_problem(&fields, core::iter::empty()).map(|found| found.key);
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
