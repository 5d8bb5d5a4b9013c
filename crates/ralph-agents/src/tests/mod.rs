//! Whole streams through every parser: the labelled outputs, the recordings, and arbitrary bytes.
mod chunks;
mod claims;
mod recordings;

use ralph_core::claim::{Claim, ClaimRules, Finder, NoClaim, Promise};

use super::{AgentEvent, Counts, Format, hear, parser};

pub(super) fn read(format: Format, chunks: &[&[u8]]) -> (Vec<AgentEvent>, Counts) {
    let (mut parser, mut out) = (parser(format), Vec::new());
    for chunk in chunks {
        parser.push(chunk, &mut out);
    }
    parser.finish(&mut out);
    (out, parser.counts())
}

pub(super) fn events(format: Format, stream: &str) -> Vec<AgentEvent> {
    read(format, &[stream.as_bytes()]).0
}

/// The words that the loop would judge: the last message of the last turn, unless an error ended it.
pub(super) fn final_text(events: &[AgentEvent]) -> String {
    let mut finder = Finder::new(ClaimRules::new(Promise::parse("anything").unwrap()), "");
    events.iter().for_each(|event| hear(&mut finder, event));
    let reading = finder.finish();
    let is_void = matches!(reading.claim, Claim::None { why: NoClaim::EndedInError | NoClaim::Unread });
    if is_void { String::new() } else { reading.final_text }
}
