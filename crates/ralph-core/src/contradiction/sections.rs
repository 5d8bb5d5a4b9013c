//! Cuts a message into sentences and knows under which heading each one stands: a list of next steps is
//! read otherwise than a list of repaired bugs.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::markdown_lines::LineKind;
use crate::claim::parsed_message::ParsedMessage;
use crate::claim::prose_words::{ProseWord, has_match, split_sentences};
use crate::claim::slice_or_empty;

/// A sentence of the message and where its text ends.
pub(super) struct MessageSentence {
    pub(super) words: Vec<ProseWord>,
    pub(super) end: usize,
    pub(super) section: SectionKind,
}

/// What the items under a heading are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// Anything.
    Plain,
    /// Steps that come next.
    Planned,
    /// Ideas, repaired things, or things that nobody asked for.
    Settled,
}

/// How far a heading reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionReach {
    /// To the next heading.
    ToNextHeading,
    /// To the end of the list below it.
    ToListEnd,
}

/// Returns the sentences of all lines that are prose.
pub(super) fn prose_sentences(view: &ParsedMessage<'_>) -> Vec<MessageSentence> {
    let mut out = Vec::new();
    let mut line = 0;
    let mut current = (SectionKind::Plain, SectionReach::ToNextHeading);
    while line < view.lines.len() {
        let kind = view.line_kind(line);
        if matches!(kind, LineKind::Blank | LineKind::Code | LineKind::Quote | LineKind::Table) {
            line += 1;
            continue;
        }
        let end = view.paragraph_lines(line).end.max(line + 1);
        let range = view.line_range(line).start..view.line_range(end - 1).end;
        let words = view.words_in(range.clone());
        current = next_section(view, &range, kind, &words, current);
        push_sentences(view, range, current.0, &mut out);
        line = end;
    }
    out
}

/// Returns the section after a paragraph was read.
fn next_section(
    view: &ParsedMessage<'_>,
    range: &Range<usize>,
    kind: LineKind,
    words: &[ProseWord],
    current: (SectionKind, SectionReach),
) -> (SectionKind, SectionReach) {
    match kind {
        LineKind::Heading => (classify_section(words), SectionReach::ToNextHeading),
        LineKind::Prose if is_section_title(slice_or_empty(view.text, range.clone()), words) => {
            match classify_section(words) {
                SectionKind::Plain if current.1 == SectionReach::ToNextHeading => current,
                found @ (SectionKind::Plain | SectionKind::Planned | SectionKind::Settled) => {
                    (found, SectionReach::ToListEnd)
                }
            }
        }
        LineKind::Prose if current.1 == SectionReach::ToListEnd => (SectionKind::Plain, SectionReach::ToNextHeading),
        LineKind::Prose
        | LineKind::Bullet
        | LineKind::Numbered
        | LineKind::Blank
        | LineKind::Code
        | LineKind::Quote
        | LineKind::Table => current,
    }
}

fn is_section_title(raw: &str, words: &[ProseWord]) -> bool {
    let raw = raw.trim();
    let bold = raw.starts_with("**") && raw.trim_end_matches(':').ends_with("**");
    let open = words.last().is_some_and(|word| word.text == ":");
    let short = words.len() <= 6 && !words.last().is_some_and(ProseWord::ends_sentence) && !raw.contains('\n');
    bold || open || short
}

fn classify_section(words: &[ProseWord]) -> SectionKind {
    const OPTIONAL_TITLES: &[&str] = &[
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
    const REPAIRED_TITLES: &[&str] = &[
        "fixed/resolved/repaired/solved/addressed/closed/eliminated",
        "root cause/causes",
        "< before/background/context/history/previously",
        "what was wrong/broken/failing/missing",
        "< the? problem/bug/cause/symptom/symptoms",
        "no longer",
    ];
    const NEXT_STEP_TITLES: &[&str] =
        &["< next steps/step/up/actions", "< what is next", "< follow-ups/follow-up/followups"];
    if has_match(words, OPTIONAL_TITLES)
        || (has_match(words, REPAIRED_TITLES) && !has_match(words, &["not/never/yet/still/partly/partially/be"]))
    {
        return SectionKind::Settled;
    }
    if has_match(words, NEXT_STEP_TITLES) { SectionKind::Planned } else { SectionKind::Plain }
}

fn push_sentences(view: &ParsedMessage<'_>, range: Range<usize>, section: SectionKind, out: &mut Vec<MessageSentence>) {
    let mut words = Vec::new();
    if slice_or_empty(view.text, range.clone()).trim_start_matches(['-', '*', '+', ' ']).starts_with("[ ]") {
        words.push(ProseWord { text: "[]".into(), offset: range.start });
    }
    words.extend(view.words_in(range.clone()));
    let parts = split_sentences(&words);
    for (at, part) in parts.iter().enumerate() {
        let end = parts.get(at + 1).and_then(|next| next.first()).map_or(range.end, |next| next.offset);
        out.push(MessageSentence { words: part.to_vec(), end, section });
    }
}
