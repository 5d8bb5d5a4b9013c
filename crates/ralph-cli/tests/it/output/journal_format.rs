//! The journal format is public: the guide must show exactly the events that ralph writes.
use std::collections::BTreeSet;

use ralph_core::fact::Fact;
use serde_json::Value;

const GUIDE: &str = include_str!("../../../../../docs/guide/json.md");

/// Returns the examples of the guide.
fn examples() -> Vec<Value> {
    let (_, block) = GUIDE.split_once("```jsonl\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    block.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the names of all events, from the error about an unknown one.
fn names() -> BTreeSet<String> {
    let printed = serde_json::from_str::<Fact>(r#"{"event":"?"}"#).unwrap_err().to_string();
    let (_, known) = printed.split_once("expected one of").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

// spec: O1, U1
#[test]
fn every_event_of_the_journal_is_in_the_guide_with_an_example() {
    let shown: BTreeSet<String> =
        examples().iter().map(|example| example["event"].as_str().unwrap().to_owned()).collect();
    assert!(names().len() > 9, "{:?}", names());
    assert_eq!(shown, names());
    for name in names() {
        assert!(GUIDE.contains(&format!("| `{name}` | ")), "{name} is missing in the table");
    }
}

// spec: O1, U1
#[test]
fn the_examples_of_the_guide_have_exactly_the_keys_that_ralph_writes() {
    for (index, mut example) in examples().into_iter().enumerate() {
        let line = example.to_string();
        let place = example.as_object_mut().unwrap();
        assert_eq!(place.remove("seq"), Some((index + 1).into()), "{line}");
        assert!(place.remove("run").is_some_and(|run| run.as_str().unwrap().len() == 36), "{line}");
        let at = place.remove("at").unwrap();
        at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let fact: Fact = serde_json::from_value(example.clone()).unwrap();
        assert_eq!(serde_json::to_value(&fact).unwrap(), example, "{line}");
    }
}
