//! The settings of a run as they are stored with it, so that another process can resume it.
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::claim::ClaimRules;
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::policy::Policy;
use serde::{Deserialize, Deserializer, Serialize};

use super::judge_choice::StoredJudge;
use super::prompt_template::read_text_file;
use super::run_plan::{
    AgentChoice, OutputVisibility, PromptSource, RunPlan, TaskStage, find_run_kind, session_log_bytes,
};
use super::stored_agent::StoredAgent;
use super::stored_path;
use crate::lock::LockSharing;
use crate::project::Project;
use crate::verify::AcceptancePolicy;
use ralph_agents::UnknownAgent;
use ralph_util::digest::sha256_hex;
use ralph_util::memory_size::MemorySize;
use ralph_util::redact;
use ralph_util::session_log_file::SessionLogFile;

/// The version of this format. A newer ralph writes a higher one.
const RUN_SPEC_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    version: u32,
    /// The version of the ralph that started or resumed the run last.
    ralph: String,
    prompt: PromptSource,
    /// The SHA-256 of the prompt file when the run was last started or resumed.
    prompt_hash: Option<String>,
    #[serde(with = "stored_path::optional")]
    follows: Option<PathBuf>,
    /// The folder for session logs, if the run writes one.
    #[serde(with = "stored_path::optional")]
    session_logs: Option<PathBuf>,
    #[serde(flatten)]
    agent: StoredAgent,
    #[serde(default)]
    fallback: Vec<StoredAgent>,
    rules: ClaimRules,
    #[serde(deserialize_with = "deserialize_criteria")]
    checks: Vec<Criterion>,
    #[serde(default)]
    acceptance: AcceptancePolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judge: Option<StoredJudge>,
    policy: Policy,
    grace_ms: u64,
    max_memory_mb: Option<u64>,
    log_limit_mb: u64,
    parallel: bool,
    /// Fingerprints of the configuration when the run started. Old runs do not have them.
    #[serde(default)]
    configured: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stage: Option<TaskStage>,
    /// The name of the work tree that ralph created for the run, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    /// Whether the redacted secrets can be read again from the variables that their marks name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reread: bool,
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

/// Where a stored run is resumed.
pub struct ResumeTarget {
    pub run_id: String,
    pub run_kind: String,
    pub project: Project,
    pub visibility: OutputVisibility,
}

impl RunSpec {
    #[must_use]
    pub fn from_plan(plan: &RunPlan) -> Self {
        Self {
            version: RUN_SPEC_VERSION,
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
            prompt: plan.prompt.clone(),
            prompt_hash: plan.prompt.file_path().and_then(hash_prompt_file),
            follows: plan.plan_file.clone(),
            session_logs: plan.session_log.as_ref().map(|log| log.folder().to_path_buf()),
            agent: StoredAgent::from_choice(&plan.agent),
            fallback: plan.fallback.iter().map(StoredAgent::from_choice).collect(),
            rules: plan.claim_rules.clone(),
            checks: plan.criteria.clone(),
            acceptance: plan.acceptance.clone(),
            judge: plan.judge.as_ref().map(StoredJudge::from_choice),
            policy: plan.policy.clone(),
            grace_ms: u64::try_from(plan.stop_grace.as_millis()).unwrap_or(u64::MAX),
            max_memory_mb: plan.max_memory.map(MemorySize::as_mb),
            log_limit_mb: plan.log_limit.as_mb(),
            parallel: plan.sharing == LockSharing::Shared,
            configured: plan.config_fingerprints.clone(),
            stage: plan.stage.clone(),
            tree: plan.own_worktree.as_ref().map(|assigned| assigned.worktree.task_id.clone()),
            reread: false,
        }
    }

    #[must_use]
    pub fn criteria(&self) -> &[Criterion] {
        &self.checks
    }

    #[must_use]
    pub fn acceptance(&self) -> &AcceptancePolicy {
        &self.acceptance
    }

    /// Returns the name of the work tree that ralph created for the run, if there is one.
    #[must_use]
    pub fn worktree_name(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    #[must_use]
    pub fn prompt_source(&self) -> &PromptSource {
        &self.prompt
    }

    /// Returns the JSON to store, without secrets. It records whether the secrets can be read again from their variables;
    /// they cannot if a secret has another form than the value of its variable.
    pub fn to_stored_json(&self) -> Result<String, serde_json::Error> {
        let whole = serde_json::to_string(self)?;
        let redacted = redact::redact_text(&whole).into_owned();
        let reread = redacted != whole && redact::reveal_secrets(&redacted).is_ok_and(|revealed| revealed == whole);
        if !reread {
            return Ok(redacted);
        }
        let marked = serde_json::to_string(&Self { reread, ..self.clone() })?;
        Ok(redact::redact_text(&marked).into_owned())
    }

    /// Returns how long the agents of the run have to exit after a stop signal.
    #[must_use]
    pub fn stop_grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
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
        Ok(Self { reread: false, ..settings })
    }

    /// Restores the plan of a run that is resumed.
    ///
    /// `env` returns the values of the variables that the configuration has for an agent. The caller must open the work tree
    /// that ralph created for the run.
    pub fn into_plan<E>(
        self,
        target: ResumeTarget,
        env: impl Fn(&StoredAgent) -> Result<Vec<(String, String)>, E>,
    ) -> Result<RunPlan, E>
    where
        E: From<RunSpecError>,
    {
        let kind = find_run_kind(&target.run_kind).ok_or(RunSpecError::UnknownKind { kind: target.run_kind })?;
        let log_limit = MemorySize::from_mb(self.log_limit_mb).unwrap_or(MemorySize::GIGABYTE);
        let restore_agent = |agent: StoredAgent| -> Result<AgentChoice, E> {
            let env = env(&agent)?;
            Ok(agent.into_choice(env).map_err(|source| RunSpecError::UnknownAgent { source })?)
        };
        let list = target.project.session_list_file(&target.run_id);
        let folder = self.session_logs.as_deref();
        let session_log = folder.map(|folder| SessionLogFile::new(folder, session_log_bytes(log_limit), &list));
        let agent = restore_agent(self.agent)?;
        let fallback = self.fallback.into_iter().map(restore_agent).collect::<Result<_, E>>()?;
        let judge = self.judge.map(|judge| judge.into_choice(restore_agent)).transpose()?;
        Ok(RunPlan {
            id: target.run_id,
            kind,
            project: target.project,
            agent,
            fallback,
            prompt: self.prompt,
            plan_file: self.follows,
            session_log,
            claim_rules: self.rules,
            criteria: self.checks,
            acceptance: self.acceptance,
            judge,
            policy: self.policy,
            stop_grace: Duration::from_millis(self.grace_ms),
            visibility: target.visibility,
            max_memory: self.max_memory_mb.and_then(MemorySize::from_mb),
            log_limit,
            sharing: if self.parallel { LockSharing::Shared } else { LockSharing::Exclusive },
            config_fingerprints: self.configured,
            stage: self.stage,
            own_worktree: None,
        })
    }

    /// Returns fingerprints of the configuration when the run started.
    #[must_use]
    pub fn config_fingerprints(&self) -> Option<&[String]> {
        self.configured.as_deref()
    }

    /// Describes what has changed since the run was last started or resumed.
    #[must_use]
    pub fn describe_changes(&self) -> Vec<String> {
        let version = env!("CARGO_PKG_VERSION");
        let ralph = (self.ralph != version).then(|| format!("ralph was {} and is now {version}", self.ralph));
        let prompt = self.prompt.file_path().filter(|path| hash_prompt_file(path) != self.prompt_hash);
        let prompt = prompt.map(|path| format!("the prompt file {} has changed", path.display()));
        ralph.into_iter().chain(prompt).collect()
    }
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

#[cfg(test)]
mod tests {
    use ralph_core::claim::Promise;
    use ralph_core::judge::{JudgeApi, JudgeEndpoint, JudgeErrorPolicy};
    use ralph_core::task::Role;

    use super::*;
    use crate::project::StateLocation;
    use crate::run_driver::{JudgeChoice, JudgeProvider};
    use ralph_agents as agent;
    use ralph_agents::{OutputFormat, PermissionLevel, PresetOverrides};

    fn sample_plan(prompt: PromptSource) -> RunPlan {
        let root = PathBuf::from("/somewhere");
        RunPlan {
            id: "r1".to_owned(),
            kind: "run",
            project: Project {
                home: root.join(".ralph"),
                state: StateLocation::unregistered(root.join("state")),
                root,
            },
            agent: sample_agent("mine"),
            fallback: vec![sample_agent("other")],
            prompt,
            plan_file: Some("/somewhere/plan.md".into()),
            session_log: Some(SessionLogFile::new(Path::new("/somewhere/logs"), 1 << 30, Path::new("/somewhere/list"))),
            claim_rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
            criteria: vec![ExternalCheck::from_shell_text("make").into()],
            acceptance: AcceptancePolicy { guard: vec!["tests".to_owned()], ..AcceptancePolicy::default() },
            judge: Some(JudgeChoice {
                provider: JudgeProvider::Agent(Box::new(sample_agent("judge"))),
                on_error: JudgeErrorPolicy::StringMatch,
                timeout: Duration::from_secs(9),
                base_commit: "abc".to_owned(),
            }),
            policy: Policy::new(7),
            stop_grace: Duration::from_millis(1_500),
            visibility: OutputVisibility::Hidden,
            max_memory: MemorySize::parse("2G").ok(),
            log_limit: MemorySize::GIGABYTE,
            sharing: LockSharing::Shared,
            config_fingerprints: Some(vec!["0123456789abcdef fedcba9876543210".to_owned()]),
            stage: Some(TaskStage { task: "T-1".to_owned(), role: Role::Qa, lease_fence: None }),
            own_worktree: None,
        }
    }

    fn sample_agent(name: &str) -> AgentChoice {
        AgentChoice {
            name: name.to_owned(),
            adapter: agent::find_agent("text").unwrap(),
            overrides: PresetOverrides {
                cli: Some("./agent.sh".to_owned()),
                output_format: Some(OutputFormat::Opencode),
                display_filter: Some(".a".to_owned()),
                ..PresetOverrides::default()
            },
            model: Some("m".to_owned()),
            permission: Some(PermissionLevel::Full),
            extra_args: vec!["--x".to_owned()],
            env: sample_env(),
        }
    }

    fn sample_env() -> Vec<(String, String)> {
        vec![("API_KEY".to_owned(), "s3cret".to_owned())]
    }

    fn sample_target() -> ResumeTarget {
        let RunPlan { id, kind, project, visibility, .. } = sample_plan(PromptSource::Text(String::new()));
        ResumeTarget { run_id: id, run_kind: kind.to_owned(), project, visibility }
    }

    fn restore_plan(settings: RunSpec) -> Result<RunPlan, RunSpecError> {
        settings.into_plan(sample_target(), |_| Ok(sample_env()))
    }

    // spec: L13
    #[test]
    fn a_stored_spec_restores_the_same_plan() {
        let settings = RunSpec::from_plan(&sample_plan(PromptSource::Text("do it".to_owned())));
        let read = RunSpec::parse(&settings.to_stored_json().unwrap()).unwrap();
        assert_eq!(read, settings);
        assert!(!settings.to_stored_json().unwrap().contains("s3cret"), "values stay in the configuration");
        let restored = restore_plan(read).unwrap();
        assert_eq!(RunSpec::from_plan(&restored), settings);
        let program = restored.agent.overrides.cli.unwrap();
        assert!(program.starts_with('/') && program.ends_with("/agent.sh"), "{program}");
    }

    // spec: L13
    // fault: 12
    #[test]
    fn an_edited_prompt_file_and_another_ralph_version_are_noticed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("task.md");
        std::fs::write(&path, "one").unwrap();
        let mut settings = RunSpec::from_plan(&sample_plan(PromptSource::File(path.clone())));
        assert!(settings.describe_changes().is_empty());
        std::fs::write(&path, "two").unwrap();
        settings.ralph = "0.0.1".to_owned();
        let changes = settings.describe_changes().join("; ");
        assert!(changes.contains("ralph was 0.0.1") && changes.contains("task.md has changed"), "{changes}");
    }

    // spec: L13
    #[test]
    fn specs_of_a_newer_or_older_ralph_are_refused_with_the_reason() {
        let settings = RunSpec::from_plan(&sample_plan(PromptSource::Text("do it".to_owned())));
        let newer = settings.to_stored_json().unwrap().replace("\"version\":1", "\"version\":2");
        assert!(matches!(RunSpec::parse(&newer), Err(RunSpecError::Newer { found: 2 })));
        assert!(matches!(RunSpec::parse("{\"prompt\":{}}"), Err(RunSpecError::Format { .. })));
        let gone = settings.to_stored_json().unwrap().replace("\"adapter\":\"text\"", "\"adapter\":\"gone\"");
        let refused = restore_plan(RunSpec::parse(&gone).unwrap());
        assert!(matches!(refused, Err(RunSpecError::UnknownAgent { .. })));
    }

    // spec: L13, V2
    #[test]
    fn commands_in_old_specs_become_criteria() {
        let settings = RunSpec::from_plan(&sample_plan(PromptSource::Text("do it".to_owned())));
        let mut old: serde_json::Value = serde_json::from_str(&settings.to_stored_json().unwrap()).unwrap();
        old["checks"] = serde_json::json!([{"command": "make", "success_exit_code": 0, "output_contains": null,
            "output_not_contains": null, "timeout_ms": 300_000}]);
        assert_eq!(RunSpec::parse(&old.to_string()).unwrap(), settings);
    }

    // spec: V3, L13
    #[test]
    fn a_judge_over_http_is_stored_without_its_key() {
        let mut plan = sample_plan(PromptSource::Text("do it".to_owned()));
        let endpoint = JudgeEndpoint {
            api: JudgeApi::OpenAi,
            url: "http://127.0.0.1:9/v1".to_owned(),
            key_env: Some("PATH".to_owned()),
        };
        let model = Some("small".to_owned());
        if let Some(judge) = &mut plan.judge {
            judge.provider = JudgeProvider::Api { endpoint: endpoint.clone(), model: model.clone() };
        }
        let json = RunSpec::from_plan(&plan).to_stored_json().unwrap();
        assert!(json.contains("\"key_env\":\"PATH\"") && !json.contains(&std::env::var("PATH").unwrap()));
        let Some(JudgeChoice { provider: JudgeProvider::Api { endpoint: read, model: named }, .. }) =
            restore_plan(RunSpec::parse(&json).unwrap()).unwrap().judge
        else {
            panic!("{json}")
        };
        assert_eq!((read, named), (endpoint, model));
    }

    // spec: L6, L13
    #[test]
    fn old_specs_have_no_fallback_and_no_judge() {
        let settings = RunSpec::from_plan(&sample_plan(PromptSource::Text("do it".to_owned())));
        let mut old: serde_json::Value = serde_json::from_str(&settings.to_stored_json().unwrap()).unwrap();
        assert_eq!((&old["fallback"][0]["agent"], &old["judge"]["agent"]), (&"other".into(), &"judge".into()));
        for key in ["fallback", "judge"] {
            old.as_object_mut().unwrap().remove(key);
        }
        let plan = restore_plan(RunSpec::parse(&old.to_string()).unwrap()).unwrap();
        assert!(plan.fallback.is_empty() && plan.judge.is_none());
    }
}
