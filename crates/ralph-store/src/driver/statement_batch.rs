//! SQL statements that run in one transaction. sqlx runs SQLite in a separate thread, and sending a statement there
//! costs more than most statements, so the dozen statements of a step are sent as one.
use std::borrow::Cow;

use ralph_core::fact::Fact;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection};

use crate::journal::projections::FactContext;
use crate::journal::run_insert::fact_checksum;
use ralph_util::redact;

type StatementQuery = sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>;

/// One statement with its values, in the order of its question marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqlStatement {
    /// Always written by ralph; external data goes into `values`.
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<SqlValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SqlValue {
    Text(String),
    Number(i64),
    Null,
}

impl SqlValue {
    /// Returns the text as it will be stored.
    pub(crate) fn as_stored_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Null => "",
        }
    }
}

/// Removes secrets. Every stored text passes through here.
impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(redact::redact_text(text).into_owned())
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for SqlValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for SqlValue {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Builds a statement: `sql!("UPDATE … WHERE id = ?", id)`.
macro_rules! sql {
    ($sql:literal $(, $value:expr)* $(,)?) => {
        $crate::driver::statement_batch::SqlStatement { sql: $sql.into(), values: vec![$($value.into()),*] }
    };
}
pub(crate) use sql;

/// One fact to be inserted into the journal.
pub(crate) struct JournalRow<'a> {
    pub(crate) context: FactContext<'a>,
    pub(crate) seq: i64,
    pub(crate) fact: &'a Fact,
    /// The fact as JSON.
    pub(crate) body: String,
}

/// Returns the statement that inserts facts into the journal. `rows` must not be empty.
pub(crate) fn insert_events(rows: &[JournalRow<'_>]) -> SqlStatement {
    let mut sql = String::from("INSERT INTO events (run, seq, at, kind, body, sum) VALUES (?, ?, ?, ?, ?, ?)");
    sql.push_str(&", (?, ?, ?, ?, ?, ?)".repeat(rows.len() - 1));
    SqlStatement { sql: sql.into(), values: rows.iter().flat_map(JournalRow::column_values).collect() }
}

impl JournalRow<'_> {
    fn column_values(&self) -> [SqlValue; 6] {
        let (run, at) = (self.context.run, self.context.at.0);
        let body = SqlValue::from(self.body.as_str());
        let sum = fact_checksum(run, self.seq, at, body.as_stored_text());
        [run.into(), self.seq.into(), at.into(), self.fact.name().into(), body, sum.into()]
    }
}

/// Runs one statement of a transaction.
pub(crate) async fn execute_one(
    connection: &mut SqliteConnection,
    SqlStatement { sql, values }: SqlStatement,
) -> Result<(), sqlx::Error> {
    bind_values(sqlx::query(AssertSqlSafe(sql.into_owned())), values).execute(connection).await.map(drop)
}

/// Runs any number of statements in one transaction, each in a separate trip to SQLite's thread.
pub(crate) async fn execute_many(
    connection: &mut SqliteConnection,
    statements: Vec<SqlStatement>,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for statement in statements {
        execute_one(&mut transaction, statement).await?;
    }
    transaction.commit().await
}

/// Runs statements in one transaction and one trip, then `final_query`, and returns its rows.
pub(crate) async fn execute_in_one_trip(
    connection: &mut SqliteConnection,
    statements: Vec<SqlStatement>,
    final_query: Option<&'static str>,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    let mut text = String::from("BEGIN IMMEDIATE;");
    for statement in &statements {
        text.push_str(&statement.sql);
        text.push(';');
    }
    text.push_str("COMMIT;");
    text.push_str(final_query.unwrap_or_default());
    // Safe: ralph wrote every part of the text; values are bound.
    let values = statements.into_iter().flat_map(|statement| statement.values);
    let query = bind_values(sqlx::query(AssertSqlSafe(text)), values);
    let result = query.fetch_all(&mut *connection).await;
    if result.is_err() {
        // Fails if the transaction never started; the first error is the relevant one.
        let _ = sqlx::raw_sql("ROLLBACK").execute(connection).await;
    }
    result
}

fn bind_values(query: StatementQuery, values: impl IntoIterator<Item = SqlValue>) -> StatementQuery {
    values.into_iter().fold(query, |query, value| match value {
        SqlValue::Text(text) => query.bind(text),
        SqlValue::Number(number) => query.bind(number),
        SqlValue::Null => query.bind(None::<i64>),
    })
}
