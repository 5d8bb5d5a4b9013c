//! Reads the lines around a tag that is alone on its line: a lead-in above, a continuation below, or the list that
//! contains the tag.

use alloc::vec::Vec;

use crate::claim::languages::language_of;
use crate::claim::message::markdown_lines::LineKind;
use crate::claim::message::parsed_message::ParsedMessage;
use crate::claim::rules::sentence_mood::{SentencePosition, is_assertion, is_own_duty, mention_in_sentence};
use crate::claim::rules::tag_usage::SignalSense;
use crate::claim::signal_tag::SignalTag;
use crate::claim::text::prose_words::{ProseWord, TAG_WORD, split_sentences, split_words};
use crate::claim::{TagMention, slice_or_empty};

/// Returns the mention if the lines around a tag that is alone on its line only mention it.
pub(crate) fn mention_from_surrounding_lines(
    view: &ParsedMessage<'_>,
    tag: &SignalTag,
    sense: SignalSense,
) -> Option<TagMention> {
    let first = view.line_at(tag.span.start);
    let last = view.line_at(tag.span.end.saturating_sub(1));
    let below = read_line_below(view, last);
    let joined = match &below {
        Some(LineBelow::Mention(mention)) => return Some(*mention),
        Some(LineBelow::JoinsSentence) => LineJoin::Joined,
        None => LineJoin::Separate,
    };
    if let Some(mention) = mention_in_list(view, first) {
        return Some(mention);
    }
    let lead = read_lead_in(view, first, joined);
    match sense {
        SignalSense::Claim => lead.map(LeadInMeaning::into_mention),
        SignalSense::Other => lead.and_then(LeadInMeaning::mention_for_other_signal),
    }
}

/// The meaning of a lead-in for the tag.
enum LeadInMeaning {
    /// It only mentions the tag.
    Mentions(TagMention),
    /// It does not mention finished work.
    NoAssertion,
}

impl LeadInMeaning {
    fn into_mention(self) -> TagMention {
        match self {
            Self::Mentions(mention) => mention,
            Self::NoAssertion => TagMention::Instruction,
        }
    }

    /// Ignores a negation: "The work is not done:" before a rejection is its reason and does not negate it.
    fn mention_for_other_signal(self) -> Option<TagMention> {
        match self {
            Self::Mentions(mention) => Some(mention).filter(|mention| *mention != TagMention::Negated),
            Self::NoAssertion => None,
        }
    }
}

/// Whether a line below continues the sentence, so that the line above belongs to it too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineJoin {
    Joined,
    Separate,
}

enum LineBelow {
    Mention(TagMention),
    JoinsSentence,
}

fn read_lead_in(view: &ParsedMessage<'_>, line: usize, joined: LineJoin) -> Option<LeadInMeaning> {
    let above = nearest_text_line_above(view, line)?;
    match view.line_kind(above) {
        LineKind::Blank | LineKind::Code | LineKind::Quote | LineKind::Table => None,
        LineKind::Heading => read_lead_in_mood(&view.words_in(view.line_range(above))),
        LineKind::Bullet | LineKind::Numbered => {
            let item = last_sentence(view, above);
            if expects_continuation(view, above, &item) { read_introduction(&item) } else { None }
        }
        LineKind::Prose => read_prose_lead_in(view, above, line, joined),
    }
}

/// Reads the line above the tag. Only a lead-in counts: a line that ends with a colon or runs into the tag. A finished
/// sentence does not take the tag back, unless it asks about the tag or denies the line below.
fn read_prose_lead_in(view: &ParsedMessage<'_>, above: usize, line: usize, joined: LineJoin) -> Option<LeadInMeaning> {
    let sentence = last_sentence(view, above);
    if expects_continuation(view, above, &sentence) {
        let is_announced = view.is_end_of_message(view.line_range(line).end) && is_own_duty(&sentence);
        return if is_announced { None } else { read_introduction(&sentence) };
    }
    if is_question_about_tag(&sentence) {
        return Some(LeadInMeaning::Mentions(TagMention::Asked));
    }
    let cues = language_of(&sentence);
    if sentence.last().is_some_and(ProseWord::ends_sentence) {
        let is_denied = cues.forward_denials.matches(&sentence);
        return is_denied.then_some(LeadInMeaning::Mentions(TagMention::Negated));
    }
    let is_label = sentence.iter().any(|word| word.text == ":");
    if sentence.len() <= 4 && !is_label && view.paragraph_lines(above).len() == 1 {
        return if is_change_report(&sentence) { None } else { read_lead_in_mood(&sentence) };
    }
    let is_adjacent = above + 1 == line;
    let runs_into_tag = is_adjacent && ends_with_dangling_word(&sentence);
    if joined == LineJoin::Joined || runs_into_tag || cues.forward_references.matches(&sentence) {
        return read_introduction(&append_tag_word(sentence));
    }
    let talks_about_tag = cues.tag_talk.matches(&sentence);
    if is_adjacent && talks_about_tag { read_lead_in_mood(&sentence) } else { None }
}

/// Returns whether a line is a terse change report ("Added pagination", "Add Cargo docs") and not a title of the tag.
fn is_change_report(sentence: &[ProseWord]) -> bool {
    let cues = language_of(sentence);
    let Some(first) = sentence.first() else { return false };
    let is_past = first.text.len() > 4 && first.text.ends_with("ed") && !cues.title_participles.matches_word(first);
    (is_past || cues.bare_reports.matches_word(first))
        && !cues.signal_nouns.matches(sentence)
        && !cues.example_phrases.matches(sentence)
}

/// Reads a sentence that introduces the tag. Without a word about finished work it only presents the tag.
fn read_introduction(sentence: &[ProseWord]) -> Option<LeadInMeaning> {
    read_lead_in_mood(sentence).or_else(|| (!is_assertion(sentence)).then_some(LeadInMeaning::NoAssertion))
}

fn read_lead_in_mood(sentence: &[ProseWord]) -> Option<LeadInMeaning> {
    mention_in_sentence(sentence, SentencePosition::LeadIn).map(LeadInMeaning::Mentions)
}

/// Appends the tag to an unfinished sentence.
fn append_tag_word(mut sentence: Vec<ProseWord>) -> Vec<ProseWord> {
    let at = sentence.last().map_or(0, |word| word.offset);
    sentence.push(ProseWord::new(TAG_WORD, at));
    sentence
}

/// Returns whether a sentence asks about the tag below it, as in "Should this be the answer?".
fn is_question_about_tag(sentence: &[ProseWord]) -> bool {
    let asks = sentence.last().is_some_and(|word| word.text == "?");
    let cues = language_of(sentence);
    asks && (cues.questions_about_tag.matches(sentence) || cues.asked.matches(sentence))
}

/// How many lines that contain only tags may be between a lead-in and the tag.
const MAX_TAG_LINES: usize = 8;

/// Returns the nearest line above that contains more than tags.
fn nearest_text_line_above(view: &ParsedMessage<'_>, line: usize) -> Option<usize> {
    let mut at = line;
    for _ in 0..MAX_TAG_LINES {
        at = view.line_above(at)?;
        let range = view.line_range(at);
        let covered = view.tags.iter().any(|tag| tag.span.start <= range.start && range.end <= tag.span.end);
        let only_tags = covered || {
            let words = view.words_in(range);
            !words.is_empty() && words.iter().all(|word| word.is_tag() || word.is_punctuation())
        };
        if !only_tags {
            return Some(at);
        }
    }
    None
}

const MAX_SENTENCE_BYTES: usize = 2048;

/// Returns the last sentence of the paragraph up to the end of this line.
fn last_sentence(view: &ParsedMessage<'_>, line: usize) -> Vec<ProseWord> {
    let end = view.line_range(line).end;
    let start = view.line_range(view.paragraph_lines(line).start).start.max(end.saturating_sub(MAX_SENTENCE_BYTES));
    let words = view.words_in(start..end);
    let mut trimmed = words.as_slice();
    // The sentence continues after an ellipsis.
    while trimmed.len() > 1 && trimmed.iter().rev().take(2).all(ProseWord::ends_sentence) {
        trimmed = trimmed.get(..trimmed.len() - 1).unwrap_or(&[]);
    }
    split_sentences(trimmed).last().map(|sentence| sentence.to_vec()).unwrap_or_default()
}

/// Returns whether a line introduces the text that follows.
fn expects_continuation(view: &ParsedMessage<'_>, line: usize, sentence: &[ProseWord]) -> bool {
    let raw = slice_or_empty(view.text, view.line_range(line)).trim_end().trim_end_matches(['*', '_', ' ']);
    let signed = raw.ends_with(|c: char| {
        !c.is_ascii() && !c.is_alphanumeric() && !"\u{2014}\u{2013}\u{2192}\u{21d2}\u{ff1a}\u{ff0c}".contains(c)
    });
    let open = !signed && sentence.last().is_some_and(|word| matches!(word.text.as_str(), ":" | "-" | ","));
    open || raw.ends_with("...") || raw.ends_with('\u{2026}')
}

pub(crate) fn ends_with_dangling_word(sentence: &[ProseWord]) -> bool {
    let last = sentence.iter().rev().find(|word| !word.is_punctuation());
    last.is_some_and(|word| language_of(sentence).dangling_words.matches_word(word))
}

fn read_line_below(view: &ParsedMessage<'_>, line: usize) -> Option<LineBelow> {
    let below = view.line_below(line)?;
    if !matches!(view.line_kind(below), LineKind::Prose) {
        return None;
    }
    let paragraph = view.paragraph_lines(below);
    let first = if paragraph.start <= line { below } else { paragraph.start };
    let start = view.line_range(first).start;
    let end = view.line_range(paragraph.end.saturating_sub(1)).end.min(start + MAX_SENTENCE_BYTES);
    let words = view.words_in(start..end);
    let sentence = split_sentences(&words).into_iter().find(|part| part.iter().any(|word| !word.ends_sentence()))?;
    let sentence = sentence.to_vec();
    let raw = slice_or_empty(view.text, view.line_range(below)).trim_start().trim_start_matches(['*', '_', '(']);
    let raw = raw.trim_start_matches(['.', '\u{2026}', ' ']);
    if raw.starts_with(['^', '\u{2190}', '\u{2191}', '\u{21d0}', '\u{2b06}']) {
        return mention_in_sentence(&replace_arrow_with_tag(sentence), SentencePosition::Inline)
            .map(LineBelow::Mention);
    }
    if raw.starts_with(char::is_lowercase) { read_lowercase_continuation(&sentence) } else { read_fragment(&sentence) }
}

/// Replaces the arrow at the start of a sentence with the tag that it points to.
fn replace_arrow_with_tag(mut sentence: Vec<ProseWord>) -> Vec<ProseWord> {
    if let Some(arrow) = sentence.first_mut() {
        *arrow = ProseWord::new(TAG_WORD, arrow.offset);
    }
    sentence
}

/// Reads a line that continues the sentence in lower case.
fn read_lowercase_continuation(sentence: &[ProseWord]) -> Option<LineBelow> {
    let cues = language_of(sentence);
    let first = sentence.iter().find(|word| !word.is_punctuation())?;
    if cues.condition_below.matches(sentence) {
        return Some(LineBelow::Mention(TagMention::Conditional));
    }
    if cues.negation_below.matches_word(first) {
        return Some(LineBelow::Mention(TagMention::Negated));
    }
    if cues.contrast_words.matches_word(first) {
        let is_withheld = cues.withheld_below.matches(sentence);
        return Some(if is_withheld { LineBelow::Mention(TagMention::Negated) } else { LineBelow::JoinsSentence });
    }
    if cues.predicate_verbs.matches_word(first) {
        return Some(LineBelow::Mention(
            mention_in_sentence(sentence, SentencePosition::Inline).unwrap_or(TagMention::MidSentence),
        ));
    }
    cues.continuation_words.matches_word(first).then_some(LineBelow::JoinsSentence)
}

/// Reads a short fragment such as "Only if the review agrees."
fn read_fragment(sentence: &[ProseWord]) -> Option<LineBelow> {
    let cues = language_of(sentence);
    let is_fragment =
        cues.fragments_below.matches(sentence) || (sentence.len() <= 9 && cues.short_fragments_below.matches(sentence));
    let is_whole = sentence.iter().any(|word| matches!(word.text.as_str(), "," | "you" | "your"));
    let is_greeting = sentence.last().is_some_and(|word| word.text == "!");
    (!is_whole && !is_greeting && is_fragment).then_some(LineBelow::Mention(TagMention::Conditional))
}

/// Returns the mention if the list around a tag only mentions it.
pub(crate) fn mention_in_list(view: &ParsedMessage<'_>, line: usize) -> Option<TagMention> {
    match view.line_kind(line) {
        LineKind::Numbered => Some(TagMention::Listed),
        LineKind::Bullet => mention_in_bullet_list(view, line),
        LineKind::Blank | LineKind::Code | LineKind::Quote | LineKind::Table | LineKind::Heading | LineKind::Prose => {
            None
        }
    }
}

fn mention_in_bullet_list(view: &ParsedMessage<'_>, line: usize) -> Option<TagMention> {
    let is_item = |index: usize| matches!(view.line_kind(index), LineKind::Bullet | LineKind::Numbered);
    let mut start = line;
    while start > 0 && is_item(start - 1) {
        start -= 1;
    }
    let mut end = line + 1;
    while end < view.lines.len() && is_item(end) {
        end += 1;
    }
    let range = view.line_range(start).start..view.line_range(end - 1).end;
    let listed = view.tags.iter().filter(|tag| range.contains(&tag.span.start)).count();
    if listed > 1 {
        return Some(TagMention::Listed);
    }
    let head = view.line_above(start)?;
    let words = split_words(slice_or_empty(view.text, view.line_range(head)), 0);
    let introduces = view.line_kind(head) == LineKind::Heading || words.last().is_some_and(|word| word.text == ":");
    (introduces && mention_in_sentence(&words, SentencePosition::LeadIn).is_some()).then_some(TagMention::Listed)
}
