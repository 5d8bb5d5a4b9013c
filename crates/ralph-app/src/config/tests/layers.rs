//! Precedence of the layers, and environment variables.
use super::*;

// spec: G1
#[test]
fn a_higher_layer_replaces_a_lower_one_key_by_key_and_every_value_knows_its_origin() {
    let mut settings = Settings::default();
    let user = file_source(FileLayer::User, "user.yaml");
    document::apply_document(&mut settings, "model: opus\nlimits:\n  grace: 1s\n  max_retries: 7", &user).unwrap();
    document::apply_document(&mut settings, "limits:\n  grace: 2s", &file_source(FileLayer::Project, "project.yaml"))
        .unwrap();
    with_variables(&mut settings, &[("RALPH_LIMITS_IDLE_TIMEOUT", "90"), ("PATH", "/bin")]).unwrap();
    settings.limits.after_result.set_from_flag(Some(Duration::from_secs(1)), "--after-result");
    let shown_line = |key: &str| {
        let shown = settings.effective_settings().into_iter().find(|shown| shown.key == key).unwrap();
        format!("{} {} {}", shown.value, shown.layer, shown.origin)
    };
    assert_eq!(shown_line("model"), "\"opus\" user user.yaml:1");
    assert_eq!(shown_line("limits.max_retries"), "7 user user.yaml:4");
    assert_eq!(shown_line("limits.grace"), "\"2s\" project project.yaml:2");
    assert_eq!(shown_line("limits.idle_timeout"), "\"90s\" environment RALPH_LIMITS_IDLE_TIMEOUT");
    assert_eq!(shown_line("limits.after_result"), "\"1s\" flag --after-result");
    assert_eq!(shown_line("limits.iteration_timeout"), "\"1h\" built-in built-in");
}

// spec: G1
#[test]
fn variables_are_named_after_the_path_of_their_key_and_no_two_are_the_same() {
    assert_eq!(environment_variable("limits.idle_timeout").as_deref(), Some("RALPH_LIMITS_IDLE_TIMEOUT"));
    assert_eq!(environment_variable("ralph.default_max_iterations").as_deref(), Some("RALPH_DEFAULT_MAX_ITERATIONS"));
    let mut names: Vec<_> = CONFIG_KEYS.iter().filter_map(|key| environment_variable(key.path)).collect();
    let ours = ["RALPH_RUN_ID", "RALPH_PROJECT", "RALPH_LOG", "RALPH_FAIL"];
    assert!(names.iter().all(|name| !ours.contains(&name.as_str())));
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

// spec: G1
#[test]
fn lists_in_variables_are_yaml_and_an_empty_variable_is_unset() {
    let mut settings = Settings::default();
    let variables =
        [("RALPH_CHECKS", "[cargo test, 'make: x']"), ("RALPH_MODEL", ""), ("RALPH_SIGNALS_CONTRADICTIONS", "false")];
    with_variables(&mut settings, &variables).unwrap();
    let commands: Vec<_> = settings.checks.value.iter().map(|check| check.criterion.method.summary_line()).collect();
    assert_eq!(commands, ["cargo test", "make: x"]);
    assert_eq!(settings.signals.contradictions.value, ContradictionSearch::Off);
    assert_eq!(settings.model.origin, SettingOrigin::BuiltIn);
    let error = with_variables(&mut settings, &[("RALPH_LIMITS_GRACE", "soon")]).unwrap_err();
    assert!(error.to_string().starts_with("RALPH_LIMITS_GRACE: \"soon\" is not a duration"), "{error}");
    let error = with_variables(&mut settings, &[("RALPH_CHECKS", "[open")]).unwrap_err();
    assert!(error.to_string().starts_with("RALPH_CHECKS: not valid YAML"), "{error}");
}

// spec: G1
#[test]
fn unknown_variables_are_ignored_with_a_warning_for_typing_mistakes() {
    let mut settings = Settings::default();
    with_variables(&mut settings, &[("RALPH_RUN_ID", "x"), ("RALPH_MODLE", "x"), ("RALPH_HOME_TOWN", "x")]).unwrap();
    assert_eq!(settings.warnings, ["unknown variable RALPH_MODLE is ignored; did you mean RALPH_MODEL?"]);
}
