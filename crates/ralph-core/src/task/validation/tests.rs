//! Tests of the validation of tasks.
use alloc::string::ToString;
use alloc::vec;

use super::*;

fn valid_task() -> Task {
    let completion = CompletionSpec {
        outcome: "It works".to_string(),
        acceptance_criteria: vec!["the tests pass".to_string()],
        ..CompletionSpec::default()
    };
    Task { id: "T-1".to_string(), title: "Make it work".to_string(), completion: Some(completion), ..Task::default() }
}

fn validate_changed(change: impl FnOnce(&mut Task)) -> Result<(), (String, String)> {
    let mut task = valid_task();
    change(&mut task);
    validate_task(&task).map_err(|problem| (problem.field, problem.message))
}

fn validate_with_role(role: &Role, block: RoleSpec) -> Result<(), (String, String)> {
    validate_changed(|task| *task.completion.as_mut().unwrap().role_spec_mut(role).unwrap() = Some(block))
}

fn role_spec(method: Option<MethodName>, config: VerificationConfig) -> RoleSpec {
    RoleSpec { verification_method: method, verification_config: Some(config), ..RoleSpec::default() }
}

fn refused_field<T>(refused: Result<T, (String, String)>) -> String {
    refused.map(|_| "accepted").unwrap_err().0
}

// spec: T10
#[test]
fn the_file_of_a_specification_is_inside_the_project() {
    let with_file = |path: &str| validate_changed(|task| task.spec_file = Some(path.to_string()));
    assert_eq!(with_file("docs/a..b/login.md"), Ok(()));
    for path in ["/etc/passwd", "../login.md", "docs/../../login.md", " "] {
        assert_eq!(refused_field(with_file(path)), "spec_file", "{path}");
    }
}

// spec: T1
#[test]
fn a_task_needs_an_id_and_a_title() {
    assert_eq!(validate_changed(|_| ()), Ok(()));
    assert_eq!(refused_field(validate_changed(|task| task.id = "../x".to_string())), "id");
    assert_eq!(refused_field(validate_changed(|task| task.title = " ".to_string())), "title");
    assert_eq!(refused_field(validate_changed(|task| task.title = "a\nb".to_string())), "title");
    assert_eq!(refused_field(validate_changed(|task| task.priority = Some(0))), "priority");
    assert_eq!(
        refused_field(validate_changed(|task| task.dependencies = Some(vec!["a".to_string(), String::new()]))),
        "dependencies.1"
    );
}

// spec: T2
#[test]
fn outcome_and_acceptance_are_required() {
    let spec = |change: fn(&mut CompletionSpec)| validate_changed(|task| change(task.completion.as_mut().unwrap()));
    assert_eq!(refused_field(spec(|spec| spec.outcome.clear())), "completion.outcome");
    assert_eq!(refused_field(spec(|spec| spec.acceptance_criteria.clear())), "completion.acceptance_criteria");
    assert_eq!(
        refused_field(spec(|spec| spec.acceptance_criteria.push(" ".into()))),
        "completion.acceptance_criteria.1"
    );
    assert_eq!(validate_changed(|task| task.completion = None), Ok(()), "a completion spec is optional here");
}

// spec: T7
#[test]
fn external_without_a_command_and_multi_stage_without_stages_are_refused_at_creation() {
    let bare = VerificationConfig::default;
    let refused = validate_with_role(&Role::Coder, role_spec(Some(MethodName::External), bare())).unwrap_err();
    assert_eq!(
        refused,
        ("completion.coder.verification_config.command".to_string(), "external without command".to_string())
    );
    let blank = VerificationConfig { command: Some(CheckCommand::from(" ")), ..bare() };
    assert!(validate_with_role(&Role::Coder, role_spec(Some(MethodName::External), blank)).is_err());
    let refused = validate_with_role(&Role::Reviewer, role_spec(Some(MethodName::MultiStage), bare())).unwrap_err();
    assert_eq!(refused.1, "multi_stage without stages");
    let none = VerificationConfig { stages: Some(vec![]), ..bare() };
    assert!(validate_with_role(&Role::Qa, role_spec(None, none)).is_err());
}

// spec: T7
#[test]
fn the_default_method_of_a_role_follows_the_same_rules() {
    let promised = RoleSpec { promise: Some("XY".to_string()), ..RoleSpec::default() };
    assert_eq!(
        refused_field(validate_with_role(&Role::Coder, promised.clone())),
        "completion.coder.verification_config.command"
    );
    assert_eq!(
        refused_field(validate_with_role(&Role::Tester, promised.clone())),
        "completion.tester.verification_config.command"
    );
    assert_eq!(
        refused_field(validate_with_role(&Role::Qa, promised.clone())),
        "completion.qa.verification_config.stages"
    );
    assert_eq!(validate_with_role(&Role::Reviewer, promised.clone()), Ok(()));
    let matched = RoleSpec { verification_method: Some(MethodName::StringMatch), ..promised };
    assert_eq!(validate_with_role(&Role::Coder, matched), Ok(()));
}

// spec: T2
#[test]
fn a_field_of_another_method_is_refused_with_its_name() {
    let config =
        VerificationConfig { check_for: Some(CheckForSpec::List(vec!["x".to_string()])), ..Default::default() };
    let (field, message) = validate_with_role(&Role::Coder, role_spec(None, config)).unwrap_err();
    assert_eq!(field, "completion.coder.verification_config.check_for");
    assert_eq!(message, "the method external does not use it");
}

// spec: V2
#[test]
fn a_problem_of_a_check_is_reported_at_its_field() {
    let config = VerificationConfig {
        command: Some(CheckCommand::from("make")),
        working_dir: Some("..".to_string()),
        ..Default::default()
    };
    let refused = refused_field(validate_with_role(&Role::Coder, role_spec(None, config)));
    assert_eq!(refused, "completion.coder.verification_config.working_dir");
}

// spec: V4
#[test]
fn stages_are_validated_by_their_own_methods() {
    let stage = |method, config| StageSpec { method, config, ..StageSpec::default() };
    let staged = |stage| {
        let config = VerificationConfig { stages: Some(vec![stage]), ..Default::default() };
        validate_with_role(&Role::Qa, role_spec(None, config))
    };
    assert_eq!(staged(stage(None, None)), Ok(()), "a stage without a method is string_match");
    let refused = staged(stage(Some(MethodName::External), None));
    assert_eq!(refused_field(refused), "completion.qa.verification_config.stages.0.config.command");
}

// spec: V3
#[test]
fn check_for_is_a_list_or_the_acceptance_criteria() {
    let judged = |check_for| {
        let config = VerificationConfig { check_for: Some(check_for), ..Default::default() };
        validate_with_role(&Role::Reviewer, role_spec(None, config))
    };
    assert_eq!(judged(CheckForSpec::Text("{{ acceptance_criteria }}".to_string())), Ok(()));
    assert_eq!(judged(CheckForSpec::List(vec![])), Ok(()));
    assert!(judged(CheckForSpec::Text("no secrets".to_string())).is_err());
    assert!(judged(CheckForSpec::List(vec![" ".to_string()])).is_err());
}

// spec: S1
#[test]
fn a_promise_is_the_text_inside_the_tag() {
    for bad in ["", " \n", "<promise>X</promise>"] {
        let block = RoleSpec { promise: Some(bad.to_string()), ..RoleSpec::default() };
        assert_eq!(refused_field(validate_with_role(&Role::Reviewer, block)), "completion.reviewer.promise", "{bad:?}");
    }
}

// spec: V6, T2
#[test]
fn only_parameters_and_retries_may_be_combined_with_a_template() {
    let template = |name: &str| VerificationConfig {
        template: Some(name.to_string()),
        retries: Some(1),
        ..VerificationConfig::default()
    };
    assert_eq!(validate_with_role(&Role::Coder, role_spec(None, template("cargo-test"))), Ok(()));
    assert_eq!(
        validate_with_role(&Role::Qa, role_spec(None, template("cargo-test"))),
        Ok(()),
        "the default method does not matter"
    );
    let base = "completion.coder.verification_config";
    let refused = |method, config| refused_field(validate_with_role(&Role::Coder, role_spec(method, config)));
    assert_eq!(refused(None, template("../x")), format!("{base}.template"));
    assert_eq!(refused(Some(MethodName::StringMatch), template("x")), format!("{base}.template"));
    let twice = VerificationConfig { command: Some(CheckCommand::from("make")), ..template("x") };
    assert_eq!(refused(None, twice), format!("{base}.command"));
    let alone = VerificationConfig { template: None, with: Some([].into()), ..template("x") };
    assert_eq!(refused(None, alone), format!("{base}.with"));
    let stage = StageSpec { config: Some(template("x")), ..StageSpec::default() };
    let staged = VerificationConfig { stages: Some(vec![stage]), ..VerificationConfig::default() };
    assert_eq!(
        validate_with_role(&Role::Qa, role_spec(None, staged)),
        Ok(()),
        "a stage with a template needs no method"
    );
}
