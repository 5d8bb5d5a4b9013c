//! Checks whether the text after a claim retracts it or continues with the work.

use alloc::string::String;

use crate::claim::languages::{LanguageTable, language_of};
use crate::claim::message::markdown_lines::LineKind;
use crate::claim::message::parsed_message::ParsedMessage;
use crate::claim::rules::sentence_mood::{SentencePosition, mention_in_sentence};
use crate::claim::text::prose_words::{ProseWord, split_sentences};
use crate::claim::{TagMention, slice_or_empty};
use crate::contradiction::is_open_work;

/// Returns the first sentence after the byte `from` that retracts the claim.
pub(crate) fn find_retraction(view: &ParsedMessage<'_>, from: usize) -> Option<String> {
    let mut at = from;
    for line in view.line_at(from)..view.lines.len() {
        let range = view.line_range(line);
        if matches!(view.line_kind(line), LineKind::Code | LineKind::Quote | LineKind::Table | LineKind::Blank)
            || range.end <= at
        {
            continue;
        }
        let paragraph = view.paragraph_lines(line);
        let end = view.line_range(paragraph.end.saturating_sub(1)).end;
        if let Some(found) = find_in_paragraph(view, at.max(range.start)..end) {
            return Some(found);
        }
        at = end;
    }
    None
}

fn find_in_paragraph(view: &ParsedMessage<'_>, range: core::ops::Range<usize>) -> Option<String> {
    let words = view.words_in(range.clone());
    let parts = split_sentences(&words);
    let at = parts.iter().position(|part| is_retraction(part))?;
    let start = parts.get(at)?.first()?.offset;
    let end = parts.get(at + 1).and_then(|next| next.first()).map_or(range.end, |next| next.offset);
    Some(crate::claim::promise::collapse_whitespace(slice_or_empty(view.text, start..end)))
}

/// Returns whether a sentence retracts the text before it.
fn is_retraction(sentence: &[ProseWord]) -> bool {
    // Punctuation alone has no meaning, and a row of dots would be a thousand sentences.
    if sentence.iter().all(ProseWord::is_punctuation) {
        return false;
    }
    let cues = language_of(sentence);
    if cues.withdrawn.matches(sentence) && !cues.false_withdrawals.matches(sentence) {
        return true;
    }
    if cues.reconsiderations.matches(sentence) && is_problem_report(sentence, cues) {
        return true;
    }
    if refers_to_tag(sentence, cues) && denies_tag(sentence, cues) {
        return true;
    }
    cues.continued_work.matches(sentence) && !cues.offers.matches(sentence)
}

fn is_problem_report(sentence: &[ProseWord], cues: &LanguageTable) -> bool {
    cues.problem_words.matches(sentence) || is_open_work(sentence)
}

fn refers_to_tag(sentence: &[ProseWord], cues: &LanguageTable) -> bool {
    cues.tag_references.matches(sentence)
        || cues.aims.matches(sentence)
        || (cues.pronoun_references.matches(sentence) && cues.signal_verbs.matches(sentence))
}

/// Returns whether a sentence about the tag denies it. A sentence about an earlier run does not.
fn denies_tag(sentence: &[ProseWord], cues: &LanguageTable) -> bool {
    let is_mentioned = || {
        matches!(
            mention_in_sentence(sentence, SentencePosition::Inline),
            Some(TagMention::Negated | TagMention::Conditional)
        )
    };
    cues.backward_references.matches(sentence)
        && !cues.other_time_phrases.matches(sentence)
        && (cues.invalidations.matches(sentence)
            || cues.example_phrases.matches(sentence)
            || cues.other_turns.matches(sentence)
            || is_mentioned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_retraction(text: &str) -> bool {
        split_sentences(&crate::claim::text::prose_words::split_words(text, 0)).into_iter().any(is_retraction)
    }

    // spec: S4
    #[test]
    fn withdrawals_are_recognised() {
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
            assert!(has_retraction(text), "{text}");
        }
    }

    // spec: S4
    #[test]
    fn footers_are_not_retractions() {
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
            assert!(!has_retraction(text), "{text}");
        }
    }
}
