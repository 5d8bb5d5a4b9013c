//! How long a host waits for a hook: what was asked for, or what stands there already. A time that somebody has set in the
//! settings outlives an update.
use serde_json::Value;

use super::call::called;
use super::error::InstallError;
use super::file::look;
use super::host::Host;
use super::merge;
use super::own::Ours;
use super::part::{Content, Part};
use super::record::Record;
use ralph_util::shell_words;

/// How long it is unless somebody says otherwise, in seconds: checks run meanwhile.
pub(super) const USUAL: u64 = 600;

/// What can be asked for: an event and the agent's last words take a while to come, and nobody waits longer than a day.
pub const SHORTEST: u64 = 10;
pub const LONGEST: u64 = 24 * 60 * 60;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As it is, or as usual.
    Kept,
    Seconds(u64),
}

/// Returns how many seconds the host is to wait for the hooks of these parts.
pub(super) fn seconds(
    (host, parts): (&Host, &[Part]),
    ours: &Ours<'_>,
    old: Option<&Record>,
) -> Result<u64, InstallError> {
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| matches!(part.content, Content::Hooks(_))) {
        let text = look(&part.path)?.text.unwrap_or_default();
        let malformed = |source| InstallError::Settings { path: part.path.clone(), source };
        found.extend(merge::ours(&text, |command| ours.is(command)).map_err(malformed)?);
    }
    let kept = old.and_then(|old| old.seconds).filter(|_| found.is_empty());
    let edited = found.iter().filter_map(|found| edited(&found.hook, host.ticks)).max();
    Ok(edited.or(kept).unwrap_or(USUAL))
}

/// Returns the time of a hook that is not the usual one. What the host itself goes by outranks what ralph is told.
fn edited(hook: &Value, ticks: u64) -> Option<u64> {
    let waits = hook["timeout"].as_u64().map(|time| time / ticks);
    let told = hook["command"].as_str().and_then(told);
    [waits, told].into_iter().flatten().find(|time| *time > 0 && *time != USUAL)
}

fn told(command: &str) -> Option<u64> {
    let words = shell_words::split(called(command).text()).ok()?;
    let mut words = words.iter().map(String::as_str).skip_while(|word| !word.starts_with(FLAG));
    match words.next()?.strip_prefix(FLAG)? {
        "" => words.next()?.parse().ok(),
        value => value.strip_prefix('=')?.parse().ok(),
    }
}

const FLAG: &str = "--seconds";

/// Returns what tells a hook how long it may take, where that is not the usual time.
pub(super) fn flag(seconds: u64) -> String {
    if seconds == USUAL { String::new() } else { format!(" {FLAG} {seconds}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // spec: H2
    #[test]
    fn a_time_that_somebody_has_set_is_found_in_the_settings_or_in_the_command() {
        let by_name = "sh -c 'command -v ralph >/dev/null 2>&1 && exec ralph hook x --seconds 1800; cat >/dev/null 2>&1 || :'";
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
            assert_eq!(edited(&hook, 1), time, "{hook}");
        }
        assert_eq!(edited(&json!({"timeout": 1_800_000}), 1000), Some(1800));
    }
}
