//! How long a host waits for a hook: the requested timeout, or the existing one. A timeout that the user has set in the
//! settings is kept by an update.
use serde_json::Value;

use crate::install::contents::hook_command::find_ralph_call;
use crate::install::contents::install_part::{InstallPart, PartContent};
use crate::install::contents::settings_file::snapshot_file;
use crate::install::error::InstallError;
use crate::install::host::HostInstaller;
use crate::install::install_record::InstallRecord;
use crate::install::merge;
use crate::install::ralph_executable::HookMatcher;
use ralph_util::shell_words;

/// The default timeout. It is long because checks run while the host waits.
pub(crate) const DEFAULT_HOOK_TIMEOUT_SECONDS: u64 = 600;

/// The range of a requested timeout. Reading the event and the transcript takes a few seconds.
pub const MIN_HOOK_TIMEOUT_SECONDS: u64 = 10;
pub const MAX_HOOK_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

/// The requested timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTimeout {
    /// Keeps the existing timeout, or uses the default.
    KeepExisting,
    Seconds(u64),
}

/// Returns the existing timeout of the hooks in these parts, or the default.
pub(crate) fn resolve_timeout_seconds(
    host: &HostInstaller,
    parts: &[InstallPart],
    matcher: &HookMatcher<'_>,
    old: Option<&InstallRecord>,
) -> Result<u64, InstallError> {
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| matches!(part.content, PartContent::Hooks(_))) {
        let text = snapshot_file(&part.path)?.text.unwrap_or_default();
        let malformed = |source| InstallError::MalformedSettings { path: part.path.clone(), source };
        let hooks = merge::find_installed_hooks(&text, |command| matcher.matches_command(command));
        found.extend(hooks.map_err(malformed)?);
    }
    let recorded = old.and_then(|old| old.seconds).filter(|_| found.is_empty());
    let edited =
        found.iter().filter_map(|found| custom_timeout_seconds(&found.hook, host.timeout_units_per_second)).max();
    Ok(edited.or(recorded).unwrap_or(DEFAULT_HOOK_TIMEOUT_SECONDS))
}

/// Returns the timeout of a hook if it is not the default. The host's setting takes precedence over the flag for ralph.
fn custom_timeout_seconds(hook: &Value, units_per_second: u64) -> Option<u64> {
    let setting = hook["timeout"].as_u64().map(|time| time / units_per_second);
    let flag = hook["command"].as_str().and_then(timeout_flag_value);
    [setting, flag].into_iter().flatten().find(|time| *time > 0 && *time != DEFAULT_HOOK_TIMEOUT_SECONDS)
}

fn timeout_flag_value(command: &str) -> Option<u64> {
    let words = shell_words::split_words(find_ralph_call(command).command_text()).ok()?;
    let mut words = words.iter().map(String::as_str).skip_while(|word| !word.starts_with(TIMEOUT_FLAG));
    match words.next()?.strip_prefix(TIMEOUT_FLAG)? {
        "" => words.next()?.parse().ok(),
        value => value.strip_prefix('=')?.parse().ok(),
    }
}

const TIMEOUT_FLAG: &str = "--seconds";

/// Returns the flag that passes the timeout to ralph, or an empty string for the default.
pub(crate) fn timeout_flag(seconds: u64) -> String {
    if seconds == DEFAULT_HOOK_TIMEOUT_SECONDS { String::new() } else { format!(" {TIMEOUT_FLAG} {seconds}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // spec: H2
    #[test]
    fn a_custom_timeout_is_found_in_the_settings_or_in_the_command() {
        let by_name =
            "sh -c 'command -v ralph >/dev/null 2>&1 && exec ralph hook x --seconds 1800; cat >/dev/null 2>&1 || :'";
        let cases = [
            (json!({"command": "/bin/ralph hook x", "timeout": 600}), None),
            (json!({"command": "/bin/ralph hook x"}), None),
            (json!({"command": "/bin/ralph hook x", "timeout": 1800}), Some(1800)),
            (json!({"command": "/bin/ralph hook x --seconds 1800", "timeout": 600}), Some(1800)),
            (json!({"command": "/bin/ralph hook x --seconds=1800"}), Some(1800)),
            (json!({"command": by_name}), Some(1800)),
            (json!({"command": "/bin/ralph hook x --seconds 1800", "timeout": 300}), Some(300)),
            (json!({"command": "/bin/ralph hook x --seconds soon", "timeout": "long"}), None),
            (json!({"command": "/bin/ralph hook x", "timeout": 0}), None),
        ];
        for (hook, time) in cases {
            assert_eq!(custom_timeout_seconds(&hook, 1), time, "{hook}");
        }
        assert_eq!(custom_timeout_seconds(&json!({"timeout": 1_800_000}), 1000), Some(1800));
    }
}
