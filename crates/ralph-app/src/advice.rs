//! Advice for a person whose use case failed. Where a command or a flag is the answer, the advice only says which: a screen
//! knows how it is typed, or shows a button instead.

use ralph_agents::{AgentRemedy, InstallMethod};

use crate::control::ControlAdvice;
use crate::doctor::DoctorAdvice;
use crate::tasks::TaskAdvice;

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// Advice that is the same on every screen.
    Text(String),
    /// Give the agent a program of the user's.
    NameAgentProgram,
    /// The configuration or the request must name another program: this one cannot be started.
    ReplaceAgentProgram,
    /// The program of a stored run must come back, or a new run must be started.
    RestoreAgentProgram,
    ChooseOtherAgent,
    /// Install the program of the agent, or choose another agent.
    InstallAgent(InstallMethod),
    /// Install the program of the judge, or choose another judge.
    InstallJudge(InstallMethod),
    /// A remedy for a known problem of an agent.
    FixAgent(AgentRemedy),
    /// Give the model with the agent's own option: ralph does not know it.
    PassModelAsArgument,
    /// Runs that all allow it may work side by side in the same files.
    RunInParallel,
    /// Start a new run: this one cannot be resumed.
    StartNewRun,
    /// Restore the file that the run needs, or start a new run.
    RestorePromptFile,
    /// Start a new run whose prompt and commands hold no secret.
    KeepSecretsInVariables,
    /// Restore the setting, or name the configuration that has it.
    RestoreSetting,
    /// Enable session loops in the configuration.
    EnableSessionLoops,
    /// Cancel the loop of this session.
    CancelSessionLoop {
        session: String,
    },
    /// Review the project's commands and approve them.
    ApproveCommands,
    /// Add a check to the run.
    AddCheck,
    /// Say when the task is done.
    DescribeOutcome {
        task: String,
    },
    /// Verify the task by a command.
    AddTaskCheck {
        task: String,
    },
    /// A worker resumes the task of this stage.
    ResumeWithWorker,
    /// Approve the criteria of a task that an agent wrote.
    ApproveTask {
        task: String,
    },
    /// See what an unfinished task lacks; its branch has the work so far.
    InspectUnfinishedTask {
        task: String,
    },
    /// See why a run is not complete; its branch has the work so far.
    InspectUnfinishedRun {
        run: String,
        tree: String,
    },
    /// Review the commands of an imported run, and approve them.
    ApproveImportedCommands,
    /// Create or import tasks.
    CreateTask,
    ListTasks,
    /// Export a run first.
    ExportRun,
    /// List the runs.
    ListRuns,
    /// Leave the id out for the newest run.
    OmitRunId,
    GiveLongerRunId,
    /// Name the task or run that is meant.
    NameCandidate,
    /// A worker runs the task.
    StartWorker,
    StartRun,
    /// Follow the run that is active.
    FollowActiveRun,
    /// No run is active; an ended one can still be shown.
    FollowEndedRun,
    /// Create the prompt file with the project template.
    InitializeProject,
    /// Prepare the project again; existing files were not changed.
    RepeatInitialization,
    /// Approve the commands of the files that were written.
    ApproveWrittenCommands,
    /// Another person may have written the recorded runs: approve them, or move them away.
    DistrustRecordedRuns,
    /// Import the file: it has several tasks.
    ImportTasks,
    /// Change the existing task.
    EditExistingTask {
        task: String,
    },
    /// Name a task that exists.
    NameKnownTask,
    Doctor(DoctorAdvice),
    Control(ControlAdvice),
    Task(TaskAdvice),
}

impl Advice {
    /// Returns the text of advice that is the same on every screen.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
