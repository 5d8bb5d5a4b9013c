//! The tools that the agent uses. A call is told once there is something to tell of it, its result when it is done.
use std::collections::VecDeque;

use super::message::{Place, Update};
use crate::detail;
use crate::event::{AgentEvent, at_work};
use ralph_util::json::{self, Malformed};

/// More than this no agent has open at a time; what is older is forgotten.
const OPEN: usize = 64;
const NAME: usize = 80;

#[derive(Debug, Default)]
pub(super) struct Tools {
    open: VecDeque<Tool>,
    audience: Audience,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Audience {
    #[default]
    People,
    Nobody,
}

#[derive(Debug, Default)]
struct Tool {
    id: String,
    kind: String,
    is_told: bool,
}

impl Tools {
    pub(super) fn unwatched(&mut self) {
        self.audience = Audience::Nobody;
    }

    /// Takes in what is said of a tool, by whichever message.
    pub(super) fn note(&mut self, update: &Update<'_>, out: &mut Vec<AgentEvent>) -> Result<(), Malformed> {
        let about = about(update)?;
        let status = json::name(update.status);
        let is_pending = matches!(status, "pending" | "");
        let audience = self.audience;
        let tool = self.tool(update);
        if !tool.is_told && (!is_pending || about.is_telling) {
            tool.is_told = true;
            let name = json::start_of_string(update.name, NAME).unwrap_or_else(|| tool.name());
            tell(audience, AgentEvent::ToolCall { name, detail: about.detail }, out);
        }
        if matches!(status, "completed" | "failed") {
            self.open.pop_back();
            let excerpt = detail::excerpt(outcome(update));
            tell(audience, AgentEvent::ToolResult { ok: status == "completed", excerpt }, out);
        }
        Ok(())
    }

    /// Returns the kind of a tool, which an earlier message may have told.
    pub(super) fn kind(&mut self, update: &Update<'_>) -> String {
        self.tool(update).kind.clone()
    }

    /// Returns the tool as the newest, so that what is forgotten is the oldest.
    fn tool(&mut self, update: &Update<'_>) -> &mut Tool {
        let id = json::start_of_string(update.tool, NAME * 4).unwrap_or_default();
        let known = self.open.iter().position(|tool| tool.id == id).and_then(|at| self.open.remove(at));
        let mut tool = known.unwrap_or_else(|| Tool { id, ..Tool::default() });
        if let Some(kind) = json::start_of_string(update.tool_kind, NAME) {
            tool.kind = kind;
        }
        if self.open.len() >= OPEN {
            self.open.pop_front();
        }
        self.open.push_back(tool);
        let last = self.open.len() - 1;
        &mut self.open[last]
    }
}

impl Tool {
    fn name(&self) -> String {
        if self.kind.is_empty() { "tool".to_owned() } else { self.kind.clone() }
    }
}

fn tell(audience: Audience, event: AgentEvent, out: &mut Vec<AgentEvent>) {
    match audience {
        Audience::People => out.push(event),
        Audience::Nobody => at_work(out),
    }
}

/// One line about a tool call.
struct About {
    detail: String,
    /// Whether it says more than the title that every call has from the beginning.
    is_telling: bool,
}

fn about(update: &Update<'_>) -> Result<About, Malformed> {
    let detail = detail::of_input(update.input);
    if !detail.is_empty() {
        return Ok(About { detail, is_telling: true });
    }
    let title = detail::of_value(update.title);
    let places = Place::list(update.locations)?;
    let place = places.first().map(|place| detail::of_value(place.path)).unwrap_or_default();
    let detail = if place.is_empty() { title } else { place };
    Ok(About { detail, is_telling: false })
}

/// Returns what a tool answered: its blocks, or what it gave in whatever form.
fn outcome<'a>(update: &Update<'a>) -> Option<json::Raw<'a>> {
    let block = update.content.and_then(json::first_element);
    let [content, text] = json::pick_in(block, ["content", "text"]);
    let [inner] = json::pick_in(content, ["text"]);
    inner.or(text).or(update.output)
}
