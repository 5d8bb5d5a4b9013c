//! Reads a script once, from left to right, and keeps a stack of the quotes and expansions that are open. It does not
//! recurse, so that deep nesting cannot overflow the stack.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::declarations::Declarations;
use super::edits::{Edit, EditedText, ScriptVariables, apply_edits};
use super::frames::{CodeFrame, Frame};
use super::guards::takes_outside_values;
use super::{ScriptReference, UnexpandedVariable, UnsafeUse};
use crate::workflow::variables::WorkflowVariable;

pub(super) struct Scanner<'a> {
    pub text: &'a str,
    pub at: usize,
    /// The end of the innermost here-document, or of the text.
    pub limit: usize,
    pub frames: Vec<Frame>,
    /// The number of bodies of here-documents among the frames.
    pub open_bodies: usize,
    pub edits: Vec<Edit>,
    /// Whether variables in expressions are checked.
    pub guards_numbers: bool,
    pub references: Vec<ScriptReference>,
    pub spliced_variables: BTreeSet<WorkflowVariable>,
    pub expands_base_branch: bool,
    pub unexpanded_variables: Vec<UnexpandedVariable>,
    pub variables: &'a mut ScriptVariables,
    pub declarations: Declarations<'a>,
    pub unsafe_uses: Vec<UnsafeUse>,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, variables: &'a mut ScriptVariables) -> Self {
        Self {
            text,
            at: 0,
            limit: text.len(),
            frames: Vec::from([Frame::Code(CodeFrame::new(false, true))]),
            open_bodies: 0,
            edits: Vec::new(),
            guards_numbers: takes_outside_values(text),
            references: Vec::new(),
            spliced_variables: BTreeSet::new(),
            expands_base_branch: false,
            unexpanded_variables: Vec::new(),
            variables,
            declarations: Declarations::find(text),
            unsafe_uses: Vec::new(),
        }
    }

    /// Scans the text and applies the edits.
    pub fn edit(mut self) -> EditedText {
        loop {
            if self.at < self.limit {
                self.scan_next();
            } else if !self.leave_heredoc() {
                break;
            }
        }
        // The last word may be an operator of `[[`.
        self.finish_word();
        EditedText {
            is_changed: !self.edits.is_empty(),
            text: apply_edits(self.text, self.edits, self.variables),
            references: self.references,
            spliced_variables: self.spliced_variables,
            expands_base_branch: self.expands_base_branch,
            unexpanded_variables: self.unexpanded_variables,
            unsafe_uses: self.unsafe_uses,
        }
    }

    fn scan_next(&mut self) {
        match self.frames.last() {
            Some(Frame::Code(_)) => self.scan_code(),
            Some(Frame::DoubleQuotes) => self.scan_double_quotes(),
            Some(Frame::Parameter(parameter)) => {
                let parameter = *parameter;
                self.scan_parameter(parameter);
            }
            Some(Frame::Arithmetic(_)) => self.scan_arithmetic(),
            Some(Frame::HeredocBody { .. }) => self.scan_heredoc_body(),
            // The first frame has no closer, so it is never removed.
            None => self.at = self.limit,
        }
    }

    /// Leaves the innermost here-document at its end, with everything that is still open in it. Returns whether there
    /// was one.
    fn leave_heredoc(&mut self) -> bool {
        let Some(index) = self.frames.iter().rposition(|frame| matches!(frame, Frame::HeredocBody { .. })) else {
            return false;
        };
        self.frames.truncate(index + 1);
        if let Some(Frame::HeredocBody { outer_limit, resume_at }) = self.frames.pop() {
            self.open_bodies = self.open_bodies.saturating_sub(1);
            self.limit = outer_limit;
            self.at = resume_at;
        }
        self.start_next_heredoc();
        true
    }

    /// The byte at a distance from the current one, inside of the current here-document.
    pub fn byte(&self, distance: usize) -> Option<u8> {
        let at = self.at + distance;
        self.text.as_bytes().get(at).copied().filter(|_| at < self.limit)
    }

    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..self.limit).unwrap_or_default()
    }

    pub fn advance(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.limit);
    }

    /// Skips a backslash and the character after it.
    pub fn skip_escape(&mut self) {
        let escaped = self.rest().chars().nth(1);
        self.advance(1 + escaped.map_or(0, char::len_utf8));
    }
}
