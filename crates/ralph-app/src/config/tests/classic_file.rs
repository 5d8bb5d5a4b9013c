//! The classic `KEY=value` file.
use super::*;

// spec: C2
#[test]
fn the_classic_names_keep_their_meaning_and_every_key_is_a_variable() {
    let settings = settings_from_classic(
        "AGENT_TYPE=text\nAGENT_CLI=./agent.sh\nAGENT_ARGS=\"--a 'b c' $(d)\"\nAGENT_OUTPUT_FORMAT=json\n\
         AGENT_RESPONSE_FILTER=\"jq -r '.text'\"\nAGENT_DISPLAY_FILTER=.show\nSPECS_DIR=docs/specs\nMAX_RETRIES=1\n\
         PROJECT_GOAL='Ship $(it)'\nEMPTY=\n",
    )
    .unwrap();
    let agent = chosen_agent(&settings);
    assert_eq!((agent.name.as_str(), agent.adapter.name()), ("text", "text"));
    assert_eq!(agent.overrides.cli.as_deref(), Some("/project/./agent.sh"));
    assert_eq!(agent.overrides.args.unwrap(), ["--a", "b c", "$(d)"]);
    assert_eq!(
        (agent.overrides.output_format, agent.overrides.response_filter.as_deref()),
        (None, Some("jq -r '.text'"))
    );
    assert_eq!((settings.specs_dir.value.as_str(), settings.limits.max_retries.value), ("docs/specs", 1));
    assert_eq!(settings.limits.max_retries.origin.to_string(), "config:8");
    let vars = settings.prompt_variables();
    for (name, value) in [("EMPTY", ""), ("PROJECT_GOAL", "Ship $(it)"), ("AGENT_TYPE", "text"), ("MAX_RETRIES", "1")] {
        assert_eq!(vars.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!(vars.len(), 10);
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
}

// spec: C2, A2
#[test]
fn in_a_classic_file_an_empty_value_is_unset_and_the_last_assignment_wins() {
    let settings = settings_from_classic("AGENT_TYPE=demo\nAGENT_TYPE=\nMAX_RETRIES=").unwrap();
    assert_eq!((settings.agent.value.as_str(), settings.limits.max_retries.value), ("claude", 3));
    let settings = settings_from_classic("MAX_RETRIES=1\nMAX_RETRIES=2\nAGENT_OUTPUT_FORMAT=text").unwrap();
    assert_eq!(settings.limits.max_retries.value, 2);
    assert_eq!(chosen_agent(&settings).overrides.output_format, Some(ralph_agents::OutputFormat::Text));
    let settings = settings_from_classic("AGENT_TYPE=text\nAGENT_CLI=x\nAGENT_OUTPUT_FORMAT=json").unwrap();
    let error = settings.chosen_agent(&PathBuf::from("/")).err().unwrap();
    assert!(error.to_string().starts_with("config:3: output format json: no response filter says which"), "{error}");
}

// spec: C2, U1
#[test]
fn errors_in_a_classic_file_name_the_line_and_typing_mistakes_are_warnings() {
    assert_refused(
        settings_from_classic("A=1\nMAX_RETRIES=many"),
        "config:2:1: MAX_RETRIES: \"many\" is not a whole number",
        "write decimal digits, such as 10",
    );
    assert_refused(
        settings_from_classic("A=1\nB=one two"),
        "config:2: unexpected text after the value",
        "quote the value: KEY=\"two words\"",
    );
    let error = settings_from_classic("AGENT_TYPE=claude\nAGENT_ARGS=\"'open\"").err().unwrap();
    assert_eq!(error.to_string(), "config:2:1: AGENT_ARGS: a quotation mark is not closed");
    let settings = settings_from_classic("AGENT_ARG=x\nOTHER=y").unwrap();
    assert_eq!(settings.warnings, ["config:1: AGENT_ARG is only a variable for prompts; did you mean AGENT_ARGS?"]);
}

// spec: C2, A2
#[test]
fn settings_of_a_classic_file_belong_to_the_agent_it_chooses() {
    let mut settings = settings_from_classic("AGENT_TYPE=text\nAGENT_CLI=mine").unwrap();
    with_variables(&mut settings, &[("RALPH_AGENT", "claude")]).unwrap();
    assert_eq!(chosen_agent(&settings).overrides.cli, None);
}
