//! The keys of a target of notifications.
use crate::config::keys::key_list::{ConfigKey, slot_key};
use crate::config::keys::slot::SettingSlot;
use crate::config::settings::origin::Setting;

/// The keys of a target, as they are written.
#[derive(Default)]
pub(in crate::config) struct NotifyDraft {
    pub name: Setting<Option<String>>,
    pub kind: Setting<Option<String>>,
    pub url: Setting<Option<String>>,
    pub url_env: Setting<Option<String>>,
    pub secret_env: Setting<Option<String>>,
    pub command: Setting<Vec<String>>,
    pub on: Setting<Vec<String>>,
    pub runs: Setting<Vec<String>>,
    pub quiet: Setting<Option<String>>,
    pub digest: Setting<Option<String>>,
    pub link: Setting<Option<String>>,
}

#[rustfmt::skip]
pub(in crate::config) const NOTIFY_KEYS: &[ConfigKey<NotifyDraft>] = &[
    slot_key("name", "The name of the target; default: its kind", |t| SettingSlot::MaybeText(&mut t.name)),
    slot_key("kind", "desktop, webhook, slack or script", |t| SettingSlot::MaybeText(&mut t.kind)),
    slot_key("url", "The address of a webhook: https, or http on this machine", |t| SettingSlot::MaybeText(&mut t.url)),
    slot_key("url_env", "The variable that contains the address, if it is secret", |t| SettingSlot::MaybeText(&mut t.url_env)),
    slot_key("secret_env", "The variable that contains the secret that signs the messages of a webhook",
        |t| SettingSlot::MaybeText(&mut t.secret_env)),
    slot_key("command", "The program of a script with its arguments, as a list; the message is on its standard input, as JSON",
        |t| SettingSlot::Strings(&mut t.command)),
    slot_key("on", "The events: completed, failed, blocked, over_budget, stalled, exhausted, waiting, died; default: all",
        |t| SettingSlot::Strings(&mut t.on)),
    slot_key("runs", "The kinds of work: run, task, workflow; default: all", |t| SettingSlot::Strings(&mut t.runs)),
    slot_key("quiet", "Hours of local time in which messages are kept: 22:00-07:00", |t| SettingSlot::MaybeText(&mut t.quiet)),
    slot_key("digest", "When messages that were kept are sent, as one; without quiet hours, all messages are kept",
        |t| SettingSlot::MaybeText(&mut t.digest)),
    slot_key("link", "The address under which you reach the server, for links in messages", |t| SettingSlot::MaybeText(&mut t.link)),
];
