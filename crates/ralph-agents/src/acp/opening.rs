//! How a talk begins: the version, the session, the model.
use super::dialogue::{Dialogue, Phase};
use super::listening::Echo;
use super::message::{Answer, Setting};
use super::words;
use crate::event::{AgentEvent, ErrorKind};
use crate::parser::Talk;
use ralph_util::json::{self, Malformed};

/// Agents that go on with the old conversation after they have said that it is loaded. What of it is new nobody can tell.
const REPLAY_LATE: &[&str] = &["gemini-cli"];

/// How the agent goes on with a session of before.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Return {
    #[default]
    Impossible,
    /// Repeats nothing.
    Resume,
    /// Repeats the whole conversation first.
    Load,
}

impl Dialogue {
    pub(super) fn greeted(&mut self, answer: &Answer<'_>, out: &mut Vec<AgentEvent>) {
        match json::count(answer.protocol) {
            Some(words::VERSION) => {}
            Some(other) => {
                let message = format!(
                    "the agent speaks version {other} of the Agent Client Protocol, and ralph speaks {}",
                    words::VERSION
                );
                return self.fail(ErrorKind::Format, message, out);
            }
            None => {
                let message = "the agent named no version of the Agent Client Protocol".to_owned();
                return self.fail(ErrorKind::Format, message, out);
            }
        }
        self.return_by = return_by(answer);
        self.phase = Phase::Opening;
        self.open(out);
    }

    fn open(&mut self, out: &mut Vec<AgentEvent>) {
        let Some(Talk { session, folder, .. }) = &self.talk else { return };
        let (session, folder) = (session.clone(), folder.clone());
        match (session, self.return_by) {
            (None, _) => self.ask(|id| words::new_session(id, &folder)),
            (Some(session), Return::Resume) => {
                self.ask(|id| words::old_session(id, "session/resume", &session, &folder));
            }
            (Some(session), Return::Load) => {
                self.echo = Echo::OfPrompt(0);
                self.ask(|id| words::old_session(id, "session/load", &session, &folder));
            }
            (Some(_), Return::Impossible) => {
                let message = "session not found: the agent offers no safe way to go on with one".to_owned();
                self.fail(ErrorKind::Unknown, message, out);
            }
        }
    }

    pub(super) fn opened(&mut self, answer: &Answer<'_>, out: &mut Vec<AgentEvent>) -> Result<(), Malformed> {
        let asked_for = self.talk.as_ref().and_then(|talk| talk.session.clone());
        self.session = json::string(answer.session).or(asked_for).or(self.session.take());
        if self.talk.is_some() && self.session.is_none() {
            self.fail(ErrorKind::Format, "the agent opened a session without an id".to_owned(), out);
            return Ok(());
        }
        let settings = Setting::list(answer.options)?;
        let of_model = settings.iter().find(|setting| json::name(setting.category) == "model");
        let models = answer.models.unwrap_or_default();
        let model =
            of_model.map_or_else(|| json::string(models.current), |of_model| json::string(of_model.current));
        out.push(AgentEvent::Started { session: self.named_session(), model: model.clone() });
        self.phase = Phase::Turn;
        match self
            .talk
            .as_ref()
            .and_then(|talk| talk.model.clone())
            .filter(|wanted| Some(wanted) != model.as_ref())
        {
            Some(wanted) => {
                let by = of_model.and_then(|of_model| json::string(of_model.id));
                self.choose_model(by, answer.models.is_some(), &wanted, out);
            }
            None => self.prompt(),
        }
        Ok(())
    }

    /// A session that cannot be gone on with is not named: nobody shall try.
    fn named_session(&self) -> Option<String> {
        let is_useless = self.talk.is_some() && self.return_by == Return::Impossible;
        self.session.clone().filter(|_| !is_useless)
    }

    /// Agents offer their models as a setting, or by a request of its own, or not at all.
    fn choose_model(
        &mut self,
        setting: Option<String>,
        has_models: bool,
        model: &str,
        out: &mut Vec<AgentEvent>,
    ) {
        self.phase = Phase::ChoosingModel;
        let session = self.session.clone().unwrap_or_default();
        match setting {
            Some(setting) => self.ask(|id| words::set_option(id, &session, &setting, model)),
            None if has_models => self.ask(|id| words::set_model(id, &session, model)),
            None => {
                let message = format!("the agent offers no choice of models, so {model:?} cannot be chosen");
                self.fail(ErrorKind::Model, message, out);
            }
        }
    }
}

fn return_by(answer: &Answer<'_>) -> Return {
    let can = answer.abilities.unwrap_or_default();
    let name = answer.agent.unwrap_or_default().name;
    let can_resume = json::is_set(can.sessions.unwrap_or_default().resume);
    let can_load = json::is_true(can.load) && !REPLAY_LATE.contains(&json::name(name));
    match (can_resume, can_load) {
        (true, _) => Return::Resume,
        (false, true) => Return::Load,
        (false, false) => Return::Impossible,
    }
}
