//! Hints that tell the user how to fix an error: commands, flags and paths.
mod agent;
mod control;
mod doctor;
mod inbox;
mod task;
mod worktree;

pub(crate) use control::for_waiting_claim;
pub(crate) use inbox::{for_inbox_answer, workflow_answer_command};

use std::io;
use std::path::Path;

use ralph_agents::install::{InstallError, InstallWarning, host_installers};
use ralph_app::advice::Advice;
use ralph_app::error::{AppError, ErrorOrigin};
use ralph_app::trust::TrustError;
use ralph_app::view::LoopRemedy;
use ralph_engine::lock::LockError;
use ralph_engine::project::ProjectError;
use ralph_engine::run_driver::EngineError;
use ralph_engine::session_driver::{LoopFileError, LoopStoreError};
use ralph_store::{DamagedCopy, DatabaseProblem, StoreError};
use ralph_util::private_files::ForeignPathError;

/// Returns all hints for a failed use case.
pub(crate) fn for_error(error: &AppError) -> Vec<String> {
    let origin = error.origin.as_deref().map(for_origin).unwrap_or_default();
    origin.into_iter().chain(error.advice.iter().map(for_advice)).collect()
}

/// Returns the advice of a use case as a hint.
#[expect(clippy::too_many_lines, reason = "a table: one arm for each piece of advice")]
pub(crate) fn for_advice(advice: &Advice) -> String {
    let text = match advice {
        Advice::Text(text) => return text.clone(),
        Advice::NameAgentProgram => "set it with --agent-cmd PATH, or as `cli:` of the agent in the configuration",
        Advice::ReplaceAgentProgram => {
            "set --agent-cmd, or `cli:` in the configuration, to the path of an executable file"
        }
        Advice::RestoreAgentProgram => "restore the program at its old path, or start a new run with `ralph run`",
        Advice::ChooseOtherAgent => "rename the folder, or choose another agent with --agent",
        Advice::InstallAgent(method) => return agent::for_install_method(*method),
        Advice::InstallJudge(method) => {
            return format!(
                "{}; or choose another judge with --judge AGENT, or with verification.judge.agent in the configuration",
                agent::for_install_method(*method)
            );
        }
        Advice::FixAgent(remedy) => return agent::for_remedy(remedy),
        Advice::PassModelAsArgument => {
            "ralph does not know the program's model option: remove the model, and pass the option with --agent-arg or \
             with `args:` of the agent"
        }
        Advice::RunInParallel => "runs that were all started with --parallel work side by side, in the same files",
        Advice::StartNewRun => "start a new run with `ralph run`",
        Advice::RestorePromptFile => "restore it, or start a new run with `ralph run`",
        Advice::KeepSecretsInVariables => {
            "start a new run: give the prompt as @FILE, and let commands name a variable (\"$DEPLOY_TOKEN\"), not its value"
        }
        Advice::RestoreSetting => "restore it, or name the configuration that contains it with --config",
        Advice::CancelSessionLoop { session } => {
            return format!("type /cancel-ralph into the session, or: ralph loop cancel --session {session}");
        }
        Advice::EnableSessionLoops => {
            "set session.enabled to true in the configuration; `ralph config show` shows where it is set"
        }
        Advice::ApproveCommands => "review them; if they are what you want, run: ralph trust",
        Advice::AddCheck => "add a check, such as --check 'make test' or `checks:` in the configuration",
        Advice::DescribeOutcome { task } => {
            return format!("give it --outcome and --acceptance with `ralph task edit {task}`");
        }
        Advice::AddTaskCheck { task } => {
            return format!(
                "verify it with a command: `ralph task edit {task} --coder-verify external --coder-verify-cmd 'make test'`"
            );
        }
        Advice::ResumeWithWorker => "`ralph work` resumes its task",
        Advice::ApproveTask { task } => return format!("review them, then run: ralph task approve {task}"),
        Advice::InspectUnfinishedTask { task } => {
            return format!("`ralph task show {task}` shows what is missing; its branch so far is ralph/{task}");
        }
        Advice::InspectUnfinishedRun { run, tree } => {
            return format!("`ralph show {run}` shows why; its branch so far is ralph/{tree}");
        }
        Advice::ApproveImportedCommands => "review the commands, then start them with --approve",
        Advice::CreateTask => "create one with `ralph task create`, or import some with `ralph task import`",
        Advice::ListTasks => "`ralph task list` lists them",
        Advice::ExportRun => "`ralph export` writes such files; nothing was stored",
        Advice::ListRuns => "`ralph runs` lists them",
        Advice::OmitRunId => "leave it out for the newest run; `ralph runs` lists them",
        Advice::GiveLongerRunId => "give more characters of the id; `ralph runs --json` prints full ids",
        Advice::NameCandidate => "name the one that you mean: its task, or the start or end of its run id",
        Advice::StartWorker => "`ralph work` runs the tasks that are ready",
        Advice::StartRun => "start one with `ralph run`",
        Advice::FollowActiveRun => "`ralph attach` follows it",
        Advice::FollowEndedRun => "`ralph attach RUN` shows the end of an earlier one; `ralph runs` lists them",
        Advice::InitializeProject => "create it with `ralph init`",
        Advice::RepeatInitialization => "existing files were not changed; run `ralph init` again",
        Advice::ApproveWrittenCommands => "the files were written; approve their commands with `ralph trust`",
        Advice::DistrustRecordedRuns => {
            "if they are yours, take them over with `ralph trust --state`; otherwise move that folder away"
        }
        Advice::ImportTasks => "use `ralph task import` for files with several tasks",
        Advice::EditExistingTask { task } => return format!("change it with `ralph task edit {task}`"),
        Advice::NameKnownTask => "name a task of this file or of the project; `ralph task list` lists them",
        Advice::Doctor(advice) => return doctor::for_doctor_advice(advice),
        Advice::Control(advice) => return control::for_control_advice(advice),
        Advice::Task(advice) => return task::for_task_advice(advice),
    };
    text.to_owned()
}

/// Returns the hints for an error of a lower layer.
fn for_origin(origin: &ErrorOrigin) -> Vec<String> {
    match origin {
        ErrorOrigin::Project(error) => vec![for_project_error(error)],
        ErrorOrigin::Trust(error) => vec![for_trust_error(error)],
        ErrorOrigin::Install(error) => vec![for_install_error(error)],
        ErrorOrigin::Store(error) => for_store_error(error),
        ErrorOrigin::Engine(error) => for_engine_error(error).into_iter().collect(),
        ErrorOrigin::Lock(error) => vec![for_lock_error(error)],
        ErrorOrigin::Worktree(error) => worktree::for_worktree_error(error).into_iter().collect(),
        ErrorOrigin::SessionLoop(error) => vec![for_loop_store_error(error)],
    }
}

fn for_project_error(error: &ProjectError) -> String {
    match error {
        ProjectError::NoRepository { .. } => {
            "agents work in a git repository: change to one, or create one with `git init`".to_owned()
        }
        ProjectError::NoFolder { .. } => "the folder may have been removed: `cd` to another".to_owned(),
        ProjectError::LinkLeadsOut { link, .. } => format!(
            "nothing was written there; to use it anyway, remove the link from the repository: git rm --cached {}",
            link.display()
        ),
        ProjectError::NoState { .. } => "set HOME".to_owned(),
    }
}

fn for_trust_error(error: &TrustError) -> String {
    match error {
        TrustError::NoHome { .. } => "set HOME".to_owned(),
        TrustError::Malformed { path, .. } => {
            format!("move {} away, then approve the commands again", path.display())
        }
        TrustError::Newer { .. } => "update ralph".to_owned(),
        TrustError::Unreadable { path, .. } | TrustError::Unwritable { path, .. } => {
            format!("check {} and its folder", path.display())
        }
    }
}

fn for_install_error(error: &InstallError) -> String {
    match error {
        InstallError::UnknownHost { suggestion: Some(near), .. } => format!("did you mean {near}?"),
        InstallError::UnknownHost { suggestion: None, .. } => {
            format!("hosts are {}", join_with_and(&host_installers().map(|host| host.name).collect::<Vec<_>>()))
        }
        InstallError::NoHome { variable } => format!("set {variable}"),
        InstallError::MalformedSettings { .. } => {
            "nothing was changed; fix the file at that position, and run it again".to_owned()
        }
        InstallError::NotOurs { path } => {
            format!("nothing was changed; move {} away, and run it again", path.display())
        }
        InstallError::UnusablePath { .. }
        | InstallError::Unreadable { .. }
        | InstallError::UnknownExecutable { .. } => "nothing was changed".to_owned(),
        InstallError::Unwritable { .. } => {
            "all changes were rolled back; check the permissions of its folder and the free disk space".to_owned()
        }
        InstallError::RollbackFailed { .. } => {
            "once the file is writable, run this again, or `ralph uninstall`; no content is lost".to_owned()
        }
        InstallError::NotRemoved { .. } => "everything else was removed; run it again".to_owned(),
        InstallError::MalformedRecord { path, .. } => {
            format!(
                "nothing was changed; move {} away: ralph then removes the entries that it recognises",
                path.display()
            )
        }
        InstallError::NewerRecord { .. } => "nothing was changed; update ralph".to_owned(),
    }
}

/// Returns an install warning with its remedy.
pub(crate) fn for_install_warning(warning: &InstallWarning) -> String {
    match warning {
        InstallWarning::Text(text) => text.clone(),
        InstallWarning::InstalledTwice { host } => format!("{warning}: {}", doctor::duplicate_hooks_hint(host)),
    }
}

/// Returns the command that lets a loop continue.
pub(crate) fn for_loop_remedy(remedy: &LoopRemedy) -> String {
    match remedy {
        LoopRemedy::ResumeRun { run } => format!("ralph resume {run}"),
        LoopRemedy::StartWorker => "ralph work resumes it".to_owned(),
        LoopRemedy::FollowWorker { worker } => {
            format!("ralph attach {worker} follows it, ralph cancel {worker} stops it")
        }
    }
}

fn join_with_and(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn for_store_error(error: &StoreError) -> Vec<String> {
    let hint = match error {
        StoreError::Folder { path, source } => unusable_path_hint(path, source),
        StoreError::Database { path, source } => database_hint(path, source.problem()),
        StoreError::Damaged { path, kept, .. } => return vec![damaged_copy_hint(kept), start_over_hint(path)],
        StoreError::ChangedOutside { kept, .. } => {
            let blame =
                "the agent may have written to the state folder; the run was stopped, and nothing more was recorded";
            return vec![damaged_copy_hint(kept), blame.to_owned()];
        }
        StoreError::Removed { .. } => "the agent may have removed it; the run was stopped".to_owned(),
        StoreError::TakenOver { .. } => {
            "this process has stopped its agent and recorded nothing more; `ralph show` shows the run".to_owned()
        }
        StoreError::LeaseLost { .. } => {
            "this process has stopped its agent and recorded nothing more; `ralph status` shows which worker has it"
                .to_owned()
        }
        StoreError::LeaseTaken { .. } => "nothing was started; `ralph status` shows which worker has it".to_owned(),
        StoreError::BackupFailed { .. } => "choose a file that does not exist yet, in a writable folder".to_owned(),
        StoreError::NewerSchema { .. } => "update ralph; the database was not touched".to_owned(),
        StoreError::OlderSchema { path, .. } => format!(
            "make {} and its folder writable, or copy the project to a writable place: ralph then migrates it",
            path.display()
        ),
        StoreError::Unreadable { .. } => "nothing was deleted; please report this".to_owned(),
    };
    vec![hint]
}

fn for_engine_error(error: &EngineError) -> Option<String> {
    match error {
        EngineError::Notes { .. } => Some("make the notes folder writable".to_owned()),
        EngineError::Folder { path, source } => Some(unusable_path_hint(path, source)),
        EngineError::Store(_) | EngineError::Lock(_) | EngineError::RunSpec { .. } | EngineError::Signals { .. } => {
            None
        }
    }
}

fn for_lock_error(error: &LockError) -> String {
    match error {
        LockError::Taken { owner: Some(owner), .. } => {
            format!("wait for it, or stop it with `kill {}`", owner.process.pid)
        }
        LockError::Taken { owner: None, .. } => "`ralph runs` lists them; wait for them".to_owned(),
        LockError::CannotOpen { path, .. } => {
            format!("make {} a writable file, or remove it", path.display())
        }
        LockError::Unsupported { .. } => {
            "without locks two runs could damage each other's state: keep the project on a local file system".to_owned()
        }
    }
}

fn for_loop_store_error(error: &LoopStoreError) -> String {
    match error {
        LoopStoreError::Folder { path, .. } | LoopStoreError::Unwritable { path, .. } => {
            format!("check that you can write to {}", path.display())
        }
        LoopStoreError::Unreadable { path, .. } => format!("check that you can read {}", path.display()),
        LoopStoreError::Unusable { source: LoopFileError::Newer(_), .. } => "update ralph".to_owned(),
        LoopStoreError::Unusable { path, .. } => {
            format!("nothing was deleted; to start over, move it away: mv {0} {0}.damaged", path.display())
        }
        LoopStoreError::LockTimeout { .. } => "try again".to_owned(),
    }
}

/// Returns the hint for a folder or file in ralph's state that cannot be used.
fn unusable_path_hint(path: &Path, error: &io::Error) -> String {
    match ForeignPathError::from_io_error(error) {
        Some(ForeignPathError { path, .. }) => format!(
            "ralph writes only to regular files and follows no links; check it, and move it away: mv {0} {0}.away",
            path.display()
        ),
        None => match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("the disk of {} is full: free some space, and start again", path.display())
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                format!("the file system of {} is read-only: ralph needs to write there", path.display())
            }
            _ => format!("make {} writable", path.display()),
        },
    }
}

fn database_hint(path: &Path, problem: DatabaseProblem) -> String {
    let path = path.display();
    match problem {
        DatabaseProblem::DiskFull => {
            format!("the disk of {path} is full: free some space, and start again; everything recorded before is safe")
        }
        DatabaseProblem::ReadOnly => format!("make {path} and its folder writable"),
        DatabaseProblem::Busy => {
            "another program has locked the database: find it with `fuser`, and start again".to_owned()
        }
        DatabaseProblem::DiskError => format!(
            "the disk of {path} refuses writes: is it full, over quota, or broken? Everything recorded before is safe"
        ),
        DatabaseProblem::Damaged | DatabaseProblem::Other => {
            format!("nothing was deleted; check {path} and the other files in its folder")
        }
    }
}

fn damaged_copy_hint(copy: &DamagedCopy) -> String {
    match copy {
        DamagedCopy::Saved(folder) => format!("nothing was deleted; a copy is kept in {}", folder.display()),
        DamagedCopy::NotSaved => "nothing was deleted and nothing was written".to_owned(),
    }
}

fn start_over_hint(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!("restore a backup, or start over: mv {folder} {folder}.damaged")
}
