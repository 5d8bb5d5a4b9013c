//! Counts how much is looked at to judge a message. Only tests count: time says too little on a busy machine.
#![expect(clippy::disallowed_types, reason = "a count of the tests is no state of the rules")]
use std::cell::Cell;

std::thread_local! {
    static LOOKED: Cell<u64> = const { Cell::new(0) };
}

pub(super) fn looked(steps: usize) {
    LOOKED.with(|sum| sum.set(sum.get() + steps as u64));
}

mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::claim::{ClaimRules, Finder, Heard, Promise, Scope};

    const TAG: &str = "<promise>DONE</promise>";

    /// What a hostile or broken agent may print without end.
    const UNITS: &[&str] = &[
        "\"",
        "\" ",
        "\u{201c}",
        "` ",
        "`a``b```c",
        "<promise>",
        "<",
        ">",
        "<!--",
        "\n",
        "- [ ] a\n",
        "(",
        "not ",
        "TODO: ",
        ".",
        "| a | b |\n",
        "word ",
    ];

    /// Where the tags stand among them.
    const SHAPES: &[fn(&str) -> String] = &[
        |units| format!("{units}\n{TAG}"),
        |units| format!("{units}{TAG}"),
        |units| format!("{TAG}{units}"),
        |units| format!("{TAG}\n{units}"),
        |units| format!("{units} done {TAG} {units}"),
    ];

    fn effort(text: &str) -> u64 {
        let before = LOOKED.with(Cell::get);
        let rules =
            ClaimRules { scope: Scope::Iteration, ..ClaimRules::new(Promise::parse("DONE").unwrap()) };
        let mut finder = Finder::new(rules, "do the work");
        finder.hear(Heard::Own { message: 1, text });
        finder.finish();
        LOOKED.with(Cell::get) - before
    }

    fn assert_linear(what: &str, text: impl Fn(usize) -> String) {
        let (short, long) = (effort(&text(1_500)), effort(&text(6_000)));
        assert!(long <= 6 * short + 200_000, "{what}: {short} steps, {long} for four times as much");
    }

    // spec: S3
    #[test]
    fn the_effort_grows_no_faster_than_the_message() {
        for unit in UNITS {
            for (number, shape) in SHAPES.iter().enumerate() {
                let text = |bytes: usize| shape(&unit.repeat(bytes / unit.len()));
                assert_linear(&format!("{unit:?} in shape {number}"), text);
            }
        }
    }

    // spec: S3
    #[test]
    fn many_tags_cost_no_more_than_the_words_between_them() {
        for unit in ["\"", "\" ", "` ", "<", "word "] {
            for tag in [TAG, "<promise>OTHER</promise>"] {
                let one = format!("{}{tag}", unit.repeat(8));
                assert_linear(&format!("{one:?}"), |bytes| one.repeat(bytes / one.len()));
            }
        }
    }
}
