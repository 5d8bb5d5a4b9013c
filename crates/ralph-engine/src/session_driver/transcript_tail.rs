//! Reads the agent's last message from the tail of a transcript. An incomplete last line is ignored, and if the last
//! message of the turn is not written yet, the reader waits for it until a timeout.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::loop_store::sleep_blocking;
use ralph_agents::hooks::{HookProtocol, TranscriptLine};

/// How much of the tail is read at first, and at most.
const FIRST_WINDOW_BYTES: u64 = 128 * 1024;
const MAX_WINDOW_BYTES: u64 = 32 * 1024 * 1024;

/// How long to wait for the last message of a turn.
pub const TRANSCRIPT_WRITE_TIMEOUT: Duration = Duration::from_millis(2_500);

const TRANSCRIPT_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// The result of reading the tail of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastMessage {
    /// The agent's last message of the turn. It may have used tools after it.
    Text(String),
    /// The turn contains no message of the agent.
    Silent,
    /// The transcript contains no conversation.
    NoConversation,
}

/// How much of a transcript existed at the last stop, or at the start of the loop. Everything in it belongs to earlier
/// turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptPosition {
    pub path: PathBuf,
    pub length: u64,
}

impl TranscriptPosition {
    /// Returns the current end of a transcript.
    #[must_use]
    pub fn at_end_of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Self { path: path.to_path_buf(), length: metadata.len() })
    }
}

/// A transcript, and the part of it that belongs to the current turn.
pub struct TranscriptReader<'a> {
    pub path: &'a Path,
    pub host: &'a dyn HookProtocol,
    /// The end of the transcript at the last stop or at the start of the loop, if it is known.
    pub last_stop: Option<&'a TranscriptPosition>,
}

impl TranscriptReader<'_> {
    /// Returns where the current turn begins at the earliest. A transcript that became shorter was written anew.
    fn turn_start(&self, length: u64) -> u64 {
        let last_stop = self.last_stop.filter(|position| position.path == self.path && position.length <= length);
        last_stop.map_or(0, |position| position.length)
    }

    /// Returns the agent's last message of the current turn. If the turn seems to be incomplete, waits for it up to the
    /// time limit.
    pub fn read_last_message(&self, time_limit: Duration) -> io::Result<LastMessage> {
        let until = Instant::now() + time_limit;
        loop {
            // The time is checked before the scan, so that a message which was written in time is found even if the scan is
            // slow.
            let is_last_scan = Instant::now() >= until;
            let scanned = self.scan_tail();
            let is_complete = matches!(&scanned, Ok((LastMessage::Text(_), TranscriptEnd::AgentText)));
            if is_complete || is_last_scan {
                return scanned.map(|(message, _)| message);
            }
            sleep_blocking(TRANSCRIPT_POLL_INTERVAL);
        }
    }

    fn scan_tail(&self) -> io::Result<(LastMessage, TranscriptEnd)> {
        let file = open_transcript(self.path)?;
        let length = file.metadata()?.len();
        let turn_start = self.turn_start(length);
        let mut window = FIRST_WINDOW_BYTES;
        loop {
            let start = length.saturating_sub(window).max(turn_start);
            let found = find_in_lines(&read_range(&file, start, length)?, start > turn_start, self.host);
            match found {
                Some(found) => return Ok(found),
                // Nothing was written since the last stop.
                None if start == turn_start && turn_start > 0 => {
                    return Ok((LastMessage::Silent, TranscriptEnd::Other));
                }
                None if start == turn_start || window >= MAX_WINDOW_BYTES => {
                    return Ok((LastMessage::NoConversation, TranscriptEnd::Other));
                }
                None => window = (window * 4).min(MAX_WINDOW_BYTES),
            }
        }
    }
}

/// Returns whether the agent used a tool in the last turn; `None` if the turn is too long to tell.
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

/// The kind of the last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TranscriptEnd {
    AgentText,
    /// A turn does not end with such a record: the rest is not written yet, or never was.
    Other,
}

/// Opens a transcript. Other kinds of files are refused; opening a pipe must not block.
pub(super) fn open_transcript(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

pub(super) fn read_range(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, start + filled as u64)? {
            // The file was truncated meanwhile.
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads the lines of the last turn backwards. Returns `None` if the lines do not reach back to the start of the turn.
fn find_in_lines(bytes: &[u8], is_cut: bool, host: &dyn HookProtocol) -> Option<(LastMessage, TranscriptEnd)> {
    // The message id and the text found so far.
    let mut found: Option<(String, String)> = None;
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
                match &mut found {
                    None => found = Some((message, text)),
                    Some((id, whole)) if *id == message && !message.is_empty() => whole.insert_str(0, &text),
                    Some(_) => return last_message_found(found, end),
                }
            }
            TranscriptLine::Activity => {
                end.get_or_insert(TranscriptEnd::Other);
                if found.is_some() {
                    return last_message_found(found, end);
                }
            }
            TranscriptLine::Prompted => {
                end.get_or_insert(TranscriptEnd::Other);
                return last_message_found(found, end);
            }
        }
    }
    match (found, end) {
        // The start of a long message may be missing; a claim is at its end.
        (Some(found), end) => last_message_found(Some(found), end),
        (None, Some(end)) if !is_cut => last_message_found(None, Some(end)),
        (None, _) => None,
    }
}

fn last_message_found(
    found: Option<(String, String)>,
    end: Option<TranscriptEnd>,
) -> Option<(LastMessage, TranscriptEnd)> {
    let message = found.map_or(LastMessage::Silent, |(_, text)| LastMessage::Text(text));
    Some((message, end.unwrap_or(TranscriptEnd::Other)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::session_driver::{HookEvent, HookOutput, HookPayload, HookReply, HostCapabilities, find_hook_protocol};

    const PROMPT_LINE: &str = r#"{"type":"user","message":{"role":"user","content":"Do it."}}"#;
    const WORKING_LINE: &str = r#"{"type":"assistant","message":{"id":"w","role":"assistant","content":"Working."}}"#;
    const CLAIM_LINE: &str = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":"DONE"}}"#;

    /// A Claude session whose last message is written while a certain line is parsed.
    struct LateTranscript {
        path: PathBuf,
        /// How many lines are parsed before the message is written.
        lines_before_write: AtomicU64,
        /// How long the write takes.
        write_delay: Duration,
    }

    impl LateTranscript {
        fn new(lines_before_write: u64, folder: &Path) -> Self {
            let path = folder.join("session.jsonl");
            std::fs::write(&path, format!("{PROMPT_LINE}\n")).unwrap();
            Self { path, lines_before_write: AtomicU64::new(lines_before_write), write_delay: Duration::ZERO }
        }

        fn append_claim(&self) {
            let until = Instant::now() + self.write_delay;
            while Instant::now() < until {
                sleep_blocking(TRANSCRIPT_POLL_INTERVAL);
            }
            writeln!(File::options().append(true).open(&self.path).unwrap(), "{CLAIM_LINE}").unwrap();
        }

        fn last_message(&self, time_limit: Duration) -> LastMessage {
            self.last_message_since(None, time_limit)
        }

        fn last_message_since(&self, last_stop: Option<&TranscriptPosition>, time_limit: Duration) -> LastMessage {
            TranscriptReader { path: &self.path, host: self, last_stop }.read_last_message(time_limit).unwrap()
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
        let scans = TRANSCRIPT_WRITE_TIMEOUT.as_millis() / TRANSCRIPT_POLL_INTERVAL.as_millis();
        let late = LateTranscript::new(scans.try_into().unwrap(), temp.path());
        assert_eq!(late.last_message(Duration::from_secs(3_600)), LastMessage::Text("DONE".to_owned()));
    }

    // spec: H9
    // fault: 110
    #[test]
    fn a_missing_message_is_awaited_until_the_timeout() {
        let temp = tempfile::tempdir().unwrap();
        let late = LateTranscript::new(u64::MAX, temp.path());
        let (started, time_limit) = (Instant::now(), Duration::from_millis(60));
        assert_eq!(late.last_message(time_limit), LastMessage::Silent);
        assert!(started.elapsed() >= time_limit);
    }

    // spec: H9
    // fault: 110
    #[test]
    fn a_message_written_during_a_slow_read_is_found_after_the_timeout() {
        let temp = tempfile::tempdir().unwrap();
        let time_limit = Duration::from_secs(1);
        let late = LateTranscript { write_delay: time_limit, ..LateTranscript::new(1, temp.path()) };
        assert_eq!(late.last_message(time_limit), LastMessage::Text("DONE".to_owned()));
    }

    // spec: H1, H9
    // finding: N67
    #[test]
    fn words_from_before_the_last_stop_are_not_those_of_the_current_turn() {
        let temp = tempfile::tempdir().unwrap();
        let late = LateTranscript::new(u64::MAX, temp.path());
        late.append_claim();
        let last_stop = TranscriptPosition::at_end_of(&late.path);
        assert_eq!(late.last_message_since(last_stop.as_ref(), Duration::ZERO), LastMessage::Silent);
        late.append_claim();
        let claim = LastMessage::Text("DONE".to_owned());
        assert_eq!(late.last_message_since(last_stop.as_ref(), Duration::ZERO), claim, "the same words again");
        // Records of the same message are joined.
        let both = LastMessage::Text("DONEDONE".to_owned());
        let elsewhere = last_stop.map(|position| TranscriptPosition { path: "/other".into(), ..position });
        assert_eq!(late.last_message_since(elsewhere.as_ref(), Duration::ZERO), both, "another transcript");
        let longer = Some(TranscriptPosition { path: late.path.clone(), length: 1 << 30 });
        assert_eq!(late.last_message_since(longer.as_ref(), Duration::ZERO), both, "written anew");
    }

    // spec: H9
    // finding: N67
    #[test]
    fn the_words_of_a_fast_turn_are_awaited_if_the_transcript_still_ends_with_an_earlier_turn() {
        let temp = tempfile::tempdir().unwrap();
        let late = LateTranscript::new(u64::MAX, temp.path());
        writeln!(File::options().append(true).open(&late.path).unwrap(), "{WORKING_LINE}").unwrap();
        let last_stop = TranscriptPosition::at_end_of(&late.path);
        writeln!(File::options().append(true).open(&late.path).unwrap(), "{PROMPT_LINE}").unwrap();
        late.lines_before_write.store(3, Ordering::Relaxed);
        let found = late.last_message_since(last_stop.as_ref(), Duration::from_secs(3_600));
        assert_eq!(found, LastMessage::Text("DONE".to_owned()));
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
