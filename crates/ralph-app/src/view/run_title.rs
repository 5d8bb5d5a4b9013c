//! The line that identifies a run for people: what it was asked to do.
use ralph_core::text::prompt_title;
use ralph_engine::session_driver::SessionRunSettings;
use ralph_store::RunRow;
use ralph_util::sanitize::sanitize_text;
use serde::Deserialize;
use serde_json::Value;

/// The part of the stored settings that names the prompt. Secrets stay redacted, so that a list never needs them.
#[derive(Deserialize)]
struct StoredPrompt {
    #[serde(default)]
    prompt_title: Option<String>,
    #[serde(default)]
    prompt: Value,
}

/// Returns the first line of the prompt of a run, or the title of its task. Empty if another version of ralph wrote it.
#[must_use]
pub fn run_title(run: &RunRow) -> String {
    if let Some(session) = SessionRunSettings::parse(&run.kind, &run.settings) {
        return sanitize_text(&session.description.unwrap_or_else(|| prompt_title(&session.prompt)));
    }
    let Ok(stored) = serde_json::from_str::<StoredPrompt>(&run.settings) else { return String::new() };
    sanitize_text(&stored.prompt_title.unwrap_or_else(|| old_title(&stored.prompt)))
}

/// Returns the title of a run that was stored without one.
fn old_title(prompt: &Value) -> String {
    let text = prompt.get("text").and_then(Value::as_str).map(prompt_title);
    let task = || Some(prompt.pointer("/stage/task/title")?.as_str()?.to_owned());
    let file = || {
        let path = prompt.get("file").or_else(|| prompt.pointer("/template/path"))?;
        path.as_str().map(str::to_owned)
    };
    text.or_else(task).or_else(file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U9
    #[test]
    fn runs_of_older_versions_are_identified_too() {
        assert_eq!(old_title(&serde_json::json!({ "text": "# Fix it\nnow" })), "Fix it");
        assert_eq!(old_title(&serde_json::json!({ "stage": { "task": { "title": "Login" } } })), "Login");
        assert_eq!(old_title(&serde_json::json!({ "file": "/p/task.md" })), "/p/task.md");
        assert_eq!(old_title(&Value::Null), "");
    }
}
