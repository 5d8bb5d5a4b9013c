//! What is noticed of a configuration that was edited.
use super::*;

// spec: L13
// fault: 12
#[test]
fn configuration_changes_are_named_with_their_new_value_and_place() {
    let then = settings_from_yaml("checks: [make]\nagents: {mine: {type: text, cli: ./a, env: {KEY: one}}}")
        .unwrap()
        .fingerprints();
    let changes = |text: &str| settings_from_yaml(text).unwrap().describe_changes_since(&then);
    assert!(changes("\nagents: {mine: {type: text, cli: ./a, env: {KEY: two}}}\nchecks: [make]").is_empty());
    let agents = "agents: {mine: {type: text, cli: ./b, env: {KEY: one}}}";
    assert_eq!(
        changes(&format!("limits: {{idle_timeout: 1m}}\n{agents}")),
        [
            "the configuration now has agents.mine.cli: \"./b\" (config.yaml:2)",
            "the configuration now has checks: [] (built-in)",
            "the configuration now has limits.idle_timeout: \"1m\" (config.yaml:1)",
        ]
    );
    assert_eq!(changes("checks: [make]"), ["something that the configuration said of agents or variables is gone"]);
    let all = format!("{then:?}");
    assert!(!all.contains("make") && !all.contains("one"), "it tells nothing: {all}");
}
