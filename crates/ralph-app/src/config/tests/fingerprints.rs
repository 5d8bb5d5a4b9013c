//! Changes of the configuration are detected by fingerprints.
use super::*;

// spec: L13
// fault: 12
#[test]
fn configuration_changes_are_named_with_their_new_value_and_place() {
    let earlier = settings_from_yaml("checks: [make]\nagents: {mine: {type: text, cli: ./a, env: {KEY: one}}}")
        .unwrap()
        .fingerprints();
    let changes = |text: &str| settings_from_yaml(text).unwrap().describe_changes_since(&earlier);
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
    assert_eq!(changes("checks: [make]"), ["settings of agents or variables were removed from the configuration"]);
    let all = format!("{earlier:?}");
    assert!(!all.contains("make") && !all.contains("one"), "fingerprints reveal a value: {all}");
}
