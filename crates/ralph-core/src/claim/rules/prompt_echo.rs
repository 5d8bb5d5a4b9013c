//! Recognises the prompt when a tool prints it back. A tag inside a byte-exact echo of the prompt was not written by
//! the agent, so the whole echo is blanked out before the message is evaluated.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::message::message_tail::{MESSAGE_TAIL_BYTES, TailTruncation};
use crate::claim::message::terminal_filter::strip_terminal_codes;
use crate::claim::signal_tag::{find_element_marks, find_signal_tags};
use crate::claim::slice_or_empty;

/// How many bytes one search may compare. The limit keeps the search fast on hostile text.
const MAX_COMPARED_BYTES: usize = 32 * 1024 * 1024;

/// The part of the prompt that can appear in a message tail around one of its tags.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptEcho {
    prompt_window: String,
    tag_offsets: Vec<usize>,
}

impl PromptEcho {
    /// Stores the part of `prompt` that is needed to find echoes. A prompt without tags needs no storage.
    pub(crate) fn from_prompt(prompt: &str) -> Self {
        let prompt = strip_terminal_codes(prompt);
        let prompt = prompt.trim();
        let found: Vec<usize> =
            find_signal_tags(prompt, &find_element_marks(prompt)).iter().map(|tag| tag.span.start).collect();
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Self::default() };
        let start = floor_char_boundary(prompt, first.saturating_sub(MESSAGE_TAIL_BYTES));
        let end = floor_char_boundary(prompt, last + MESSAGE_TAIL_BYTES);
        Self {
            prompt_window: slice_or_empty(prompt, start..end).into(),
            tag_offsets: found.iter().map(|at| at - start).collect(),
        }
    }

    /// Replaces every echo in `text` by blanks. Line breaks and byte offsets stay the same.
    pub(crate) fn blank_out<'a>(&self, text: &'a str, truncation: TailTruncation) -> Cow<'a, str> {
        let echoes = self.find_echoes(text, truncation);
        if echoes.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            let echoed = c != '\n' && echoes.iter().any(|echo| echo.contains(&at));
            if echoed { out.extend(core::iter::repeat_n(' ', c.len_utf8())) } else { out.push(c) }
        }
        Cow::Owned(out)
    }

    fn find_echoes(&self, text: &str, truncation: TailTruncation) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.tag_offsets.is_empty() {
            return found;
        }
        let mut budget = MAX_COMPARED_BYTES;
        for tag in find_signal_tags(text, &find_element_marks(text)) {
            let at = tag.span.start;
            if found.last().is_some_and(|echo| echo.contains(&at)) {
                continue;
            }
            let echo = self.tag_offsets.iter().find_map(|&prompt_offset| {
                let overlap = self.overlap_at(text, at, prompt_offset, truncation)?;
                budget = budget.checked_sub(overlap.len())?;
                self.match_overlap(text, at, prompt_offset, overlap)
            });
            found.extend(echo);
        }
        found
    }

    /// Aligns a tag of the prompt with the tag at `at` and returns the overlapping range of the text. If the start of
    /// the prompt would be before the start of the text, this is an echo only if the start of the text was dropped.
    fn overlap_at(
        &self,
        text: &str,
        at: usize,
        prompt_offset: usize,
        truncation: TailTruncation,
    ) -> Option<Range<usize>> {
        if prompt_offset > at && truncation == TailTruncation::Complete {
            return None;
        }
        let tail = (self.prompt_window.len() - prompt_offset).min(text.len() - at);
        Some(at - prompt_offset.min(at)..at + tail)
    }

    fn match_overlap(
        &self,
        text: &str,
        at: usize,
        prompt_offset: usize,
        overlap: Range<usize>,
    ) -> Option<Range<usize>> {
        let prompt_bytes =
            self.prompt_window.as_bytes().get(prompt_offset + overlap.start - at..prompt_offset + overlap.end - at)?;
        let text_bytes = text.as_bytes().get(overlap.clone())?;
        (prompt_bytes == text_bytes).then_some(overlap)
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "Do it.\nThen print:\n<promise>OK</promise>\n\nOne story per run.\n";

    // spec: S2
    #[test]
    fn an_echo_of_the_prompt_is_blanked_out() {
        let text = alloc::format!("user\n{PROMPT}\ndone\n<promise>OK</promise>");
        let blanked = PromptEcho::from_prompt(PROMPT).blank_out(&text, TailTruncation::Complete);
        assert_eq!(blanked.matches("<promise>").count(), 1);
        assert_eq!(blanked.len(), text.len());
        assert!(blanked.ends_with("done\n<promise>OK</promise>"));
    }

    // spec: S2
    #[test]
    fn a_truncated_echo_is_still_an_echo() {
        let blanked = PromptEcho::from_prompt(PROMPT)
            .blank_out("Do it.\nThen print:\n<promise>OK</promise>\n\nOne st", TailTruncation::Complete)
            .into_owned();
        assert!(blanked.trim().is_empty());
    }

    // spec: S2
    #[test]
    fn the_agents_own_tag_is_not_an_echo() {
        let text = "<promise>OK</promise>";
        assert_eq!(PromptEcho::from_prompt(PROMPT).blank_out(text, TailTruncation::Complete), text);
        assert_eq!(
            PromptEcho::from_prompt("Print <promise>OK</promise>").blank_out(text, TailTruncation::Complete),
            text
        );
    }

    #[test]
    fn a_prompt_without_tags_is_not_stored() {
        assert!(PromptEcho::from_prompt(&"word ".repeat(100_000)).prompt_window.is_empty());
    }
}
