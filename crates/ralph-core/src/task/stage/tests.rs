//! Tests of the resolution of a task for a role.
use super::*;
use crate::task::{ACCEPTANCE_PLACEHOLDER, CompletionSpec, OneOrMany, TimeoutSpec};

/// A resolver that knows one template.
fn sample_template(name: &str, with: &BTreeMap<String, ParameterValues>) -> Result<Criterion, TaskProblem> {
    if name == "none" {
        return Err(TaskProblem::new("with.paths", "it takes none", "leave it out"));
    }
    if name != "files" {
        return Err(TaskProblem::new("template", format!("there is no template {name:?}"), "look again"));
    }
    let words = with.values().flatten().cloned();
    let command = CheckCommand::Argv(["ls".to_string()].into_iter().chain(words).collect());
    Ok(Criterion { name: Some("files".to_string()), ..ExternalCheck::new(command).into() })
}

fn acceptance_criteria() -> Vec<String> {
    vec!["login works".to_string(), "401 for bad tokens".to_string()]
}

fn task_with_role(role: &Role, block: Option<RoleSpec>) -> Task {
    let mut completion = CompletionSpec {
        outcome: "Tokens are required".to_string(),
        acceptance_criteria: acceptance_criteria(),
        ..CompletionSpec::default()
    };
    if let Some(place) = completion.role_spec_mut(role) {
        *place = block;
    }
    Task { id: "T-1".to_string(), title: "Add auth".to_string(), completion: Some(completion), ..Task::default() }
}

fn resolve_role(role: &Role, block: Option<RoleSpec>, rules: &RoleRules) -> ResolvedStage {
    resolve_stage(&task_with_role(role, block), role, rules, &sample_template).unwrap()
}

fn role_spec_with(method: MethodName, config: VerificationConfig) -> Option<RoleSpec> {
    Some(RoleSpec { verification_method: Some(method), verification_config: Some(config), ..RoleSpec::default() })
}

fn only_method(resolved: ResolvedStage) -> VerificationMethod {
    let [criterion] = <[Criterion; 1]>::try_from(resolved.criteria).unwrap();
    criterion.method
}

// spec: T7
#[test]
fn a_role_without_a_block_is_judged_by_the_acceptance_criteria() {
    for role in Role::BUILT_IN {
        let resolved = resolve_role(&role, None, &RoleRules::default_rules());
        assert_eq!(resolved.promise.as_str(), role.default_promise());
        assert_eq!(Some(resolved.max_iterations), role.default_iterations());
        assert_eq!(resolved.description, format!("Complete {role} stage for: Add auth"));
        let VerificationMethod::Semantic(check) = only_method(resolved) else { panic!("{role}") };
        assert_eq!(check.check_for, acceptance_criteria());
    }
}

// spec: T7
#[test]
fn the_task_takes_precedence_over_the_configuration() {
    let block = RoleSpec {
        promise: Some("AUTH_DONE".to_string()),
        description: Some("Committed".to_string()),
        verification_method: Some(MethodName::StringMatch),
        max_iterations: Some(3),
        ..RoleSpec::default()
    };
    let configured =
        RoleRules { max_iterations: Some(7), promise: Some("OURS".to_string()), ..RoleRules::default_rules() };
    let resolved = resolve_role(&Role::Coder, Some(block), &configured);
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("AUTH_DONE", 3));
    assert_eq!(resolved.description, "Committed");
    assert_eq!(only_method(resolved), VerificationMethod::StringMatch);
}

// spec: T7
#[test]
fn the_configuration_takes_precedence_over_the_role_defaults() {
    let configured =
        RoleRules { max_iterations: Some(7), promise: Some("OURS".to_string()), ..RoleRules::default_rules() };
    let resolved = resolve_role(&Role::Coder, None, &configured);
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("OURS", 7));
}

// spec: T7
#[test]
fn custom_roles_have_a_generic_promise_and_the_default_method_and_iterations() {
    let custom = Role::parse("docs").unwrap();
    let resolved = resolve_role(&custom, None, &RoleRules::default_rules());
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("STAGE_COMPLETE", 10));
    assert_eq!(only_method(resolved), VerificationMethod::StringMatch);
    let judged = RoleRules { default_verification: MethodName::Semantic, ..RoleRules::default_rules() };
    assert!(matches!(only_method(resolve_role(&custom, None, &judged)), VerificationMethod::Semantic(_)));
}

// spec: T7
#[test]
fn the_default_method_of_the_role_applies_if_its_block_has_none() {
    let config = VerificationConfig { command: Some(CheckCommand::from("make")), ..VerificationConfig::default() };
    let block = RoleSpec { verification_config: Some(config), ..RoleSpec::default() };
    assert!(matches!(
        only_method(resolve_role(&Role::Coder, Some(block), &RoleRules::default_rules())),
        VerificationMethod::External(_)
    ));
    let named = RoleSpec { promise: Some("OK".to_string()), ..RoleSpec::default() };
    let VerificationMethod::Semantic(check) =
        only_method(resolve_role(&Role::Reviewer, Some(named), &RoleRules::default_rules()))
    else {
        panic!()
    };
    assert_eq!(check.check_for, acceptance_criteria());
}

// spec: T7
#[test]
fn without_verify_promises_the_claim_alone_decides_with_a_warning() {
    let trusting = RoleRules { verify_promises: false, ..RoleRules::default_rules() };
    let resolved = resolve_role(&Role::Coder, None, &trusting);
    assert!(resolved.criteria.is_empty());
    assert_eq!(resolved.warnings, ["verify_promises is false: the claim alone decides, and nothing is verified"]);
}

// spec: T6
#[test]
fn a_task_without_a_completion_spec_runs_by_string_match_with_a_warning() {
    let bare = Task { completion: None, ..task_with_role(&Role::Coder, None) };
    let resolved = resolve_stage(&bare, &Role::Coder, &RoleRules::default_rules(), &sample_template).unwrap();
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("IMPLEMENTATION_COMPLETE", 15));
    assert!(resolved.warnings[0].starts_with("task T-1 has no completion spec"), "{:?}", resolved.warnings);
    assert_eq!(only_method(resolved), VerificationMethod::StringMatch);
}

// spec: P2
#[test]
fn a_stage_that_is_not_a_loop_runs_once_and_is_still_checked() {
    let single = RoleRules { is_loop: false, max_iterations: Some(7), ..RoleRules::default_rules() };
    let resolved = resolve_role(&Role::Reviewer, None, &single);
    assert_eq!((resolved.max_iterations, resolved.criteria.len()), (1, 1));
}

// spec: V2
#[test]
fn an_external_check_has_default_values() {
    let config = VerificationConfig { command: Some(CheckCommand::from("make")), ..VerificationConfig::default() };
    let block = role_spec_with(MethodName::External, config.clone());
    let check = ExternalCheck::from_shell_text("make");
    assert_eq!(
        only_method(resolve_role(&Role::Coder, block, &RoleRules::default_rules())),
        VerificationMethod::External(check.clone())
    );
    let config = VerificationConfig {
        success_exit_code: Some(3),
        timeout: TimeoutSpec::parse("2").ok(),
        retries: Some(1),
        ..config
    };
    let resolved =
        resolve_role(&Role::Coder, role_spec_with(MethodName::External, config), &RoleRules::default_rules());
    assert_eq!(resolved.criteria[0].retries, 1);
    let check = ExternalCheck { success_exit_code: 3, timeout_ms: 2_000, ..check };
    assert_eq!(only_method(resolved), VerificationMethod::External(check));
}

// spec: V3
#[test]
fn the_placeholder_in_check_for_is_replaced_by_the_acceptance_criteria() {
    let judged = |check_for, negative_patterns| {
        let config = VerificationConfig { check_for, negative_patterns, ..VerificationConfig::default() };
        let method = only_method(resolve_role(
            &Role::Qa,
            role_spec_with(MethodName::Semantic, config),
            &RoleRules::default_rules(),
        ));
        let VerificationMethod::Semantic(check) = method else { panic!("{method:?}") };
        check.check_for
    };
    assert_eq!(judged(Some(CheckForSpec::Text(ACCEPTANCE_PLACEHOLDER.to_string())), None), acceptance_criteria());
    let mixed = vec!["no secrets".to_string(), ACCEPTANCE_PLACEHOLDER.to_string()];
    let filled = ["no secrets", "login works", "401 for bad tokens"];
    assert_eq!(judged(Some(CheckForSpec::List(mixed)), None), filled);
    assert!(judged(Some(CheckForSpec::List(vec![])), None).is_empty(), "there is nothing to judge");
    assert!(judged(None, Some(vec!["TODO".to_string()])).is_empty(), "patterns need no judge");
}

// spec: V3
#[test]
fn placeholders_inside_values_are_not_expanded() {
    let mut task = task_with_role(&Role::Reviewer, None);
    let spec = task.completion.as_mut().unwrap();
    spec.acceptance_criteria = vec![ACCEPTANCE_PLACEHOLDER.to_string()];
    let resolved = resolve_stage(&task, &Role::Reviewer, &RoleRules::default_rules(), &sample_template).unwrap();
    let VerificationMethod::Semantic(check) = only_method(resolved) else { panic!() };
    assert_eq!(check.check_for, [ACCEPTANCE_PLACEHOLDER]);
}

// spec: V4
#[test]
fn a_stage_has_a_default_name_and_method_and_is_required_by_default() {
    let stages = vec![
        StageSpec::default(),
        StageSpec {
            name: Some("tests".to_string()),
            method: Some(MethodName::External),
            config: Some(VerificationConfig { command: Some(CheckCommand::from("make")), ..Default::default() }),
            required: Some(false),
        },
    ];
    let config = VerificationConfig { stages: Some(stages), ..VerificationConfig::default() };
    let block = role_spec_with(MethodName::MultiStage, config);
    let VerificationMethod::MultiStage(staged) =
        only_method(resolve_role(&Role::Qa, block, &RoleRules::default_rules()))
    else {
        panic!()
    };
    assert!(staged.require_all && !staged.parallel);
    let [first, second] = <[CheckStage; 2]>::try_from(staged.stages).unwrap();
    assert_eq!((first.criterion.name.as_deref(), first.required), (Some("unnamed"), true));
    assert_eq!(first.criterion.method, VerificationMethod::StringMatch);
    assert_eq!((second.criterion.name.as_deref(), second.required), (Some("tests"), false));
}

fn template_role_spec(method: Option<MethodName>, template: &str) -> RoleSpec {
    let with = BTreeMap::from([("paths".to_string(), OneOrMany::One("a b".to_string()))]);
    let config = VerificationConfig {
        template: Some(template.to_string()),
        with: Some(with),
        retries: Some(2),
        ..VerificationConfig::default()
    };
    RoleSpec { verification_method: method, verification_config: Some(config), ..RoleSpec::default() }
}

// spec: V6, T2
#[test]
fn a_template_defines_the_criterion_and_its_method() {
    for role in [Role::Coder, Role::Reviewer, Role::Qa] {
        let resolved = resolve_role(&role, Some(template_role_spec(None, "files")), &RoleRules::default_rules());
        assert_eq!(resolved.criteria[0].retries, 2);
        let VerificationMethod::External(check) = only_method(resolved) else { panic!("{role}") };
        assert_eq!(check.command, CheckCommand::Argv(vec!["ls".to_string(), "a b".to_string()]));
    }
    let refused = |block| {
        let task = task_with_role(&Role::Coder, Some(block));
        resolve_stage(&task, &Role::Coder, &RoleRules::default_rules(), &sample_template).unwrap_err().to_string()
    };
    assert_eq!(
        refused(template_role_spec(None, "file")),
        "completion.coder.verification_config.template: there is no template \"file\""
    );
    assert_eq!(
        refused(template_role_spec(None, "none")),
        "completion.coder.verification_config.with.paths: it takes none"
    );
    let other = refused(template_role_spec(Some(MethodName::Semantic), "files"));
    assert!(other.ends_with("template files uses the method external, not semantic"), "{other}");
}

// spec: V6, V4
#[test]
fn a_stage_may_use_a_template_and_keeps_its_name() {
    let config = template_role_spec(None, "files").verification_config;
    let stage = StageSpec { name: Some("there".to_string()), config, ..StageSpec::default() };
    let config = VerificationConfig { stages: Some(vec![stage]), ..VerificationConfig::default() };
    let VerificationMethod::MultiStage(staged) = only_method(resolve_role(
        &Role::Qa,
        role_spec_with(MethodName::MultiStage, config),
        &RoleRules::default_rules(),
    )) else {
        panic!()
    };
    assert_eq!(staged.stages[0].criterion.name.as_deref(), Some("there"));
    assert!(matches!(staged.stages[0].criterion.method, VerificationMethod::External(_)));
}

fn rules_with_project_checks() -> RoleRules {
    RoleRules { checks: vec![ExternalCheck::from_shell_text("make test").into()], ..RoleRules::default_rules() }
}

fn method_names(resolved: &ResolvedStage) -> Vec<&'static str> {
    resolved.criteria.iter().map(|criterion| criterion.method.name()).collect()
}

// spec: T7
#[test]
fn project_checks_apply_if_the_task_does_not_define_the_verification_of_a_role() {
    for role in [Role::Coder, Role::Tester, Role::Qa] {
        let resolved = resolve_role(&role, None, &rules_with_project_checks());
        assert_eq!(method_names(&resolved), ["external", "semantic"], "{role}");
        assert_eq!(resolved.project_checks, ProjectChecks::Included);
    }
    let custom = resolve_role(&Role::parse("docs").unwrap(), None, &rules_with_project_checks());
    assert_eq!(method_names(&custom), ["external", "string_match"]);
    let reviewer = resolve_role(&Role::Reviewer, None, &rules_with_project_checks());
    assert_eq!((method_names(&reviewer), reviewer.project_checks), (vec!["semantic"], ProjectChecks::Omitted));
}

// spec: T7
#[test]
fn project_checks_do_not_apply_if_the_task_defines_the_verification_of_a_role() {
    let claim_only = RoleSpec { verification_method: Some(MethodName::StringMatch), ..RoleSpec::default() };
    let resolved = resolve_role(&Role::Coder, Some(claim_only), &rules_with_project_checks());
    assert_eq!((method_names(&resolved), resolved.project_checks), (vec!["string_match"], ProjectChecks::Omitted));
    let trusting = RoleRules { verify_promises: false, ..rules_with_project_checks() };
    assert!(resolve_role(&Role::Coder, None, &trusting).criteria.is_empty());
}

// spec: T6, T7
#[test]
fn project_checks_also_apply_to_a_task_without_a_completion_spec() {
    let bare = Task { completion: None, ..task_with_role(&Role::Coder, None) };
    let resolved = resolve_stage(&bare, &Role::Coder, &rules_with_project_checks(), &sample_template).unwrap();
    assert_eq!(method_names(&resolved), ["external", "string_match"]);
    assert!(resolved.warnings[0].ends_with("the project checks decide"), "{:?}", resolved.warnings);
}
