//! What the agent does in its turn: what it tells, and what it asks for.
use super::dialogue::{Dialogue, Phase};
use super::message::{Asked, Choice, Notice, Place, Update};
use super::permit;
use super::words;
use crate::detail;
use crate::event::{AgentEvent, ErrorKind};
use crate::parser::{Records, Talk};
use ralph_util::json::{self, Malformed, Raw};

/// What the agent repeats of what users said, in a session that was loaded.
#[derive(Debug, Default)]
pub(super) enum Echo {
    #[default]
    Harmless,
    /// So much of our prompt has come back. Anything else is the old conversation.
    OfPrompt(usize),
}

impl Dialogue {
    /// The agent asks something of us, and waits until it is answered. All but permissions it asks in vain.
    pub(super) fn asked_for(
        &mut self,
        id: Raw<'_>,
        method: &str,
        params: Option<Raw<'_>>,
        out: &mut Vec<AgentEvent>,
    ) {
        let refusal = match method {
            "session/request_permission" => match self.asked_to_permit(id, params, out) {
                Ok(()) => return,
                Err(Malformed) => words::not_understood(id, method),
            },
            _ => words::refusal(id, method),
        };
        if self.talk.is_some() && self.phase != Phase::Over {
            self.words.bytes.extend(refusal);
        }
    }

    fn asked_to_permit(
        &mut self,
        id: Raw<'_>,
        params: Option<Raw<'_>>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), Malformed> {
        let asked = Asked::of(params)?;
        let tool = asked.tool.unwrap_or_default();
        let (options, mut places) = (Choice::list(asked.options)?, Place::list(tool.locations)?);
        places.extend(Place::list(tool.content)?);
        self.turn.pause(out);
        self.tools.note(&tool, out)?;
        let Some(talk) = &self.talk else { return Ok(()) };
        if self.is_cancelled || self.phase != Phase::Turn {
            self.words.bytes.extend(words::permission(id, None));
            return Ok(());
        }
        let kind = self.tools.kind(&tool);
        let answer = permit::decide(talk.permission, &kind, &places, &talk.folder);
        let option = permit::option(answer, &options);
        if let Some(refusal) = refusal(talk, answer, option.as_deref(), &tool) {
            out.push(AgentEvent::ToolResult { ok: false, excerpt: refusal });
        }
        self.words.bytes.extend(words::permission(id, option.as_deref()));
        Ok(())
    }

    /// The agent tells what it does. Only what follows our prompt, in our session, is its work.
    pub(super) fn updated(
        &mut self,
        notice: &Notice<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), Malformed> {
        let update = notice.update.unwrap_or_default();
        let session = json::string(notice.session);
        if self.talk.is_none() && self.session.is_none() {
            self.session.clone_from(&session);
        }
        if self.phase != Phase::Turn || session != self.session {
            return Ok(());
        }
        out.extend(self.books.note(&update));
        match json::name(update.kind) {
            "agent_message_chunk" => {
                let text = text_of(&update);
                self.turn.say(json::string(update.message), text, out);
            }
            "agent_thought_chunk" => self.turn.think(&text_of(&update)),
            "user_message_chunk" => self.repeated(&text_of(&update), out),
            "tool_call" | "tool_call_update" => {
                self.turn.pause(out);
                self.tools.note(&update, out)?;
            }
            // Told when a session begins, so what was said before is of another.
            "available_commands_update" => self.turn.pause(out),
            _ => {}
        }
        Ok(())
    }

    /// The agent repeats what a user said. In a session that was loaded that is our prompt, or the old conversation is
    /// still being told: then nobody knows what of the words to come is new.
    fn repeated(&mut self, text: &str, out: &mut Vec<AgentEvent>) {
        self.turn.pause(out);
        if let (Echo::OfPrompt(heard), Some(talk)) = (&mut self.echo, &self.talk) {
            if !talk.prompt.get(*heard..).is_some_and(|rest| rest.starts_with(text)) {
                return self.replayed_late(out);
            }
            *heard += text.len();
        }
        out.push(AgentEvent::Prompted);
    }

    fn replayed_late(&mut self, out: &mut Vec<AgentEvent>) {
        self.interrupt();
        let message = "session not found in a usable form: the agent repeats the old conversation after it has said \
                       that it is loaded, so its old words cannot be told from new ones";
        self.fail(ErrorKind::Unknown, message.to_owned(), out);
    }
}

/// Says what was refused, or what could not be allowed because the agent gave no such option.
fn refusal(talk: &Talk, answer: permit::Answer, option: Option<&str>, tool: &Update<'_>) -> Option<String> {
    let title = detail::of_value(tool.title);
    match (answer, option) {
        (permit::Answer::Allow, Some(_)) => None,
        (permit::Answer::Allow, None) => Some(format!("the agent offered no way to allow: {title}")),
        (permit::Answer::Refuse, _) => Some(format!("refused by permission `{}`: {title}", talk.permission)),
    }
}

fn text_of(update: &Update<'_>) -> String {
    let [text] = json::pick_in(update.content, ["text"]);
    json::string(text).unwrap_or_default()
}
