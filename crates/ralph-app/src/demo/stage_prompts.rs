//! The scripted agent in the stages of a task. In the project of `ralph demo --work` it writes the programs: its first claim is
//! false, which a check finds, and its first shout.sh is careless, which its own review finds. In any other project it leaves a note.
use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::agent::{leave_note, run_shell};
use super::demo_repository::commit_only;
use super::demo_stream_writer::DemoStreamWriter;
use super::work_spec::{CARELESS_SHOUT, DemoProgram, FALSE_GREET, program_of_task};

/// The request in the prompt of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestedStage {
    task: String,
    role: String,
    is_first_iteration: bool,
    is_sent_back: bool,
}

impl RequestedStage {
    /// Recognizes the prompts of stages; `None` for any other prompt.
    pub(super) fn from_prompt(prompt: &str) -> Option<Self> {
        let value = |name: &str| {
            let start = format!("- **{name}**: ");
            prompt.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
        };
        Some(Self {
            task: value("Task")?,
            role: value("Stage")?,
            is_first_iteration: value("Iteration")?.starts_with("1/"),
            is_sent_back: prompt.lines().any(|line| line == "## The Work Was Sent Back"),
        })
    }
}

pub(super) fn follow_stage(root: &Path, stage: &RequestedStage, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    let known = program_of_task(&stage.task).filter(|_| root.join("tests/shout-spaces.sh").is_file());
    match (known, stage.role.as_str()) {
        (Some(program), "coder") => write_program(root, stage, program, stream, tag),
        (Some(program), "reviewer") => review_program(root, program, stream, tag),
        (Some(program), _) => run_test(root, program, stream, tag),
        (None, "coder") => leave_note(root, stream, tag),
        (None, role) => {
            stream
                .write_result(&format!("A scripted agent can only nod to the work of others, as {role} too.\n\n{tag}"));
        }
    }
}

fn write_program(
    root: &Path,
    stage: &RequestedStage,
    program: DemoProgram,
    stream: &mut DemoStreamWriter<impl Write>,
    tag: &str,
) {
    let DemoProgram { task, file, text, test: _ } = program;
    let text = match task {
        "GREET-1" if stage.is_first_iteration && !root.join(file).exists() => {
            stream.write_text("A greeting is a greeting. The name can hardly matter.");
            FALSE_GREET
        }
        "GREET-2" if !stage.is_sent_back => CARELESS_SHOUT,
        _ => text,
    };
    let written = std::fs::write(root.join(file), text).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    stream.write_tool_call("Edit", &json!({ "file_path": file }), result);
    let message = match (stage.is_sent_back, stage.is_first_iteration) {
        (true, _) => format!("{file}: quote the name"),
        (false, true) => format!("add {file}"),
        (false, false) => format!("{file}: print the name"),
    };
    let committed = commit_only(root, &[Path::new(file)], &message).map_err(|error| error.to_string());
    let result = committed.as_ref().map(|()| message.as_str()).map_err(String::as_str);
    stream.write_tool_call("Bash", &json!({ "command": "git commit" }), result);
    stream.write_result(&format!("{file} is committed, and its test passes.\n\n{tag}"));
}

/// Reads the program, and sends it back if it does not quote the name.
fn review_program(root: &Path, program: DemoProgram, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    let file = program.file;
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    stream.write_tool_call("Read", &json!({ "file_path": file }), Ok(&text));
    let unquoted = text.lines().position(|line| line.contains(" $1 "));
    stream.write_result(&match unquoted {
        Some(line) => format!(
            "<reject>{file}, line {}: $1 is not quoted, so a name with spaces loses its second word</reject>",
            line + 1
        ),
        None => format!("{file} is short, quoted and does what the task says.\n\n{tag}"),
    });
}

/// Runs the test, and claims completion only if it passes.
fn run_test(root: &Path, program: DemoProgram, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    let tested = run_shell(root, program.test);
    stream.write_tool_call("Bash", &json!({ "command": program.test }), tested.as_deref().map_err(String::as_str));
    stream.write_result(&match tested {
        Ok(_) => format!("`{}` passes.\n\n{tag}", program.test),
        Err(_) => format!("<reject>`{}` fails</reject>", program.test),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding: N21
    #[test]
    fn the_prompt_of_a_stage_is_recognized_and_others_are_not() {
        let prompt = "# Greet\n\n- **Task**: GREET-2\n- **Stage**: coder\n- **Iteration**: 2/15\n\n\
                      ## The Work Was Sent Back\n\nThe reason: no\n";
        let stage = RequestedStage {
            task: "GREET-2".to_owned(),
            role: "coder".to_owned(),
            is_first_iteration: false,
            is_sent_back: true,
        };
        assert_eq!(RequestedStage::from_prompt(prompt), Some(stage));
        assert_eq!(RequestedStage::from_prompt("Make it. - **Task**: x"), None);
    }
}
