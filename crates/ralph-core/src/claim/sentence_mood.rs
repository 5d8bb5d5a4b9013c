//! Decides whether the sentence around a tag gives the signal, or negates it, makes it conditional, postpones it, asks,
//! instructs or reports. Only the words count here; `tag_usage` and `surrounding_lines` find the sentence.

use core::ops::Range;

use super::TagMention;
use super::lexicon as cues;
use super::prose_words::{ProseWord, TAG_WORD, find_any_match, find_match, has_match, is_verb_form};

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
    let main = after_consequence(match position {
        SentencePosition::LeadIn => after_semicolon(sentence),
        SentencePosition::Inline => sentence,
    });
    if main.iter().all(|word| word.is_punctuation() || word.text == TAG_WORD) {
        return None;
    }
    let clause = clause_with_tag(main);
    if is_question(main) {
        return Some(TagMention::Asked);
    }
    if is_negated(clause) {
        return Some(TagMention::Negated);
    }
    if is_conditional(main) {
        return Some(TagMention::Conditional);
    }
    if has_match(main, cues::EXAMPLE_PHRASES) {
        return Some(TagMention::Instruction);
    }
    if is_future(main, position) {
        return Some(TagMention::Future);
    }
    if is_instruction(main, clause, position) {
        return Some(TagMention::Instruction);
    }
    is_reported(clause, position).then_some(TagMention::Reported)
}

/// Returns whether a lead-in makes the tag after it an assertion: it mentions finished work, the present moment or the
/// speaker, or it is only a label.
pub(crate) fn is_assertion(sentence: &[ProseWord]) -> bool {
    let main = after_consequence(sentence);
    main.len() < sentence.len()
        || has_match(main, cues::WORK_DONE)
        || has_match(main, cues::GIVEN_NOW)
        || has_match(main, &["i/we/my/our/me/us"])
        || has_match(main, cues::PROTOCOL_REFERENCES)
        || is_about_work(main)
        || gives_signal_now(clause_with_tag(main))
        || (main.iter().filter(|word| !word.is_punctuation()).count() <= 6 && has_match(main, cues::FINAL_LABELS))
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
    let limit = sentence.iter().position(|word| word.text == TAG_WORD).unwrap_or(sentence.len());
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
fn clause_with_tag(main: &[ProseWord]) -> &[ProseWord] {
    let last = main.iter().rposition(|word| !word.is_punctuation()).unwrap_or(0);
    let at = main.iter().position(|word| word.text == TAG_WORD).unwrap_or(last);
    let is_border = |index: usize| is_clause_boundary(main, index);
    let mut start = (0..at).rev().find(|&index| is_border(index)).map_or(0, |index| index + 1);
    let end = (at + 1..main.len()).find(|&index| is_border(index)).unwrap_or(main.len());
    while start > 0 && lacks_subject(main.get(start..end).unwrap_or(&[])) {
        start = (0..start - 1).rev().find(|&index| is_border(index)).map_or(0, |index| index + 1);
    }
    main.get(start..end).unwrap_or(main)
}

/// Returns whether a clause is only a verb and its object, or only an adverb.
fn lacks_subject(clause: &[ProseWord]) -> bool {
    let mut rest = clause.iter().filter(|word| !word.is_punctuation() && word.text != TAG_WORD);
    let Some(first) = rest.next() else { return true };
    let adverb =
        first.text.ends_with("ly") || matches!(first.text.as_str(), "however" | "then" | "yet" | "at" | "under");
    adverb
        || cues::SIGNAL_VERBS.split('/').any(|verb| {
            let base = verb.strip_prefix('%').unwrap_or(verb);
            first.text == base || (first.text.ends_with("ing") && is_verb_form(&first.text, base))
        })
}

fn is_question(main: &[ProseWord]) -> bool {
    let ends_in_question = main.iter().rev().find(|word| word.text != TAG_WORD).is_some_and(|word| word.text == "?");
    ends_in_question
        || has_match(
            main,
            &[
                "< should/shall/may/can/could/must/do/would/will/am/are/is i/we/you",
                "do you want",
                "would you like",
                "are you ok",
                "please confirm",
                "< confirm",
                "you confirm",
                "confirm whether/if",
                "tell me whether/if",
                "know whether/if",
                "wonder whether/if",
            ],
        )
}

fn mentions_signal(clause: &[ProseWord]) -> bool {
    find_match(clause, cues::SIGNAL_NOUNS).is_some() || find_match(clause, cues::SIGNAL_VERBS).is_some()
}

fn is_negated(clause: &[ProseWord]) -> bool {
    let negators = count_matches(clause, cues::NEGATORS);
    let held = count_matches(clause, cues::WITHHOLDING_SIGNAL);
    if (has_match(clause, cues::SIGNAL_WOULD_BE_WRONG) || has_match(clause, cues::IMPLICIT_WITHHOLDING))
        && negators == 0
    {
        return true;
    }
    if negators == 0 && held == 0 {
        return false;
    }
    if !mentions_signal(clause) || is_about_work(clause) {
        return has_match(clause, cues::WORK_NOT_DONE);
    }
    // Two negatives make an assertion: "I will not hold it back any longer".
    negators == 0 || held == 0
}

/// Returns whether the negation is about the work ("nothing is left that is not covered").
pub(crate) fn is_about_work(clause: &[ProseWord]) -> bool {
    const WORK_NEGATIONS: &[&str] = &[
        "nothing .. left/open/missing/remains/outstanding/remaining",
        "no .. left/open/missing/remains/outstanding/remaining/fail/failed/errors/failures",
        "not a single",
        "not one",
        "no further",
        "no more",
        "nothing else",
        "none .. fail/failed/open/left",
        "nothing .. not",
        "none did/do/does/from/of/are/is/was/were/left",
        "no objections/complaints/errors/failures/issues/problems/warnings/findings",
    ];
    has_match(clause, WORK_NEGATIONS)
}

fn count_matches(clause: &[ProseWord], list: &[&str]) -> usize {
    list.iter().filter(|pattern| find_match(clause, pattern).is_some()).count().min(1)
}

fn is_conditional(main: &[ProseWord]) -> bool {
    if has_match(main, cues::CONDITION_MET) {
        return false;
    }
    has_match(main, cues::CONDITION_PHRASES)
        || has_if_clause(main)
        || has_conditional_verb(main)
        || has_pending_time_clause(main)
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

fn has_conditional_verb(main: &[ProseWord]) -> bool {
    let would = find_any_match(main, &["would", "could"]);
    would.is_some()
        && !has_match(
            main,
            &[
                "would like to",
                "would say we/it/this/that/everything",
                "could not be happier",
                "nothing .. could",
                "nothing .. would",
            ],
        )
}

/// Returns whether a time clause is about an event that has not happened yet.
fn has_pending_time_clause(main: &[ProseWord]) -> bool {
    let promised = has_match(main, &["will", "shall", "would", "should", "must", "going to", "%expect"]);
    cues::TIME_CONJUNCTIONS
        .iter()
        .any(|cue| find_match(main, cue).is_some_and(|at| promised || !is_past_event(main, &at)))
}

fn is_past_event(main: &[ProseWord], cue: &Range<usize>) -> bool {
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
    clause.iter().enumerate().any(is_past_verb) || find_match(clause, cues::PAST_TENSE_VERBS).is_some()
}

fn is_future(main: &[ProseWord], position: SentencePosition) -> bool {
    if has_match(main, cues::GIVEN_NOW) {
        return has_match(main, &["next run/iteration/time/turn/session", "later", "tomorrow", "not now"]);
    }
    if has_match(main, cues::POSTPONEMENTS)
        || (has_match(main, cues::UNDONE_WORK) && !has_match(main, cues::NOTHING_UNDONE))
    {
        return true;
    }
    position == SentencePosition::Inline && has_match(main, &["will", "shall", "going to"])
}

fn is_instruction(main: &[ProseWord], clause: &[ProseWord], position: SentencePosition) -> bool {
    let gives = gives_signal_now(clause);
    let excused = has_match(main, cues::GIVEN_NOW) && gives;
    let duty = has_match(main, cues::AGENT_DUTIES)
        && mentions_signal(main)
        && !has_match(main, &["as required", "as demanded"]);
    if (duty && !excused) || has_imperative(main) || is_about_agents_in_general(main) {
        return true;
    }
    let excused = gives_signal_now(main) && position == SentencePosition::LeadIn;
    has_match(main, cues::PROTOCOL_DESCRIPTIONS)
        && !excused
        && !has_match(main, cues::PROTOCOL_REFERENCES)
        && !is_fulfilled_condition(main)
}

/// Returns whether a condition is reported as met: "the exit condition is satisfied", but not "is satisfied when …".
fn is_fulfilled_condition(main: &[ProseWord]) -> bool {
    let stated = has_match(
        main,
        &[
            "condition/conditions/criterion/criteria/rule/contract/instructions/prompt/brief/checklist ... \
                is/are/has/have now/all/been/fully? now/all/been/fully? met/satisfied/fulfilled/reached/\
        true/\
                ticked/complete/done",
            "condition/criterion/rule/contract ... holds",
        ],
    );
    stated && !has_match(main, cues::TIME_CONJUNCTIONS) && !has_if_clause(main)
}

/// Returns whether a sentence describes agents in general, as in "a finished agent replies with …".
fn is_about_agents_in_general(main: &[ProseWord]) -> bool {
    let pattern =
        alloc::format!("agent/agents/assistant/assistants/worker/workers/coder/model .. {}", cues::SIGNAL_VERBS);
    find_match(main, &pattern).is_some()
}

/// Returns whether the speaker gives the signal in this clause.
pub(crate) fn gives_signal_now(clause: &[ProseWord]) -> bool {
    const SPEAKER_PATTERN: &str = "i/we am/are? now/hereby/herewith/therefore/thus/can/may/do/finally/happily/\
        gladly/\
        proudly/confidently? now/hereby/therefore/safely/confidently/gladly?";
    let spoken =
        find_match(clause, SPEAKER_PATTERN).is_some_and(|at| clause.get(at.end).is_some_and(is_present_signal_verb));
    let handed = has_match(clause, &["here is/comes/are", "here it is", "hereby", "herewith"]);
    let first = clause.iter().find(|word| !word.is_punctuation());
    spoken || handed || first.is_some_and(|word| word.text.ends_with("ing") && is_signal_verb(&word.text))
}

/// Returns whether a word is a signal verb in the present tense.
pub(crate) fn is_present_signal_verb(word: &ProseWord) -> bool {
    is_signal_verb(&word.text)
        && !word.text.ends_with("ed")
        && !matches!(word.text.as_str(), "said" | "gave" | "wrote" | "sent" | "made")
}

fn is_signal_verb(word: &str) -> bool {
    cues::SIGNAL_VERBS
        .split('/')
        .any(|verb| verb.strip_prefix('%').map_or(word == verb, |base| is_verb_form(word, base)))
}

/// Returns whether any clause is an order. After "I", the subject of a verb without a subject is "I".
fn has_imperative(main: &[ProseWord]) -> bool {
    let speaker = has_match(main, &["< i/we"]);
    main.split(|word| matches!(word.text.as_str(), "," | ";" | ":" | "-" | "(" | ")" | "and" | "then" | "."))
        .any(is_imperative)
        && !speaker
}

/// Returns whether a clause starts with an order to give the signal.
fn is_imperative(clause: &[ProseWord]) -> bool {
    const POLITE_ADVERBS: &str = "please/just/simply/always/only/finally/now/also/kindly/do?";
    let order = alloc::format!("< {POLITE_ADVERBS} {POLITE_ADVERBS} {}", cues::IMPERATIVE_VERBS);
    if find_match(clause, &order).is_some_and(|at| at.end < clause.len()) {
        return true;
    }
    let object = "with/the/this/that/exactly/only/a/following/these/by/just/my/your/back/\u{1}/using/as/verbatim/in";
    let order = alloc::format!("< {POLITE_ADVERBS} {POLITE_ADVERBS} {} {object}", cues::IMPERATIVE_VERBS_OR_NOUNS);
    find_match(clause, &order).is_some()
}

fn is_reported(clause: &[ProseWord], position: SentencePosition) -> bool {
    if position == SentencePosition::LeadIn && gives_signal_now(clause) {
        return false;
    }
    let is_about_signal = mentions_signal(clause) || position == SentencePosition::Inline;
    if has_match(clause, cues::OTHER_SPEAKERS) && is_about_signal {
        return true;
    }
    if has_match(clause, &["now", "this time", "hereby", "today"]) {
        return false;
    }
    if has_match(clause, cues::OTHER_TIME_PHRASES) && is_about_signal {
        return true;
    }
    let before = clause.iter().position(|word| word.text == TAG_WORD).unwrap_or(clause.len());
    let near = clause.get(before.saturating_sub(3)..before).unwrap_or(&[]);
    find_match(near, cues::REPORTING_VERBS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::prose_words::split_words;

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
