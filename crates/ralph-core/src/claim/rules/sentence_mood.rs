//! Decides whether the sentence around a tag gives the signal, or negates it, makes it conditional, postpones it, asks,
//! instructs or reports. Only the words count here; `tag_usage` and `surrounding_lines` find the sentence.

use alloc::borrow::Cow;
use core::ops::Range;

use crate::claim::TagMention;
use crate::claim::languages::{LanguageTable, language_of};
use crate::claim::text::pattern::PatternList;
use crate::claim::text::prose_words::ProseWord;

/// The position of the sentence relative to its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentencePosition {
    /// The sentence introduces a tag on a separate line.
    LeadIn,
    /// The tag is part of the sentence.
    Inline,
}

/// Returns how the sentence mentions the tag, or `None` if it gives the signal.
pub(crate) fn mention_in_sentence(sentence: &[ProseWord], position: SentencePosition) -> Option<TagMention> {
    let cues = language_of(sentence);
    let main = after_consequence(match position {
        SentencePosition::LeadIn => after_semicolon(sentence),
        SentencePosition::Inline => sentence,
    });
    if main.iter().all(|word| word.is_punctuation() || word.is_tag()) {
        return None;
    }
    let clause = clause_with_tag(main, cues);
    if is_question(main, cues) {
        return Some(TagMention::Asked);
    }
    if let Some(mention) = mention_by_phrase(sentence, cues) {
        return Some(mention);
    }
    if is_negated(clause, cues) {
        return Some(TagMention::Negated);
    }
    if is_conditional(main, cues) {
        return Some(TagMention::Conditional);
    }
    if cues.example_phrases.matches(main) {
        return Some(TagMention::Instruction);
    }
    if is_future(main, position, cues) {
        return Some(TagMention::Future);
    }
    if is_instruction(main, clause, position, cues) {
        return Some(TagMention::Instruction);
    }
    is_reported(clause, position, cues).then_some(TagMention::Reported)
}

/// Returns the mention if the sentence contains a phrase that always makes one.
pub(crate) fn mention_by_phrase(sentence: &[ProseWord], cues: &LanguageTable) -> Option<TagMention> {
    let sentence = without_phrases(sentence, &cues.harmless);
    let lists = [
        (&cues.denied, TagMention::Negated),
        (&cues.conditional, TagMention::Conditional),
        (&cues.asked, TagMention::Asked),
        (&cues.postponed, TagMention::Future),
        (&cues.described, TagMention::Instruction),
    ];
    lists.into_iter().find_map(|(list, mention)| list.matches(&sentence).then_some(mention))
}

/// Returns the words without those that the phrases match.
pub(crate) fn without_phrases<'a>(words: &'a [ProseWord], phrases: &PatternList) -> Cow<'a, [ProseWord]> {
    let mut out = Cow::Borrowed(words);
    for range in phrases.find_all(words) {
        let start = words.get(range.start).map_or(usize::MAX, |word| word.offset);
        let end = words.get(range.end).map_or(usize::MAX, |word| word.offset);
        out.to_mut().retain(|word| word.offset < start || word.offset >= end);
    }
    out
}

/// Returns whether a lead-in makes the tag after it an assertion: it mentions finished work, the present moment or the
/// speaker, or it is only a label. Languages without a list of such words are not judged.
pub(crate) fn is_assertion(sentence: &[ProseWord]) -> bool {
    let cues = language_of(sentence);
    let main = after_consequence(sentence);
    main.len() < sentence.len()
        || cues.final_labels.is_empty()
        || cues.work_done.matches(main)
        || cues.given_now.matches(main)
        || cues.speaker_words.matches(main)
        || cues.protocol_references.matches(main)
        || cues.work_negations.matches(main)
        || gives_signal_now(clause_with_tag(main, cues))
        || (main.iter().filter(|word| !word.is_punctuation()).count() <= 6 && cues.final_labels.matches(main))
}

/// Returns whether a lead-in says that the speaker should or can give the signal now, as in "I should signal:".
pub(crate) fn is_own_duty(sentence: &[ProseWord]) -> bool {
    let cues = language_of(sentence);
    let main = after_consequence(after_semicolon(sentence));
    let clause = clause_with_tag(main, cues);
    cues.own_duty.find(clause).is_some_and(|duty| clause.get(duty.end).is_some_and(|word| is_signal_verb(word, cues)))
        && !is_question(main, cues)
        && !is_negated(clause, cues)
        && !is_conditional(main, cues)
        && !is_future(main, SentencePosition::LeadIn, cues)
        && !cues.example_phrases.matches(main)
}

/// Returns the part after the last semicolon: the part before it is a separate statement.
fn after_semicolon(sentence: &[ProseWord]) -> &[ProseWord] {
    let at = sentence.iter().rposition(|word| word.text == ";").map_or(0, |at| at + 1);
    sentence.get(at..).unwrap_or(sentence)
}

/// Returns the part after the last "so" or "therefore": the part before it is the reason.
fn after_consequence(sentence: &[ProseWord]) -> &[ProseWord] {
    const NO_CONSEQUENCE_AFTER: &[&str] =
        &["if", "do", "say", "not", "or", "even", "think", "doing", "and", "like", "just", "quite"];
    const NO_CONSEQUENCE_BEFORE: &[&str] = &["that", "far", "on", "long", "much", "many", "called", "to"];
    let limit = sentence.iter().position(ProseWord::is_tag).unwrap_or(sentence.len());
    let at = (0..limit).rev().find(|&at| {
        let near = |index: Option<usize>, list: &[&str]| {
            index.and_then(|index| sentence.get(index)).is_some_and(|word| list.contains(&word.text.as_str()))
        };
        match sentence.get(at).map(|word| word.text.as_str()) {
            Some("so") => !near(at.checked_sub(1), NO_CONSEQUENCE_AFTER) && !near(Some(at + 1), NO_CONSEQUENCE_BEFORE),
            Some("therefore" | "hence" | "thus" | "accordingly" | "consequently" | "ergo") => true,
            _ => false,
        }
    });
    at.map_or(sentence, |at| {
        // "I am therefore not printing": an adverb inside a clause does not start a new clause.
        let inside = at.checked_sub(1).and_then(|before| sentence.get(before));
        let adverb = sentence.get(at).is_some_and(|word| word.text != "so")
            && inside.is_some_and(|word| !word.is_punctuation() && !matches!(word.text.as_str(), "and" | "but"));
        if adverb { sentence } else { sentence.get(at + 1..).unwrap_or(&[]) }
    })
}

fn is_clause_boundary(words: &[ProseWord], at: usize) -> bool {
    let reason = |word: &ProseWord| {
        matches!(
            word.text.as_str(),
            "all" | "every" | "everything" | "no" | "nothing" | "i" | "we" | "it" | "there" | "both" | "each"
        )
    };
    words.get(at).is_some_and(|word| match word.text.as_str() {
        "," | ";" | ":" | "-" | "(" | ")" | "and" | "but" | "because" | "since" | "while" | "whereas" | "although"
        | "though" => true,
        "as" => words.get(at + 1).is_some_and(reason),
        _ => false,
    })
}

/// Returns the clause that contains the tag, or the last clause. A clause without a subject is extended to the left.
fn clause_with_tag<'a>(main: &'a [ProseWord], cues: &LanguageTable) -> &'a [ProseWord] {
    let last = main.iter().rposition(|word| !word.is_punctuation()).unwrap_or(0);
    let at = main.iter().position(ProseWord::is_tag).unwrap_or(last);
    let is_border = |index: usize| is_clause_boundary(main, index);
    let mut start = (0..at).rev().find(|&index| is_border(index)).map_or(0, |index| index + 1);
    let end = (at + 1..main.len()).find(|&index| is_border(index)).unwrap_or(main.len());
    while start > 0 && lacks_subject(main.get(start..end).unwrap_or(&[]), cues) {
        start = (0..start - 1).rev().find(|&index| is_border(index)).map_or(0, |index| index + 1);
    }
    main.get(start..end).unwrap_or(main)
}

/// Returns whether a clause is only a verb and its object, or only an adverb.
fn lacks_subject(clause: &[ProseWord], cues: &LanguageTable) -> bool {
    let mut rest = clause.iter().filter(|word| !word.is_punctuation() && !word.is_tag());
    let Some(first) = rest.next() else { return true };
    let adverb =
        first.text.ends_with("ly") || matches!(first.text.as_str(), "however" | "then" | "yet" | "at" | "under");
    let is_finite = first.text.ends_with("ed") || first.text.ends_with('s');
    adverb || (is_signal_verb(first, cues) && !is_finite)
}

fn is_question(main: &[ProseWord], cues: &LanguageTable) -> bool {
    let ends_in_question = main.iter().rev().find(|word| !word.is_tag()).is_some_and(|word| word.text == "?");
    ends_in_question || cues.questions.matches(main)
}

fn mentions_signal(clause: &[ProseWord], cues: &LanguageTable) -> bool {
    cues.signal_nouns.matches(clause) || cues.signal_verbs.matches(clause)
}

fn is_negated(clause: &[ProseWord], cues: &LanguageTable) -> bool {
    let is_denied = cues.negators.matches(clause);
    let is_withheld = cues.withholding_signal.matches(clause);
    if !is_denied && (cues.signal_would_be_wrong.matches(clause) || cues.implicit_withholding.matches(clause)) {
        return true;
    }
    if !is_denied && !is_withheld {
        return false;
    }
    if !mentions_signal(clause, cues) || cues.work_negations.matches(clause) {
        return cues.work_not_done.matches(clause);
    }
    // Two negatives make an assertion: "I will not hold it back any longer".
    !(is_denied && is_withheld)
}

fn is_conditional(main: &[ProseWord], cues: &LanguageTable) -> bool {
    !cues.condition_met.matches(main)
        && (cues.condition_phrases.matches(main)
            || has_if_clause(main)
            || (cues.conditional_verbs.matches(main) && !cues.harmless_conditional_verbs.matches(main))
            || has_pending_time_clause(main, cues))
}

fn has_if_clause(main: &[ProseWord]) -> bool {
    const NO_CONDITION_AFTER: &[&str] =
        &["even", "as", "see", "check", "checked", "asked", "verify", "verified", "matter", "what", "sure"];
    main.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|index| main.get(index));
        let after = main.get(at + 1);
        word.text == "if"
            && !before.is_some_and(|word| NO_CONDITION_AFTER.contains(&word.text.as_str()))
            && after.is_none_or(|word| word.text != "any")
    })
}

/// Returns whether a time clause is about an event that has not happened yet.
fn has_pending_time_clause(main: &[ProseWord], cues: &LanguageTable) -> bool {
    let promised = cues.promised_time.matches(main);
    cues.time_conjunctions.find_all(main).any(|at| promised || !is_past_event(main, &at, cues))
}

fn is_past_event(main: &[ProseWord], cue: &Range<usize>, cues: &LanguageTable) -> bool {
    let clause = main.get(cue.end..).unwrap_or(&[]);
    let end = clause.iter().position(ProseWord::is_punctuation).unwrap_or(clause.len());
    let clause = clause.get(..end).unwrap_or(&[]);
    let is_past_verb = |(at, word): (usize, &ProseWord)| {
        let before = at.checked_sub(1).and_then(|index| clause.get(index)).map_or("", |word| word.text.as_str());
        at > 0
            && word.text.len() > 3
            && word.text.ends_with("ed")
            && !matches!(before, "is" | "are" | "be" | "been" | "being" | "gets" | "get" | "has" | "have")
    };
    clause.iter().enumerate().any(is_past_verb) || cues.past_tense_verbs.matches(clause)
}

fn is_future(main: &[ProseWord], position: SentencePosition, cues: &LanguageTable) -> bool {
    if cues.given_now.matches(main) {
        return cues.postponed_after_all.matches(main);
    }
    cues.postponements.matches(main)
        || (cues.undone_work.matches(main) && !cues.nothing_undone.matches(main))
        || (position == SentencePosition::Inline && cues.promised_time.find(main).is_some_and(|at| is_will(main, &at)))
}

fn is_will(main: &[ProseWord], at: &Range<usize>) -> bool {
    main.get(at.start).is_some_and(|word| matches!(word.text.as_str(), "will" | "shall" | "going"))
}

fn is_instruction(main: &[ProseWord], clause: &[ProseWord], position: SentencePosition, cues: &LanguageTable) -> bool {
    let gives = gives_signal_now(clause);
    let excused = cues.given_now.matches(main) && gives;
    let duty = cues.agent_duties.matches(main) && mentions_signal(main, cues) && !cues.dutiful.matches(main);
    if (duty && !excused) || has_imperative(main, cues) || is_about_agents_in_general(main, cues) {
        return true;
    }
    let excused = gives_signal_now(main) && position == SentencePosition::LeadIn;
    cues.protocol_descriptions.matches(main)
        && !excused
        && !cues.protocol_references.matches(main)
        && !is_fulfilled_condition(main, cues)
}

/// Returns whether a condition is reported as met: "the exit condition is satisfied", but not "is satisfied when …".
fn is_fulfilled_condition(main: &[ProseWord], cues: &LanguageTable) -> bool {
    cues.fulfilled_conditions.matches(main) && !cues.time_conjunctions.matches(main) && !has_if_clause(main)
}

/// Returns whether a sentence describes agents in general, as in "a finished agent replies with …".
fn is_about_agents_in_general(main: &[ProseWord], cues: &LanguageTable) -> bool {
    const MAX_WORDS_BETWEEN: usize = 4;
    main.iter().enumerate().filter(|(_, word)| cues.agent_nouns.matches_word(word)).any(|(at, _)| {
        let after = main.iter().skip(at + 1).take(MAX_WORDS_BETWEEN + 1);
        after.take_while(|word| !word.is_punctuation()).any(|word| is_signal_verb(word, cues))
    })
}

/// Returns whether the speaker gives the signal in this clause.
pub(crate) fn gives_signal_now(clause: &[ProseWord]) -> bool {
    let cues = language_of(clause);
    let is_spoken = cues
        .speaker_now
        .find(clause)
        .is_some_and(|at| clause.get(at.end).is_some_and(|word| is_present_signal_verb(word, cues)));
    let first = clause.iter().find(|word| !word.is_punctuation());
    is_spoken
        || cues.signal_handed.matches(clause)
        || first.is_some_and(|word| word.text.ends_with("ing") && is_signal_verb(word, cues))
}

/// Returns whether a word is a signal verb in the present tense.
pub(crate) fn is_present_signal_verb(word: &ProseWord, cues: &LanguageTable) -> bool {
    is_signal_verb(word, cues)
        && !word.text.ends_with("ed")
        && !matches!(word.text.as_str(), "said" | "gave" | "wrote" | "sent" | "made")
}

fn is_signal_verb(word: &ProseWord, cues: &LanguageTable) -> bool {
    cues.signal_verbs.matches_word(word)
}

/// Returns whether any clause is an order. After "I", the subject of a verb without a subject is "I".
pub(crate) fn has_imperative(main: &[ProseWord], cues: &LanguageTable) -> bool {
    let speaks = main.iter().find(|word| !word.is_punctuation()).is_some_and(|word| matches!(&*word.text, "i" | "we"));
    main.split(|word| matches!(word.text.as_str(), "," | ";" | ":" | "-" | "(" | ")" | "and" | "then" | "."))
        .any(|clause| is_imperative(clause, cues))
        && !speaks
}

/// Returns whether a clause starts with an order to give the signal.
fn is_imperative(clause: &[ProseWord], cues: &LanguageTable) -> bool {
    let start = clause.iter().position(|word| !word.is_punctuation()).unwrap_or(0);
    let clause = clause.get(start..).unwrap_or(&[]);
    let adverbs = clause.iter().take(2).take_while(|word| cues.polite_adverbs.matches_word(word)).count();
    let clause = clause.get(adverbs..).unwrap_or(&[]);
    let (Some(verb), Some(object)) = (clause.first(), clause.get(1)) else { return false };
    cues.imperative_verbs.matches_word(verb)
        || (cues.imperative_verbs_or_nouns.matches_word(verb) && is_object_of_order(object))
}

fn is_object_of_order(word: &ProseWord) -> bool {
    word.is_tag()
        || matches!(
            word.text.as_str(),
            "with"
                | "the"
                | "this"
                | "that"
                | "exactly"
                | "only"
                | "a"
                | "following"
                | "these"
                | "by"
                | "just"
                | "my"
                | "your"
                | "back"
                | "using"
                | "as"
                | "verbatim"
                | "in"
        )
}

fn is_reported(clause: &[ProseWord], position: SentencePosition, cues: &LanguageTable) -> bool {
    if position == SentencePosition::LeadIn && gives_signal_now(clause) {
        return false;
    }
    let is_about_signal = mentions_signal(clause, cues) || position == SentencePosition::Inline;
    if cues.other_speakers.matches(clause) && is_about_signal {
        return true;
    }
    if cues.present_time.matches(clause) {
        return false;
    }
    if cues.other_time_phrases.matches(clause) && is_about_signal {
        return true;
    }
    reports_tag(clause, cues)
}

/// Returns whether a reporting verb comes right before the tag.
fn reports_tag(clause: &[ProseWord], cues: &LanguageTable) -> bool {
    const MAX_WORDS_BEFORE_TAG: usize = 3;
    let before = clause.iter().position(ProseWord::is_tag).unwrap_or(clause.len());
    let near = clause.get(before.saturating_sub(MAX_WORDS_BEFORE_TAG)..before).unwrap_or(&[]);
    cues.reporting_verbs.matches(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::text::prose_words::split_words;

    fn lead_in_mention(text: &str) -> Option<TagMention> {
        mention_in_sentence(&split_words(text, 0), SentencePosition::LeadIn)
    }

    // spec: S3
    #[test]
    fn each_kind_of_mention_is_recognised() {
        assert_eq!(lead_in_mention("The line I am not allowed to print yet:"), Some(TagMention::Negated));
        assert_eq!(lead_in_mention("If the check were green, my last line would be:"), Some(TagMention::Conditional));
        assert_eq!(lead_in_mention("My next message:"), Some(TagMention::Future));
        assert_eq!(lead_in_mention("Shall I send this:"), Some(TagMention::Asked));
        assert_eq!(lead_in_mention("Reply with exactly this line:"), Some(TagMention::Instruction));
        assert_eq!(lead_in_mention("The old transcript ends with this line:"), Some(TagMention::Reported));
    }

    // spec: S3
    #[test]
    fn an_announcement_gives_the_signal() {
        assert_eq!(lead_in_mention("All criteria hold, so I am now emitting the completion signal:"), None);
        assert_eq!(lead_in_mention("Since every story passes I can give the promise:"), None);
        assert_eq!(lead_in_mention("I will not hold it back any longer:"), None);
        assert_eq!(lead_in_mention("When I reran the suite it was green, therefore:"), None);
    }
}
