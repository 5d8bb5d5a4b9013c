//! What is fixed about an agent: the part of its adapter that is data.
use super::about::About;
use super::format::Format;
use super::grant::Grants;
use super::preset::Preset;
use super::registry::{Program, Sessions};

#[derive(Debug, Clone, Copy)]
pub struct Card {
    pub name: &'static str,
    /// What is started when the user names nothing else.
    pub program: Program,
    pub format: Format,
    /// The arguments that the user may replace.
    pub args: &'static [&'static str],
    /// What it may do unasked, by permission.
    pub grants: Grants,
    /// How one start can go on with the conversation of an earlier one.
    pub sessions: Sessions,
    /// Where it comes from and how one logs in.
    pub about: About,
}

impl Card {
    /// Returns the settings that the user may override.
    pub(super) fn preset(&self) -> Preset {
        let preset = Preset::new(self.format, self.args).granted(&self.grants);
        match self.program {
            Program::Named(cli) => preset.with_cli(cli),
            Program::OwnBinary | Program::Required => preset,
        }
    }
}
