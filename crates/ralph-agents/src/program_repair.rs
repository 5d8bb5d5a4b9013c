//! Advice for the case that the program of an agent is on PATH but cannot be started. Starts nothing.
use std::path::Path;

use ralph_process::SpawnError;
use ralph_util::sanitize::sanitize_text;

/// How a program can be repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRepair {
    /// The message of the file, if npm left it as a placeholder.
    pub file_says: Option<String>,
    pub advice: String,
}

impl ProgramRepair {
    /// Returns the repair of a program that exists, or `None` if the error is about something else.
    #[must_use]
    pub fn for_error(error: &SpawnError) -> Option<Self> {
        let only_advice = |advice: String| Some(Self { file_says: None, advice });
        match error {
            SpawnError::NotExecutable { program, .. } => {
                only_advice(format!("make it executable: chmod +x {}", program.display()))
            }
            SpawnError::MissingInterpreter { .. } => {
                only_advice("install the interpreter, or correct the first line of the script".to_owned())
            }
            SpawnError::WrongFormat { program } => match read_stub_message(program) {
                Some(message) => Some(Self {
                    file_says: Some(message),
                    advice:
                        "npm installed only a placeholder, because it did not run the install scripts: install the \
                             agent again and allow them"
                            .to_owned(),
                }),
                None => only_advice(
                    "a script needs a first line such as #!/bin/sh; a binary must be built for this machine".to_owned(),
                ),
            },
            SpawnError::NotFound { .. }
            | SpawnError::NoSuchDirectory { .. }
            | SpawnError::ArgumentsTooLong { .. }
            | SpawnError::KeeperDied { .. }
            | SpawnError::SupervisorDied { .. }
            | SpawnError::Other { .. } => None,
        }
    }
}

/// Larger files are not placeholders.
const MAX_STUB_BYTES: u64 = 8_192;

/// Returns what the placeholder of a program says: npm leaves such a script, without a `#!` line, if it does not run the
/// install scripts of a package.
fn read_stub_message(program: &Path) -> Option<String> {
    let is_small = std::fs::metadata(program).is_ok_and(|file| file.len() <= MAX_STUB_BYTES);
    let text = is_small.then(|| std::fs::read_to_string(program).ok()).flatten()?;
    let message = text.lines().find_map(|line| line.trim().strip_prefix("echo \"")?.split_once('"'))?.0;
    (!message.is_empty()).then(|| sanitize_text(message))
}
