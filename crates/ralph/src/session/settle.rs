//! Decide, record, act: the rules decide about a loop, and what they decided is kept before anybody hears of it.
use ralph_core::session::{Answer, Happening, decide};

use super::book::{Book, BookError, Key};
use super::clock::now;
use super::entry::Entry;

/// Lets the rules decide about a loop, if it is still the one that is meant, and keeps what they decided.
pub fn settle(
    book: &Book,
    (key, id): (&Key, &str),
    happening: impl FnOnce(&mut Entry) -> Happening,
) -> Result<(Option<Entry>, Answer), BookError> {
    let (entry, answer) = book.change(key, |entry| {
        let Some(mut entry) = entry.filter(|entry| entry.id == id) else {
            return (None, (None, Answer::silent()));
        };
        let happening = happening(&mut entry);
        let (state, answer) = decide(entry.state, happening, &now());
        let entry = Entry { state, ..entry };
        (Some(entry.clone()), (Some(entry), answer))
    })?;
    // The loop goes on without its history where that cannot be written.
    let _ = book.journal(key).record(id, &answer.facts);
    Ok((entry, answer))
}
