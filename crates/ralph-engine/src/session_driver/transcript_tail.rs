//! The agent's last message in a transcript: only the end of the file is read, however long it is. A line that is still
//! being written is no line yet, and a turn whose last words are not there yet is waited for, for a while.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use super::loop_store::sleep_blocking;
use ralph_agents::hooks::{HookProtocol, TranscriptLine};

/// How much is read first, and at most.
const FIRST_WINDOW_BYTES: u64 = 128 * 1024;
const MAX_WINDOW_BYTES: u64 = 32 * 1024 * 1024;

/// How long the last words of a turn may take to reach the transcript.
pub const TRANSCRIPT_WRITE_TIMEOUT: Duration = Duration::from_millis(2_500);

const TRANSCRIPT_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// What the end of a transcript says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastMessage {
    /// The agent's last message of the turn. It may have used tools behind it.
    Text(String),
    /// The agent was asked, and has said nothing in this turn, whatever else it did.
    Silent,
    /// There is nothing of a conversation.
    NoConversation,
}

/// Returns the agent's last words, and waits for them at most this long where the turn seems not to be written yet.
pub fn read_last_message(path: &Path, host: &dyn HookProtocol, time_limit: Duration) -> io::Result<LastMessage> {
    let until = Instant::now() + time_limit;
    loop {
        // Whatever was written in time is seen, also by a process that had to wait for its turn.
        let is_last_look = Instant::now() >= until;
        let seen = scan_tail(path, host);
        let is_settled = matches!(&seen, Ok((LastMessage::Text(_), TranscriptEnd::AgentText)));
        if is_settled || is_last_look {
            return seen.map(|(words, _)| words);
        }
        sleep_blocking(TRANSCRIPT_POLL_INTERVAL);
    }
}

/// Tells whether the agent used a tool in the last turn; nothing where the turn is long.
pub fn has_used_tool(path: &Path, host: &dyn HookProtocol) -> io::Result<Option<bool>> {
    let file = open_transcript(path)?;
    let length = file.metadata()?.len();
    let bytes = read_range(&file, length.saturating_sub(FIRST_WINDOW_BYTES), length)?;
    Ok(bytes.rsplit(|byte| *byte == b'\n').find_map(|line| match host.parse_transcript_line(line) {
        TranscriptLine::Activity => Some(true),
        TranscriptLine::Prompted => Some(false),
        TranscriptLine::AgentText { .. } | TranscriptLine::Unrelated => None,
    }))
}

/// What stands at the very end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TranscriptEnd {
    AgentText,
    /// A turn does not end so: more is to come, or was never written.
    Other,
}

fn scan_tail(path: &Path, host: &dyn HookProtocol) -> io::Result<(LastMessage, TranscriptEnd)> {
    let file = open_transcript(path)?;
    let length = file.metadata()?.len();
    let mut window = FIRST_WINDOW_BYTES;
    loop {
        let start = length.saturating_sub(window);
        let found = find_in_lines(&read_range(&file, start, length)?, start > 0, host);
        match found {
            Some(found) => return Ok(found),
            None if start == 0 || window >= MAX_WINDOW_BYTES => {
                return Ok((LastMessage::NoConversation, TranscriptEnd::Other));
            }
            None => window = (window * 4).min(MAX_WINDOW_BYTES),
        }
    }
}

/// Opens a transcript. A pipe that nobody writes to must not hold us up: it is none.
pub(super) fn open_transcript(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file")),
    }
}

pub(super) fn read_range(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, start + filled as u64)? {
            // It was cut meanwhile.
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads lines from the last to the first, as far as the turn goes. Nothing where its beginning is not in them.
fn find_in_lines(bytes: &[u8], is_cut: bool, host: &dyn HookProtocol) -> Option<(LastMessage, TranscriptEnd)> {
    // What stands behind the last end of a line is still being written, unless it is whole.
    let mut said: Option<(String, String)> = None;
    let mut end = None;
    let mut lines = bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let is_first = lines.peek().is_none();
        if is_first && is_cut {
            break;
        }
        match host.parse_transcript_line(line) {
            TranscriptLine::Unrelated => {}
            TranscriptLine::AgentText { message, text } => {
                end.get_or_insert(TranscriptEnd::AgentText);
                match &mut said {
                    None => said = Some((message, text)),
                    Some((of, whole)) if *of == message && !message.is_empty() => whole.insert_str(0, &text),
                    Some(_) => return last_message_found(said, end),
                }
            }
            TranscriptLine::Activity => {
                end.get_or_insert(TranscriptEnd::Other);
                if said.is_some() {
                    return last_message_found(said, end);
                }
            }
            TranscriptLine::Prompted => {
                end.get_or_insert(TranscriptEnd::Other);
                return last_message_found(said, end);
            }
        }
    }
    match (said, end) {
        // The beginning of a message may be cut off; its end is what counts.
        (Some(said), end) => last_message_found(Some(said), end),
        (None, Some(end)) if !is_cut => last_message_found(None, Some(end)),
        (None, _) => None,
    }
}

fn last_message_found(
    said: Option<(String, String)>,
    end: Option<TranscriptEnd>,
) -> Option<(LastMessage, TranscriptEnd)> {
    let words = said.map_or(LastMessage::Silent, |(_, text)| LastMessage::Text(text));
    Some((words, end.unwrap_or(TranscriptEnd::Other)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::session_driver::{HookEvent, HookOutput, HookPayload, HookReply, HostCapabilities, find_hook_protocol};

    const PROMPT_LINE: &str = r#"{"type":"user","message":{"role":"user","content":"Do it."}}"#;
    const CLAIM_LINE: &str = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":"DONE"}}"#;

    /// Claude, whose last words reach the transcript during this look at it, which takes so long.
    struct LateTranscript {
        path: PathBuf,
        lines_before_write: AtomicU64,
        write_delay: Duration,
    }

    impl LateTranscript {
        fn new(look: u64, folder: &Path) -> Self {
            let path = folder.join("session.jsonl");
            std::fs::write(&path, format!("{PROMPT_LINE}\n")).unwrap();
            Self { path, lines_before_write: AtomicU64::new(look), write_delay: Duration::ZERO }
        }

        fn append_claim(&self) {
            let until = Instant::now() + self.write_delay;
            while Instant::now() < until {
                sleep_blocking(TRANSCRIPT_POLL_INTERVAL);
            }
            writeln!(File::options().append(true).open(&self.path).unwrap(), "{CLAIM_LINE}").unwrap();
        }

        fn last_message(&self, patience: Duration) -> LastMessage {
            read_last_message(&self.path, self, patience).unwrap()
        }
    }

    fn claude_protocol() -> &'static dyn HookProtocol {
        find_hook_protocol("claude").unwrap()
    }

    impl HookProtocol for LateTranscript {
        fn name(&self) -> &'static str {
            "late"
        }

        fn capabilities(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> HostCapabilities {
            claude_protocol().capabilities(variable)
        }

        fn parse_event(&self, payload: HookPayload) -> HookEvent {
            claude_protocol().parse_event(payload)
        }

        fn render_reply(&self, reply: &HookReply) -> HookOutput {
            claude_protocol().render_reply(reply)
        }

        fn parse_transcript_line(&self, line: &[u8]) -> TranscriptLine {
            if self.lines_before_write.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.append_claim();
            }
            claude_protocol().parse_transcript_line(line)
        }
    }

    // spec: H9
    // fault: 110
    #[test]
    fn a_message_written_just_before_the_timeout_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let looks = TRANSCRIPT_WRITE_TIMEOUT.as_millis() / TRANSCRIPT_POLL_INTERVAL.as_millis();
        let late = LateTranscript::new(looks.try_into().unwrap(), temp.path());
        assert_eq!(late.last_message(Duration::from_secs(3_600)), LastMessage::Text("DONE".to_owned()));
    }

    // spec: H9
    // fault: 110
    #[test]
    fn a_message_that_never_comes_is_awaited_until_the_timeout() {
        let temp = tempfile::tempdir().unwrap();
        let late = LateTranscript::new(u64::MAX, temp.path());
        let (began, patience) = (Instant::now(), Duration::from_millis(60));
        assert_eq!(late.last_message(patience), LastMessage::Silent);
        assert!(began.elapsed() >= patience);
    }

    // spec: H9
    // fault: 110
    #[test]
    fn a_message_written_during_a_slow_read_is_found_after_the_timeout() {
        let temp = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(1);
        let late = LateTranscript { write_delay: patience, ..LateTranscript::new(1, temp.path()) };
        assert_eq!(late.last_message(patience), LastMessage::Text("DONE".to_owned()));
    }

    // spec: H1, H9
    #[test]
    fn a_tool_result_does_not_end_a_qwen_turn() {
        let turn = [
            r#"{"uuid":"u","type":"user","message":{"parts":[{"text":"Do it."}]}}"#,
            r#"{"uuid":"a","type":"assistant","message":{"parts":[{"text":"DONE"},{"functionCall":{}}]}}"#,
            r#"{"uuid":"t","type":"tool_result","message":{"parts":[{"functionResponse":{}}]}}"#,
        ];
        let found = find_in_lines(turn.join("\n").as_bytes(), false, find_hook_protocol("qwen").unwrap());
        assert_eq!(found, Some((LastMessage::Text("DONE".to_owned()), TranscriptEnd::Other)));
    }
}
