//! The schema's history. Migrations are append-only; each runs in one transaction with its version number, so
//! that a database is of one version or the next, never between.
use sqlx::Connection;

use super::{Store, StoreError};

const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql")];

/// Brings the database to the newest schema, or refuses one that is newer still.
pub(super) async fn migrate(store: &Store) -> Result<(), StoreError> {
    let known = MIGRATIONS.len() as i64;
    let found = version(store).await?;
    if found > known {
        return Err(StoreError::Newer { path: store.path.clone(), found, known });
    }
    if found == known {
        return Ok(());
    }
    apply(store).await.map_err(|source| store.failed(source))
}

async fn version(store: &Store) -> Result<i64, StoreError> {
    let mut connection = store.connection.lock().await;
    let row: Result<(i64,), sqlx::Error> =
        sqlx::query_as("PRAGMA user_version").fetch_one(&mut *connection).await;
    row.map(|(version,)| version).map_err(|source| store.failed(source))
}

/// Applies what is missing. Another process may have been faster: the version is read again inside.
async fn apply(store: &Store) -> Result<(), sqlx::Error> {
    let mut connection = store.connection.lock().await;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (found,): (i64,) = sqlx::query_as("PRAGMA user_version").fetch_one(&mut *transaction).await?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
    }
    let version = format!("PRAGMA user_version = {}", MIGRATIONS.len());
    sqlx::raw_sql(sqlx::AssertSqlSafe(version)).execute(&mut *transaction).await?;
    transaction.commit().await
}
