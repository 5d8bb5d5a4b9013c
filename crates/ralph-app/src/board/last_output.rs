//! When the agent of a loop printed something for the last time, and its last tool call. Reads only the end of its log.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use ralph_agents::{AgentEvent, OutputFormat, parser_for_format};
use ralph_core::event::{AttemptKey, UnixMillis};
use ralph_engine::project::Project;
use ralph_engine::run_driver::attempt_log_name;
use ralph_store::RunRow;
use ralph_util::private_files;
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

use crate::run::stored_agents;

/// How much of the end of a log is read.
const TAIL_BYTES: u64 = 64 * 1024;

/// The last output of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastOutput {
    pub at: UnixMillis,
    /// The last tool call: the name of the tool and a one-line summary.
    pub tool: Option<String>,
}

/// Reads the ends of logs, again only when they have grown.
#[derive(Default)]
pub(super) struct LastOutputReader {
    formats: BTreeMap<String, OutputFormat>,
    known: BTreeMap<String, KnownLog>,
    /// Logs that do not exist yet: a log is created with the first byte of its agent.
    missing: BTreeSet<String>,
}

struct KnownLog {
    length: u64,
    output: LastOutput,
}

impl LastOutputReader {
    /// Returns the last output of an attempt; `None` if its agent has printed nothing yet.
    pub(super) fn read(&mut self, project: &Project, run: &RunRow, key: AttemptKey) -> Option<LastOutput> {
        let path = project.run_folder(&run.id).join(format!("{}.ndjson", attempt_log_name(key)));
        let name = path.display().to_string();
        let Ok(file) = private_files::open_regular_file(&path) else {
            self.missing.insert(name);
            return None;
        };
        self.missing.remove(&name);
        let metadata = file.metadata().ok()?;
        if let Some(known) = self.known.get(&name).filter(|known| known.length == metadata.len()) {
            return Some(known.output.clone());
        }
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let at = UnixMillis(i64::try_from(modified.as_millis()).unwrap_or(i64::MAX));
        let format = self.format_of(project, run);
        let tool = format.and_then(|format| last_tool_call(file, metadata.len(), format).ok().flatten());
        let earlier = self.known.remove(&name).and_then(|known| known.output.tool);
        let output = LastOutput { at, tool: tool.or(earlier) };
        self.known.insert(name, KnownLog { length: metadata.len(), output: output.clone() });
        Some(output)
    }

    /// Returns whether no known log has grown since it was read.
    pub(super) fn are_unchanged(&self) -> bool {
        let length = |path: &str| std::fs::symlink_metadata(path).ok().map(|metadata| metadata.len());
        self.known.iter().all(|(path, known)| length(path) == Some(known.length))
            && self.missing.iter().all(|path| length(path).is_none())
    }

    /// Forgets the logs of runs that are not active any more.
    pub(super) fn forget_all_but(&mut self, active: &[&str]) {
        self.formats.retain(|run, _| active.contains(&run.as_str()));
        let is_active = |path: &str| active.iter().any(|run| Path::new(path).iter().any(|part| part == *run));
        self.known.retain(|path, _| is_active(path));
        self.missing.retain(|path| is_active(path));
    }

    fn format_of(&mut self, project: &Project, run: &RunRow) -> Option<OutputFormat> {
        if let Some(format) = self.formats.get(&run.id) {
            return Some(*format);
        }
        let agents = stored_agents(project, run);
        let agent = agents.iter().find(|agent| agent.name == run.agent).or(agents.first())?;
        let format = agent.output_format();
        self.formats.insert(run.id.clone(), format);
        Some(format)
    }
}

fn last_tool_call(mut file: File, length: u64, format: OutputFormat) -> io::Result<Option<String>> {
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    // The first line may be incomplete.
    let first =
        if start == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1) };
    let mut parser = parser_for_format(format);
    let mut events = Vec::new();
    parser.push(bytes.get(first..).unwrap_or_default(), &mut events);
    Ok(events.iter().rev().find_map(|event| match event {
        AgentEvent::ToolCall { name, detail } => {
            Some(sanitize_text(&redact_text(format!("{name} {detail}").trim())).replace('\n', " "))
        }
        _ => None,
    }))
}
