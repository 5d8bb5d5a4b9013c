//! Tests of signals that an agent gives with a tool.
use super::*;
use crate::claim::{ClaimFinder, Promise, TranscriptEvent, WaitTime};

const CLAIM: &str = "mcp__ralph__claim_completion";

fn rules() -> ClaimRules {
    ClaimRules::new(Promise::parse("DONE").unwrap())
}

fn call(name: &str) -> TranscriptEvent<'_> {
    TranscriptEvent::ToolCalled { name }
}

fn text(text: &str) -> TranscriptEvent<'_> {
    TranscriptEvent::AgentText { message: 9, text }
}

fn done() -> ToolSignal {
    ToolSignal::Done { summary: "All parts work.".to_string() }
}

fn read_with(rules: ClaimRules, events: &[TranscriptEvent<'_>], signal: &ToolSignal) -> ClaimReading {
    let nonce = rules.nonce.clone();
    let mut finder = ClaimFinder::new(rules, "");
    events.iter().for_each(|event| finder.handle_event(*event));
    finder.finish().with_tool_signal(signal, nonce.as_ref())
}

fn read(events: &[TranscriptEvent<'_>]) -> ClaimReading {
    read_with(rules(), events, &done())
}

fn why(reading: &ClaimReading) -> String {
    match &reading.claim {
        Claim::Made { source, .. } => alloc::format!("claimed by {source:?}"),
        Claim::None { why } => why.to_string(),
    }
}

// spec: U8, S2
#[test]
fn a_claim_by_the_tool_counts_if_no_work_follows() {
    for events in [
        &[call("Edit"), call(CLAIM)][..],
        &[call("Edit"), call(CLAIM), TranscriptEvent::ToolUsed, text("The parser works now.")],
        &[text("I am going to claim completion."), call(CLAIM), TranscriptEvent::TurnFinished],
    ] {
        assert_eq!(why(&read(events)), "claimed by Tool", "{events:?}");
    }
}

// spec: U8
#[test]
fn a_claim_by_the_tool_does_not_count_if_the_agent_worked_afterwards() {
    let reading = read(&[call(CLAIM), call("Bash"), text("Now it is done.")]);
    assert_eq!(why(&reading), "the agent used Bash after claim_completion, which must be its last call");
    let unnamed = read(&[call(CLAIM), call("")]);
    assert_eq!(why(&unnamed), "the agent used another tool after claim_completion, which must be its last call");
    let skipped = read(&[call(CLAIM), TranscriptEvent::RecordSkipped, text("Done.")]);
    assert!(why(&skipped).contains("a record that was too long to read"), "{}", why(&skipped));
}

// spec: U8
#[test]
fn a_claim_that_is_repeated_after_the_work_counts() {
    assert_eq!(why(&read(&[call(CLAIM), call("Bash"), call(CLAIM)])), "claimed by Tool");
}

// spec: U8
#[test]
fn the_other_tools_of_ralph_are_not_work() {
    let others = ["mcp__ralph__read_task", "ralph.report_progress", "ralph_read_status", "create_followup_task"];
    for other in others {
        assert_eq!(why(&read(&[call(CLAIM), call(other)])), "claimed by Tool", "{other}");
    }
}

// spec: U8
#[test]
fn a_tool_is_recognised_with_the_prefix_of_every_agent() {
    for name in [
        "claim_completion",
        "mcp__ralph__claim_completion",
        "ralph.claim_completion",
        "ralph_claim_completion",
        "ralph-claim_completion",
    ] {
        assert_eq!(AgentTool::from_called_name(name), Some(AgentTool::ClaimCompletion), "{name}");
    }
    for name in ["", "disclaim_completion", "claim_completion2", "mcp__ralph__claim_completion (sub-agent)", "wait"] {
        assert_eq!(AgentTool::from_called_name(name), None, "{name}");
    }
}

// spec: U8
#[test]
fn a_claim_whose_call_cannot_be_seen_in_the_output_does_not_count() {
    let reading = read(&[text("I have called the tool.")]);
    assert_eq!(reading.claim, Claim::None { why: NoClaimReason::ToolCallNotSeen { tool: "claim_completion".into() } });
    let by_words = read(&[text("<promise>DONE</promise>")]);
    assert_eq!(why(&by_words), "claimed by Message", "the words count as ever");
}

// spec: U8, S4
#[test]
fn a_message_after_the_tool_outranks_it() {
    let blocked = read(&[call(CLAIM), text("<blocked>needs STRIPE_KEY</blocked>")]);
    assert_eq!((blocked.blocked.as_deref(), blocked.claim.is_made()), (Some("needs STRIPE_KEY"), false));
    let other = read(&[call(CLAIM), text("<promise>NOT_YET</promise>")]);
    assert_eq!(why(&other), "the last promise has a different text: NOT_YET");
    let promised = read(&[call(CLAIM), text("<promise>DONE</promise>")]);
    assert_eq!(why(&promised), "claimed by Message");
}

// spec: U8, S4
#[test]
fn a_tool_after_the_message_outranks_it() {
    let reading = read(&[text("<blocked>needs STRIPE_KEY</blocked>"), call("Bash"), call(CLAIM)]);
    assert_eq!((why(&reading).as_str(), reading.blocked), ("claimed by Tool", None));
    let blocked = ToolSignal::Blocked { reason: "needs STRIPE_KEY".to_string() };
    let calls = [text("<promise>DONE</promise>"), call("mcp__ralph__report_blocked")];
    let reading = read_with(rules(), &calls, &blocked);
    assert_eq!((reading.blocked.as_deref(), reading.claim.is_made()), (Some("needs STRIPE_KEY"), false));
}

// spec: U8, S4
#[test]
fn a_claim_by_the_tool_that_the_message_takes_back_does_not_count() {
    let reading = read(&[call(CLAIM), text("Wait, I was wrong: the work is not done yet.")]);
    assert!(matches!(reading.claim, Claim::None { why: NoClaimReason::Retracted { .. } }), "{}", why(&reading));
}

// spec: U8, S7
#[test]
fn open_work_in_the_message_or_in_the_summary_is_a_contradiction() {
    let in_message = read(&[call(CLAIM), text("Still need to write the parser.")]);
    assert!(in_message.claim.contradiction().is_some(), "{in_message:?}");
    let signal = ToolSignal::Done { summary: "Done. 2 tests fail.".to_string() };
    let in_summary = read_with(rules(), &[call(CLAIM)], &signal);
    assert!(in_summary.claim.contradiction().is_some(), "{in_summary:?}");
    let off = ClaimRules { contradictions: ContradictionSearch::Off, ..rules() };
    let ignored = read_with(off, &[call(CLAIM)], &signal);
    assert!(ignored.claim.is_made() && ignored.claim.contradiction().is_none(), "{ignored:?}");
}

// spec: U8, S9
#[test]
fn a_claim_by_the_tool_does_not_count_where_the_prompt_asks_for_a_nonce() {
    let rules = ClaimRules { nonce: Some(PromiseNonce::from_random(7)), ..rules() };
    assert_eq!(read_with(rules, &[call(CLAIM)], &done()).claim, Claim::None { why: NoClaimReason::WrongNonce });
}

// spec: U8, S4
#[test]
fn a_claim_by_the_tool_does_not_count_if_the_attempt_ended_in_an_error_or_its_output_was_lost() {
    let failed = read(&[call(CLAIM), TranscriptEvent::TurnFailed]);
    assert_eq!(failed.claim, Claim::None { why: NoClaimReason::EndedInError });
    let lost = read(&[call(CLAIM), TranscriptEvent::OutputLost]);
    assert_eq!(lost.claim, Claim::None { why: NoClaimReason::Unheard });
}

// spec: U8, L17
#[test]
fn a_wait_by_the_tool_counts_under_the_same_rule() {
    let request = WaitRequest { time: WaitTime::For { ms: 60_000 }, reason: "the build runs".to_string() };
    let signal = ToolSignal::Wait { request: request.clone() };
    let waits = read_with(rules(), &[call("ralph.request_wait")], &signal);
    assert_eq!((waits.wait, waits.claim), (Some(request), Claim::None { why: NoClaimReason::Waits }));
    let worked = read_with(rules(), &[call("ralph.request_wait"), call("shell")], &signal);
    assert_eq!(worked.wait, None);
}
