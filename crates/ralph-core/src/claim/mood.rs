//! Reads the sentence around a tag: does it give the signal, or does it deny it, set a condition, put it
//! off, ask, instruct or report? It looks only at words; where the sentence stands is decided elsewhere.

use core::ops::Range;

use super::Mention;
use super::lexicon as cues;
use super::words::{TAG, Word, find, find_any, has, is_form};

/// Where the sentence stands relative to its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It introduces a tag that stands on a line of its own.
    LeadIn,
    /// The tag is a part of it.
    Inline,
}

/// Returns how the sentence talks about the tag, or nothing when it gives the signal.
pub(crate) fn mood(sentence: &[Word], role: Role) -> Option<Mention> {
    let main = after_consequence(match role {
        Role::LeadIn => after_semicolon(sentence),
        Role::Inline => sentence,
    });
    if main.iter().all(|word| word.is_mark() || word.text == TAG) {
        return None;
    }
    let clause = tag_clause(main);
    if is_asked(main) {
        return Some(Mention::Asked);
    }
    if is_negated(clause) {
        return Some(Mention::Negated);
    }
    if is_conditional(main) {
        return Some(Mention::Conditional);
    }
    if has(main, cues::EXAMPLE) {
        return Some(Mention::Instruction);
    }
    if is_future(main, role) {
        return Some(Mention::Future);
    }
    if is_instruction(main, clause, role) {
        return Some(Mention::Instruction);
    }
    is_reported(clause, role).then_some(Mention::Reported)
}

/// Tells whether a lead-in gives a reason to take the tag after it for an assertion: it speaks of finished
/// work, of this very moment, or of the speaker, or it is a mere label.
pub(crate) fn asserts(sentence: &[Word]) -> bool {
    let main = after_consequence(sentence);
    main.len() < sentence.len()
        || has(main, cues::DONE)
        || has(main, cues::NOW)
        || has(main, &["i/we/my/our/me/us"])
        || has(main, cues::REFERRING)
        || is_about_the_work(main)
        || is_performed(tag_clause(main))
        || (main.iter().filter(|word| !word.is_mark()).count() <= 6 && has(main, cues::LABEL))
}

/// A semicolon ends a statement of its own; what comes after it leads in.
fn after_semicolon(sentence: &[Word]) -> &[Word] {
    let at = sentence.iter().rposition(|word| word.text == ";").map_or(0, |at| at + 1);
    sentence.get(at..).unwrap_or(sentence)
}

/// Returns the part after the last "so" or "therefore": what comes before it is the reason.
fn after_consequence(sentence: &[Word]) -> &[Word] {
    const NOT_SO_BEFORE: &[&str] =
        &["if", "do", "say", "not", "or", "even", "think", "doing", "and", "like", "just", "quite"];
    const NOT_SO_AFTER: &[&str] = &["that", "far", "on", "long", "much", "many", "called", "to"];
    let limit = sentence.iter().position(|word| word.text == TAG).unwrap_or(sentence.len());
    let at = (0..limit).rev().find(|&at| {
        let near = |index: Option<usize>, list: &[&str]| {
            index.and_then(|index| sentence.get(index)).is_some_and(|word| list.contains(&word.text.as_str()))
        };
        match sentence.get(at).map(|word| word.text.as_str()) {
            Some("so") => !near(at.checked_sub(1), NOT_SO_BEFORE) && !near(Some(at + 1), NOT_SO_AFTER),
            Some("therefore" | "hence" | "thus" | "accordingly" | "consequently" | "ergo") => true,
            _ => false,
        }
    });
    at.map_or(sentence, |at| {
        // "I am therefore not printing": an adverb inside a clause opens no new one.
        let inside = at.checked_sub(1).and_then(|before| sentence.get(before));
        let adverb = sentence.get(at).is_some_and(|word| word.text != "so")
            && inside.is_some_and(|word| !word.is_mark() && !matches!(word.text.as_str(), "and" | "but"));
        if adverb { sentence } else { sentence.get(at + 1..).unwrap_or(&[]) }
    })
}

fn is_boundary(words: &[Word], at: usize) -> bool {
    let reason = |word: &Word| {
        matches!(
            word.text.as_str(),
            "all" | "every" | "everything" | "no" | "nothing" | "i" | "we" | "it" | "there" | "both" | "each"
        )
    };
    words.get(at).is_some_and(|word| match word.text.as_str() {
        "," | ";" | ":" | "-" | "(" | ")" | "and" | "but" | "because" | "since" | "while" | "whereas"
        | "although" | "though" => true,
        "as" => words.get(at + 1).is_some_and(reason),
        _ => false,
    })
}

/// Returns the clause that holds the tag, or the last one. A clause without a subject borrows it.
fn tag_clause(main: &[Word]) -> &[Word] {
    let last = main.iter().rposition(|word| !word.is_mark()).unwrap_or(0);
    let at = main.iter().position(|word| word.text == TAG).unwrap_or(last);
    let is_border = |index: usize| is_boundary(main, index);
    let mut start = (0..at).rev().find(|&index| is_border(index)).map_or(0, |index| index + 1);
    let end = (at + 1..main.len()).find(|&index| is_border(index)).unwrap_or(main.len());
    while start > 0 && lacks_subject(main.get(start..end).unwrap_or(&[])) {
        start = (0..start - 1).rev().find(|&index| is_border(index)).map_or(0, |index| index + 1);
    }
    main.get(start..end).unwrap_or(main)
}

/// Tells whether a clause is only a verb and its object, or only an adverb.
fn lacks_subject(clause: &[Word]) -> bool {
    let mut rest = clause.iter().filter(|word| !word.is_mark() && word.text != TAG);
    let Some(first) = rest.next() else { return true };
    let adverb = first.text.ends_with("ly")
        || matches!(first.text.as_str(), "however" | "then" | "yet" | "at" | "under");
    adverb
        || cues::GIVE.split('/').any(|verb| {
            let base = verb.strip_prefix('%').unwrap_or(verb);
            first.text == base || (first.text.ends_with("ing") && is_form(&first.text, base))
        })
}

fn is_asked(main: &[Word]) -> bool {
    let ends_in_question =
        main.iter().rev().find(|word| word.text != TAG).is_some_and(|word| word.text == "?");
    ends_in_question
        || has(
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

fn talks_of_signal(clause: &[Word]) -> bool {
    find(clause, cues::SIGNAL).is_some() || find(clause, cues::GIVE).is_some()
}

fn is_negated(clause: &[Word]) -> bool {
    let negators = count(clause, cues::NEGATORS);
    let held = count(clause, cues::HOLDING_BACK);
    if (has(clause, cues::WRONG) || has(clause, cues::WITHHELD)) && negators == 0 {
        return true;
    }
    if negators == 0 && held == 0 {
        return false;
    }
    if !talks_of_signal(clause) || is_about_the_work(clause) {
        return has(clause, cues::WORK_OPEN);
    }
    // Two negatives make an assertion: "I will not hold it back any longer".
    negators == 0 || held == 0
}

/// Tells whether the negation belongs to the work ("nothing is left that is not covered").
pub(crate) fn is_about_the_work(clause: &[Word]) -> bool {
    const WORK: &[&str] = &[
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
    has(clause, WORK)
}

fn count(clause: &[Word], list: &[&str]) -> usize {
    list.iter().filter(|pattern| find(clause, pattern).is_some()).count().min(1)
}

fn is_conditional(main: &[Word]) -> bool {
    if has(main, cues::HOLDS) {
        return false;
    }
    has(main, cues::CONDITIONS) || has_if(main) || has_would(main) || has_open_time(main)
}

fn has_if(main: &[Word]) -> bool {
    const HARMLESS_BEFORE: &[&str] =
        &["even", "as", "see", "check", "checked", "asked", "verify", "verified", "matter", "what", "sure"];
    main.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|index| main.get(index));
        let after = main.get(at + 1);
        word.text == "if"
            && !before.is_some_and(|word| HARMLESS_BEFORE.contains(&word.text.as_str()))
            && after.is_none_or(|word| word.text != "any")
    })
}

fn has_would(main: &[Word]) -> bool {
    let would = find_any(main, &["would", "could"]);
    would.is_some()
        && !has(
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

/// Tells whether a clause about a time names something that has not happened.
fn has_open_time(main: &[Word]) -> bool {
    let promised = has(main, &["will", "shall", "would", "should", "must", "going to", "%expect"]);
    cues::TIMES.iter().any(|cue| find(main, cue).is_some_and(|at| promised || !is_past(main, &at)))
}

fn is_past(main: &[Word], cue: &Range<usize>) -> bool {
    let clause = main.get(cue.end..).unwrap_or(&[]);
    let end = clause.iter().position(Word::is_mark).unwrap_or(clause.len());
    let clause = clause.get(..end).unwrap_or(&[]);
    let told = |(at, word): (usize, &Word)| {
        let before =
            at.checked_sub(1).and_then(|index| clause.get(index)).map_or("", |word| word.text.as_str());
        at > 0
            && word.text.len() > 3
            && word.text.ends_with("ed")
            && !matches!(before, "is" | "are" | "be" | "been" | "being" | "gets" | "get" | "has" | "have")
    };
    clause.iter().enumerate().any(told) || find(clause, cues::PAST).is_some()
}

fn is_future(main: &[Word], role: Role) -> bool {
    if has(main, cues::NOW) {
        return has(main, &["next run/iteration/time/turn/session", "later", "tomorrow", "not now"]);
    }
    if has(main, cues::LATER) || (has(main, cues::UNDONE) && !has(main, cues::ALL_DONE)) {
        return true;
    }
    role == Role::Inline && has(main, &["will", "shall", "going to"])
}

fn is_instruction(main: &[Word], clause: &[Word], role: Role) -> bool {
    let gives = is_performed(clause);
    let excused = has(main, cues::NOW) && gives;
    let duty = has(main, cues::DUTY) && talks_of_signal(main) && !has(main, &["as required", "as demanded"]);
    if (duty && !excused) || has_order(main) || has_agent_in_general(main) {
        return true;
    }
    let excused = is_performed(main) && role == Role::LeadIn;
    has(main, cues::PROTOCOL) && !excused && !has(main, cues::REFERRING) && !is_fulfilled(main)
}

/// "The exit condition is satisfied" announces; "is satisfied when …" describes.
fn is_fulfilled(main: &[Word]) -> bool {
    let stated = has(
        main,
        &[
            "condition/conditions/criterion/criteria/rule/contract/instructions/prompt/brief/checklist ... \
                is/are/has/have now/all/been/fully? now/all/been/fully? met/satisfied/fulfilled/reached/\
        true/\
                ticked/complete/done",
            "condition/criterion/rule/contract ... holds",
        ],
    );
    stated && !has(main, cues::TIMES) && !has_if(main)
}

/// "A finished agent replies with …" tells what agents do, not what this one does.
fn has_agent_in_general(main: &[Word]) -> bool {
    let pattern =
        alloc::format!("agent/agents/assistant/assistants/worker/workers/coder/model .. {}", cues::GIVE);
    find(main, &pattern).is_some()
}

/// Tells whether the speaker gives the signal with these words.
pub(crate) fn is_performed(clause: &[Word]) -> bool {
    const SPEAKER: &str = "i/we am/are? now/hereby/herewith/therefore/thus/can/may/do/finally/happily/\
        gladly/\
        proudly/confidently? now/hereby/therefore/safely/confidently/gladly?";
    let spoken = find(clause, SPEAKER).is_some_and(|at| clause.get(at.end).is_some_and(is_present_giving));
    let handed = has(clause, &["here is/comes/are", "here it is", "hereby", "herewith"]);
    let first = clause.iter().find(|word| !word.is_mark());
    spoken || handed || first.is_some_and(|word| word.text.ends_with("ing") && gives(&word.text))
}

/// Tells whether a word gives a signal now, and did not give it once.
pub(crate) fn is_present_giving(word: &Word) -> bool {
    gives(&word.text)
        && !word.text.ends_with("ed")
        && !matches!(word.text.as_str(), "said" | "gave" | "wrote" | "sent" | "made")
}

fn gives(word: &str) -> bool {
    cues::GIVE.split('/').any(|verb| verb.strip_prefix('%').map_or(word == verb, |base| is_form(word, base)))
}

/// Tells whether a clause is an order. After "I", a verb without a subject goes on with "I".
fn has_order(main: &[Word]) -> bool {
    let speaker = has(main, &["< i/we"]);
    main.split(|word| matches!(word.text.as_str(), "," | ";" | ":" | "-" | "(" | ")" | "and" | "then" | "."))
        .any(is_order)
        && !speaker
}

/// Tells whether a clause begins with an order to give the signal.
fn is_order(clause: &[Word]) -> bool {
    const POLITE: &str = "please/just/simply/always/only/finally/now/also/kindly/do?";
    let order = alloc::format!("< {POLITE} {POLITE} {}", cues::ORDER);
    if find(clause, &order).is_some_and(|at| at.end < clause.len()) {
        return true;
    }
    let object =
        "with/the/this/that/exactly/only/a/following/these/by/just/my/your/back/\u{1}/using/as/verbatim/in";
    let order = alloc::format!("< {POLITE} {POLITE} {} {object}", cues::ORDER_OR_NOUN);
    find(clause, &order).is_some()
}

fn is_reported(clause: &[Word], role: Role) -> bool {
    if role == Role::LeadIn && is_performed(clause) {
        return false;
    }
    let told = talks_of_signal(clause) || role == Role::Inline;
    if has(clause, cues::ELSEWHERE) && told {
        return true;
    }
    if has(clause, &["now", "this time", "hereby", "today"]) {
        return false;
    }
    if has(clause, cues::OTHER_TIME) && told {
        return true;
    }
    let before = clause.iter().position(|word| word.text == TAG).unwrap_or(clause.len());
    let near = clause.get(before.saturating_sub(3)..before).unwrap_or(&[]);
    find(near, cues::REPORTS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::words::words;

    fn lead_in(text: &str) -> Option<Mention> {
        mood(&words(text, 0), Role::LeadIn)
    }

    // spec: S3
    #[test]
    fn a_sentence_shows_what_it_does_with_the_tag() {
        assert_eq!(lead_in("The line I am not allowed to print yet:"), Some(Mention::Negated));
        assert_eq!(lead_in("If the check were green, my last line would be:"), Some(Mention::Conditional));
        assert_eq!(lead_in("My next message:"), Some(Mention::Future));
        assert_eq!(lead_in("Shall I send this:"), Some(Mention::Asked));
        assert_eq!(lead_in("Reply with exactly this line:"), Some(Mention::Instruction));
        assert_eq!(lead_in("The old transcript ends with this line:"), Some(Mention::Reported));
    }

    // spec: S3
    #[test]
    fn an_announcement_gives_the_signal() {
        assert_eq!(lead_in("All criteria hold, so I am now emitting the completion signal:"), None);
        assert_eq!(lead_in("Since every story passes I can give the promise:"), None);
        assert_eq!(lead_in("I will not hold it back any longer:"), None);
        assert_eq!(lead_in("When I reran the suite it was green, therefore:"), None);
    }
}
