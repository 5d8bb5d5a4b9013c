//! Recognises the prompt where a tool prints it back. A tag inside a byte-exact echo of the prompt is
//! the words of the user, so the whole echo is blanked out before anything is judged.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::clean::clean;
use super::cut;
use super::tag::{marks, tags};
use super::tail::{Dropped, KEPT_BYTES};

/// How many bytes one search may compare, so that a hostile text cannot make it slow.
const BUDGET: usize = 32 * 1024 * 1024;

/// The part of the prompt that can appear around one of its tags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Echo {
    window: String,
    tags: Vec<usize>,
}

impl Echo {
    /// Remembers what is needed of `prompt`: nothing, when it holds no tags.
    pub(crate) fn of(prompt: &str) -> Self {
        let prompt = clean(prompt);
        let prompt = prompt.trim();
        let found: Vec<usize> = tags(prompt, &marks(prompt)).iter().map(|tag| tag.span.start).collect();
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Self::default() };
        let start = floor(prompt, first.saturating_sub(KEPT_BYTES));
        let end = floor(prompt, last + KEPT_BYTES);
        Self { window: cut(prompt, start..end).into(), tags: found.iter().map(|at| at - start).collect() }
    }

    /// Returns `text` with every echo replaced by blanks; line breaks stay where they are.
    pub(crate) fn blank_out<'a>(&self, text: &'a str, dropped: Dropped) -> Cow<'a, str> {
        let echoes = self.find(text, dropped);
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

    fn find(&self, text: &str, dropped: Dropped) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.tags.is_empty() {
            return found;
        }
        let mut budget = BUDGET;
        for tag in tags(text, &marks(text)) {
            let at = tag.span.start;
            if found.last().is_some_and(|echo| echo.contains(&at)) {
                continue;
            }
            let fits = self.tags.iter().find_map(|&own| {
                let overlap = self.overlap(text, at, own, dropped)?;
                budget = budget.checked_sub(overlap.len())?;
                self.aligned(text, at, own, overlap)
            });
            found.extend(fits);
        }
        found
    }

    /// Lays the prompt over the text so that two tags meet, and returns what overlaps. A beginning that
    /// was never there cannot be echoed, one that fell out of memory can.
    fn overlap(&self, text: &str, at: usize, own: usize, dropped: Dropped) -> Option<Range<usize>> {
        if own > at && dropped == Dropped::Nothing {
            return None;
        }
        let tail = (self.window.len() - own).min(text.len() - at);
        Some(at - own.min(at)..at + tail)
    }

    fn aligned(&self, text: &str, at: usize, own: usize, overlap: Range<usize>) -> Option<Range<usize>> {
        let ours = self.window.as_bytes().get(own + overlap.start - at..own + overlap.end - at)?;
        let theirs = text.as_bytes().get(overlap.clone())?;
        (ours == theirs).then_some(overlap)
    }
}

fn floor(text: &str, at: usize) -> usize {
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
        let seen = Echo::of(PROMPT).blank_out(&text, Dropped::Nothing);
        assert_eq!(seen.matches("<promise>").count(), 1);
        assert_eq!(seen.len(), text.len());
        assert!(seen.ends_with("done\n<promise>OK</promise>"));
    }

    // spec: S2
    #[test]
    fn an_echo_that_breaks_off_is_still_an_echo() {
        let seen = Echo::of(PROMPT)
            .blank_out("Do it.\nThen print:\n<promise>OK</promise>\n\nOne st", Dropped::Nothing)
            .into_owned();
        assert!(seen.trim().is_empty());
    }

    // spec: S2
    #[test]
    fn the_agents_own_tag_is_no_echo() {
        let text = "<promise>OK</promise>";
        assert_eq!(Echo::of(PROMPT).blank_out(text, Dropped::Nothing), text);
        assert_eq!(Echo::of("Print <promise>OK</promise>").blank_out(text, Dropped::Nothing), text);
    }

    #[test]
    fn a_prompt_without_tags_costs_nothing() {
        assert!(Echo::of(&"word ".repeat(100_000)).window.is_empty());
    }
}
