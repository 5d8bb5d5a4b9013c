//! References in the code of script nodes. A shell has quotes that make any value safe; another language does not, so
//! only plain values that ralph chose itself become part of the code.
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::node::ScriptRuntime;
use super::references::{FoundReference, TextReference, find_unbraced_references};
use super::values::{TextValues, ValueError};
use super::variables::{WorkflowVariable, is_plain_value};

/// A reference whose value must not become part of the code. The script reads it from its environment instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedReference {
    pub range: Range<usize>,
    /// As it is written.
    pub reference: String,
    /// Whether the value is in the environment without more: a variable of the run or an input. Otherwise the node
    /// needs a `with:` that names it.
    pub variable: Option<String>,
}

/// Why code cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptCodeError {
    #[error("{} in the code of a script would run what its value says", .0.reference)]
    Refused(RefusedReference),
    #[error("{0}")]
    Value(#[from] ValueError),
}

impl RefusedReference {
    /// How the script gets the value instead.
    #[must_use]
    pub fn fix(&self, runtime: ScriptRuntime) -> String {
        let read = |name: &str| match runtime {
            ScriptRuntime::Bun => alloc::format!("process.env.{name}"),
            ScriptRuntime::Uv => alloc::format!("os.environ[\"{name}\"]"),
        };
        match &self.variable {
            Some(variable) => alloc::format!("read it from the environment: `{}`", read(variable)),
            None => alloc::format!(
                "add `with: {{ value: {} }}` to the node, and read `{}` in the script",
                self.reference,
                read("INPUTS_VALUE")
            ),
        }
    }
}

/// Finds the references that may not occur in code. Lines that are comments are ignored.
#[must_use]
pub fn find_refused_references(code: &str, runtime: ScriptRuntime) -> Vec<RefusedReference> {
    let found = find_unbraced_references(code).into_iter();
    found.filter(|found| !is_in_comment(code, found.range.start, runtime)).filter_map(refuse).collect()
}

/// Replaces the variables that ralph sets by their values.
pub fn substitute_script_code(
    code: &str,
    runtime: ScriptRuntime,
    values: &TextValues<'_>,
) -> Result<String, ScriptCodeError> {
    let mut text = String::with_capacity(code.len());
    let mut from = 0;
    for found in find_unbraced_references(code) {
        if is_in_comment(code, found.range.start, runtime) {
            continue;
        }
        let range = found.range.clone();
        let value = match found.reference {
            TextReference::Variable(variable) if variable.is_set_by_engine() => plain_value(variable, values)?,
            TextReference::Variable(_) | TextReference::Value(_) => match refuse(found) {
                Some(refused) => return Err(ScriptCodeError::Refused(refused)),
                None => continue,
            },
        };
        text.push_str(code.get(from..range.start).unwrap_or_default());
        text.push_str(value);
        from = range.end;
    }
    text.push_str(code.get(from..).unwrap_or_default());
    Ok(text)
}

fn plain_value<'v>(variable: WorkflowVariable, values: &TextValues<'v>) -> Result<&'v str, ValueError> {
    let value = values.variable(variable)?;
    if is_plain_value(value) { Ok(value) } else { Err(ValueError::NotPlain { variable }) }
}

fn refuse(found: FoundReference) -> Option<RefusedReference> {
    let FoundReference { range, reference } = found;
    match reference {
        TextReference::Variable(variable) if variable.is_set_by_engine() => None,
        TextReference::Variable(variable) => {
            let name = variable.name();
            Some(RefusedReference { range, reference: alloc::format!("${name}"), variable: Some(name.to_string()) })
        }
        TextReference::Value(value) => {
            let variable = value.input().map(super::shell::input_variable_name);
            Some(RefusedReference { range, reference: value.to_string(), variable })
        }
    }
}

fn is_in_comment(code: &str, at: usize, runtime: ScriptRuntime) -> bool {
    let line_start = code.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let line = code.get(line_start..at).unwrap_or_default().trim_start();
    match runtime {
        ScriptRuntime::Bun => line.starts_with("//") || line.starts_with("/*") || line.starts_with("* "),
        ScriptRuntime::Uv => line.starts_with('#'),
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::workflow::variables::VariableValues;

    fn substitute(code: &str, directory: &str) -> Result<String, ScriptCodeError> {
        let variables = VariableValues::from([(WorkflowVariable::ArtifactsDir, directory.to_string())]);
        let values = TextValues {
            output_of: &|_| None,
            previous_outputs: None,
            inputs: &BTreeMap::new(),
            variables: &variables,
        };
        substitute_script_code(code, ScriptRuntime::Bun, &values)
    }

    // spec: W6
    #[test]
    fn code_gets_the_values_that_ralph_chose_as_literals() {
        assert_eq!(substitute("read('$ARTIFACTS_DIR/a')", "/runs/1").unwrap(), "read('/runs/1/a')");
    }

    // spec: W6
    #[test]
    fn a_template_literal_of_the_code_is_not_a_reference() {
        let code = "`${ARTIFACTS_DIR}/a ${x.output}`";
        assert_eq!(substitute(code, "/runs/1").unwrap(), code);
    }

    // spec: W6
    // fault: 80
    #[test]
    fn a_value_that_could_end_a_literal_never_becomes_code() {
        let error = substitute("read('$ARTIFACTS_DIR/a')", "/runs/it's").unwrap_err();
        let expected = ValueError::NotPlain { variable: WorkflowVariable::ArtifactsDir };
        assert_eq!(error, ScriptCodeError::Value(expected));
    }

    // spec: W6
    // fault: 80
    #[test]
    fn the_output_of_a_node_in_code_is_refused_with_the_fix() {
        let Err(ScriptCodeError::Refused(refused)) = substitute("x = String.raw`$plan.output`", "/runs/1") else {
            panic!("the reference is accepted");
        };
        assert_eq!(
            refused.fix(ScriptRuntime::Bun),
            "add `with: { value: $plan.output }` to the node, and read `process.env.INPUTS_VALUE` in the script"
        );
    }

    // spec: W6
    // fault: 79
    #[test]
    fn the_message_of_the_user_in_code_is_refused_with_its_variable() {
        let refused = find_refused_references("x = '$USER_MESSAGE'", ScriptRuntime::Uv);
        let fixes: Vec<String> = refused.iter().map(|refused| refused.fix(ScriptRuntime::Uv)).collect();
        assert_eq!(fixes, ["read it from the environment: `os.environ[\"ARGUMENTS\"]`"]);
    }

    // spec: W6
    #[test]
    fn a_reference_in_a_comment_of_the_code_is_text() {
        assert!(find_refused_references("  // $plan.output\n", ScriptRuntime::Bun).is_empty());
        assert!(find_refused_references("# $plan.output\n", ScriptRuntime::Uv).is_empty());
    }
}
