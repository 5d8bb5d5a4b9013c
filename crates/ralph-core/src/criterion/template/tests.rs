//! What values can and cannot do.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::{any, prop_assert_eq, proptest};

use super::*;
use crate::criterion::{CheckCommand, ExternalCheck, Method, SemanticCheck};

fn find(name: &str) -> Template {
    built_in().into_iter().find(|template| template.name == name).unwrap()
}

fn with(pairs: &[(&str, &[&str])]) -> BTreeMap<String, Values> {
    let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    pairs.iter().map(|(name, given)| ((*name).to_owned(), values(given))).collect()
}

fn words(criterion: &Criterion) -> Vec<String> {
    let Method::External(ExternalCheck { command: CheckCommand::Argv(words), .. }) = &criterion.method else {
        panic!("{criterion:?}");
    };
    words.clone()
}

fn of(command: &[&str], parameters: &[(&str, ParameterKind)]) -> Template {
    let command = CheckCommand::Argv(command.iter().map(ToString::to_string).collect());
    let parameter = |(name, kind): &(&str, ParameterKind)| Parameter {
        name: (*name).to_owned(),
        about: String::new(),
        kind: *kind,
        default: None,
    };
    Template {
        name: "mine".to_owned(),
        about: String::new(),
        parameters: parameters.iter().map(parameter).collect(),
        check: ExternalCheck::of(command).into(),
    }
}

// spec: V6
#[test]
fn every_built_in_template_is_sound_and_no_two_share_a_name() {
    let all = built_in();
    for template in &all {
        template.check().unwrap_or_else(|error| panic!("{}: {error}", template.name));
        assert!(!template.about.is_empty());
        let holes: Vec<String> = words(&template.check);
        for parameter in &template.parameters {
            let hole = format!("{{{{{}}}}}", parameter.name);
            assert!(holes.iter().any(|word| word.contains(&hole)), "{}: {hole}", template.name);
        }
    }
    assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name));
}

// spec: V6
#[test]
fn defaults_hold_where_nothing_is_given_and_given_values_win() {
    let usual = find("pytest-coverage").fill(&BTreeMap::new()).unwrap();
    assert_eq!(words(&usual)[3..], ["--cov=.", "--cov-fail-under=80", "--", "."]);
    let given = with(&[("min", &["95"]), ("paths", &["tests", "more tests"])]);
    let given = find("pytest-coverage").fill(&given).unwrap();
    assert_eq!(words(&given)[3..], ["--cov=.", "--cov-fail-under=95", "--", "tests", "more tests"]);
    assert_eq!(given.name.as_deref(), Some("pytest-coverage"));
}

// spec: V6
#[test]
fn unknown_missing_and_wrong_values_are_refused() {
    let refused = |template: &str, given: &[(&str, &[&str])]| find(template).fill(&with(given)).unwrap_err();
    assert!(matches!(refused("pytest", &[("pahts", &["x"])]), TemplateError::Unknown { .. }));
    assert!(matches!(refused("files-exist", &[]), TemplateError::Missing { .. }));
    for min in ["101", "-1", "8e1", "", " 80", "80; rm", "٣"] {
        assert!(
            matches!(refused("pytest-coverage", &[("min", &[min])]), TemplateError::Value { .. }),
            "{min}"
        );
    }
    for url in ["file:///etc/passwd", "-o x", "http://a b", "", "ftp://x"] {
        assert!(matches!(refused("http-health", &[("url", &[url])]), TemplateError::Value { .. }), "{url}");
    }
    assert!(matches!(refused("pytest-coverage", &[("min", &["1", "2"])]), TemplateError::List { .. }));
    assert!(matches!(refused("make", &[("target", &["a\0b"])]), TemplateError::Value { .. }));
}

// fault: 74
// spec: V6, X1
#[test]
fn a_path_that_looks_like_an_option_is_none() {
    let filled = find("files-exist").fill(&with(&[("files", &["-rf", "a b"])])).unwrap();
    assert!(words(&filled).ends_with(&["./-rf".to_owned(), "a b".to_owned()]));
}

// fault: 74
// spec: V6, X1
#[test]
fn a_value_is_refused_in_a_shell_command() {
    let mut template = of(&[], &[("story", ParameterKind::Text)]);
    template.check = ExternalCheck::of_command("test {{story}}").into();
    assert_eq!(template.check(), Err(TemplateError::Shell { hole: "{{story}}".to_owned() }));
    template.check = ExternalCheck::of_command("test \"$RALPH_PARAM_STORY\"").into();
    let value = "x; touch /tmp/pwned";
    let filled = template.fill(&with(&[("story", &[value])])).unwrap();
    let Method::External(check) = filled.method else { panic!() };
    assert_eq!(check.env.get("RALPH_PARAM_STORY").map(String::as_str), Some(value));
    assert_eq!(check.command, CheckCommand::from("test \"$RALPH_PARAM_STORY\""));
}

// spec: V6
#[test]
fn a_hole_that_is_no_parameter_and_a_list_inside_a_word_are_refused() {
    let unknown = of(&["grep", "{{wrod}}"], &[("word", ParameterKind::Text)]);
    assert_eq!(unknown.check(), Err(TemplateError::Hole { hole: "{{wrod}}".to_owned() }));
    let inside = of(&["grep", "--files={{files}}"], &[("files", ParameterKind::Paths)]);
    assert_eq!(inside.check(), Err(TemplateError::Inside { hole: "{{files}}".to_owned() }));
}

// spec: V6
#[test]
fn judged_criteria_take_values_too() {
    let mut template = of(&[], &[("what", ParameterKind::Text)]);
    let check_for = vec!["the {{what}} is documented".to_owned()];
    template.check = Criterion::of(Method::Semantic(SemanticCheck { check_for, ..SemanticCheck::default() }));
    let filled = template.fill(&with(&[("what", &["{{api}}"])])).unwrap();
    let Method::Semantic(check) = filled.method else { panic!() };
    assert_eq!(check.check_for, ["the {{api}} is documented"], "a value is never expanded again");
}

proptest! {
    // fault: 74
    // spec: V6, X1
    #[test]
    fn whatever_the_value_it_is_exactly_one_argument_and_stays_as_it_is(value in any::<String>()) {
        let value = value.replace('\0', "");
        let template = of(&["test", "{{value}}", "a{{value}}b", "last"], &[("value", ParameterKind::Text)]);
        let filled = template.fill(&with(&[("value", &[&value])])).unwrap();
        prop_assert_eq!(words(&filled), ["test", &value, &format!("a{value}b"), "last"]);
    }
}

// spec: V6
#[test]
fn what_is_wrong_with_a_template_names_the_part_that_is_to_blame() {
    let health = find("http-health");
    let part = |pairs: &[(&str, &[&str])]| health.fill(&with(pairs)).unwrap_err().part();
    assert_eq!(part(&[("link", &["http://a"])]), "with.link");
    assert_eq!(part(&[]), "with.url");
    assert_eq!(part(&[("url", &["ftp://a"])]), "with.url");
    assert_eq!(part(&[("url", &["http://a", "http://b"])]), "with.url");
    assert_eq!(of(&["{{gone}}"], &[]).check().unwrap_err().part(), "template");
}
