//! Whether Codex runs a hook: only if its `config.toml` contains the hash of the hook, under a key with the position of
//! the hook. ralph only reads that file, because only the user may trust a hook.
use std::path::Path;

use serde_json::{Value, json};
use toml::Table;

use crate::install::merge::InstalledHook;
use ralph_util::digest::sha256_hex;

/// The timeout that Codex uses for a hook without one.
const CODEX_DEFAULT_TIMEOUT_SECONDS: u64 = 600;

/// Why Codex does not run a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrustRefusal {
    NotTrusted,
    Changed,
    Disabled,
}

/// Returns why Codex does not run these hooks of a file, according to its configuration.
pub(crate) fn describe_refusals(config: &str, file: &Path, hooks: &[InstalledHook]) -> Option<String> {
    let config: Table = match config.parse() {
        Ok(config) => config,
        Err(error) => return Some(format!("Codex cannot read its config.toml: {}", first_line(&error))),
    };
    let refusal = |hook: &InstalledHook| Some((find_refusal(&config, file, hook)?, hook.event.clone()));
    let refused: Vec<_> = hooks.iter().filter_map(refusal).collect();
    let descriptions = [
        (TrustRefusal::NotTrusted, "Codex does not trust them yet"),
        (TrustRefusal::Changed, "Codex trusts an earlier version, and they have changed since"),
        (TrustRefusal::Disabled, "they are disabled in Codex"),
    ];
    let problems = descriptions.into_iter().filter_map(|(kind, description)| {
        let events = refused.iter().filter(|(refusal, _)| *refusal == kind).map(|(_, event)| event.as_str());
        let events: Vec<_> = events.collect();
        (!events.is_empty()).then(|| format!("{description} ({})", events.join(", ")))
    });
    let problems = problems.collect::<Vec<_>>().join("; ");
    (!problems.is_empty()).then(|| format!("{problems}: start `codex` and type /hooks"))
}

fn first_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}

fn find_refusal(config: &Table, file: &Path, installed: &InstalledHook) -> Option<TrustRefusal> {
    let event = to_snake_case(&installed.event);
    // Codex may have been started with a path that contains links.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let state = [file, &real].into_iter().find_map(|file| {
        let key = format!("{}:{event}:{}:{}", file.display(), installed.group, installed.at);
        config.get("hooks")?.get("state")?.get(key)
    });
    let Some(state) = state else { return Some(TrustRefusal::NotTrusted) };
    if state.get("enabled").and_then(toml::Value::as_bool) == Some(false) {
        return Some(TrustRefusal::Disabled);
    }
    match state.get("trusted_hash").and_then(toml::Value::as_str) {
        None => Some(TrustRefusal::NotTrusted),
        Some(hash) if hash == trust_hash(&event, &installed.hook) => None,
        Some(_) => Some(TrustRefusal::Changed),
    }
}

/// Converts the name of an event as Codex does: `UserPromptSubmit` becomes `user_prompt_submit`.
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

/// Returns the hash of a hook as Codex computes it: over its normalized JSON with sorted keys and without spaces.
fn trust_hash(event: &str, hook: &Value) -> String {
    let seconds = hook["timeout"].as_u64().unwrap_or(CODEX_DEFAULT_TIMEOUT_SECONDS).max(1);
    let is_async = hook["async"].as_bool().unwrap_or(false);
    let mut known = json!({ "async": is_async, "command": hook["command"], "timeout": seconds, "type": hook["type"] });
    for optional in ["statusMessage", "commandWindows"] {
        if hook[optional].is_string() {
            known[optional] = hook[optional].clone();
        }
    }
    format!("sha256:{}", sha256_hex(json!({ "event_name": event, "hooks": [known] }).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOKS_FILE: &str = "/no such/hooks.json";

    fn stop_hook() -> InstalledHook {
        let command = "sh -c 'command -v ralph >/dev/null 2>&1 && exec ralph hook codex; cat >/dev/null 2>&1 || :'";
        let hook = json!({ "type": "command", "command": command, "timeout": 600 });
        InstalledHook { event: "Stop".to_owned(), group: 1, at: 0, hook }
    }

    fn prompt_hook() -> InstalledHook {
        let command = "/opt/ralph hook codex \u{e9} \" \\";
        let hook = json!({ "type": "command", "command": command, "timeout": 600, "statusMessage": "hi" });
        InstalledHook { event: "UserPromptSubmit".to_owned(), group: 0, at: 0, hook }
    }

    /// The hashes that Codex 0.166 computes for these two hooks.
    const TRUSTED_CONFIG: &str = r#"
        [hooks.state."/no such/hooks.json:stop:1:0"]
        trusted_hash = "sha256:5d726c74603bae4bd11fc22c1142deb53d325a2e407fa2e756a1dc8fd2fcbc7f"
        [hooks.state]
        '/no such/hooks.json:user_prompt_submit:0:0' = { trusted_hash = "sha256:210490ccc3d4ff7fe8338018827077cd1da7e4bf375499881863c95b963237f9" }
    "#;

    fn describe(config: &str, hooks: &[InstalledHook]) -> String {
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
        let commented_out = TRUSTED_CONFIG.replace("        [", "        # [").replace("        '", "        # '");
        let within_string = format!("text = \"\"\"{}\"\"\"", TRUSTED_CONFIG.replace("\"\"\"", ""));
        for config in
            ["", &commented_out, &within_string, "[hooks.state.\"/no such/hooks.json:stop:1:0\"]", "hooks = 7"]
        {
            let message = describe(config, &[stop_hook(), prompt_hook()]);
            assert!(
                message.starts_with("Codex does not trust them yet (Stop, UserPromptSubmit)"),
                "{config}: {message}"
            );
        }
        let half = TRUSTED_CONFIG.replace("user_prompt_submit:0:0", "user_prompt_submit:0:1");
        assert!(describe(&half, &[stop_hook(), prompt_hook()]).contains("trust them yet (UserPromptSubmit)"));
        assert!(describe("[hooks", &[stop_hook()]).starts_with("Codex cannot read its config.toml"));
    }

    // spec: H2
    #[test]
    fn a_hook_that_has_changed_or_was_disabled_is_not_run() {
        let mut other = stop_hook();
        other.hook["timeout"] = 1800.into();
        assert!(describe(TRUSTED_CONFIG, &[other, prompt_hook()]).contains("changed since (Stop)"));
        let off = TRUSTED_CONFIG.replace("{ trusted_hash", "{ enabled = false, trusted_hash");
        assert!(describe(&off, &[stop_hook(), prompt_hook()]).contains("disabled in Codex (UserPromptSubmit)"));
    }
}
