//! Random walks: what must hold for every text, in whatever pieces it arrives.
#![expect(clippy::unwrap_used, reason = "a test may stop at a surprise")]

use proptest::prelude::*;
use ralph_core::claim::{
    Claim, ClaimFinder, ClaimReading, ClaimRules, ClaimScope, MESSAGE_TAIL_BYTES, Promise, TranscriptEvent,
    Utf8Decoder, neutralise_tags,
};

fn rules() -> ClaimRules {
    ClaimRules::new(Promise::parse("DONE").unwrap())
}

/// Reads bytes that arrive in pieces of the given sizes.
fn read(bytes: &[u8], sizes: &[usize], prompt: &str) -> ClaimReading {
    let mut finder = ClaimFinder::new(rules(), prompt);
    let (mut stream, mut text, mut rest) = (Utf8Decoder::default(), String::new(), bytes);
    let mut sizes = sizes.iter().copied().cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(sizes.next().unwrap_or(rest.len()).clamp(1, rest.len()));
        rest = after;
        text.clear();
        stream.push(piece, &mut text);
        finder.handle_event(TranscriptEvent::AgentText { message: 7, text: &text });
    }
    text.clear();
    stream.finish(&mut text);
    finder.handle_event(TranscriptEvent::AgentText { message: 7, text: &text });
    finder.finish()
}

/// Pieces of text that matter to the rules, so that random texts reach them.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static [u8]> = vec![
        b"<promise>DONE</promise>",
        b"<promise>",
        b"</promise>",
        b"DONE",
        b"&lt;promise&gt;DONE&lt;/promise&gt;",
        b"\n",
        b"\n\n",
        b"```",
        b"~~~\n",
        b"> ",
        b"| a |",
        b"\r",
        b"\r\n",
        b"\x1b[2K",
        b"\x1b[K",
        b"\x1b[32m",
        b"\x1b]0;t\x07",
        b"\x1b",
        b"\xe2\x80\x8b",
        b"\xef\xbb\xbf",
        b"\xc2\xa0",
        b"\xe2",
        b"\xff",
        b"`",
        b"\"",
        b"    ",
        b"- ",
        b"1. ",
        b"All done. ",
        b"I will not say ",
        b"if it passes, ",
        b"Scratch that.",
        b"Two tests still fail. ",
        b"<event>",
        b"</event>",
        b"<thinking>",
        b"<!--",
        b"-->",
        b"so here it is:",
        b"<blocked>x</blocked>",
        b"<reject>",
        b"</reject>",
        b"?",
        b"...",
        b"^ ",
        b"\xe2\x9c\x85",
        b"<b>",
        b":tada:",
        b"[ ]",
    ];
    prop_oneof![
        6 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        1 => "[a-z ,.]{0,20}".prop_map(String::into_bytes),
    ]
}

fn output() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(fragment(), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    // spec: S8
    #[test]
    fn no_bytes_make_the_finder_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes, &[64], "");
    }

    // spec: S8
    #[test]
    fn the_pieces_in_which_words_arrive_change_nothing(bytes in output(), sizes in prop::collection::vec(1usize..9, 1..8), prompt in output()) {
        let prompt = String::from_utf8_lossy(&prompt).into_owned();
        prop_assert_eq!(read(&bytes, &sizes, &prompt), read(&bytes, &[usize::MAX], &prompt));
    }

    // spec: L4
    #[test]
    fn a_neutralised_text_never_signals(bytes in output()) {
        let dead = neutralise_tags(&String::from_utf8_lossy(&bytes));
        let reading = read(dead.as_bytes(), &[usize::MAX], "");
        prop_assert!(!matches!(reading.claim, Claim::Made { .. }), "{}", dead);
        prop_assert_eq!((reading.blocked, reading.reject), (None, None));
        prop_assert_eq!(neutralise_tags(&dead), dead);
    }

    // spec: S4
    #[test]
    fn any_sequence_of_messages_is_read(parts in prop::collection::vec((0u64..4, output()), 0..8)) {
        for scope in [ClaimScope::Final, ClaimScope::Iteration] {
            let mut finder = ClaimFinder::new(ClaimRules { scope, ..rules() }, "");
            for (message, bytes) in &parts {
                finder.handle_event(TranscriptEvent::AgentText { message: *message, text: &String::from_utf8_lossy(bytes) });
            }
            prop_assert!(finder.finish().final_text.len() <= MESSAGE_TAIL_BYTES);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    // spec: S8
    #[test]
    fn long_texts_are_kept_in_bounded_memory_whatever_the_pieces(
        line in "[a-z`\r ]{1,60}\n", times in 2_000usize..6_000, end in output(), size in 1usize..70_000,
    ) {
        let mut bytes = line.repeat(times).into_bytes();
        bytes.extend(end);
        let pieces = read(&bytes, &[size], "");
        prop_assert!(pieces.final_text.len() <= MESSAGE_TAIL_BYTES);
        prop_assert_eq!(pieces, read(&bytes, &[usize::MAX], ""));
    }
}
