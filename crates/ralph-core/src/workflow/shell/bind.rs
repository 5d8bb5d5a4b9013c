//! Gives a rewritten script its values: in the environment, or in files if they are too large for it.
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{RewrittenScript, ScriptValue, ValueUsage};
use crate::workflow::values::{TextValues, ValueError};
use crate::workflow::variables::{WorkflowVariable, is_plain_value};

/// A larger value comes from a file. Linux allows 128 KiB for a variable with its name.
pub const MAX_VARIABLE_BYTES: usize = 100 * 1024;
/// Further values come from files once the environment has this size. Linux allows 2 MiB with the arguments.
const MAX_ENVIRONMENT_BYTES: usize = 512 * 1024;
/// Replaces a value that is not a number. The shell reports it as a syntax error of the expression.
const NOT_A_NUMBER: &str = "1 (not a number)";
/// Ends the content of a value file, because the shell removes the newlines at the end of what it reads.
const FILE_END: char = 'x';

/// A script with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundScript {
    /// The script for `bash`. It reads the files first.
    pub text: String,
    pub environment: Vec<(String, String)>,
    /// Files that the caller writes into the directory before it starts the script.
    pub files: Vec<ValueFile>,
}

/// A value that is too large for the environment. The file has the name of the variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueFile {
    pub variable: String,
    pub content: String,
}

/// The name under which scripts find an input in their environment: `INPUTS_NAME`.
#[must_use]
pub fn input_variable_name(input: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("INPUTS_{}", input.chars().map(letter).collect::<String>())
}

impl RewrittenScript {
    /// Resolves the values of the script. `directory` is where the caller writes the files; no other script uses it.
    pub fn bind(&self, values: &TextValues<'_>, directory: &str) -> Result<BoundScript, ValueError> {
        for variable in &self.spliced_variables {
            if !is_plain_value(values.variable(*variable)?) {
                return Err(ValueError::NotPlain { variable: *variable });
            }
        }
        if self.uses_base_branch {
            values.variable(WorkflowVariable::BaseBranch)?;
        }
        let mut placement = ValuePlacement::default();
        for value in &self.values {
            placement.add(value.name.clone(), &value_for_shell(value, values)?);
        }
        for (variable, text) in values.variables {
            for name in variable.names() {
                placement.add((*name).to_string(), text);
            }
        }
        for (name, text) in values.inputs {
            placement.add(input_variable_name(name), text);
        }
        let text = format!("{}{}", placement.prologue(directory), self.text);
        Ok(BoundScript { text, environment: placement.environment, files: placement.files })
    }
}

fn value_for_shell<'v>(value: &ScriptValue, values: &TextValues<'v>) -> Result<Cow<'v, str>, ValueError> {
    let text = values.value_of(&value.reference)?;
    Ok(match value.usage {
        ValueUsage::Text => text,
        ValueUsage::Number if is_integer(text.trim()) => Cow::Owned(text.trim().to_string()),
        ValueUsage::Number => Cow::Borrowed(NOT_A_NUMBER),
    })
}

/// Whether the shell reads the text as one number. An empty text is 0.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[derive(Default)]
struct ValuePlacement {
    environment: Vec<(String, String)>,
    environment_bytes: usize,
    files: Vec<ValueFile>,
}

impl ValuePlacement {
    /// Places a value. A shell cannot hold NUL characters, so they are removed.
    fn add(&mut self, name: String, text: &str) {
        let mut value = text.replace('\0', "");
        let bytes = name.len() + value.len() + 2;
        if value.len() > MAX_VARIABLE_BYTES || self.environment_bytes + bytes > MAX_ENVIRONMENT_BYTES {
            value.push(FILE_END);
            self.files.push(ValueFile { variable: name, content: value });
        } else {
            self.environment_bytes += bytes;
            self.environment.push((name, value));
        }
    }

    /// The commands that read the files. They are on the first line of the script, so that line numbers stay the same.
    fn prologue(&self, directory: &str) -> String {
        let directory = directory.replace('\'', "'\\''");
        let read = |file: &ValueFile| {
            let name = &file.variable;
            format!("{name}=$(<'{directory}/{name}') || exit 1; {name}=${{{name}%{FILE_END}}}; ")
        };
        self.files.iter().map(read).collect()
    }
}
