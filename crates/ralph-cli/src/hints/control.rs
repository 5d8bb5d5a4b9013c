//! Advice about control, in the words of the command line.
use ralph_app::control::ControlAdvice;

pub(super) fn for_control_advice(advice: &ControlAdvice) -> String {
    let text = match advice {
        ControlAdvice::ShowStatus => "`ralph status` shows what is running",
        ControlAdvice::ListTargets => {
            "`ralph status` lists what is running, `ralph task list` the tasks, `ralph runs` the runs"
        }
        ControlAdvice::WaitForWorker { task } => {
            return format!(
                "`ralph status` shows its progress: wait until it is done, or end its work with `ralph cancel {task}`"
            );
        }
        ControlAdvice::WaitOrCancel { id } => return format!("wait for its end, or end it with `ralph cancel {id}`"),
        ControlAdvice::CancelFirst { id } => return format!("end it first: ralph cancel {id}"),
        ControlAdvice::KillDriver => "`--kill` kills it, and everything that it drives, and cancels the run",
        ControlAdvice::DescribeNextWork => "describe further work in another task: `ralph task followup`",
        ControlAdvice::CreateFollowup { task } => {
            return format!("describe further work in another task: ralph task followup {task}");
        }
        ControlAdvice::RetryTask { task } => return format!("`ralph retry {task}` makes it ready again"),
        ControlAdvice::ResumeRunInstead => {
            "`ralph resume` resumes a run that was interrupted; `ralph task list` lists the tasks"
        }
    };
    text.to_owned()
}
