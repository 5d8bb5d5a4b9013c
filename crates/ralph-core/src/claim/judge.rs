//! Judges one message: which signal does it give last, and does it stand?

use alloc::string::String;
use alloc::vec::Vec;

use super::fence::FenceScan;
use super::layout::Kind;
use super::place::View;
use super::promise::collapse;
use super::quote::{quoted, shown};
use super::retract::retraction;
use super::standing::{Sense, Standing, standing};
use super::tag::{Form, Label, Signal, Tag, unescape};
use super::{Claim, ClaimRules, Contradictions, Matching, NoClaim, PlainLine, Scope, cut};
use crate::contradiction;

/// Only this many tags are judged, from the last one on.
const JUDGED_TAGS: usize = 32;

/// What one message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Claim(Claim),
    Blocked(String),
    Rejected(String),
    /// No signal stands.
    Nothing(NoClaim),
    /// No signal is given, and what an earlier message claimed is taken back.
    TakesBack(String),
}

/// Judges the words of one message.
pub(crate) fn judge(text: &str, fence: FenceScan, rules: &ClaimRules) -> Outcome {
    let mut view = View::new(text, fence);
    if rules.plain == PlainLine::Accepted && rules.nonce.is_none() {
        add_plain_lines(&mut view, rules.promise.as_str());
    }
    let mut why = None;
    for tag in view.tags.iter().rev().take(JUDGED_TAGS) {
        match weigh(&view, tag, rules) {
            Weight::Given => return given(&view, tag, rules),
            Weight::Not(reason) => why = why.or(Some(reason)),
            Weight::Alien => {}
        }
    }
    match (rules.scope, why) {
        (Scope::Final, why) => Outcome::Nothing(why.unwrap_or(NoClaim::NoTag)),
        (Scope::Iteration, Some(why)) => Outcome::Nothing(why),
        // Only here can the message speak about a claim of an earlier one.
        (Scope::Iteration, None) => {
            retraction(&view, 0).map_or(Outcome::Nothing(NoClaim::NoTag), Outcome::TakesBack)
        }
    }
}

enum Weight {
    /// The signal is given.
    Given,
    /// It is not, for this reason.
    Not(NoClaim),
    /// It is none of our signals.
    Alien,
}

fn weigh(view: &View<'_>, tag: &Tag, rules: &ClaimRules) -> Weight {
    let wrong_id = match (&rules.nonce, &tag.label, tag.signal) {
        (None, Label::Id(_) | Label::Other, Signal::Promise) => return Weight::Alien,
        (Some(nonce), Label::Id(id), Signal::Promise) => id != nonce.as_str(),
        (Some(_), Label::None | Label::Other, Signal::Promise) => true,
        (None, Label::None, Signal::Promise) | (_, _, Signal::Blocked | Signal::Reject) => false,
    };
    let ours = tag.signal == Signal::Promise && keeps(&tag.value, rules);
    match standing(view, tag, if ours { Sense::Claim } else { Sense::Other }) {
        Standing::Mentioned(how) if tag.signal == Signal::Promise => {
            Weight::Not(NoClaim::Mentioned { how, near: near(view, tag) })
        }
        Standing::Mentioned(_) => Weight::Alien,
        Standing::Alone | Standing::AtEnd if wrong_id => Weight::Not(NoClaim::WrongNonce),
        Standing::AtEnd if rules.matching == Matching::Exact && tag.signal == Signal::Promise => {
            Weight::Not(NoClaim::NotAlone)
        }
        Standing::Alone | Standing::AtEnd => Weight::Given,
    }
}

fn given(view: &View<'_>, tag: &Tag, rules: &ClaimRules) -> Outcome {
    if let Some(sentence) = retraction(view, tag.span.end) {
        return Outcome::Nothing(NoClaim::Retracted { sentence: quoted(&sentence) });
    }
    match tag.signal {
        Signal::Blocked => Outcome::Blocked(unescape(&tag.value)),
        Signal::Reject => Outcome::Rejected(unescape(&tag.value)),
        Signal::Promise if keeps(&tag.value, rules) => Outcome::Claim(claim(view, tag, rules)),
        Signal::Promise => Outcome::Nothing(NoClaim::OtherPromise { found: shown(&tag.value) }),
    }
}

fn claim(view: &View<'_>, tag: &Tag, rules: &ClaimRules) -> Claim {
    let contradiction = match &rules.contradictions {
        Contradictions::Off => None,
        Contradictions::On { extra } => contradiction::find(view, extra),
    };
    let line = u32::try_from(view.line(tag.span.start) + 1).unwrap_or(u32::MAX);
    Claim::Made { text: tag.value.clone(), line, contradiction }
}

/// Tells whether a tag holds the promised text.
fn keeps(value: &str, rules: &ClaimRules) -> bool {
    let wanted = rules.promise.as_str();
    let plain = collapse(&unescape(value));
    let stressed =
        ["**", "__", "*", "_"].iter().find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark));
    let same = |found: &str| match rules.matching {
        Matching::Exact => found == wanted,
        Matching::Loose => found.to_lowercase() == wanted.to_lowercase(),
    };
    same(value) || same(&plain) || stressed.is_some_and(|inner| same(inner.trim()))
}

/// Treats lines that are exactly the promised text as tags.
fn add_plain_lines(view: &mut View<'_>, promise: &str) {
    let is_plain = |line: &&super::layout::Line| {
        let text = cut(view.text, line.start..line.end).trim();
        let readable = !matches!(line.kind, Kind::Code | Kind::Quote | Kind::Table | Kind::Blank);
        readable && (text == promise || text.trim_matches(['*', '_']) == promise)
    };
    let plain: Vec<Tag> =
        view.lines.iter().filter(is_plain).map(|line| plain_tag(line.start..line.end, promise)).collect();
    view.tags.extend(plain);
    view.tags.sort_by_key(|tag| tag.span.start);
}

fn plain_tag(span: core::ops::Range<usize>, promise: &str) -> Tag {
    Tag { signal: Signal::Promise, form: Form::Bare, label: Label::None, span, value: promise.into() }
}

/// Returns the line of the tag, for people.
fn near(view: &View<'_>, tag: &Tag) -> String {
    shown(cut(view.text, view.range(view.line(tag.span.start))))
}
