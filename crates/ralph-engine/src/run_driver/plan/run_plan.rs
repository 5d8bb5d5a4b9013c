//! The plan of a run: everything that is decided before it starts, in a stored half and a live half.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ralph_core::claim::PromiseNonce;
use ralph_core::criterion::Criterion;
use ralph_core::event::RunOpening;
use ralph_core::policy::ContextMode;
use ralph_core::prompt::{self, AgentNotes, CompletionInstructions, PromptInput, PromptPlan};
use ralph_core::prompt_variables::ExpandedPrompt;

use super::agent_choice::{AgentChoice, AgentJob};
use super::judge_choice::{JudgeChoice, StoredJudge};
use super::prompt_source::PromptSource;
use super::run_context::RunContext;
use super::run_spec::RunSpec;
use crate::run_driver::attempt::attempt_io::SessionRequest;
use crate::verify::{FileSealer, SealError};
use crate::worktree::AssignedWorktree;
use ralph_agents::{AgentProgram, LaunchRequest};
use ralph_process::{JobSpec, StdinSource};
use ralph_util::memory_size::MemorySize;
use ralph_util::session_log_file::SessionLogFile;

pub struct RunPlan {
    pub spec: RunSpec,
    pub context: RunContext,
}

/// The parts of a prompt that differ between attempts.
#[derive(Debug, Clone, Copy)]
pub struct PromptContext<'a> {
    pub iteration: u32,
    /// The iteration limit, which may have changed since the run started.
    pub max_iterations: u32,
    /// The notes that the agents of the run have written.
    pub notes: &'a str,
    /// Guidance that people have sent to the run.
    pub guidance: &'a [String],
    /// Guidance that is part of every prompt.
    pub standing_guidance: &'a [String],
}

impl RunPlan {
    /// Lets the judge, if there is one, judge all work since this commit.
    #[must_use]
    pub fn with_judge_base(self, base_commit: String) -> Self {
        let judge = self.context.judge.map(|judge| JudgeChoice { base_commit, ..judge });
        let spec = RunSpec { judge: judge.as_ref().map(StoredJudge::from_choice), ..self.spec };
        Self { spec, context: RunContext { judge, ..self.context } }
    }

    /// Copies the agent's output to this file.
    #[must_use]
    pub fn with_session_log(self, log: SessionLogFile) -> Self {
        let spec = RunSpec { session_log_folder: Some(log.folder().to_path_buf()), ..self.spec };
        Self { spec, context: RunContext { session_log: Some(log), ..self.context } }
    }

    /// Runs in a work tree that ralph created.
    #[must_use]
    pub fn with_own_worktree(self, assigned: AssignedWorktree) -> Self {
        let project = self.context.project.with_root(assigned.worktree.path.clone());
        let spec = RunSpec { worktree_name: Some(assigned.worktree.task_id.clone()), ..self.spec };
        Self { spec, context: RunContext { project, own_worktree: Some(assigned), ..self.context } }
    }

    /// Describes the run for the journal.
    #[must_use]
    pub fn opening(&self) -> RunOpening {
        RunOpening {
            kind: self.context.kind.to_owned(),
            agent: self.context.agent.name.clone(),
            promise: self.spec.claim_rules.promise.as_str().to_owned(),
            permissions: Some(self.context.agent.describe_permissions().to_owned()),
            checks: self.spec.criteria.iter().map(Criterion::summary_line).collect(),
        }
    }

    /// Renders the prompt of an iteration. The result also has the variables without a value.
    pub fn render_prompt(
        &self,
        plan: &PromptPlan,
        nonce: Option<&PromiseNonce>,
        PromptContext { iteration, max_iterations, notes, guidance, standing_guidance }: PromptContext<'_>,
    ) -> io::Result<ExpandedPrompt> {
        let ExpandedPrompt { text: task, unknown_variables } =
            self.spec.prompt.read_prompt(iteration, max_iterations)?;
        let checks: Vec<String> = self.spec.criteria.iter().map(Criterion::summary_line).collect();
        let completion = self.spec.prompt.completion_style();
        let file = self.context.notes_display_path();
        let notes = match completion {
            CompletionInstructions::Appended => Some(AgentNotes { file: &file, text: notes }),
            CompletionInstructions::InTask => None,
        };
        let input = PromptInput {
            task: &task,
            promise: &self.spec.claim_rules.promise,
            nonce,
            checks: &checks,
            iteration,
            max_iterations,
            completion,
            notes,
            guidance,
            standing_guidance,
            can_wait: true,
        };
        // The prompt of a workflow node is its author's: it is sent whole in every iteration, also into a resumed session.
        let whole = matches!(self.spec.prompt, PromptSource::Complete(_)).then(|| plan.clone().into_whole());
        let text = prompt::render_prompt(whole.as_ref().unwrap_or(plan), &input);
        Ok(ExpandedPrompt { text, unknown_variables })
    }

    /// Returns the size limit of the raw logs. A session log repeats the output and takes half of the log limit.
    #[must_use]
    pub fn raw_log_bytes(&self) -> u64 {
        match &self.context.session_log {
            Some(_) => self.spec.session_log_bytes(),
            None => self.spec.log_limit.as_byte_count(),
        }
    }

    /// Describes which agents start without context although the run asks to continue sessions.
    #[must_use]
    pub fn describe_agents_without_resume(&self) -> Option<String> {
        let unable = self.context.all_agents().filter(|agent| !agent.adapter.can_resume());
        let names: Vec<&str> = unable.map(|agent| agent.name.as_str()).collect();
        let is_affected = self.spec.policy.context == ContextMode::Continue && !names.is_empty();
        is_affected.then(|| format!("fresh for every iteration: {} cannot resume a session", names.join(" and ")))
    }

    /// Returns how an agent is started with this prompt.
    pub fn build_agent_job(
        &self,
        choice: &AgentChoice,
        prompt: &str,
        session: &SessionRequest,
    ) -> io::Result<AgentJob> {
        let own_binary = match choice.adapter.program() {
            AgentProgram::OwnBinary => Some(std::env::current_exe()?.to_string_lossy().into_owned()),
            AgentProgram::OnPath(_) | AgentProgram::UserProvided => None,
        };
        let usage_file = self.context.usage_file_path(choice);
        let job = LaunchRequest {
            prompt,
            model: choice.model.as_deref(),
            resume_session: session.resume_id.as_deref(),
            new_session_id: session.new_id.as_deref(),
            extra_args: &choice.extra_args,
            permission: choice.permission,
            work_scope: choice.work_scope.as_ref(),
            program_override: choice.overrides.cli.as_deref().or(own_binary.as_deref()),
            args_override: choice.overrides.args.as_deref(),
            usage_file: usage_file.as_deref().and_then(Path::to_str),
            env: &choice.env,
        };
        let invocation = choice.adapter.build_invocation(&job);
        let spec = JobSpec {
            program: resolve_program(&invocation.program),
            args: invocation.args.into_iter().map(OsString::from).collect(),
            env: self.context.child_environment(&invocation.env_remove, invocation.env),
            cwd: self.context.project.root.clone(),
            run_id: self.context.id.clone(),
            stdin: StdinSource::Pipe,
            linger: JobSpec::DEFAULT_LINGER,
            memory_limit: self.spec.max_memory.map(MemorySize::as_byte_count),
        };
        Ok(AgentJob { spec, stdin: invocation.stdin.0 })
    }

    /// Returns the sealer of the files that must not change before a claim.
    pub fn build_sealer(&self) -> Result<FileSealer, SealError> {
        let RunSpec { acceptance, criteria, .. } = &self.spec;
        FileSealer::new(&self.context.project, acceptance, criteria, &self.context.check_environment())
    }
}

/// Resolves a program path with a slash relative to the current directory, not to the project's root.
fn resolve_program(program: &str) -> PathBuf {
    let path = Path::new(program);
    if program.contains('/') && path.is_relative() {
        std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
    } else {
        path.to_path_buf()
    }
}
