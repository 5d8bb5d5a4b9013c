//! Accepted values, and errors with their position.
use crate::advice::Advice;
use ralph_core::criterion::VerificationMethod;

use super::*;

// spec: G2
#[test]
fn every_available_key_has_an_effect() {
    let settings = settings_from_yaml(
        "agent: mine\nmodel: fast\nspecs_dir: docs\nvars: {A: 1.10, B: no, C: '', D: \"x\\ny\"}\n\
         agents:\n  mine: {type: claude, cli: ./agent.sh, args: [-x, two words], env: {K: v}, output_format: codex, \
         response_filter: .a, display_filter: .b}\n\
         ralph: {default_max_iterations: 33}\n\
         limits: {iteration_timeout: 2h, idle_timeout: 5m, after_result: 10s, grace: 7, max_retries: 0, max_memory: 2G}\n\
         signals: {match: exact, scope: iteration, nonce: true, contradictions: [not quite]}\n\
         checks:\n  - cargo test\n  - {command: make, success_exit_code: 3, output_contains: ok, output_not_contains: no, timeout: 1m}\n",
    )
    .unwrap();
    let agent = chosen_agent(&settings);
    assert_eq!((agent.name.as_str(), agent.adapter.name(), agent.model.as_deref()), ("mine", "claude", Some("fast")));
    assert_eq!(agent.overrides.cli.as_deref(), Some("/project/./agent.sh"));
    assert_eq!(agent.overrides.args.as_deref(), Some(["-x".to_owned(), "two words".to_owned()].as_slice()));
    assert_eq!(agent.overrides.output_format, Some(ralph_agents::OutputFormat::Codex));
    assert_eq!(
        (agent.overrides.response_filter.as_deref(), agent.overrides.display_filter.as_deref()),
        (Some(".a"), Some(".b"))
    );
    assert_eq!(agent.env, [("K".to_owned(), "v".to_owned())]);
    assert_eq!((settings.default_max_iterations.value, settings.specs_dir.value.as_str()), (33, "docs"));
    let vars: Vec<_> = settings.prompt_variables().into_iter().collect();
    let expected = [("A", "1.10"), ("B", "no"), ("C", ""), ("D", "x\ny")];
    assert_eq!(vars, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let policy = settings.run_policy(4, ralph_core::policy::ClaimVerification::Checks);
    assert_eq!((policy.max_iterations, policy.max_retries, policy.timeouts.iteration_ms), (4, 0, 7_200_000));
    assert_eq!((policy.timeouts.silence_ms, policy.timeouts.after_result_ms), (300_000, 10_000));
    assert_eq!(policy.nonce, ralph_core::policy::NonceUse::EachIteration);
    assert_eq!(
        (settings.limits.grace.value, settings.limits.max_memory.value.unwrap().as_mb()),
        (Duration::from_secs(7), 2_048)
    );
    let rules = settings.claim_rules(ralph_core::claim::Promise::parse("DONE").unwrap());
    assert_eq!((rules.matching, rules.scope), (PromiseMatching::Exact, ClaimScope::Iteration));
    assert_eq!(rules.contradictions, ContradictionSearch::On { extra: vec!["not quite".to_owned()] });
    let commands = settings.criteria();
    let [VerificationMethod::External(first), VerificationMethod::External(check)] =
        [&commands[0].method, &commands[1].method]
    else {
        panic!("{commands:?}");
    };
    assert_eq!((&first.command, &check.command), (&"cargo test".into(), &"make".into()));
    assert_eq!((check.success_exit_code, check.timeout_ms), (3, 60_000));
    assert_eq!((check.output_contains.as_deref(), check.output_not_contains.as_deref()), (Some("ok"), Some("no")));
}

// spec: G1, U1
#[test]
fn an_unknown_key_is_refused_with_its_place_and_a_suggestion() {
    assert_refused(
        settings_from_yaml("\nlimit:\n  grace: 1s"),
        "config.yaml:2:1: there is no key limit",
        "did you mean limits?",
    );
    assert_refused(
        settings_from_yaml("limits:\n  idle_time_out: 1s"),
        "config.yaml:2:3: there is no key limits.idle_time_out",
        "did you mean idle_timeout?",
    );
    assert_refused(
        settings_from_yaml("agents:\n  a: {type: text, clii: x}"),
        "config.yaml:2:19: there is no key agents.a.clii",
        "did you mean cli?",
    );
    assert_refused(
        settings_from_yaml("checks: [{comand: x}]"),
        "config.yaml:1:11: there is no key checks.comand",
        "did you mean command?",
    );
    assert_refused(
        settings_from_yaml("grace: 1s"),
        "config.yaml:1:1: there is no key grace",
        "it belongs to another table: limits.grace",
    );
    let error = settings_from_yaml("colour: red").err().unwrap();
    let hint = error.hint.as_ref().and_then(Advice::text).unwrap();
    assert!(hint.starts_with("choose one of agent, agents, board, checks,"), "{hint}");
    assert_eq!(hint.matches("limits").count(), 1, "{hint}");
}

// fault: 82, 70
// spec: G1, X4
#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_place() {
    let number = "write decimal digits, such as 10";
    assert_refused(
        settings_from_yaml("limits: {max_retries: 1e400}"),
        "config.yaml:1:23: limits.max_retries: \"1e400\" is not a whole number",
        number,
    );
    assert_refused(
        settings_from_yaml("limits: {max_retries: -1}"),
        "config.yaml:1:23: limits.max_retries: \"-1\" is not a whole number",
        number,
    );
    assert_refused(
        settings_from_yaml("limits: {max_retries: 0x1F}"),
        "config.yaml:1:23: limits.max_retries: \"0x1F\" is not a whole number",
        number,
    );
    assert_refused(
        settings_from_yaml("limits: {max_retries: 010}"),
        "config.yaml:1:23: limits.max_retries: \"010\" begins with 0",
        "remove the leading zero; some programs read such a number as octal",
    );
    assert_refused(
        settings_from_yaml("signals: {nonce: no}"),
        "config.yaml:1:18: signals.nonce: \"no\" is neither true nor false",
        "",
    );
    assert_refused(
        settings_from_yaml("signals: {match: strict}"),
        "config.yaml:1:18: signals.match: \"strict\" is not a valid value",
        "choose one of loose, exact",
    );
    for time in ["1000000000h", "0", "-5s", ".nan", "soon", "''"] {
        let error = settings_from_yaml(&format!("limits:\n  grace: {time}")).err().unwrap();
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
        "signals: {contradictions: [' ']}",
    ] {
        let error = settings_from_yaml(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(error.to_string().starts_with("config.yaml:1:"), "{text}: {error}");
    }
}

// spec: G1, G2
#[test]
fn a_reserved_key_accepts_only_its_default() {
    for text in [
        "pipeline: {stages: [coder, reviewer, tester, qa]}",
        "sandbox: off",
        "notify: []",
        "store: sqlite",
        "ralph: {coder: {max_iterations: 15, agent: ~}}",
        "verification: {judge: {on_error: reject}}",
    ] {
        assert!(settings_from_yaml(text).is_ok(), "{text}");
    }
    assert_refused(
        settings_from_yaml("store: postgres://x"),
        "config.yaml:1:8: store: not available in this version yet",
        "remove the key, or write its default, sqlite",
    );
    let refused = settings_from_yaml("sandbox: workspace").err().unwrap();
    assert!(refused.message.contains("not available in this version"), "{refused}");
    let mut settings = Settings::default();
    let error = with_variables(&mut settings, &[("RALPH_STORE", "postgres://x")]).unwrap_err();
    assert_eq!(error.to_string(), "RALPH_STORE: not available in this version yet");
}

proptest! {
    // spec: G1, X4
    #[test]
    fn arbitrary_text_does_not_panic_the_parsers(text in any::<String>()) {
        drop(settings_from_yaml(&text));
        drop(settings_from_classic(&text));
        for key in CONFIG_KEYS.iter().filter_map(|key| environment_variable(key.path)) {
            drop(with_variables(&mut Settings::default(), &[(&key, &text)]));
        }
    }
}
