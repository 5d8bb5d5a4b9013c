//! What a task would have started to verify its roles. Who approves a task approves exactly this.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{MethodName, OneOrMore, Role, Task, VerificationConfig};

/// A program that a criterion starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The role; behind it the stages that lead there.
    pub place: String,
    /// The command as it was written, or the plugin or template by name, with all that they are given.
    pub what: String,
}

/// Returns everything that the criteria of a task would start, for all roles.
#[must_use]
pub fn starts(task: &Task) -> Vec<Start> {
    let Some(spec) = &task.completion else { return Vec::new() };
    let of_role = |role: Role| {
        let block = spec.of(&role)?;
        let config = block.verification_config.as_ref()?;
        Some(of_config(role.as_str(), block.method(&role), config))
    };
    Role::KNOWN.into_iter().filter_map(of_role).flatten().collect()
}

fn of_config(place: &str, method: MethodName, config: &VerificationConfig) -> Vec<Start> {
    let start = |what| vec![Start { place: place.to_string(), what }];
    if let Some(name) = &config.template {
        return start(format!("template {name}{}", given(config)));
    }
    match method {
        MethodName::StringMatch | MethodName::Semantic => Vec::new(),
        MethodName::External => {
            config.command.iter().flat_map(|command| start(ordered(config, command))).collect()
        }
        MethodName::Plugin => config.plugin.iter().flat_map(|name| start(plugged(config, name))).collect(),
        MethodName::MultiStage => of_stages(place, config),
    }
}

fn of_stages(place: &str, config: &VerificationConfig) -> Vec<Start> {
    let stages = config.stages.iter().flatten();
    let of_stage = |stage: &super::StageSpec| {
        let config = stage.config.clone().unwrap_or_default();
        of_config(&format!("{place}, {}", stage.name()), stage.method(), &config)
    };
    stages.flat_map(of_stage).collect()
}

fn ordered(config: &VerificationConfig, command: &crate::criterion::CheckCommand) -> String {
    let folder = config.working_dir.as_ref().map(|folder| format!("in {folder}"));
    let set = config.env.iter().flatten().map(|(name, value)| format!("{name}={value}"));
    let rest: Vec<String> = folder.into_iter().chain(set).collect();
    match rest.is_empty() {
        true => command.to_string(),
        false => format!("{command}  ({})", rest.join(", ")),
    }
}

fn plugged(config: &VerificationConfig, name: &str) -> String {
    match &config.config {
        Some(told) => format!("plugin {name} {told}"),
        None => format!("plugin {name}"),
    }
}

fn given(config: &VerificationConfig) -> String {
    let value = |value: &OneOrMore| match value {
        OneOrMore::One(value) => value.clone(),
        OneOrMore::More(values) => format!("[{}]", values.join(", ")),
    };
    let given = config.with.iter().flatten().map(|(name, given)| format!(" {name}={}", value(given)));
    given.collect()
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::criterion::CheckCommand;
    use crate::task::{CompletionSpec, RoleSpec, StageSpec};

    fn block(config: VerificationConfig) -> Option<RoleSpec> {
        Some(RoleSpec { verification_config: Some(config), ..RoleSpec::default() })
    }

    fn shell(command: &str) -> VerificationConfig {
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
            with: Some(BTreeMap::from([(
                "files".to_string(),
                OneOrMore::More(vec!["a".into(), "b".into()]),
            )])),
            ..Default::default()
        };
        let stages = vec![
            stage("unit", MethodName::External, shell("make unit")),
            stage("look", MethodName::Semantic, VerificationConfig::default()),
            stage("own", MethodName::Plugin, plugin),
            StageSpec { method: None, ..stage("ready", MethodName::External, template) },
        ];
        let tester = VerificationConfig {
            working_dir: Some("api".to_string()),
            env: Some(BTreeMap::from([("CI".to_string(), "1".to_string())])),
            ..shell("make test")
        };
        let completion = CompletionSpec {
            coder: block(VerificationConfig {
                command: Some(CheckCommand::Argv(vec!["test".into(), "a b".into()])),
                ..Default::default()
            }),
            reviewer: block(VerificationConfig::default()),
            tester: block(tester),
            qa: block(VerificationConfig { stages: Some(stages), ..Default::default() }),
            ..CompletionSpec::default()
        };
        let found = starts(&Task { completion: Some(completion), ..Task::default() });
        let found: Vec<(&str, &str)> =
            found.iter().map(|start| (start.place.as_str(), start.what.as_str())).collect();
        assert_eq!(
            found,
            [
                ("coder", "test 'a b'"),
                ("tester", "make test  (in api, CI=1)"),
                ("qa, unit", "make unit"),
                ("qa, own", "plugin api [1]"),
                ("qa, ready", "template files-exist files=[a, b]"),
            ]
        );
        assert!(starts(&Task::default()).is_empty());
    }
}
