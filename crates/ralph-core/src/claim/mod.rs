//! Decides whether an agent's own words claim that the work is done. It reads text and nothing else:
//! it never runs a check, and it never trusts a claim. Proof is the business of the verifiers.

mod clean;
mod echo;
#[cfg(test)]
mod effort;
mod fence;
mod finder;
mod judge;
pub(crate) mod layout;
mod lead;
mod lexicon;
mod mood;
mod neutral;
pub(crate) mod pattern;
pub(crate) mod place;
mod promise;
pub(crate) mod quote;
mod reading;
mod region;
mod retract;
mod rules;
mod standing;
mod tag;
mod tail;
mod utf8;
pub(crate) mod words;

pub(crate) use clean::clean;
pub use finder::{Finder, Heard};
pub use neutral::neutralise;
pub use promise::{Nonce, Promise, PromiseError};
pub use reading::{Claim, Mention, NoClaim, Reading};
pub use rules::{ClaimRules, Contradictions, Matching, PlainLine, Scope};
pub use tail::KEPT_BYTES;
pub use utf8::Utf8Stream;

pub use crate::contradiction::Contradiction;

/// Returns the part of `text` in `range`, or nothing when the range does not fit.
pub(crate) fn cut(text: &str, range: core::ops::Range<usize>) -> &str {
    text.get(range).unwrap_or("")
}
