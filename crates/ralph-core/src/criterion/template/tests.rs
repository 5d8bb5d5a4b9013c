//! Tests of templates and of the values that they accept.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::{any, prop_assert_eq, proptest};

use super::*;
use crate::criterion::{CheckCommand, ExternalCheck, SemanticCheck, VerificationMethod};

fn find_built_in(name: &str) -> CriterionTemplate {
    built_in_templates().into_iter().find(|template| template.name == name).unwrap()
}

fn arguments(pairs: &[(&str, &[&str])]) -> BTreeMap<String, ParameterValues> {
    let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    pairs.iter().map(|(name, texts)| ((*name).to_owned(), values(texts))).collect()
}

fn command_words(criterion: &Criterion) -> Vec<String> {
    let VerificationMethod::External(ExternalCheck { command: CheckCommand::Argv(words), .. }) = &criterion.method
    else {
        panic!("{criterion:?}");
    };
    words.clone()
}

fn argv_template(command: &[&str], parameters: &[(&str, ParameterKind)]) -> CriterionTemplate {
    let command = CheckCommand::Argv(command.iter().map(ToString::to_string).collect());
    let parameter = |(name, kind): &(&str, ParameterKind)| TemplateParameter {
        name: (*name).to_owned(),
        about: String::new(),
        kind: *kind,
        default: None,
    };
    CriterionTemplate {
        name: "mine".to_owned(),
        about: String::new(),
        parameters: parameters.iter().map(parameter).collect(),
        criterion: ExternalCheck::new(command).into(),
    }
}

// spec: V6
#[test]
fn every_built_in_template_is_valid_and_has_a_unique_name() {
    let all = built_in_templates();
    for template in &all {
        template.check_placeholders().unwrap_or_else(|error| panic!("{}: {error}", template.name));
        assert!(!template.about.is_empty());
        let words: Vec<String> = command_words(&template.criterion);
        for parameter in &template.parameters {
            let placeholder = format!("{{{{{}}}}}", parameter.name);
            assert!(words.iter().any(|word| word.contains(&placeholder)), "{}: {placeholder}", template.name);
        }
    }
    assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name));
}

// spec: V6
#[test]
fn a_built_in_template_has_its_own_timeout() {
    let VerificationMethod::External(check) = find_built_in("cargo-test").criterion.method else { panic!() };
    assert_eq!(check.timeout_ms, 1_800_000);
}

// spec: V6
#[test]
fn defaults_apply_unless_a_value_is_passed() {
    let default = find_built_in("pytest-coverage").fill_parameters(&BTreeMap::new()).unwrap();
    assert_eq!(command_words(&default)[3..], ["--cov=.", "--cov-fail-under=80", "--", "."]);
    let values = arguments(&[("min", &["95"]), ("paths", &["tests", "more tests"])]);
    let filled = find_built_in("pytest-coverage").fill_parameters(&values).unwrap();
    assert_eq!(command_words(&filled)[3..], ["--cov=.", "--cov-fail-under=95", "--", "tests", "more tests"]);
    assert_eq!(filled.name.as_deref(), Some("pytest-coverage"));
}

// finding: N13
// spec: V6
#[test]
fn templates_of_test_programs_require_the_line_of_a_passed_test() {
    for (name, passed, nothing_ran) in [
        ("cargo-test", "running 1 test\ntest adds ... ok\n", "running 0 tests\n\ntest result: ok. 0 passed; 0 failed;"),
        ("pytest", "==== 3 passed in 0.02s ====", "==== no tests ran in 0.01s ===="),
        ("pytest-coverage", "3 passed, 1 warning in 0.02s", "no tests ran in 0.01s"),
        ("go-test", "ok  \texample.com/a\t0.002s", "?   \texample.com/a\t[no test files]"),
    ] {
        let criterion = find_built_in(name).fill_parameters(&BTreeMap::new()).unwrap();
        let VerificationMethod::External(check) = criterion.method else { panic!("{name}") };
        let required = check.output_contains.unwrap();
        assert!(passed.contains(&required), "{name}");
        assert!(!nothing_ran.contains(&required), "{name}");
    }
}

// spec: V6
#[test]
fn unknown_missing_and_invalid_values_are_refused() {
    let refused = |template: &str, values: &[(&str, &[&str])]| {
        find_built_in(template).fill_parameters(&arguments(values)).unwrap_err()
    };
    assert!(matches!(refused("pytest", &[("pahts", &["x"])]), CriterionTemplateError::UnknownParameter { .. }));
    assert!(matches!(refused("files-exist", &[]), CriterionTemplateError::MissingParameter { .. }));
    for min in ["101", "-1", "8e1", "", " 80", "80; rm", "٣"] {
        assert!(
            matches!(refused("pytest-coverage", &[("min", &[min])]), CriterionTemplateError::InvalidValue { .. }),
            "{min}"
        );
    }
    for url in ["file:///etc/passwd", "-o x", "http://a b", "", "ftp://x"] {
        assert!(
            matches!(refused("http-health", &[("url", &[url])]), CriterionTemplateError::InvalidValue { .. }),
            "{url}"
        );
    }
    assert!(matches!(
        refused("pytest-coverage", &[("min", &["1", "2"])]),
        CriterionTemplateError::UnexpectedList { .. }
    ));
    assert!(matches!(refused("make", &[("target", &["a\0b"])]), CriterionTemplateError::InvalidValue { .. }));
}

// fault: 74
// spec: V6, X1
#[test]
fn a_path_that_looks_like_an_option_is_passed_as_a_path() {
    let filled = find_built_in("files-exist").fill_parameters(&arguments(&[("files", &["-rf", "a b"])])).unwrap();
    assert!(command_words(&filled).ends_with(&["./-rf".to_owned(), "a b".to_owned()]));
}

// fault: 74
// spec: V6, X1
#[test]
fn a_placeholder_is_refused_in_a_shell_command() {
    let mut template = argv_template(&[], &[("story", ParameterKind::Text)]);
    template.criterion = ExternalCheck::from_shell_text("test {{story}}").into();
    assert_eq!(
        template.check_placeholders(),
        Err(CriterionTemplateError::InShellCommand { placeholder: "{{story}}".to_owned() })
    );
    template.criterion = ExternalCheck::from_shell_text("test \"$RALPH_PARAM_STORY\"").into();
    let value = "x; touch /tmp/pwned";
    let filled = template.fill_parameters(&arguments(&[("story", &[value])])).unwrap();
    let VerificationMethod::External(check) = filled.method else { panic!() };
    assert_eq!(check.env.get("RALPH_PARAM_STORY").map(String::as_str), Some(value));
    assert_eq!(check.command, CheckCommand::from("test \"$RALPH_PARAM_STORY\""));
}

// spec: V6
#[test]
fn an_unknown_placeholder_and_a_list_inside_a_word_are_refused() {
    let unknown = argv_template(&["grep", "{{wrod}}"], &[("word", ParameterKind::Text)]);
    assert_eq!(
        unknown.check_placeholders(),
        Err(CriterionTemplateError::UnknownPlaceholder { placeholder: "{{wrod}}".to_owned() })
    );
    let inside = argv_template(&["grep", "--files={{files}}"], &[("files", ParameterKind::Paths)]);
    assert_eq!(
        inside.check_placeholders(),
        Err(CriterionTemplateError::ListInsideWord { placeholder: "{{files}}".to_owned() })
    );
}

// spec: V6
#[test]
fn judged_criteria_accept_values_too() {
    let mut template = argv_template(&[], &[("what", ParameterKind::Text)]);
    let check_for = vec!["the {{what}} is documented".to_owned()];
    template.criterion =
        Criterion::from_method(VerificationMethod::Semantic(SemanticCheck { check_for, ..SemanticCheck::default() }));
    let filled = template.fill_parameters(&arguments(&[("what", &["{{api}}"])])).unwrap();
    let VerificationMethod::Semantic(check) = filled.method else { panic!() };
    assert_eq!(check.check_for, ["the {{api}} is documented"], "a value is never expanded again");
}

proptest! {
    // fault: 74
    // spec: V6, X1
    #[test]
    fn every_value_becomes_exactly_one_unchanged_argument(value in any::<String>()) {
        let value = value.replace('\0', "");
        let template = argv_template(&["test", "{{value}}", "a{{value}}b", "last"], &[("value", ParameterKind::Text)]);
        let filled = template.fill_parameters(&arguments(&[("value", &[&value])])).unwrap();
        prop_assert_eq!(command_words(&filled), ["test", &value, &format!("a{value}b"), "last"]);
    }
}

// spec: V6
#[test]
fn a_template_error_names_the_faulty_part() {
    let health = find_built_in("http-health");
    let part = |pairs: &[(&str, &[&str])]| health.fill_parameters(&arguments(pairs)).unwrap_err().faulty_part();
    assert_eq!(part(&[("link", &["http://a"])]), "with.link");
    assert_eq!(part(&[]), "with.url");
    assert_eq!(part(&[("url", &["ftp://a"])]), "with.url");
    assert_eq!(part(&[("url", &["http://a", "http://b"])]), "with.url");
    assert_eq!(argv_template(&["{{gone}}"], &[]).check_placeholders().unwrap_err().faulty_part(), "template");
}
