//! The scripted agent. It really edits files, really runs the test and really commits; the first time it only
//! says so.
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::method::{self, Asked};
use super::speech::Voice;
use super::stage::{FINISHED, SCRIPT, commit};

/// How fast the agent works, so that a person can follow.
#[derive(Debug, Clone, Copy)]
pub struct Pace(pub Duration);

/// Plays the agent on the repository in `root` with the prompt that it was given.
pub fn play(root: &Path, prompt: &str, pace: Pace, out: impl Write) {
    let mut voice = Voice::new(out, pace.0);
    let tag = asked_tag(prompt);
    voice.starts();
    if let Some(asked) = Asked::of(prompt) {
        return method::follow(root, &asked, &mut voice, &tag);
    }
    let on_stage = root.join(SCRIPT).is_file() && root.join("test.sh").is_file();
    match (on_stage, prompt.contains("was rejected")) {
        (true, false) => lie(root, &mut voice, &tag),
        (true, true) => work(root, &mut voice, &tag),
        (false, _) => note(root, &mut voice, &tag),
    }
}

/// Looks at the task, does nothing, and claims that it is done.
fn lie(root: &Path, voice: &mut Voice<impl Write>, tag: &str) {
    voice.says("I will look at the script first.");
    let script = std::fs::read_to_string(root.join(SCRIPT)).unwrap_or_default();
    voice.uses("Read", &json!({ "file_path": SCRIPT }), Ok(&script));
    voice.says("That looks simple enough, and I would rather be done.");
    voice.finishes(&format!("All titles are handled now and every test passes.\n\n{tag}"));
}

/// Does the work.
fn work(root: &Path, voice: &mut Voice<impl Write>, tag: &str) {
    voice.says("The claim was rejected: capitals and punctuation are not handled. Now I really do it.");
    let written = std::fs::write(root.join(SCRIPT), FINISHED).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    voice.uses("Edit", &json!({ "file_path": SCRIPT }), result);
    let tested = shell(root, "sh test.sh");
    voice.uses("Bash", &json!({ "command": "sh test.sh" }), tested.as_deref().map_err(String::as_str));
    let message = "slugify: lower-case, and strip punctuation";
    let committed = commit(root, message).map(|()| message.to_owned()).map_err(|error| error.to_string());
    voice.uses("Bash", &json!({ "command": "git commit" }), committed.as_deref().map_err(String::as_str));
    voice.finishes(&format!(
        "Capitals, punctuation and outer spaces are handled; the work is committed.\n\n{tag}"
    ));
}

/// In a repository that it does not know, leaves a note and claims.
fn note(root: &Path, voice: &mut Voice<impl Write>, tag: &str) {
    let path = root.join("DEMO.md");
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    text.push_str("- the demo agent was here\n");
    let written = std::fs::write(&path, text).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    voice.uses("Edit", &json!({ "file_path": "DEMO.md" }), result);
    voice.finishes(&format!(
        "I left a note in DEMO.md; more than that a scripted agent cannot do here.\n\n{tag}"
    ));
}

fn shell(root: &Path, command: &str) -> Result<String, String> {
    let output =
        Command::new("/bin/sh").args(["-c", command]).current_dir(root).stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// Returns the last promise tag that the prompt asks for.
fn asked_tag(prompt: &str) -> String {
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
    fn the_agent_answers_with_the_tag_that_it_was_asked_for() {
        assert_eq!(
            asked_tag("print <promise id=\"k3f9\">OK</promise>."),
            "<promise id=\"k3f9\">OK</promise>"
        );
        assert_eq!(asked_tag("just do it"), "<promise>DONE</promise>");
    }
}
