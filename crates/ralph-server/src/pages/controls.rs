//! Buttons and forms that send orders to the API. Each names the command that does the same.
use ralph_app::inbox::{ExhaustedLimit, InboxAnswer};
use serde_json::{Value, json};

use super::display::{DisplayText, path_segment};
use super::frame::PageLink;

/// A button that sends an order at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderButton {
    pub(super) label: DisplayText,
    pub(super) path: String,
    /// The body, as JSON.
    pub(super) body: String,
    pub(super) class: &'static str,
    /// The question before the order is sent; empty for none.
    pub(super) confirm: &'static str,
    /// The message of the page when the order was carried out.
    pub(super) done: &'static str,
}

/// A form with one field of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderForm {
    pub(super) label: &'static str,
    pub(super) path: String,
    /// The fixed part of the body, as JSON.
    pub(super) body: String,
    pub(super) field: &'static str,
    pub(super) placeholder: &'static str,
    pub(super) is_required: bool,
    pub(super) done: &'static str,
}

/// An order that a reader can give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Controls {
    /// Where the text is that must be read before the order can be given.
    pub(super) review: Option<PageLink>,
    pub(super) buttons: Vec<OrderButton>,
    pub(super) forms: Vec<OrderForm>,
}

impl OrderButton {
    pub(super) fn new(label: &str, path: String, body: &Value, done: &'static str) -> Self {
        Self { label: label.into(), path, body: body.to_string(), class: "", confirm: "", done }
    }

    pub(super) fn primary(self) -> Self {
        Self { class: "primary", ..self }
    }

    pub(super) fn danger(self, confirm: &'static str) -> Self {
        Self { class: "danger", confirm, ..self }
    }
}

impl OrderForm {
    pub(super) fn new(label: &'static str, path: String, field: &'static str, placeholder: &'static str) -> Self {
        let done = "Done.";
        Self { label, path, body: "{}".to_owned(), field, placeholder, is_required: true, done }
    }

    pub(super) fn optional(self) -> Self {
        Self { is_required: false, ..self }
    }

    pub(super) fn with_body(self, body: &Value) -> Self {
        Self { body: body.to_string(), ..self }
    }

    pub(super) fn with_done(self, done: &'static str) -> Self {
        Self { done, ..self }
    }
}

impl Controls {
    fn button(button: OrderButton) -> Self {
        Self { buttons: vec![button], ..Self::default() }
    }

    fn review(label: &str, href: String) -> Self {
        Self { review: Some(PageLink { href, text: label.into() }), ..Self::default() }
    }

    /// Returns the controls that answer an item of the inbox. If the decision requires reading a text, they lead to it.
    pub(super) fn for_answer(answer: &InboxAnswer) -> Self {
        match answer {
            InboxAnswer::ReadLog { .. } => Self::default(),
            InboxAnswer::ApproveCommands => Self::review("Read the commands", "/commands".to_owned()),
            InboxAnswer::ApproveTask { task } => {
                Self::review("Read the checks", format!("/tasks/{}#waiting", path_segment(task)))
            }
            InboxAnswer::AnswerWorkflow { run, node, .. } => {
                let href = format!("/workflow-runs/{}#question-{}", path_segment(run), path_segment(node));
                Self::review("Read the question", href)
            }
            InboxAnswer::DecideClaim { id } => Self::for_claim(&claim_path(id)),
            InboxAnswer::AnswerQuestion { id, is_task } => Self::for_agent_question(id, *is_task),
            InboxAnswer::Continue { id, limit, is_task } => Self::for_exhausted(id, *limit, *is_task),
            InboxAnswer::RetryTask { task } => {
                Self::button(task_button("Retry", task, "retry", "The task is ready again.").primary())
            }
            InboxAnswer::Resume { run } => {
                Self::button(run_button("Resume", run, "resume", "The run continues.").primary())
            }
            InboxAnswer::StartWorker => {
                let body = json!({ "until_idle": true });
                Self::button(
                    OrderButton::new("Start a worker", "/api/work".to_owned(), &body, "A worker has started.")
                        .primary(),
                )
            }
            InboxAnswer::Land { name } => {
                Self::button(task_button("Land", name, "land", "The work is in your branch.").primary())
            }
        }
    }

    /// Returns the controls that approve the checks of a task that the page shows. `seen` is the digest of the shown text.
    pub(super) fn for_shown_checks(task: &str, seen: &str) -> Self {
        let path = format!("{}/approve", task_path(task));
        let body = json!({ "seen": seen });
        Self::button(OrderButton::new("Approve the checks", path, &body, "The checks are approved.").primary())
    }

    /// Returns the controls that approve the commands of the project that the page shows.
    pub(super) fn for_shown_commands(seen: &str) -> Self {
        let body = json!({ "seen": seen });
        let path = "/api/commands/approve".to_owned();
        Self::button(OrderButton::new("Approve all of this", path, &body, "The commands are approved.").primary())
    }

    /// Returns the controls that answer a question of a workflow that the page shows.
    pub(super) fn for_shown_question(run: &str, seen: &str, decisions: &[String]) -> Self {
        let path = format!("/api/workflow-runs/{}/answers", path_segment(run));
        let button = |decision: &String| {
            let body = json!({ "seen": seen, "decision": decision });
            let label = capitalize(decision);
            OrderButton::new(&label, path.clone(), &body, "The workflow has your answer.").primary()
        };
        let reject = json!({ "seen": seen, "decision": "reject" });
        let form = OrderForm::new("Reject", path.clone(), "text", "what must change").with_body(&reject);
        Self {
            buttons: decisions.iter().filter(|decision| *decision != "reject").map(button).collect(),
            forms: vec![form.with_done("The workflow has your answer.")],
            ..Self::default()
        }
    }

    fn for_claim(path: &str) -> Self {
        let accept = OrderButton::new("Accept", format!("{path}/accept"), &json!({}), "The claim is accepted.");
        let reject = OrderForm::new("Reject", format!("{path}/reject"), "because", "why, for the next prompt");
        Self {
            buttons: vec![accept.primary()],
            forms: vec![reject.optional().with_done("The claim is rejected.")],
            ..Self::default()
        }
    }

    fn for_agent_question(id: &str, is_task: bool) -> Self {
        let (path, next) = if is_task { (task_path(id), "retry") } else { (run_path(id), "resume") };
        let form = OrderForm::new("Answer", format!("{path}/guide"), "words", "your answer, for the next prompt");
        let proceed = OrderButton::new("Continue", format!("{path}/{next}"), &json!({}), "It continues.");
        Self {
            buttons: vec![proceed],
            forms: vec![form.with_done("The agent gets the answer. Continue when you are ready.")],
            ..Self::default()
        }
    }

    fn for_exhausted(id: &str, limit: ExhaustedLimit, is_task: bool) -> Self {
        let path = if is_task { task_path(id) } else { run_path(id) };
        let (label, limits) = match limit {
            ExhaustedLimit::Iterations => ("5 more iterations", json!({ "max_iterations": "+5" })),
            ExhaustedLimit::Cost => ("$5 more", json!({ "max_cost_usd": "+5" })),
            ExhaustedLimit::Tokens => ("500,000 more tokens", json!({ "max_tokens": "+500000" })),
            ExhaustedLimit::Duration => ("2 more hours", json!({ "max_duration_s": "+7200" })),
            ExhaustedLimit::Guidance => return Self::for_stalled(&path, id, is_task),
        };
        let body = json!({ "limits": limits });
        let more = OrderButton::new(label, format!("{path}/resume"), &body, "The run continues.").primary();
        let again = is_task.then(|| task_button("Retry", id, "retry", "The task is ready again."));
        Self { buttons: std::iter::once(more).chain(again).collect(), ..Self::default() }
    }

    fn for_stalled(path: &str, id: &str, is_task: bool) -> Self {
        let form = OrderForm::new("Continue", format!("{path}/resume"), "guidance", "what the agent must know");
        let again = is_task.then(|| task_button("Retry", id, "retry", "The task is ready again."));
        Self {
            buttons: again.into_iter().collect(),
            forms: vec![form.with_done("The run continues.")],
            ..Self::default()
        }
    }

    /// Returns the controls of a run that was interrupted, and that no process drives.
    pub(super) fn for_interrupted_run(run: &str) -> Self {
        let guide =
            OrderForm::new("Guide", format!("{}/guide", run_path(run)), "words", "guidance for the next prompt");
        Self {
            buttons: vec![run_button("Resume", run, "resume", "The run continues.").primary()],
            forms: vec![guide.with_done("The guidance is in the next prompt.")],
            ..Self::default()
        }
    }

    /// Returns the controls of a loop that a process drives.
    pub(super) fn for_active_run(run: &str, status: &str) -> Self {
        let pause = match status {
            "paused" | "parked" | "died" => run_button("Resume", run, "resume", "The run continues.").primary(),
            _ => run_button("Pause", run, "pause", "The run pauses after this iteration."),
        };
        let more = OrderButton::new(
            "5 more iterations",
            format!("{}/limits", run_path(run)),
            &json!({ "max_iterations": "+5" }),
            "The limit is raised.",
        );
        let cancel = run_button("Cancel", run, "cancel", "The run is cancelled.");
        let guide =
            OrderForm::new("Guide", format!("{}/guide", run_path(run)), "words", "guidance for the next prompt");
        Self {
            buttons: vec![pause, more, cancel.danger("Cancel this run?")],
            forms: vec![guide.with_done("The guidance is in the next prompt.")],
            ..Self::default()
        }
    }
}

fn run_path(run: &str) -> String {
    format!("/api/runs/{}", path_segment(run))
}

fn task_path(task: &str) -> String {
    format!("/api/tasks/{}", path_segment(task))
}

/// The API finds tasks by the addresses of runs, too: a claim is that of the newest run of the task.
fn claim_path(id: &str) -> String {
    run_path(id)
}

fn run_button(label: &str, run: &str, order: &str, done: &'static str) -> OrderButton {
    OrderButton::new(label, format!("{}/{order}", run_path(run)), &json!({}), done)
}

fn task_button(label: &str, task: &str, order: &str, done: &'static str) -> OrderButton {
    OrderButton::new(label, format!("{}/{order}", task_path(task)), &json!({}), done)
}

/// Returns a word with a capital first letter.
pub(super) fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U10
    #[test]
    fn a_shown_question_has_a_button_for_every_decision_and_a_form_to_reject() {
        let decisions = ["approve", "later", "reject"].map(str::to_owned);
        let controls = Controls::for_shown_question("r/1", "d1", &decisions);
        let labels: Vec<&str> = controls.buttons.iter().map(|button| button.label.as_str()).collect();
        assert_eq!(labels, ["Approve", "Later"]);
        assert_eq!(controls.buttons[0].path, "/api/workflow-runs/r%2F1/answers");
        assert_eq!(controls.buttons[0].body, r#"{"decision":"approve","seen":"d1"}"#);
        assert_eq!(controls.forms[0].body, r#"{"decision":"reject","seen":"d1"}"#);
    }

    // spec: U10
    #[test]
    fn without_the_text_a_decision_can_only_be_read() {
        let decisions = vec!["approve".to_owned()];
        let answers = [
            InboxAnswer::ApproveCommands,
            InboxAnswer::ApproveTask { task: "T-1".to_owned() },
            InboxAnswer::AnswerWorkflow { run: "r".to_owned(), node: "gate".to_owned(), decisions },
        ];
        let controls = answers.map(|answer| Controls::for_answer(&answer));
        assert_eq!(controls.each_ref().map(|controls| controls.buttons.len() + controls.forms.len()), [0, 0, 0]);
        let hrefs = controls.map(|controls| controls.review.unwrap().href);
        assert_eq!(hrefs, ["/commands", "/tasks/T-1#waiting", "/workflow-runs/r#question-gate"]);
    }

    // spec: U10
    #[test]
    fn a_paused_run_can_be_resumed_and_a_running_one_paused() {
        let label = |status| Controls::for_active_run("r", status).buttons[0].label.as_str().to_owned();
        assert_eq!((label("paused"), label("running")), ("Resume".to_owned(), "Pause".to_owned()));
    }
}
