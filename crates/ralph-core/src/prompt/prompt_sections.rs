//! Splits a prompt that was sent into the parts that different authors have written.
use alloc::string::String;
use alloc::vec::Vec;

/// The author of a part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAuthor {
    /// The task: the user's prompt, or the instructions of a role.
    Task,
    /// ralph's instructions about the loop.
    Ralph,
    /// Notes of earlier iterations.
    Notes,
    /// The result of the checks, or of the rules about claims, for the last iteration.
    Checks,
    /// Guidance of a person.
    Person,
}

impl PromptAuthor {
    /// Returns the name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Ralph => "ralph",
            Self::Notes => "agent's notes",
            Self::Checks => "checks",
            Self::Person => "you",
        }
    }
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    pub author: PromptAuthor,
    pub text: String,
}

/// The beginning of a part that ralph adds.
struct SectionStart {
    text: &'static str,
    author: PromptAuthor,
}

/// The order in which the parts can follow each other.
const SECTION_STARTS: [SectionStart; 11] = [
    SectionStart { text: "\n\n## Completion\n\nYou work in a loop: iteration ", author: PromptAuthor::Ralph },
    SectionStart {
        text: "\n\n## Notes\n\nThe next iteration will not remember this one.",
        author: PromptAuthor::Notes,
    },
    SectionStart { text: "\n\n## Your last claim was rejected\n\n", author: PromptAuthor::Checks },
    SectionStart { text: "\n\n## Your last promise did not count\n\n", author: PromptAuthor::Checks },
    SectionStart { text: "\n\n## Your last message was not a claim\n\n", author: PromptAuthor::Checks },
    SectionStart { text: "\n\n## The work does not count as done\n\n", author: PromptAuthor::Checks },
    SectionStart { text: "\n\n## Your wait is over\n\n", author: PromptAuthor::Ralph },
    SectionStart { text: "\n\nOriginal task:\n", author: PromptAuthor::Task },
    SectionStart { text: "\n\n## Nothing has changed\n\nThe last ", author: PromptAuthor::Ralph },
    SectionStart {
        text: "\n\n## Standing guidance\n\nThe person in charge of the loop said this.",
        author: PromptAuthor::Person,
    },
    SectionStart {
        text: "\n\n## Guidance\n\nWhile the loop ran, the person in charge of it said this",
        author: PromptAuthor::Person,
    },
];

/// The beginning of the prompt of a resumed session.
const CONTINUATION_START: &str = "[RALPH LOOP - ITERATION ";

/// Splits a prompt. All parts together are the prompt. Text that only looks like a part of ralph's is taken for one.
#[must_use]
pub fn split_prompt(prompt: &str) -> Vec<PromptSection> {
    let mut author = if prompt.starts_with(CONTINUATION_START) { PromptAuthor::Ralph } else { PromptAuthor::Task };
    let mut sections = Vec::new();
    let mut rest = prompt;
    let mut starts = &SECTION_STARTS[..];
    while let Some(found) = FoundStart::first_in(rest, starts) {
        let (text, after) = rest.split_at(found.at);
        sections.push(PromptSection { author, text: text.into() });
        (rest, starts, author) = (after, found.following, found.author);
    }
    sections.push(PromptSection { author, text: rest.into() });
    sections.retain(|section| !section.text.is_empty());
    sections
}

/// The beginning of the next part.
struct FoundStart<'a> {
    at: usize,
    author: PromptAuthor,
    /// The parts that can follow it.
    following: &'a [SectionStart],
}

impl<'a> FoundStart<'a> {
    fn first_in(text: &str, mut starts: &'a [SectionStart]) -> Option<Self> {
        let mut first: Option<Self> = None;
        while let Some((start, following)) = starts.split_first() {
            if let Some(at) = text.find(start.text)
                && first.as_ref().is_none_or(|first| at < first.at)
            {
                first = Some(Self { at, author: start.author, following });
            }
            starts = following;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::claim::Promise;
    use crate::prompt::{CompletionInstructions, PromptInput, PromptPlan, RejectionFeedback, render_prompt};

    fn authors(plan: &PromptPlan) -> Vec<PromptAuthor> {
        let promise = Promise::parse("DONE").unwrap();
        let guidance = vec!["use a map".to_string()];
        let input = PromptInput {
            task: "# Task\n\n## Guidance\n\nNone.",
            promise: &promise,
            nonce: None,
            checks: &[],
            iteration: 2,
            max_iterations: 5,
            completion: CompletionInstructions::Appended,
            notes: None,
            guidance: &guidance,
            standing_guidance: &guidance,
            can_wait: false,
        };
        let prompt = render_prompt(plan, &input);
        let sections = split_prompt(&prompt);
        let joined: String = sections.iter().map(|section| section.text.as_str()).collect();
        assert_eq!(joined, prompt);
        sections.into_iter().map(|section| section.author).collect()
    }

    // spec: U5
    #[test]
    fn every_part_of_a_prompt_has_its_author() {
        use PromptAuthor::{Checks, Person, Ralph, Task};
        let feedback = RejectionFeedback::rejected_claim("2 tests failed".to_string(), "FAILED".to_string());
        let whole = PromptPlan::Whole { feedback: Some(feedback.clone()) };
        assert_eq!(authors(&whole), [Task, Ralph, Checks, Person, Person]);
        let continued = PromptPlan::Continuation { feedback: Some(feedback) };
        assert_eq!(authors(&continued), [Ralph, Task, Person, Person]);
    }
}
