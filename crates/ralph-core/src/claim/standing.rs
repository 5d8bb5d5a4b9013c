//! Decides for one tag whether it is used or only mentioned.

use alloc::vec::Vec;

use super::layout::Kind;
use super::lead::{around, in_list};
use super::lexicon as cues;
use super::mood::{Role, is_about_the_work, is_performed, is_present_giving, mood};
use super::place::{View, bare};
use super::region::in_quotation;
use super::tag::{Form, Tag};
use super::words::{TAG, Word, has, sentences};
use super::{Mention, cut};

/// What a tag does where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is used, alone on its line.
    Alone,
    /// It is used at the end of a sentence.
    AtEnd,
    /// It is talked about.
    Mentioned(Mention),
}

/// Whose signal a tag is. A claim needs more proof than a signal that says the contrary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    /// It holds the promise that would end the loop.
    Claim,
    /// It holds anything else.
    Other,
}

/// Returns what the tag does where it stands.
pub(crate) fn standing(view: &View<'_>, tag: &Tag, sense: Sense) -> Standing {
    if let Some(mention) = hidden(view, tag) {
        return Standing::Mentioned(mention);
    }
    let used = if is_alone(view, tag) {
        around(view, tag, sense).map_or(Standing::Alone, Standing::Mentioned)
    } else if tag.form == Form::Escaped {
        Standing::Mentioned(Mention::Escaped)
    } else {
        inline(view, tag).map_or(Standing::AtEnd, Standing::Mentioned)
    };
    if asks(view, tag) { Standing::Mentioned(Mention::Asked) } else { used }
}

/// Returns why the place itself makes a mention of the tag.
fn hidden(view: &View<'_>, tag: &Tag) -> Option<Mention> {
    let inside = |range: &core::ops::Range<usize>| range.start < tag.span.start && tag.span.end < range.end;
    match view.kind(view.line(tag.span.start)) {
        Kind::Code => return Some(Mention::Code),
        Kind::Quote => return Some(Mention::Quoted),
        Kind::Table => return Some(Mention::Table),
        Kind::Blank | Kind::Heading | Kind::Bullet | Kind::Numbered | Kind::Prose => {}
    }
    if view.is_inline_code(tag) || is_diff_line(view, tag) {
        return Some(Mention::Code);
    }
    if is_struck_out(view, tag) {
        return Some(Mention::Negated);
    }
    if view.elements.iter().any(inside) {
        return Some(Mention::InsideOtherTag);
    }
    in_quotation(view.before(tag.span.start), view.after(tag.span.end)).then_some(Mention::Quoted)
}

fn is_struck_out(view: &View<'_>, tag: &Tag) -> bool {
    let before = view.before(tag.span.start).trim_end_matches(['*', '_', ' ']);
    before.ends_with("~~") && view.after(tag.span.end).trim_start_matches(['*', '_', ' ']).starts_with("~~")
}

/// "+<promise>" is a line of a diff; a bullet would have a blank after it.
fn is_diff_line(view: &View<'_>, tag: &Tag) -> bool {
    matches!(view.before(tag.span.start), "+" | "-")
}

/// Tells whether nothing but decoration and other tags stands on the lines of the tag.
fn is_alone(view: &View<'_>, tag: &Tag) -> bool {
    let line = view.line(tag.span.start);
    let before = without_tags(view, view.range(line).start..tag.span.start);
    let last = view.line(tag.span.end.saturating_sub(1));
    let after = without_tags(view, tag.span.end..view.range(last).end);
    before && after
}

fn without_tags(view: &View<'_>, range: core::ops::Range<usize>) -> bool {
    let mut at = range.start;
    let mut clear = true;
    for tag in view.tags.iter().filter(|tag| range.start <= tag.span.start && tag.span.end <= range.end) {
        clear &= is_bare(cut(view.text, at..tag.span.start.max(at)));
        at = tag.span.end;
    }
    clear && is_bare(cut(view.text, at.min(range.end)..range.end))
}

fn is_bare(text: &str) -> bool {
    bare(bare(text).trim_matches(['.', '!', '\\'])).is_empty()
}

fn asks(view: &View<'_>, tag: &Tag) -> bool {
    view.after(tag.span.end).trim_start_matches(['*', '_', ' ']).starts_with(['?', '\u{ff1f}'])
}

/// How far around a tag its sentence is looked for.
const NEAR_BYTES: usize = 4096;

/// Returns how the sentence around a tag makes a mention of it.
fn inline(view: &View<'_>, tag: &Tag) -> Option<Mention> {
    if view.before(tag.span.start).trim_start().trim_start_matches(['-', '*', '+', ' ']).starts_with("[ ]") {
        return Some(Mention::Listed);
    }
    if let Some(mention) = in_list(view, view.line(tag.span.start)) {
        return Some(mention);
    }
    let words = words_around(view, tag);
    let at = words.iter().position(|word| word.at == tag.span.start && word.text == TAG)?;
    let sentence = sentences(&words)
        .into_iter()
        .find(|part| part.iter().any(|word| word.at == tag.span.start && word.text == TAG))?;
    let inner = sentence.iter().position(|word| word.at == tag.span.start && word.text == TAG)?;
    let (before, rest) = sentence.split_at_checked(inner)?;
    let after = rest.get(1..).unwrap_or(&[]);
    if before.iter().chain(after).any(|word| word.text == TAG) {
        return Some(mood(sentence, Role::Inline).unwrap_or(Mention::MidSentence));
    }
    match (says_something(before), says_something(after)) {
        (false, false) => {
            (at == 0 || before.iter().any(|word| word.text == "(")).then_some(Mention::MidSentence)
        }
        (false, true) => subject(view, tag, after),
        (true, false) => object(view, tag, sentence, before),
        (true, true) => Some(mood(sentence, Role::Inline).unwrap_or(Mention::MidSentence)),
    }
}

fn says_something(words: &[Word]) -> bool {
    words.iter().any(|word| !word.is_mark())
}

/// Returns the words of the paragraph; a line below belongs to it only when it goes on in lower case.
fn words_around(view: &View<'_>, tag: &Tag) -> Vec<Word> {
    let first = view.paragraph(view.line(tag.span.start)).start;
    let start = view.range(first).start.max(floor(view.text, tag.span.start.saturating_sub(NEAR_BYTES)));
    let last = view.line(tag.span.end.saturating_sub(1));
    let next = view.range(last + 1);
    let goes_on = view.kind(last + 1) == Kind::Prose
        && cut(view.text, next.clone()).trim_start().starts_with(char::is_lowercase);
    let end = if goes_on { next.end } else { view.range(last).end };
    view.words(start..end.min(floor(view.text, tag.span.end + NEAR_BYTES)))
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Reads a sentence that begins with the tag.
fn subject(view: &View<'_>, tag: &Tag, after: &[Word]) -> Option<Mention> {
    let rest = view.after(tag.span.end).trim_start_matches(['*', '_', ' ', '\t']);
    let begins_anew = rest.chars().find(|c| c.is_alphanumeric()).is_some_and(char::is_uppercase);
    let aside = rest.starts_with('(') && bare(view.before(tag.span.start)).is_empty();
    if (begins_anew && !rest.starts_with([':', ',', ';', '-', '=', '\u{2014}', '\u{2013}', '\u{2192}']))
        || aside
    {
        return mood(after, Role::Inline)
            .filter(|how| !matches!(how, Mention::Asked | Mention::Future | Mention::Reported));
    }
    Some(mood(after, Role::Inline).unwrap_or(Mention::MidSentence))
}

/// Reads a sentence that ends with the tag.
fn object(view: &View<'_>, tag: &Tag, sentence: &[Word], before: &[Word]) -> Option<Mention> {
    const BRIDGES: &[&str] = &["so", "therefore", "hence", "thus", "accordingly", "consequently", "ergo"];
    if let Some(mention) = mood(sentence, Role::Inline) {
        return Some(mention);
    }
    let glued = !view
        .before(tag.span.start)
        .trim_end_matches(['*', '_'])
        .ends_with([' ', '\t', '\u{2014}', '\u{2013}']);
    let last = before.last().map_or("", |word| word.text.as_str());
    let drawn = view
        .before(tag.span.start)
        .trim_end_matches(['*', '_', ' '])
        .ends_with(|c: char| !c.is_ascii() && !c.is_alphanumeric());
    let done = has(before, cues::DONE)
        || has(before, cues::LABEL)
        || is_ticked(view, tag)
        || is_about_the_work(before);
    let introduced = (matches!(last, ":" | "-" | "," | ";") || drawn) && done && !glued;
    let bridged = BRIDGES.contains(&last)
        || (matches!(last, ":" | "-" | ",")
            && before.iter().rev().nth(1).is_some_and(|word| BRIDGES.contains(&word.text.as_str())));
    let clause = last_clause(before);
    let goes_on_with_i = has(before, &["< i/we"]) && clause.first().is_some_and(is_present_giving);
    if introduced || bridged || goes_on_with_i || is_performed(clause) {
        None
    } else {
        Some(Mention::MidSentence)
    }
}

/// "✔ lint ✔ types →": ticks say done, unless a cross is among them.
fn is_ticked(view: &View<'_>, tag: &Tag) -> bool {
    let before = view.before(tag.span.start);
    before.contains(['\u{2713}', '\u{2714}', '\u{2705}', '\u{2611}', '\u{1f5f8}'])
        && !before.contains(['\u{2717}', '\u{2718}', '\u{274c}', '\u{2610}', '\u{2716}'])
}

fn last_clause(before: &[Word]) -> &[Word] {
    let is_border = |word: &Word| matches!(word.text.as_str(), "," | ";" | "and" | "so" | "therefore" | "-");
    let end = before.iter().rposition(|word| !word.is_mark()).map_or(0, |at| at + 1);
    let clause = before.get(..end).unwrap_or(before);
    let start = clause.iter().rposition(is_border).map_or(0, |at| at + 1);
    clause.get(start..).unwrap_or(clause)
}
