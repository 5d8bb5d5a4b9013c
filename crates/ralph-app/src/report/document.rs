//! The content of a report, without its format. All texts are plain: a renderer escapes every one of them.
use ralph_util::redact;
use ralph_util::sanitize::{escape_hidden, sanitize_text};

/// A report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportDocument {
    pub title: String,
    /// The first line of the explanation.
    pub headline: String,
    pub tone: ReportTone,
    pub blocks: Vec<ReportBlock>,
}

/// Whether the work succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportTone {
    Good,
    Bad,
    /// It has not ended.
    Open,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportBlock {
    /// The title of a section. Only ralph writes it.
    Section(&'static str),
    /// The title of a part of the work, such as a stage.
    Part(String),
    Facts(Vec<ReportFact>),
    Paragraph(String),
    /// Words of ralph alone.
    Sentence(&'static str),
    List(Vec<String>),
    Table(ReportTable),
    Code(String),
    /// Closed until the reader opens it.
    Folded {
        summary: String,
        code: String,
    },
}

/// A label of ralph with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFact {
    pub label: &'static str,
    pub value: String,
}

/// A table. Each row has a cell for each column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportTable {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<ReportCell>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportCell {
    Text(String),
    /// A verdict, as a mark of ralph.
    Mark {
        glyph: &'static str,
        word: &'static str,
        tone: ReportTone,
    },
}

impl ReportFact {
    pub(super) fn new(label: &'static str, value: impl Into<String>) -> Self {
        Self { label, value: value.into() }
    }
}

impl ReportCell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// Returns a text without secrets, terminal sequences and invisible characters.
pub(super) fn clean_text(text: &str) -> String {
    escape_hidden(&sanitize_text(&redact::redact_text(text)))
}
