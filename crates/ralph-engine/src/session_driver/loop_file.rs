//! The file of a session loop: first the fields for users and other programs, with the key names of the original
//! design, then the state of the loop. A file that was changed outside ralph is rejected.
use std::path::PathBuf;

use ralph_core::session_loop::{SessionLoop, SessionNotice};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::loop_record::LoopRecord;
use super::loop_store::SessionKey;
use super::session_clock::format_timestamp;
use super::transcript_tail::TranscriptPosition;
use crate::verify::AcceptancePolicy;
use ralph_util::digest::sha256_hex;

const LOOP_FILE_VERSION: u32 = 2;

#[derive(Debug, thiserror::Error)]
pub enum LoopFileError {
    #[error("it is not a loop state file")]
    Malformed(#[source] serde_json::Error),
    #[error("it was written by a newer ralph: it has version {0}, this one knows {LOOP_FILE_VERSION}")]
    Newer(u32),
    #[error("checksum mismatch: it was changed outside ralph")]
    ChecksumMismatch,
}

/// The loop of one session.
#[derive(Debug, Clone)]
pub struct LoopFile {
    /// Distinguishes this loop from other loops of the same session.
    pub id: String,
    /// The name of the host, if it is known.
    pub host: Option<String>,
    pub session_id: String,
    pub description: Option<String>,
    /// The folder in which its checks run.
    pub root: PathBuf,
    pub acceptance: AcceptancePolicy,
    pub loop_state: SessionLoop,
    /// How long to wait before ralph injects a prompt.
    pub delay_ms: u64,
    /// The offset up to which the transcript was read for usage.
    pub usage_offset: Option<u64>,
    /// The state of the files at the last stop, if the loop detects stalls.
    pub worktree_state: Option<String>,
    /// Length and hash of the agent's last message, for hosts that repeat earlier messages.
    pub last_message_digest: Option<(usize, String)>,
    /// The end of the transcript at the last stop, or at the start of the loop.
    pub transcript_position: Option<TranscriptPosition>,
    /// Notices that the person has not seen yet. The next stop shows them.
    pub pending_notices: Vec<SessionNotice>,
    /// How the loop is recorded as a run.
    pub record: LoopRecord,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoopFileContents {
    version: u32,
    /// Covers the file with this field empty.
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
    acceptance: AcceptancePolicy,
    delay_ms: u64,
    counted: Option<u64>,
    standing: Option<String>,
    heard: Option<(usize, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transcript_position: Option<TranscriptPosition>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pending_notices: Vec<SessionNotice>,
    #[serde(default, skip_serializing_if = "LoopRecord::is_empty")]
    record: LoopRecord,
    prompt: String,
    /// Without the prompt, which is a separate field.
    state: SessionLoop,
}

/// Read first: the other fields of a newer version are unknown.
#[derive(Deserialize)]
struct LoopFileHeader {
    version: u32,
}

/// Returns an id for a new loop.
#[must_use]
pub fn new_loop_id() -> String {
    Uuid::now_v7().to_string()
}

impl LoopFile {
    #[must_use]
    pub fn new(key: &SessionKey, root: PathBuf, loop_state: SessionLoop) -> Self {
        Self {
            id: new_loop_id(),
            host: key.host.clone(),
            session_id: key.session_id.clone(),
            description: None,
            root,
            acceptance: AcceptancePolicy::default(),
            delay_ms: 0,
            loop_state,
            usage_offset: None,
            worktree_state: None,
            last_message_digest: None,
            transcript_position: None,
            pending_notices: Vec::new(),
            record: LoopRecord::default(),
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, LoopFileError> {
        let version = serde_json::from_slice::<LoopFileHeader>(bytes).map_err(LoopFileError::Malformed)?.version;
        if version > LOOP_FILE_VERSION {
            return Err(LoopFileError::Newer(version));
        }
        let mut page: LoopFileContents = serde_json::from_slice(bytes).map_err(LoopFileError::Malformed)?;
        let stored_checksum = std::mem::take(&mut page.checksum);
        if stored_checksum != sha256_hex(serde_json::to_vec(&page).map_err(LoopFileError::Malformed)?) {
            return Err(LoopFileError::ChecksumMismatch);
        }
        let LoopFileContents { id, host, session_id, description, root, acceptance, .. } = page;
        let state = SessionLoop { prompt: page.prompt, ..page.state };
        Ok(Self {
            id,
            host,
            session_id,
            description,
            root,
            acceptance,
            delay_ms: page.delay_ms,
            loop_state: state,
            usage_offset: page.counted,
            worktree_state: page.standing,
            last_message_digest: page.heard,
            transcript_position: page.transcript_position,
            pending_notices: page.pending_notices,
            record: page.record,
        })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut state = self.loop_state.clone();
        let prompt = std::mem::take(&mut state.prompt);
        let ended = state.machine.run_end();
        let mut page = LoopFileContents {
            version: LOOP_FILE_VERSION,
            checksum: String::new(),
            active: state.is_active(),
            iteration: state.current_iteration(),
            max_iterations: state.max_iterations(),
            completion_promise: state.rules.promise.as_str().to_owned(),
            started_at: format_timestamp(state.started),
            session_id: self.session_id.clone(),
            last_iteration_at: state.last_iteration.map(format_timestamp),
            description: self.description.clone(),
            host: self.host.clone(),
            outcome: ended.map(|ended| ended.outcome.as_str().to_owned()),
            reason: ended.map(|ended| ended.reason.clone()),
            id: self.id.clone(),
            root: self.root.clone(),
            acceptance: self.acceptance.clone(),
            delay_ms: self.delay_ms,
            counted: self.usage_offset,
            standing: self.worktree_state.clone(),
            heard: self.last_message_digest.clone(),
            transcript_position: self.transcript_position.clone(),
            pending_notices: self.pending_notices.clone(),
            record: self.record.clone(),
            prompt,
            state,
        };
        page.checksum = sha256_hex(serde_json::to_vec(&page)?);
        serde_json::to_vec(&page)
    }

    /// Returns the JSON output of the status command.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let state = &self.loop_state;
        let ended = state.machine.run_end();
        serde_json::json!({
            "id": self.id,
            "status": ended.map_or("active", |ended| ended.outcome.as_str()),
            "active": state.is_active(),
            "iteration": state.current_iteration(),
            "maxIterations": state.max_iterations(),
            "completionPromise": state.rules.promise.as_str(),
            "startedAt": format_timestamp(state.started),
            "lastIterationAt": state.last_iteration.map(format_timestamp),
            "prompt": state.prompt,
            "sessionId": self.session_id,
            "description": self.description,
            "host": self.host,
            "checks": state.criteria.iter().map(ralph_core::criterion::Criterion::summary_line).collect::<Vec<_>>(),
            "baseline": state.machine.baseline,
            "outcome": ended.map(|ended| ended.outcome.as_str()),
            "reason": ended.map(|ended| ended.reason.as_str()),
            "cost_usd": state.machine.spent.cost_usd(),
            "input_tokens": state.machine.spent.input_tokens,
            "output_tokens": state.machine.spent.output_tokens,
        })
    }
}
