//! Tests of adding hooks to settings and removing them, with every syntax that users write.
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

fn parse_settings(text: &str) -> Option<Value> {
    SettingsDocument::parse(skip_bom(text)).unwrap().root.as_ref().map(to_json)
}

fn add_and_verify(text: &str) -> MergedSettings {
    let merged = add_hooks(text, &hooks()).unwrap();
    assert!(has_exactly_hooks(&merged.text, &hooks(), is_ours).unwrap(), "{}", merged.text);
    assert_eq!(undo_insertions(&merged.text, &merged.inserted).unwrap(), text, "{}", merged.text);
    merged
}

/// Removes our hooks by their commands.
fn remove_ours(merged: &MergedSettings) -> String {
    remove_hooks(&merged.text, &merged.created, is_ours).unwrap()
}

// spec: H2
#[test]
fn hooks_are_added_after_existing_ones_in_the_layout_of_the_file() {
    let text = "{\n    // mine\n    \"model\": \"x\", // best\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": []} // first\n        ]\n    }\n}\n";
    insta::assert_snapshot!(add_and_verify(text).text, @r#"
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
    assert_eq!(remove_ours(&add_and_verify(text)), text);
}

// spec: H2
#[test]
fn removing_the_inserted_text_restores_any_file() {
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
        let merged = add_and_verify(text);
        let before = parse_settings(text).unwrap_or(json!({}));
        for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(parse_settings(&merged.text).unwrap()[key], *value);
        }
        if !text.contains("hooks") {
            assert_eq!(parse_settings(&remove_ours(&merged)).unwrap(), before, "{text:?}");
        }
    }
}

// spec: H2
#[test]
fn a_file_on_one_line_stays_on_one_line() {
    let text = r#"{"a":1,"hooks":{"Stop":[{"hooks":[]}]}}"#;
    let merged = add_and_verify(text);
    assert!(!merged.text.contains('\n'), "{}", merged.text);
    assert_eq!(remove_ours(&merged), text);
}

// spec: H2
#[test]
fn from_an_edited_file_only_our_hooks_are_removed() {
    let merged = add_and_verify("{\n  \"model\": \"x\"\n}\n").text;
    let theirs = "{ \"type\": \"command\", \"command\": \"their own\" }";
    let edited = merged.replacen("\"hooks\": [", &format!("\"hooks\": [\n {theirs}, // ours is next\n"), 1);
    let edited = edited.replace("\"model\": \"x\"", "\"model\": \"y\", // changed");
    let created = CreatedMembers { hooks: true, events: vec!["Stop".to_owned(), "UserPromptSubmit".to_owned()] };
    let left = remove_hooks(&edited, &created, is_ours).unwrap();
    assert!(!left.contains("ralph") && left.contains("// ours is next") && left.contains("// changed"), "{left}");
    assert_eq!(
        parse_settings(&left).unwrap(),
        json!({"model": "y", "hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": "their own"}]}]}})
    );
}

// spec: H2
#[test]
fn a_list_that_existed_before_the_installation_is_kept_when_it_is_empty_again() {
    let merged = add_hooks("{\"hooks\": {\"Stop\": []}}", &hooks()).unwrap();
    assert_eq!(merged.created, CreatedMembers { hooks: false, events: vec!["UserPromptSubmit".to_owned()] });
    let left = remove_hooks(&format!("{} ", merged.text), &merged.created, is_ours).unwrap();
    assert_eq!(parse_settings(&left).unwrap(), json!({"hooks": {"Stop": []}}));
}

// spec: H2
#[test]
fn a_hook_of_an_older_ralph_is_not_mistaken_for_the_new_one() {
    let old = [Hook { event: "Stop", entry: group("/old/ralph hook host") }];
    let text = add_hooks("{}", &old).unwrap().text;
    let any_ralph = |command: &str| command.ends_with("ralph hook host");
    assert!(has_exactly_hooks(&text, &old, any_ralph).unwrap());
    assert!(!has_exactly_hooks(&text, &hooks()[..1], any_ralph).unwrap());
    assert!(
        !has_exactly_hooks(&add_hooks(&text, &hooks()[..1]).unwrap().text, &hooks()[..1], any_ralph).unwrap(),
        "one too many"
    );
}

// spec: H2
#[test]
fn malformed_settings_are_refused_with_line_and_column() {
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
    for (text, message) in cases {
        assert_eq!(add_hooks(text, &hooks()).unwrap_err().to_string(), message, "{text:?}");
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

/// Returns the text of every comment.
fn comments_of(text: &str) -> Vec<String> {
    let document = SettingsDocument::parse(text).unwrap();
    document.comments_in(0..text.len()).map(|comment| comment.text(text).to_owned()).collect()
}

proptest! {
    // spec: H2
    #[test]
    fn removing_our_hooks_restores_random_settings_and_keeps_hooks_of_others(text in settings()) {
        let merged = add_hooks(&text, &hooks()).unwrap();
        prop_assert!(has_exactly_hooks(&merged.text, &hooks(), is_ours).unwrap(), "{}", merged.text);
        prop_assert_eq!(undo_insertions(&merged.text, &merged.inserted).unwrap(), text.clone());
        let left = remove_hooks(&merged.text, &merged.created, is_ours).unwrap();
        prop_assert_eq!(parse_settings(&left), parse_settings(&text), "{}", left);
        prop_assert_eq!(comments_of(&merged.text), comments_of(&text));
        prop_assert_eq!(comments_of(&left), comments_of(&text));
    }

    // spec: H2
    #[test]
    fn arbitrary_text_never_panics(text in ".{0,40}", junk in "[\\[\\]{}\":,/*a1 \n]{0,40}") {
        for text in [text, junk] {
            if let Ok(merged) = add_hooks(&text, &hooks()) {
                prop_assert_eq!(undo_insertions(&merged.text, &merged.inserted).unwrap(), text);
            }
        }
    }
}
