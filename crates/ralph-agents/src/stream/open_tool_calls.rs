//! The tool calls that have no result yet, for formats whose results name only the id of the call.
use std::collections::VecDeque;

use crate::stream::event::{AgentEvent, permission_denied_event};

/// Maximum number of calls that are remembered. The oldest is dropped first.
const MAX_OPEN_CALLS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct OpenToolCalls {
    calls: VecDeque<UnansweredCall>,
}

#[derive(Debug)]
struct UnansweredCall {
    id: String,
    name: String,
    detail: String,
}

impl OpenToolCalls {
    /// Remembers a call, if the event is one.
    pub(crate) fn record_call(&mut self, id: Option<String>, call: &AgentEvent) {
        let (Some(id), AgentEvent::ToolCall { name, detail }) = (id, call) else { return };
        if self.calls.len() >= MAX_OPEN_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(UnansweredCall { id, name: name.clone(), detail: detail.clone() });
    }

    /// Forgets a call that has a result. If it was denied, returns the event that says so.
    pub(crate) fn end_call(&mut self, id: Option<&str>, is_denied: bool) -> Option<AgentEvent> {
        let at = self.calls.iter().position(|call| Some(call.id.as_str()) == id);
        let call = at.and_then(|at| self.calls.remove(at));
        is_denied.then(|| match call {
            Some(call) => permission_denied_event(&call.name, &call.detail),
            None => permission_denied_event("a tool", ""),
        })
    }
}
