//! A check as it would be written.
use std::time::Duration;

use ralph_core::criterion::{Criterion, ExternalCheck, Method, PluginCheck};
use serde_json::{Map, Value, json};

use ralph_util::duration;

/// A check is its command, unless more is said about it.
pub(super) fn written(criterion: &Criterion) -> Value {
    if let Method::External(check) = &criterion.method
        && *criterion == Criterion::from(ExternalCheck::of(check.command.clone()))
        && let ralph_core::criterion::CheckCommand::Shell(text) = &check.command
    {
        return json!(text);
    }
    table(criterion).into()
}

fn table(criterion: &Criterion) -> Map<String, Value> {
    let mut table = parts(&criterion.method);
    table.insert("method".to_owned(), json!(criterion.method.name()));
    if let Some(name) = &criterion.name {
        table.insert("name".to_owned(), json!(name));
    }
    if criterion.retries > 0 {
        table.insert("retries".to_owned(), json!(criterion.retries));
    }
    table
}

fn parts(method: &Method) -> Map<String, Value> {
    let parts = match method {
        Method::StringMatch => json!({}),
        Method::External(check) => json!({
            "command": check.command,
            "success_exit_code": check.success_exit_code,
            "output_contains": check.output_contains,
            "output_not_contains": check.output_not_contains,
            "timeout": time(check.timeout_ms),
            "working_dir": check.working_dir,
            "env": check.env,
        }),
        Method::Semantic(check) => json!({
            "check_for": check.check_for,
            "negative_patterns": check.negative_patterns,
            "model": check.model,
        }),
        Method::MultiStage(staged) => {
            let stages = staged.stages.iter().map(|stage| {
                let mut table = table(&stage.criterion);
                table.insert("required".to_owned(), json!(stage.required));
                Value::from(table)
            });
            let stages: Value = stages.collect();
            json!({ "stages": stages, "require_all": staged.require_all, "parallel": staged.parallel })
        }
        Method::Plugin(PluginCheck { plugin, config, timeout_ms }) => {
            let config: Value = serde_json::from_str(config).unwrap_or_default();
            json!({ "plugin": plugin, "config": config, "timeout": time(*timeout_ms) })
        }
    };
    match parts {
        Value::Object(parts) => parts,
        _ => Map::new(),
    }
}

fn time(ms: u64) -> String {
    duration::write(Duration::from_millis(ms))
}
