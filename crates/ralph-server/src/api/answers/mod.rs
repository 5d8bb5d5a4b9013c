//! The schemas of the answers, for the document of the API. The handlers format what the use cases return; generated
//! requests compare it with these schemas (`tests/it/server/api_document.rs`).
mod project_answers;
mod run_answers;
mod task_answers;
mod workflow_answers;

use serde_json::Value;
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(components(schemas(
    project_answers::ConversationAnswer,
    project_answers::ConversationListItemAnswer,
    project_answers::CreatedAnswer,
    project_answers::EventListAnswer,
    project_answers::HealthAnswer,
    project_answers::InboxListAnswer,
    project_answers::ResultAnswer,
    project_answers::ShownTextAnswer,
    project_answers::StatsAnswer,
    project_answers::StatusAnswer,
    run_answers::DiffAnswer,
    run_answers::ExplanationAnswer,
    run_answers::IterationPageAnswer,
    run_answers::LogAnswer,
    run_answers::PromptAnswer,
    run_answers::ReceiptAnswer,
    run_answers::RunAnswer,
    run_answers::RunListAnswer,
    task_answers::TaskAnswer,
    task_answers::TaskListAnswer,
    workflow_answers::WorkflowAnswer,
    workflow_answers::WorkflowListAnswer,
    workflow_answers::WorkflowRunAnswer,
    workflow_answers::WorkflowRunListAnswer,
)))]
struct AnswerSchemas;

/// Returns the schemas by their names.
pub(super) fn answer_schemas() -> Value {
    serde_json::to_value(AnswerSchemas::openapi())
        .map(|mut document| document["components"]["schemas"].take())
        .unwrap_or_default()
}
