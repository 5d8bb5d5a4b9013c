//! Changed presets, custom agents, and their models and commands.
use super::*;
use crate::advice::Advice;

// spec: A2, G2
#[test]
fn an_agent_is_a_changed_preset_or_a_custom_one_which_needs_a_type() {
    let settings = settings_from_yaml("agents: {claude: {args: [-p]}}").unwrap();
    assert_eq!(chosen_agent(&settings).adapter.name(), "claude");
    assert_eq!(chosen_agent(&settings).overrides.args, Some(vec!["-p".to_owned()]));
    assert_refused(
        settings_from_yaml("agents:\n  mine:\n    cli: x"),
        "config.yaml:2: there is no agent named \"mine\", and it has no type",
        "add `type:`, one of claude, codex, opencode, gemini, qwen, copilot, cline, goose, amp, cursor, pi, grok, kimi, vibe, kiro, cursor-agent, auggie, droid, claude-agent-acp, codex-acp, acp, text, demo",
    );
    assert_refused(
        settings_from_yaml("agents: {claud: }"),
        "config.yaml:1: there is no agent named \"claud\", and it has no type",
        "did you mean claude? A custom agent needs a `type:`",
    );
    assert_refused(
        settings_from_classic("A=1\nAGENT_TYPE=cloude\nAGENT_CLI=x"),
        "config:2: there is no agent named \"cloude\", and it has no type",
        "did you mean claude? A custom agent needs a `type:`",
    );
    assert_refused(
        settings_from_yaml("agents: {mine: {type: cluade}}"),
        "config.yaml:1: agents.mine.type: there is no agent named \"cluade\"",
        "did you mean claude?",
    );
    let unknown = settings_from_yaml("\nagent: cloude\nagents: {mine: {type: text}}").unwrap();
    let error = unknown.chosen_agent(&PathBuf::from("/")).err().unwrap();
    assert_eq!(
        (error.to_string().as_str(), error.hint.as_ref().and_then(Advice::text)),
        ("config.yaml:2: there is no agent named \"cloude\"", Some("did you mean claude?"))
    );
}

// spec: A2, G1
#[test]
fn a_model_belongs_to_the_agent_it_was_chosen_for() {
    let mut settings =
        settings_from_yaml("agent: claude\nmodel: opus\nagents: {mine: {type: claude, model: small}}").unwrap();
    assert_eq!(chosen_agent(&settings).model.as_deref(), Some("opus"));
    with_variables(&mut settings, &[("RALPH_AGENT", "demo")]).unwrap();
    assert_eq!(chosen_agent(&settings).model, None, "a higher layer chose another agent");
    with_variables(&mut settings, &[("RALPH_AGENT", "mine")]).unwrap();
    assert_eq!(chosen_agent(&settings).model.as_deref(), Some("small"));
    with_variables(&mut settings, &[("RALPH_AGENT", "mine"), ("RALPH_MODEL", "large")]).unwrap();
    assert_eq!(chosen_agent(&settings).model.as_deref(), Some("large"), "a higher layer wins");
    let near = settings_from_yaml("model: opus\nagents: {claude: {model: haiku}}").unwrap();
    assert_eq!(chosen_agent(&near).model.as_deref(), Some("haiku"), "in one file the model of the agent wins");
}

// spec: A6, G1
#[test]
fn a_model_for_an_agent_without_model_support_is_refused_at_its_place() {
    let error = |settings: &Settings| settings.chosen_agent(&PathBuf::from("/")).err().unwrap();
    let general = settings_from_yaml("agent: mine\nmodel: opus\nagents: {mine: {type: text, cli: x}}").unwrap();
    assert_eq!(error(&general).to_string(), "config.yaml:2: an agent of type text takes no model (\"opus\")");
    assert_eq!(error(&general).hint, Some(Advice::PassModelAsArgument));
    let mut own = settings_from_yaml("agent: mine\nagents: {mine: {type: text, cli: x, model: small}}").unwrap();
    assert_eq!(error(&own).place, "config.yaml:2");
    with_variables(&mut own, &[("RALPH_MODEL", "large")]).unwrap();
    assert_eq!(error(&own).place, "RALPH_MODEL");
    let unset = settings_from_yaml("agent: mine\nmodel: null\nagents: {mine: {type: text, cli: x}}").unwrap();
    assert_eq!(chosen_agent(&unset).model, None);
}

// spec: X6
// fault: 83
#[test]
fn project_commands_are_distinguished_from_the_users() {
    let text = "agent: mine\npermission: full\nagents: {mine: {type: text, cli: ./a, args: [x], env: {PATH: /evil}, response_filter: .a}, other: {type: text, cli: b}}\nchecks: [rm -rf x]";
    let keys = |settings: &Settings, agents: &[&'static str], checks| {
        let used = SettingsUse {
            agents: agents.to_vec(),
            permission: SettingsPart::Used,
            checks,
            criteria: &[],
            templates: &[],
        };
        let commands = settings.project_commands(&used).into_iter();
        commands.map(|command| command.key.replace("agents.", "")).collect::<Vec<_>>().join(" ")
    };
    let settings = settings_from_yaml(text).unwrap();
    assert_eq!(
        keys(&settings, &["mine"], SettingsPart::Used),
        "mine.type mine.cli mine.args mine.env.PATH mine.response_filter permission checks"
    );
    assert_eq!(keys(&settings, &["claude"], SettingsPart::Unused), "permission");
    assert_eq!(keys(&settings, &["claude", "other"], SettingsPart::Unused), "other.type other.cli permission");
    let mut named = Settings::default();
    document::apply_document(&mut named, text, &file_source(FileLayer::Named, "mine.yaml")).unwrap();
    assert_eq!(
        keys(&named, &["mine", "other"], SettingsPart::Used),
        "",
        "a file that the user names needs no approval"
    );
    let mut flagged = settings.clone();
    flagged.checks.set_from_flag(Some(Vec::new()), "--check");
    flagged.permission.set_from_flag(Some(None), "--permission");
    assert_eq!(keys(&flagged, &["claude"], SettingsPart::Used), "");
}

// spec: X6, A6
// fault: 83
#[test]
fn a_model_that_an_agent_might_read_as_a_flag_is_refused() {
    let error =
        |text: &str| settings_from_yaml(text).unwrap().chosen_agent(&PathBuf::from("/")).err().unwrap().to_string();
    let general = error("agent: gemini\nmodel: --yolo");
    assert_eq!(general, "config.yaml:2: \"--yolo\" is not a valid model: it begins with a hyphen");
    let own = settings_from_yaml("fallback: [gemini]\nagents: {gemini: {model: -y}}").unwrap();
    let fallback = own.fallback_agents(&PathBuf::from("/")).err().unwrap();
    assert_eq!(fallback.to_string(), "config.yaml:2: \"-y\" is not a valid model: it begins with a hyphen");
}
