//! The rules that decide whether a tag is a claim or only mentioned.
pub(crate) mod evaluate;
pub(crate) mod prompt_echo;
pub(crate) mod retraction;
pub(crate) mod sentence_mood;
pub(crate) mod surrounding_lines;
pub(crate) mod tag_usage;
