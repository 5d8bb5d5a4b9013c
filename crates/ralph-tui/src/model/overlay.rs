//! The overlays that cover the board until they are answered: help, palette, a question for text, and a confirmation.
use super::board_action::BoardAction;
use super::text_field::TextField;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// The keys that are valid here.
    Help { query: TextField, selected: usize },
    /// A command after `:`.
    Palette(TextField),
    /// A filter or a search after `/`.
    Search(TextField),
    /// Text for an order.
    Ask(Box<AskedText>),
    /// An order that waits for a yes.
    Confirm { question: String, action: Box<BoardAction> },
}

/// A question for a text that an order needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedText {
    pub question: String,
    pub field: TextField,
    pub purpose: AskPurpose,
}

/// The purpose of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskPurpose {
    Guide,
    RaiseCost,
    RewindTo,
    RejectBecause,
    AcceptBecause,
    /// The words with which an agent's question is answered.
    AnswerQuestion,
    /// The decision and its text, for a question of a workflow.
    AnswerWorkflow {
        node: String,
        decisions: Vec<String>,
    },
}
