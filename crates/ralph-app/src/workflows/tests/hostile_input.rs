//! Input that no author meant: nothing panics, and limits hold.
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{errors_of, load, with_nodes};

// spec: X4
// fault: 82
#[test]
fn an_alias_bomb_is_refused_quickly() {
    let mut text = String::from("name: w\ndescription: d\nx-a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let _ = writeln!(text, "x-a{level}: &a{level} [{}]", vec![format!("*a{}", level - 1); 9].join(", "));
    }
    text.push_str("nodes: *a11\n");
    let start = Instant::now();
    let found = errors_of(&text);
    assert!(found[0].contains("too large"), "{found:?}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

// spec: X4
// fault: 82
#[test]
fn deep_nesting_duplicate_keys_tags_and_a_second_document_are_errors() {
    let deep = format!("name: w\ndescription: d\nx-a: {}{}\n", "[".repeat(5_000), "]".repeat(5_000));
    assert!(errors_of(&deep)[0].starts_with("3:"), "{:?}", errors_of(&deep));
    assert_eq!(
        errors_of(&with_nodes("  - id: a\n    bash: x\n    bash: y\n")),
        ["6:5: not valid YAML: duplicate key \"bash\" | remove one of the two"]
    );
    assert!(errors_of("name: w\ndescription: d\nnodes: !!python/object:os.system [x]\n")[0].starts_with("3:"));
    let second = format!("{}---\nname: x\n", with_nodes("  - id: a\n    bash: x\n"));
    assert!(errors_of(&second)[0].contains("a second document"), "{:?}", errors_of(&second));
}

// spec: X4
#[test]
fn a_file_that_is_too_large_is_not_parsed() {
    let text = format!("name: w\n# {}\n", "x".repeat(9 << 20));
    assert_eq!(errors_of(&text), ["1:1: file is larger than 8 MB | split it into several workflows"]);
}

// spec: X4
#[test]
fn words_that_look_like_other_types_stay_texts_where_texts_are_expected() {
    let text = with_nodes("  - id: a\n    bash: true\n  - id: b\n    prompt: 010\n    model: no\n");
    assert_eq!(load(&text).map(|loaded| loaded.node_count).ok(), Some(2));
}

// spec: W1
#[test]
fn an_empty_file_and_a_list_are_errors() {
    assert_eq!(errors_of(""), ["1:1: the file is empty | write `name:`, `description:` and `nodes:`"]);
    assert_eq!(errors_of("- a\n"), ["1:1: a workflow: expected a table | write one `key: value` per line"]);
}

/// Lines from which random files are built: most of the format, right and wrong.
const LINES: &[&str] = &[
    "name: w",
    "description: d",
    "nodes:",
    "steps:",
    "loop:",
    "prompt: p",
    "  - id: a",
    "  - id: b",
    "  - command: c",
    "    bash: echo $a.output",
    "    prompt: $b.output.x",
    "    depends_on: [a]",
    "    depends_on: [b, a]",
    "    when: $a.output == 'x'",
    "    when: ((",
    "    loop: {prompt: p, until: X, max_iterations: 1}",
    "    loop_group: {nodes: [{id: c, bash: x}], max_iterations: 2}",
    "    approval: {message: m}",
    "    include: w",
    "    workflow: w",
    "    fan_out: {items: $a.output}",
    "    checks: [x, {y: z}]",
    "    hooks: {PreToolUse: [{response: {}}]}",
    "    context: {resume: a}",
    "    retry: 5",
    "    script: $a",
    "    runtime: bun",
    "    with: {a: $INPUTS.x}",
    "  until: X",
    "  max_iterations: 99999999999999999999",
    "x-a: &a [*a]",
    "inputs: {a: 1}",
    "returns: a",
    "    parallel: [{command: d}]",
    "\t",
    "---",
    "    output_format: {properties: 5, required: [x]}",
    "    <<: {bash: x}",
    "worktree: true",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // spec: X4
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = load(&text);
    }

    // spec: X4
    #[test]
    fn no_mixture_of_known_lines_panics(lines in proptest::collection::vec(proptest::sample::select(LINES), 0..24)) {
        let text = lines.join("\n");
        match load(&text) {
            Ok(loaded) => prop_assert!(loaded.node_count > 0),
            Err(problems) => prop_assert!(!problems.is_empty(), "no reason: {text}"),
        }
    }
}
