//! Parser, schema, `config show` and guide have the same keys.
use ralph_core::criterion::ExternalCheck;

use super::*;
use crate::config::keys::notify_keys::NOTIFY_KEYS;

// spec: G1
#[test]
fn schema_and_parser_have_the_same_keys_and_the_parser_accepts_every_default() {
    let schema = config_schema();
    for key in CONFIG_KEYS {
        let found = key.path.split('.').try_fold(&schema, |here, name| here["properties"].get(name));
        let found = found.unwrap_or_else(|| panic!("{} is not in the schema", key.path));
        assert!(!found["description"].as_str().unwrap().is_empty(), "{}", key.path);
        let text =
            key.path.rsplit('.').fold(found["default"].to_string(), |below, name| format!("{{{name}: {below}}}"));
        let default = settings_from_yaml(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        if let KeyTarget::Slot(_) = key.target {
            let (before, after) = (Settings::default().effective_settings(), default.effective_settings());
            let values = |shown: Vec<EffectiveSetting>| {
                shown.into_iter().map(|shown| (shown.key, shown.value)).collect::<Vec<_>>()
            };
            assert_eq!(
                values(before),
                values(after),
                "the documented default of {} is not the effective one",
                key.path
            );
        }
    }
    assert_eq!(count_leaves(&schema), CONFIG_KEYS.len(), "the schema has a key that the parser does not know");
}

// spec: G1
#[test]
fn schema_and_parser_agree_on_agents_and_checks_too() {
    let schema = config_schema();
    let agent = &schema["properties"]["agents"]["additionalProperties"];
    assert_eq!(count_leaves(agent), AGENT_KEYS.len());
    for key in AGENT_KEYS {
        let default = &agent["properties"][key.path]["default"];
        let text = format!("agents: {{claude: {{{}: {default}}}}}", key.path);
        settings_from_yaml(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let check = &schema["$defs"]["check"];
    assert_eq!(count_leaves(check), CHECK_KEYS.len());
    for key in CHECK_KEYS.iter().filter(|key| key.path != "command") {
        let default = &check["properties"][key.path]["default"];
        let text = format!("checks: [{{command: x, {}: {default}}}]", key.path);
        let settings = settings_from_yaml(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(settings.checks.value, [ConfiguredCheck::from(ExternalCheck::from_shell_text("x"))], "{text}");
    }
}

// spec: G1, U7
#[test]
fn schema_and_parser_agree_on_targets_of_notifications() {
    let target = &config_schema()["properties"]["notify"]["items"];
    assert_eq!(count_leaves(target), NOTIFY_KEYS.len());
    assert_eq!(target["properties"]["kind"]["enum"], serde_json::json!(["desktop", "webhook", "slack", "script"]));
}

// spec: G1
#[test]
fn effective_settings_can_be_written_to_a_file_and_mean_the_same() {
    let text = "checks: [a, {command: b, timeout: 90s, output_contains: x}, {command: [c, d e]}, {check_for: f, retries: 2},\
                {stages: [{plugin: p, config: {a: [1, x]}}, {command: g, required: false}], parallel: true, name: h}]\nlimits: {max_memory: 512, grace: 1500ms}\n\
                signals: {contradictions: [almost], match: exact}\nmodel: null\nagents: {claude: {output_format: json, args: []}}\n\
                notify: [{kind: webhook, url: 'https://a.example/x', secret_env: S, on: [blocked], quiet: '22:00-7:00', digest: '8:00'}]";
    let settings = settings_from_yaml(text).unwrap();
    let mut again = Settings::default();
    for shown in settings.effective_settings() {
        let line = shown.key.rsplit('.').fold(shown.value.to_string(), |below, name| format!("{{{name}: {below}}}"));
        document::apply_document(&mut again, &line, &file_source(FileLayer::Project, "config.yaml")).unwrap();
    }
    let values = |settings: &Settings| {
        settings.effective_settings().into_iter().map(|shown| (shown.key, shown.value)).collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&settings));
}

// spec: G2
#[test]
fn the_example_in_the_requirements_is_a_valid_configuration() {
    settings_from_yaml(
        "agent: claude\nagents:\n  mine: { type: text, cli: ./agent.sh, args: [], env: {} }\n\
         ralph:\n  enabled: true\n  default_max_iterations: 10\n  default_verification: string_match\n  verify_promises: true\n  \
         coder:    { enabled: true, max_iterations: 15, completion_promise: IMPLEMENTATION_COMPLETE, model: null }\n  \
         reviewer: { max_iterations: 5,  completion_promise: REVIEW_PASSED }\n  \
         tester:   { max_iterations: 10, completion_promise: TESTS_PASSED }\n  \
         qa:       { max_iterations: 5,  completion_promise: QA_PASSED }\n\
         pipeline: { stages: [coder, reviewer, tester, qa], slots: 1, max_rounds: 3, max_attempts: 2, land: manual, commit: auto, setup: [] }\n\
         limits: { iteration_timeout: 60m, idle_timeout: 10m, after_result: 30s, grace: 5s, max_retries: 3, max_rate_limit_wait: 6h,\n          \
         max_cost_usd: null, max_tokens: null, max_duration: 12h, require_known_cost: false }\n\
         stall: { iterations: 3 }             # off in classic mode\n\
         signals: { match: loose, scope: final, nonce: false, contradictions: true }\n\
         verification: { isolation: workspace, guard: [], baseline: true, judge: { agent: claude, model: haiku, on_error: reject } }\n\
         session: { enabled: true, max_iterations: 100, promise: DONE, continuation_delay: 500ms }\n\
         store: sqlite                    # or postgres://…\nnotify: []\nsandbox: off\n",
    )
    .unwrap();
}

fn count_leaves(schema: &serde_json::Value) -> usize {
    match schema.get("properties").and_then(serde_json::Value::as_object) {
        Some(properties) => {
            assert_eq!(schema["additionalProperties"], false);
            properties.values().map(count_leaves).sum()
        }
        None => 1,
    }
}

// spec: G1, G2
#[test]
fn the_guide_describes_every_key() {
    let guide = include_str!("../../../../../docs/guide/config.md");
    let agent = AGENT_KEYS.iter().map(|key| key.path);
    let check = CHECK_KEYS.iter().map(|key| key.path);
    let notify = NOTIFY_KEYS.iter().map(|key| key.path);
    for path in CONFIG_KEYS.iter().map(|key| key.path).chain(agent).chain(check).chain(notify) {
        assert!(guide.contains(&format!("`{path}`")), "docs/guide/config.md does not describe `{path}`");
    }
}
