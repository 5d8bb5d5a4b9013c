//! Splits a message into sentences and assigns each one to a section: a list of next steps is read differently from a
//! list of fixed bugs.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::markdown_lines::LineKind;
use crate::claim::parsed_message::ParsedMessage;
use crate::claim::prose_words::{ProseWord, has_match, split_sentences};
use crate::claim::slice_or_empty;

/// A sentence of the message, the byte offset of its end, and its section.
pub(super) struct MessageSentence {
    pub(super) words: Vec<ProseWord>,
    pub(super) end: usize,
    pub(super) section: SectionKind,
}

/// What a section contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// Any statements.
    Plain,
    /// Next steps.
    Planned,
    /// Ideas, fixed problems, or work that was not requested.
    Settled,
}

/// How far a section extends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionReach {
    /// Up to the next heading.
    ToNextHeading,
    /// Up to the end of the list below its title.
    ToListEnd,
}

/// The section that the current line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Section {
    kind: SectionKind,
    reach: SectionReach,
}

impl Section {
    const PLAIN: Self = Self { kind: SectionKind::Plain, reach: SectionReach::ToNextHeading };
}

/// Returns the sentences of all prose, headings and list items.
pub(super) fn prose_sentences(view: &ParsedMessage<'_>) -> Vec<MessageSentence> {
    let mut out = Vec::new();
    let mut line = 0;
    let mut current = Section::PLAIN;
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
        push_sentences(view, range, current.kind, &mut out);
        line = end;
    }
    out
}

/// Returns the section that a paragraph belongs to, given the section before it.
fn next_section(
    view: &ParsedMessage<'_>,
    range: &Range<usize>,
    kind: LineKind,
    words: &[ProseWord],
    current: Section,
) -> Section {
    match kind {
        LineKind::Heading => Section { kind: classify_section(words), reach: SectionReach::ToNextHeading },
        LineKind::Prose if is_section_title(slice_or_empty(view.text, range.clone()), words) => {
            match classify_section(words) {
                SectionKind::Plain if current.reach == SectionReach::ToNextHeading => current,
                kind @ (SectionKind::Plain | SectionKind::Planned | SectionKind::Settled) => {
                    Section { kind, reach: SectionReach::ToListEnd }
                }
            }
        }
        LineKind::Prose if current.reach == SectionReach::ToListEnd => Section::PLAIN,
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
