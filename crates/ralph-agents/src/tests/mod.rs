//! Tests of all parsers with whole streams: labelled outputs, recordings, and arbitrary bytes.
mod chunks;
mod claims;
mod recordings;

use ralph_core::claim::{Claim, ClaimFinder, ClaimRules, NoClaimReason, Promise};

use super::{AgentEvent, OutputFormat, RecordCounts, feed_claim_finder, parser_for_format};

pub(super) fn parse_chunks(format: OutputFormat, chunks: &[&[u8]]) -> (Vec<AgentEvent>, RecordCounts) {
    let (mut parser, mut out) = (parser_for_format(format), Vec::new());
    for chunk in chunks {
        parser.push(chunk, &mut out);
    }
    parser.finish(&mut out);
    (out, parser.record_counts())
}

pub(super) fn parse_events(format: OutputFormat, stream: &str) -> Vec<AgentEvent> {
    parse_chunks(format, &[stream.as_bytes()]).0
}

/// Returns the text in which the loop looks for a claim: the last message of the last turn, or nothing after an error.
pub(super) fn final_text(events: &[AgentEvent]) -> String {
    let mut finder = ClaimFinder::new(ClaimRules::new(Promise::parse("anything").unwrap()), "");
    events.iter().for_each(|event| feed_claim_finder(&mut finder, event));
    let reading = finder.finish();
    let is_void = matches!(reading.claim, Claim::None { why: NoClaimReason::EndedInError | NoClaimReason::Unread });
    if is_void { String::new() } else { reading.final_text }
}
