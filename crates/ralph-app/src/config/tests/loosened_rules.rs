//! Which values of the project's file loosen a rule of the user.
use super::*;
use crate::config::keys::rule_directions::{LOOSENING_VALUES, find_loosened_rules};

/// Returns the rules that a project's file loosens, each as `key: value instead of stricter`.
fn loosened_rules(user: &str, project: &str) -> Vec<String> {
    layered_settings(user, project).loosened_rules.iter().map(describe_rule).collect()
}

fn layered_settings(user: &str, project: &str) -> Settings {
    let mut settings = Settings::default();
    document::apply_document(&mut settings, user, &file_source(FileLayer::User, "user.yaml")).unwrap();
    let below = settings.clone();
    document::apply_document(&mut settings, project, &file_source(FileLayer::Project, "config.yaml")).unwrap();
    settings.loosened_rules = find_loosened_rules(&below, &settings);
    settings
}

fn describe_rule(rule: &LoosenedRule) -> String {
    let command = rule.to_project_command();
    format!("{}: {}", command.key, command.value)
}

// finding: N44
#[test]
fn every_key_says_which_of_its_values_loosen_a_rule() {
    let keys: Vec<&str> = CONFIG_KEYS.iter().map(|key| key.path).collect();
    let known: Vec<&str> = LOOSENING_VALUES.iter().map(|(path, _)| *path).collect();
    assert_eq!(known, keys);
}

// finding: N44
#[test]
fn a_project_that_switches_a_check_off_loosens_the_built_in_rule() {
    for (project, expected) in [
        ("ralph: {verify_promises: false}", "ralph.verify_promises: false instead of true"),
        ("ralph: {coder: {role_check: off}}", "ralph.coder.role_check: false instead of true"),
        ("verification: {baseline: off}", "verification.baseline: false instead of true"),
        ("verification: {role_checks: off}", "verification.role_checks: false instead of true"),
        ("verification: {tests: off}", "verification.tests: off instead of protect"),
        ("verification: {tests: report}", "verification.tests: report instead of protect"),
        ("verification: {allow_changes: ['**']}", "verification.allow_changes: [\"**\"] instead of []"),
        ("verification: {share: [node_modules]}", "verification.share: [\"node_modules\"] instead of []"),
        (
            "verification: {judge: {on_error: string_match}}",
            "verification.judge.on_error: string_match instead of reject",
        ),
        ("signals: {contradictions: false}", "signals.contradictions: false instead of true"),
        ("signals: {scope: iteration}", "signals.scope: iteration instead of final"),
    ] {
        assert_eq!(loosened_rules("", project), [expected], "{project}");
    }
}

// finding: N44
#[test]
fn a_project_must_not_replace_a_stricter_value_of_the_user() {
    for (user, project, expected) in [
        (
            "verification: {require_criteria: on}",
            "verification: {require_criteria: off}",
            "verification.require_criteria: false instead of true",
        ),
        (
            "verification: {require_proof: on}",
            "verification: {require_proof: off}",
            "verification.require_proof: false instead of true",
        ),
        ("verification: {cache: off}", "verification: {cache: on}", "verification.cache: true instead of false"),
        (
            "verification: {isolation: clean}",
            "verification: {isolation: workspace}",
            "verification.isolation: workspace instead of clean",
        ),
        (
            "verification: {guard: [tests/, ci/]}",
            "verification: {guard: [tests/]}",
            "verification.guard: [\"tests/\"] instead of [\"tests/\",\"ci/\"]",
        ),
        (
            "signals: {contradictions: [almost]}",
            "signals: {contradictions: true}",
            "signals.contradictions: true instead of [\"almost\"]",
        ),
        ("pipeline: {land: manual}", "pipeline: {land: auto}", "pipeline.land: auto instead of manual"),
        ("", "pipeline: {land: auto}", "pipeline.land: auto instead of manual"),
        (
            "pipeline: {stages: [coder, reviewer]}",
            "pipeline: {stages: [coder]}",
            "pipeline.stages: [\"coder\"] instead of [\"coder\",\"reviewer\"]",
        ),
        ("signals: {match: exact}", "signals: {match: loose}", "signals.match: loose instead of exact"),
        ("limits: {max_cost_usd: 5}", "limits: {max_cost_usd: 50}", "limits.max_cost_usd: 50.00 instead of 5.00"),
        ("limits: {max_cost_usd: 5}", "limits: {max_cost_usd: null}", "limits.max_cost_usd: no limit instead of 5.00"),
        ("limits: {max_duration: 1h}", "limits: {max_duration: 2h}", "limits.max_duration: 2h instead of 1h"),
        ("limits: {max_memory: 1G}", "limits: {max_memory: 2G}", "limits.max_memory: 2048M instead of 1024M"),
        (
            "limits: {task: {max_tokens: 1M}}",
            "limits: {task: {max_tokens: 2M}}",
            "limits.task.max_tokens: 2000000 instead of 1000000",
        ),
        (
            "limits: {require_known_cost: true}",
            "limits: {require_known_cost: false}",
            "limits.require_known_cost: false instead of true",
        ),
        ("stall: {iterations: 3}", "stall: {iterations: 0}", "stall.iterations: 0 instead of 3"),
        ("session: {enabled: false}", "session: {enabled: true}", "session.enabled: true instead of false"),
        (
            "ralph: {default_max_iterations: 5}",
            "ralph: {default_max_iterations: 500}",
            "ralph.default_max_iterations: 500 instead of 5",
        ),
    ] {
        assert_eq!(loosened_rules(user, project), [expected], "{user} / {project}");
    }
    assert_eq!(loosened_rules("checks: [make test]", "checks: []").len(), 1, "the checks of the user are rules too");
}

// finding: N44
#[test]
fn a_project_may_tighten_and_may_choose_where_the_user_has_no_rule() {
    for (user, project) in [
        ("", "verification: {require_criteria: on, require_proof: on, cache: off, isolation: clean, guard: [tests/]}"),
        (
            "",
            "signals: {match: exact, nonce: true, contradictions: [almost]}\npipeline: {stages: [coder, reviewer, tester, qa, audit]}",
        ),
        ("", "limits: {max_cost_usd: 50, max_duration: 100h}\nralph: {default_max_iterations: 500}"),
        ("", "pipeline: {stages: [coder], land: manual}"),
        ("limits: {max_cost_usd: 5}", "limits: {max_cost_usd: 4}"),
        ("stall: {iterations: 3}", "stall: {iterations: 2}"),
        ("verification: {tests: off}", "verification: {tests: report}"),
        ("verification: {allow_changes: [a, b]}", "verification: {allow_changes: [b]}"),
        ("verification: {guard: [a]}", "verification: {guard: [b, a]}"),
        ("checks: [make test]", "checks: [make test, make lint]"),
    ] {
        assert_eq!(loosened_rules(user, project), Vec::<String>::new(), "{user} / {project}");
    }
}

// finding: N44
#[test]
fn a_looser_value_needs_no_approval_where_a_higher_layer_replaces_it() {
    let mut settings = layered_settings("", "verification: {tests: off, baseline: off}");
    let effective = |settings: &Settings| -> Vec<String> {
        settings.effective_loosened_rules().into_iter().map(|rule| rule.key.clone()).collect()
    };
    assert_eq!(effective(&settings), ["verification.baseline", "verification.tests"]);
    with_variables(&mut settings, &[("RALPH_VERIFICATION_TESTS", "protect")]).unwrap();
    assert_eq!(effective(&settings), ["verification.baseline"]);
    settings.verification.baseline.set_from_flag(Some(true), "--baseline");
    assert_eq!(effective(&settings), Vec::<String>::new());
}

// finding: N44
#[test]
fn an_exception_to_a_guard_pattern_loosens_the_rule_and_a_further_pattern_does_not() {
    let guard = |user: &str, project: &str| {
        let lists = |list: &str| format!("verification: {{guard: [{list}]}}");
        !loosened_rules(&lists(user), &lists(project)).is_empty()
    };
    for (user, project) in [
        ("tests/", "tests/, '!tests/a'"),
        ("tests/", "'!tests/a', tests/"),
        ("tests/, ci/", "tests/"),
        ("'!tests/a', tests/", "tests/, '!tests/a'"),
        ("tests/, '!tests/a'", "tests/, '!tests/b'"),
    ] {
        assert!(guard(user, project), "{user} -> {project}");
    }
    for (user, project) in
        [("tests/", "ci/, tests/"), ("tests/, '!tests/a'", "tests/"), ("", "ci/"), ("'!a', b", "'!a', c, b")]
    {
        assert!(!guard(user, project), "{user} -> {project}");
    }
}

// finding: N44
#[test]
fn an_exception_that_a_project_removes_from_the_allowed_changes_loosens_the_rule() {
    let allows_more = |user: &str, project: &str| {
        let lists = |list: &str| format!("verification: {{allow_changes: [{list}]}}");
        !loosened_rules(&lists(user), &lists(project)).is_empty()
    };
    assert!(allows_more("'tests/**', '!tests/a'", "'tests/**'"));
    assert!(allows_more("'tests/**', '!tests/a'", "'!tests/a', 'tests/**'"));
    assert!(!allows_more("'tests/**'", "'tests/**', '!tests/a'"));
    assert!(!allows_more("'tests/**', docs/", "docs/"));
}
