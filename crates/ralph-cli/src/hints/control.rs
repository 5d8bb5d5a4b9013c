//! Hints for errors of the commands that control loops.
use ralph_app::control::ControlAdvice;

/// Returns how to decide on the claim of a run or task.
pub(crate) fn for_waiting_claim(id: &str) -> String {
    for_control_advice(&ControlAdvice::DecideClaim { id: id.to_owned() })
}

pub(super) fn for_control_advice(advice: &ControlAdvice) -> String {
    let text = match advice {
        ControlAdvice::ShowStatus => "`ralph status` shows what is running",
        ControlAdvice::ListTargets => {
            "`ralph status` lists what is running, `ralph task list` the tasks, `ralph runs` the runs"
        }
        ControlAdvice::WaitForWorker { task } => {
            return format!(
                "`ralph status` shows its progress: wait until it is done, or cancel it with `ralph cancel {task}`"
            );
        }
        ControlAdvice::WaitOrCancel { id } => {
            return format!("wait until it ends, or cancel it with `ralph cancel {id}`");
        }
        ControlAdvice::CancelFirst { id } => return format!("cancel it first: ralph cancel {id}"),
        ControlAdvice::KillDriver => "`--kill` kills it and everything that it drives, and cancels the run",
        ControlAdvice::KillWorker => "`--kill` kills it and everything that it drives; `ralph work` resumes its tasks",
        ControlAdvice::FollowWorkerAsText => {
            "leave out --json; a worker that was started with `ralph work --detach --json` reports as JSON"
        }
        ControlAdvice::DescribeNextWork => "create another task for further work: `ralph task followup`",
        ControlAdvice::CreateFollowup { task } => {
            return format!("create another task for further work: ralph task followup {task}");
        }
        ControlAdvice::RetryTask { task } => return format!("`ralph retry {task}` makes it ready again"),
        ControlAdvice::AnswerQuestion { id, is_task: true } => {
            return format!("answer it with `ralph guide {id} TEXT`, then `ralph retry {id}`");
        }
        ControlAdvice::AnswerQuestion { id, is_task: false } => {
            return format!("answer it with `ralph guide {id} TEXT`, then `ralph resume {id}`");
        }
        ControlAdvice::DecideClaim { id } => {
            return format!("`ralph accept {id}` or `ralph reject {id} --because TEXT`");
        }
        ControlAdvice::RejectInstead { id } => {
            return format!("restore the files, or reject the claim: `ralph reject {id} --because TEXT`");
        }
        ControlAdvice::ChangeRunningLoop { id } => {
            return format!("change its limits with `ralph limit {id}`, or send guidance with `ralph guide {id} TEXT`");
        }
        ControlAdvice::ResumeWithLimits { id } => {
            return format!("continue it with other limits: `ralph resume {id} --max-iterations +5`");
        }
        ControlAdvice::RaiseLimit => {
            "raise that limit too: `--max-iterations +5`, `--max-cost +5`, `--max-tokens +500k` or `--max-duration +2h`"
        }
        ControlAdvice::ResumeRunInstead => {
            "`ralph resume` resumes a run that was interrupted; `ralph task list` lists the tasks"
        }
    };
    text.to_owned()
}
