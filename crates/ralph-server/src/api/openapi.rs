//! `GET /openapi.json`: the description of the API (OpenAPI 3.1). The schemas come from the types that the handlers parse.
use axum::Router;
use axum::routing::get;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::answer::JsonAnswer;
use super::answers::answer_schemas;
use super::inbox::API_VERSION;
use super::openapi_routes::{AnswerFormat, DocumentedRoute, documented_routes};
use super::orders::{
    AnswerOrder, ApprovalOrder, DecisionOrder, EmptyOrder, GuideOrder, LimitValue, LimitsOrder, PauseOrder, RerunOrder,
    ResumeOrder, StartRunOrder, StartWorkflowOrder, WorkOrder,
};
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/openapi.json", get(read_document))
}

async fn read_document() -> JsonAnswer {
    JsonAnswer::ok(build_document())
}

/// The schemas of the bodies.
#[derive(OpenApi)]
#[openapi(components(schemas(
    AnswerOrder,
    ApprovalOrder,
    DecisionOrder,
    EmptyOrder,
    GuideOrder,
    LimitValue,
    LimitsOrder,
    PauseOrder,
    Problem,
    RerunOrder,
    ResumeOrder,
    StartRunOrder,
    StartWorkflowOrder,
    WorkOrder
)))]
struct BodySchemas;

/// Returns the whole document.
pub(super) fn build_document() -> Value {
    let mut document = serde_json::to_value(BodySchemas::openapi()).unwrap_or_default();
    document["info"] = json!({
        "title": "ralph",
        "description": "Runs, tasks and workflows over HTTP. New fields may be added to answers; a new version breaks clients.",
        "version": API_VERSION.to_string(),
    });
    if let (Some(schemas), Value::Object(answers)) =
        (document["components"]["schemas"].as_object_mut(), answer_schemas())
    {
        schemas.extend(answers);
    }
    document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    let mut paths = Map::new();
    for route in documented_routes() {
        let operations = paths.entry(route.path).or_insert_with(|| json!({}));
        let method = if route.body.is_some() { "post" } else { "get" };
        operations[method] = route.to_operation();
    }
    document["paths"] = paths.into();
    document
}

impl DocumentedRoute {
    fn to_operation(&self) -> Value {
        let mut operation = json!({
            "summary": self.summary,
            "parameters": self.parameters(),
            "responses": self.responses(),
        });
        if let Some(body) = self.body {
            operation["security"] = json!([{ "token": [] }]);
            let schema = json!({ "$ref": format!("#/components/schemas/{body}") });
            operation["requestBody"] =
                json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        operation
    }

    fn parameters(&self) -> Vec<Value> {
        let in_path = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let path_parameter = |name: &str| {
            let schema = match name {
                "iteration" => json!({ "type": "integer", "minimum": 1 }),
                _ => json!({ "type": "string", "minLength": 1 }),
            };
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        };
        let in_query = self.query.iter().map(|parameter| {
            let schema = match parameter.value_type {
                "integer" => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
                other => json!({ "type": other }),
            };
            json!({ "name": parameter.name, "in": "query", "description": parameter.description, "schema": schema })
        });
        in_path.map(path_parameter).chain(in_query).collect()
    }

    fn responses(&self) -> Value {
        let item = match self.schema {
            Some(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
            None => json!({ "type": "object" }),
        };
        let array = || json!({ "application/json": { "schema": { "type": "array", "items": item } } });
        let object = || json!({ "application/json": { "schema": item } });
        let (status, content) = match self.answer {
            AnswerFormat::Json => ("200", object()),
            AnswerFormat::JsonArray => ("200", array()),
            AnswerFormat::CreatedJson => ("201", object()),
            AnswerFormat::EventStream => ("200", json!({ "text/event-stream": { "schema": { "type": "string" } } })),
            AnswerFormat::Svg => ("200", json!({ "image/svg+xml": { "schema": { "type": "string" } } })),
        };
        let schema = json!({ "$ref": "#/components/schemas/Problem" });
        let problem = json!({ "application/problem+json": { "schema": schema } });
        json!({
            status: { "description": "Success", "content": content },
            "default": { "description": "What went wrong, and how to fix it", "content": problem },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U5
    #[test]
    fn every_schema_that_the_document_names_exists() {
        let document = build_document();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
        let text = document.to_string();
        let named = text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap());
        for name in named {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
        assert!(document["paths"]["/api/runs"]["post"]["requestBody"].is_object());
        let is_object_only = |route: &DocumentedRoute| {
            route.schema.is_none() && matches!(route.answer, AnswerFormat::Json | AnswerFormat::CreatedJson)
        };
        let without: Vec<&str> =
            documented_routes().iter().filter(|route| is_object_only(route)).map(|route| route.path).collect();
        assert_eq!(without, ["/openapi.json", "/api/session"]);
    }
}
