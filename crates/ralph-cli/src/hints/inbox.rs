//! The commands that answer what is in the inbox.
use ralph_app::inbox::{ExhaustedLimit, InboxAnswer};

/// Returns the commands that answer an item; the first is the usual one.
pub(crate) fn for_inbox_answer(answer: &InboxAnswer) -> Vec<String> {
    match answer {
        InboxAnswer::ApproveCommands => vec!["ralph trust".to_owned()],
        InboxAnswer::ApproveTask { task } => vec![format!("ralph task approve {task}")],
        InboxAnswer::AnswerWorkflow { run, node, decisions } => {
            decisions.iter().map(|decision| workflow_answer_command(run, node, decision)).collect()
        }
        InboxAnswer::DecideClaim { id } => {
            vec![format!("ralph accept {id}"), format!("ralph reject {id} --because TEXT")]
        }
        InboxAnswer::AnswerQuestion { id, is_task: true } => {
            vec![format!("ralph guide {id} TEXT && ralph retry {id}")]
        }
        InboxAnswer::AnswerQuestion { id, is_task: false } => {
            vec![format!("ralph guide {id} TEXT && ralph resume {id}")]
        }
        InboxAnswer::Continue { id, limit, is_task } => {
            let more = format!("ralph resume {id} {}", continuation_flag(*limit));
            let again = is_task.then(|| format!("ralph retry {id}"));
            std::iter::once(more).chain(again).collect()
        }
        InboxAnswer::RetryTask { task } => vec![format!("ralph retry {task}")],
        InboxAnswer::Resume { run } => vec![format!("ralph resume {run}")],
        InboxAnswer::StartWorker => vec!["ralph work".to_owned()],
        InboxAnswer::ReadLog { run } => vec![format!("ralph logs {run}")],
        InboxAnswer::Land { name } => vec![format!("ralph land {name}")],
    }
}

fn continuation_flag(limit: ExhaustedLimit) -> &'static str {
    match limit {
        ExhaustedLimit::Iterations => "--max-iterations +5",
        ExhaustedLimit::Cost => "--max-cost +5",
        ExhaustedLimit::Tokens => "--max-tokens +500k",
        ExhaustedLimit::Duration => "--max-duration +2h",
        ExhaustedLimit::Guidance => "--guide TEXT",
    }
}

/// Returns the command that answers a question of a workflow.
pub(crate) fn workflow_answer_command(run: &str, node: &str, decision: &str) -> String {
    match decision {
        "approve" => format!("ralph workflow approve {run} --node {node}"),
        "reject" => format!("ralph workflow reject {run} --node {node} 'why'"),
        other => format!("ralph workflow respond {run} {other} --node {node} 'text'"),
    }
}
