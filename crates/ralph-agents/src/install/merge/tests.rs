//! Every shape of settings that people write, and what must survive.
use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;

fn is_ours(command: &str) -> bool {
    command == "/bin/ralph hook host"
}

fn group(command: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": command}]})
}

fn hooks() -> [Hook; 2] {
    let entry = || group("/bin/ralph hook host");
    [Hook { event: "Stop", entry: entry() }, Hook { event: "UserPromptSubmit", entry: entry() }]
}

fn read(text: &str) -> Option<Value> {
    Document::parse(skip_bom(text)).unwrap().root.as_ref().map(to_json)
}

fn added(text: &str) -> Merged {
    let merged = add(text, &hooks()).unwrap();
    assert!(has(&merged.text, &hooks(), is_ours).unwrap(), "{}", merged.text);
    assert_eq!(undo(&merged.text, &merged.inserted).unwrap(), text, "{}", merged.text);
    merged
}

/// Returns the text after our hooks came, somebody edited nothing, and they went by what they are.
fn removed(merged: &Merged) -> String {
    remove(&merged.text, &merged.made, is_ours).unwrap()
}

// spec: H2
#[test]
fn hooks_are_put_behind_those_that_are_there_in_the_layout_of_the_file() {
    let text = "{\n    // mine\n    \"model\": \"x\", // best\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": []} // first\n        ]\n    }\n}\n";
    insta::assert_snapshot!(added(text).text, @r#"
    {
        // mine
        "model": "x", // best
        "hooks": {
            "Stop": [
                {"hooks": []}, // first
                {
                    "hooks": [
                        {
                            "command": "/bin/ralph hook host",
                            "type": "command"
                        }
                    ]
                }
            ],
            "UserPromptSubmit": [
                {
                    "hooks": [
                        {
                            "command": "/bin/ralph hook host",
                            "type": "command"
                        }
                    ]
                }
            ]
        }
    }
    "#);
    assert_eq!(removed(&added(text)), text);
}

// spec: H2
#[test]
fn empty_blank_and_crowded_files_come_back_as_they_were() {
    let cases = [
        "",
        "\n",
        "// nothing yet\n",
        "// nothing",
        "// nothing\r",
        "\u{feff}/* a\n */ // b",
        "/* // c\n */",
        "{}",
        "{ }\n",
        "{\n}\n",
        "{\r\n\t\"a\": 1,\r\n}\r\n",
        "{\"a\":1}",
        "{\"a\": 1, \"hooks\": {}}",
        "{\"hooks\": {\"Stop\": []}}",
        "{\n  \"hooks\": {\n    \"Stop\": [],\n  },\n}",
        "{\n  \"a\": 1 /* one */ // more\n  // last word\n}\n",
        "\u{feff}{\n  \"\u{e4}\": \"\u{1f600}\"\n}\n",
        "{ // c\n}",
    ];
    for text in cases {
        let merged = added(text);
        let before = read(text).unwrap_or(json!({}));
        for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(read(&merged.text).unwrap()[key], *value);
        }
        if !text.contains("hooks") {
            assert_eq!(read(&removed(&merged)).unwrap(), before, "{text:?}");
        }
    }
}

// spec: H2
#[test]
fn a_file_on_one_line_stays_on_one_line() {
    let text = r#"{"a":1,"hooks":{"Stop":[{"hooks":[]}]}}"#;
    let merged = added(text);
    assert!(!merged.text.contains('\n'), "{}", merged.text);
    assert_eq!(removed(&merged), text);
}

// spec: H2
#[test]
fn after_somebody_has_edited_the_file_only_our_hooks_go() {
    let merged = added("{\n  \"model\": \"x\"\n}\n").text;
    let theirs = "{ \"type\": \"command\", \"command\": \"their own\" }";
    let edited = merged.replacen("\"hooks\": [", &format!("\"hooks\": [\n {theirs}, // ours is next\n"), 1);
    let edited = edited.replace("\"model\": \"x\"", "\"model\": \"y\", // changed");
    let made = Made { hooks: true, events: vec!["Stop".to_owned(), "UserPromptSubmit".to_owned()] };
    let left = remove(&edited, &made, is_ours).unwrap();
    assert!(!left.contains("ralph") && left.contains("// ours is next") && left.contains("// changed"), "{left}");
    assert_eq!(
        read(&left).unwrap(),
        json!({"model": "y", "hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": "their own"}]}]}})
    );
}

// spec: H2
#[test]
fn lists_that_were_there_before_us_stay_when_they_are_empty_again() {
    let merged = add("{\"hooks\": {\"Stop\": []}}", &hooks()).unwrap();
    assert_eq!(merged.made, Made { hooks: false, events: vec!["UserPromptSubmit".to_owned()] });
    let left = remove(&format!("{} ", merged.text), &merged.made, is_ours).unwrap();
    assert_eq!(read(&left).unwrap(), json!({"hooks": {"Stop": []}}));
}

// spec: H2
#[test]
fn an_older_hook_of_ours_is_not_taken_for_the_new_one() {
    let old = [Hook { event: "Stop", entry: group("/old/ralph hook host") }];
    let text = add("{}", &old).unwrap().text;
    let any_ralph = |command: &str| command.ends_with("ralph hook host");
    assert!(has(&text, &old, any_ralph).unwrap());
    assert!(!has(&text, &hooks()[..1], any_ralph).unwrap());
    assert!(!has(&add(&text, &hooks()[..1]).unwrap().text, &hooks()[..1], any_ralph).unwrap(), "one too many");
}

// spec: H2
#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    let deep = "[".repeat(10_000);
    let cases = [
        ("{", "line 1, column 1: unterminated object"),
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2, column 9: expected comma"),
        ("{\n  a: 1\n}", "line 2, column 3: expected string for object property"),
        ("{\"a\" 1}", "line 1, column 6: expected colon after the string or word in object property"),
        ("{\"a\": 'x'}", "line 1, column 7: single-quoted strings are not allowed"),
        ("{\"a\": \"x\n\"}", "line 1, column 7: control character in string"),
        ("{\"a\": \"x}", "line 1, column 7: unterminated string literal"),
        ("{\"a\": \"\\q\"}", "line 1, column 8: invalid escape"),
        ("{} /* x", "line 1, column 4: unterminated comment block"),
        ("{} {}", "line 1, column 4: text cannot contain more than one JSON value"),
        ("{\"a\": }", "line 1, column 7: unexpected close brace"),
        ("{\"a\": 01}", "line 1, column 8: expected comma"),
        ("{,}", "line 1, column 2: unexpected token in object"),
        ("{\"a\":1,,}", "line 1, column 8: unexpected token in object"),
        ("[]", "line 1, column 1: the settings are not an object"),
        ("{\"hooks\": []}", "line 1, column 11: \"hooks\" is not an object"),
        ("{\n\"hooks\": {\"Stop\": {}}}", "line 2, column 19: \"Stop\" is not a list of hooks"),
        ("{\"hooks\": {}, \"hooks\": {}}", "line 1, column 15: \"hooks\" is there twice"),
        (&deep, "line 1, column 513: maximum nesting depth exceeded"),
    ];
    for (text, said) in cases {
        assert_eq!(add(text, &hooks()).unwrap_err().to_string(), said, "{text:?}");
    }
}

/// White space and comments, as people write them.
fn gap() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![Just(" "), Just("\n"), Just("\r\n"), Just("\t"), Just("// c, }\n"), Just("/* , ] */")],
        0..4,
    )
    .prop_map(|parts| parts.concat())
}

fn leaf() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|number| number.to_string()),
        ".{0,8}".prop_map(|text| Value::from(text).to_string()),
        Just("null".to_owned()),
        Just("[ ]".to_owned()),
    ]
}

fn list(items: Vec<(String, String, String)>, (open, close): (char, char), tail: &(bool, String)) -> String {
    let is_empty = items.is_empty();
    let parts: Vec<String> = items.into_iter().map(|(before, item, after)| format!("{before}{item}{after}")).collect();
    let comma = if tail.0 && !is_empty { "," } else { "" };
    format!("{open}{}{comma}{}{close}", parts.join(","), tail.1)
}

fn array_of(item: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let items = prop::collection::vec((gap(), item, gap()), 0..3);
    (items, any::<bool>(), gap()).prop_map(|(items, comma, end)| list(items, ('[', ']'), &(comma, end)))
}

fn object_of(members: impl Strategy<Value = Vec<(String, String)>>) -> impl Strategy<Value = String> {
    (members, prop::collection::vec((gap(), gap(), gap()), 4), any::<bool>(), gap()).prop_map(
        |(members, gaps, comma, end)| {
            let member = |((key, value), (a, b, c)): ((String, String), (String, String, String))| {
                (a, format!("{}:{b}{value}", Value::from(key)), c)
            };
            list(members.into_iter().zip(gaps).map(member).collect(), ('{', '}'), &(comma, end))
        },
    )
}

/// Settings with and without hooks of others.
fn settings() -> impl Strategy<Value = String> {
    let theirs = Just(group("theirs").to_string());
    let events = prop_oneof![
        Just(Vec::new()).boxed(),
        array_of(theirs.clone()).prop_map(|list| vec![("Stop".to_owned(), list)]).boxed(),
        (array_of(theirs.clone()), array_of(theirs))
            .prop_map(|(one, two)| vec![("Other".to_owned(), one), ("UserPromptSubmit".to_owned(), two)])
            .boxed(),
    ];
    let hooks = prop::option::of(object_of(events));
    let members = (leaf(), array_of(leaf()), hooks).prop_map(|(leaf, list, hooks)| {
        let hooks = hooks.map(|hooks| ("hooks".to_owned(), hooks));
        [("a".to_owned(), leaf)].into_iter().chain(hooks).chain([("b".to_owned(), list)]).collect()
    });
    (gap(), object_of(members), gap()).prop_map(|(before, root, after)| format!("{before}{root}{after}"))
}

/// Returns what every comment says.
fn said(text: &str) -> Vec<String> {
    let document = Document::parse(text).unwrap();
    document.comments_in(0..text.len()).map(|comment| comment.text(text).to_owned()).collect()
}

proptest! {
    // spec: H2
    #[test]
    fn whatever_the_file_looks_like_it_comes_back_and_nothing_of_others_is_lost(text in settings()) {
        let merged = add(&text, &hooks()).unwrap();
        prop_assert!(has(&merged.text, &hooks(), is_ours).unwrap(), "{}", merged.text);
        prop_assert_eq!(undo(&merged.text, &merged.inserted).unwrap(), text.clone());
        let left = remove(&merged.text, &merged.made, is_ours).unwrap();
        prop_assert_eq!(read(&left), read(&text), "{}", left);
        prop_assert_eq!(said(&merged.text), said(&text));
        prop_assert_eq!(said(&left), said(&text));
    }

    // spec: H2
    #[test]
    fn no_text_makes_it_panic(text in ".{0,40}", junk in "[\\[\\]{}\":,/*a1 \n]{0,40}") {
        for text in [text, junk] {
            if let Ok(merged) = add(&text, &hooks()) {
                prop_assert_eq!(undo(&merged.text, &merged.inserted).unwrap(), text);
            }
        }
    }
}
