//! The terms of completion that an approval of a task covers, and the programs that they start.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::task::{CheckForSpec, CompletionSpec, MethodName, OneOrMany, Role, Task, VerificationConfig};

/// A program that a criterion starts, or another term of completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalItem {
    /// The role, followed by the names of the stages that contain the item.
    pub location: String,
    /// The command as written, or the name of the plugin or template, with all settings.
    pub description: String,
}

struct CompletionTerm {
    is_started: bool,
    item: ApprovalItem,
}

/// Returns every program that the criteria of a task start, for all roles.
#[must_use]
pub fn started_programs(task: &Task) -> Vec<ApprovalItem> {
    role_terms(task).into_iter().filter(|term| term.is_started).map(|term| term.item).collect()
}

/// Returns all terms of completion: outcome, acceptance criteria, acceptance rules, and how each role is verified.
#[must_use]
pub fn completion_terms(task: &Task) -> Vec<ApprovalItem> {
    let item = |location: &str, text: &String| ApprovalItem { location: location.into(), description: text.clone() };
    let outcome = task.completion.iter().map(|spec| item("outcome", &spec.outcome));
    let criteria = task.completion.iter().flat_map(|spec| &spec.acceptance_criteria);
    let criteria = criteria.map(|criterion| item("acceptance", criterion));
    let terms = outcome.chain(criteria).chain(task.completion.iter().flat_map(acceptance_items));
    terms.chain(role_terms(task).into_iter().map(|term| term.item)).collect()
}

/// Returns the acceptance rules that apply in addition to the criteria.
fn acceptance_items(spec: &CompletionSpec) -> Vec<ApprovalItem> {
    let patterns_item = |location: &str, patterns: &Option<Vec<String>>| {
        let description = patterns.as_ref()?.join(", ");
        Some(ApprovalItem { location: location.to_string(), description })
    };
    let isolation = spec.isolation.map(|isolation| ApprovalItem {
        location: "isolation".to_string(),
        description: isolation.as_str().to_string(),
    });
    let items = [patterns_item("guard", &spec.guard), patterns_item("allow_changes", &spec.allow_changes), isolation];
    items.into_iter().flatten().collect()
}

fn role_terms(task: &Task) -> Vec<CompletionTerm> {
    let Some(spec) = &task.completion else { return Vec::new() };
    let of_role = |role: Role| {
        let block = spec.role_spec(&role)?;
        let config = block.verification_config.clone().unwrap_or_default();
        Some(config_terms(role.as_str(), block.method_for(&role), &config))
    };
    Role::BUILT_IN.into_iter().filter_map(of_role).flatten().collect()
}

fn config_terms(location: &str, method: MethodName, config: &VerificationConfig) -> Vec<CompletionTerm> {
    let item = |description| ApprovalItem { location: location.to_string(), description };
    let start = |description| vec![CompletionTerm { is_started: true, item: item(description) }];
    if let Some(name) = &config.template {
        return start(format!("template {name}{}", describe_parameters(config)));
    }
    match method {
        MethodName::StringMatch => {
            vec![CompletionTerm { is_started: false, item: item("the promise alone".to_string()) }]
        }
        MethodName::Semantic => {
            vec![CompletionTerm { is_started: false, item: item(describe_judge(config)) }]
        }
        MethodName::External => {
            config.command.iter().flat_map(|command| start(describe_command(config, command))).collect()
        }
        MethodName::Plugin => config.plugin.iter().flat_map(|name| start(describe_plugin(config, name))).collect(),
        MethodName::MultiStage => stage_terms(location, config),
    }
}

fn stage_terms(location: &str, config: &VerificationConfig) -> Vec<CompletionTerm> {
    let stages = config.stages.iter().flatten();
    let of_stage = |stage: &crate::task::StageSpec| {
        let config = stage.config.clone().unwrap_or_default();
        let optional = if stage.required == Some(false) { " (optional)" } else { "" };
        config_terms(&format!("{location}, {}{optional}", stage.name()), stage.method_or_default(), &config)
    };
    stages.flat_map(of_stage).collect()
}

fn describe_judge(config: &VerificationConfig) -> String {
    let required = match &config.check_for {
        None => String::new(),
        Some(CheckForSpec::Text(text)) => format!(" for {text:?}"),
        Some(CheckForSpec::List(list)) => format!(" for {list:?}"),
    };
    let forbidden = config.negative_patterns.as_ref();
    let forbidden = forbidden.map_or_else(String::new, |patterns| format!(", rejects {patterns:?}"));
    format!("a judge checks{required}{forbidden}")
}

fn describe_command(config: &VerificationConfig, command: &crate::criterion::CheckCommand) -> String {
    let folder = config.working_dir.as_ref().map(|folder| format!("in {folder}"));
    let set = config.env.iter().flatten().map(|(name, value)| format!("{name}={value}"));
    let code = config.success_exit_code.filter(|code| *code != 0).map(|code| format!("must exit with {code}"));
    let contains = config.output_contains.as_ref().map(|text| format!("must print {text:?}"));
    let not = config.output_not_contains.as_ref().map(|text| format!("must not print {text:?}"));
    let retries = config.retries.filter(|times| *times > 0).map(|times| format!("{times} retries"));
    let rest = folder.into_iter().chain(set).chain(code).chain(contains).chain(not).chain(retries);
    let rest: Vec<String> = rest.collect();
    match rest.is_empty() {
        true => command.to_string(),
        false => format!("{command}  ({})", rest.join(", ")),
    }
}

fn describe_plugin(config: &VerificationConfig, name: &str) -> String {
    match &config.config {
        Some(json) => format!("plugin {name} {json}"),
        None => format!("plugin {name}"),
    }
}

fn describe_parameters(config: &VerificationConfig) -> String {
    let value = |value: &OneOrMany| match value {
        OneOrMany::One(value) => value.clone(),
        OneOrMany::More(values) => format!("[{}]", values.join(", ")),
    };
    config.with.iter().flatten().map(|(name, parameter)| format!(" {name}={}", value(parameter))).collect()
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::criterion::CheckCommand;
    use crate::task::{RoleSpec, StageSpec};

    fn role_spec(config: VerificationConfig) -> Option<RoleSpec> {
        Some(RoleSpec { verification_config: Some(config), ..RoleSpec::default() })
    }

    fn shell_config(command: &str) -> VerificationConfig {
        VerificationConfig { command: Some(CheckCommand::from(command)), ..VerificationConfig::default() }
    }

    // spec: T8
    #[test]
    fn commands_plugins_and_templates_of_every_role_and_stage_are_started_and_judges_are_not() {
        let stage = |name: &str, method, config| StageSpec {
            name: Some(name.to_string()),
            method: Some(method),
            config: Some(config),
            required: None,
        };
        let plugin = VerificationConfig {
            plugin: Some("api".to_string()),
            config: Some("[1]".to_string()),
            ..Default::default()
        };
        let template = VerificationConfig {
            template: Some("files-exist".to_string()),
            with: Some(BTreeMap::from([("files".to_string(), OneOrMany::More(vec!["a".into(), "b".into()]))])),
            ..Default::default()
        };
        let stages = vec![
            stage("unit", MethodName::External, shell_config("make unit")),
            stage("look", MethodName::Semantic, VerificationConfig::default()),
            stage("own", MethodName::Plugin, plugin),
            StageSpec { method: None, ..stage("ready", MethodName::External, template) },
        ];
        let tester = VerificationConfig {
            working_dir: Some("api".to_string()),
            env: Some(BTreeMap::from([("CI".to_string(), "1".to_string())])),
            success_exit_code: Some(1),
            output_contains: Some("ok".to_string()),
            retries: Some(9),
            ..shell_config("make test")
        };
        let completion = CompletionSpec {
            coder: role_spec(VerificationConfig {
                command: Some(CheckCommand::Argv(vec!["test".into(), "a b".into()])),
                ..Default::default()
            }),
            reviewer: role_spec(VerificationConfig::default()),
            tester: role_spec(tester),
            qa: role_spec(VerificationConfig { stages: Some(stages), ..Default::default() }),
            ..CompletionSpec::default()
        };
        let found = started_programs(&Task { completion: Some(completion), ..Task::default() });
        let found: Vec<(&str, &str)> =
            found.iter().map(|start| (start.location.as_str(), start.description.as_str())).collect();
        assert_eq!(
            found,
            [
                ("coder", "test 'a b'"),
                ("tester", "make test  (in api, CI=1, must exit with 1, must print \"ok\", 9 retries)"),
                ("qa, unit", "make unit"),
                ("qa, own", "plugin api [1]"),
                ("qa, ready", "template files-exist files=[a, b]"),
            ]
        );
        assert!(started_programs(&Task::default()).is_empty());
    }

    // spec: T8
    #[test]
    fn an_approver_sees_all_terms_of_completion() {
        let judged = VerificationConfig {
            check_for: Some(CheckForSpec::List(vec!["it is fast".into()])),
            negative_patterns: Some(vec!["slow".into()]),
            ..Default::default()
        };
        let claim_only = RoleSpec { verification_method: Some(MethodName::StringMatch), ..RoleSpec::default() };
        let completion = CompletionSpec {
            outcome: "people log in".to_string(),
            acceptance_criteria: vec!["401".to_string(), "a token".to_string()],
            guard: Some(vec!["tests/**".into(), "!tests/data".into()]),
            allow_changes: Some(vec!["verify.sh".into()]),
            isolation: Some(crate::check_isolation::CheckIsolation::Clean),
            coder: role_spec(shell_config("make")),
            reviewer: role_spec(judged),
            tester: Some(claim_only),
            ..CompletionSpec::default()
        };
        let found = completion_terms(&Task { completion: Some(completion), ..Task::default() });
        let found: Vec<(&str, &str)> =
            found.iter().map(|start| (start.location.as_str(), start.description.as_str())).collect();
        assert_eq!(
            found,
            [
                ("outcome", "people log in"),
                ("acceptance", "401"),
                ("acceptance", "a token"),
                ("guard", "tests/**, !tests/data"),
                ("allow_changes", "verify.sh"),
                ("isolation", "clean"),
                ("coder", "make"),
                ("reviewer", "a judge checks for [\"it is fast\"], rejects [\"slow\"]"),
                ("tester", "the promise alone"),
            ]
        );
        assert!(completion_terms(&Task::default()).is_empty());
    }
}
