//! The readings of the loader that the screen has not taken. Only the newest counts: while another program has the terminal, nothing
//! piles up.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_app::board::BoardSnapshot;

use crate::model::board_input::BoardInput;

#[derive(Debug, Clone, Default)]
pub(crate) struct ReadingSlot(Arc<Mutex<NewestReading>>);

#[derive(Debug, Default)]
struct NewestReading {
    snapshot: Option<Arc<BoardSnapshot>>,
    /// The newest report after the snapshot: that nothing has changed, or that the project cannot be read.
    report: Option<BoardInput>,
}

impl ReadingSlot {
    /// Replaces what was not taken. A report leaves the snapshot before it.
    pub(super) fn put(&self, input: BoardInput) {
        let mut newest = self.lock();
        *newest = match input {
            BoardInput::Snapshot(snapshot) => NewestReading { snapshot: Some(snapshot), report: None },
            report => NewestReading { snapshot: newest.snapshot.take(), report: Some(report) },
        };
    }

    /// Takes what has come since the last call, the snapshot first.
    pub(crate) fn take(&self) -> Vec<BoardInput> {
        let NewestReading { snapshot, report } = std::mem::take(&mut *self.lock());
        snapshot.map(BoardInput::Snapshot).into_iter().chain(report).collect()
    }

    fn lock(&self) -> MutexGuard<'_, NewestReading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::UnixMillis;

    use super::*;

    fn snapshot(at: i64) -> BoardInput {
        BoardInput::Snapshot(Arc::new(BoardSnapshot { taken_at: UnixMillis(at), ..BoardSnapshot::default() }))
    }

    fn times(slot: &ReadingSlot) -> Vec<i64> {
        let time = |input: BoardInput| match input {
            BoardInput::Snapshot(snapshot) => snapshot.taken_at.0,
            BoardInput::Unchanged(at) => at.0,
            _ => -1,
        };
        slot.take().into_iter().map(time).collect()
    }

    // spec: U4
    #[test]
    fn a_screen_that_does_not_look_gets_only_the_newest_snapshot_and_what_followed_it() {
        let slot = ReadingSlot::default();
        for at in 0..10_000 {
            slot.put(snapshot(at));
            slot.put(BoardInput::Unchanged(UnixMillis(at)));
        }
        slot.put(BoardInput::LoadFailed("busy".to_owned()));
        assert_eq!(times(&slot), [9_999, -1]);
        assert_eq!(times(&slot), Vec::<i64>::new());
        slot.put(BoardInput::LoadFailed("busy".to_owned()));
        slot.put(snapshot(7));
        assert_eq!(times(&slot), [7]);
    }
}
