//! `bash` and `script` nodes, and `until_bash`: the script runs in the files of the run, and every value arrives in its
//! environment.
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use ralph_core::workflow::graph::{ActivityResult, FailureKind, IterationVerdict, NodeFailure};
use ralph_core::workflow::script_code::{ScriptCodeError, substitute_script_code};
use ralph_core::workflow::shell::{BoundScript, input_variable_name, rewrite_script};
use ralph_core::workflow::{BashNode, ScriptNode, ScriptRuntime, ScriptSource};
use ralph_engine::node_program::{NodeProgram, NodeProgramResult, run_node_program};
use ralph_engine::run_driver::{ControlEvent, PROJECT_ENV_VAR, SignalRequest, suspend_commands};
use ralph_process::{JobCommand, JobSpec, StdinSource, can_start_program};
use ralph_util::private_files;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{ActivityRunner, ReadyActivity, completed, failed};
use crate::workflow_runs::loop_receipt::{CompletionChannel, LoopClaim};
use crate::workflow_runs::ready::resolve_with;
use crate::workflow_runs::services::RunServices;

/// The text of a script before its references are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellText(pub String);

/// A longer script is passed in a file: Linux allows 128 KiB for an argument.
const MAX_ARGUMENT_BYTES: usize = 96 * 1024;

/// How a program of a node ended.
pub(super) enum ProgramEnd {
    Ended(NodeProgramResult),
    /// It was stopped, or could not begin because the run ends.
    Stopped,
}

impl ActivityRunner {
    pub(super) async fn run_bash(
        &self,
        ready: &ReadyActivity,
        script: &ShellText,
        timeout_ms: u64,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        match self.run_shell(ready, &script.0, timeout_ms, control).await {
            Err(reason) => failed(reason),
            Ok(ProgramEnd::Stopped) => ActivityResult::Stopped,
            Ok(ProgramEnd::Ended(result)) => self.node_result(ready, &result, timeout_ms),
        }
    }

    /// Runs `until_bash` of a loop group. Exit 0 accepts; the result of a command that cannot run is not a verdict.
    pub(super) async fn judge_group(
        &self,
        ready: &ReadyActivity,
        script: &str,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        match self.judge_until_bash(ready, script, control).await {
            None => ActivityResult::Stopped,
            Some(verdict) => {
                if let IterationVerdict::Accepted { .. } = &verdict {
                    let channel = CompletionChannel::UntilBash { command: script.to_owned() };
                    let repository = self.services.take_snapshot().await;
                    let claim = LoopClaim { channel, run: None, iterations: None, repository };
                    self.services.report_loop_claim(&ready.node, claim);
                }
                ActivityResult::Judged(verdict)
            }
        }
    }

    /// Returns the verdict of `until_bash`, or `None` if it was stopped.
    pub(super) async fn judge_until_bash(
        &self,
        ready: &ReadyActivity,
        script: &str,
        control: UnboundedReceiver<ControlEvent>,
    ) -> Option<IterationVerdict> {
        let unevaluated = |reason: String| {
            let command = script.lines().next().unwrap_or_default();
            Some(IterationVerdict::CouldNotEvaluate { reason: format!("`until_bash` ({command}): {reason}") })
        };
        let result = match self.run_shell(ready, script, BashNode::DEFAULT_TIMEOUT_MS, control).await {
            Err(reason) => return unevaluated(reason),
            Ok(ProgramEnd::Stopped) => return None,
            Ok(ProgramEnd::Ended(result)) => result,
        };
        match result.ending {
            CheckEnding::Exited { code: 0 } => {
                Some(IterationVerdict::Accepted { proof: ralph_core::receipt::ProofLevel::Checked })
            }
            CheckEnding::Exited { code: code @ (126 | 127) } => {
                unevaluated(format!("exit code {code}{}", stderr_suffix(&result.stderr_tail)))
            }
            CheckEnding::Exited { .. } => Some(IterationVerdict::Rejected { feedback: None }),
            CheckEnding::TimedOut => unevaluated("it did not end in time".to_owned()),
            CheckEnding::Signalled { signal } => unevaluated(format!("it was killed by signal {signal}")),
            CheckEnding::NotStarted { why } => unevaluated(why),
        }
    }

    async fn run_shell(
        &self,
        ready: &ReadyActivity,
        script: &str,
        timeout_ms: u64,
        control: UnboundedReceiver<ControlEvent>,
    ) -> Result<ProgramEnd, String> {
        let services = &self.services;
        let values_folder = services.run_folder().join("values").join(file_name(&ready.label));
        let directory = values_folder.to_string_lossy().into_owned();
        let bound = ready.values.with_text_values(|values| rewrite_script(script).bind(values, &directory));
        let BoundScript { text, environment, files } = bound.map_err(|error| error.to_string())?;
        if !files.is_empty() {
            let files = files.iter().map(|file| (file.variable.as_str(), file.content.as_str()));
            write_value_files(&values_folder, files)
                .map_err(|error| format!("cannot write the values of the script: {error}"))?;
        }
        let mut args: Vec<OsString> = vec!["-c".into(), text.clone().into(), "bash".into()];
        if text.len() > MAX_ARGUMENT_BYTES {
            write_value_files(&values_folder, [("script.bash", text.as_str())])
                .map_err(|error| format!("cannot write the script: {error}"))?;
            args = vec![values_folder.join("script.bash").into()];
        }
        let program = ProgramStart { program: "bash".into(), args, environment, input: Vec::new(), timeout_ms };
        Ok(self.run_program(ready, program, control).await)
    }

    pub(super) async fn run_script(
        &self,
        ready: &ReadyActivity,
        script: &ScriptNode,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        match self.script_start(ready, script) {
            Err(reason) => failed(reason),
            Ok(start) => {
                let timeout_ms = start.timeout_ms;
                match self.run_program(ready, start, control).await {
                    ProgramEnd::Stopped => ActivityResult::Stopped,
                    ProgramEnd::Ended(result) => self.node_result(ready, &result, timeout_ms),
                }
            }
        }
    }

    fn script_start(&self, ready: &ReadyActivity, script: &ScriptNode) -> Result<ProgramStart, String> {
        let (program, install) = match script.runtime {
            ScriptRuntime::Bun => ("bun", "https://bun.sh"),
            ScriptRuntime::Uv => ("uv", "https://docs.astral.sh/uv"),
        };
        if !can_start_program(&self.services.project.root, program) {
            return Err(format!("`runtime: {program}` needs {program} on PATH; install it ({install})"));
        }
        let mut environment: Vec<(String, String)> = Vec::new();
        for (variable, text) in &ready.values.variables {
            environment.extend(variable.names().iter().map(|name| ((*name).to_owned(), text.clone())));
        }
        for (name, text) in &ready.values.inputs {
            environment.push((input_variable_name(name), text.clone()));
        }
        for (name, text) in resolve_with(&script.with, &ready.values)? {
            environment.push((input_variable_name(&name), text));
        }
        let (args, input) = self.script_arguments(ready, script)?;
        Ok(ProgramStart { program: program.into(), args, environment, input, timeout_ms: script.timeout_ms })
    }

    /// Returns the arguments of the runtime, and the code for its stdin.
    fn script_arguments(&self, ready: &ReadyActivity, script: &ScriptNode) -> Result<(Vec<OsString>, Vec<u8>), String> {
        let file = match &script.source {
            ScriptSource::Named(name) => {
                let path = self.services.spec.scripts.get(name);
                path.map(PathBuf::from).ok_or_else(|| format!("the script {name} was not found"))?
            }
            ScriptSource::Code(code) => {
                let substituted =
                    ready.values.with_text_values(|values| substitute_script_code(code, script.runtime, values));
                let code = substituted.map_err(|error| match error {
                    ScriptCodeError::Refused(refused) => {
                        format!("{} in code; {}", refused.reference, refused.fix(script.runtime))
                    }
                    error @ ScriptCodeError::Value(_) => error.to_string(),
                })?;
                let folder = self.services.run_folder().join("values").join(file_name(&ready.label));
                let name = match script.runtime {
                    ScriptRuntime::Bun => "script.ts",
                    ScriptRuntime::Uv => "script.py",
                };
                write_value_files(&folder, [(name, code.as_str())])
                    .map_err(|error| format!("cannot write the script: {error}"))?;
                folder.join(name)
            }
        };
        let mut args: Vec<OsString> = vec!["run".into()];
        if script.runtime == ScriptRuntime::Uv {
            for dependency in &script.dependencies {
                args.extend(["--with".into(), dependency.into()]);
            }
        }
        args.push(file.into());
        Ok((args, Vec::new()))
    }

    async fn run_program(
        &self,
        ready: &ReadyActivity,
        start: ProgramStart,
        mut control: UnboundedReceiver<ControlEvent>,
    ) -> ProgramEnd {
        let services = &self.services;
        let log = services.run_folder().join(format!("node-{}.log", file_name(&ready.label)));
        let program = NodeProgram {
            job: JobSpec {
                program: start.program,
                args: start.args,
                env: environment_of(services, start.environment),
                cwd: services.project.root.clone(),
                run_id: services.run.clone(),
                stdin: StdinSource::Null,
                linger: JobSpec::DEFAULT_LINGER,
                memory_limit: None,
            },
            input: start.input,
            timeout: Duration::from_millis(start.timeout_ms),
            log_budget: services.log_budget.clone(),
            log,
        };
        let (commands, receiver) = unbounded_channel();
        let mut running = std::pin::pin!(run_node_program(&services.host.keeper, program, receiver));
        let mut is_stopped = false;
        let result = loop {
            tokio::select! {
                result = &mut running => break result,
                is_stop = forward_control(&mut control, &commands), if !is_stopped => is_stopped = is_stop,
            }
        };
        if let Some(warning) = &result.warning {
            services.warn(warning);
        }
        if is_stopped { ProgramEnd::Stopped } else { ProgramEnd::Ended(result) }
    }

    fn node_result(&self, ready: &ReadyActivity, result: &NodeProgramResult, timeout_ms: u64) -> ActivityResult {
        match &result.ending {
            CheckEnding::Exited { code: 0 } => match &result.stdout {
                Some(output) => self.finish_output(ready, output.trim().to_owned(), None),
                None => failed("its output is longer than 64 MB"),
            },
            CheckEnding::Exited { code } => failed(format!("exit code {code}{}", stderr_suffix(&result.stderr_tail))),
            CheckEnding::Signalled { signal } => failed(format!("it was killed by signal {signal}")),
            CheckEnding::TimedOut => failed(format!("it did not end within {timeout_ms} ms (`timeout`)")),
            CheckEnding::NotStarted { why } => ActivityResult::Failed(NodeFailure {
                reason: why.clone(),
                kind: FailureKind::Permanent,
                child_outcome: None,
            }),
        }
    }
}

/// A program with its arguments and values.
struct ProgramStart {
    program: PathBuf,
    args: Vec<OsString>,
    environment: Vec<(String, String)>,
    input: Vec<u8>,
    timeout_ms: u64,
}

/// Waits for the next control event and forwards it. Returns whether it was a stop.
async fn forward_control(
    control: &mut UnboundedReceiver<ControlEvent>,
    commands: &UnboundedSender<JobCommand>,
) -> bool {
    match control.recv().await {
        Some(ControlEvent::Signal(SignalRequest::Stop(_)) | ControlEvent::LeaseLost) => {
            // The program may have just ended.
            let _ = commands.send(JobCommand::Kill);
            true
        }
        Some(ControlEvent::Suspend(request)) => {
            suspend_commands(request, commands).await;
            false
        }
        Some(ControlEvent::Signal(SignalRequest::Suspend | SignalRequest::CheckOrders)) => false,
        None => std::future::pending().await,
    }
}

/// The environment of this process with the values on top.
fn environment_of(services: &RunServices, values: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    let mut environment: std::collections::BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    environment.extend(values.into_iter().map(|(name, value)| (name.into(), value.into())));
    environment.insert(PROJECT_ENV_VAR.into(), services.project.root.clone().into());
    environment.into_iter().collect()
}

fn stderr_suffix(tail: &str) -> String {
    let last = tail.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    last.map(|line| format!(": {line}")).unwrap_or_default()
}

/// Returns a file name for a label.
pub(super) fn file_name(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// Writes files into a private folder. Files of an earlier start are replaced.
fn write_value_files<'a>(
    folder: &std::path::Path,
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> std::io::Result<()> {
    let folder = private_files::ensure_folder(folder)?;
    for (name, content) in files {
        let path = folder.path().join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        private_files::open_for_append(&path)?.write_all(content.as_bytes())?;
    }
    Ok(())
}

/// Returns an empty success, for activities whose output is ignored.
pub(super) fn ignored_output() -> ActivityResult {
    completed(String::new())
}
