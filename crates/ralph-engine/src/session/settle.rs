//! Decide, record, act: the rules decide about a loop, and what they decided is kept before anybody hears of it.
use ralph_core::session::{Answer, Happening, Idle, decide};

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

/// Ends the loops of sessions that are gone: most programs tell nobody when a session is over. What cannot be ended now is
/// ended later.
pub fn end_forsaken(book: &Book) {
    let Ok((entries, _)) = book.all() else { return };
    for entry in entries.iter().filter(|entry| entry.state.is_forsaken(now().at)) {
        let key = Key::new(entry.host.as_deref(), &entry.session);
        // Somebody who has its turn is still there.
        if let Ok(Some(_turn)) = book.turn(&key) {
            let _ = settle(book, (&key, &entry.id), |_| Happening::Idle(Idle::default()));
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::budget::Budget;
    use ralph_core::claim::{ClaimRules, Promise};
    use ralph_core::event::Millis;
    use ralph_core::policy::Policy;
    use ralph_core::session::{Moment, Plan, begin};

    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    fn entry(session: &str, hours_ago: u64) -> Entry {
        let budget = Budget { max_duration_ms: Some(12 * HOUR_MS), ..Budget::default() };
        let plan = Plan {
            prompt: "Do it.".to_owned(),
            rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
            criteria: Vec::new(),
            policy: Policy { budget, ..Policy::new(10) },
            sealing: None,
        };
        let at = Millis(now().at.0 - (hours_ago * HOUR_MS).cast_signed());
        let state = begin(plan, &Moment { at, ..now() });
        Entry::new((Some("claude".to_owned()), session.to_owned()), "/".into(), state)
    }

    // spec: H4
    #[test]
    fn the_loop_of_a_session_that_keeps_silent_long_after_its_time_is_over() {
        let temp = tempfile::tempdir().unwrap();
        let book = Book::at(temp.path().join("loops"));
        for (session, hours_ago) in [("gone", 100), ("may come back", 30), ("new", 1)] {
            let key = Key::new(Some("claude"), session);
            book.change(&key, |_| (Some(entry(session, hours_ago)), ())).unwrap();
        }
        end_forsaken(&book);
        let outcome = |session: &str| {
            let found = book.find(&Key::new(Some("claude"), session)).unwrap().unwrap();
            found.state.machine.ended().map(|ended| ended.outcome.as_str())
        };
        assert_eq!(outcome("gone"), Some("over_budget"));
        assert_eq!((outcome("may come back"), outcome("new")), (None, None));
    }
}
