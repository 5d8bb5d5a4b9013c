//! Schema migrations. They are append-only, and all missing ones run in one transaction together with the version
//! number, so that a database is never between two versions.
use super::database_header::APPLICATION_ID;
use crate::driver::statement::sql;
use crate::driver::{DatabaseConnection, DatabaseRow, DriverError};
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
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
    include_str!("migrations/0012.sql"),
    include_str!("migrations/0013.sql"),
    include_str!("migrations/0014.sql"),
    include_str!("migrations/0015.sql"),
    include_str!("migrations/0016.sql"),
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
        return Err(StoreError::NewerSchema { path: store.path().to_path_buf(), found, known: newest });
    }
    if found == newest {
        return Ok(());
    }
    apply_migrations(&mut *store.connection.lock().await).await.map_err(|source| store.to_store_error(source))
}

/// Returns the schema version. Fails if the schema contains non-text characters, because the driver panics on such
/// names.
async fn schema_version(store: &Store) -> Result<i64, StoreError> {
    let statement = sql!(
        "SELECT user_version, (SELECT COUNT(*) FROM sqlite_schema
            WHERE sql GLOB '*[^' || char(10) || ' -~]*' OR name GLOB '*[^ -~]*') AS unreadable FROM pragma_user_version"
    );
    let read = |row: &DatabaseRow| Ok((row.get("user_version")?, row.get("unreadable")?));
    match store.row(statement, read).await? {
        Some((version, 0_i64)) => Ok(version),
        Some(_) | None => {
            let message = "its schema contains characters that are not text".to_owned();
            Err(StoreError::damaged_at(store.path(), DatabaseDamage::Corrupt(message)))
        }
    }
}

/// Applies the missing migrations. Reads the version again inside the transaction, because another process may have
/// migrated the database in the meantime.
async fn apply_migrations(connection: &mut DatabaseConnection) -> Result<(), DriverError> {
    let mut transaction = connection.begin_write().await?;
    let rows = transaction.rows(sql!("PRAGMA user_version")).await?;
    let found = rows.first().map_or(Ok(0_i64), |row| row.get("user_version"))?;
    if found >= NEWEST_SCHEMA {
        return Ok(());
    }
    let scripts = match usize::try_from(found).unwrap_or(0) {
        0 => &[FRESH_SCHEMA],
        applied => MIGRATIONS.get(applied..).unwrap_or_default(),
    };
    for script in scripts {
        transaction.run_script(script).await?;
    }
    transaction.execute(sql!(format!("PRAGMA user_version = {NEWEST_SCHEMA}"))).await?;
    transaction.execute(sql!(format!("PRAGMA application_id = {APPLICATION_ID}"))).await?;
    transaction.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::open_in_memory;

    async fn database_from(scripts: &[&'static str]) -> DatabaseConnection {
        let mut connection = open_in_memory().await;
        let mut transaction = connection.begin_write().await.unwrap();
        for script in scripts {
            transaction.run_script(script).await.unwrap();
        }
        transaction.commit().await.unwrap();
        connection
    }

    /// Returns every column and every index column of a database, with all that SQLite knows of it.
    async fn describe_schema(connection: &mut DatabaseConnection) -> Vec<String> {
        let columns =
            "SELECT t.type || ' ' || t.name || ' ' || t.wr || ' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' ||
            c.\"notnull\" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk AS line
            FROM pragma_table_list t, pragma_table_info(t.name) c WHERE t.name NOT LIKE 'sqlite_%' ORDER BY 1";
        let indexes = "SELECT s.name || ' ' || s.tbl_name || ' ' || i.seqno || ' ' || coalesce(i.name, '-') || ' ' || i.\"desc\" || ' ' ||
            i.coll || ' ' || i.key || ' ' || coalesce(substr(s.sql, instr(s.sql, 'WHERE')), '-') AS line
            FROM sqlite_schema s, pragma_index_xinfo(s.name) i WHERE s.type = 'index' ORDER BY 1";
        let mut lines = Vec::new();
        for sql in [columns, indexes] {
            let rows = connection.rows(sql!(sql)).await.unwrap();
            assert!(!rows.is_empty());
            lines.extend(rows.iter().map(|row| row.get::<String>("line").unwrap()));
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

    // spec: T9, W7
    #[tokio::test]
    async fn the_specification_of_a_workflow_run_of_schema_12_is_kept() {
        let insert =
            "INSERT INTO workflow_runs (id, workflow, status, message, spec, spec_sum, started_at, events, fence)
            VALUES ('w', 'build', 'running', 'go', '{\"version\":1}', 7, 1, 1, 1);";
        let mut scripts = MIGRATIONS[..13].to_vec();
        scripts.extend([insert, MIGRATIONS[13]]);
        let mut connection = database_from(&scripts).await;
        let sql = "SELECT spec || ' ' || sum || ' ' || message AS line FROM workflow_specs s JOIN workflow_runs r ON r.id = s.run";
        let rows = connection.rows(sql!(sql)).await.unwrap();
        let lines: Vec<String> = rows.iter().map(|row| row.get("line").unwrap()).collect();
        assert_eq!(lines, ["{\"version\":1} 7 go"]);
    }
}
