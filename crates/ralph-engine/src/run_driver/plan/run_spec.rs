//! The settings of a run as they are stored with it, so that another process can resume it.
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::claim::{ClaimRules, PromiseNonce};
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::event::PlanAvailability;
use ralph_core::loop_state::AgentSession;
use ralph_core::policy::{ContradictionRule, Policy};
use ralph_core::task::Role;
use serde::{Deserialize, Deserializer, Serialize};

use super::agent_choice::AgentChoice;
use super::judge_choice::StoredJudge;
use super::prompt_source::PromptSource;
use super::prompt_template::read_text_file;
use super::stored_agent::StoredAgent;
use super::{stored_path, stored_value};
use crate::lock::LockSharing;
use crate::verify::AcceptancePolicy;
use ralph_agents::UnknownAgent;
use ralph_util::digest::sha256_hex;
use ralph_util::memory_size::MemorySize;
use ralph_util::redact;

/// The version of this format. A newer ralph writes a higher one.
const RUN_SPEC_VERSION: u32 = 1;

const RALPH_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The stored half of a run. Paths and programs in it are absolute, and it has no secret values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The version of this format; set when the spec is stored.
    pub version: u32,
    /// The version of the ralph that started or resumed the run last; set when the spec is stored.
    pub ralph: String,
    pub prompt: PromptSource,
    /// The SHA-256 of the prompt file when the run was last started or resumed; set when the spec is stored.
    pub prompt_hash: Option<String>,
    /// The line that identifies the prompt; set when the spec is stored. Old runs do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_title: Option<String>,
    /// The implementation plan that must exist before every iteration, if the run follows one.
    #[serde(rename = "follows", with = "stored_path::optional")]
    pub plan_file: Option<PathBuf>,
    /// The folder for session logs, if the run writes one.
    #[serde(rename = "session_logs", with = "stored_path::optional")]
    pub session_log_folder: Option<PathBuf>,
    #[serde(flatten)]
    pub agent: StoredAgent,
    #[serde(default)]
    pub fallback: Vec<StoredAgent>,
    #[serde(rename = "rules")]
    pub claim_rules: ClaimRules,
    #[serde(rename = "checks", deserialize_with = "deserialize_criteria")]
    pub criteria: Vec<Criterion>,
    /// How claims are accepted in addition to the criteria.
    #[serde(default)]
    pub acceptance: AcceptancePolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<StoredJudge>,
    pub policy: Policy,
    /// How long the agents have to exit after a stop signal.
    #[serde(rename = "grace_ms", with = "stored_value::milliseconds")]
    pub stop_grace: Duration,
    /// The memory limit for an agent with its descendants. Checks are not limited.
    #[serde(rename = "max_memory_mb", with = "stored_value::optional_megabytes")]
    pub max_memory: Option<MemorySize>,
    /// The size limit for all raw logs together.
    #[serde(rename = "log_limit_mb", with = "stored_value::log_megabytes")]
    pub log_limit: MemorySize,
    /// Whether other runs may use the same work tree at the same time.
    #[serde(rename = "parallel", with = "stored_value::is_shared")]
    pub sharing: LockSharing,
    /// Fingerprints of the configuration when the run started, if it was read. Old runs do not have them.
    #[serde(rename = "configured", default)]
    pub config_fingerprints: Option<Vec<String>>,
    /// The task and role, if the run is a stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<TaskStage>,
    /// The workflow run and the node of which the run is a pass, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_node: Option<WorkflowNode>,
    /// The session of an earlier run that the first iteration continues, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_session: Option<AgentSession>,
    /// The name of the work tree that ralph created for the run, if there is one.
    #[serde(rename = "tree", default, skip_serializing_if = "Option::is_none")]
    pub worktree_name: Option<String>,
    /// Whether the redacted secrets can be read again from the variables that their marks name; set when the spec is
    /// stored.
    #[serde(rename = "reread", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_readable_secrets: bool,
}

/// The task and the role of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStage {
    pub task: String,
    pub role: Role,
}

/// The node of a workflow run that a run works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowNode {
    pub run: String,
    /// The path of the node in the graph.
    pub node: String,
    /// Names the start of the node, so that a resumed workflow run finds the run again.
    pub activity: String,
}

/// Why a plan cannot be restored from stored settings.
#[derive(Debug, thiserror::Error)]
pub enum RunSpecError {
    #[error("the run was stored in another format (this ralph writes format {RUN_SPEC_VERSION})")]
    Format { source: serde_json::Error },
    #[error(
        "the run was stored by a newer ralph: its settings have format {found}, this ralph supports {RUN_SPEC_VERSION}"
    )]
    Newer { found: u32 },
    #[error("the prompt, arguments or checks of the run contain a secret, and secrets are not stored")]
    SecretNotStored,
    #[error("the run uses the value of {}, which is not stored and not set now", variables.join(" and "))]
    UnsetVariables { variables: Vec<String> },
    #[error("unknown kind of run {kind:?}")]
    UnknownKind { kind: String },
    #[error("the agent of the run no longer exists")]
    UnknownAgent { source: UnknownAgent },
}

impl RunSpec {
    /// Returns the policy of the loop. A contradiction only warns if a criterion can decide about the claim.
    #[must_use]
    pub fn loop_policy(&self) -> Policy {
        Policy { contradictions: ContradictionRule::for_criteria(&self.criteria), ..self.policy.clone() }
    }

    /// Returns the spec of a run without checks. The caller adds checks and limits.
    #[must_use]
    pub fn new(prompt: PromptSource, agent: &AgentChoice, claim_rules: ClaimRules, policy: Policy) -> Self {
        Self {
            version: RUN_SPEC_VERSION,
            ralph: RALPH_VERSION.to_owned(),
            prompt,
            prompt_hash: None,
            prompt_title: None,
            plan_file: None,
            session_log_folder: None,
            agent: StoredAgent::from_choice(agent),
            fallback: Vec::new(),
            claim_rules,
            criteria: Vec::new(),
            acceptance: AcceptancePolicy::default(),
            judge: None,
            policy,
            stop_grace: Duration::ZERO,
            max_memory: None,
            log_limit: MemorySize::GIGABYTE,
            sharing: LockSharing::Exclusive,
            config_fingerprints: None,
            stage: None,
            workflow_node: None,
            first_session: None,
            worktree_name: None,
            has_readable_secrets: false,
        }
    }

    /// Checks whether the implementation plan exists, without which no iteration starts.
    #[must_use]
    pub fn check_plan_file(&self) -> PlanAvailability {
        match &self.plan_file {
            Some(plan) if !plan.is_file() => PlanAvailability::Missing,
            Some(_) | None => PlanAvailability::Available,
        }
    }

    /// Returns the claim rules of an iteration.
    #[must_use]
    pub fn claim_rules_with_nonce(&self, nonce: Option<PromiseNonce>) -> ClaimRules {
        ClaimRules { nonce, ..self.claim_rules.clone() }
    }

    /// Returns the part of the log limit that is reserved for session logs.
    #[must_use]
    pub fn session_log_bytes(&self) -> u64 {
        session_log_bytes(self.log_limit)
    }

    /// Returns the JSON to store, without secrets. It records whether the secrets can be read again from their variables;
    /// they cannot if a secret has another form than the value of its variable.
    pub fn to_stored_json(&self) -> Result<String, serde_json::Error> {
        let stored = Self {
            version: RUN_SPEC_VERSION,
            ralph: RALPH_VERSION.to_owned(),
            prompt_hash: self.prompt.file_path().and_then(hash_prompt_file),
            prompt_title: Some(self.prompt.title()),
            has_readable_secrets: false,
            ..self.clone()
        };
        let whole = serde_json::to_string(&stored)?;
        let redacted = redact::redact_text(&whole).into_owned();
        let is_readable =
            redacted != whole && redact::reveal_secrets(&redacted).is_ok_and(|revealed| revealed == whole);
        if !is_readable {
            return Ok(redacted);
        }
        let marked = serde_json::to_string(&Self { has_readable_secrets: true, ..stored })?;
        Ok(redact::redact_text(&marked).into_owned())
    }

    pub fn parse(json: &str) -> Result<Self, RunSpecError> {
        #[derive(Deserialize)]
        struct RunSpecHeader {
            version: u32,
            #[serde(default)]
            reread: bool,
        }
        let format = |source| RunSpecError::Format { source };
        let RunSpecHeader { version: found, reread } = serde_json::from_str(json).map_err(format)?;
        if found > RUN_SPEC_VERSION {
            return Err(RunSpecError::Newer { found });
        }
        let whole = match (redact::has_redaction_mark(json), reread) {
            (false, _) => json.to_owned(),
            (true, false) => return Err(RunSpecError::SecretNotStored),
            (true, true) => {
                redact::reveal_secrets(json).map_err(|variables| RunSpecError::UnsetVariables { variables })?
            }
        };
        let settings: Self = serde_json::from_str(&whole).map_err(format)?;
        Ok(Self { has_readable_secrets: false, ..settings })
    }

    /// Describes what has changed since the run was last started or resumed.
    #[must_use]
    pub fn describe_changes(&self) -> Vec<String> {
        let ralph =
            (self.ralph != RALPH_VERSION).then(|| format!("ralph was {} and is now {RALPH_VERSION}", self.ralph));
        let prompt = self.prompt.file_path().filter(|path| hash_prompt_file(path) != self.prompt_hash);
        let prompt = prompt.map(|path| format!("the prompt file {} has changed", path.display()));
        ralph.into_iter().chain(prompt).collect()
    }
}

/// Returns the part of the log limit that is reserved for session logs.
#[must_use]
pub fn session_log_bytes(log_limit: MemorySize) -> u64 {
    log_limit.as_byte_count() / 2
}

/// Reads criteria. Old runs have only commands.
fn deserialize_criteria<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Criterion>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StoredCheck {
        Criterion(Criterion),
        Command(ExternalCheck),
    }
    let stored = Vec::<StoredCheck>::deserialize(from)?;
    Ok(stored
        .into_iter()
        .map(|stored| match stored {
            StoredCheck::Criterion(criterion) => criterion,
            StoredCheck::Command(check) => check.into(),
        })
        .collect())
}

fn hash_prompt_file(path: &Path) -> Option<String> {
    read_text_file(path).ok().map(sha256_hex)
}
