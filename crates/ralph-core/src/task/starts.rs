//! What decides when a task is done, and what of it is started. Who approves a task approves exactly this.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{CheckFor, CompletionSpec, MethodName, OneOrMore, Role, Task, VerificationConfig};

/// A program that a criterion starts, or something else that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The role; behind it the stages that lead there.
    pub place: String,
    /// The command as it was written, or the plugin or template by name, with all that they are given.
    pub what: String,
}

/// Something that decides.
struct Term {
    is_started: bool,
    said: Start,
}

/// Returns everything that the criteria of a task would start, for all roles.
#[must_use]
pub fn starts(task: &Task) -> Vec<Start> {
    of_roles(task).into_iter().filter(|term| term.is_started).map(|term| term.said).collect()
}

/// Returns everything that decides when a task is done: outcome, acceptance, and how each role is verified.
#[must_use]
pub fn terms(task: &Task) -> Vec<Start> {
    let said = |place: &str, what: &String| Start { place: place.to_string(), what: what.clone() };
    let outcome = task.completion.iter().map(|spec| said("outcome", &spec.outcome));
    let accepted = task.completion.iter().flat_map(|spec| &spec.acceptance_criteria);
    let accepted = accepted.map(|criterion| said("acceptance", criterion));
    let terms = outcome.chain(accepted).chain(task.completion.iter().flat_map(acceptance));
    terms.chain(of_roles(task).into_iter().map(|term| term.said)).collect()
}

/// Returns how claims are accepted beside the criteria.
fn acceptance(spec: &CompletionSpec) -> Vec<Start> {
    let listed = |place: &str, patterns: &Option<Vec<String>>| {
        let what = patterns.as_ref()?.join(", ");
        Some(Start { place: place.to_string(), what })
    };
    let isolation = spec
        .isolation
        .map(|isolation| Start { place: "isolation".to_string(), what: isolation.as_str().to_string() });
    let listed = [listed("guard", &spec.guard), listed("allow_changes", &spec.allow_changes), isolation];
    listed.into_iter().flatten().collect()
}

fn of_roles(task: &Task) -> Vec<Term> {
    let Some(spec) = &task.completion else { return Vec::new() };
    let of_role = |role: Role| {
        let block = spec.of(&role)?;
        let config = block.verification_config.clone().unwrap_or_default();
        Some(of_config(role.as_str(), block.method(&role), &config))
    };
    Role::KNOWN.into_iter().filter_map(of_role).flatten().collect()
}

fn of_config(place: &str, method: MethodName, config: &VerificationConfig) -> Vec<Term> {
    let said = |what| Start { place: place.to_string(), what };
    let start = |what| vec![Term { is_started: true, said: said(what) }];
    if let Some(name) = &config.template {
        return start(format!("template {name}{}", given(config)));
    }
    match method {
        MethodName::StringMatch => {
            vec![Term { is_started: false, said: said("the promise alone".to_string()) }]
        }
        MethodName::Semantic => vec![Term { is_started: false, said: said(judged(config)) }],
        MethodName::External => {
            config.command.iter().flat_map(|command| start(ordered(config, command))).collect()
        }
        MethodName::Plugin => config.plugin.iter().flat_map(|name| start(plugged(config, name))).collect(),
        MethodName::MultiStage => of_stages(place, config),
    }
}

fn of_stages(place: &str, config: &VerificationConfig) -> Vec<Term> {
    let stages = config.stages.iter().flatten();
    let of_stage = |stage: &super::StageSpec| {
        let config = stage.config.clone().unwrap_or_default();
        let optional = if stage.required == Some(false) { " (optional)" } else { "" };
        of_config(&format!("{place}, {}{optional}", stage.name()), stage.method(), &config)
    };
    stages.flat_map(of_stage).collect()
}

fn judged(config: &VerificationConfig) -> String {
    let looked_for = match &config.check_for {
        None => String::new(),
        Some(CheckFor::Text(text)) => format!(" for {text:?}"),
        Some(CheckFor::List(list)) => format!(" for {list:?}"),
    };
    let refused = config.negative_patterns.as_ref();
    let refused = refused.map_or_else(String::new, |patterns| format!(", never {patterns:?}"));
    format!("a judge looks{looked_for}{refused}")
}

fn ordered(config: &VerificationConfig, command: &crate::criterion::CheckCommand) -> String {
    let folder = config.working_dir.as_ref().map(|folder| format!("in {folder}"));
    let set = config.env.iter().flatten().map(|(name, value)| format!("{name}={value}"));
    let code =
        config.success_exit_code.filter(|code| *code != 0).map(|code| format!("must exit with {code}"));
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
    use crate::task::{RoleSpec, StageSpec};

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
            success_exit_code: Some(1),
            output_contains: Some("ok".to_string()),
            retries: Some(9),
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
                ("tester", "make test  (in api, CI=1, must exit with 1, must print \"ok\", 9 retries)"),
                ("qa, unit", "make unit"),
                ("qa, own", "plugin api [1]"),
                ("qa, ready", "template files-exist files=[a, b]"),
            ]
        );
        assert!(starts(&Task::default()).is_empty());
    }

    // spec: T8
    #[test]
    fn who_approves_sees_all_that_decides() {
        let judged = VerificationConfig {
            check_for: Some(CheckFor::List(vec!["it is fast".into()])),
            negative_patterns: Some(vec!["slow".into()]),
            ..Default::default()
        };
        let word = RoleSpec { verification_method: Some(MethodName::StringMatch), ..RoleSpec::default() };
        let completion = CompletionSpec {
            outcome: "people log in".to_string(),
            acceptance_criteria: vec!["401".to_string(), "a token".to_string()],
            guard: Some(vec!["tests/**".into(), "!tests/data".into()]),
            allow_changes: Some(vec!["verify.sh".into()]),
            isolation: Some(crate::isolation::Isolation::Clean),
            coder: block(shell("make")),
            reviewer: block(judged),
            tester: Some(word),
            ..CompletionSpec::default()
        };
        let found = terms(&Task { completion: Some(completion), ..Task::default() });
        let found: Vec<(&str, &str)> =
            found.iter().map(|start| (start.place.as_str(), start.what.as_str())).collect();
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
                ("reviewer", "a judge looks for [\"it is fast\"], never [\"slow\"]"),
                ("tester", "the promise alone"),
            ]
        );
        assert!(terms(&Task::default()).is_empty());
    }
}
