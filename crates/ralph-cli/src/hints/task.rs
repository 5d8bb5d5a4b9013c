//! Hints for errors of the task commands.
use ralph_app::tasks::TaskAdvice;

pub(super) fn for_task_advice(advice: &TaskAdvice) -> String {
    match advice {
        TaskAdvice::GiveCriteria => {
            "give --outcome and --acceptance, or --no-criteria to rely on the agent's claim".to_owned()
        }
        TaskAdvice::CorrectField { field, hint } => match flag_for_field(field) {
            Some(flag) => format!("{hint}; its flag is {flag}"),
            None => hint.clone(),
        },
        TaskAdvice::ChangeField => "`ralph task edit --help` lists the flags".to_owned(),
        TaskAdvice::EditTask { task } => format!("change it with `ralph task edit {task}`"),
        TaskAdvice::ReplaceDependencies { task } => {
            format!("delete that task too, or change its dependencies: ralph task edit {task} --depends …")
        }
        TaskAdvice::LandOrLeaveWork { task } => format!(
            "merge it (`ralph land {task}` if it is done), or leave it where it is: ralph task delete {task} --leave-work"
        ),
        TaskAdvice::ReopenOrFollowUp { task } => {
            format!("reopen it with `ralph task edit {task} --status todo`, or create a follow-up")
        }
        TaskAdvice::FinishDependencies => {
            "finish these tasks first, or remove the dependency with `ralph task edit`".to_owned()
        }
        TaskAdvice::ReopenTask { task } => format!("reopen it first: ralph task edit {task} --status todo"),
    }
}

/// Returns the flag that sets a field.
fn flag_for_field(field: &str) -> Option<String> {
    let mut steps = field.split('.');
    match (steps.next()?, steps.next(), steps.next(), steps.next()) {
        ("dependencies", ..) => Some("--depends".to_owned()),
        (name @ ("priority" | "assignee" | "description"), ..) => Some(format!("--{name}")),
        ("completion", Some("acceptance_criteria"), ..) => Some("--acceptance".to_owned()),
        ("completion", Some(name @ ("outcome" | "guard" | "allow_changes" | "isolation")), ..) => {
            Some(format!("--{}", name.replace('_', "-")))
        }
        ("completion", Some(role), Some(name), below) => {
            let name = match (name, below) {
                ("verification_method", _) => "verify",
                ("verification_config", Some("command")) => "verify-cmd",
                ("verification_config", _) => "verify-config",
                ("max_iterations", _) => "max-iterations",
                (name, _) => name,
            };
            Some(format!("--{role}-{name}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: T3
    fn each_field_names_its_flag() {
        let table = [
            ("dependencies.1", Some("--depends")),
            ("priority", Some("--priority")),
            ("completion.acceptance_criteria.0", Some("--acceptance")),
            ("completion.allow_changes.2", Some("--allow-changes")),
            ("completion.coder.promise", Some("--coder-promise")),
            ("completion.qa.verification_method", Some("--qa-verify")),
            ("completion.coder.verification_config.command", Some("--coder-verify-cmd")),
            ("completion.tester.verification_config.with.min", Some("--tester-verify-config")),
            ("completion.reviewer.max_iterations", Some("--reviewer-max-iterations")),
            ("completion", None),
            ("id", None),
        ];
        for (field, flag) in table {
            assert_eq!(flag_for_field(field).as_deref(), flag, "{field}");
        }
    }
}
