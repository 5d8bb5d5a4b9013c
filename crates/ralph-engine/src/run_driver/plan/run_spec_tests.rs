//! Tests of the stored form of a run.
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::claim::{ClaimRules, Promise};
use ralph_core::criterion::ExternalCheck;
use ralph_core::judge::{JudgeApi, JudgeEndpoint, JudgeErrorPolicy};
use ralph_core::policy::Policy;
use ralph_core::task::Role;

use super::agent_choice::AgentChoice;
use super::judge_choice::StoredJudge;
use super::prompt_source::PromptSource;
use super::run_spec::{RunSpec, RunSpecError, TaskStage};
use super::stored_agent::StoredAgent;
use crate::lock::LockSharing;
use crate::project::{Project, StateLocation};
use crate::run_driver::{JudgeChoice, JudgeProvider, OutputVisibility, ResumeTarget, RunContext, RunPlan};
use crate::verify::AcceptancePolicy;
use ralph_agents as agent;
use ralph_agents::{FileAccess, OutputFormat, PermissionLevel, PresetOverrides, WorkScope};
use ralph_util::memory_size::MemorySize;
use ralph_util::session_log_file::SessionLogFile;

fn sample_plan(prompt: PromptSource) -> RunPlan {
    let root = PathBuf::from("/somewhere");
    let (agent, fallback) = (sample_agent("mine"), vec![sample_agent("other")]);
    let judge = JudgeChoice {
        provider: JudgeProvider::Agent(Box::new(sample_agent("judge"))),
        on_error: JudgeErrorPolicy::StringMatch,
        timeout: Duration::from_secs(9),
        base_commit: "abc".to_owned(),
    };
    let spec = RunSpec {
        plan_file: Some("/somewhere/plan.md".into()),
        fallback: fallback.iter().map(StoredAgent::from_choice).collect(),
        criteria: vec![ExternalCheck::from_shell_text("make").into()],
        acceptance: AcceptancePolicy { guard: vec!["tests".to_owned()], ..AcceptancePolicy::default() },
        judge: Some(StoredJudge::from_choice(&judge)),
        stop_grace: Duration::from_millis(1_500),
        max_memory: MemorySize::parse("2G").ok(),
        sharing: LockSharing::Shared,
        config_fingerprints: Some(vec!["0123456789abcdef fedcba9876543210".to_owned()]),
        stage: Some(TaskStage { task: "T-1".to_owned(), role: Role::Qa }),
        ..RunSpec::new(prompt, &agent, ClaimRules::new(Promise::parse("DONE").unwrap()), Policy::new(7))
    };
    let context = RunContext {
        id: "r1".to_owned(),
        kind: "run",
        project: Project { home: root.join(".ralph"), state: StateLocation::unregistered(root.join("state")), root },
        agent,
        fallback,
        judge: Some(judge),
        session_log: None,
        visibility: OutputVisibility::Hidden,
        own_worktree: None,
        lease_fence: None,
        task_seal: None,
    };
    let log = SessionLogFile::new(Path::new("/somewhere/logs"), 1 << 30, Path::new("/somewhere/list"));
    RunPlan { spec, context }.with_session_log(log)
}

fn sample_spec() -> RunSpec {
    sample_plan(PromptSource::Text("do it".to_owned())).spec
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
        permission: Some(PermissionLevel::Work),
        work_scope: Some(WorkScope::new(["make test"], FileAccess::Read)),
        extra_args: vec!["--x".to_owned()],
        env: sample_env(),
    }
}

fn sample_env() -> Vec<(String, String)> {
    vec![("API_KEY".to_owned(), "s3cret".to_owned())]
}

fn sample_target() -> ResumeTarget {
    let RunContext { id, kind, project, visibility, .. } = sample_plan(PromptSource::Text(String::new())).context;
    ResumeTarget { run_id: id, run_kind: kind.to_owned(), project, visibility }
}

fn restore_context(spec: &RunSpec) -> Result<RunContext, RunSpecError> {
    RunContext::restore(spec, sample_target(), |_| Ok(sample_env()))
}

// spec: L13
#[test]
fn a_stored_spec_restores_the_same_run() {
    let RunPlan { spec, context } = sample_plan(PromptSource::Text("do it".to_owned()));
    let json = spec.to_stored_json().unwrap();
    let read = RunSpec::parse(&json).unwrap();
    assert_eq!(
        read,
        RunSpec { prompt_title: Some("do it".to_owned()), ..spec.clone() },
        "the title is set when it is stored"
    );
    assert_eq!(read.to_stored_json().unwrap(), json);
    assert!(!json.contains("s3cret"), "values stay in the configuration");
    let restored = restore_context(&read).unwrap();
    assert_eq!(restored.agent.env, context.agent.env);
    assert_eq!(StoredAgent::from_choice(&restored.agent), spec.agent);
    assert_eq!(restored.judge.as_ref().map(StoredJudge::from_choice), spec.judge);
    assert_eq!(restored.session_log.map(|log| log.folder().to_path_buf()), spec.session_log_folder);
    let program = restored.agent.overrides.cli.unwrap();
    assert!(program.starts_with('/') && program.ends_with("/agent.sh"), "{program}");
}

/// The settings of a stage as an earlier version stored them, with fewer fingerprints.
const STORED_STAGE: &str = r#"{"version":1,"ralph":"0.1.0","prompt":{"text":"do it"},"prompt_hash":null,"follows":null,"session_logs":null,"agent":"text","adapter":"text","env":[],"cli":"/tmp/old/agent","args":null,"output_format":null,"response_filter":null,"display_filter":null,"model":null,"permission":null,"extra_args":["script","/tmp/old/script"],"fallback":[],"rules":{"promise":"AUTH_DONE","matching":"loose","scope":"final","nonce":null,"plain":"refused","contradictions":{"on":{"extra":[]}}},"checks":[{"method":"external","config":{"command":"test -e fixed","success_exit_code":0,"output_contains":null,"output_not_contains":null,"timeout_ms":300000}}],"policy":{"max_iterations":4,"max_retries":3,"timeouts":{"iteration_ms":3600000,"silence_ms":600000,"after_result_ms":30000,"repeating_ms":300000,"handshake_ms":120000},"proof":"checks","context":"fresh","nonce":"off","when_exhausted":"not_complete","rate_limits":{"max_wait_ms":21600000,"agents":["text"]},"judging":"no"},"grace_ms":5000,"max_memory_mb":null,"log_limit_mb":1024,"parallel":false,"configured":["d4f0bc5a29de06b5 389432cbf83f3d1b"],"stage":{"task":"T-1","role":"coder"}}"#;

// spec: L13
#[test]
fn a_spec_of_an_earlier_version_is_read_and_keeps_its_keys_in_their_order() {
    let spec = RunSpec::parse(STORED_STAGE).unwrap();
    assert_eq!((spec.stop_grace, spec.log_limit), (Duration::from_secs(5), MemorySize::GIGABYTE));
    assert_eq!((spec.max_memory, spec.sharing), (None, LockSharing::Exclusive));
    assert_eq!(spec.stage, Some(TaskStage { task: "T-1".to_owned(), role: Role::Coder }));
    let json = spec.to_stored_json().unwrap();
    let (old, new): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(STORED_STAGE).unwrap(), serde_json::from_str(&json).unwrap());
    let old = old.as_object().unwrap();
    for (key, value) in old.iter().filter(|(key, _)| !matches!(key.as_str(), "ralph" | "policy" | "rules")) {
        assert_eq!(&new[key], value, "{key}");
    }
    let mut keys: Vec<&String> = old.keys().collect();
    keys.sort_by_key(|key| STORED_STAGE.find(&format!("\"{key}\":")));
    assert!(keys.is_sorted_by_key(|key| json.find(&format!("\"{key}\":"))), "{json}");
}

// spec: L13
// fault: 12
#[test]
fn an_edited_prompt_file_and_another_ralph_version_are_noticed() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("task.md");
    std::fs::write(&path, "one").unwrap();
    let stored = sample_plan(PromptSource::File(path.clone())).spec.to_stored_json().unwrap();
    let mut settings = RunSpec::parse(&stored).unwrap();
    assert!(settings.describe_changes().is_empty());
    std::fs::write(&path, "two").unwrap();
    settings.ralph = "0.0.1".to_owned();
    let changes = settings.describe_changes().join("; ");
    assert!(changes.contains("ralph was 0.0.1") && changes.contains("task.md has changed"), "{changes}");
}

// spec: L13
#[test]
fn specs_of_a_newer_or_older_ralph_are_refused_with_the_reason() {
    let settings = sample_spec();
    let newer = settings.to_stored_json().unwrap().replace("\"version\":1", "\"version\":2");
    assert!(matches!(RunSpec::parse(&newer), Err(RunSpecError::Newer { found: 2 })));
    assert!(matches!(RunSpec::parse("{\"prompt\":{}}"), Err(RunSpecError::Format { .. })));
    let gone = settings.to_stored_json().unwrap().replace("\"adapter\":\"text\"", "\"adapter\":\"gone\"");
    let refused = restore_context(&RunSpec::parse(&gone).unwrap());
    assert!(matches!(refused, Err(RunSpecError::UnknownAgent { .. })));
}

// spec: L13, V2
#[test]
fn commands_in_old_specs_become_criteria() {
    let settings = sample_spec();
    let mut old: serde_json::Value = serde_json::from_str(&settings.to_stored_json().unwrap()).unwrap();
    old["checks"] = serde_json::json!([{"command": "make", "success_exit_code": 0, "output_contains": null,
        "output_not_contains": null, "timeout_ms": 300_000}]);
    assert_eq!(RunSpec::parse(&old.to_string()).unwrap().criteria, settings.criteria);
}

// spec: V3, L13
#[test]
fn a_judge_over_http_is_stored_without_its_key() {
    let endpoint = JudgeEndpoint {
        api: JudgeApi::OpenAi,
        url: "http://127.0.0.1:9/v1".to_owned(),
        key_env: Some("PATH".to_owned()),
    };
    let model = Some("small".to_owned());
    let judge = JudgeChoice {
        provider: JudgeProvider::Api { endpoint: endpoint.clone(), model: model.clone() },
        on_error: JudgeErrorPolicy::StringMatch,
        timeout: Duration::from_secs(9),
        base_commit: "abc".to_owned(),
    };
    let spec = RunSpec { judge: Some(StoredJudge::from_choice(&judge)), ..sample_spec() };
    let json = spec.to_stored_json().unwrap();
    assert!(json.contains("\"key_env\":\"PATH\"") && !json.contains(&std::env::var("PATH").unwrap()));
    let Some(JudgeChoice { provider: JudgeProvider::Api { endpoint: read, model: named }, .. }) =
        restore_context(&RunSpec::parse(&json).unwrap()).unwrap().judge
    else {
        panic!("{json}")
    };
    assert_eq!((read, named), (endpoint, model));
}

// spec: L6, L13
#[test]
fn old_specs_have_no_fallback_and_no_judge() {
    let settings = sample_spec();
    let mut old: serde_json::Value = serde_json::from_str(&settings.to_stored_json().unwrap()).unwrap();
    assert_eq!((&old["fallback"][0]["agent"], &old["judge"]["agent"]), (&"other".into(), &"judge".into()));
    for key in ["fallback", "judge"] {
        old.as_object_mut().unwrap().remove(key);
    }
    let context = restore_context(&RunSpec::parse(&old.to_string()).unwrap()).unwrap();
    assert!(context.fallback.is_empty() && context.judge.is_none());
}
