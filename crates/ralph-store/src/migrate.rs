//! The schema's history. Migrations are append-only; each runs in one transaction with its version number, so
//! that a database is of one version or the next, never between.
use sqlx::Connection;

use super::database_header::APPLICATION_ID;
use super::{DatabaseDamage, Store, StoreError};

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
];

/// The newest schema that this ralph knows.
pub(super) const NEWEST_SCHEMA: i64 = MIGRATIONS.len() as i64;

/// Brings the database to the newest schema, or refuses one that is newer still.
pub(super) async fn migrate_schema(store: &Store) -> Result<(), StoreError> {
    let newest = NEWEST_SCHEMA;
    let found = schema_version(store).await?;
    if found > newest {
        return Err(StoreError::NewerSchema { path: store.path.clone(), found, known: newest });
    }
    if found == newest {
        return Ok(());
    }
    apply_migrations(store).await.map_err(|source| store.to_store_error(source))
}

/// Returns the version, if the text of the schema is plain: the driver panics over names that are no text.
async fn schema_version(store: &Store) -> Result<i64, StoreError> {
    let mut connection = store.connection.lock().await;
    let sql = "SELECT user_version, (SELECT COUNT(*) FROM sqlite_schema
        WHERE sql GLOB '*[^' || char(10) || ' -~]*' OR name GLOB '*[^ -~]*') FROM pragma_user_version";
    let row: Result<(i64, i64), sqlx::Error> = sqlx::query_as(sql).fetch_one(&mut *connection).await;
    match row.map_err(|source| store.to_store_error(source))? {
        (version, 0) => Ok(version),
        (_, _) => Err(StoreError::damaged_at(&store.path, DatabaseDamage::Corrupt("its schema is no text".to_owned()))),
    }
}

/// Applies what is missing. Another process may have been faster: the version is read again inside.
async fn apply_migrations(store: &Store) -> Result<(), sqlx::Error> {
    let mut connection = store.connection.lock().await;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (found,): (i64,) = sqlx::query_as("PRAGMA user_version").fetch_one(&mut *transaction).await?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
    }
    let version = format!("PRAGMA user_version = {NEWEST_SCHEMA}; PRAGMA application_id = {APPLICATION_ID}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(version)).execute(&mut *transaction).await?;
    transaction.commit().await
}
