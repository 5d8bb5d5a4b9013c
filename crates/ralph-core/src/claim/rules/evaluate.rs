//! Evaluates one message: finds the last signal that it gives and checks whether that signal is valid.

use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::message::code_block::CodeBlockScanner;
use crate::claim::message::markdown_lines::LineKind;
use crate::claim::message::parsed_message::ParsedMessage;
use crate::claim::promise::collapse_whitespace;
use crate::claim::rules::retraction::find_retraction;
use crate::claim::rules::tag_usage::{SignalSense, TagUsage, classify_tag_usage};
use crate::claim::signal_tag::{AgentSignal, BracketForm, SignalTag, TagAttribute, unescape_html};
use crate::claim::text::quote::{quote_verbatim, quote_without_tags};
use crate::claim::{
    Claim, ClaimRules, ClaimScope, ClaimSource, ContradictionSearch, NoClaimReason, PlainLinePolicy, PromiseMatching,
    WaitRequest, slice_or_empty,
};
use crate::contradiction;

/// How many tags are evaluated, counted from the end of the message.
const MAX_EVALUATED_TAGS: usize = 32;

/// The outcome of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageOutcome {
    Claim(Claim),
    Blocked(String),
    Rejected(String),
    Wait(WaitRequest),
    /// The message gives no valid signal.
    NoSignal(NoClaimReason),
    /// The message gives no signal and retracts the claim of an earlier message.
    Retraction(String),
}

/// Evaluates the text of one message; `code_blocks` is the state of the scan at its start.
pub(crate) fn evaluate_message(text: &str, code_blocks: CodeBlockScanner, rules: &ClaimRules) -> MessageOutcome {
    let mut view = ParsedMessage::new(text, code_blocks);
    if rules.plain == PlainLinePolicy::Accepted && rules.nonce.is_none() {
        add_plain_lines(&mut view, rules.promise.as_str());
    }
    let mut no_claim_reason = None;
    for tag in view.tags.iter().rev().take(MAX_EVALUATED_TAGS) {
        match assess_tag(&view, tag, rules) {
            TagAssessment::SignalGiven => return outcome_of_signal(&view, tag, rules),
            TagAssessment::NotGiven(reason) => no_claim_reason = no_claim_reason.or(Some(reason)),
            TagAssessment::Unrelated => {}
        }
    }
    match (rules.scope, no_claim_reason) {
        (ClaimScope::Final, reason) => MessageOutcome::NoSignal(reason.unwrap_or(NoClaimReason::NoTag)),
        (ClaimScope::Iteration, Some(reason)) => MessageOutcome::NoSignal(reason),
        // Only in this scope can a message retract the claim of an earlier one.
        (ClaimScope::Iteration, None) => {
            find_retraction(&view, 0).map_or(MessageOutcome::NoSignal(NoClaimReason::NoTag), MessageOutcome::Retraction)
        }
    }
}

enum TagAssessment {
    SignalGiven,
    /// The tag is not a signal, for this reason.
    NotGiven(NoClaimReason),
    /// The tag is not one of our signals.
    Unrelated,
}

fn assess_tag(view: &ParsedMessage<'_>, tag: &SignalTag, rules: &ClaimRules) -> TagAssessment {
    let wrong_id = match (&rules.nonce, &tag.attribute, tag.signal) {
        (None, TagAttribute::Id(_) | TagAttribute::Time(_) | TagAttribute::Other, AgentSignal::Promise) => {
            return TagAssessment::Unrelated;
        }
        (Some(nonce), TagAttribute::Id(id), AgentSignal::Promise) => id != nonce.as_str(),
        (Some(_), TagAttribute::None | TagAttribute::Time(_) | TagAttribute::Other, AgentSignal::Promise) => true,
        (None, TagAttribute::None, AgentSignal::Promise)
        | (_, _, AgentSignal::Blocked | AgentSignal::Reject | AgentSignal::Wait) => false,
    };
    let ours = tag.signal == AgentSignal::Promise && fulfils_promise(&tag.value, rules);
    match classify_tag_usage(view, tag, if ours { SignalSense::Claim } else { SignalSense::Other }) {
        TagUsage::Mentioned(how) if tag.signal == AgentSignal::Promise => {
            TagAssessment::NotGiven(NoClaimReason::Mentioned { how, near: tag_line_text(view, tag) })
        }
        TagUsage::Mentioned(_) => TagAssessment::Unrelated,
        TagUsage::AloneOnLine | TagUsage::AtSentenceEnd if wrong_id => {
            TagAssessment::NotGiven(NoClaimReason::WrongNonce)
        }
        TagUsage::AtSentenceEnd if rules.matching == PromiseMatching::Exact && tag.signal == AgentSignal::Promise => {
            TagAssessment::NotGiven(NoClaimReason::NotAlone)
        }
        TagUsage::AloneOnLine | TagUsage::AtSentenceEnd => TagAssessment::SignalGiven,
    }
}

fn outcome_of_signal(view: &ParsedMessage<'_>, tag: &SignalTag, rules: &ClaimRules) -> MessageOutcome {
    if let Some(sentence) = find_retraction(view, tag.span.end) {
        return MessageOutcome::NoSignal(NoClaimReason::Retracted { sentence: quote_without_tags(&sentence) });
    }
    match tag.signal {
        AgentSignal::Blocked => MessageOutcome::Blocked(unescape_html(&tag.value)),
        AgentSignal::Reject => MessageOutcome::Rejected(unescape_html(&tag.value)),
        AgentSignal::Wait => outcome_of_wait(tag),
        AgentSignal::Promise if fulfils_promise(&tag.value, rules) => {
            MessageOutcome::Claim(build_claim(view, tag, rules))
        }
        AgentSignal::Promise => {
            MessageOutcome::NoSignal(NoClaimReason::OtherPromise { found: quote_verbatim(&tag.value) })
        }
    }
}

fn outcome_of_wait(tag: &SignalTag) -> MessageOutcome {
    match &tag.attribute {
        TagAttribute::Time(time) => {
            MessageOutcome::Wait(WaitRequest { time: *time, reason: unescape_html(&tag.value) })
        }
        TagAttribute::None | TagAttribute::Id(_) | TagAttribute::Other => {
            MessageOutcome::NoSignal(NoClaimReason::MalformedWait)
        }
    }
}

fn build_claim(view: &ParsedMessage<'_>, tag: &SignalTag, rules: &ClaimRules) -> Claim {
    let contradiction = match &rules.contradictions {
        ContradictionSearch::Off => None,
        ContradictionSearch::On { extra } => contradiction::find_contradiction(view, tag.span.start, extra),
    };
    let line = u32::try_from(view.line_at(tag.span.start) + 1).unwrap_or(u32::MAX);
    Claim::Made { text: tag.value.clone(), line, source: ClaimSource::Message, contradiction }
}

/// Returns whether a tag contains the promised text.
fn fulfils_promise(value: &str, rules: &ClaimRules) -> bool {
    let wanted = rules.promise.as_str();
    let plain = collapse_whitespace(&unescape_html(value));
    let stressed = ["**", "__", "*", "_"].iter().find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark));
    let same = |found: &str| match rules.matching {
        PromiseMatching::Exact => found == wanted,
        PromiseMatching::Loose => found.to_lowercase() == wanted.to_lowercase(),
    };
    same(value) || same(&plain) || stressed.is_some_and(|inner| same(inner.trim()))
}

/// Adds a tag for each line that is exactly the promised text.
fn add_plain_lines(view: &mut ParsedMessage<'_>, promise: &str) {
    let is_plain = |line: &&crate::claim::message::markdown_lines::MessageLine| {
        let text = slice_or_empty(view.text, line.start..line.end).trim();
        let readable = !matches!(line.kind, LineKind::Code | LineKind::Quote | LineKind::Table | LineKind::Blank);
        readable && (text == promise || text.trim_matches(['*', '_']) == promise)
    };
    let plain: Vec<SignalTag> =
        view.lines.iter().filter(is_plain).map(|line| plain_line_tag(line.start..line.end, promise)).collect();
    view.tags.extend(plain);
    view.tags.sort_by_key(|tag| tag.span.start);
}

fn plain_line_tag(span: core::ops::Range<usize>, promise: &str) -> SignalTag {
    SignalTag {
        signal: AgentSignal::Promise,
        form: BracketForm::Bare,
        attribute: TagAttribute::None,
        span,
        value: promise.into(),
    }
}

/// Returns the line of the tag, to show to the user.
fn tag_line_text(view: &ParsedMessage<'_>, tag: &SignalTag) -> String {
    quote_verbatim(slice_or_empty(view.text, view.line_range(view.line_at(tag.span.start))))
}
