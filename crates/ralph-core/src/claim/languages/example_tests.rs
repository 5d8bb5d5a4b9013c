//! Runs the labelled examples of all languages. An example is a line of the section `[examples]`: a label, `|`, and the
//! message, in which `@` is the tag and `\n` a line break.

use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::text::pattern::section_text;
use crate::claim::{Claim, ClaimFinder, ClaimRules, Promise, TranscriptEvent};

const FILES: [(&str, &str); 10] = [
    ("en", include_str!("en.txt")),
    ("de", include_str!("de.txt")),
    ("fr", include_str!("fr.txt")),
    ("es", include_str!("es.txt")),
    ("pt", include_str!("pt.txt")),
    ("it", include_str!("it.txt")),
    ("zh", include_str!("zh.txt")),
    ("ja", include_str!("ja.txt")),
    ("ko", include_str!("ko.txt")),
    ("ru", include_str!("ru.txt")),
];

fn read_claim(message: &str) -> Claim {
    let mut finder = ClaimFinder::new(ClaimRules::new(Promise::parse("DONE").unwrap()), "");
    finder.handle_event(TranscriptEvent::AgentText { message: 1, text: message });
    finder.finish().claim
}

/// Returns what is wrong about the reading of an example.
fn describe_mistake(label: &str, message: &str) -> Option<String> {
    let claim = read_claim(&message.replace('@', "<promise>DONE</promise>").replace("\\n", "\n"));
    let is_right = match (&claim, label) {
        (Claim::Made { .. }, "claim") | (Claim::None { .. }, "no claim") => true,
        (Claim::Made { contradiction, .. }, "open") => contradiction.is_some(),
        (Claim::Made { contradiction, .. }, "fine") => contradiction.is_none(),
        _ => false,
    };
    (!is_right).then(|| alloc::format!("{label}: {message} -> {claim:?}"))
}

// spec: S3, S4, S7, S12
// finding: N30
#[test]
fn every_labelled_example_of_every_language_is_read_right() {
    let mut mistakes: Vec<String> = Vec::new();
    for (language, file) in FILES {
        let examples: Vec<(&str, &str)> =
            section_text(file, "examples").lines().filter_map(|line| line.split_once(" | ")).collect();
        assert!(examples.len() >= 15, "{language} has only {} examples", examples.len());
        let wrong = examples.into_iter().filter_map(|(label, message)| describe_mistake(label, message));
        mistakes.extend(wrong.map(|mistake| alloc::format!("{language}: {mistake}")));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
