//! Words, sentences and the patterns of the language tables.
pub(crate) mod pattern;
pub(crate) mod prose_words;
pub(crate) mod quote;
#[cfg(test)]
pub(crate) mod step_counter;
