//! SQL statements with their values. Values are numbered: `$1` is the first one, wherever it appears in the text.
use std::borrow::Cow;

use ralph_util::redact;

/// One statement with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqlStatement {
    /// Always written by ralph; external data goes into `values`.
    pub(crate) sql: Cow<'static, str>,
    pub(crate) values: Vec<SqlValue>,
}

impl SqlStatement {
    /// Adds a condition to a statement that ends with its `WHERE` clause. The new values follow the existing ones.
    pub(crate) fn with_condition(mut self, condition: &str, values: impl IntoIterator<Item = SqlValue>) -> Self {
        self.sql = format!("{} AND ({condition})", self.sql).into();
        self.values.extend(values);
        self
    }

    /// Joins statements into one text that runs them in their order, with all their values. `None` without statements.
    pub(crate) fn join(statements: Vec<Self>) -> Option<Self> {
        let mut statements = statements.into_iter();
        let mut joined = statements.next()?;
        for statement in statements {
            let sql = joined.sql.to_mut();
            sql.push_str(";\n");
            push_renumbered(sql, &statement.sql, joined.values.len());
            joined.values.extend(statement.values);
        }
        Some(joined)
    }
}

/// Appends the text with `offset` added to the number of every value. Text in quotes stays as it is.
fn push_renumbered(target: &mut String, sql: &str, offset: usize) {
    for (index, part) in sql.split('\'').enumerate() {
        let is_quoted = index % 2 == 1;
        if index > 0 {
            target.push('\'');
        }
        if is_quoted {
            target.push_str(part);
        } else {
            push_with_offset(target, part, offset);
        }
    }
}

fn push_with_offset(target: &mut String, text: &str, offset: usize) {
    let mut parts = text.split('$');
    target.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        target.push('$');
        if let Ok(number) = number.parse::<usize>() {
            target.push_str(&(number + offset).to_string());
        }
        target.push_str(rest);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SqlValue {
    Text(String),
    Number(i64),
    Null,
}

impl SqlValue {
    /// Returns a text that is not redacted: an id to search for, or one that ralph made.
    pub(crate) fn verbatim(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Returns the text as it will be stored.
    pub(crate) fn as_stored_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Null => "",
        }
    }
}

/// Removes secrets. Every text from outside that is stored passes through here.
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

impl From<bool> for SqlValue {
    fn from(flag: bool) -> Self {
        Self::Number(flag.into())
    }
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Builds a statement: `sql!("UPDATE … WHERE id = $1", id)`.
macro_rules! sql {
    ($sql:expr $(, $value:expr)* $(,)?) => {
        $crate::driver::statement::SqlStatement { sql: $sql.into(), values: vec![$($value.into()),*] }
    };
}
pub(crate) use sql;
