//! `KEY=value` lines: as a shell would read them, without running anything.
use proptest::prelude::{any, prop_assert, proptest};

use super::*;

fn read(text: &str) -> Vec<(String, String, u64)> {
    parse(text).unwrap().into_iter().map(|one| (one.key, one.value, one.line)).collect()
}

#[track_caller]
fn is(text: &str, value: &str) {
    assert_eq!(parse(text).unwrap()[0].value, value, "{text}");
}

// spec: C2
#[test]
fn comments_exports_and_empty_lines_are_understood() {
    let text = "# a comment\n\nA=1\n  export B=two # said\n\texport  C='x'\r\nD=\nE=a#b\n";
    let expected = [("A", "1", 3), ("B", "two", 4), ("C", "x", 5), ("D", "", 6), ("E", "a#b", 7)];
    assert_eq!(read(text), expected.map(|(key, value, line)| (key.to_owned(), value.to_owned(), line)));
}

// spec: C2
#[test]
fn quotation_marks_protect_and_join() {
    is("A='it is $HOME'", "it is $HOME");
    is("A=\"two words\"' and 'more", "two words and more");
    is("A=\"say \\\"hi\\\" \\n \\$x\"", "say \"hi\" \\n $x");
    is("A=one\\ two", "one two");
    is("A='first\nsecond'\nB=1", "first\nsecond");
    is("A=\"one \\\n two\"", "one  two");
    is("A=one\\\ntwo", "onetwo");
    assert_eq!(read("A='x\ny'\nB=1")[1].2, 3, "lines within a value are counted");
}

// fault: 79
// spec: C2
#[test]
fn commands_and_variables_are_literal_text() {
    for text in ["$(touch /tmp/x)", "`touch /tmp/x`", "$(echo $(date) \"a b\")", "${HOME}", "$HOME", "$"] {
        is(&format!("A={text}"), text);
        is(&format!("A=\"{text}\""), text);
        is(&format!("A='{text}'"), text);
    }
}

// spec: C2, U1
#[test]
fn what_is_no_assignment_is_refused_with_its_line() {
    let refused = |text: &str| parse(text).unwrap_err();
    for text in [
        "A=1\nif true; then",
        "A=1\nsource other",
        "A=1\n1A=2",
        "A=1\n=x",
        "A=1\nexport B",
        "A=1\nA-B=1",
        "A=1\n\u{1}",
    ] {
        let bad = refused(text);
        assert_eq!((bad.line, bad.hint), (2, NOT_RUN), "{text}: {bad:?}");
    }
    assert_eq!(refused("A = 1").what, "there is a blank before =");
    assert_eq!(refused("agent: claude").hint, IS_YAML);
    for text in ["A=one two", "A=one; B=2", "A=(a b)", "A=a|b", "A='x'y z", "A=x>y"] {
        assert_eq!(refused(text).hint, QUOTE_IT, "{text}");
    }
    let many: String = (0..30_000).map(|number| format!("A{number}=1\n")).collect();
    assert_eq!(refused(&many).line, 20_001);
    for text in ["B=1\nA='open", "B=1\nA=\"open", "B=1\nA=$(open", "B=1\nA=`open", "B=1\nA=\"x\\"] {
        assert_eq!(refused(text).line, 2, "{text}");
    }
}

// spec: C2
#[test]
fn such_a_file_is_told_from_yaml_by_its_first_words() {
    for text in ["A=1", "# x\n\n export A=1", "AGENT_TYPE=claude\n", "a_b='x: y'"] {
        assert!(looks_like(text), "{text}");
    }
    for text in ["", "# only", "agent: claude", "a: b=c", "- a=b", "{a: b}", "\"a\"=1"] {
        assert!(!looks_like(text), "{text}");
    }
}

proptest! {
    // spec: C2
    #[test]
    fn no_text_brings_the_reader_down(text in any::<String>()) {
        drop(parse(&text));
    }

    // fault: 79
    // spec: C2
    #[test]
    fn a_value_in_single_quotes_arrives_unchanged(value in "[^'\0]*") {
        let read = parse(&format!("A='{value}'")).unwrap();
        prop_assert!(read[0].value == value);
    }

    // spec: C2
    #[test]
    fn no_shell_like_text_brings_the_reader_down(text in "[A-C='\"`$()\\\\# \n;x]{0,60}") {
        drop(parse(&text));
    }
}
