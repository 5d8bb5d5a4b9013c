//! Plugins: programs in the verifiers folder of the user. A plugin reads a JSON request on stdin and writes a JSON
//! answer to stdout.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::criterion::{PluginCheck, VerificationMethod};
use ralph_core::evidence::{
    CheckEnding, CheckEvidence, EvidenceKind, MAX_PLUGIN_ANSWER_BYTES, ReasonedVerdict, evaluate_plugin,
};
use serde_json::{Value, json};

use super::external::sanitize_and_redact;
use super::program::{self, CheckProgram, ProgramResult};
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckPosition};
use crate::verify::seals::pycache::PycacheFolder;
use ralph_process::{JobListener, JobSpec, OutputTail, OutputTiming, RawLog, StdinSource};

/// The version of the request format.
const REQUEST_VERSION: u32 = 1;
/// How much of a plugin's stderr goes into the evidence.
const STDERR_TAIL_BYTES: usize = 8_192;

pub(super) async fn run_plugin_check(
    context: &CheckContext,
    check: &PluginCheck,
    position: &CheckPosition<'_>,
    name: Option<&str>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    let started = Instant::now();
    let log = format!("{}.check-{}.log", context.log_prefix, position.label);
    let mut output = PluginOutputReader::new(RawLog::new(context.log_folder.join(&log), &context.log_budget));
    let result = match find_plugin(&context.plugin_folder, &check.plugin) {
        Ok(path) => {
            let request = build_request(context, check, name).to_string();
            let timeout = Duration::from_millis(check.timeout_ms);
            let (pycache, mut job) = (PycacheFolder::new_in(&context.log_folder), build_job(context, path));
            pycache.set_variable(&mut job.env, &BTreeMap::new());
            let program = CheckProgram { job, input: request.into_bytes(), timeout };
            program::run_program(&context.keeper, program, &mut output, control).await
        }
        Err(reason) => ProgramResult::not_started(reason),
    };
    // An incomplete log does not change the answer.
    let _ = output.log.finish();
    let ReasonedVerdict { verdict, reason } = evaluate_plugin(&result.ending, &output.answer);
    CheckEvidence {
        exit_code: match result.ending {
            CheckEnding::Exited { code } => Some(code),
            CheckEnding::Signalled { .. } | CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => None,
        },
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        tail: sanitize_and_redact(&output.stderr_tail.finish()),
        log,
        leftovers: result.leftovers,
        ..CheckEvidence::without_output(
            EvidenceKind::Plugin,
            VerificationMethod::Plugin(check.clone()).summary_line(),
            verdict,
            sanitize_and_redact(&reason),
        )
    }
}

/// Returns the path of a plugin. A link that leads out of the folder is refused.
fn find_plugin(folder: &Path, name: &str) -> Result<PathBuf, String> {
    if !PluginCheck::is_valid_name(name) {
        return Err(format!("{name:?} is not a valid plugin name"));
    }
    let missing = |error| format!("there is no plugin {name} in {}: {error}", folder.display());
    let real = folder.join(name).canonicalize().map_err(missing)?;
    let folder = folder.canonicalize().map_err(missing)?;
    if real.starts_with(&folder) { Ok(real) } else { Err(format!("the plugin {name} leads out of its folder")) }
}

fn build_request(context: &CheckContext, check: &PluginCheck, name: Option<&str>) -> Value {
    let claim = &context.claim;
    let config: Value = serde_json::from_str(&check.config).unwrap_or(Value::Null);
    json!({
        "version": REQUEST_VERSION,
        "run": context.environment.run_id,
        "criterion": { "name": name, "plugin": check.plugin, "config": config },
        "work_tree": context.environment.root,
        "claim": { "promise": claim.promise, "report": claim.report },
        "output_file": claim.output_file,
    })
}

fn build_job(context: &CheckContext, program: PathBuf) -> JobSpec {
    JobSpec {
        program,
        args: Vec::<OsString>::new(),
        env: context.environment.env.clone(),
        cwd: context.environment.root.clone(),
        run_id: context.environment.run_id.clone(),
        stdin: StdinSource::Pipe,
        linger: JobSpec::DEFAULT_LINGER,
        memory_limit: None,
    }
}

/// Collects the answer, up to one byte over its limit, and the tail of stderr.
struct PluginOutputReader {
    answer: Vec<u8>,
    stderr_tail: OutputTail,
    log: RawLog,
}

impl PluginOutputReader {
    /// Creates the log file even if the plugin prints nothing.
    fn new(mut log: RawLog) -> Self {
        log.write(&mut Vec::new());
        Self { answer: Vec::new(), stderr_tail: OutputTail::new(STDERR_TAIL_BYTES), log }
    }
}

impl JobListener for PluginOutputReader {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        let room = (MAX_PLUGIN_ANSWER_BYTES + 1).saturating_sub(self.answer.len()).min(piece.len());
        self.answer.extend_from_slice(piece.get(..room).unwrap_or_default());
        self.log.write(piece);
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.stderr_tail.push(piece);
        self.log.write(piece);
    }
}
