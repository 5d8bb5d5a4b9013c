//! Whether Codex runs a hook: only if its `config.toml` holds the hash of that very hook, under the place where it stands. It is
//! read, and never written: trust is the user's.
use std::path::Path;

use serde_json::{Value, json};
use toml::Table;

use crate::install::merge::Standing;
use ralph_util::digest::sha256_hex;

/// How long Codex waits where a hook does not say it.
const CODEX_DEFAULT_TIMEOUT_SECONDS: u64 = 600;

/// Why Codex does not run a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrustRefusal {
    NotTrusted,
    Changed,
    Disabled,
}

/// Says what keeps Codex from running these hooks of a file, according to its configuration.
pub(super) fn describe_refusals(config: &str, file: &Path, hooks: &[Standing]) -> Option<String> {
    let config: Table = match config.parse() {
        Ok(config) => config,
        Err(error) => return Some(format!("Codex cannot read its config.toml: {}", first_line(&error))),
    };
    let why = |hook: &Standing| Some((find_refusal(&config, file, hook)?, hook.event.clone()));
    let refused: Vec<_> = hooks.iter().filter_map(why).collect();
    let told = [
        (TrustRefusal::NotTrusted, "Codex does not trust them yet"),
        (TrustRefusal::Changed, "Codex trusts what stood there before, and they have changed since"),
        (TrustRefusal::Disabled, "they are switched off in Codex"),
    ];
    let words = told.into_iter().filter_map(|(kind, words)| {
        let events: Vec<_> = refused.iter().filter(|(why, _)| *why == kind).map(|(_, event)| event.as_str()).collect();
        (!events.is_empty()).then(|| format!("{words} ({})", events.join(", ")))
    });
    let words = words.collect::<Vec<_>>().join("; ");
    (!words.is_empty()).then(|| format!("{words}: start `codex`, and type /hooks"))
}

fn first_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}

fn find_refusal(config: &Table, file: &Path, standing: &Standing) -> Option<TrustRefusal> {
    let event = to_snake_case(&standing.event);
    // It may have been started through a link.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let state = [file, &real].into_iter().find_map(|file| {
        let key = format!("{}:{event}:{}:{}", file.display(), standing.group, standing.at);
        config.get("hooks")?.get("state")?.get(key)
    });
    let Some(state) = state else { return Some(TrustRefusal::NotTrusted) };
    if state.get("enabled").and_then(toml::Value::as_bool) == Some(false) {
        return Some(TrustRefusal::Disabled);
    }
    match state.get("trusted_hash").and_then(toml::Value::as_str) {
        None => Some(TrustRefusal::NotTrusted),
        Some(hash) if hash == trust_hash(&event, &standing.hook) => None,
        Some(_) => Some(TrustRefusal::Changed),
    }
}

/// Writes the name of an event as Codex does: `UserPromptSubmit` is `user_prompt_submit`.
fn to_snake_case(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Returns the hash of a hook as Codex takes it: over its JSON with sorted names, without spaces, as it was understood.
fn trust_hash(event: &str, hook: &Value) -> String {
    let seconds = hook["timeout"].as_u64().unwrap_or(CODEX_DEFAULT_TIMEOUT_SECONDS).max(1);
    let is_async = hook["async"].as_bool().unwrap_or(false);
    let mut known = json!({ "async": is_async, "command": hook["command"], "timeout": seconds, "type": hook["type"] });
    for more in ["statusMessage", "commandWindows"] {
        if hook[more].is_string() {
            known[more] = hook[more].clone();
        }
    }
    format!("sha256:{}", sha256_hex(json!({ "event_name": event, "hooks": [known] }).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOKS_FILE: &str = "/no such/hooks.json";

    fn stop_hook() -> Standing {
        let command = "sh -c 'command -v ralph >/dev/null 2>&1 && exec ralph hook codex; cat >/dev/null 2>&1 || :'";
        let hook = json!({ "type": "command", "command": command, "timeout": 600 });
        Standing { event: "Stop".to_owned(), group: 1, at: 0, hook }
    }

    fn prompt_hook() -> Standing {
        let command = "/opt/ralph hook codex \u{e9} \" \\";
        let hook = json!({ "type": "command", "command": command, "timeout": 600, "statusMessage": "hi" });
        Standing { event: "UserPromptSubmit".to_owned(), group: 0, at: 0, hook }
    }

    /// What Codex 0.166 itself says of these two.
    const TRUSTED_CONFIG: &str = r#"
        [hooks.state."/no such/hooks.json:stop:1:0"]
        trusted_hash = "sha256:5d726c74603bae4bd11fc22c1142deb53d325a2e407fa2e756a1dc8fd2fcbc7f"
        [hooks.state]
        '/no such/hooks.json:user_prompt_submit:0:0' = { trusted_hash = "sha256:210490ccc3d4ff7fe8338018827077cd1da7e4bf375499881863c95b963237f9" }
    "#;

    fn describe(config: &str, hooks: &[Standing]) -> String {
        describe_refusals(config, Path::new(HOOKS_FILE), hooks).unwrap_or_default()
    }

    // spec: H2
    #[test]
    fn a_hook_is_trusted_by_the_hash_that_codex_computes() {
        assert_eq!(describe(TRUSTED_CONFIG, &[stop_hook(), prompt_hook()]), "");
    }

    // spec: H2
    #[test]
    fn text_that_only_looks_like_trust_is_ignored() {
        let remark = TRUSTED_CONFIG.replace("        [", "        # [").replace("        '", "        # '");
        let within = format!("text = \"\"\"{}\"\"\"", TRUSTED_CONFIG.replace("\"\"\"", ""));
        for config in ["", &remark, &within, "[hooks.state.\"/no such/hooks.json:stop:1:0\"]", "hooks = 7"] {
            let told = describe(config, &[stop_hook(), prompt_hook()]);
            assert!(told.starts_with("Codex does not trust them yet (Stop, UserPromptSubmit)"), "{config}: {told}");
        }
        let half = TRUSTED_CONFIG.replace("user_prompt_submit:0:0", "user_prompt_submit:0:1");
        assert!(describe(&half, &[stop_hook(), prompt_hook()]).contains("trust them yet (UserPromptSubmit)"));
        assert!(describe("[hooks", &[stop_hook()]).starts_with("Codex cannot read its config.toml"));
    }

    // spec: H2
    #[test]
    fn a_hook_that_has_changed_or_was_switched_off_is_not_run() {
        let mut other = stop_hook();
        other.hook["timeout"] = 1800.into();
        assert!(describe(TRUSTED_CONFIG, &[other, prompt_hook()]).contains("changed since (Stop)"));
        let off = TRUSTED_CONFIG.replace("{ trusted_hash", "{ enabled = false, trusted_hash");
        assert!(describe(&off, &[stop_hook(), prompt_hook()]).contains("switched off in Codex (UserPromptSubmit)"));
    }
}
