//! The layers together, without any file.
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::{any, proptest};
use ralph_core::claim::{Contradictions, Matching, Scope};

use super::keys::{KEYS, Place, variable};
use super::origin::Source;
use super::*;

fn source(layer: FileLayer, name: &str) -> Source {
    Source::File { layer, path: PathBuf::from(name) }
}

fn yaml(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    document::apply(&mut settings, text, &source(FileLayer::Project, "config.yaml"))?;
    settings.check_agents()?;
    Ok(settings)
}

fn old(text: &str) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    classic::apply(&mut settings, text, &source(FileLayer::Project, "config"))?;
    settings.check_agents()?;
    Ok(settings)
}

fn with_variables(settings: &mut Settings, variables: &[(&str, &str)]) -> Result<(), ConfigError> {
    environment::apply(
        settings,
        variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))),
    )
}

#[track_caller]
fn refused(settings: Result<Settings, ConfigError>, message: &str, hint: &str) {
    let error = settings.err().unwrap_or_else(|| panic!("accepted, but expected: {message}"));
    assert_eq!((error.to_string().as_str(), error.hint.as_deref().unwrap_or("")), (message, hint));
}

fn chosen(settings: &Settings) -> Chosen {
    settings.chosen(&PathBuf::from("/project")).unwrap()
}

// spec: G1
#[test]
fn a_higher_layer_replaces_a_lower_one_key_by_key_and_every_value_knows_its_origin() {
    let mut settings = Settings::default();
    let user = source(FileLayer::User, "user.yaml");
    document::apply(&mut settings, "model: opus\nlimits:\n  grace: 1s\n  max_retries: 7", &user).unwrap();
    document::apply(&mut settings, "limits:\n  grace: 2s", &source(FileLayer::Project, "project.yaml"))
        .unwrap();
    with_variables(&mut settings, &[("RALPH_LIMITS_IDLE_TIMEOUT", "90"), ("PATH", "/bin")]).unwrap();
    settings.limits.after_result.flag(Some(Duration::from_secs(1)), "--after-result");
    let told = |key: &str| {
        let shown = settings.shown().into_iter().find(|shown| shown.key == key).unwrap();
        format!("{} {} {}", shown.value, shown.layer, shown.origin)
    };
    assert_eq!(told("model"), "\"opus\" user user.yaml:1");
    assert_eq!(told("limits.max_retries"), "7 user user.yaml:4");
    assert_eq!(told("limits.grace"), "\"2s\" project project.yaml:2");
    assert_eq!(told("limits.idle_timeout"), "\"90s\" environment RALPH_LIMITS_IDLE_TIMEOUT");
    assert_eq!(told("limits.after_result"), "\"1s\" flag --after-result");
    assert_eq!(told("limits.iteration_timeout"), "\"1h\" built-in built-in");
}

// spec: G2
#[test]
fn every_key_that_exists_now_has_an_effect() {
    let settings = yaml(
        "agent: mine\nmodel: fast\nspecs_dir: docs\nvars: {A: 1.10, B: no, C: '', D: \"x\\ny\"}\n\
         agents:\n  mine: {type: text, cli: ./agent.sh, args: [-x, two words], env: {K: v}, output_format: claude, \
         response_filter: .a, display_filter: .b}\n\
         ralph: {default_max_iterations: 33}\n\
         limits: {iteration_timeout: 2h, idle_timeout: 5m, after_result: 10s, grace: 7, max_retries: 0, max_memory: 2G}\n\
         signals: {match: exact, scope: iteration, nonce: true, contradictions: [not quite]}\n\
         checks:\n  - cargo test\n  - {command: make, success_exit_code: 3, output_contains: ok, output_not_contains: no, timeout: 1m}\n",
    )
    .unwrap();
    let agent = chosen(&settings);
    assert_eq!(
        (agent.name.as_str(), agent.adapter.name(), agent.model.as_deref()),
        ("mine", "text", Some("fast"))
    );
    assert_eq!(agent.overrides.cli.as_deref(), Some("/project/./agent.sh"));
    assert_eq!(agent.overrides.args.as_deref(), Some(["-x".to_owned(), "two words".to_owned()].as_slice()));
    assert_eq!(agent.overrides.output_format, Some(crate::agent::Format::Claude));
    assert_eq!(
        (agent.overrides.response_filter.as_deref(), agent.overrides.display_filter.as_deref()),
        (Some(".a"), Some(".b"))
    );
    assert_eq!(agent.env, [("K".to_owned(), "v".to_owned())]);
    assert_eq!((settings.default_max_iterations.value, settings.specs_dir.value.as_str()), (33, "docs"));
    let vars: Vec<_> = settings.variables().into_iter().collect();
    let expected = [("A", "1.10"), ("B", "no"), ("C", ""), ("D", "x\ny")];
    assert_eq!(vars, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let policy = settings.policy(4, ralph_core::policy::Proof::Checks);
    assert_eq!((policy.max_iterations, policy.max_retries, policy.timeouts.iteration_ms), (4, 0, 7_200_000));
    assert_eq!((policy.timeouts.silence_ms, policy.timeouts.after_result_ms), (300_000, 10_000));
    assert_eq!(policy.nonce, ralph_core::policy::NonceUse::EachIteration);
    assert_eq!(
        (settings.limits.grace.value, settings.limits.max_memory.value.unwrap().mb()),
        (Duration::from_secs(7), 2_048)
    );
    let rules = settings.claim_rules(ralph_core::claim::Promise::parse("DONE").unwrap());
    assert_eq!((rules.matching, rules.scope), (Matching::Exact, Scope::Iteration));
    assert_eq!(rules.contradictions, Contradictions::On { extra: vec!["not quite".to_owned()] });
    let check = &settings.checks.value[1];
    assert_eq!((settings.checks.value[0].command.as_str(), check.command.as_str()), ("cargo test", "make"));
    assert_eq!((check.success_exit_code, check.timeout_ms), (3, 60_000));
    assert_eq!(
        (check.output_contains.as_deref(), check.output_not_contains.as_deref()),
        (Some("ok"), Some("no"))
    );
}

// spec: G1, U1
#[test]
fn an_unknown_key_is_refused_with_its_place_and_a_suggestion() {
    refused(yaml("\nlimit:\n  grace: 1s"), "config.yaml:2:1: there is no key limit", "did you mean limits?");
    refused(
        yaml("limits:\n  idle_time_out: 1s"),
        "config.yaml:2:3: there is no key limits.idle_time_out",
        "did you mean idle_timeout?",
    );
    refused(
        yaml("agents:\n  a: {type: text, clii: x}"),
        "config.yaml:2:19: there is no key agents.a.clii",
        "did you mean cli?",
    );
    refused(
        yaml("checks: [{comand: x}]"),
        "config.yaml:1:11: there is no key checks.comand",
        "did you mean command?",
    );
    refused(
        yaml("grace: 1s"),
        "config.yaml:1:1: there is no key grace",
        "it belongs to another table: limits.grace",
    );
    let error = yaml("colour: red").err().unwrap();
    assert!(error.hint.unwrap().starts_with("choose one of agent, model, agents, checks,"));
}

// fault: 82, 70
// spec: G1, X4
#[test]
fn a_value_that_is_not_what_the_key_wants_is_refused_with_its_place() {
    let number = "write decimal digits, such as 10";
    refused(
        yaml("limits: {max_retries: 1e400}"),
        "config.yaml:1:23: limits.max_retries: \"1e400\" is not a whole number",
        number,
    );
    refused(
        yaml("limits: {max_retries: -1}"),
        "config.yaml:1:23: limits.max_retries: \"-1\" is not a whole number",
        number,
    );
    refused(
        yaml("limits: {max_retries: 0x1F}"),
        "config.yaml:1:23: limits.max_retries: \"0x1F\" is not a whole number",
        number,
    );
    refused(
        yaml("limits: {max_retries: 010}"),
        "config.yaml:1:23: limits.max_retries: \"010\" begins with 0",
        "some programs read that as octal: write it without the zero in front",
    );
    refused(
        yaml("signals: {nonce: no}"),
        "config.yaml:1:18: signals.nonce: \"no\" is neither true nor false",
        "",
    );
    refused(
        yaml("signals: {match: strict}"),
        "config.yaml:1:18: signals.match: \"strict\" means nothing here",
        "choose one of loose, exact",
    );
    for time in ["1000000000h", "0", "-5s", ".nan", "soon", "''"] {
        let error = yaml(&format!("limits:\n  grace: {time}")).err().unwrap();
        assert!(error.to_string().starts_with("config.yaml:2:10: limits.grace: "), "{error}");
    }
    for text in [
        "ralph: {default_max_iterations: 0}",
        "agent: [a]",
        "agent:",
        "agent: ''",
        "vars: {1A: x}",
        "vars: [x]",
        "vars: {A: [x]}",
        "checks: cargo test",
        "checks: [{timeout: 1s}]",
        "checks: ['']",
        "limits: 5",
        "agents: {a b: {}}",
        "- a",
        "agents: {x: {type: text, args: one}}",
        "agent: \"a\\0b\"",
        "agents: {claude: {output_format: clode}}",
        "just text",
    ] {
        let error = yaml(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(error.to_string().starts_with("config.yaml:1:"), "{text}: {error}");
    }
}

// spec: G1, G2
#[test]
fn a_key_of_later_work_may_be_written_only_with_its_default() {
    for text in [
        "stall: {iterations: 3}",
        "limits: {max_duration: 720m, max_cost_usd: null}",
        "pipeline: {stages: [coder, reviewer, tester, qa]}",
        "sandbox: off",
        "notify: []",
        "store: sqlite",
        "ralph: {coder: {max_iterations: 15, agent: ~}}",
        "verification: {judge: {on_error: reject}}",
    ] {
        assert!(yaml(text).is_ok(), "{text}");
    }
    refused(
        yaml("store: postgres://x"),
        "config.yaml:1:8: store: it is not available yet in this version",
        "leave it out, or write its default, sqlite",
    );
    for text in [
        "stall: {iterations: 4}",
        "limits: {max_cost_usd: 5}",
        "notify: [x]",
        "sandbox: workspace",
        "pipeline: {stages: []}",
        "stall: {iterations: 3s}",
    ] {
        assert!(yaml(text).err().unwrap().what.contains("not available yet"), "{text}");
    }
    let mut settings = Settings::default();
    let error = with_variables(&mut settings, &[("RALPH_STORE", "postgres://x")]).unwrap_err();
    assert_eq!(error.to_string(), "RALPH_STORE: it is not available yet in this version");
}

// spec: A2, G2
#[test]
fn an_agent_is_a_preset_changed_or_one_of_the_user_s_own_which_needs_a_type() {
    let settings = yaml("agents: {claude: {args: [-p]}}").unwrap();
    assert_eq!(chosen(&settings).adapter.name(), "claude");
    assert_eq!(chosen(&settings).overrides.args, Some(vec!["-p".to_owned()]));
    refused(
        yaml("agents:\n  mine:\n    cli: x"),
        "config.yaml:3: there is no agent named \"mine\", and it has no type",
        "add `type:`, one of claude, text, demo",
    );
    refused(
        yaml("agents: {mine: {type: cluade}}"),
        "config.yaml:1: agents.mine.type: there is no agent named \"cluade\"",
        "did you mean claude?",
    );
    let unknown = yaml("\nagent: cloude\nagents: {mine: {type: text}}").unwrap();
    let error = unknown.chosen(&PathBuf::from("/")).err().unwrap();
    assert_eq!(
        (error.to_string().as_str(), error.hint.as_deref()),
        ("config.yaml:2: there is no agent named \"cloude\"", Some("did you mean claude?"))
    );
}

// spec: A2, G1
#[test]
fn the_model_belongs_to_the_agent_for_which_it_was_chosen() {
    let mut settings =
        yaml("agent: claude\nmodel: opus\nagents: {mine: {type: text, model: small}}").unwrap();
    assert_eq!(chosen(&settings).model.as_deref(), Some("opus"));
    with_variables(&mut settings, &[("RALPH_AGENT", "demo")]).unwrap();
    assert_eq!(chosen(&settings).model, None, "another agent was chosen above");
    with_variables(&mut settings, &[("RALPH_AGENT", "mine")]).unwrap();
    assert_eq!(chosen(&settings).model.as_deref(), Some("small"));
    with_variables(&mut settings, &[("RALPH_AGENT", "mine"), ("RALPH_MODEL", "large")]).unwrap();
    assert_eq!(chosen(&settings).model.as_deref(), Some("large"), "a higher layer wins");
    let near = yaml("model: opus\nagents: {claude: {model: haiku}}").unwrap();
    assert_eq!(chosen(&near).model.as_deref(), Some("haiku"), "in one file the nearer one wins");
}

// spec: C2
#[test]
fn the_classic_names_keep_their_meaning_and_any_other_key_is_a_variable() {
    let settings = old(
        "AGENT_TYPE=text\nAGENT_CLI=./agent.sh\nAGENT_ARGS=\"--a 'b c' $(d)\"\nAGENT_OUTPUT_FORMAT=json\n\
         AGENT_RESPONSE_FILTER=\"jq -r '.text'\"\nAGENT_DISPLAY_FILTER=.show\nSPECS_DIR=docs/specs\nMAX_RETRIES=1\n\
         PROJECT_GOAL='Ship $(it)'\nEMPTY=\n",
    )
    .unwrap();
    let agent = chosen(&settings);
    assert_eq!((agent.name.as_str(), agent.adapter.name()), ("text", "text"));
    assert_eq!(agent.overrides.cli.as_deref(), Some("/project/./agent.sh"));
    assert_eq!(agent.overrides.args.unwrap(), ["--a", "b c", "$(d)"]);
    assert_eq!(
        (agent.overrides.output_format, agent.overrides.response_filter.as_deref()),
        (None, Some("jq -r '.text'"))
    );
    assert_eq!((settings.specs_dir.value.as_str(), settings.limits.max_retries.value), ("docs/specs", 1));
    assert_eq!(settings.limits.max_retries.origin.to_string(), "config:8");
    let vars: Vec<_> = settings.variables().into_iter().collect();
    assert_eq!(
        vars,
        [("EMPTY", ""), ("PROJECT_GOAL", "Ship $(it)")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

// spec: C2, A2
#[test]
fn in_a_classic_file_empty_is_unset_the_last_one_holds_and_text_is_text() {
    let settings = old("AGENT_TYPE=demo\nAGENT_TYPE=\nMAX_RETRIES=").unwrap();
    assert_eq!((settings.agent.value.as_str(), settings.limits.max_retries.value), ("claude", 3));
    let settings = old("MAX_RETRIES=1\nMAX_RETRIES=2\nAGENT_OUTPUT_FORMAT=text").unwrap();
    assert_eq!(settings.limits.max_retries.value, 2);
    assert_eq!(chosen(&settings).overrides.output_format, Some(crate::agent::Format::Text));
    let settings = old("AGENT_TYPE=text\nAGENT_CLI=x\nAGENT_OUTPUT_FORMAT=json").unwrap();
    let error = settings.chosen(&PathBuf::from("/")).err().unwrap();
    assert!(error.to_string().starts_with("config:3: output format json: nothing says where"), "{error}");
}

// spec: C2, U1
#[test]
fn mistakes_in_a_classic_file_have_their_line_and_near_misses_a_warning() {
    refused(
        old("A=1\nMAX_RETRIES=many"),
        "config:2:1: MAX_RETRIES: \"many\" is not a whole number",
        "write decimal digits, such as 10",
    );
    refused(
        old("A=1\nB=one two"),
        "config:2: something follows the value",
        "put the value into quotation marks: KEY=\"two words\"",
    );
    let error = old("AGENT_TYPE=claude\nAGENT_ARGS=\"'open\"").err().unwrap();
    assert_eq!(error.to_string(), "config:2:1: AGENT_ARGS: a quotation mark is not closed");
    let settings = old("AGENT_ARG=x\nOTHER=y").unwrap();
    assert_eq!(
        settings.warnings,
        ["config:1: AGENT_ARG is only a variable for prompts; did you mean AGENT_ARGS?"]
    );
}

// spec: C2, A2
#[test]
fn what_a_classic_file_changes_belongs_to_its_own_agent() {
    let mut settings = old("AGENT_TYPE=text\nAGENT_CLI=mine").unwrap();
    with_variables(&mut settings, &[("RALPH_AGENT", "claude")]).unwrap();
    assert_eq!(chosen(&settings).overrides.cli, None);
}

// spec: G1
#[test]
fn variables_are_named_after_the_path_of_their_key_and_no_two_are_the_same() {
    assert_eq!(variable("limits.idle_timeout").as_deref(), Some("RALPH_LIMITS_IDLE_TIMEOUT"));
    assert_eq!(variable("ralph.default_max_iterations").as_deref(), Some("RALPH_DEFAULT_MAX_ITERATIONS"));
    let mut names: Vec<_> = KEYS.iter().filter_map(|key| variable(key.path)).collect();
    let ours = ["RALPH_RUN_ID", "RALPH_PROJECT", "RALPH_FAIL"];
    assert!(names.iter().all(|name| !ours.contains(&name.as_str())));
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

// spec: G1
#[test]
fn lists_in_variables_are_written_as_in_a_file_and_an_empty_variable_is_none() {
    let mut settings = Settings::default();
    let variables = [
        ("RALPH_CHECKS", "[cargo test, 'make: x']"),
        ("RALPH_MODEL", ""),
        ("RALPH_SIGNALS_CONTRADICTIONS", "false"),
    ];
    with_variables(&mut settings, &variables).unwrap();
    let commands: Vec<_> = settings.checks.value.iter().map(|check| check.command.as_str()).collect();
    assert_eq!(commands, ["cargo test", "make: x"]);
    assert_eq!(settings.signals.contradictions.value, Contradictions::Off);
    assert_eq!(settings.model.origin, Origin::BuiltIn);
    let error = with_variables(&mut settings, &[("RALPH_LIMITS_GRACE", "soon")]).unwrap_err();
    assert!(error.to_string().starts_with("RALPH_LIMITS_GRACE: \"soon\" is not a duration"), "{error}");
    let error = with_variables(&mut settings, &[("RALPH_CHECKS", "[open")]).unwrap_err();
    assert!(error.to_string().starts_with("RALPH_CHECKS: it is no YAML"), "{error}");
}

// spec: G1
#[test]
fn a_strange_variable_is_nobody_s_business_but_a_near_miss_is_told() {
    let mut settings = Settings::default();
    with_variables(&mut settings, &[("RALPH_RUN_ID", "x"), ("RALPH_MODLE", "x"), ("RALPH_HOME_TOWN", "x")])
        .unwrap();
    assert_eq!(settings.warnings, ["the variable RALPH_MODLE sets nothing; did you mean RALPH_MODEL?"]);
}

// spec: X6
#[test]
fn commands_that_came_with_the_project_are_told_from_those_of_the_user() {
    let text = "agent: mine\nagents: {mine: {type: text, cli: ./a, args: [x], env: {PATH: /evil}, response_filter: .a}, other: {type: text, cli: b}}\nchecks: [rm -rf x]";
    let mut settings = yaml(text).unwrap();
    let keys = |settings: &Settings| {
        settings.project_commands().into_iter().map(|command| command.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(&settings), ["agents.mine.cli", "agents.mine.args", "agents.mine.env.PATH", "checks"]);
    settings.checks.flag(Some(Vec::new()), "--check");
    settings.agent.flag(Some("claude".to_owned()), "--agent");
    assert!(keys(&settings).is_empty());
    let mut named = Settings::default();
    document::apply(&mut named, text, &source(FileLayer::Named, "mine.yaml")).unwrap();
    assert!(named.project_commands().is_empty(), "what the user names is the user's");
}

// spec: G1
#[test]
fn schema_and_parser_know_the_same_keys_and_the_parser_takes_every_default() {
    let schema = schema();
    for key in KEYS {
        let found = key.path.split('.').try_fold(&schema, |here, name| here["properties"].get(name));
        let found = found.unwrap_or_else(|| panic!("{} is not in the schema", key.path));
        assert!(!found["description"].as_str().unwrap().is_empty(), "{}", key.path);
        let text = key
            .path
            .rsplit('.')
            .fold(found["default"].to_string(), |below, name| format!("{{{name}: {below}}}"));
        let default = yaml(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        if let Place::Slot(_) = key.place {
            let (before, after) = (Settings::default().shown(), default.shown());
            let values = |shown: Vec<Shown>| {
                shown.into_iter().map(|shown| (shown.key, shown.value)).collect::<Vec<_>>()
            };
            assert_eq!(values(before), values(after), "the default of {} is what holds without it", key.path);
        }
    }
    assert_eq!(leaves(&schema), KEYS.len(), "the schema has no key that the parser does not know");
}

fn leaves(schema: &serde_json::Value) -> usize {
    match schema.get("properties").and_then(serde_json::Value::as_object) {
        Some(properties) => {
            assert_eq!(schema["additionalProperties"], false);
            properties.values().map(leaves).sum()
        }
        None => 1,
    }
}

// spec: G1, G2
#[test]
fn the_guide_describes_every_key() {
    let guide = include_str!("../../../../docs/guide/config.md");
    let agent = keys::AGENT_KEYS.iter().map(|key| key.path);
    let check = keys::CHECK_KEYS.iter().map(|key| key.path);
    for path in KEYS.iter().map(|key| key.path).chain(agent).chain(check) {
        assert!(guide.contains(&format!("`{path}`")), "docs/guide/config.md does not describe `{path}`");
    }
}

proptest! {
    // spec: G1, X4
    #[test]
    fn no_text_brings_the_configuration_down(text in any::<String>()) {
        drop(yaml(&text));
        drop(old(&text));
    }
}
