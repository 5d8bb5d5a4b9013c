//! What a run was asked to do, as it is stored with the run, so that another process can go on with it.
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::claim::ClaimRules;
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::policy::Policy;
use serde::{Deserialize, Deserializer, Serialize};

use super::judge::StoredJudge;
use super::plan::{AgentChoice, Audience, PromptSource, RunPlan, StageOf, kind_named, session_room};
use super::stored_agent::StoredAgent;
use super::stored_path;
use super::template::read_text;
use crate::lock::Sharing;
use crate::project::Project;
use crate::verify::Acceptance;
use ralph_agents::UnknownAgent;
use ralph_util::digest::sha256;
use ralph_util::memory_size::MemorySize;
use ralph_util::redact;
use ralph_util::session_file::SessionFile;

/// The version of this format. A higher one was written by a newer ralph.
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    version: u32,
    /// The ralph that drove the run last.
    ralph: String,
    prompt: PromptSource,
    /// What the prompt file held when the run was last taken up: its SHA-256.
    prompt_hash: Option<String>,
    #[serde(with = "stored_path::optional")]
    follows: Option<PathBuf>,
    /// The folder for session logs, where the run keeps one.
    #[serde(with = "stored_path::optional")]
    session_logs: Option<PathBuf>,
    #[serde(flatten)]
    agent: StoredAgent,
    #[serde(default)]
    fallback: Vec<StoredAgent>,
    rules: ClaimRules,
    #[serde(deserialize_with = "criteria")]
    checks: Vec<Criterion>,
    #[serde(default)]
    acceptance: Acceptance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judge: Option<StoredJudge>,
    policy: Policy,
    grace_ms: u64,
    max_memory_mb: Option<u64>,
    log_limit_mb: u64,
    parallel: bool,
    /// What the configuration said when the run began. Runs of before do not know.
    #[serde(default)]
    configured: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stage: Option<StageOf>,
    /// The name of the tree of ralph's own that it works in, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<String>,
    /// The secrets that it was given are not stored, but each can be read again from the variable that its mark names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reread: bool,
}

/// Why stored settings are no plan.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("the run was stored in another format (this ralph writes format {VERSION})")]
    Format { source: serde_json::Error },
    #[error(
        "the run was stored by a newer ralph: its settings have format {found}, this one knows {VERSION}"
    )]
    Newer { found: u32 },
    #[error(
        "the run was given a secret in its prompt, its arguments or its checks, and secrets are not stored"
    )]
    Secret,
    #[error("the run was given the value of {}, which is not stored, and not set now", variables.join(" and "))]
    Unset { variables: Vec<String> },
    #[error("there is no kind of run named {kind:?}")]
    Kind { kind: String },
    #[error("the agent of the run is not known any more")]
    Agent { source: UnknownAgent },
}

/// Where and for whom a stored run goes on.
pub struct Place {
    pub id: String,
    pub kind: String,
    pub project: Project,
    pub audience: Audience,
}

impl RunSettings {
    #[must_use]
    pub fn of(plan: &RunPlan) -> Self {
        Self {
            version: VERSION,
            ralph: env!("CARGO_PKG_VERSION").to_owned(),
            prompt: plan.prompt.clone(),
            prompt_hash: plan.prompt.file().and_then(hash),
            follows: plan.follows.clone(),
            session_logs: plan.session.as_ref().map(|log| log.folder().to_path_buf()),
            agent: StoredAgent::of(&plan.agent),
            fallback: plan.fallback.iter().map(StoredAgent::of).collect(),
            rules: plan.rules.clone(),
            checks: plan.checks.clone(),
            acceptance: plan.acceptance.clone(),
            judge: plan.judge.as_ref().map(StoredJudge::of),
            policy: plan.policy.clone(),
            grace_ms: u64::try_from(plan.grace.as_millis()).unwrap_or(u64::MAX),
            max_memory_mb: plan.max_memory.map(MemorySize::mb),
            log_limit_mb: plan.log_limit.mb(),
            parallel: plan.sharing == Sharing::Parallel,
            configured: plan.configured.clone(),
            stage: plan.stage.clone(),
            tree: plan.tree.as_ref().map(|place| place.tree.name.clone()),
            reread: false,
        }
    }

    /// Returns what the run had to meet.
    #[must_use]
    pub fn criteria(&self) -> &[Criterion] {
        &self.checks
    }

    /// Returns how its claims were accepted.
    #[must_use]
    pub fn acceptance(&self) -> &Acceptance {
        &self.acceptance
    }

    /// Returns the name of the tree that it works in, where that is not the user's work tree.
    #[must_use]
    pub fn tree(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    /// Returns where its words come from.
    #[must_use]
    pub fn prompt(&self) -> &PromptSource {
        &self.prompt
    }

    /// Returns it as it is stored: without secrets, and saying whether they can be read again. Where a secret stood in
    /// another form than its variable has, they cannot.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let whole = serde_json::to_string(self)?;
        let hidden = redact::text(&whole).into_owned();
        let reread = hidden != whole && redact::reveal(&hidden).is_ok_and(|again| again == whole);
        if !reread {
            return Ok(hidden);
        }
        let said = serde_json::to_string(&Self { reread, ..self.clone() })?;
        Ok(redact::text(&said).into_owned())
    }

    /// Returns how long the agents of the run have to leave when they are asked to.
    #[must_use]
    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    pub fn parse(json: &str) -> Result<Self, SettingsError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
            #[serde(default)]
            reread: bool,
        }
        let format = |source| SettingsError::Format { source };
        let Version { version: found, reread } = serde_json::from_str(json).map_err(format)?;
        if found > VERSION {
            return Err(SettingsError::Newer { found });
        }
        let whole = match (redact::is_marked(json), reread) {
            (false, _) => json.to_owned(),
            (true, false) => return Err(SettingsError::Secret),
            (true, true) => redact::reveal(json).map_err(|variables| SettingsError::Unset { variables })?,
        };
        let settings: Self = serde_json::from_str(&whole).map_err(format)?;
        Ok(Self { reread: false, ..settings })
    }

    /// Returns the plan of a run that goes on.
    ///
    /// `env` returns the values of the variables that the configuration has for an agent. A tree of ralph's own is opened by
    /// whoever calls.
    pub fn plan<E>(
        self,
        place: Place,
        env: impl Fn(&StoredAgent) -> Result<Vec<(String, String)>, E>,
    ) -> Result<RunPlan, E>
    where
        E: From<SettingsError>,
    {
        let kind = kind_named(&place.kind).ok_or(SettingsError::Kind { kind: place.kind })?;
        let log_limit = MemorySize::of_mb(self.log_limit_mb).unwrap_or(MemorySize::GIGABYTE);
        let again = |agent: StoredAgent| -> Result<AgentChoice, E> {
            let env = env(&agent)?;
            Ok(agent.choice(env).map_err(|source| SettingsError::Agent { source })?)
        };
        let list = place.project.session_list(&place.id);
        let session = self.session_logs.as_deref();
        let session = session.map(|folder| SessionFile::new(folder, session_room(log_limit), &list));
        let agent = again(self.agent)?;
        let fallback = self.fallback.into_iter().map(again).collect::<Result<_, E>>()?;
        let judge = self.judge.map(|judge| judge.choice(again)).transpose()?;
        Ok(RunPlan {
            id: place.id,
            kind,
            project: place.project,
            agent,
            fallback,
            prompt: self.prompt,
            follows: self.follows,
            session,
            rules: self.rules,
            checks: self.checks,
            acceptance: self.acceptance,
            judge,
            policy: self.policy,
            grace: Duration::from_millis(self.grace_ms),
            audience: place.audience,
            max_memory: self.max_memory_mb.and_then(MemorySize::of_mb),
            log_limit,
            sharing: if self.parallel { Sharing::Parallel } else { Sharing::Alone },
            configured: self.configured,
            stage: self.stage,
            tree: None,
        })
    }

    /// Returns what the configuration said when the run began.
    #[must_use]
    pub fn configured(&self) -> Option<&[String]> {
        self.configured.as_deref()
    }

    /// Says what is not as it was when the run was last taken up.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let version = env!("CARGO_PKG_VERSION");
        let ralph =
            (self.ralph != version).then(|| format!("ralph was {}, and is {version} now", self.ralph));
        let prompt = self.prompt.file().filter(|path| hash(path) != self.prompt_hash);
        let prompt = prompt.map(|path| format!("the prompt file {} has other words now", path.display()));
        ralph.into_iter().chain(prompt).collect()
    }
}

/// Reads criteria. Runs of before had commands only.
fn criteria<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Criterion>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Criterion(Criterion),
        Command(ExternalCheck),
    }
    let stored = Vec::<Stored>::deserialize(from)?;
    Ok(stored
        .into_iter()
        .map(|stored| match stored {
            Stored::Criterion(criterion) => criterion,
            Stored::Command(check) => check.into(),
        })
        .collect())
}

fn hash(path: &Path) -> Option<String> {
    read_text(path).ok().map(sha256)
}

#[cfg(test)]
mod tests {
    use ralph_core::claim::Promise;
    use ralph_core::judge::{Api, Endpoint, OnError};
    use ralph_core::task::Role;

    use super::*;
    use crate::engine::{JudgeChoice, Who};
    use ralph_agents as agent;
    use ralph_agents::{Format, Overrides, Permission};

    fn plan(prompt: PromptSource) -> RunPlan {
        let root = PathBuf::from("/somewhere");
        RunPlan {
            id: "r1".to_owned(),
            kind: "run",
            project: Project { home: root.join(".ralph"), root },
            agent: choice("mine"),
            fallback: vec![choice("other")],
            prompt,
            follows: Some("/somewhere/plan.md".into()),
            session: Some(SessionFile::new(
                Path::new("/somewhere/logs"),
                1 << 30,
                Path::new("/somewhere/list"),
            )),
            rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
            checks: vec![ExternalCheck::of_command("make").into()],
            acceptance: Acceptance { guard: vec!["tests".to_owned()], ..Acceptance::default() },
            judge: Some(JudgeChoice {
                who: Who::Agent(Box::new(choice("judge"))),
                on_error: OnError::StringMatch,
                timeout: Duration::from_secs(9),
                base: "abc".to_owned(),
            }),
            policy: Policy::new(7),
            grace: Duration::from_millis(1_500),
            audience: Audience::Nobody,
            max_memory: MemorySize::parse("2G").ok(),
            log_limit: MemorySize::GIGABYTE,
            sharing: Sharing::Parallel,
            configured: Some(vec!["0123456789abcdef fedcba9876543210".to_owned()]),
            stage: Some(StageOf { task: "T-1".to_owned(), role: Role::Qa, lease: None }),
            tree: None,
        }
    }

    fn choice(name: &str) -> AgentChoice {
        AgentChoice {
            name: name.to_owned(),
            adapter: agent::find("text").unwrap(),
            overrides: Overrides {
                cli: Some("./agent.sh".to_owned()),
                output_format: Some(Format::Opencode),
                display_filter: Some(".a".to_owned()),
                ..Overrides::default()
            },
            model: Some("m".to_owned()),
            permission: Some(Permission::Full),
            extra_args: vec!["--x".to_owned()],
            env: env(),
        }
    }

    fn env() -> Vec<(String, String)> {
        vec![("API_KEY".to_owned(), "s3cret".to_owned())]
    }

    fn place() -> Place {
        let RunPlan { id, kind, project, audience, .. } = plan(PromptSource::Text(String::new()));
        Place { id, kind: kind.to_owned(), project, audience }
    }

    fn again(settings: RunSettings) -> Result<RunPlan, SettingsError> {
        settings.plan(place(), |_| Ok(env()))
    }

    // spec: L13
    #[test]
    fn settings_become_the_same_plan_again() {
        let settings = RunSettings::of(&plan(PromptSource::Text("do it".to_owned())));
        let read = RunSettings::parse(&settings.json().unwrap()).unwrap();
        assert_eq!(read, settings);
        assert!(!settings.json().unwrap().contains("s3cret"), "values stay in the configuration");
        let again = again(read).unwrap();
        assert_eq!(RunSettings::of(&again), settings);
        let program = again.agent.overrides.cli.unwrap();
        assert!(program.starts_with('/') && program.ends_with("/agent.sh"), "{program}");
    }

    // spec: L13
    // fault: 12
    #[test]
    fn a_prompt_file_that_was_edited_and_another_ralph_are_noticed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("task.md");
        std::fs::write(&path, "one").unwrap();
        let mut settings = RunSettings::of(&plan(PromptSource::File(path.clone())));
        assert!(settings.changes().is_empty());
        std::fs::write(&path, "two").unwrap();
        settings.ralph = "0.0.1".to_owned();
        let changes = settings.changes().join("; ");
        assert!(
            changes.contains("ralph was 0.0.1") && changes.contains("task.md has other words"),
            "{changes}"
        );
    }

    // spec: L13
    #[test]
    fn settings_of_a_newer_or_older_ralph_are_refused_with_the_reason() {
        let settings = RunSettings::of(&plan(PromptSource::Text("do it".to_owned())));
        let newer = settings.json().unwrap().replace("\"version\":1", "\"version\":2");
        assert!(matches!(RunSettings::parse(&newer), Err(SettingsError::Newer { found: 2 })));
        assert!(matches!(RunSettings::parse("{\"prompt\":{}}"), Err(SettingsError::Format { .. })));
        let gone = settings.json().unwrap().replace("\"adapter\":\"text\"", "\"adapter\":\"gone\"");
        let refused = again(RunSettings::parse(&gone).unwrap());
        assert!(matches!(refused, Err(SettingsError::Agent { .. })));
    }

    // spec: L13, V2
    #[test]
    fn commands_of_before_are_criteria_now() {
        let settings = RunSettings::of(&plan(PromptSource::Text("do it".to_owned())));
        let mut old: serde_json::Value = serde_json::from_str(&settings.json().unwrap()).unwrap();
        old["checks"] = serde_json::json!([{"command": "make", "success_exit_code": 0, "output_contains": null,
            "output_not_contains": null, "timeout_ms": 300_000}]);
        assert_eq!(RunSettings::parse(&old.to_string()).unwrap(), settings);
    }

    // spec: V3, L13
    #[test]
    fn a_judge_over_http_is_stored_without_its_key() {
        let mut plan = plan(PromptSource::Text("do it".to_owned()));
        let endpoint = Endpoint {
            api: Api::OpenAi,
            url: "http://127.0.0.1:9/v1".to_owned(),
            key_env: Some("PATH".to_owned()),
        };
        let model = Some("small".to_owned());
        if let Some(judge) = &mut plan.judge {
            judge.who = Who::Api { endpoint: endpoint.clone(), model: model.clone() };
        }
        let json = RunSettings::of(&plan).json().unwrap();
        assert!(json.contains("\"key_env\":\"PATH\"") && !json.contains(&std::env::var("PATH").unwrap()));
        let Some(JudgeChoice { who: Who::Api { endpoint: read, model: named }, .. }) =
            again(RunSettings::parse(&json).unwrap()).unwrap().judge
        else {
            panic!("{json}")
        };
        assert_eq!((read, named), (endpoint, model));
    }

    // spec: L6, L13
    #[test]
    fn settings_of_before_have_no_fallback_and_no_judge() {
        let settings = RunSettings::of(&plan(PromptSource::Text("do it".to_owned())));
        let mut old: serde_json::Value = serde_json::from_str(&settings.json().unwrap()).unwrap();
        assert_eq!(
            (&old["fallback"][0]["agent"], &old["judge"]["agent"]),
            (&"other".into(), &"judge".into())
        );
        for key in ["fallback", "judge"] {
            old.as_object_mut().unwrap().remove(key);
        }
        let plan = again(RunSettings::parse(&old.to_string()).unwrap()).unwrap();
        assert!(plan.fallback.is_empty() && plan.judge.is_none());
    }
}
