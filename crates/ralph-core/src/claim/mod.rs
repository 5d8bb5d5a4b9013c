//! Decides whether the agent's messages claim that the work is done. This module only reads text: it runs no checks
//! and does not trust claims. The verifiers collect the evidence.

mod claim_finder;
mod claim_reading;
mod claim_rules;
pub(crate) mod languages;
pub(crate) mod message;
mod neutralise;
mod promise;
pub(crate) mod rules;
mod signal_tag;
pub(crate) mod text;
mod tool_signal;
mod wait_request;

pub use claim_finder::{ClaimFinder, TranscriptEvent};
pub use claim_reading::{Claim, ClaimReading, ClaimSource, NoClaimReason, TagMention};
pub use claim_rules::{ClaimRules, ClaimScope, ContradictionSearch, PlainLinePolicy, PromiseMatching};
pub use message::message_tail::MESSAGE_TAIL_BYTES;
pub(crate) use message::terminal_filter::strip_terminal_codes;
pub use message::utf8_decoder::Utf8Decoder;
pub use neutralise::neutralise_tags;
pub use promise::{Promise, PromiseError, PromiseNonce};
pub use tool_signal::{AgentTool, SignalCall, ToolSignal};
pub use wait_request::{WaitRequest, WaitTime};

pub use crate::contradiction::Contradiction;

/// Returns the part of `text` in `range`, or an empty string if the range is out of bounds.
pub(crate) fn slice_or_empty(text: &str, range: core::ops::Range<usize>) -> &str {
    text.get(range).unwrap_or("")
}
