//! Schema migrations. They are append-only, and all missing ones run in one transaction together with the version
//! number, so that a database is never between two versions.
use sqlx::Connection;

use crate::sqlite::database_header::APPLICATION_ID;
use crate::{DatabaseDamage, Store, StoreError};

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

/// Creates a database at the newest schema at once, which is much faster than running all migrations.
const FRESH_SCHEMA: &str = include_str!("schema.sql");

/// The newest schema that this ralph knows.
pub(crate) const NEWEST_SCHEMA: i64 = MIGRATIONS.len() as i64;

/// Migrates the database to the newest schema. Fails if its schema is newer.
pub(crate) async fn migrate_schema(store: &Store) -> Result<(), StoreError> {
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

/// Returns the schema version. Fails if the schema contains non-text characters, because the driver panics on such
/// names.
async fn schema_version(store: &Store) -> Result<i64, StoreError> {
    let mut connection = store.connection.lock().await;
    let sql = "SELECT user_version, (SELECT COUNT(*) FROM sqlite_schema
        WHERE sql GLOB '*[^' || char(10) || ' -~]*' OR name GLOB '*[^ -~]*') FROM pragma_user_version";
    let row: Result<(i64, i64), sqlx::Error> = sqlx::query_as(sql).fetch_one(&mut *connection).await;
    match row.map_err(|source| store.to_store_error(source))? {
        (version, 0) => Ok(version),
        (_, _) => {
            let message = "its schema contains characters that are not text".to_owned();
            Err(StoreError::damaged_at(&store.path, DatabaseDamage::Corrupt(message)))
        }
    }
}

/// Applies the missing migrations. Reads the version again inside the transaction, because another process may have
/// migrated the database in the meantime.
async fn apply_migrations(store: &Store) -> Result<(), sqlx::Error> {
    let mut connection = store.connection.lock().await;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (found,): (i64,) = sqlx::query_as("PRAGMA user_version").fetch_one(&mut *transaction).await?;
    let scripts = match usize::try_from(found).unwrap_or(0) {
        0 => &[FRESH_SCHEMA],
        applied => MIGRATIONS.get(applied..).unwrap_or_default(),
    };
    for script in scripts {
        sqlx::raw_sql(*script).execute(&mut *transaction).await?;
    }
    let version = format!("PRAGMA user_version = {NEWEST_SCHEMA}; PRAGMA application_id = {APPLICATION_ID}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(version)).execute(&mut *transaction).await?;
    transaction.commit().await
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

    use super::*;

    async fn database_from(scripts: &[&'static str]) -> SqliteConnection {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        for script in scripts {
            sqlx::raw_sql(*script).execute(&mut connection).await.unwrap();
        }
        connection
    }

    /// Returns every column and every index column of a database, with all that SQLite knows of it.
    async fn describe_schema(connection: &mut SqliteConnection) -> Vec<String> {
        let columns =
            "SELECT t.type || ' ' || t.name || ' ' || t.wr || ' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' ||
            c.\"notnull\" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk
            FROM pragma_table_list t, pragma_table_info(t.name) c WHERE t.name NOT LIKE 'sqlite_%' ORDER BY 1";
        let indexes = "SELECT s.name || ' ' || s.tbl_name || ' ' || i.seqno || ' ' || coalesce(i.name, '-') || ' ' || i.\"desc\" || ' ' ||
            i.coll || ' ' || i.key || ' ' || coalesce(substr(s.sql, instr(s.sql, 'WHERE')), '-')
            FROM sqlite_schema s, pragma_index_xinfo(s.name) i WHERE s.type = 'index' ORDER BY 1";
        let mut lines = Vec::new();
        for sql in [columns, indexes] {
            let rows: Vec<(String,)> = sqlx::query_as(sql).fetch_all(&mut *connection).await.unwrap();
            assert!(!rows.is_empty());
            lines.extend(rows.into_iter().map(|(line,)| line));
        }
        lines
    }

    // spec: T9
    #[tokio::test]
    async fn a_fresh_database_has_the_schema_that_all_migrations_make() {
        let mut fresh = database_from(&[FRESH_SCHEMA]).await;
        let mut migrated = database_from(MIGRATIONS).await;
        assert_eq!(describe_schema(&mut fresh).await, describe_schema(&mut migrated).await);
    }
}
