//! Joins a tag on its own line with the lines that belong to its sentence: a lead-in above, a
//! continuation below, or the list it is an item of.

use alloc::vec::Vec;

use super::layout::Kind;
use super::lexicon as cues;
use super::mood::{Role, asserts, mood};
use super::place::View;
use super::standing::Sense;
use super::tag::Tag;
use super::words::{TAG, Word, has, sentences, words};
use super::{Mention, cut};

/// Returns how the lines around an own-line tag make a mention of it.
pub(crate) fn around(view: &View<'_>, tag: &Tag, sense: Sense) -> Option<Mention> {
    let first = view.line(tag.span.start);
    let last = view.line(tag.span.end.saturating_sub(1));
    let below = continuation(view, last);
    let joined = match &below {
        Some(Below::Mention(mention)) => return Some(*mention),
        Some(Below::Joined) => Joined::Yes,
        None => Joined::No,
    };
    if let Some(mention) = in_list(view, first) {
        return Some(mention);
    }
    let lead = lead_in(view, first, joined);
    match sense {
        Sense::Claim => lead.map(Lead::into_mention),
        Sense::Other => lead.and_then(Lead::against_other),
    }
}

/// What a lead-in says about the tag.
enum Lead {
    /// It talks about the tag.
    Talks(Mention),
    /// It has no word of finished work.
    Mute,
}

impl Lead {
    fn into_mention(self) -> Mention {
        match self {
            Self::Talks(mention) => mention,
            Self::Mute => Mention::Instruction,
        }
    }

    /// "The work is not done:" before a rejection is its reason and no denial of it.
    fn against_other(self) -> Option<Mention> {
        match self {
            Self::Talks(mention) => Some(mention).filter(|mention| *mention != Mention::Negated),
            Self::Mute => None,
        }
    }
}

/// Whether a line below goes on with the sentence, so that the line above belongs to it too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    Yes,
    No,
}

enum Below {
    Mention(Mention),
    Joined,
}

fn lead_in(view: &View<'_>, line: usize, joined: Joined) -> Option<Lead> {
    let above = nearest_words_above(view, line)?;
    match view.kind(above) {
        Kind::Blank | Kind::Code | Kind::Quote | Kind::Table => None,
        Kind::Heading => talk(&view.words(view.range(above))),
        Kind::Bullet | Kind::Numbered => {
            let item = last_sentence(view, above);
            if ends_open(view, above, &item) { introduction(&item) } else { None }
        }
        Kind::Prose => prose_lead_in(view, above, line, joined),
    }
}

fn prose_lead_in(view: &View<'_>, above: usize, line: usize, joined: Joined) -> Option<Lead> {
    let sentence = last_sentence(view, above);
    if ends_open(view, above, &sentence) {
        return introduction(&sentence);
    }
    if is_question_about_it(&sentence) {
        return Some(Lead::Talks(Mention::Asked));
    }
    let finished = sentence.last().is_some_and(Word::ends_sentence);
    let title = !finished && sentence.len() <= 4 && view.paragraph(above).len() == 1;
    if title {
        return if is_change(&sentence) { None } else { talk(&sentence) };
    }
    let adjacent = above + 1 == line;
    let points_forward = has(&sentence, cues::FORWARD);
    let belongs =
        if finished { points_forward } else { dangles(&sentence) || joined == Joined::Yes || points_forward };
    if belongs && (adjacent || points_forward || joined == Joined::Yes) {
        return if finished { talk(&sentence) } else { introduction(&with_tag(sentence)) };
    }
    let talks = has(
        &sentence,
        &[
            "%print/%emit/%output/%say/%answer/%reply/%declare/%claim/%announce/%send",
            "promise/signal/tag/token/marker/completion",
        ],
    );
    if adjacent && !finished && talks { talk(&sentence) } else { None }
}

/// "Added pagination", "Add Cargo docs": a terse report of a change, and no heading of a tag.
fn is_change(sentence: &[Word]) -> bool {
    let first = sentence.first().map_or("", |word| word.text.as_str());
    const TITLES: &str = "expected/required/desired/suggested/intended/related/detailed/proposed/quoted/\
        reserved/needed/promised";
    let titled = TITLES.split('/').any(|known| known == first);
    let past = !titled && first.len() > 4 && first.ends_with("ed")
        || matches!(first, "wrote" | "rewrote" | "built" | "made");
    let bare = matches!(first, "add" | "include" | "use" | "write" | "put");
    (past || bare) && !has(sentence, &[cues::SIGNAL]) && !has(sentence, cues::EXAMPLE)
}

/// Reads a sentence that asks for the tag to follow. Without any word of finished work it only shows it.
fn introduction(sentence: &[Word]) -> Option<Lead> {
    talk(sentence).or_else(|| (!asserts(sentence)).then_some(Lead::Mute))
}

fn talk(sentence: &[Word]) -> Option<Lead> {
    mood(sentence, Role::LeadIn).map(Lead::Talks)
}

/// Puts the tag at the end of an unfinished sentence, where it belongs.
fn with_tag(mut sentence: Vec<Word>) -> Vec<Word> {
    let at = sentence.last().map_or(0, |word| word.at);
    sentence.push(Word { text: TAG.into(), at });
    sentence
}

/// "Should this be the answer?" asks about the tag below it.
fn is_question_about_it(sentence: &[Word]) -> bool {
    let asks = sentence.last().is_some_and(|word| word.text == "?");
    asks && has(
        sentence,
        &[
            "line/answer/tag/signal/promise/claim/completion/marker/reply",
            "print/emit/say/send/output/close/end/stop with?",
        ],
    )
}

/// How many lines of tags a lead-in may stand above.
const TAG_LINES: usize = 8;

/// Returns the nearest line above that holds more than tags.
fn nearest_words_above(view: &View<'_>, line: usize) -> Option<usize> {
    let mut at = line;
    for _ in 0..TAG_LINES {
        at = view.above(at)?;
        let range = view.range(at);
        let covered = view.tags.iter().any(|tag| tag.span.start <= range.start && range.end <= tag.span.end);
        let only_tags = covered || {
            let words = view.words(range);
            !words.is_empty() && words.iter().all(|word| word.text == TAG || word.is_mark())
        };
        if !only_tags {
            return Some(at);
        }
    }
    None
}

const NEAR_BYTES: usize = 2048;

/// Returns the last sentence of the paragraph that ends with this line.
fn last_sentence(view: &View<'_>, line: usize) -> Vec<Word> {
    let end = view.range(line).end;
    let start = view.range(view.paragraph(line).start).start.max(end.saturating_sub(NEAR_BYTES));
    let words = view.words(start..end);
    let mut trimmed = words.as_slice();
    // An ellipsis ends in stops, but the sentence goes on.
    while trimmed.len() > 1 && trimmed.iter().rev().take(2).all(Word::ends_sentence) {
        trimmed = trimmed.get(..trimmed.len() - 1).unwrap_or(&[]);
    }
    sentences(trimmed).last().map(|sentence| sentence.to_vec()).unwrap_or_default()
}

/// Tells whether a line asks for something to follow.
fn ends_open(view: &View<'_>, line: usize, sentence: &[Word]) -> bool {
    let raw = cut(view.text, view.range(line)).trim_end().trim_end_matches(['*', '_', ' ']);
    let signed = raw.ends_with(|c: char| {
        !c.is_ascii()
            && !c.is_alphanumeric()
            && !"\u{2014}\u{2013}\u{2192}\u{21d2}\u{ff1a}\u{ff0c}".contains(c)
    });
    let open = !signed && sentence.last().is_some_and(|word| matches!(word.text.as_str(), ":" | "-" | ","));
    open || raw.ends_with("...") || raw.ends_with('\u{2026}')
}

fn dangles(sentence: &[Word]) -> bool {
    let last = sentence.iter().rev().find(|word| !word.is_mark());
    last.is_some_and(|word| cues::DANGLING.split('/').any(|known| known == word.text))
}

fn continuation(view: &View<'_>, line: usize) -> Option<Below> {
    let below = view.below(line)?;
    if !matches!(view.kind(below), Kind::Prose) {
        return None;
    }
    let paragraph = view.paragraph(below);
    let first = if paragraph.start <= line { below } else { paragraph.start };
    let start = view.range(first).start;
    let end = view.range(paragraph.end.saturating_sub(1)).end.min(start + NEAR_BYTES);
    let words = view.words(start..end);
    let sentence =
        sentences(&words).into_iter().find(|part| part.iter().any(|word| !word.ends_sentence()))?;
    let sentence = sentence.to_vec();
    let raw = cut(view.text, view.range(below)).trim_start().trim_start_matches(['*', '_', '(']);
    let raw = raw.trim_start_matches(['.', '\u{2026}', ' ']);
    if raw.starts_with(['^', '\u{2190}', '\u{2191}', '\u{21d0}', '\u{2b06}']) {
        return mood(&pointed_at(sentence), Role::Inline).map(Below::Mention);
    }
    if raw.starts_with(char::is_lowercase) { goes_on(&sentence) } else { fragment(&sentence) }
}

/// Puts the tag where an arrow points at it.
fn pointed_at(mut sentence: Vec<Word>) -> Vec<Word> {
    if let Some(arrow) = sentence.first_mut() {
        arrow.text = TAG.into();
    }
    sentence
}

/// Reads a line that goes on in lower case.
fn goes_on(sentence: &[Word]) -> Option<Below> {
    let first = sentence.iter().find(|word| !word.is_mark())?;
    let is_in = |list: &str| list.split('/').any(|known| known == first.text);
    if is_in("until/till/unless/if/when/once/whenever/only/provided/pending/assuming/except")
        || has(sentence, &["< as soon as"])
    {
        return Some(Below::Mention(Mention::Conditional));
    }
    if is_in("not/yet/never") {
        return Some(Below::Mention(Mention::Negated));
    }
    if is_in("but/though/although/however/just/even/and/or") {
        let held = has(
            sentence,
            &[
                "not yet",
                "only",
                "not before",
                "not until",
                "not now",
                "not in this",
                "until",
                "unless",
                "if",
                "not to be",
                "or not",
                "not really",
                "would",
                "premature",
                "later",
                "next run/iteration",
                "as an example",
            ],
        );
        return if held { Some(Below::Mention(Mention::Negated)) } else { Some(Below::Joined) };
    }
    if is_in(cues::PREDICATE) {
        return Some(Below::Mention(mood(sentence, Role::Inline).unwrap_or(Mention::MidSentence)));
    }
    is_in(cues::SUBORDINATE).then_some(Below::Joined)
}

/// Reads a short fragment such as "Only if the review agrees."
fn fragment(sentence: &[Word]) -> Option<Below> {
    let opens = has(
        sentence,
        &[
            "< only if/when/once/after",
            "< unless",
            "< not until",
            "< not before",
            "< provided",
            "< but only",
            "< if and only if",
        ],
    );
    let short = sentence.len() <= 9 && has(sentence, &["< if/once/when/until/assuming/pending"]);
    let whole = sentence.iter().any(|word| word.text == "," || word.text == "you" || word.text == "your");
    let greeting = sentence.last().is_some_and(|word| word.text == "!");
    (!whole && !greeting && (opens || short)).then_some(Below::Mention(Mention::Conditional))
}

/// Returns how a list makes a mention of the tag in one of its items.
pub(crate) fn in_list(view: &View<'_>, line: usize) -> Option<Mention> {
    match view.kind(line) {
        Kind::Numbered => Some(Mention::Listed),
        Kind::Bullet => bullet(view, line),
        Kind::Blank | Kind::Code | Kind::Quote | Kind::Table | Kind::Heading | Kind::Prose => None,
    }
}

fn bullet(view: &View<'_>, line: usize) -> Option<Mention> {
    let is_item = |index: usize| matches!(view.kind(index), Kind::Bullet | Kind::Numbered);
    let mut start = line;
    while start > 0 && is_item(start - 1) {
        start -= 1;
    }
    let mut end = line + 1;
    while end < view.lines.len() && is_item(end) {
        end += 1;
    }
    let range = view.range(start).start..view.range(end - 1).end;
    let listed = view.tags.iter().filter(|tag| range.contains(&tag.span.start)).count();
    if listed > 1 {
        return Some(Mention::Listed);
    }
    let head = view.above(start)?;
    let words = words(cut(view.text, view.range(head)), 0);
    let introduces = view.kind(head) == Kind::Heading || words.last().is_some_and(|word| word.text == ":");
    (introduces && mood(&words, Role::LeadIn).is_some()).then_some(Mention::Listed)
}
