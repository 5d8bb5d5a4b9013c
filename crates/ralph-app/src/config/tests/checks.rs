//! Checks with every method, and templates.
use ralph_core::criterion::{CheckCommand, Criterion, VerificationMethod};
use ralph_core::judge::JudgeErrorPolicy;

use super::*;

fn read_one_criterion(text: &str) -> Criterion {
    let mut all = settings_from_yaml(&format!("checks:\n  - {text}"))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .criteria();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn read_method(text: &str) -> VerificationMethod {
    read_one_criterion(text).method
}

/// Returns the keys of the project commands that a run with these settings would start.
fn project_command_keys(settings: &Settings) -> Vec<String> {
    let agents = vec![settings.agent.value.as_str()];
    let used = SettingsUse {
        agents,
        permission: SettingsPart::Used,
        checks: SettingsPart::Used,
        criteria: &[],
        templates: &[],
    };
    settings.project_commands(&used).into_iter().map(|command| command.key).collect()
}

// finding: N38
// spec: V4
#[test]
fn a_stage_without_a_method_is_string_match_as_in_task_files() {
    let VerificationMethod::MultiStage(staged) = read_method("{stages: [{name: said}, {required: false}, make test]}")
    else {
        panic!()
    };
    let methods: Vec<&VerificationMethod> = staged.stages.iter().map(|stage| &stage.criterion.method).collect();
    assert!(matches!(
        methods[..],
        [VerificationMethod::StringMatch, VerificationMethod::StringMatch, VerificationMethod::External(_)]
    ));
    assert_eq!(staged.stages[0].criterion.name.as_deref(), Some("said"));
    assert!(!staged.stages[1].required);
    assert!(settings_from_yaml("checks:\n  - {name: unit}\n").is_err(), "a check of its own needs a method");
}

// spec: V2
#[test]
fn a_command_can_be_a_list_with_a_folder_and_variables() {
    let text = "{command: [pytest, 'a b', -x], working_dir: sub, env: {A: '1'}, retries: 2, name: unit}";
    let criterion = read_one_criterion(text);
    assert_eq!((criterion.name.as_deref(), criterion.retries), (Some("unit"), 2));
    let VerificationMethod::External(check) = criterion.method else { panic!() };
    assert_eq!(check.command, CheckCommand::Argv(["pytest", "a b", "-x"].map(str::to_owned).into()));
    assert_eq!((check.working_dir.as_deref(), check.env["A"].as_str()), (Some("sub"), "1"));
}

// spec: V3, V4, V5
#[test]
fn the_method_is_derived_from_the_keys() {
    let VerificationMethod::Semantic(check) = read_method("{check_for: it works, negative_patterns: [TODO, FIXME]}")
    else {
        panic!()
    };
    assert_eq!((check.check_for, check.negative_patterns.len()), (vec!["it works".to_owned()], 2));
    assert_eq!(read_method("{method: string_match}"), VerificationMethod::StringMatch);
    let VerificationMethod::Plugin(check) = read_method("{plugin: cover, config: {least: 80, of: [a]}, timeout: 9}")
    else {
        panic!()
    };
    assert_eq!((check.config.as_str(), check.timeout_ms), (r#"{"least":80,"of":["a"]}"#, 9_000));
    let VerificationMethod::MultiStage(staged) =
        read_method("{stages: [make, {check_for: x, required: false}], require_all: false}")
    else {
        panic!();
    };
    assert!(!staged.require_all && staged.stages[0].required && !staged.stages[1].required);
}

// spec: V4
#[test]
fn the_keys_of_a_method_may_be_nested_in_a_config_table() {
    let nested = read_method(
        "{method: multi_stage, config: {stages: [{name: t, method: external, config: {command: make}}, \
         {method: plugin, config: {plugin: p, config: {a: 1}}}]}}",
    );
    let flat = read_method("{stages: [{name: t, command: make}, {plugin: p, config: {a: 1}}]}");
    assert_eq!(nested, flat);
}

// spec: V2, V5, V6
#[test]
fn invalid_checks_are_refused_with_their_place_and_a_hint() {
    let table = [
        ("{method: extrenal, command: x}", "checks: there is no method \"extrenal\"", "did you mean external?"),
        (
            "{command: x, check_for: y}",
            "checks: this check mixes the methods external and semantic",
            "write two checks",
        ),
        ("{method: plugin, command: x}", "checks: method is plugin, but the other keys belong to external", ""),
        ("{method: multi_stage}", "checks: multi_stage check has no stages", "add `stages:`"),
        (
            "{plugin: ../x}",
            "checks: \"../x\" is not a valid plugin name",
            "put the executable into .ralph/verifiers and write its file name",
        ),
        ("{command: x, with: {a: b}}", "checks: `with:` belongs to a template", "add `template: NAME`"),
        (
            "{command: x, required: false}",
            "checks: `required: false` is allowed only in a stage",
            "make it a stage of a check with `stages:`",
        ),
    ];
    for (text, what, hint) in table {
        let text = format!("checks:\n  - {text}");
        assert_refused(settings_from_yaml(&text), &format!("config.yaml:2:5: {what}"), hint);
    }
    for text in ["{command: []}", "{command: ['']}", "{retries: 99, command: x}", "{template: make, with: [a]}"] {
        assert!(settings_from_yaml(&format!("checks:\n  - {text}")).is_err(), "{text}");
    }
}

// spec: V6
#[test]
fn template_errors_point_at_the_part_that_caused_them() {
    let table = [
        ("{template: pytset}", "2:16: checks: there is no template named \"pytset\"", "did you mean pytest?"),
        (
            "{template: pytest-coverage, with: {mni: 3}}",
            "2:45: checks: the template pytest-coverage has no parameter \"mni\"",
            "did you mean min?",
        ),
        (
            "{template: pytest-coverage, with: {min: 180}}",
            "2:45: checks: min: \"180\" is not a whole number between 0 and 100",
            "",
        ),
        (
            "{template: files-exist, retries: 1}",
            "2:5: checks: the template files-exist needs the parameter files: The files, relative to the work tree",
            "write `with: {files: ...}`",
        ),
    ];
    for (text, what, hint) in table {
        assert_refused(settings_from_yaml(&format!("checks:\n  - {text}")), &format!("config.yaml:{what}"), hint);
    }
}

// spec: V6
#[test]
fn a_template_is_used_by_name_with_values() {
    let criterion = read_one_criterion("{template: pytest-coverage, with: {min: 85, paths: [tests, e2e]}, retries: 1}");
    assert_eq!(criterion.retries, 1);
    assert_eq!(criterion.summary_line(), "pytest-coverage: python3 -m pytest --cov=. --cov-fail-under=85 -- tests e2e");
}

// spec: V6
#[test]
fn a_template_of_the_project_replaces_a_built_in_one_and_must_be_approved() {
    let temp = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(temp.path().join(name), text).unwrap();
    write(
        "make.yaml",
        "about: Ours\nparameters: {what: {about: The target, type: words}}\ncheck: {command: [./make, '{{what}}']}",
    );
    write("sh.yaml", "parameters: {x: {}}\ncheck: 'test {{x}}'");
    write("odd.yaml", "paramters: {}\ncheck: x");
    let templates = TemplateLibrary { folder: Some(temp.path().to_path_buf()) };
    let with = |values: &[&str]| [("what".to_owned(), values.iter().map(|value| (*value).to_owned()).collect())].into();
    let check = templates.instantiate_check("make", &with(&["a", "b c"])).unwrap();
    assert_eq!(check.criterion.summary_line(), "make: ./make a 'b c'");
    assert!(check.template.is_some_and(|origin| origin.is_from_project()));
    let shell = templates.instantiate_check("sh", &Default::default()).unwrap_err();
    assert!(shell.message.contains("{{x}} is inside a shell command"), "{shell}");
    let odd = templates.instantiate_check("odd", &Default::default()).unwrap_err();
    assert!(odd.message.contains("odd.yaml:1:1: there is no key paramters"), "{odd}");
    let mut settings = Settings { templates, ..Settings::default() };
    let text = "checks: [{template: make, with: {what: [a]}}]";
    document::apply_document(&mut settings, text, &file_source(FileLayer::User, "mine.yaml")).unwrap();
    assert_eq!(project_command_keys(&settings), ["checks"], "the user's file starts a command of the project");
    let staged = "checks: [{stages: ['true', {name: m, template: make, with: {what: [a]}}]}]";
    document::apply_document(&mut settings, staged, &file_source(FileLayer::User, "mine.yaml")).unwrap();
    assert_eq!(project_command_keys(&settings), ["checks"], "also if it is a stage");
}

// spec: V3, X6
#[test]
fn the_judge_must_be_an_agent_that_can_run_without_tools() {
    let text = "agents: {mine: {type: text, cli: ./j, env: {A: b}}}\nverification: {judge: {agent: mine, on_error: string_match}}\nchecks: [{check_for: x}]";
    let settings = settings_from_yaml(text).unwrap();
    let root = PathBuf::from("/project");
    assert_eq!(settings.judge_agent(&root).unwrap().overrides.cli.as_deref(), Some("/project/./j"));
    assert_eq!(settings.judge.on_error.value, JudgeErrorPolicy::StringMatch);
    let keys = project_command_keys(&settings);
    assert_eq!(keys, ["agents.mine.type", "agents.mine.cli", "agents.mine.env.A", "checks"]);
    for (judge, what) in [("gemini", "cannot judge: it cannot run without its tools"), ("cluade", "no agent named")] {
        let settings = settings_from_yaml(&format!("verification: {{judge: {{agent: {judge}}}}}")).unwrap();
        let error = settings.judge_agent(&root).err().unwrap();
        assert!(error.message.contains(what), "{error}");
    }
}

// spec: V3
// finding: N18
#[test]
fn the_agent_of_the_run_judges_if_no_judge_is_chosen_and_it_can_run_without_tools() {
    let judge_of = |text: &str| settings_from_yaml(text).unwrap().judge_agent_name().to_owned();
    assert_eq!(judge_of("agent: codex"), "codex");
    assert_eq!(judge_of("agent: mine\nagents: {mine: {type: codex}}"), "mine");
    assert_eq!(judge_of("agent: codex\nverification: {judge: {agent: claude}}"), "claude");
    assert_eq!(judge_of("agent: gemini"), "claude", "it cannot run without tools");
    assert_eq!(judge_of("agent: mine\nagents: {mine: {type: text, cli: ./m}}"), "claude", "its tools are unknown");
    assert_eq!(judge_of("agent: codex\nagents: {codex: {response_filter: .x}}"), "claude");
}
