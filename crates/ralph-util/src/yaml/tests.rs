//! Scalars stay as written, nodes have positions, and malformed or oversized documents are refused.
use std::time::Duration;

use proptest::prelude::{any, prop_assert, proptest};

use super::*;

/// Writes a tree on one line.
fn to_one_line(node: &DocumentNode) -> String {
    match &node.content {
        NodeContent::Null => "nothing".to_owned(),
        NodeContent::Text(text) => format!("{text:?}"),
        NodeContent::List(items) => {
            format!("[{}]", items.iter().map(to_one_line).collect::<Vec<_>>().join(" "))
        }
        NodeContent::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|entry| format!("{}={}", entry.key, to_one_line(&entry.node))).collect();
            format!("{{{}}}", entries.join(" "))
        }
    }
}

fn parse_to_line(text: &str) -> String {
    to_one_line(&parse(text).unwrap())
}

fn parse_error(text: &str) -> DocumentError {
    parse(text).unwrap_err()
}

// fault: 82
// spec: X4
#[test]
fn every_scalar_stays_as_written() {
    assert_eq!(
        parse_to_line("a: no\nb: 010\nc: 1e400\nd: 0x1F\ne: .inf\nf: 1_000"),
        r#"{a="no" b="010" c="1e400" d="0x1F" e=".inf" f="1_000"}"#
    );
    assert_eq!(parse_to_line("a: 'no'\nb: \"x\\ty\"\nc: two  words # said"), r#"{a="no" b="x\ty" c="two  words"}"#);
    assert_eq!(
        parse_to_line("a:\nb: ~\nc: null\nd: 'null'\ne: ''"),
        r#"{a=nothing b=nothing c=nothing d="null" e=""}"#
    );
    assert_eq!(
        parse_to_line("a: 99999999999999999999999999999999999999999999\nb: True"),
        r#"{a="99999999999999999999999999999999999999999999" b="True"}"#
    );
    assert_eq!(parse_to_line("a: |\n  x\n  y\nb: >-\n  x\n  y"), r#"{a="x\ny\n" b="x y"}"#);
    assert_eq!(parse_to_line("a: &x 010\nb: *x\nc: [*x, {d: *x}]"), r#"{a="010" b="010" c=["010" {d="010"}]}"#);
    assert_eq!(parse_to_line(""), "nothing");
    assert_eq!(parse_to_line("\u{feff}a: 1"), r#"{a="1"}"#);
}

// spec: G1
#[test]
fn keys_and_values_have_positions() {
    let root = parse("a: 1\n\nb:\n  - x\n  - c: 2\n").unwrap();
    let NodeContent::Map(entries) = &root.content else { panic!("{root:?}") };
    let b = &entries[1];
    assert_eq!((b.key.as_str(), b.line, b.column), ("b", 3, 1));
    let NodeContent::List(items) = &b.node.content else { panic!("{b:?}") };
    assert_eq!((items[0].line, items[0].column), (4, 5));
    let NodeContent::Map(inner) = &items[1].content else { panic!("{items:?}") };
    assert_eq!((inner[0].line, inner[0].column, inner[0].node.column), (5, 5, 8));
}

// fault: 82
// spec: X4
#[test]
fn malformed_documents_are_refused_with_the_position_of_the_error() {
    let place = |text: &str| (parse_error(text).line, parse_error(text).column);
    assert_eq!(parse_error("a: 1\nb: 2\na: 3").message, "duplicate key \"a\"");
    assert_eq!(place("a: 1\nb: 2\na: 3"), (3, 1));
    assert_eq!(place("a: [1, 2"), (1, 4));
    assert_eq!(place("a: b: c"), (1, 5));
    let second = parse_error("a: 1\n---\nb: 2");
    assert!(second.line >= 2 && second.message.contains("second document"), "{second:?}");
    for text in
        ["a: !!python/object:os.system ls", "a: !run ls", "a: \"\\xZZ\"", "? [a]\n: b", "a: *unknown", "a: \u{1}"]
    {
        let bad = parse_error(text);
        assert!(bad.line >= 1 && bad.column >= 1 && !bad.message.contains(" at line "), "{text}: {bad:?}");
    }
}

fn alias_bomb() -> String {
    let mut text = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (level, below) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        let aliases = vec![format!("*{below}"); 9].join(",");
        text.push_str(&format!("{level}: &{level} [{aliases}]\n"));
    }
    text
}

/// Returns the CPU time of this thread, which does not depend on the load of the machine.
fn thread_cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.try_into().unwrap()
}

// fault: 82
// spec: X4
#[test]
fn bombs_are_refused_quickly() {
    let merges = format!(
        "base: &b {{{}}}\n{}",
        (0..500).map(|n| format!("k{n}: 1, ")).collect::<String>(),
        (0..90).map(|n| format!("m{n}: {{<<: *b}}\n")).collect::<String>()
    );
    let bombs = [
        alias_bomb(),
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
        "- x\n".repeat(100_000),
        format!("{}x", "*a ".repeat(100_000)),
        format!("a: {}", "\"".repeat(500_001)),
        merges,
    ];
    for bomb in bombs {
        let started = thread_cpu_time();
        let bad = parse_error(&bomb);
        let took = thread_cpu_time() - started;
        assert!(took < Duration::from_secs(5), "{took:?} for {}", &bomb[..20]);
        assert!(bad.line >= 1 && bad.column >= 1);
    }
}

proptest! {
    // fault: 82
    // spec: X4
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        if let Err(bad) = parse(&text) {
            prop_assert!(bad.line >= 1 && !bad.message.is_empty());
        }
    }

    // fault: 82
    // spec: X4
    #[test]
    fn no_yaml_like_text_makes_the_parser_panic(text in "[\\[\\]{}:,&*!|>#'\" \n\tab01~<?-]{0,80}") {
        drop(parse(&text));
    }
}
