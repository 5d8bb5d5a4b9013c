//! Cuts a message into sentences and knows under which heading each one stands: a list of next steps is
//! read otherwise than a list of repaired bugs.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::cut;
use crate::claim::layout::Kind;
use crate::claim::place::View;
use crate::claim::words::{Word, has, sentences};

/// A sentence of the message and where its text ends.
pub(super) struct Sentence {
    pub(super) words: Vec<Word>,
    pub(super) end: usize,
    pub(super) section: Section,
}

/// What the items under a heading are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Anything.
    Plain,
    /// Steps that come next.
    Planned,
    /// Ideas, repaired things, or things that nobody asked for.
    Settled,
}

/// How far a heading reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// To the next heading.
    Heading,
    /// To the end of the list below it.
    List,
}

/// Returns the sentences of all lines that are prose.
pub(super) fn prose(view: &View<'_>) -> Vec<Sentence> {
    let mut out = Vec::new();
    let mut line = 0;
    let mut current = (Section::Plain, Reach::Heading);
    while line < view.lines.len() {
        let kind = view.kind(line);
        if matches!(kind, Kind::Blank | Kind::Code | Kind::Quote | Kind::Table) {
            line += 1;
            continue;
        }
        let end = view.paragraph(line).end.max(line + 1);
        let range = view.range(line).start..view.range(end - 1).end;
        let words = view.words(range.clone());
        current = reach(view, &range, kind, &words, current);
        push_sentences(view, range, current.0, &mut out);
        line = end;
    }
    out
}

/// Returns the section after a paragraph was read.
fn reach(
    view: &View<'_>,
    range: &Range<usize>,
    kind: Kind,
    words: &[Word],
    current: (Section, Reach),
) -> (Section, Reach) {
    match kind {
        Kind::Heading => (section(words), Reach::Heading),
        Kind::Prose if is_title(cut(view.text, range.clone()), words) => match section(words) {
            Section::Plain if current.1 == Reach::Heading => current,
            found @ (Section::Plain | Section::Planned | Section::Settled) => (found, Reach::List),
        },
        Kind::Prose if current.1 == Reach::List => (Section::Plain, Reach::Heading),
        Kind::Prose
        | Kind::Bullet
        | Kind::Numbered
        | Kind::Blank
        | Kind::Code
        | Kind::Quote
        | Kind::Table => current,
    }
}

fn is_title(raw: &str, words: &[Word]) -> bool {
    let raw = raw.trim();
    let bold = raw.starts_with("**") && raw.trim_end_matches(':').ends_with("**");
    let open = words.last().is_some_and(|word| word.text == ":");
    let short = words.len() <= 6 && !words.last().is_some_and(Word::ends_sentence) && !raw.contains('\n');
    bold || open || short
}

fn section(words: &[Word]) -> Section {
    const OPTIONAL: &[&str] = &[
        "optional/optionally/ideas/suggestions/suggestion/recommendations/recommended/suggested/\
        possible/potential/\
            bonus/out-of-scope/non-goals/someday",
        "nice to have/haves",
        "nice-to-have/nice-to-haves",
        "out of scope",
        "outside .. scope",
        "not in/part scope/of",
        "future ideas/improvements/enhancements/directions",
        "< improvements/enhancements",
        "if you want/like/wish",
        "for you/reviewers/operators/users",
        "you may/might/can/could/should/need",
        "beyond this",
    ];
    const REPAIRED: &[&str] = &[
        "fixed/resolved/repaired/solved/addressed/closed/eliminated",
        "root cause/causes",
        "< before/background/context/history/previously",
        "what was wrong/broken/failing/missing",
        "< the? problem/bug/cause/symptom/symptoms",
        "no longer",
    ];
    const NEXT: &[&str] =
        &["< next steps/step/up/actions", "< what is next", "< follow-ups/follow-up/followups"];
    if has(words, OPTIONAL)
        || (has(words, REPAIRED) && !has(words, &["not/never/yet/still/partly/partially/be"]))
    {
        return Section::Settled;
    }
    if has(words, NEXT) { Section::Planned } else { Section::Plain }
}

fn push_sentences(view: &View<'_>, range: Range<usize>, section: Section, out: &mut Vec<Sentence>) {
    let mut words = Vec::new();
    if cut(view.text, range.clone()).trim_start_matches(['-', '*', '+', ' ']).starts_with("[ ]") {
        words.push(Word { text: "[]".into(), at: range.start });
    }
    words.extend(view.words(range.clone()));
    let parts = sentences(&words);
    for (at, part) in parts.iter().enumerate() {
        let end = parts.get(at + 1).and_then(|next| next.first()).map_or(range.end, |next| next.at);
        out.push(Sentence { words: part.to_vec(), end, section });
    }
}
