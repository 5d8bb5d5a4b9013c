//! The agent's last message in a transcript: only the end of the file is read, however long it is. A line that is still
//! being written is no line yet, and a turn whose last words are not there yet is waited for, for a while.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use super::book::pause;
use ralph_agents::hooks::{Line, Protocol};

/// How much is read first, and at most.
const FIRST: u64 = 128 * 1024;
const MOST: u64 = 32 * 1024 * 1024;

/// How long the last words of a turn may take to reach the transcript.
pub const WRITING: Duration = Duration::from_millis(2_500);

const BETWEEN: Duration = Duration::from_millis(25);

/// What the end of a transcript says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastWords {
    /// The agent's last message of the turn. It may have used tools behind it.
    Said(String),
    /// The agent was asked, and has said nothing in this turn, whatever else it did.
    Silent,
    /// There is nothing of a conversation.
    Nothing,
}

/// Returns the agent's last words, and waits for them at most this long where the turn seems not to be written yet.
pub fn last_words(path: &Path, host: &dyn Protocol, patience: Duration) -> io::Result<LastWords> {
    let until = Instant::now() + patience;
    loop {
        // Whatever was written in time is seen, also by a process that had to wait for its turn.
        let is_last_look = Instant::now() >= until;
        let seen = look(path, host);
        let is_settled = matches!(&seen, Ok((LastWords::Said(_), End::Words)));
        if is_settled || is_last_look {
            return seen.map(|(words, _)| words);
        }
        pause(BETWEEN);
    }
}

/// Tells whether the agent used a tool in the last turn; nothing where the turn is long.
pub fn has_worked(path: &Path, host: &dyn Protocol) -> io::Result<Option<bool>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let bytes = read(&file, length.saturating_sub(FIRST), length)?;
    Ok(bytes.rsplit(|byte| *byte == b'\n').find_map(|line| match host.line(line) {
        Line::Work => Some(true),
        Line::Prompted => Some(false),
        Line::Own { .. } | Line::Aside => None,
    }))
}

/// What stands at the very end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Words,
    /// A turn does not end so: more is to come, or was never written.
    Else,
}

fn look(path: &Path, host: &dyn Protocol) -> io::Result<(LastWords, End)> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let mut window = FIRST;
    loop {
        let start = length.saturating_sub(window);
        let found = in_lines(&read(&file, start, length)?, start > 0, host);
        match found {
            Some(found) => return Ok(found),
            None if start == 0 || window >= MOST => return Ok((LastWords::Nothing, End::Else)),
            None => window = (window * 4).min(MOST),
        }
    }
}

/// Opens a transcript. A pipe that nobody writes to must not hold us up: it is none.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file")),
    }
}

pub(super) fn read(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
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
fn in_lines(bytes: &[u8], is_cut: bool, host: &dyn Protocol) -> Option<(LastWords, End)> {
    // What stands behind the last end of a line is still being written, unless it is whole.
    let mut said: Option<(String, String)> = None;
    let mut end = None;
    let mut lines =
        bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let is_first = lines.peek().is_none();
        if is_first && is_cut {
            break;
        }
        match host.line(line) {
            Line::Aside => {}
            Line::Own { message, text } => {
                end.get_or_insert(End::Words);
                match &mut said {
                    None => said = Some((message, text)),
                    Some((of, whole)) if *of == message && !message.is_empty() => whole.insert_str(0, &text),
                    Some(_) => return told(said, end),
                }
            }
            Line::Work => {
                end.get_or_insert(End::Else);
                if said.is_some() {
                    return told(said, end);
                }
            }
            Line::Prompted => {
                end.get_or_insert(End::Else);
                return told(said, end);
            }
        }
    }
    match (said, end) {
        // The beginning of a message may be cut off; its end is what counts.
        (Some(said), end) => told(Some(said), end),
        (None, Some(end)) if !is_cut => told(None, Some(end)),
        (None, _) => None,
    }
}

fn told(said: Option<(String, String)>, end: Option<End>) -> Option<(LastWords, End)> {
    let words = said.map_or(LastWords::Silent, |(_, text)| LastWords::Said(text));
    Some((words, end.unwrap_or(End::Else)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::session::{Facts, Incoming, Payload, Reply, Said, protocol};

    const ASKED: &str = r#"{"type":"user","message":{"role":"user","content":"Do it."}}"#;
    const CLAIM: &str = r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":"DONE"}}"#;

    /// Claude, whose last words reach the transcript during this look at it, which takes so long.
    struct Late {
        path: PathBuf,
        look: AtomicU64,
        lasting: Duration,
    }

    impl Late {
        fn at(look: u64, folder: &Path) -> Self {
            let path = folder.join("session.jsonl");
            std::fs::write(&path, format!("{ASKED}\n")).unwrap();
            Self { path, look: AtomicU64::new(look), lasting: Duration::ZERO }
        }

        fn speak(&self) {
            let until = Instant::now() + self.lasting;
            while Instant::now() < until {
                pause(BETWEEN);
            }
            writeln!(File::options().append(true).open(&self.path).unwrap(), "{CLAIM}").unwrap();
        }

        fn words(&self, patience: Duration) -> LastWords {
            last_words(&self.path, self, patience).unwrap()
        }
    }

    fn claude() -> &'static dyn Protocol {
        protocol("claude").unwrap()
    }

    impl Protocol for Late {
        fn name(&self) -> &'static str {
            "late"
        }

        fn facts(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Facts {
            claude().facts(variable)
        }

        fn hear(&self, payload: Payload) -> Incoming {
            claude().hear(payload)
        }

        fn say(&self, reply: &Reply) -> Said {
            claude().say(reply)
        }

        fn line(&self, line: &[u8]) -> Line {
            if self.look.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.speak();
            }
            claude().line(line)
        }
    }

    // spec: H9
    // fault: 110
    #[test]
    fn words_that_come_as_late_as_they_may_are_found() {
        let temp = tempfile::tempdir().unwrap();
        let looks = WRITING.as_millis() / BETWEEN.as_millis();
        let late = Late::at(looks.try_into().unwrap(), temp.path());
        assert_eq!(late.words(Duration::from_secs(3_600)), LastWords::Said("DONE".to_owned()));
    }

    // spec: H9
    // fault: 110
    #[test]
    fn words_that_do_not_come_are_waited_for_as_long_as_was_said() {
        let temp = tempfile::tempdir().unwrap();
        let late = Late::at(u64::MAX, temp.path());
        let (began, patience) = (Instant::now(), Duration::from_millis(60));
        assert_eq!(late.words(patience), LastWords::Silent);
        assert!(began.elapsed() >= patience);
    }

    // spec: H9
    // fault: 110
    #[test]
    fn words_that_came_while_nobody_could_look_are_found_although_the_time_is_over() {
        let temp = tempfile::tempdir().unwrap();
        let patience = Duration::from_secs(1);
        let late = Late { lasting: patience, ..Late::at(1, temp.path()) };
        assert_eq!(late.words(patience), LastWords::Said("DONE".to_owned()));
    }

    // spec: H1, H9
    #[test]
    fn what_a_tool_answers_ends_no_turn_of_qwen_s() {
        let turn = [
            r#"{"uuid":"u","type":"user","message":{"parts":[{"text":"Do it."}]}}"#,
            r#"{"uuid":"a","type":"assistant","message":{"parts":[{"text":"DONE"},{"functionCall":{}}]}}"#,
            r#"{"uuid":"t","type":"tool_result","message":{"parts":[{"functionResponse":{}}]}}"#,
        ];
        let found = in_lines(turn.join("\n").as_bytes(), false, protocol("qwen").unwrap());
        assert_eq!(found, Some((LastWords::Said("DONE".to_owned()), End::Else)));
    }
}
