//! Counts the steps that the evaluation of a message takes. Compiled only for tests: elapsed time is not reliable on a
//! busy machine.
#![expect(clippy::disallowed_types, reason = "the counter exists only in tests and is not state of the rules")]
use std::cell::Cell;

std::thread_local! {
    static STEP_COUNT: Cell<u64> = const { Cell::new(0) };
}

pub(in crate::claim) fn count_steps(steps: usize) {
    STEP_COUNT.with(|sum| sum.set(sum.get() + steps as u64));
}

mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::claim::{ClaimFinder, ClaimRules, ClaimScope, Promise, TranscriptEvent};

    const DONE_TAG: &str = "<promise>DONE</promise>";

    /// Text that a hostile or broken agent may print endlessly.
    const REPEATED_UNITS: &[&str] = &[
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

    /// The positions of the tag relative to the repeated text.
    const MESSAGE_SHAPES: &[fn(&str) -> String] = &[
        |units| format!("{units}\n{DONE_TAG}"),
        |units| format!("{units}{DONE_TAG}"),
        |units| format!("{DONE_TAG}{units}"),
        |units| format!("{DONE_TAG}\n{units}"),
        |units| format!("{units} done {DONE_TAG} {units}"),
    ];

    fn steps_to_read(text: &str) -> u64 {
        let before = STEP_COUNT.with(Cell::get);
        let rules = ClaimRules { scope: ClaimScope::Iteration, ..ClaimRules::new(Promise::parse("DONE").unwrap()) };
        let mut finder = ClaimFinder::new(rules, "do the work");
        finder.handle_event(TranscriptEvent::AgentText { message: 1, text });
        finder.finish();
        STEP_COUNT.with(Cell::get) - before
    }

    fn assert_linear_steps(label: &str, text: impl Fn(usize) -> String) {
        let (short, long) = (steps_to_read(&text(1_500)), steps_to_read(&text(6_000)));
        assert!(long <= 6 * short + 200_000, "{label}: {short} steps, but {long} for a message four times as long");
    }

    // spec: S3
    #[test]
    fn the_number_of_steps_grows_linearly_with_the_message() {
        for unit in REPEATED_UNITS {
            for (number, shape) in MESSAGE_SHAPES.iter().enumerate() {
                let text = |bytes: usize| shape(&unit.repeat(bytes / unit.len()));
                assert_linear_steps(&format!("{unit:?} in shape {number}"), text);
            }
        }
    }

    // spec: S3
    #[test]
    fn the_number_of_steps_grows_linearly_with_the_number_of_tags() {
        for unit in ["\"", "\" ", "` ", "<", "word "] {
            for tag in [DONE_TAG, "<promise>OTHER</promise>"] {
                let one = format!("{}{tag}", unit.repeat(8));
                assert_linear_steps(&format!("{one:?}"), |bytes| one.repeat(bytes / one.len()));
            }
        }
    }
}
