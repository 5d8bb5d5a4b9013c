//! Valid and invalid filters as users write them.
use super::*;

fn filter_values(filter: &str, line: &str) -> Vec<String> {
    JqFilter::compile(filter).unwrap().apply_to_line(line.as_bytes()).values
}

fn expect_refused(filter: &str) -> FilterError {
    JqFilter::compile(filter).err().unwrap_or_else(|| panic!("{filter} was accepted"))
}

const SAMPLE_LINE: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\nb"},{"type":"x"}]}}"#;
const SAMPLE_EXPRESSION: &str = r#"select(.type=="assistant") | .message.content[].text"#;

#[test] // spec: A2
fn a_bare_expression_and_a_jq_command_line_are_equivalent() {
    let forms = [
        SAMPLE_EXPRESSION.to_owned(),
        format!("'{SAMPLE_EXPRESSION}'"),
        format!("jq '{SAMPLE_EXPRESSION}'"),
        format!("jq -r -j --unbuffered '{SAMPLE_EXPRESSION}'"),
        format!("  jq -rj -c --raw-output '{SAMPLE_EXPRESSION}'  "),
        format!("jq --unbuffered -rj \"{}\"", SAMPLE_EXPRESSION.replace('"', "\\\"")),
    ];
    for form in forms {
        assert_eq!(filter_values(&form, SAMPLE_LINE), ["a\nb"], "{form}");
    }
}

#[test] // spec: A2
fn other_commands_are_refused_with_a_hint() {
    for command in ["grep -o x", "tail -1", "python3 -c 'print(1)'", "cat", "sed s/a/b/", "jq . | tail -1", "./x.sh"] {
        assert!(expect_refused(command).hint().contains("jq expression"), "{command}");
    }
    assert_eq!(expect_refused("jq '.a' | head"), FilterError::TrailingWord { word: "|".into() });
    assert_eq!(expect_refused("jq -s '.'"), FilterError::UnsupportedOption { option: "-s".into() });
    assert_eq!(
        expect_refused("jq --slurpfile a b '.'"),
        FilterError::UnsupportedOption { option: "--slurpfile".into() }
    );
    assert_eq!(expect_refused("jq '.a"), FilterError::UnclosedQuote);
    assert_eq!(expect_refused("  "), FilterError::Empty);
    assert_eq!(expect_refused("jq -r"), FilterError::Empty);
}

#[test] // spec: A2
fn an_invalid_expression_is_refused_with_its_problem() {
    assert_eq!(
        expect_refused(".a | nosuch").to_string(),
        "the filter is not a valid jq expression: undefined filter \"nosuch\""
    );
    assert!(expect_refused(".a | )").to_string().contains("syntax error at"));
    assert!(expect_refused("import \"x\" as x; .").to_string().contains("not a valid jq expression"));
}

#[test] // spec: A2
fn values_that_are_not_strings_are_written_as_json() {
    assert_eq!(filter_values(".[]", r#"[1, true, {"a":"b"}, null, "", "x"]"#), ["1", "true", r#"{"a":"b"}"#, "x"]);
}

#[test] // spec: A2
fn a_line_that_is_not_one_json_value_yields_nothing() {
    let filter = JqFilter::compile(".a.b").unwrap();
    assert_eq!(filter.apply_to_line(b"not json"), FilterOutput::default());
    assert_eq!(filter.apply_to_line(b"{} {}"), FilterOutput::default());
    assert_eq!(filter.apply_to_line("[".repeat(100_000).as_bytes()), FilterOutput::default());
}

#[test] // spec: A2
fn a_filter_that_fails_on_a_line_reports_the_error() {
    let output = JqFilter::compile(".a.b").unwrap().apply_to_line(br#"{"a":7}"#);
    assert_eq!(output, FilterOutput { values: Vec::new(), error: Some("cannot index 7 with \"b\"".into()) });
    let output = JqFilter::compile(".x, error(\"no\"), .y").unwrap().apply_to_line(br#"{"x":"1","y":"2"}"#);
    assert_eq!(output, FilterOutput { values: vec!["1".into()], error: Some("\"no\"".into()) });
}

#[test] // spec: A2, A4
fn the_output_of_one_line_is_bounded() {
    assert_eq!(filter_values("repeat(.)", "1").len(), MAX_VALUES_PER_LINE);
    assert_eq!(filter_values(r#""x" * 700000, "y" * 700000"#, "1").len(), 1);
}

#[test] // spec: X3, A2
fn a_filter_has_no_access_beyond_its_line() {
    assert_eq!(filter_values("env, now, halt, (1|halt_error), \"on\"", "1"), ["{}", "on"]);
    assert_eq!(filter_values("1 | stderr | debug | debug(2)", "1"), ["1"]);
    assert!(JqFilter::compile("$ENV.HOME").is_err());
    assert!(JqFilter::compile("input").is_err());
}

#[test]
fn a_filter_can_move_between_threads() {
    fn assert_send<T: Send>() {}
    assert_send::<JqFilter>();
}
