//! Connections to the database file: write-ahead log, a busy timeout for other writers, and the integrity check.
use std::time::{Duration, Instant};

use super::database_files::DatabaseFiles;
use crate::StoreError;
use crate::driver::statement::sql;
use crate::driver::{DatabaseConnection, DriverError, SqliteAccess, SqliteTarget};

/// How long a writer waits for another process before it fails.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to retry while another process may be creating the database.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The settings of a connection that may write.
const WRITER_PRAGMAS: &[(&str, &str)] = &[("journal_mode", "WAL"), ("synchronous", "NORMAL")];
/// The settings while the first page is written. SQLite would sync its journal, the folder and the file, one after the
/// other, although the file has no content yet.
const CREATION_PRAGMAS: &[(&str, &str)] = &[("synchronous", "OFF")];

/// How thoroughly the integrity of a database is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntegrityDepth {
    Structure,
    /// Also checks that the indexes match the tables.
    Full,
}

/// Connects to an existing database, and retries while it is busy.
pub(crate) async fn connect_with_retry(files: &DatabaseFiles) -> Result<DatabaseConnection, StoreError> {
    retry_while_busy(|| connect(files, SqliteAccess::ReadWrite, WRITER_PRAGMAS)).await
}

/// Connects to a database file that was just created and is empty, and makes its first page durable.
pub(crate) async fn connect_to_new_file(files: &DatabaseFiles) -> Result<DatabaseConnection, StoreError> {
    let unusable = |source| StoreError::Folder { path: files.path.clone(), source };
    let mut connection = retry_while_busy(|| async {
        let mut connection = connect(files, SqliteAccess::ReadWrite, CREATION_PRAGMAS).await?;
        set_pragma(&mut connection, files, "PRAGMA journal_mode = WAL").await.map(|()| connection)
    })
    .await?;
    files.sync_database_file().map_err(unusable)?;
    set_pragma(&mut connection, files, "PRAGMA synchronous = NORMAL").await?;
    Ok(connection)
}

async fn set_pragma(
    connection: &mut DatabaseConnection,
    files: &DatabaseFiles,
    pragma: &'static str,
) -> Result<(), StoreError> {
    let set = connection.execute(sql!(pragma)).await;
    set.map(drop).map_err(|source| StoreError::from_driver(&files.path, source))
}

/// While another process creates the database, SQLite may fail at once instead of waiting.
///
/// An async closure instead would make the caller's future lose `Send`.
async fn retry_while_busy<F>(connect: impl Fn() -> F) -> Result<DatabaseConnection, StoreError>
where
    F: Future<Output = Result<DatabaseConnection, StoreError>>,
{
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connect().await {
            Err(error) if error.is_busy() && Instant::now() < deadline => tokio::time::sleep(RETRY_INTERVAL).await,
            result => return result,
        }
    }
}

/// Connects to a database in a folder without write access: SQLite cannot create its other files there, and no process
/// can change the database.
pub(crate) async fn connect_read_only(files: &DatabaseFiles) -> Result<DatabaseConnection, StoreError> {
    connect(files, SqliteAccess::Immutable, &[]).await
}

async fn connect(
    files: &DatabaseFiles,
    access: SqliteAccess,
    pragmas: &'static [(&'static str, &'static str)],
) -> Result<DatabaseConnection, StoreError> {
    let target = SqliteTarget { path: files.sqlite_path(), access, busy_timeout: BUSY_TIMEOUT, pragmas };
    DatabaseConnection::open_sqlite(target).await.map_err(|source| StoreError::from_driver(&files.path, source))
}

/// Returns the first damage that SQLite finds, or `None`.
pub(crate) async fn check_integrity(
    connection: &mut DatabaseConnection,
    depth: IntegrityDepth,
) -> Result<Option<String>, DriverError> {
    let (statement, column) = match depth {
        IntegrityDepth::Structure => (sql!("PRAGMA quick_check(1)"), "quick_check"),
        IntegrityDepth::Full => (sql!("PRAGMA integrity_check(1)"), "integrity_check"),
    };
    let rows = connection.rows(statement).await?;
    let found = rows.first().map(|row| row.get::<String>(column)).transpose()?;
    Ok(found.filter(|message| message != "ok"))
}
