//! Advice about control, in the words of the command line.
use ralph_app::control::ControlAdvice;

pub(super) fn for_control_advice(advice: &ControlAdvice) -> String {
    match advice {
        ControlAdvice::WaitForWorker { task } => format!(
            "`ralph status` shows its progress: wait until it is done, or end its work with `ralph cancel {task}`"
        ),
        ControlAdvice::WaitOrCancel { id } => format!("wait for its end, or end it with `ralph cancel {id}`"),
    }
}
