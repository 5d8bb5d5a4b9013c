//! Notifications: what reaches webhooks, Slack and scripts, when, and what a failure changes.
mod channels;
mod outbox;

use std::fs;

use serde_json::Value;

use crate::harness::{Call, Project};

/// The secret of the webhooks of these tests.
const SECRET: &str = "notify-secret-5d41402abc4b2a76b971";

/// Writes the user's configuration.
fn configure(project: &Project, targets: &str) {
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), format!("notify:\n{targets}")).unwrap();
}

/// Returns a target for a webhook at this address.
fn webhook(url: &str, more: &str) -> String {
    format!("  - {{kind: webhook, url: '{url}', secret_env: NOTIFY_SECRET{more}}}\n")
}

/// A run whose agent is blocked with these words.
fn blocked_run<'a>(project: &'a Project, words: &str) -> Call<'a> {
    let call = project.run_shell(&format!("cat > /dev/null; echo \"<blocked>{words}</blocked>\""));
    call.env("NOTIFY_SECRET", SECRET)
}

/// Returns what `notify list` says about the first target.
fn first_target(project: &Project) -> Value {
    project.ralph(["notify", "list", "--json"]).output().expect(0).json()[0].clone()
}
