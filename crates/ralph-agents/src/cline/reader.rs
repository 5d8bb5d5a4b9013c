//! Cline's `--json` stream as events. Two generations of it are read: the `say`/`ask` records of earlier
//! versions and the `agent_event`/`run_result` records of today's.
use super::record::Record;
use super::{ask, run};
use crate::event::AgentEvent;
use crate::parser::{JsonStream, Parser, Records, Seen};
use crate::voice::Voice;
use ralph_util::json::{self, Malformed};

pub(crate) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    voice: Voice,
    pub(super) has_spoken: bool,
    pub(super) asks: ask::Requests,
    pub(super) run: run::Run,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let record = Record::of_line(line)?;
        match json::name(record.kind) {
            "task_started" => {
                out.push(AgentEvent::Started { session: json::string(record.task), model: None });
            }
            "say" => self.say(&record, out),
            "ask" => self.ask(&record, out),
            "run_start" => self.run_start(&record),
            "hook_event" => self.hook_event(&record, out),
            "agent_event" => self.agent_event(&record.event.unwrap_or_default(), out),
            "run_result" => self.run_result(&record, out),
            "run_aborted" => run::aborted(&record, out),
            "error" => run::error_record(&record, out),
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }
}

impl Reader {
    pub(super) fn speak(&mut self, text: Option<String>, out: &mut Vec<AgentEvent>) {
        let said = text.and_then(|text| self.voice.whole(None, text));
        self.has_spoken |= said.is_some();
        out.extend(said);
    }
}
