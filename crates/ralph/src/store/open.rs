//! Opening the database: private files of our own, write-ahead log, bounded waiting for other writers.
use std::io;
use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use tokio::sync::Mutex;

use super::place::Place;
use super::{Store, StoreError, migrate};

/// How long a writer waits for another process before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// Whether a missing database is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    Create,
    Existing,
}

impl Store {
    /// Opens the store of a state folder. With [`Opening::Existing`] a missing database is `None`.
    pub async fn open(folder: &Path, opening: Opening) -> Result<Option<Self>, StoreError> {
        let unusable = |source| StoreError::Folder { path: folder.to_path_buf(), source };
        let Some(place) = place(folder, opening).map_err(unusable)? else { return Ok(None) };
        let Some(identity) = place.look().map_err(unusable)? else { return Ok(None) };
        let connection = connect(&place).await?;
        // Between looking and opening somebody may have put something else there.
        if place.look().map_err(unusable)? != Some(identity) {
            return Err(StoreError::Gone { path: place.path });
        }
        let store = Self { connection: Mutex::new(connection), path: place.path, identity };
        migrate::migrate(&store).await?;
        Ok(Some(store))
    }
}

fn place(folder: &Path, opening: Opening) -> io::Result<Option<Place>> {
    match opening {
        Opening::Existing => Place::find(folder),
        Opening::Create => {
            let place = Place::make(folder)?;
            place.make_database()?;
            place.keep_out_of_git()?;
            Ok(Some(place))
        }
    }
}

async fn connect(place: &Place) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(place.reachable())
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY);
    options.connect().await.map_err(|source| StoreError::Database { path: place.path.clone(), source })
}
