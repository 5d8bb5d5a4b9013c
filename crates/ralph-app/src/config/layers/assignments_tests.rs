//! `KEY=value` lines are parsed in shell syntax without running anything.
use proptest::prelude::{any, prop_assert, proptest};

use super::*;

fn parse_to_tuples(text: &str) -> Vec<(String, String, u64)> {
    parse_assignments(text).unwrap().into_iter().map(|one| (one.key, one.value, one.line)).collect()
}

#[track_caller]
fn assert_value(text: &str, value: &str) {
    assert_eq!(parse_assignments(text).unwrap()[0].value, value, "{text}");
}

// spec: C2
#[test]
fn comments_exports_and_empty_lines_are_accepted() {
    let text = "# a comment\n\nA=1\n  export B=two # note\n\texport  C='x'\r\nD=\nE=a#b\n";
    let expected = [("A", "1", 3), ("B", "two", 4), ("C", "x", 5), ("D", "", 6), ("E", "a#b", 7)];
    assert_eq!(parse_to_tuples(text), expected.map(|(key, value, line)| (key.to_owned(), value.to_owned(), line)));
}

// spec: C2
#[test]
fn quotation_marks_protect_and_join() {
    assert_value("A='it is $HOME'", "it is $HOME");
    assert_value("A=\"two words\"' and 'more", "two words and more");
    assert_value("A=\"say \\\"hi\\\" \\n \\$x\"", "say \"hi\" \\n $x");
    assert_value("A=one\\ two", "one two");
    assert_value("A='first\nsecond'\nB=1", "first\nsecond");
    assert_value("A=\"one \\\n two\"", "one  two");
    assert_value("A=one\\\ntwo", "onetwo");
    assert_eq!(parse_to_tuples("A='x\ny'\nB=1")[1].2, 3, "lines within a value are counted");
}

// fault: 79
// spec: C2
#[test]
fn commands_and_variables_are_literal_text() {
    for text in ["$(touch /tmp/x)", "`touch /tmp/x`", "$(echo $(date) \"a b\")", "${HOME}", "$HOME", "$"] {
        assert_value(&format!("A={text}"), text);
        assert_value(&format!("A=\"{text}\""), text);
        assert_value(&format!("A='{text}'"), text);
    }
}

// spec: C2, U1
#[test]
fn invalid_assignments_are_refused_with_their_line() {
    let refused = |text: &str| parse_assignments(text).unwrap_err();
    for text in
        ["A=1\nif true; then", "A=1\nsource other", "A=1\n1A=2", "A=1\n=x", "A=1\nexport B", "A=1\nA-B=1", "A=1\n\u{1}"]
    {
        let bad = refused(text);
        assert_eq!((bad.line, bad.hint), (2, NOT_EXECUTED_HINT), "{text}: {bad:?}");
    }
    assert_eq!(refused("A = 1").message, "blank before =");
    assert_eq!(refused("agent: claude").hint, YAML_FILE_NAME_HINT);
    for text in ["A=one two", "A=one; B=2", "A=(a b)", "A=a|b", "A='x'y z", "A=x>y"] {
        assert_eq!(refused(text).hint, QUOTE_VALUE_HINT, "{text}");
    }
    let many: String = (0..30_000).map(|number| format!("A{number}=1\n")).collect();
    assert_eq!(refused(&many).line, 20_001);
    for text in ["B=1\nA='open", "B=1\nA=\"open", "B=1\nA=$(open", "B=1\nA=`open", "B=1\nA=\"x\\"] {
        assert_eq!(refused(text).line, 2, "{text}");
    }
}

// spec: C2
#[test]
fn assignments_are_distinguished_from_yaml_by_the_first_line() {
    for text in ["A=1", "# x\n\n export A=1", "AGENT_TYPE=claude\n", "a_b='x: y'"] {
        assert!(looks_like_assignments(text), "{text}");
    }
    for text in ["", "# only", "agent: claude", "a: b=c", "- a=b", "{a: b}", "\"a\"=1"] {
        assert!(!looks_like_assignments(text), "{text}");
    }
}

proptest! {
    // spec: C2
    #[test]
    fn arbitrary_text_does_not_panic_the_parser(text in any::<String>()) {
        drop(parse_assignments(&text));
    }

    // fault: 79
    // spec: C2
    #[test]
    fn a_value_in_single_quotes_arrives_unchanged(value in "[^'\0]*") {
        let read = parse_assignments(&format!("A='{value}'")).unwrap();
        prop_assert!(read[0].value == value);
    }

    // spec: C2
    #[test]
    fn shell_like_text_does_not_panic_the_parser(text in "[A-C='\"`$()\\\\# \n;x]{0,60}") {
        drop(parse_assignments(&text));
    }
}
