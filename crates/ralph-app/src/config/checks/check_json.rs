//! Converts a check to JSON, in the form in which the configuration would contain it.
use std::time::Duration;

use ralph_core::criterion::{Criterion, ExternalCheck, PluginCheck, VerificationMethod};
use serde_json::{Map, Value, json};

use ralph_util::duration;

/// Returns the command alone if all other fields of the check have their defaults, otherwise a table.
pub(in crate::config) fn check_to_json(criterion: &Criterion) -> Value {
    if let VerificationMethod::External(check) = &criterion.method
        && *criterion == Criterion::from(ExternalCheck::new(check.command.clone()))
        && let ralph_core::criterion::CheckCommand::Shell(text) = &check.command
    {
        return json!(text);
    }
    criterion_table(criterion).into()
}

fn criterion_table(criterion: &Criterion) -> Map<String, Value> {
    let mut table = method_fields(&criterion.method);
    table.insert("method".to_owned(), json!(criterion.method.name()));
    if let Some(name) = &criterion.name {
        table.insert("name".to_owned(), json!(name));
    }
    if criterion.retries > 0 {
        table.insert("retries".to_owned(), json!(criterion.retries));
    }
    table
}

fn method_fields(method: &VerificationMethod) -> Map<String, Value> {
    let parts = match method {
        VerificationMethod::StringMatch => json!({}),
        VerificationMethod::External(check) => json!({
            "command": check.command,
            "success_exit_code": check.success_exit_code,
            "output_contains": check.output_contains,
            "output_not_contains": check.output_not_contains,
            "timeout": format_timeout(check.timeout_ms),
            "working_dir": check.working_dir,
            "env": check.env,
        }),
        VerificationMethod::Semantic(check) => json!({
            "check_for": check.check_for,
            "negative_patterns": check.negative_patterns,
            "model": check.model,
        }),
        VerificationMethod::MultiStage(staged) => {
            let stages = staged.stages.iter().map(|stage| {
                let mut table = criterion_table(&stage.criterion);
                table.insert("required".to_owned(), json!(stage.required));
                Value::from(table)
            });
            let stages: Value = stages.collect();
            json!({ "stages": stages, "require_all": staged.require_all, "parallel": staged.parallel })
        }
        VerificationMethod::Plugin(PluginCheck { plugin, config, timeout_ms }) => {
            let config: Value = serde_json::from_str(config).unwrap_or_default();
            json!({ "plugin": plugin, "config": config, "timeout": format_timeout(*timeout_ms) })
        }
    };
    match parts {
        Value::Object(parts) => parts,
        _ => Map::new(),
    }
}

fn format_timeout(ms: u64) -> String {
    duration::format_exact(Duration::from_millis(ms))
}
