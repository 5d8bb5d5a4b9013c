//! When the agent of a loop printed something for the last time, and its last tool call. Reads only the end of its log.
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ralph_agents::{AgentEvent, ContextUse, OutputFormat, parser_for_format};
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
/// In how many of the earlier logs of a run the size of the context is searched.
const SEARCHED_LOGS: usize = 3;

/// The last output of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastOutput {
    pub at: UnixMillis,
    /// The last tool call: the name of the tool and a one-line summary.
    pub tool: Option<String>,
    /// The used part of its context; `None` if the agent does not report it.
    pub context_percent: Option<u64>,
}

/// Reads the ends of logs, again only when they have grown.
#[derive(Default)]
pub(super) struct LastOutputReader {
    formats: BTreeMap<String, OutputFormat>,
    known: BTreeMap<String, KnownLog>,
    /// Logs that do not exist yet: a log is created with the first byte of its agent.
    missing: BTreeSet<String>,
    /// The context use that the logs before a log report.
    earlier_contexts: BTreeMap<String, ContextUse>,
}

struct KnownLog {
    length: u64,
    output: LastOutput,
    context: ContextUse,
}

/// The end of a log.
#[derive(Default)]
struct LogTail {
    tool: Option<String>,
    context: ContextUse,
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
        let tail = format.and_then(|format| read_tail(file, metadata.len(), format).ok()).unwrap_or_default();
        let earlier = self.known.remove(&name);
        let tool = tail.tool.or_else(|| earlier.as_ref().and_then(|known| known.output.tool.clone()));
        let mut context = match earlier {
            // The end has no report: the last one still holds.
            Some(known) if tail.context.used_tokens.is_none() => known.context,
            Some(_) | None => tail.context,
        };
        if let Some(format) = format
            && context.used_tokens.is_some()
            && context.size_tokens.is_none()
        {
            let known = self.earlier_contexts.entry(name.clone());
            context = context.with_size_of(known.or_insert_with(|| context_before(&path, format)));
        }
        let output = LastOutput { at, tool, context_percent: context.percent() };
        self.known.insert(name, KnownLog { length: metadata.len(), output: output.clone(), context });
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
        self.earlier_contexts.retain(|path, _| is_active(path));
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

fn read_tail(mut file: File, length: u64, format: OutputFormat) -> io::Result<LogTail> {
    let start = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    // The first line may be incomplete.
    let first =
        if start == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1) };
    let lines = bytes.get(first..).unwrap_or_default();
    let mut parser = parser_for_format(format);
    let mut events = Vec::new();
    parser.push(lines, &mut events);
    let tool = events.iter().rev().find_map(|event| match event {
        AgentEvent::ToolCall { name, detail } => {
            Some(sanitize_text(&redact_text(format!("{name} {detail}").trim())).replace('\n', " "))
        }
        _ => None,
    });
    Ok(LogTail { tool, context: ContextUse::read(format, lines) })
}

/// Returns the newest context whose size is known in the logs of the earlier attempts of the same run.
fn context_before(log: &Path, format: OutputFormat) -> ContextUse {
    let files = log.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let paths = files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
    let is_log = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "ndjson") && path != log;
    let mut logs: Vec<PathBuf> = paths.filter(is_log).collect();
    logs.sort();
    let read = |path: &PathBuf| {
        let file = private_files::open_regular_file(path).ok()?;
        let length = file.metadata().ok()?.len();
        Some(read_tail(file, length, format).ok()?.context).filter(|context| context.size_tokens.is_some())
    };
    logs.iter().rev().take(SEARCHED_LOGS).find_map(read).unwrap_or_default()
}
