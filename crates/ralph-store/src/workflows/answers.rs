//! The answers of people to the questions of workflow runs. The driver takes each answer once, in the step that applies it.
use ralph_core::event::UnixMillis;

use crate::driver::DatabaseRow;
use crate::driver::statement::{SqlValue, sql};
use crate::{Store, StoreError};

/// An answer to store.
#[derive(Debug, Clone, Copy)]
pub struct NewWorkflowAnswer<'a> {
    pub run: &'a str,
    /// Names the question: a question that is asked again has another name.
    pub question: &'a str,
    pub decision: &'a str,
    pub text: Option<&'a str>,
    /// The person who answered.
    pub person: &'a str,
    pub at: UnixMillis,
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowAnswerRow {
    pub question: String,
    pub decision: String,
    pub text: Option<String>,
    pub person: String,
    pub at: i64,
    /// When the driver applied it.
    pub taken_at: Option<i64>,
}

/// The name under which the cancellation of a run is stored. No question has it.
const CANCEL_QUESTION: &str = "cancel";

impl Store {
    /// Asks the driver of a workflow run to cancel it. Returns false if the run has ended.
    pub async fn request_workflow_cancel(&self, run: &str, person: &str, at: UnixMillis) -> Result<bool, StoreError> {
        let question = CANCEL_QUESTION;
        let answer = NewWorkflowAnswer { run, question, decision: CANCEL_QUESTION, text: None, person, at };
        Ok(self.answer_workflow_question(&answer).await? || self.is_workflow_cancel_requested(run).await?)
    }

    /// Returns whether a workflow run shall be cancelled.
    pub async fn is_workflow_cancel_requested(&self, run: &str) -> Result<bool, StoreError> {
        let statement = sql!(
            "SELECT at FROM workflow_answers WHERE run = $1 AND question = $2",
            SqlValue::verbatim(run),
            CANCEL_QUESTION
        );
        Ok(self.row(statement, |row| row.get::<i64>("at")).await?.is_some())
    }

    /// Stores an answer. Returns false if the question has been answered, or if the run has ended.
    pub async fn answer_workflow_question(&self, answer: &NewWorkflowAnswer<'_>) -> Result<bool, StoreError> {
        let statement = sql!(
            "INSERT INTO workflow_answers (run, question, decision, words, person, at) SELECT $1, $2, $3, $4, $5, $6
             WHERE EXISTS (SELECT 1 FROM workflow_runs WHERE id = $1 AND ended_at IS NULL)
             ON CONFLICT (run, question) DO NOTHING",
            SqlValue::verbatim(answer.run),
            SqlValue::verbatim(answer.question),
            answer.decision,
            answer.text,
            answer.person,
            answer.at.0
        );
        Ok(self.execute(statement).await? > 0)
    }

    /// Marks an answer as applied. Returns false if it was applied before.
    pub async fn take_workflow_answer(&self, run: &str, question: &str, at: UnixMillis) -> Result<bool, StoreError> {
        let statement = sql!(
            "UPDATE workflow_answers SET taken_at = $1 WHERE run = $2 AND question = $3 AND taken_at IS NULL",
            at.0,
            SqlValue::verbatim(run),
            SqlValue::verbatim(question)
        );
        Ok(self.execute(statement).await? > 0)
    }

    /// Returns the answers to the questions of a workflow run, oldest first.
    pub async fn workflow_answers(&self, run: &str) -> Result<Vec<WorkflowAnswerRow>, StoreError> {
        let sql = "SELECT * FROM workflow_answers WHERE run = $1 ORDER BY at, question";
        let read = |row: &DatabaseRow| {
            Ok(WorkflowAnswerRow {
                question: row.get("question")?,
                decision: row.get("decision")?,
                text: row.get("words")?,
                person: row.get("person")?,
                at: row.get("at")?,
                taken_at: row.get("taken_at")?,
            })
        };
        self.rows(sql!(sql, SqlValue::verbatim(run)), read).await
    }
}
