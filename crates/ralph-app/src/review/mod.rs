//! Texts that a person decides on. A decision counts for the text that the person has seen and for no other: it carries the
//! digest of that text, and is refused if the text has changed meanwhile.
mod project_commands;
mod shown_text;
mod task_terms;

pub use project_commands::{CommandReview, approve_seen_commands};
pub use shown_text::ShownText;
pub use task_terms::{TaskTerms, approve_seen_task};
