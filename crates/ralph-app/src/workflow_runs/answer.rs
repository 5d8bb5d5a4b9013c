//! The answer of a person to a question of a workflow run. Agents cannot answer.
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_store::{NewWorkflowAnswer, WorkflowRunRow};

use super::lookup::{FoundWorkflowRun, OpenQuestionView, find_root_run, find_workflow_run, load_open_questions};
use crate::error::{AppError, AppResult};
use crate::run::{is_orphaned, refuse_command_by_agent};
use crate::view::short_id;

/// The answer of a person.
#[derive(Debug, Clone)]
pub struct AnswerRequest<'a> {
    pub run: Option<&'a str>,
    /// The node that asks, if several do.
    pub node: Option<&'a str>,
    pub decision: &'a str,
    pub text: String,
}

/// A stored answer.
#[derive(Debug)]
pub struct AnsweredQuestion {
    pub run: WorkflowRunRow,
    pub question: OpenQuestionView,
    pub decision: String,
    /// Whether another process drives the run, and applies the answer.
    pub is_driven: bool,
}

/// Stores the answer of a person. The process that drives the run applies it; without one, the caller resumes the run.
pub async fn answer_question(project: &Project, request: AnswerRequest<'_>) -> AppResult<AnsweredQuestion> {
    answer_question_as(project, request, &crate::control::user_name()).await
}

/// The same for a person with this name.
pub async fn answer_question_as(
    project: &Project,
    request: AnswerRequest<'_>,
    person: &str,
) -> AppResult<AnsweredQuestion> {
    let AnswerRequest { run, node, decision, text } = request;
    let choose = |run: &WorkflowRunRow, questions| choose_question(run, questions, node);
    store_answer(project, run, choose, PersonDecision { decision, text: &text, person }).await
}

/// The answer of a person who has seen the question.
#[derive(Debug, Clone)]
pub struct SeenAnswer<'a> {
    pub run: &'a str,
    /// The digest of the question that the person has seen.
    pub seen: &'a str,
    pub decision: &'a str,
    pub text: &'a str,
}

/// Stores the answer to the question that the person has seen. Fails if that question is no longer open.
pub async fn answer_seen_question(project: &Project, answer: SeenAnswer<'_>) -> AppResult<AnsweredQuestion> {
    let SeenAnswer { run, seen, decision, text } = answer;
    let choose = |run: &WorkflowRunRow, questions: Vec<OpenQuestionView>| {
        if questions.is_empty() {
            return Err(no_question(run));
        }
        questions.into_iter().find(|question| question.shown_text().digest == seen).ok_or_else(|| {
            AppError::preflight(format!("workflow run {} no longer asks what you have seen", short_id(&run.id)))
                .with_cause("it was answered, or has changed")
                .with_advice("read the questions again, and answer what you see: nothing was decided")
        })
    };
    let person = crate::control::user_name();
    store_answer(project, Some(run), choose, PersonDecision { decision, text, person: &person }).await
}

/// The decision of a person.
struct PersonDecision<'a> {
    decision: &'a str,
    text: &'a str,
    person: &'a str,
}

async fn store_answer(
    project: &Project,
    run: Option<&str>,
    choose: impl FnOnce(&WorkflowRunRow, Vec<OpenQuestionView>) -> AppResult<OpenQuestionView>,
    decided: PersonDecision<'_>,
) -> AppResult<AnsweredQuestion> {
    refuse_command_by_agent(project, "answer a question of a workflow run of the project that it works on")?;
    let FoundWorkflowRun { store, run } = find_workflow_run(project, run).await?;
    let question = choose(&run, load_open_questions(&store, &run).await?)?;
    let PersonDecision { decision, text, person } = decided;
    check_decision(&question, decision)?;
    let answer = NewWorkflowAnswer {
        run: &question.run,
        question: &question.question,
        decision,
        text: Some(text),
        person,
        at: Clock::wall_now(),
    };
    let is_stored = store.answer_workflow_question(&answer).await?;
    // A child is driven with the run that has started it.
    let root = find_root_run(&store, run.clone()).await?;
    store.close().await;
    if !is_stored {
        return Err(AppError::preflight(format!("the question of {} has just been answered", question.node)));
    }
    let is_driven = !is_orphaned(project, &root.id);
    Ok(AnsweredQuestion { run, question, decision: decision.to_owned(), is_driven })
}

fn no_question(run: &WorkflowRunRow) -> AppError {
    AppError::preflight(format!("workflow run {} asks nothing", short_id(&run.id)))
        .with_cause(format!("its status is {}", run.status))
}

fn choose_question(
    run: &WorkflowRunRow,
    mut questions: Vec<OpenQuestionView>,
    node: Option<&str>,
) -> AppResult<OpenQuestionView> {
    if let Some(node) = node {
        questions.retain(|question| question.node == node);
    }
    match questions.len() {
        1 => Ok(questions.swap_remove(0)),
        0 => Err(no_question(run)),
        _ => {
            let failure = AppError::invalid_request("the run asks several questions");
            let failure = questions.iter().fold(failure, |failure, question| {
                failure.with_cause(format!("{}: {}", question.node, question.text.lines().next().unwrap_or_default()))
            });
            Err(failure.with_advice("name the node that asks"))
        }
    }
}

/// `approve` and `reject` answer every question; other decisions must be declared.
fn check_decision(question: &OpenQuestionView, decision: &str) -> AppResult<()> {
    let is_known = question.decisions.iter().any(|known| known == decision);
    if is_known || decision == "reject" || (decision == "approve" && !question.decisions.is_empty()) {
        return Ok(());
    }
    Err(AppError::invalid_request(format!("{decision:?} is not a decision of {}", question.node))
        .with_advice(format!("use {}", question.decisions.join(", "))))
}
