//! Advice about tasks, in the words of the command line.
use ralph_app::tasks::TaskAdvice;

pub(super) fn for_task_advice(advice: &TaskAdvice) -> String {
    let text = match advice {
        TaskAdvice::AddTasks => "create one with `ralph task create`, or import some with `ralph task import`",
        TaskAdvice::ListTasks => "`ralph task list` lists them",
    };
    text.to_owned()
}
