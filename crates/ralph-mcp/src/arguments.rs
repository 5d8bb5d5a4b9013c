//! The arguments of each tool. Unknown ones are errors.
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadTaskArguments {
    pub(crate) id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadStatusArguments {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportProgressArguments {
    pub(crate) run: String,
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimCompletionArguments {
    pub(crate) run: String,
    pub(crate) summary: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestWaitArguments {
    pub(crate) run: String,
    pub(crate) reason: String,
    #[serde(rename = "for")]
    pub(crate) duration: Option<String>,
    pub(crate) until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportBlockedArguments {
    pub(crate) run: String,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateFollowupArguments {
    pub(crate) run: String,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) outcome: Option<String>,
    #[serde(default)]
    pub(crate) acceptance_criteria: Vec<String>,
    pub(crate) check_command: Option<String>,
}

/// Reads the arguments of a call, or says what is wrong with them.
pub(crate) fn parse_arguments<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| format!("invalid arguments: {error}"))
}
