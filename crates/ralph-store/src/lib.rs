//! The stored truth of every run: a journal of facts and the projections that people read, changed together
//! in one transaction. It stores and reads; it never decides.
mod backup;
mod batch;
mod claims;
mod error;
mod forget;
mod given;
mod going_back;
mod guard;
mod header;
mod keep;
mod migrate;
mod open;
mod orders;
mod place;
mod project;
mod read;
pub mod receipt;
mod record;
mod rows;
mod seen;
mod shares;
mod stats;
mod sum;
mod take_over;
mod task_rows;
mod tasks;
mod transfer;
mod used;

pub use claims::{Advance, Among, Claim, Claimed, Keeping, Lease, Returned};
pub use error::{BUSY, Damage, Kept, StoreError, Trouble};
pub use forget::LastSeen;
pub use open::Opening;
pub use orders::{Addressee, LoopRow, NewOrder, OrderAnswer, PassedOn, Settled, WaitingOrder};
pub use read::EventRow;
pub use record::{Entry, FIRST_FENCE, NewRun, NewStage};
pub use rows::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow};
pub use stats::{Grouping, KeyedPart};
pub use take_over::{Right, StoredRun};
pub use task_rows::{StageRun, TaskHead, TaskRow};
pub use tasks::TaskChange;
pub use transfer::{EXPORT_VERSION, ImportedFact, RunHeader};

use std::path::{Path, PathBuf};
use std::sync::{Mutex as Lock, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use tokio::sync::Mutex;

use guard::{Seen, Since};
use open::Depth;
use place::Place;
use read::Latest;

/// One connection: there is one writer in a process, and readers of other processes never wait for it.
pub struct Store {
    connection: Mutex<SqliteConnection>,
    /// One of this process's loops writes at a time: from looking whether others wrote to remembering what it wrote.
    turn: Mutex<()>,
    path: PathBuf,
    place: Place,
    /// What this process wrote last, and how the files looked then.
    written: Lock<Option<(Written, Seen)>>,
    /// Which database this is, read with the first write.
    identity: OnceLock<String>,
    /// When it was last looked through because others had written, and how long that took.
    looked: Lock<Option<(Instant, Duration)>>,
}

/// How often it is looked through while others write too, and how much of the time that may take.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
const LOOKING_SHARE: u32 = 20;

#[derive(Clone)]
struct Written {
    run: String,
    fence: i64,
    /// The loop, as JSON.
    state: String,
}

impl Store {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes the database. The next process then need not read what this one left in the write-ahead log.
    pub async fn close(self) {
        // Everything is stored already; a log that stays is read again.
        let _ = self.connection.into_inner().close().await;
    }

    /// Leaves the database as it lies. SQLite would write its log into the file on closing, whatever became of
    /// that, and dies of shared memory that shrank.
    pub fn abandon(self) {
        std::mem::forget(self);
    }

    /// Remembers what was written, and how the files look now.
    fn remember(&self, written: Written) {
        let seen = Seen::now(&self.path);
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some((written, seen));
    }

    /// Writes something that belongs to no run.
    async fn written_beside<T>(
        &self,
        query: read::Query,
        read: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let _turn = self.turn.lock().await;
        let rows = self.rows(query, read).await;
        self.wrote_beside();
        rows
    }

    /// Takes note of a write of this process that belongs to no run.
    fn wrote_beside(&self) {
        if let Some((_, seen)) = &mut *self.written.lock().unwrap_or_else(PoisonError::into_inner) {
            *seen = Seen::now(&self.path);
        }
    }

    /// Refuses to go on when somebody removed, replaced or changed the files since the last write.
    async fn untouched(&self) -> Result<(), StoreError> {
        let (written, since) = match &*self.written.lock().unwrap_or_else(PoisonError::into_inner) {
            None => return Ok(()),
            Some((written, seen)) => (written.clone(), Seen::now(&self.path).since(seen)),
        };
        match since {
            Since::Untouched => Ok(()),
            Since::Gone => Err(StoreError::Gone { path: self.path.clone() }),
            Since::Cut => Err(self.changed()),
            Since::Written if self.still_holds(&written).await => Ok(()),
            Since::Written => Err(self.changed()),
        }
    }

    /// Reads the files anew, as another process would, and tells whether they are sound and hold what was
    /// written last. Then the one who wrote was another ralph. One that took the run over has written more; the
    /// fence keeps us from writing then.
    async fn still_holds(&self, written: &Written) -> bool {
        let Ok(connection) = open::connect(&self.place).await else { return false };
        let fresh = Self::on(connection, self.place.clone());
        let same = fresh.read_identity().await.is_ok_and(|found| self.identity.get() == Some(&found));
        let sound = !self.must_look() || self.looks_sound(&fresh).await;
        let holds = |latest: Latest| latest.fence > written.fence || latest.state == written.state;
        if same && sound && fresh.latest(&written.run).await.is_ok_and(holds) {
            fresh.close().await;
            return true;
        }
        fresh.abandon();
        false
    }

    /// Several workers write all the time, and looking through takes the longer the more there is.
    fn must_look(&self) -> bool {
        let looked = *self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.is_none_or(|(at, took)| at.elapsed() >= LOOK_AGAIN.max(took * LOOKING_SHARE))
    }

    async fn looks_sound(&self, fresh: &Self) -> bool {
        let began = Instant::now();
        let sound = fresh.look_through(Depth::Whole).await.is_ok();
        let looked = (Instant::now(), began.elapsed());
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(looked);
        sound
    }

    fn changed(&self) -> StoreError {
        StoreError::Changed { path: self.path.clone(), kept: keep::copy(&self.path) }
    }

    fn failed(&self, source: sqlx::Error) -> StoreError {
        StoreError::of(&self.path, source)
    }
}
