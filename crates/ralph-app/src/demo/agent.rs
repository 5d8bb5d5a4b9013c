//! The scripted demo agent. It edits files, runs the test and commits; in its first iteration it only claims to have
//! done so.
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::demo_repository::{FINISHED_SCRIPT, SCRIPT_FILE, commit_everything};
use super::demo_stream_writer::DemoStreamWriter;
use super::init_prompts::{self, RequestedStep};
use super::stage_prompts::{self, RequestedStage};

/// The delay between steps, so that a person can follow the output.
#[derive(Debug, Clone, Copy)]
pub struct DemoPace(pub Duration);

/// Runs the scripted agent in the repository at `root`.
pub fn play_agent(root: &Path, prompt: &str, pace: DemoPace, out: impl Write) {
    let mut stream = DemoStreamWriter::new(out, pace.0);
    let tag = requested_tag(prompt);
    stream.write_init();
    if let Some(step) = RequestedStep::from_prompt(prompt) {
        return init_prompts::follow_prompt(root, &step, &mut stream, &tag);
    }
    if let Some(stage) = RequestedStage::from_prompt(prompt) {
        return stage_prompts::follow_stage(root, &stage, &mut stream, &tag);
    }
    let is_demo_repository = root.join(SCRIPT_FILE).is_file() && root.join("test.sh").is_file();
    match (is_demo_repository, prompt.contains("was rejected")) {
        (true, false) => claim_without_work(root, &mut stream, &tag),
        (true, true) => do_work(root, &mut stream, &tag),
        (false, _) => leave_note(root, &mut stream, &tag),
    }
}

/// Reads the script, changes nothing, and claims completion.
fn claim_without_work(root: &Path, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    stream.write_text("I will look at the script first.");
    let script = std::fs::read_to_string(root.join(SCRIPT_FILE)).unwrap_or_default();
    stream.write_tool_call("Read", &json!({ "file_path": SCRIPT_FILE }), Ok(&script));
    stream.write_text("That looks simple enough, and I would rather be done.");
    stream.write_result(&format!("All titles are handled now and every test passes.\n\n{tag}"));
}

/// Edits the script, runs the test and commits.
fn do_work(root: &Path, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    stream.write_text("The claim was rejected: capitals and punctuation are not handled. Now I really do it.");
    let written = std::fs::write(root.join(SCRIPT_FILE), FINISHED_SCRIPT).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    stream.write_tool_call("Edit", &json!({ "file_path": SCRIPT_FILE }), result);
    let tested = run_shell(root, "sh test.sh");
    stream.write_tool_call("Bash", &json!({ "command": "sh test.sh" }), tested.as_deref().map_err(String::as_str));
    let message = "slugify: lower-case, and strip punctuation";
    let committed = commit_everything(root, message).map(|()| message.to_owned()).map_err(|error| error.to_string());
    stream.write_tool_call("Bash", &json!({ "command": "git commit" }), committed.as_deref().map_err(String::as_str));
    stream
        .write_result(&format!("Capitals, punctuation and outer spaces are handled; the work is committed.\n\n{tag}"));
}

/// Adds a note to `DEMO.md` and claims completion, in a repository other than the demo's.
pub(super) fn leave_note(root: &Path, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    let path = root.join("DEMO.md");
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    text.push_str("- the demo agent was here\n");
    let written = std::fs::write(&path, text).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    stream.write_tool_call("Edit", &json!({ "file_path": "DEMO.md" }), result);
    stream.write_result(&format!("I left a note in DEMO.md; more than that a scripted agent cannot do here.\n\n{tag}"));
}

pub(super) fn run_shell(root: &Path, command: &str) -> Result<String, String> {
    let output = Command::new("/bin/sh").args(["-c", command]).current_dir(root).stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// Returns the last promise tag that the prompt asks for.
fn requested_tag(prompt: &str) -> String {
    let end = "</promise>";
    let found = prompt.rfind("<promise").and_then(|start| {
        let rest = prompt.get(start..)?;
        rest.get(..rest.find(end)? + end.len())
    });
    found.unwrap_or("<promise>DONE</promise>").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A9
    #[test]
    fn the_agent_answers_with_the_requested_tag() {
        assert_eq!(requested_tag("print <promise id=\"k3f9\">OK</promise>."), "<promise id=\"k3f9\">OK</promise>");
        assert_eq!(requested_tag("just do it"), "<promise>DONE</promise>");
    }
}
