//! Decides whether a tag is used or only mentioned.

use alloc::vec::Vec;

use crate::claim::languages::{LanguageTable, language_of};
use crate::claim::message::excluded_regions::is_in_quotation;
use crate::claim::message::markdown_lines::{LineKind, list_number_len};
use crate::claim::message::parsed_message::{ParsedMessage, trim_decoration};
use crate::claim::rules::sentence_mood::{
    SentencePosition, gives_signal_now, has_imperative, is_present_signal_verb, mention_by_phrase, mention_in_sentence,
};
use crate::claim::rules::surrounding_lines::{
    ends_with_dangling_word, mention_from_surrounding_lines, mention_in_list,
};
use crate::claim::signal_tag::{BracketForm, SignalTag};
use crate::claim::text::prose_words::{ProseWord, split_sentences};
use crate::claim::{TagMention, slice_or_empty};

/// How a tag is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagUsage {
    /// The tag is used and alone on its line.
    AloneOnLine,
    /// The tag is used at the end of a sentence.
    AtSentenceEnd,
    /// The tag is only mentioned.
    Mentioned(TagMention),
}

/// Whether a tag is a claim. A claim must meet stricter rules than a signal that stops the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalSense {
    /// The tag contains the promise that would end the loop.
    Claim,
    /// The tag contains anything else.
    Other,
}

/// Returns how the tag is used.
pub(crate) fn classify_tag_usage(view: &ParsedMessage<'_>, tag: &SignalTag, sense: SignalSense) -> TagUsage {
    if let Some(mention) = mention_by_location(view, tag) {
        return TagUsage::Mentioned(mention);
    }
    let used = if is_alone_on_line(view, tag) {
        mention_from_surrounding_lines(view, tag, sense).map_or(TagUsage::AloneOnLine, TagUsage::Mentioned)
    } else if tag.form == BracketForm::Escaped {
        TagUsage::Mentioned(TagMention::Escaped)
    } else {
        inline_mention(view, tag).map_or(TagUsage::AtSentenceEnd, TagUsage::Mentioned)
    };
    if is_followed_by_question_mark(view, tag) { TagUsage::Mentioned(TagMention::Asked) } else { used }
}

/// Returns the mention if the location of the tag already makes it one.
fn mention_by_location(view: &ParsedMessage<'_>, tag: &SignalTag) -> Option<TagMention> {
    let inside = |range: &core::ops::Range<usize>| range.start < tag.span.start && tag.span.end < range.end;
    match view.line_kind(view.line_at(tag.span.start)) {
        LineKind::Code => return Some(TagMention::Code),
        LineKind::Quote => return Some(TagMention::Quoted),
        LineKind::Table => return Some(TagMention::Table),
        LineKind::Blank | LineKind::Heading | LineKind::Bullet | LineKind::Numbered | LineKind::Prose => {}
    }
    if view.is_inline_code(tag) || is_diff_line(view, tag) {
        return Some(TagMention::Code);
    }
    if is_struck_out(view, tag) || is_crossed_out(view, tag) {
        return Some(TagMention::Negated);
    }
    if view.excluded_ranges.iter().any(inside) {
        return Some(TagMention::InsideOtherTag);
    }
    is_in_quotation(view.text_before(tag.span.start), view.text_after(tag.span.end)).then_some(TagMention::Quoted)
}

fn is_struck_out(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    let before = view.text_before(tag.span.start).trim_end_matches(['*', '_', ' ']);
    before.ends_with("~~") && view.text_after(tag.span.end).trim_start_matches(['*', '_', ' ']).starts_with("~~")
}

/// Returns whether a sign of refusal is right before or after the tag, as in "🚫 <promise>".
fn is_crossed_out(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    const REFUSAL_SIGNS: &[char] = &[
        '\u{1f6ab}',
        '\u{26d4}',
        '\u{1f6d1}',
        '\u{274c}',
        '\u{274e}',
        '\u{2717}',
        '\u{2718}',
        '\u{2716}',
        '\u{1f645}',
        '\u{1f44e}',
        '\u{1f6a7}',
        '\u{23f3}',
    ];
    let is_filler = |c: char| c.is_whitespace() || "*_\u{fe0f}".contains(c);
    view.text_before(tag.span.start).trim_end_matches(is_filler).ends_with(REFUSAL_SIGNS)
        || view.text_after(tag.span.end).trim_start_matches(is_filler).starts_with(REFUSAL_SIGNS)
}

/// Returns whether the tag is on a diff line such as "+<promise>". A bullet would have a blank after its sign.
fn is_diff_line(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    matches!(view.text_before(tag.span.start), "+" | "-")
}

/// Returns whether the lines of the tag contain only decoration and other tags.
fn is_alone_on_line(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    let line = view.line_at(tag.span.start);
    let before = has_only_tags(view, view.line_range(line).start..tag.span.start);
    let last = view.line_at(tag.span.end.saturating_sub(1));
    let after = has_only_tags(view, tag.span.end..view.line_range(last).end);
    before && after
}

fn has_only_tags(view: &ParsedMessage<'_>, range: core::ops::Range<usize>) -> bool {
    let mut at = range.start;
    let mut clear = true;
    for tag in view.tags.iter().filter(|tag| range.start <= tag.span.start && tag.span.end <= range.end) {
        clear &= is_only_decoration(slice_or_empty(view.text, at..tag.span.start.max(at)));
        at = tag.span.end;
    }
    clear && is_only_decoration(slice_or_empty(view.text, at.min(range.end)..range.end))
}

fn is_only_decoration(text: &str) -> bool {
    trim_decoration(trim_decoration(text).trim_matches(['.', '!', '\\'])).is_empty()
}

fn is_followed_by_question_mark(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    view.text_after(tag.span.end).trim_start_matches(['*', '_', ' ']).starts_with(['?', '\u{ff1f}'])
}

/// How far before and after a tag its sentence is searched.
const MAX_SENTENCE_DISTANCE_BYTES: usize = 4096;

/// Returns the mention if the sentence around a tag only mentions it.
fn inline_mention(view: &ParsedMessage<'_>, tag: &SignalTag) -> Option<TagMention> {
    if view.text_before(tag.span.start).trim_start().trim_start_matches(['-', '*', '+', ' ']).starts_with("[ ]") {
        return Some(TagMention::Listed);
    }
    let words = words_around(view, tag);
    let is_own = |word: &ProseWord| word.offset == tag.span.start && word.is_tag();
    let sentence = split_sentences(&words).into_iter().find(|part| part.iter().any(is_own))?;
    let inner = sentence.iter().position(is_own)?;
    let (before, rest) = sentence.split_at_checked(inner)?;
    let after = rest.get(1..).unwrap_or(&[]);
    let is_alone_in_sentence = !before.iter().chain(after).any(ProseWord::is_tag);
    if is_alone_in_sentence && has_text_before(view, tag) && view.is_end_of_message(tag.span.end) {
        let cues = language_of(sentence);
        let is_closed = after.iter().any(ProseWord::ends_sentence);
        if !is_about_tag(before, cues) && (!is_closed || ends_with_result(before, cues)) {
            return cues.work_not_done.matches(before).then_some(TagMention::Negated);
        }
    }
    if let Some(mention) = mention_in_list(view, view.line_at(tag.span.start)) {
        return Some(mention);
    }
    if !is_alone_in_sentence {
        return Some(mention_in_sentence(sentence, SentencePosition::Inline).unwrap_or(TagMention::MidSentence));
    }
    match (has_words(before), has_words(after)) {
        (false, false) => {
            let is_first = words.first().is_some_and(is_own);
            (is_first || before.iter().any(|word| word.text == "(")).then_some(TagMention::MidSentence)
        }
        (false, true) => mention_as_subject(view, tag, after),
        (true, false) => mention_as_object(view, tag, sentence, before),
        (true, true) => {
            Some(mention_in_sentence(sentence, SentencePosition::Inline).unwrap_or(TagMention::MidSentence))
        }
    }
}

/// Returns whether more than a list number is before the tag on its line.
fn has_text_before(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    let before = view.text_before(tag.span.start).trim_start();
    slice_or_empty(before, list_number_len(before)..before.len()).contains(|c: char| !is_blank_mark(c))
}

fn is_blank_mark(c: char) -> bool {
    c.is_whitespace() || "*_-+".contains(c)
}

/// Returns whether the words before the tag end with a result, as in "All tests pass" or "Bundle written (3.1s)".
fn ends_with_result(before: &[ProseWord], cues: &LanguageTable) -> bool {
    before.last().is_some_and(|word| word.is_punctuation() || word.text == "`" || cues.work_done.matches_word(word))
}

/// Returns whether a sentence that ends with the tag is about the tag: the tag is its object, it names or introduces
/// the tag, orders or reports it, or sets a condition for it.
fn is_about_tag(before: &[ProseWord], cues: &LanguageTable) -> bool {
    let introduces = before.last().is_some_and(|word| matches!(word.text.as_str(), ":" | "," | "-" | "(" | ";" | "\""));
    introduces
        || ends_with_dangling_word(before)
        || cues.tag_talk.matches(before)
        || cues.condition_openings.matches(before)
        || cues.withholding_signal.matches(before)
        || has_imperative(before, cues)
        || before.last().is_some_and(|word| cues.speech_verbs.matches_word(word))
        || mention_by_phrase(before, cues).is_some()
}

fn has_words(words: &[ProseWord]) -> bool {
    words.iter().any(|word| !word.is_punctuation())
}

/// Returns the words of the paragraph. The line below belongs to it only if it continues in lower case.
fn words_around(view: &ParsedMessage<'_>, tag: &SignalTag) -> Vec<ProseWord> {
    let first = view.paragraph_lines(view.line_at(tag.span.start)).start;
    let start = view
        .line_range(first)
        .start
        .max(floor_char_boundary(view.text, tag.span.start.saturating_sub(MAX_SENTENCE_DISTANCE_BYTES)));
    let last = view.line_at(tag.span.end.saturating_sub(1));
    let next = view.line_range(last + 1);
    let continues = view.line_kind(last + 1) == LineKind::Prose
        && slice_or_empty(view.text, next.clone()).trim_start().starts_with(char::is_lowercase);
    let end = if continues { next.end } else { view.line_range(last).end };
    view.words_in(start..end.min(floor_char_boundary(view.text, tag.span.end + MAX_SENTENCE_DISTANCE_BYTES)))
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Reads a sentence that starts with the tag.
fn mention_as_subject(view: &ParsedMessage<'_>, tag: &SignalTag, after: &[ProseWord]) -> Option<TagMention> {
    let rest = view.text_after(tag.span.end).trim_start_matches(['*', '_', ' ', '\t']);
    let starts_sentence = rest.chars().find(|c| c.is_alphanumeric()).is_some_and(char::is_uppercase);
    let aside = rest.starts_with('(') && trim_decoration(view.text_before(tag.span.start)).is_empty();
    if (starts_sentence && !rest.starts_with([':', ',', ';', '-', '=', '\u{2014}', '\u{2013}', '\u{2192}'])) || aside {
        let is_taken_back = aside && language_of(after).negation_below.matches(after);
        return mention_in_sentence(after, SentencePosition::Inline)
            .filter(|how| !matches!(how, TagMention::Asked | TagMention::Future | TagMention::Reported))
            .or(is_taken_back.then_some(TagMention::Negated));
    }
    Some(mention_in_sentence(after, SentencePosition::Inline).unwrap_or(TagMention::MidSentence))
}

/// Reads a sentence that ends with the tag.
fn mention_as_object(
    view: &ParsedMessage<'_>,
    tag: &SignalTag,
    sentence: &[ProseWord],
    before: &[ProseWord],
) -> Option<TagMention> {
    const CONCLUSION_WORDS: &[&str] = &["so", "therefore", "hence", "thus", "accordingly", "consequently", "ergo"];
    if let Some(mention) = mention_in_sentence(sentence, SentencePosition::Inline) {
        return Some(mention);
    }
    let glued =
        !view.text_before(tag.span.start).trim_end_matches(['*', '_']).ends_with([' ', '\t', '\u{2014}', '\u{2013}']);
    let last = before.last().map_or("", |word| word.text.as_str());
    let drawn = view
        .text_before(tag.span.start)
        .trim_end_matches(['*', '_', ' '])
        .ends_with(|c: char| !c.is_ascii() && !c.is_alphanumeric());
    let cues = language_of(sentence);
    let done = cues.work_done.matches(before)
        || cues.final_labels.matches(before)
        || is_after_check_mark(view, tag)
        || cues.work_negations.matches(before);
    let introduced = (matches!(last, ":" | "-" | "," | ";") || drawn) && done && !glued;
    let bridged = CONCLUSION_WORDS.contains(&last)
        || (matches!(last, ":" | "-" | ",")
            && before.iter().rev().nth(1).is_some_and(|word| CONCLUSION_WORDS.contains(&word.text.as_str())));
    let clause = last_clause(before);
    let speaks =
        before.iter().find(|word| !word.is_punctuation()).is_some_and(|word| matches!(&*word.text, "i" | "we"));
    let continues_first_person = speaks && clause.first().is_some_and(|word| is_present_signal_verb(word, cues));
    if introduced || bridged || continues_first_person || gives_signal_now(clause) {
        None
    } else {
        Some(TagMention::MidSentence)
    }
}

/// Returns whether check marks come before the tag, as in "✔ lint ✔ types →", and no cross.
fn is_after_check_mark(view: &ParsedMessage<'_>, tag: &SignalTag) -> bool {
    let before = view.text_before(tag.span.start);
    before.contains(['\u{2713}', '\u{2714}', '\u{2705}', '\u{2611}', '\u{1f5f8}'])
        && !before.contains(['\u{2717}', '\u{2718}', '\u{274c}', '\u{2610}', '\u{2716}'])
}

fn last_clause(before: &[ProseWord]) -> &[ProseWord] {
    let is_border = |word: &ProseWord| matches!(word.text.as_str(), "," | ";" | "and" | "so" | "therefore" | "-");
    let end = before.iter().rposition(|word| !word.is_punctuation()).map_or(0, |at| at + 1);
    let clause = before.get(..end).unwrap_or(before);
    let start = clause.iter().rposition(is_border).map_or(0, |at| at + 1);
    clause.get(start..).unwrap_or(clause)
}
