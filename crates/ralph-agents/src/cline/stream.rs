//! Parses Cline's `--json` stream into events. Supports the `say`/`ask` records of earlier versions and the
//! `agent_event`/`run_result` records of current ones.
use super::record::ClineRecord;
use super::{legacy_records, run_records};
use crate::stream::event::AgentEvent;
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::parser::{JsonLinesParser, RecordReader, RecordStatus, StreamParser};
use ralph_util::json::{self, MalformedJson};

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<ClineStreamReader>::default()
}

#[derive(Debug, Default)]
pub(crate) struct ClineStreamReader {
    numbering: MessageNumbering,
    pub(crate) has_spoken: bool,
    pub(crate) request_usage: legacy_records::ClineRequestUsage,
    pub(crate) run_state: run_records::ClineRunState,
}

impl RecordReader for ClineStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = ClineRecord::of_line(line)?;
        match json::as_name(record.kind) {
            "task_started" => {
                out.push(AgentEvent::Started { session: json::decode_string(record.task), model: None });
            }
            "say" => self.read_say(&record, out),
            "ask" => self.read_ask(&record, out),
            "run_start" => self.read_run_start(&record),
            "hook_event" => self.read_hook_event(&record, out),
            "agent_event" => self.read_agent_event(&record.event.unwrap_or_default(), out),
            "run_result" => self.read_run_result(&record, out),
            "run_aborted" => run_records::read_run_aborted(&record, out),
            "error" => run_records::read_error_record(&record, out),
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }
}

impl ClineStreamReader {
    pub(crate) fn push_message(&mut self, text: Option<String>, out: &mut Vec<AgentEvent>) {
        let event = text.and_then(|text| self.numbering.number_whole_message(None, text));
        self.has_spoken |= event.is_some();
        out.extend(event);
    }
}
