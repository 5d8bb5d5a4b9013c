//! Filters as people write them, and as they should not.
use super::*;

fn values(filter: &str, line: &str) -> Vec<String> {
    Filter::compile(filter).unwrap().apply(line.as_bytes()).values
}

fn refused(filter: &str) -> FilterError {
    Filter::compile(filter).err().unwrap_or_else(|| panic!("{filter} was accepted"))
}

const LINE: &str =
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\nb"},{"type":"x"}]}}"#;
const EXPRESSION: &str = r#"select(.type=="assistant") | .message.content[].text"#;

#[test] // spec: A2
fn a_bare_expression_and_the_written_command_mean_the_same() {
    let forms = [
        EXPRESSION.to_owned(),
        format!("'{EXPRESSION}'"),
        format!("jq '{EXPRESSION}'"),
        format!("jq -r -j --unbuffered '{EXPRESSION}'"),
        format!("  jq -rj -c --raw-output '{EXPRESSION}'  "),
        format!("jq --unbuffered -rj \"{}\"", EXPRESSION.replace('"', "\\\"")),
    ];
    for form in forms {
        assert_eq!(values(&form, LINE), ["a\nb"], "{form}");
    }
}

#[test] // spec: A2
fn other_commands_are_refused_with_a_hint() {
    for command in
        ["grep -o x", "tail -1", "python3 -c 'print(1)'", "cat", "sed s/a/b/", "jq . | tail -1", "./x.sh"]
    {
        assert!(refused(command).hint().contains("jq expression"), "{command}");
    }
    assert_eq!(refused("jq '.a' | head"), FilterError::Trailing { word: "|".into() });
    assert_eq!(refused("jq -s '.'"), FilterError::Option { option: "-s".into() });
    assert_eq!(refused("jq --slurpfile a b '.'"), FilterError::Option { option: "--slurpfile".into() });
    assert_eq!(refused("jq '.a"), FilterError::Quote);
    assert_eq!(refused("  "), FilterError::Empty);
    assert_eq!(refused("jq -r"), FilterError::Empty);
}

#[test] // spec: A2
fn a_wrong_expression_is_told_by_what_is_wrong() {
    assert_eq!(
        refused(".a | nosuch").to_string(),
        "the filter is no jq expression: there is no filter \"nosuch\""
    );
    assert!(refused(".a | )").to_string().contains("cannot be read at"));
    assert!(refused("import \"x\" as x; .").to_string().contains("no jq expression"));
}

#[test] // spec: A2
fn values_that_are_no_text_are_written_as_json() {
    assert_eq!(values(".[]", r#"[1, true, {"a":"b"}, null, "", "x"]"#), ["1", "true", r#"{"a":"b"}"#, "x"]);
}

#[test] // spec: A2
fn a_line_that_does_not_fit_yields_nothing() {
    let filter = Filter::compile(".a.b").unwrap();
    assert_eq!(filter.apply(b"not json"), Yield::default());
    assert_eq!(filter.apply(b"{} {}"), Yield::default());
    assert_eq!(filter.apply("[".repeat(100_000).as_bytes()), Yield::default());
}

#[test] // spec: A2
fn a_filter_that_fails_on_a_line_says_why() {
    let said = Filter::compile(".a.b").unwrap().apply(br#"{"a":7}"#);
    assert_eq!(said, Yield { values: Vec::new(), error: Some("cannot index 7 with \"b\"".into()) });
    let said = Filter::compile(".x, error(\"no\"), .y").unwrap().apply(br#"{"x":"1","y":"2"}"#);
    assert_eq!(said, Yield { values: vec!["1".into()], error: Some("\"no\"".into()) });
}

#[test] // spec: A2, A4
fn what_one_line_yields_is_bounded() {
    assert_eq!(values("repeat(.)", "1").len(), VALUES);
    assert_eq!(values(r#""x" * 700000, "y" * 700000"#, "1").len(), 1);
}

#[test] // spec: X3, A2
fn a_filter_reaches_nothing_but_its_line() {
    assert_eq!(values("env, now, halt, (1|halt_error), \"on\"", "1"), ["{}", "on"]);
    assert_eq!(values("1 | stderr | debug | debug(2)", "1"), ["1"]);
    assert!(Filter::compile("$ENV.HOME").is_err());
    assert!(Filter::compile("input").is_err());
}

#[test]
fn a_filter_may_move_between_threads() {
    fn send<T: Send>() {}
    send::<Filter>();
}
