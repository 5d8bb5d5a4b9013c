//! What a task means for a role, one sentence a test.
use super::*;
use crate::task::{ACCEPTANCE, CompletionSpec, OneOrMore, WrittenTime};

/// Knows one template.
fn ready(name: &str, with: &BTreeMap<String, Values>) -> Result<Criterion, Problem> {
    if name == "none" {
        return Err(Problem::new("with.paths", "it takes none", "leave it out"));
    }
    if name != "files" {
        return Err(Problem::new("template", format!("there is no template {name:?}"), "look again"));
    }
    let words = with.values().flatten().cloned();
    let command = CheckCommand::Argv(["ls".to_string()].into_iter().chain(words).collect());
    Ok(Criterion { name: Some("files".to_string()), ..ExternalCheck::of(command).into() })
}

fn acceptance() -> Vec<String> {
    vec!["login works".to_string(), "401 for bad tokens".to_string()]
}

fn task(role: &Role, block: Option<RoleSpec>) -> Task {
    let mut completion = CompletionSpec {
        outcome: "Tokens are required".to_string(),
        acceptance_criteria: acceptance(),
        ..CompletionSpec::default()
    };
    if let Some(place) = completion.place_of(role) {
        *place = block;
    }
    Task {
        id: "T-1".to_string(),
        title: "Add auth".to_string(),
        completion: Some(completion),
        ..Task::default()
    }
}

fn settled(role: &Role, block: Option<RoleSpec>, rules: &RoleRules) -> Resolved {
    resolve(&task(role, block), role, rules, &ready).unwrap()
}

fn with_config(method: MethodName, config: VerificationConfig) -> Option<RoleSpec> {
    Some(RoleSpec {
        verification_method: Some(method),
        verification_config: Some(config),
        ..RoleSpec::default()
    })
}

fn method_of(resolved: Resolved) -> Method {
    let [criterion] = <[Criterion; 1]>::try_from(resolved.criteria).unwrap();
    criterion.method
}

// spec: T7
#[test]
fn a_role_without_a_block_is_judged_by_the_acceptance_criteria() {
    for role in Role::KNOWN {
        let resolved = settled(&role, None, &RoleRules::usual());
        assert_eq!(resolved.promise.as_str(), role.usual_promise());
        assert_eq!(Some(resolved.max_iterations), role.usual_iterations());
        assert_eq!(resolved.description, format!("Complete {role} stage for: Add auth"));
        let Method::Semantic(check) = method_of(resolved) else { panic!("{role}") };
        assert_eq!(check.check_for, acceptance());
    }
}

// spec: T7
#[test]
fn what_the_task_says_of_a_role_comes_first() {
    let block = RoleSpec {
        promise: Some("AUTH_DONE".to_string()),
        description: Some("Committed".to_string()),
        verification_method: Some(MethodName::StringMatch),
        max_iterations: Some(3),
        ..RoleSpec::default()
    };
    let configured =
        RoleRules { max_iterations: Some(7), promise: Some("OURS".to_string()), ..RoleRules::usual() };
    let resolved = settled(&Role::Coder, Some(block), &configured);
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("AUTH_DONE", 3));
    assert_eq!(resolved.description, "Committed");
    assert_eq!(method_of(resolved), Method::StringMatch);
}

// spec: T7
#[test]
fn what_the_configuration_says_of_a_role_comes_before_what_is_usual() {
    let configured =
        RoleRules { max_iterations: Some(7), promise: Some("OURS".to_string()), ..RoleRules::usual() };
    let resolved = settled(&Role::Coder, None, &configured);
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("OURS", 7));
}

// spec: T7
#[test]
fn other_roles_promise_a_complete_stage_and_have_the_default_method_and_iterations() {
    let own = Role::parse("docs").unwrap();
    let resolved = settled(&own, None, &RoleRules::usual());
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("STAGE_COMPLETE", 10));
    assert_eq!(method_of(resolved), Method::StringMatch);
    let judged = RoleRules { default_verification: MethodName::Semantic, ..RoleRules::usual() };
    assert!(matches!(method_of(settled(&own, None, &judged)), Method::Semantic(_)));
}

// spec: T7
#[test]
fn the_role_s_own_method_applies_where_its_block_names_none() {
    let config =
        VerificationConfig { command: Some(CheckCommand::from("make")), ..VerificationConfig::default() };
    let block = RoleSpec { verification_config: Some(config), ..RoleSpec::default() };
    assert!(matches!(
        method_of(settled(&Role::Coder, Some(block), &RoleRules::usual())),
        Method::External(_)
    ));
    let named = RoleSpec { promise: Some("OK".to_string()), ..RoleSpec::default() };
    let Method::Semantic(check) = method_of(settled(&Role::Reviewer, Some(named), &RoleRules::usual()))
    else {
        panic!()
    };
    assert_eq!(check.check_for, acceptance());
}

// spec: T7
#[test]
fn without_verify_promises_the_claim_alone_decides_and_that_is_said() {
    let trusting = RoleRules { verify_promises: false, ..RoleRules::usual() };
    let resolved = settled(&Role::Coder, None, &trusting);
    assert!(resolved.criteria.is_empty());
    assert_eq!(
        resolved.warnings,
        ["verify_promises is false: the claim alone decides, and nothing is verified"]
    );
}

// spec: T6
#[test]
fn a_task_without_a_completion_spec_runs_by_string_match_with_a_warning() {
    let bare = Task { completion: None, ..task(&Role::Coder, None) };
    let resolved = resolve(&bare, &Role::Coder, &RoleRules::usual(), &ready).unwrap();
    assert_eq!((resolved.promise.as_str(), resolved.max_iterations), ("IMPLEMENTATION_COMPLETE", 15));
    assert!(resolved.warnings[0].starts_with("task T-1 has no completion spec"), "{:?}", resolved.warnings);
    assert_eq!(method_of(resolved), Method::StringMatch);
}

// spec: P2
#[test]
fn a_stage_that_is_no_loop_is_one_pass_and_still_checked() {
    let single = RoleRules { is_loop: false, max_iterations: Some(7), ..RoleRules::usual() };
    let resolved = settled(&Role::Reviewer, None, &single);
    assert_eq!((resolved.max_iterations, resolved.criteria.len()), (1, 1));
}

// spec: V2
#[test]
fn an_external_check_has_the_usual_values_where_none_are_written() {
    let config =
        VerificationConfig { command: Some(CheckCommand::from("make")), ..VerificationConfig::default() };
    let block = with_config(MethodName::External, config.clone());
    let check = ExternalCheck::of_command("make");
    assert_eq!(method_of(settled(&Role::Coder, block, &RoleRules::usual())), Method::External(check.clone()));
    let config = VerificationConfig {
        success_exit_code: Some(3),
        timeout: WrittenTime::parse("2").ok(),
        retries: Some(1),
        ..config
    };
    let resolved = settled(&Role::Coder, with_config(MethodName::External, config), &RoleRules::usual());
    assert_eq!(resolved.criteria[0].retries, 1);
    let check = ExternalCheck { success_exit_code: 3, timeout_ms: 2_000, ..check };
    assert_eq!(method_of(resolved), Method::External(check));
}

// spec: V3
#[test]
fn the_acceptance_criteria_are_put_into_what_a_judge_looks_for() {
    let judged = |check_for, negative_patterns| {
        let config = VerificationConfig { check_for, negative_patterns, ..VerificationConfig::default() };
        let method =
            method_of(settled(&Role::Qa, with_config(MethodName::Semantic, config), &RoleRules::usual()));
        let Method::Semantic(check) = method else { panic!("{method:?}") };
        check.check_for
    };
    assert_eq!(judged(Some(CheckFor::Text(ACCEPTANCE.to_string())), None), acceptance());
    let mixed = vec!["no secrets".to_string(), ACCEPTANCE.to_string()];
    let filled = ["no secrets", "login works", "401 for bad tokens"];
    assert_eq!(judged(Some(CheckFor::List(mixed)), None), filled);
    assert!(judged(Some(CheckFor::List(vec![])), None).is_empty(), "nothing is to be judged");
    assert!(judged(None, Some(vec!["TODO".to_string()])).is_empty(), "patterns need no judge");
}

// spec: V3
#[test]
fn values_are_put_in_once_and_never_expanded_again() {
    let mut sly = task(&Role::Reviewer, None);
    let spec = sly.completion.as_mut().unwrap();
    spec.acceptance_criteria = vec![ACCEPTANCE.to_string()];
    let resolved = resolve(&sly, &Role::Reviewer, &RoleRules::usual(), &ready).unwrap();
    let Method::Semantic(check) = method_of(resolved) else { panic!() };
    assert_eq!(check.check_for, [ACCEPTANCE]);
}

// spec: V4
#[test]
fn stages_have_a_name_a_method_and_are_required_unless_said() {
    let stages = vec![
        StageSpec::default(),
        StageSpec {
            name: Some("tests".to_string()),
            method: Some(MethodName::External),
            config: Some(VerificationConfig {
                command: Some(CheckCommand::from("make")),
                ..Default::default()
            }),
            required: Some(false),
        },
    ];
    let config = VerificationConfig { stages: Some(stages), ..VerificationConfig::default() };
    let block = with_config(MethodName::MultiStage, config);
    let Method::MultiStage(staged) = method_of(settled(&Role::Qa, block, &RoleRules::usual())) else {
        panic!()
    };
    assert!(staged.require_all && !staged.parallel);
    let [first, second] = <[Stage; 2]>::try_from(staged.stages).unwrap();
    assert_eq!((first.criterion.name.as_deref(), first.required), (Some("unnamed"), true));
    assert_eq!(first.criterion.method, Method::StringMatch);
    assert_eq!((second.criterion.name.as_deref(), second.required), (Some("tests"), false));
}

fn from_files(named: Option<MethodName>, template: &str) -> RoleSpec {
    let with = BTreeMap::from([("paths".to_string(), OneOrMore::One("a b".to_string()))]);
    let config = VerificationConfig {
        template: Some(template.to_string()),
        with: Some(with),
        retries: Some(2),
        ..VerificationConfig::default()
    };
    RoleSpec { verification_method: named, verification_config: Some(config), ..RoleSpec::default() }
}

// spec: V6, T2
#[test]
fn a_template_makes_the_criterion_and_brings_its_method_along() {
    for role in [Role::Coder, Role::Reviewer, Role::Qa] {
        let resolved = settled(&role, Some(from_files(None, "files")), &RoleRules::usual());
        assert_eq!(resolved.criteria[0].retries, 2);
        let Method::External(check) = method_of(resolved) else { panic!("{role}") };
        assert_eq!(check.command, CheckCommand::Argv(vec!["ls".to_string(), "a b".to_string()]));
    }
    let refused = |block| {
        let task = task(&Role::Coder, Some(block));
        resolve(&task, &Role::Coder, &RoleRules::usual(), &ready).unwrap_err().to_string()
    };
    assert_eq!(
        refused(from_files(None, "file")),
        "completion.coder.verification_config.template: there is no template \"file\""
    );
    assert_eq!(
        refused(from_files(None, "none")),
        "completion.coder.verification_config.with.paths: it takes none"
    );
    let other = refused(from_files(Some(MethodName::Semantic), "files"));
    assert!(other.ends_with("files is verified by external, and the method is semantic"), "{other}");
}

// spec: V6, V4
#[test]
fn a_stage_may_come_from_a_template_and_keeps_its_name() {
    let config = from_files(None, "files").verification_config;
    let stage = StageSpec { name: Some("there".to_string()), config, ..StageSpec::default() };
    let config = VerificationConfig { stages: Some(vec![stage]), ..VerificationConfig::default() };
    let Method::MultiStage(staged) =
        method_of(settled(&Role::Qa, with_config(MethodName::MultiStage, config), &RoleRules::usual()))
    else {
        panic!()
    };
    assert_eq!(staged.stages[0].criterion.name.as_deref(), Some("there"));
    assert!(matches!(staged.stages[0].criterion.method, Method::External(_)));
}

fn with_project_checks() -> RoleRules {
    RoleRules { checks: vec![ExternalCheck::of_command("make test").into()], ..RoleRules::usual() }
}

fn methods(resolved: &Resolved) -> Vec<&'static str> {
    resolved.criteria.iter().map(|criterion| criterion.method.name()).collect()
}

// spec: T7
#[test]
fn the_project_s_checks_stand_in_where_the_task_does_not_say_how_a_role_is_verified() {
    for role in [Role::Coder, Role::Tester, Role::Qa] {
        let resolved = settled(&role, None, &with_project_checks());
        assert_eq!(methods(&resolved), ["external", "semantic"], "{role}");
        assert_eq!(resolved.project_checks, ProjectChecks::Added);
    }
    let own = settled(&Role::parse("docs").unwrap(), None, &with_project_checks());
    assert_eq!(methods(&own), ["external", "string_match"]);
    let reviewer = settled(&Role::Reviewer, None, &with_project_checks());
    assert_eq!((methods(&reviewer), reviewer.project_checks), (vec!["semantic"], ProjectChecks::Left));
}

// spec: T7
#[test]
fn the_project_s_checks_are_left_where_the_task_says_how_a_role_is_verified() {
    let word = RoleSpec { verification_method: Some(MethodName::StringMatch), ..RoleSpec::default() };
    let resolved = settled(&Role::Coder, Some(word), &with_project_checks());
    assert_eq!((methods(&resolved), resolved.project_checks), (vec!["string_match"], ProjectChecks::Left));
    let trusting = RoleRules { verify_promises: false, ..with_project_checks() };
    assert!(settled(&Role::Coder, None, &trusting).criteria.is_empty());
}

// spec: T6, T7
#[test]
fn the_project_s_checks_also_hold_for_a_task_that_does_not_say_when_it_is_done() {
    let bare = Task { completion: None, ..task(&Role::Coder, None) };
    let resolved = resolve(&bare, &Role::Coder, &with_project_checks(), &ready).unwrap();
    assert_eq!(methods(&resolved), ["external", "string_match"]);
    assert!(resolved.warnings[0].ends_with("the checks of the project decide"), "{:?}", resolved.warnings);
}
