//! The rules of claims, one sentence each, through the public face of the finder.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use ralph_core::claim::{
    Claim, ClaimFinder, ClaimReading, ClaimRules, ClaimScope, ContradictionSearch, NoClaimReason, PlainLinePolicy,
    Promise, PromiseMatching, PromiseNonce, TranscriptEvent,
};

const TAG: &str = "<promise>COMPLETE</promise>";

fn rules() -> ClaimRules {
    ClaimRules::new(Promise::parse("COMPLETE").unwrap())
}

fn read_with(rules: ClaimRules, events: &[TranscriptEvent<'_>]) -> ClaimReading {
    let mut finder = ClaimFinder::new(rules, "");
    events.iter().for_each(|one| finder.handle_event(*one));
    finder.finish()
}

fn own(message: u64, text: &str) -> TranscriptEvent<'_> {
    TranscriptEvent::AgentText { message, text }
}

fn read(text: &str) -> ClaimReading {
    read_with(rules(), &[own(1, text)])
}

fn is_claim(reading: &ClaimReading) -> bool {
    matches!(reading.claim, Claim::Made { .. })
}

fn why(reading: &ClaimReading) -> &NoClaimReason {
    match &reading.claim {
        Claim::None { why } => why,
        Claim::Made { .. } => panic!("there is a claim: {reading:?}"),
    }
}

// spec: S1
#[test]
fn a_tag_claims_in_any_letter_case() {
    assert!(is_claim(&read("<Promise> complete </PROMISE>")));
}

// spec: S1
#[test]
fn exact_matching_is_case_sensitive_and_requires_a_separate_line() {
    let exact = || ClaimRules { matching: PromiseMatching::Exact, ..rules() };
    assert!(is_claim(&read_with(exact(), &[own(1, "Done.\n<promise>COMPLETE</promise>")])));
    assert!(!is_claim(&read_with(exact(), &[own(1, "Done.\n<promise>complete</promise>")])));
    assert_eq!(*why(&read_with(exact(), &[own(1, "Done. <promise>COMPLETE</promise>")])), NoClaimReason::NotAlone);
}

// spec: S2
#[test]
fn an_echo_of_the_prompt_is_not_the_agents_words() {
    let prompt = "Work.\nEnd with:\n<promise>COMPLETE</promise>\n";
    let mut finder = ClaimFinder::new(rules(), prompt);
    finder.handle_event(own(1, &format!("> session\n{prompt}\nStory 3 is in.\n")));
    assert_eq!(*why(&finder.finish()), NoClaimReason::NoTag);
}

// finding: N25
// spec: S4, S13
#[test]
fn only_the_final_message_counts_and_an_earlier_promise_is_named() {
    let later = read_with(rules(), &[own(1, TAG), own(2, "One more look around.")]);
    assert_eq!(*why(&later), NoClaimReason::Earlier);
    let none = read_with(rules(), &[own(1, "I will print it."), own(2, "One more look around.")]);
    assert_eq!(*why(&none), NoClaimReason::NoTag);
    assert!(is_claim(&read_with(rules(), &[own(1, "Plan."), own(2, TAG)])));
}

// spec: S4
#[test]
fn an_empty_message_does_not_replace_the_words_before_it() {
    assert!(is_claim(&read_with(rules(), &[own(1, TAG), own(2, " \n\u{200b}\n")])));
}

// spec: S4
#[test]
fn the_whole_iteration_counts_when_the_scope_says_so() {
    let all = || ClaimRules { scope: ClaimScope::Iteration, ..rules() };
    assert!(is_claim(&read_with(all(), &[own(1, TAG), own(2, "Tidied up the branch.")])));
    let taken_back = read_with(all(), &[own(1, TAG), own(2, "I spoke too soon: lint fails.")]);
    assert!(matches!(why(&taken_back), NoClaimReason::Retracted { .. }));
    let other = read_with(all(), &[own(1, TAG), own(2, "<promise>BLOCKED</promise>"), own(3, "Bye.")]);
    assert_eq!(*why(&other), NoClaimReason::OtherPromise { found: "BLOCKED".into() });
}

// spec: S4
#[test]
fn a_new_prompt_discards_earlier_messages() {
    assert_eq!(*why(&read_with(rules(), &[own(1, TAG), TranscriptEvent::NewPrompt])), NoClaimReason::NoWords);
}

// spec: S4
#[test]
fn an_error_cancels_a_claim_and_a_later_message_can_claim_again() {
    assert_eq!(*why(&read_with(rules(), &[own(1, TAG), TranscriptEvent::TurnFailed])), NoClaimReason::EndedInError);
    assert!(is_claim(&read_with(rules(), &[own(1, "Trying."), TranscriptEvent::TurnFailed, own(2, TAG)])));
}

// spec: S4
#[test]
fn a_transcript_with_lost_output_has_no_claim() {
    for events in [vec![own(1, TAG), TranscriptEvent::OutputLost], vec![TranscriptEvent::OutputLost, own(1, TAG)]] {
        assert_eq!(*why(&read_with(rules(), &events)), NoClaimReason::Unheard);
    }
    let events = [
        own(1, TAG),
        TranscriptEvent::OutputLost,
        TranscriptEvent::TurnFailed,
        TranscriptEvent::NewPrompt,
        own(2, TAG),
    ];
    assert_eq!(*why(&read_with(rules(), &events)), NoClaimReason::Unheard);
}

// spec: S4, S8
#[test]
fn a_promise_before_a_skipped_record_is_not_a_claim() {
    assert_eq!(*why(&read_with(rules(), &[own(1, TAG), TranscriptEvent::RecordSkipped])), NoClaimReason::Unread);
    assert_eq!(
        *why(&read_with(rules(), &[own(1, TAG), TranscriptEvent::TurnFailed, TranscriptEvent::RecordSkipped])),
        NoClaimReason::EndedInError
    );
    assert_eq!(
        *why(&read_with(rules(), &[own(1, TAG), TranscriptEvent::RecordSkipped, TranscriptEvent::OutputLost])),
        NoClaimReason::Unheard
    );
    assert!(is_claim(&read_with(rules(), &[own(1, "Trying."), TranscriptEvent::RecordSkipped, own(2, TAG)])));
    let blank = [own(1, TAG), TranscriptEvent::RecordSkipped, own(2, " \n")];
    assert_eq!(*why(&read_with(rules(), &blank)), NoClaimReason::Unread, "blanks are no words");
}

// spec: S4
// finding: N28
#[test]
fn a_later_turn_without_work_does_not_withdraw_the_claim_of_a_finished_turn() {
    use TranscriptEvent::{NewPrompt, ToolUsed, TurnFinished};
    let read = |events: &[TranscriptEvent<'_>]| is_claim(&read_with(rules(), events));
    let claim = format!("All tests pass.\n\n{TAG}");
    let wake_up = own(2, "The background command has ended. Nothing changed.");
    assert!(read(&[own(1, &claim), TurnFinished, wake_up, TurnFinished]));
    assert!(read(&[own(1, &claim), TurnFinished, wake_up, TurnFinished, own(3, "Idle."), TurnFinished]));
    assert!(!read(&[own(1, &claim), wake_up, TurnFinished]), "the turn of the claim had not ended");
    assert!(!read(&[own(1, &claim), TurnFinished, ToolUsed, wake_up, TurnFinished]), "work followed");
    assert!(!read(&[own(1, &claim), TurnFinished, NewPrompt, wake_up, TurnFinished]), "another prompt followed");
    assert!(!read(&[own(1, &claim), TurnFinished, own(2, "I take that back: the build is red."), TurnFinished]));
    assert!(!read(&[own(1, &claim), TurnFinished, own(2, "<promise>BLOCKED</promise>"), TurnFinished]));
}

// spec: S4
#[test]
fn the_last_standalone_promise_wins() {
    let text = format!("{TAG}\n\nThe deploy was refused:\n\n<promise>BLOCKED</promise>");
    assert_eq!(*why(&read(&text)), NoClaimReason::OtherPromise { found: "BLOCKED".into() });
    assert!(is_claim(&read(&format!("<promise>BLOCKED</promise>\n\nThe key is here now.\n\n{TAG}"))));
}

// spec: S5
#[test]
fn a_plain_line_counts_only_where_it_is_accepted() {
    let plain =
        |text: &str| is_claim(&read_with(ClaimRules { plain: PlainLinePolicy::Accepted, ..rules() }, &[own(1, text)]));
    assert!(plain("All is in.\n\nCOMPLETE\n"));
    assert!(plain(TAG));
    for text in [
        "INCOMPLETE",
        "not COMPLETE.",
        "COMPLETE 3 of 7",
        "complete",
        "```\nCOMPLETE\n```",
        "> COMPLETE",
        "The word I would print:\n\nCOMPLETE",
    ] {
        assert!(!plain(text), "{text}");
    }
    assert!(!is_claim(&read("COMPLETE")));
}

// spec: S6
#[test]
fn a_blocked_or_reject_signal_carries_its_reason() {
    let blocked = read("I tried.\n\n<blocked>no key for\nthe sandbox</blocked>");
    assert_eq!(blocked.blocked.as_deref(), Some("no key for the sandbox"));
    assert_eq!(*why(&blocked), NoClaimReason::Blocked);
    let reject = read("The tests do not cover deletion.\n\n<reject>deletion is &lt;untested&gt;</reject>");
    assert_eq!(reject.reject.as_deref(), Some("deletion is <untested>"));
}

// spec: S6
#[test]
fn the_last_signal_decides_and_mentions_are_none() {
    let text = format!("<blocked>no key</blocked>\n\nThe key arrived while I wrote this.\n\n{TAG}");
    let reading = read(&text);
    assert!(is_claim(&reading) && reading.blocked.is_none());
    assert_eq!(
        read(&format!("{TAG}\n\nThe server refuses the push.\n\n<blocked>no right to push</blocked>"))
            .blocked
            .as_deref(),
        Some("no right to push")
    );
    assert_eq!(read("I would send `<blocked>reason</blocked>` if I were stuck.").blocked, None);
    assert!(read("<reject>It says <promise>COMPLETE</promise> but nothing works</reject>").reject.is_some());
}

// spec: S7
#[test]
fn open_work_contradicts_a_claim_unless_the_check_is_off() {
    let text = format!("Two tests still fail.\n\n{TAG}");
    let found = |rules: ClaimRules| match read_with(rules, &[own(1, &text)]).claim {
        Claim::Made { contradiction, .. } => contradiction,
        Claim::None { why } => panic!("{why}"),
    };
    assert_eq!(found(rules()).unwrap().sentence, "Two tests still fail.");
    assert_eq!(found(ClaimRules { contradictions: ContradictionSearch::Off, ..rules() }), None);
}

// spec: S7
#[test]
fn users_can_add_contradiction_phrases() {
    let extra =
        || ClaimRules { contradictions: ContradictionSearch::On { extra: vec!["good enough".into()] }, ..rules() };
    let flagged = |text: &str| match read_with(extra(), &[own(1, text)]).claim {
        Claim::Made { contradiction, .. } => contradiction.is_some(),
        Claim::None { why } => panic!("{why}"),
    };
    assert!(flagged(&format!("This is Good Enough, I think.\n\n{TAG}")));
    assert!(!flagged(&format!("This is good.\n\n{TAG}")));
}

// spec: S8
#[test]
fn a_tag_split_over_pieces_is_whole() {
    let pieces = ["All done.\n\n<pro", "mise>COM", "PLETE</", "promise", ">"];
    let events: Vec<TranscriptEvent<'_>> = pieces.iter().map(|piece| own(1, piece)).collect();
    assert!(is_claim(&read_with(rules(), &events)));
}

// spec: S8
#[test]
fn a_tag_at_the_end_of_a_huge_line_is_found_and_one_far_before_the_end_is_not() {
    let long = "x".repeat(64 * 1024 * 1024);
    let mut finder = ClaimFinder::new(rules(), "");
    finder.handle_event(own(1, &long));
    finder.handle_event(own(1, "\nAll done.\n<promise>COMPLETE</promise>"));
    assert!(is_claim(&finder.finish()));
    finder.handle_event(own(1, &long));
    assert_eq!(*why(&finder.finish()), NoClaimReason::NoTag);
}

// spec: S8
#[test]
fn a_code_fence_that_opened_long_ago_is_still_open() {
    let mut finder = ClaimFinder::new(rules(), "");
    finder.handle_event(own(1, "```\n"));
    for _ in 0..2000 {
        finder.handle_event(own(1, &"a line of a log\n".repeat(64)));
    }
    finder.handle_event(own(1, TAG));
    assert!(!is_claim(&finder.finish()));
    finder.handle_event(own(1, &format!("\n```\n\n{TAG}")));
    assert!(is_claim(&finder.finish()));
}

// spec: S9
#[test]
fn with_a_nonce_only_the_tag_with_that_id_counts() {
    let nonce = PromiseNonce::from_random(4711);
    let with = || ClaimRules { nonce: Some(nonce.clone()), ..rules() };
    let good = format!("<promise id=\"{}\">COMPLETE</promise>", nonce.as_str());
    assert!(is_claim(&read_with(with(), &[own(1, &good)])));
    assert_eq!(*why(&read_with(with(), &[own(1, TAG)])), NoClaimReason::WrongNonce);
    assert_eq!(
        *why(&read_with(with(), &[own(1, "<promise id=\"zzzz\">COMPLETE</promise>")])),
        NoClaimReason::WrongNonce
    );
    assert!(!is_claim(&read_with(rules(), &[own(1, &good)])));
    assert!(is_claim(&read_with(with(), &[own(1, &format!("{good}\n\n{TAG}"))])));
}

// spec: S11
#[test]
fn every_reason_is_a_plain_sentence() {
    let reading = read("Reply with `<promise>COMPLETE</promise>` when finished.");
    assert_eq!(
        why(&reading).to_string(),
        "the tag is in code formatting: Reply with `<promise>COMPLETE</promise>` when finished."
    );
}

// spec: S11
#[test]
fn a_claim_has_its_line_and_can_be_stored_and_restored() {
    let reading = read(&format!("One.\n\nTwo.\n{TAG}"));
    let Claim::Made { line, ref text, .. } = reading.claim else { panic!("{reading:?}") };
    assert_eq!((line, text.as_str()), (4, "COMPLETE"));
    let stored = serde_json::to_string(&reading).unwrap();
    assert_eq!(serde_json::from_str::<ClaimReading>(&stored).unwrap(), reading);
}

// spec: S8, S10
#[test]
fn the_line_of_a_claim_is_counted_from_the_beginning_of_a_message_of_any_length() {
    let line_of = |pieces: &[String]| {
        let events: Vec<TranscriptEvent<'_>> = pieces.iter().map(|piece| own(1, piece)).collect();
        match read_with(rules(), &events).claim {
            Claim::Made { line, .. } => line,
            Claim::None { why } => panic!("{why}"),
        }
    };
    let long: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(line_of(&[format!("{long}\n{TAG}")]), 100_002);
    let bytes: Vec<char> = long.chars().collect();
    let mut pieces: Vec<String> = bytes.chunks(7_001).map(|piece| piece.iter().collect()).collect();
    pieces.push(format!("\n{TAG}"));
    assert_eq!(line_of(&pieces), 100_002);
    assert_eq!(line_of(&[format!("\n\nDone.\n\n{TAG}")]), 5);
}
