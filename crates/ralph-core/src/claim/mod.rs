//! Decides whether the agent's messages claim that the work is done. This module only reads text: it runs no checks
//! and does not trust claims. The verifiers collect the evidence.

mod claim_finder;
mod claim_reading;
mod claim_rules;
mod code_block;
mod evaluate;
mod excluded_regions;
pub(crate) mod languages;
pub(crate) mod markdown_lines;
mod message_tail;
mod neutralise;
pub(crate) mod parsed_message;
pub(crate) mod pattern;
mod promise;
mod prompt_echo;
pub(crate) mod prose_words;
pub(crate) mod quote;
mod retraction;
mod sentence_mood;
mod signal_tag;
#[cfg(test)]
mod step_counter;
mod surrounding_lines;
mod tag_usage;
mod terminal_filter;
mod utf8_decoder;

pub use claim_finder::{ClaimFinder, TranscriptEvent};
pub use claim_reading::{Claim, ClaimReading, NoClaimReason, TagMention};
pub use claim_rules::{ClaimRules, ClaimScope, ContradictionSearch, PlainLinePolicy, PromiseMatching};
pub use message_tail::MESSAGE_TAIL_BYTES;
pub use neutralise::neutralise_tags;
pub use promise::{Promise, PromiseError, PromiseNonce};
pub(crate) use terminal_filter::strip_terminal_codes;
pub use utf8_decoder::Utf8Decoder;

pub use crate::contradiction::Contradiction;

/// Returns the part of `text` in `range`, or an empty string if the range is out of bounds.
pub(crate) fn slice_or_empty(text: &str, range: core::ops::Range<usize>) -> &str {
    text.get(range).unwrap_or("")
}
