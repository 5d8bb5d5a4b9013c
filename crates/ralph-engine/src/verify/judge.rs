//! Judges: whom to ask, and what they said. What it is worth is decided elsewhere.
use std::time::Duration;

use ralph_core::attempt::Spend;
use ralph_core::judge::{Endpoint, OnError};

use super::asked_agent::{self, AskedAgent};
use super::orders::Orders;
use super::{Verifier, asked_api};
use ralph_process::RawLog;

/// A judge: whom to ask, and what a silence means.
pub struct Judge {
    /// What the user calls it.
    pub name: String,
    pub asked: Asked,
    pub model: Option<String>,
    pub on_error: OnError,
    pub timeout: Duration,
    /// The commit that the work began from.
    pub base: String,
}

/// How a judge is asked.
pub enum Asked {
    Agent(AskedAgent),
    Api(Endpoint),
}

/// What is asked of whom.
pub(super) struct Question<'a> {
    pub(super) text: &'a str,
    /// The model that the criterion or the settings name.
    pub(super) model: Option<&'a str>,
    pub(super) time: Duration,
}

/// What a judge said, in its own words, and what it used.
pub(super) struct Said {
    pub(super) text: Result<String, String>,
    pub(super) model: Option<String>,
    pub(super) spend: Spend,
    pub(super) leftovers: u32,
}

/// Asks once. Question and answer are in the log.
pub(super) async fn ask(
    verifier: &Verifier,
    judge: &Judge,
    (question, model): (&str, Option<&str>),
    mut log: RawLog,
    orders: &mut Orders,
) -> Said {
    log.write(&mut format!("{question}\n[ralph: the answer of {}]\n", judge.name).into_bytes());
    let model = model.or(judge.model.as_deref());
    let question = Question { text: question, model, time: judge.timeout };
    match &judge.asked {
        Asked::Agent(agent) => asked_agent::ask(verifier, agent, &question, log, orders).await,
        Asked::Api(endpoint) => asked_api::ask(endpoint, &question, log, orders).await,
    }
}

impl Said {
    pub(super) fn nothing(why: impl Into<String>) -> Self {
        Self { text: Err(why.into()), model: None, spend: Spend::default(), leftovers: 0 }
    }
}
