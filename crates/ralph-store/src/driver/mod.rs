//! The only code that names the database driver: connections, transactions, rows and errors. The rest of the crate
//! sends [`SqlStatement`]s and reads [`DatabaseRow`]s, so another database is added here.
pub(crate) mod statement;

use std::path::PathBuf;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Either, Executor, Row, Sqlite, SqliteExecutor};

use statement::{SqlStatement, SqlValue, sql};

/// How many statements run in one trip. The driver keeps each text with its prepared statements: a step with thousands of
/// them would need much memory.
const MAX_JOINED_STATEMENTS: usize = 32;

/// An error of the driver, or of a stored value that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DriverError(#[from] sqlx::Error);

/// The kind of a database error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseProblem {
    DiskFull,
    ReadOnly,
    Busy,
    DiskError,
    Damaged,
    Other,
}

impl DriverError {
    /// Returns the error for a stored value that does not match its checksum or has an unknown format.
    pub(crate) fn unreadable_value(message: String) -> Self {
        Self(sqlx::Error::Decode(message.into()))
    }

    /// Classifies the error.
    #[must_use]
    pub fn problem(&self) -> DatabaseProblem {
        match &self.0 {
            sqlx::Error::Database(error) => {
                let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
                DatabaseProblem::from_sqlite_code(code)
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => DatabaseProblem::Damaged,
            _ => DatabaseProblem::Other,
        }
    }
}

impl DatabaseProblem {
    /// Uses the lowest byte, which is the primary result code.
    fn from_sqlite_code(code: i32) -> Self {
        match code & 0xff {
            5 | 6 => Self::Busy,
            8 => Self::ReadOnly,
            10 => Self::DiskError,
            11 | 26 => Self::Damaged,
            13 => Self::DiskFull,
            _ => Self::Other,
        }
    }
}

/// How an SQLite file is opened.
pub(crate) struct SqliteTarget {
    pub(crate) path: PathBuf,
    pub(crate) access: SqliteAccess,
    pub(crate) busy_timeout: Duration,
    /// Run in this order before anything else.
    pub(crate) pragmas: &'static [(&'static str, &'static str)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqliteAccess {
    ReadWrite,
    /// No process can change the file, so SQLite takes no locks and creates no files.
    Immutable,
}

/// One connection to the database.
pub(crate) struct DatabaseConnection {
    connection: SqliteConnection,
    /// Whether a transaction of [`Self::write_in_one_trip`] may be open, because its caller was cancelled.
    has_open_trip: bool,
}

/// Fails if the statement before it changed no row: the absolute value of the smallest number does not exist.
const FAIL_WITHOUT_CHANGE: &str = "SELECT abs(-9223372036854775807 - (changes() = 0))";

impl DatabaseConnection {
    pub(crate) async fn open_sqlite(target: SqliteTarget) -> Result<Self, DriverError> {
        let is_immutable = target.access == SqliteAccess::Immutable;
        let options = SqliteConnectOptions::new()
            .filename(target.path)
            .read_only(is_immutable)
            .immutable(is_immutable)
            .busy_timeout(target.busy_timeout);
        let options = target.pragmas.iter().fold(options, |options, (name, value)| options.pragma(*name, *value));
        Ok(Self { connection: options.connect().await?, has_open_trip: false })
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<DatabaseRow>, DriverError> {
        self.end_open_trip().await;
        fetch_rows(&mut self.connection, statement).await
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) async fn execute(&mut self, statement: SqlStatement) -> Result<u64, DriverError> {
        self.end_open_trip().await;
        execute_statement(&mut self.connection, statement).await
    }

    /// Begins a transaction that no other writer can interleave with. It is rolled back when it is dropped.
    pub(crate) async fn begin_write(&mut self) -> Result<WriteTransaction<'_>, DriverError> {
        self.end_open_trip().await;
        Ok(WriteTransaction(self.connection.begin_with("BEGIN IMMEDIATE").await?))
    }

    /// Runs a whole transaction in one trip to the thread of the database. Returns `false`, and writes nothing, if `fence`
    /// changes no row. `None`: there are too many statements for one trip.
    pub(crate) async fn write_in_one_trip(
        &mut self,
        fence: &SqlStatement,
        statements: &[SqlStatement],
    ) -> Option<Result<bool, DriverError>> {
        if statements.len() > MAX_JOINED_STATEMENTS {
            return None;
        }
        self.end_open_trip().await;
        let begin = [sql!("BEGIN IMMEDIATE"), fence.clone(), sql!(FAIL_WITHOUT_CHANGE)];
        let all = begin.into_iter().chain(statements.iter().cloned()).chain([sql!("COMMIT")]);
        let script = SqlStatement::join(all.collect())?;
        self.has_open_trip = true;
        let written = self.run_trip(script).await;
        match written {
            Ok(()) => self.has_open_trip = false,
            Err(_) => self.end_open_trip().await,
        }
        Some(match written {
            Ok(()) => Ok(true),
            Err(TripError { fence_changed_row: Some(false), .. }) => Ok(false),
            Err(TripError { source, .. }) => Err(source.into()),
        })
    }

    async fn run_trip(&mut self, script: SqlStatement) -> Result<(), TripError> {
        let mut results = (&mut self.connection).fetch_many(to_query(script));
        let mut ended = 0;
        let mut fence_changed_row = None;
        loop {
            match results.try_next().await {
                Ok(None) => return Ok(()),
                Ok(Some(Either::Right(_))) => {}
                Ok(Some(Either::Left(result))) => {
                    ended += 1;
                    // After the beginning of the transaction.
                    if ended == 2 {
                        fence_changed_row = Some(result.rows_affected() > 0);
                    }
                }
                Err(source) => return Err(TripError { fence_changed_row, source }),
            }
        }
    }

    /// Rolls back what a failed or cancelled trip has left. Without a transaction that is an error without effect.
    async fn end_open_trip(&mut self) {
        if self.has_open_trip {
            let _ = execute_statement(&mut self.connection, sql!("ROLLBACK")).await;
            self.has_open_trip = false;
        }
    }

    pub(crate) async fn close(mut self) -> Result<(), DriverError> {
        self.end_open_trip().await;
        Ok(self.connection.close().await?)
    }
}

/// Why a transaction in one trip was not committed.
struct TripError {
    /// `None`: it failed before or in the fence.
    fence_changed_row: Option<bool>,
    source: sqlx::Error,
}

/// A transaction that may write.
pub(crate) struct WriteTransaction<'c>(sqlx::Transaction<'c, Sqlite>);

impl WriteTransaction<'_> {
    /// Runs a statement and returns its rows.
    pub(crate) async fn rows(&mut self, statement: SqlStatement) -> Result<Vec<DatabaseRow>, DriverError> {
        fetch_rows(&mut *self.0, statement).await
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) async fn execute(&mut self, statement: SqlStatement) -> Result<u64, DriverError> {
        execute_statement(&mut *self.0, statement).await
    }

    /// Runs the statements in their order, many in one trip to the thread of the database.
    pub(crate) async fn execute_all(&mut self, statements: Vec<SqlStatement>) -> Result<(), DriverError> {
        let mut rest = statements.into_iter();
        while let Some(script) = SqlStatement::join(rest.by_ref().take(MAX_JOINED_STATEMENTS).collect()) {
            self.execute(script).await?;
        }
        Ok(())
    }

    /// Runs `fence` and the statements, and returns whether `fence` changed a row. If it did not, the transaction must be
    /// rolled back.
    pub(crate) async fn execute_fenced(
        &mut self,
        fence: SqlStatement,
        mut statements: Vec<SqlStatement>,
    ) -> Result<bool, DriverError> {
        let rest = statements.split_off(statements.len().min(MAX_JOINED_STATEMENTS));
        statements.insert(0, fence);
        let changed_row = self.execute_fenced_script(statements).await?;
        if changed_row {
            self.execute_all(rest).await?;
        }
        Ok(changed_row)
    }

    /// Runs statements in one trip, and returns whether the first one changed a row.
    async fn execute_fenced_script(&mut self, statements: Vec<SqlStatement>) -> Result<bool, DriverError> {
        let Some(script) = SqlStatement::join(statements) else { return Ok(false) };
        let mut results = (&mut *self.0).fetch_many(to_query(script));
        let mut fence_changed_row = None;
        while let Some(result) = results.try_next().await? {
            // Rows are ignored; the end of a statement comes as its number of changed rows.
            let Either::Left(ended) = result else { continue };
            if !*fence_changed_row.get_or_insert(ended.rows_affected() > 0) {
                break;
            }
        }
        Ok(fence_changed_row.unwrap_or(false))
    }

    /// Runs several statements without values. Only for the schema and its migrations.
    pub(crate) async fn run_script(&mut self, script: &'static str) -> Result<(), DriverError> {
        sqlx::raw_sql(script).execute(&mut *self.0).await?;
        Ok(())
    }

    pub(crate) async fn commit(self) -> Result<(), DriverError> {
        Ok(self.0.commit().await?)
    }
}

/// A row of a result.
pub(crate) struct DatabaseRow(SqliteRow);

impl DatabaseRow {
    /// Returns the value of a column. NULL is an error unless the type is an `Option`.
    pub(crate) fn get<T: ColumnValue>(&self, column: &str) -> Result<T, DriverError> {
        T::read_column(&self.0, column)
    }
}

/// A type that a column can be read as. The driver itself reads NULL as zero or as empty text, which would hide that a
/// damaged row has lost its values.
pub(crate) trait ColumnValue: Sized {
    fn read_column(row: &SqliteRow, column: &str) -> Result<Self, DriverError>;
}

macro_rules! impl_column_value {
    ($($value:ty),+ $(,)?) => {
        $(impl ColumnValue for $value {
            fn read_column(row: &SqliteRow, column: &str) -> Result<Self, DriverError> {
                let value = Option::<$value>::read_column(row, column)?;
                value.ok_or_else(|| DriverError::unreadable_value(format!("the column {column} has no value")))
            }
        }

        impl ColumnValue for Option<$value> {
            fn read_column(row: &SqliteRow, column: &str) -> Result<Self, DriverError> {
                Ok(row.try_get(column)?)
            }
        })+
    };
}

impl_column_value!(String, i64, u32, bool);

async fn fetch_rows(
    executor: impl SqliteExecutor<'_>,
    statement: SqlStatement,
) -> Result<Vec<DatabaseRow>, DriverError> {
    let rows = to_query(statement).fetch_all(executor).await?;
    Ok(rows.into_iter().map(DatabaseRow).collect())
}

async fn execute_statement(executor: impl SqliteExecutor<'_>, statement: SqlStatement) -> Result<u64, DriverError> {
    Ok(to_query(statement).execute(executor).await?.rows_affected())
}

fn to_query(SqlStatement { sql, values }: SqlStatement) -> sqlx::query::Query<'static, Sqlite, SqliteArguments> {
    // Safe: ralph wrote the text, and every value from outside is bound.
    let query = sqlx::query(AssertSqlSafe(sql));
    values.into_iter().fold(query, |query, value| match value {
        SqlValue::Text(text) => query.bind(text),
        SqlValue::Number(number) => query.bind(number),
        SqlValue::Null => query.bind(None::<i64>),
    })
}

#[cfg(test)]
pub(crate) async fn open_in_memory() -> DatabaseConnection {
    let connection = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
    DatabaseConnection { connection, has_open_trip: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SQLite numbers `$2` and `$1` by their first appearance; the driver must bind them by their numbers.
    #[tokio::test]
    async fn values_are_bound_by_their_numbers_and_not_by_their_order() {
        let mut connection = open_in_memory().await;
        let statement = sql!("SELECT $2 AS second, $3 AS third, $1 AS first, $2 AS again", 1_i64, "two", None::<i64>);
        let rows = connection.rows(statement).await.unwrap();
        assert_eq!(rows[0].get::<i64>("first").unwrap(), 1);
        assert_eq!(rows[0].get::<String>("second").unwrap(), "two");
        assert_eq!(rows[0].get::<String>("again").unwrap(), "two");
        assert_eq!(rows[0].get::<Option<i64>>("third").unwrap(), None);
    }

    // fault: 59
    #[tokio::test]
    async fn a_missing_value_is_an_error_and_not_zero_or_empty_text() {
        let mut connection = open_in_memory().await;
        let rows = connection.rows(sql!("SELECT NULL AS body, NULL AS seq")).await.unwrap();
        assert_eq!(rows[0].get::<String>("body").unwrap_err().problem(), DatabaseProblem::Damaged);
        assert_eq!(rows[0].get::<i64>("seq").unwrap_err().problem(), DatabaseProblem::Damaged);
        assert_eq!(rows[0].get::<Option<String>>("body").unwrap(), None);
    }

    #[tokio::test]
    async fn a_statement_reports_the_rows_that_it_changed_also_if_their_values_stay_the_same() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (task TEXT, fence BIGINT)")).await.unwrap();
        assert_eq!(connection.execute(sql!("INSERT INTO leases VALUES ($1, $2)", "a", 4_i64)).await.unwrap(), 1);
        let touch = "UPDATE leases SET fence = fence WHERE fence = $2 AND task = $1";
        assert_eq!(connection.execute(sql!(touch, "a", 4_i64)).await.unwrap(), 1);
        assert_eq!(connection.execute(sql!(touch, "a", 3_i64)).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn statements_that_run_together_bind_their_own_values_in_order() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (task TEXT, fence BIGINT)")).await.unwrap();
        let mut transaction = connection.begin_write().await.unwrap();
        let statements = vec![
            sql!("INSERT INTO leases VALUES ($1, $2)", "a", 1_i64),
            sql!("INSERT INTO leases SELECT '$1 it''s', $1", 7_i64),
            sql!("DELETE FROM leases WHERE fence = 99"),
            sql!("UPDATE leases SET fence = $2 WHERE task = $1", "a", 5_i64),
        ];
        transaction.execute_all(statements).await.unwrap();
        transaction.commit().await.unwrap();
        let rows = connection.rows(sql!("SELECT task, fence FROM leases ORDER BY fence")).await.unwrap();
        let found: Vec<_> = rows
            .iter()
            .map(|row| format!("{} {}", row.get::<String>("task").unwrap(), row.get::<i64>("fence").unwrap()))
            .collect();
        assert_eq!(found, ["a 5", "$1 it's 7"]);
    }

    // The statements after a fence fail if another process has written the same rows: that is a refusal and not an error.
    #[tokio::test]
    async fn a_fence_that_changes_no_row_refuses_also_if_a_later_statement_fails() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (task TEXT PRIMARY KEY, fence BIGINT)")).await.unwrap();
        connection.execute(sql!("INSERT INTO leases VALUES ($1, $2)", "a", 4_i64)).await.unwrap();
        let fence = |number: i64| sql!("UPDATE leases SET fence = fence WHERE task = $1 AND fence = $2", "a", number);
        let insert = |task: &str| vec![sql!("INSERT INTO leases VALUES ($1, $2)", task, 1_i64)];
        for (number, task, expected) in
            [(3, "a", Some(false)), (3, "b", Some(false)), (4, "a", None), (4, "b", Some(true))]
        {
            let mut transaction = connection.begin_write().await.unwrap();
            assert_eq!(transaction.execute_fenced(fence(number), insert(task)).await.ok(), expected, "{number} {task}");
        }
    }

    #[tokio::test]
    async fn more_statements_than_one_trip_takes_run_in_their_order_or_not_at_all() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (fence BIGINT)")).await.unwrap();
        connection.execute(sql!("INSERT INTO leases VALUES ($1)", 0_i64)).await.unwrap();
        let count = i64::try_from(MAX_JOINED_STATEMENTS).unwrap() * 3 + 1;
        let raise = |number: i64| sql!("UPDATE leases SET fence = $1 WHERE fence = $2", number, number - 1);
        for (fence, changes_row, expected) in [(1, true, count), (1, false, count)] {
            let mut transaction = connection.begin_write().await.unwrap();
            let statements = (2..=count).map(raise).collect();
            assert_eq!(transaction.execute_fenced(raise(fence), statements).await.unwrap(), changes_row);
            transaction.commit().await.unwrap();
            let rows = connection.rows(sql!("SELECT fence FROM leases")).await.unwrap();
            assert_eq!(rows[0].get::<i64>("fence").unwrap(), expected);
        }
    }

    async fn leases_of(connection: &mut DatabaseConnection) -> Vec<i64> {
        let rows = connection.rows(sql!("SELECT fence FROM leases ORDER BY fence")).await.unwrap();
        rows.iter().map(|row| row.get("fence").unwrap()).collect()
    }

    // spec: D1
    #[tokio::test]
    async fn a_transaction_in_one_trip_writes_all_or_nothing() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (fence BIGINT NOT NULL)")).await.unwrap();
        connection.execute(sql!("INSERT INTO leases VALUES ($1)", 1_i64)).await.unwrap();
        let fence = |number: i64| sql!("UPDATE leases SET fence = fence WHERE fence = $1", number);
        let insert = |number: Option<i64>| sql!("INSERT INTO leases VALUES ($1)", number);
        let refused = connection.write_in_one_trip(&fence(9), &[insert(Some(2)), insert(None)]).await.unwrap();
        assert!(!refused.unwrap(), "the fence refuses it");
        let failed = connection.write_in_one_trip(&fence(1), &[insert(Some(2)), insert(None)]).await.unwrap();
        assert!(failed.is_err(), "a later statement fails");
        assert_eq!(leases_of(&mut connection).await, [1]);
        assert!(connection.write_in_one_trip(&fence(1), &[insert(Some(2))]).await.unwrap().unwrap());
        assert!(connection.write_in_one_trip(&fence(2), &[insert(Some(3))]).await.unwrap().unwrap());
        let many = vec![insert(Some(4)); MAX_JOINED_STATEMENTS + 1];
        assert!(connection.write_in_one_trip(&fence(1), &many).await.is_none());
        assert_eq!(leases_of(&mut connection).await, [1, 2, 3]);
    }

    // spec: D1
    #[tokio::test]
    async fn a_trip_that_was_cancelled_leaves_no_open_transaction() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (fence BIGINT NOT NULL)")).await.unwrap();
        connection.execute(sql!("INSERT INTO leases VALUES ($1)", 1_i64)).await.unwrap();
        let fence = sql!("UPDATE leases SET fence = fence WHERE fence = $1", 1_i64);
        let statements = vec![sql!("INSERT INTO leases VALUES ($1)", 2_i64); MAX_JOINED_STATEMENTS];
        for _ in 0..20 {
            // Polled once, then dropped.
            tokio::select! {
                biased;
                _ = connection.write_in_one_trip(&fence, &statements) => {}
                () = std::future::ready(()) => {}
            }
        }
        let count = leases_of(&mut connection).await.len();
        assert_eq!((count - 1) % MAX_JOINED_STATEMENTS, 0, "each trip is whole or was rolled back");
        assert_eq!(connection.execute(sql!("INSERT INTO leases VALUES ($1)", 7_i64)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn an_error_in_one_of_several_statements_is_reported() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (task TEXT NOT NULL)")).await.unwrap();
        let mut transaction = connection.begin_write().await.unwrap();
        let statements = vec![
            sql!("INSERT INTO leases VALUES ($1)", "a"),
            sql!("INSERT INTO leases VALUES ($1)", None::<i64>),
            sql!("INSERT INTO leases VALUES ($1)", "b"),
        ];
        assert!(transaction.execute_all(statements).await.is_err());
    }

    #[tokio::test]
    async fn a_dropped_transaction_writes_nothing() {
        let mut connection = open_in_memory().await;
        connection.execute(sql!("CREATE TABLE leases (task TEXT)")).await.unwrap();
        let mut transaction = connection.begin_write().await.unwrap();
        assert_eq!(transaction.execute(sql!("INSERT INTO leases VALUES ($1)", "a")).await.unwrap(), 1);
        drop(transaction);
        assert!(connection.rows(sql!("SELECT task FROM leases")).await.unwrap().is_empty());
    }
}
