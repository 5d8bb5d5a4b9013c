//! Opening the database: private files of our own, write-ahead log, bounded waiting for other writers. What is
//! damaged is refused, and left as it lies.
use std::io;
use std::path::Path;
use std::sync::{Mutex as Lock, OnceLock};
use std::time::{Duration, Instant};

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use tokio::sync::Mutex;

use super::header::{Inside, judge};
use super::migrate::{self, KNOWN};
use super::place::Place;
use super::{Damage, Store, StoreError};

/// How long a writer waits for another process before it gives up.
const BUSY: Duration = Duration::from_secs(10);
/// How soon somebody looks again at what another process may be making.
const BETWEEN: Duration = Duration::from_millis(10);

/// Whether a missing database is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    Create,
    Existing,
}

/// How thoroughly a database is looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Structure,
    /// Also whether the indexes agree with the tables.
    Whole,
}

impl Store {
    /// Opens the store of a state folder. With [`Opening::Existing`] a missing database is `None`.
    pub async fn open(folder: &Path, opening: Opening) -> Result<Option<Self>, StoreError> {
        let unusable = |source| StoreError::Folder { path: folder.to_path_buf(), source };
        let Some(place) = place(folder, opening).map_err(unusable)? else { return Ok(None) };
        let inside = inside(&place).await.map_err(unusable)?;
        let inside = inside.map_err(|what| StoreError::damaged(&place.path, what))?;
        let store = match (inside, opening) {
            (Inside::AtRest { schema }, _) if schema > KNOWN => {
                return Err(StoreError::Newer { path: place.path, found: schema, known: KNOWN });
            }
            (Inside::Nothing, Opening::Existing) => return Ok(None),
            (Inside::AtRest { schema }, Opening::Existing) if place.writable().is_err() => {
                if schema < KNOWN {
                    return Err(StoreError::Older { path: place.path, found: schema, known: KNOWN });
                }
                return Ok(Some(Self::on(read_only(&place).await?, place)));
            }
            (Inside::Nothing, Opening::Create) => {
                place.make_database().map_err(unusable)?;
                Self::held(place).await?
            }
            (Inside::InUse, Opening::Create) => Self::held(place).await?.sound().await?,
            (Inside::AtRest { .. } | Inside::InUse, _) => Self::held(place).await?,
        };
        migrate::migrate(&store).await?;
        if opening == Opening::Create {
            store.place.keep_out_of_git().map_err(unusable)?;
        }
        Ok(Some(store))
    }

    pub(super) fn on(connection: SqliteConnection, place: Place) -> Self {
        Self {
            connection: Mutex::new(connection),
            turn: Mutex::new(()),
            path: place.path.clone(),
            place,
            written: Lock::new(None),
            identity: OnceLock::new(),
            looked: Lock::new(None),
        }
    }

    /// Connects to the very file that was looked at.
    async fn held(place: Place) -> Result<Self, StoreError> {
        let look = || place.look().map_err(|source| StoreError::Folder { path: place.path.clone(), source });
        let before = look()?;
        let connection = connect(&place).await?;
        // Between looking and opening somebody may have put something else there.
        if before.is_none() || look()? != before {
            return Err(StoreError::Gone { path: place.path });
        }
        Ok(Self::on(connection, place))
    }

    /// The last process did not close the database, or another is using it: it is looked through.
    async fn sound(self) -> Result<Self, StoreError> {
        match self.look_through(Depth::Structure).await {
            Ok(()) => Ok(self),
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    pub(super) async fn look_through(&self, depth: Depth) -> Result<(), StoreError> {
        let mut connection = self.connection.lock().await;
        let sql = match depth {
            Depth::Structure => "PRAGMA quick_check(1)",
            Depth::Whole => "PRAGMA integrity_check(1)",
        };
        let found: Result<(String,), _> = sqlx::query_as(sql).fetch_one(&mut *connection).await;
        match found {
            Ok((ok,)) if ok == "ok" => Ok(()),
            Ok((what,)) => Err(StoreError::damaged(&self.path, Damage::Inside(what))),
            Err(source) => Err(self.failed(source)),
        }
    }
}

fn place(folder: &Path, opening: Opening) -> io::Result<Option<Place>> {
    match opening {
        Opening::Existing => Place::find(folder),
        Opening::Create => {
            let place = Place::make(folder)?;
            place.writable().map(|()| Some(place))
        }
    }
}

/// Looks again for as long as something changes before it calls something damaged: another process is at work on it.
async fn inside(place: &Place) -> io::Result<Result<Inside, Damage>> {
    let until = Instant::now() + BUSY;
    let mut seen = place.outside()?;
    loop {
        let judged = judge(&seen);
        if judged.is_ok() {
            return Ok(judged);
        }
        tokio::time::sleep(BETWEEN).await;
        let now = place.outside()?;
        if now == seen || Instant::now() > until {
            return Ok(judged);
        }
        seen = now;
    }
}

/// Connects. While another process makes the database, SQLite may refuse at once instead of waiting.
pub(super) async fn connect(place: &Place) -> Result<SqliteConnection, StoreError> {
    let until = Instant::now() + BUSY;
    loop {
        match connect_now(place).await {
            Err(error) if error.is_busy() && Instant::now() < until => tokio::time::sleep(BETWEEN).await,
            done => return done,
        }
    }
}

async fn connect_now(place: &Place) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(place.reachable())
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY);
    options.connect().await.map_err(|source| StoreError::of(&place.path, source))
}

/// SQLite cannot make its files beside the database there, and nobody can change it.
async fn read_only(place: &Place) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new().filename(place.reachable()).read_only(true).immutable(true);
    options.connect().await.map_err(|source| StoreError::of(&place.path, source))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    async fn opened_and_closed(folder: &Path) -> Result<(), StoreError> {
        if let Some(store) = Store::open(folder, Opening::Create).await? {
            store.close().await;
        }
        Ok(())
    }

    // spec: D1
    // fault: 59
    #[test]
    fn a_database_that_many_make_in_the_same_moment_is_sound_for_all_of_them() {
        const MAKERS: usize = 8;
        for round in 0..20 {
            let temp = tempfile::tempdir().unwrap();
            let gate = Barrier::new(MAKERS);
            thread::scope(|scope| {
                for _ in 0..MAKERS {
                    scope.spawn(|| {
                        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                        gate.wait();
                        let made = runtime.unwrap().block_on(opened_and_closed(&temp.path().join("state")));
                        assert!(made.is_ok(), "round {round}: {made:?}");
                    });
                }
            });
        }
    }
}
