//! Reads on after a claim: does the same message take it back, or go on with the work?

use alloc::string::String;

use super::layout::Kind;
use super::lexicon as cues;
use super::mood::{Role, mood};
use super::place::View;
use super::words::{Word, find, has, sentences};
use super::{Mention, cut};
use crate::contradiction::open_work;

/// Returns the sentence after `from` that takes the claim back.
pub(crate) fn retraction(view: &View<'_>, from: usize) -> Option<String> {
    let mut at = from;
    for line in view.line(from)..view.lines.len() {
        let range = view.range(line);
        if matches!(view.kind(line), Kind::Code | Kind::Quote | Kind::Table | Kind::Blank) || range.end <= at
        {
            continue;
        }
        let paragraph = view.paragraph(line);
        let end = view.range(paragraph.end.saturating_sub(1)).end;
        if let Some(found) = in_paragraph(view, at.max(range.start)..end) {
            return Some(found);
        }
        at = end;
    }
    None
}

fn in_paragraph(view: &View<'_>, range: core::ops::Range<usize>) -> Option<String> {
    let words = view.words(range.clone());
    let parts = sentences(&words);
    let at = parts.iter().position(|part| takes_back(part))?;
    let start = parts.get(at)?.first()?.at;
    let end = parts.get(at + 1).and_then(|next| next.first()).map_or(range.end, |next| next.at);
    Some(super::promise::collapse(cut(view.text, start..end)))
}

/// Tells whether a sentence withdraws what stands before it.
fn takes_back(sentence: &[Word]) -> bool {
    // Marks alone say nothing, and a row of dots is a thousand sentences.
    if sentence.iter().all(Word::is_mark) {
        return false;
    }
    if has(sentence, cues::WITHDRAW) && !has(sentence, cues::NO_WITHDRAWAL) {
        return true;
    }
    if has(sentence, cues::SECOND_LOOK) && is_bad_news(sentence) {
        return true;
    }
    if points_back(sentence) && is_denied(sentence) {
        return true;
    }
    has(sentence, cues::GOES_ON) && !has(sentence, &["if you", "whenever you", "you want", "let me know"])
}

fn is_bad_news(sentence: &[Word]) -> bool {
    has(
        sentence,
        &[
            "not",
            "never",
            "no",
            "red",
            "broken",
            "missing",
            "open",
            "wrong",
            "incomplete",
            "%fail",
            "failure",
            "premature",
            "unfinished",
            "early",
            "forgot",
            "missed",
            "overlooked",
            "regression",
            "regressions",
            "another",
            "still",
            "one more",
            "more to do",
        ],
    ) || open_work(sentence).is_some()
}

fn points_back(sentence: &[Word]) -> bool {
    let named = has(sentence, &["line/tag/signal/promise/marker/claim/token/statement/above/\u{1}/^"]);
    let aim = has(sentence, &["< that/this/it is .. %aim/aiming/goal/target/hope"]);
    let pronoun = has(sentence, &["< that/this/it/which is/was/would/will/should/does/did/must"]);
    named || aim || (pronoun && find(sentence, cues::GIVE).is_some())
}

/// Tells whether a sentence about the tag denies it; old stories about other runs do not.
fn is_denied(sentence: &[Word]) -> bool {
    let tells_of_tag = has(sentence, cues::BACKWARD);
    let void = has(sentence, cues::VOID);
    let old = has(sentence, cues::OTHER_TIME);
    let mentioned = matches!(mood(sentence, Role::Inline), Some(Mention::Negated | Mention::Conditional));
    let example = has(sentence, cues::EXAMPLE)
        || has(
            sentence,
            &["next run/iteration/agent/session/round/time", "aiming", "working towards/toward", "tomorrow"],
        );
    tells_of_tag && !old && (void || mentioned || example)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(text: &str) -> bool {
        sentences(&crate::claim::words::words(text, 0)).into_iter().any(takes_back)
    }

    // spec: S4
    #[test]
    fn withdrawals_are_heard() {
        for text in [
            "Scratch that.",
            "I take that back: lint fails.",
            "Please disregard the line above.",
            "Wait, the build is red.",
            "I spoke too soon.",
            "On second thought, keep going.",
            "Actually, that is not done.",
            "Ignore the promise above.",
            "The promise above was premature.",
            "The loop has to go on.",
            "Hold on, two tests are red.",
            "That was a mistake.",
            "I retract the promise.",
            "Correction: two stories are still open.",
        ] {
            assert!(any(text), "{text}");
        }
    }

    // spec: S4
    #[test]
    fn footers_take_nothing_back() {
        for text in [
            "Thanks for the clear spec, it made this easy.",
            "You can review the branch whenever it suits you.",
            "Wait for the deploy before you merge.",
            "Hold on to the old key until Friday.",
            "If anything looks off, let me know.",
            "Actually, the diff is smaller than I expected.",
            "That is not a problem for the importer.",
            "You can ignore the deprecation warning.",
            "Never mind the noise in the log.",
            "One last full run to be safe.",
            "Next steps for you: merge and deploy.",
            "The old limit no longer applies.",
        ] {
            assert!(!any(text), "{text}");
        }
    }
}
