//! Opening the database: private files of our own, write-ahead log, bounded waiting for other writers. What is
//! damaged is refused, and left as it lies.
use std::io;
use std::path::Path;
use std::sync::{Mutex as Lock, OnceLock};
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use tokio::sync::Mutex;

use super::header::{Inside, judge};
use super::migrate::{self, KNOWN};
use super::place::Place;
use super::{Damage, Store, StoreError};

/// How long a writer waits for another process before it gives up.
const BUSY: Duration = Duration::from_secs(10);

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
        let inside =
            inside(&place).map_err(unusable)?.map_err(|what| StoreError::damaged(&place.path, what))?;
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

/// Looks twice before it calls something damaged: another process may be at work on it.
fn inside(place: &Place) -> io::Result<Result<Inside, Damage>> {
    match judge(&place.outside()?) {
        Ok(inside) => Ok(Ok(inside)),
        Err(_) => Ok(judge(&place.outside()?)),
    }
}

pub(super) async fn connect(place: &Place) -> Result<SqliteConnection, StoreError> {
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
