//! The loop of one session as a file: what people and other programs read stands on top, under the names that loops in
//! sessions have always had; the machine stands below. A file that was changed by another hand is not believed.
use std::path::PathBuf;

use ralph_core::session::SessionLoop;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::clock::written;
use crate::verify::Acceptance;
use ralph_util::digest::sha256;

const VERSION: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("it is no state of a loop")]
    Malformed(#[source] serde_json::Error),
    #[error("it was written by a newer ralph (version {0}, known is {VERSION})")]
    Newer(u32),
    #[error("it was changed by another hand than ralph's: its checksum is wrong")]
    Changed,
}

/// The loop of one session, with where it belongs.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Tells this loop from another one of the same session.
    pub id: String,
    /// The host's name, where that is known.
    pub host: Option<String>,
    pub session: String,
    pub description: Option<String>,
    /// Where its checks run.
    pub root: PathBuf,
    pub acceptance: Acceptance,
    pub state: SessionLoop,
    /// How long to wait before a prompt is injected, where that is ours to do.
    pub delay_ms: u64,
    /// How far its transcript was read for what it used.
    pub counted: Option<u64>,
    /// Where the files stood at the last stop, where that matters.
    pub standing: Option<String>,
    /// The agent's last message, by length and hash, where a host repeats what was said before.
    pub heard: Option<(usize, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    version: u32,
    /// Over the page with this left empty.
    checksum: String,
    active: bool,
    iteration: u32,
    max_iterations: u32,
    completion_promise: String,
    started_at: String,
    session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_iteration_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    id: String,
    root: PathBuf,
    acceptance: Acceptance,
    delay_ms: u64,
    counted: Option<u64>,
    standing: Option<String>,
    heard: Option<(usize, String)>,
    prompt: String,
    /// Without the prompt, which stands above.
    state: SessionLoop,
}

/// Read before anything else: what else a newer page holds cannot be known.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Entry {
    #[must_use]
    pub fn new((host, session): (Option<String>, String), root: PathBuf, state: SessionLoop) -> Self {
        Self {
            id: Uuid::now_v7().to_string(),
            host,
            session,
            description: None,
            root,
            acceptance: Acceptance::default(),
            delay_ms: 0,
            state,
            counted: None,
            standing: None,
            heard: None,
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, EntryError> {
        let version = serde_json::from_slice::<Versioned>(bytes).map_err(EntryError::Malformed)?.version;
        if version > VERSION {
            return Err(EntryError::Newer(version));
        }
        let mut page: Page = serde_json::from_slice(bytes).map_err(EntryError::Malformed)?;
        let told = std::mem::take(&mut page.checksum);
        if told != sha256(serde_json::to_vec(&page).map_err(EntryError::Malformed)?) {
            return Err(EntryError::Changed);
        }
        let Page { id, host, session_id, description, root, acceptance, .. } = page;
        let state = SessionLoop { prompt: page.prompt, ..page.state };
        Ok(Self {
            id,
            host,
            session: session_id,
            description,
            root,
            acceptance,
            delay_ms: page.delay_ms,
            state,
            counted: page.counted,
            standing: page.standing,
            heard: page.heard,
        })
    }

    pub fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut state = self.state.clone();
        let prompt = std::mem::take(&mut state.prompt);
        let ended = state.machine.ended();
        let mut page = Page {
            version: VERSION,
            checksum: String::new(),
            active: state.is_active(),
            iteration: state.iteration(),
            max_iterations: state.max_iterations(),
            completion_promise: state.rules.promise.as_str().to_owned(),
            started_at: written(state.started),
            session_id: self.session.clone(),
            last_iteration_at: state.last_iteration.map(written),
            description: self.description.clone(),
            host: self.host.clone(),
            outcome: ended.map(|ended| ended.outcome.as_str().to_owned()),
            reason: ended.map(|ended| ended.reason.clone()),
            id: self.id.clone(),
            root: self.root.clone(),
            acceptance: self.acceptance.clone(),
            delay_ms: self.delay_ms,
            counted: self.counted,
            standing: self.standing.clone(),
            heard: self.heard.clone(),
            prompt,
            state,
        };
        page.checksum = sha256(serde_json::to_vec(&page)?);
        serde_json::to_vec(&page)
    }

    /// Returns what is told of it to programs.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let state = &self.state;
        let ended = state.machine.ended();
        serde_json::json!({
            "id": self.id,
            "status": ended.map_or("active", |ended| ended.outcome.as_str()),
            "active": state.is_active(),
            "iteration": state.iteration(),
            "maxIterations": state.max_iterations(),
            "completionPromise": state.rules.promise.as_str(),
            "startedAt": written(state.started),
            "lastIterationAt": state.last_iteration.map(written),
            "prompt": state.prompt,
            "sessionId": self.session,
            "description": self.description,
            "host": self.host,
            "checks": state.criteria.iter().map(ralph_core::criterion::Criterion::shown).collect::<Vec<_>>(),
            "outcome": ended.map(|ended| ended.outcome.as_str()),
            "reason": ended.map(|ended| ended.reason.as_str()),
            "cost_usd": state.machine.spent.dollars(),
            "input_tokens": state.machine.spent.input_tokens,
            "output_tokens": state.machine.spent.output_tokens,
        })
    }
}
