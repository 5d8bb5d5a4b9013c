//! Statements that take effect together or not at all. SQLite runs in a thread of its own, and a step of a
//! loop has a dozen statements: they go there as one, because each trip costs more than most statements.
use std::borrow::Cow;

use ralph_core::fact::Fact;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection};

use super::given::fact_sum;
use super::project::At;
use ralph_util::redact;

type Query = sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>;

/// One statement with its values, in the order of its question marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    /// Written by this program alone; what others say stands in the values.
    pub(super) sql: Cow<'static, str>,
    pub(super) values: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Null,
}

impl Value {
    /// Returns the text as it will be stored.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Null => "",
        }
    }
}

/// Every text that is stored becomes a value here, without its secrets.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(redact::text(text).into_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Makes a statement: `sql!("UPDATE … WHERE id = ?", id)`.
macro_rules! sql {
    ($sql:literal $(, $value:expr)* $(,)?) => {
        $crate::batch::Statement { sql: $sql.into(), values: vec![$($value.into()),*] }
    };
}
pub(super) use sql;

/// One fact on its way into the journal.
pub(super) struct Line<'a> {
    pub(super) at: At<'a>,
    pub(super) seq: i64,
    pub(super) fact: &'a Fact,
    /// The fact as JSON.
    pub(super) body: String,
}

/// Returns the statement that adds facts to the journal. There must be one.
pub(super) fn events(lines: &[Line<'_>]) -> Statement {
    let mut sql =
        String::from("INSERT INTO events (run, seq, at, kind, body, sum) VALUES (?, ?, ?, ?, ?, ?)");
    sql.push_str(&", (?, ?, ?, ?, ?, ?)".repeat(lines.len() - 1));
    Statement { sql: sql.into(), values: lines.iter().flat_map(Line::values).collect() }
}

impl Line<'_> {
    fn values(&self) -> [Value; 6] {
        let (run, at) = (self.at.run, self.at.at.0);
        let body = Value::from(self.body.as_str());
        let sum = fact_sum(run, (self.seq, at), body.text());
        [run.into(), self.seq.into(), at.into(), self.fact.name().into(), body, sum.into()]
    }
}

/// Runs one statement of a transaction.
pub(super) async fn execute_one(
    connection: &mut SqliteConnection,
    Statement { sql, values }: Statement,
) -> Result<(), sqlx::Error> {
    bound(sqlx::query(AssertSqlSafe(sql.into_owned())), values).execute(connection).await.map(drop)
}

/// Runs any number of statements in one transaction, one trip each.
pub(super) async fn execute_many(
    connection: &mut SqliteConnection,
    statements: Vec<Statement>,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for statement in statements {
        execute_one(&mut transaction, statement).await?;
    }
    transaction.commit().await
}

/// Runs statements in one transaction and in one trip, and then a question, whose answer it returns.
pub(super) async fn execute(
    connection: &mut SqliteConnection,
    statements: Vec<Statement>,
    question: Option<&'static str>,
) -> Result<Vec<SqliteRow>, sqlx::Error> {
    let mut text = String::from("BEGIN IMMEDIATE;");
    for statement in &statements {
        text.push_str(&statement.sql);
        text.push(';');
    }
    text.push_str("COMMIT;");
    text.push_str(question.unwrap_or_default());
    // Every part was written by this program; values are bound, never written into the text.
    let values = statements.into_iter().flat_map(|statement| statement.values);
    let query = bound(sqlx::query(AssertSqlSafe(text)), values);
    let done = query.fetch_all(&mut *connection).await;
    if done.is_err() {
        // Fails where the transaction never began; the first error is the one that matters.
        let _ = sqlx::raw_sql("ROLLBACK").execute(connection).await;
    }
    done
}

fn bound(query: Query, values: impl IntoIterator<Item = Value>) -> Query {
    values.into_iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Number(number) => query.bind(number),
        Value::Null => query.bind(None::<i64>),
    })
}
