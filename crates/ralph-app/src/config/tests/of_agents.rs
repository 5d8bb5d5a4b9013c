//! Agents that are changed or added, and what belongs to them.
use super::*;

// spec: A2, G2
#[test]
fn an_agent_is_a_preset_changed_or_one_of_the_user_s_own_which_needs_a_type() {
    let settings = yaml("agents: {claude: {args: [-p]}}").unwrap();
    assert_eq!(chosen(&settings).adapter.name(), "claude");
    assert_eq!(chosen(&settings).overrides.args, Some(vec!["-p".to_owned()]));
    refused(
        yaml("agents:\n  mine:\n    cli: x"),
        "config.yaml:2: there is no agent named \"mine\", and it has no type",
        "add `type:`, one of claude, codex, opencode, gemini, qwen, copilot, cline, goose, amp, acp, text, demo",
    );
    refused(
        yaml("agents: {claud: }"),
        "config.yaml:1: there is no agent named \"claud\", and it has no type",
        "did you mean claude? An agent of your own needs a `type:`",
    );
    refused(
        old("A=1\nAGENT_TYPE=cloude\nAGENT_CLI=x"),
        "config:2: there is no agent named \"cloude\", and it has no type",
        "did you mean claude? An agent of your own needs a `type:`",
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
        yaml("agent: claude\nmodel: opus\nagents: {mine: {type: claude, model: small}}").unwrap();
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

// spec: A6, G1
#[test]
fn a_model_for_an_agent_that_cannot_be_told_one_is_refused_where_it_was_written() {
    let error = |settings: &Settings| settings.chosen(&PathBuf::from("/")).err().unwrap();
    let general = yaml("agent: mine\nmodel: opus\nagents: {mine: {type: text, cli: x}}").unwrap();
    assert_eq!(error(&general).to_string(), "config.yaml:2: an agent of type text takes no model (\"opus\")");
    assert!(error(&general).hint.unwrap().contains("--agent-arg"));
    let mut own = yaml("agent: mine\nagents: {mine: {type: text, cli: x, model: small}}").unwrap();
    assert_eq!(error(&own).place, "config.yaml:2");
    with_variables(&mut own, &[("RALPH_MODEL", "large")]).unwrap();
    assert_eq!(error(&own).place, "RALPH_MODEL");
    let unset = yaml("agent: mine\nmodel: null\nagents: {mine: {type: text, cli: x}}").unwrap();
    assert_eq!(chosen(&unset).model, None);
}

// spec: X6
// fault: 83
#[test]
fn commands_that_came_with_the_project_are_told_from_those_of_the_user() {
    let text = "agent: mine\npermission: full\nagents: {mine: {type: text, cli: ./a, args: [x], env: {PATH: /evil}, response_filter: .a}, other: {type: text, cli: b}}\nchecks: [rm -rf x]";
    let keys = |settings: &Settings, agents: &[&'static str], checks| {
        let used =
            Use { agents: agents.to_vec(), permission: Part::Used, checks, criteria: &[], templates: &[] };
        let commands = settings.project_commands(&used).into_iter();
        commands.map(|command| command.key.replace("agents.", "")).collect::<Vec<_>>().join(" ")
    };
    let settings = yaml(text).unwrap();
    assert_eq!(
        keys(&settings, &["mine"], Part::Used),
        "mine.type mine.cli mine.args mine.env.PATH permission checks"
    );
    assert_eq!(keys(&settings, &["claude"], Part::Left), "permission");
    assert_eq!(keys(&settings, &["claude", "other"], Part::Left), "other.type other.cli permission");
    let mut named = Settings::default();
    document::apply(&mut named, text, &source(FileLayer::Named, "mine.yaml")).unwrap();
    assert_eq!(keys(&named, &["mine", "other"], Part::Used), "", "what the user names is the user's");
    let mut flagged = settings.clone();
    flagged.checks.flag(Some(Vec::new()), "--check");
    flagged.permission.flag(Some(None), "--permission");
    assert_eq!(keys(&flagged, &["claude"], Part::Used), "");
}

// spec: X6, A6
// fault: 83
#[test]
fn a_model_that_an_agent_might_read_as_a_flag_is_refused() {
    let error = |text: &str| yaml(text).unwrap().chosen(&PathBuf::from("/")).err().unwrap().to_string();
    let general = error("agent: gemini\nmodel: --yolo");
    assert_eq!(general, "config.yaml:2: \"--yolo\" is no model: it begins with a hyphen");
    let own = yaml("fallback: [gemini]\nagents: {gemini: {model: -y}}").unwrap();
    let fallback = own.fallbacks(&PathBuf::from("/")).err().unwrap();
    assert_eq!(fallback.to_string(), "config.yaml:2: \"-y\" is no model: it begins with a hyphen");
}
