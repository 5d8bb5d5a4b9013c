//! The classic configuration: `KEY=value`. Every key is a variable for prompts; known keys also set settings, unless
//! their value is empty.
use crate::config::checks::templates::TemplateLibrary;
use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::slot::{NumberBounds, SettingSlot, ValueShape};
use crate::config::layers::assignments::{self, ShellAssignment};
use crate::config::layers::document::KeyContext;
use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::{Setting, SettingSource};
use ralph_util::shell_words;
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, NodeContent, ScalarStyle};

/// A known classic key and the setting that it fills.
type ClassicKey = (&'static str, for<'a> fn(&'a mut Settings) -> SettingSlot<'a>);

/// `AGENT_TYPE` comes first, because the others configure the agent that the file chooses.
const CLASSIC_KEYS: &[ClassicKey] = &[
    ("AGENT_TYPE", |s| SettingSlot::Text(&mut s.agent)),
    ("AGENT_CLI", |s| SettingSlot::MaybeText(&mut s.current_agent_mut().cli)),
    ("AGENT_ARGS", |s| SettingSlot::MaybeTexts(&mut s.current_agent_mut().args)),
    ("AGENT_OUTPUT_FORMAT", |s| SettingSlot::MaybeFormat(&mut s.current_agent_mut().output_format)),
    ("AGENT_RESPONSE_FILTER", |s| SettingSlot::MaybeText(&mut s.current_agent_mut().response_filter)),
    ("AGENT_DISPLAY_FILTER", |s| SettingSlot::MaybeText(&mut s.current_agent_mut().display_filter)),
    ("SPECS_DIR", |s| SettingSlot::Text(&mut s.specs_dir)),
    ("CONTRADICTIONS", |s| SettingSlot::Contradictions(&mut s.signals.contradictions)),
    ("MAX_RETRIES", |s| SettingSlot::Count(&mut s.limits.max_retries, NumberBounds::RETRIES)),
];

/// Applies a classic file as one layer.
pub(in crate::config) fn apply_classic_file(
    settings: &mut Settings,
    text: &str,
    source: &SettingSource,
) -> Result<(), ConfigError> {
    let written = assignments::parse_assignments(text).map_err(|bad| {
        ValueError::new(bad.message).with_hint(bad.hint).at_place(source.format_place(bad.line, None))
    })?;
    settings.apply_layer(|settings| {
        for (name, slot) in CLASSIC_KEYS {
            // As in a shell, the last assignment wins.
            let last = written.iter().rfind(|assignment| assignment.key == *name);
            if let Some(assignment) = last.filter(|assignment| !assignment.value.is_empty()) {
                fill_slot(slot(settings), assignment, source)?;
            }
        }
        written.iter().for_each(|assignment| add_prompt_variable(settings, assignment, source));
        Ok(())
    })
}

fn fill_slot(slot: SettingSlot<'_>, assignment: &ShellAssignment, source: &SettingSource) -> Result<(), ConfigError> {
    let node = |content| DocumentNode { line: assignment.line, column: 1, style: ScalarStyle::Plain, content };
    // No classic key refers to a template.
    let no_templates = TemplateLibrary::default();
    let context = KeyContext { source, path: assignment.key.clone(), templates: &no_templates };
    let content = match slot.value_shape() {
        ValueShape::Words => split_words(&assignment.value)
            .map_err(|refusal| context.error_at_node(&node(NodeContent::Null), refusal))?,
        ValueShape::Scalar | ValueShape::List => NodeContent::Text(assignment.value.clone()),
    };
    slot.fill_from(&node(content), &context)
}

fn split_words(line: &str) -> Result<NodeContent, ValueError> {
    let words = shell_words::split_words(line).map_err(|error| ValueError::new(error.to_string()))?;
    let item = |word| DocumentNode { line: 1, column: 1, style: ScalarStyle::Plain, content: NodeContent::Text(word) };
    Ok(NodeContent::List(words.into_iter().map(item).collect()))
}

fn add_prompt_variable(settings: &mut Settings, assignment: &ShellAssignment, source: &SettingSource) {
    let names: Vec<&str> = CLASSIC_KEYS.iter().map(|(name, _)| *name).collect();
    let is_known = names.contains(&assignment.key.as_str());
    if let Some(name) = suggest::nearest_name(&assignment.key, &names).filter(|_| !is_known) {
        settings.warnings.push(format!(
            "{}: {} is only a variable for prompts; did you mean {name}?",
            source.format_place(assignment.line, None),
            assignment.key
        ));
    }
    let origin = source.origin_at(assignment.line);
    settings.vars.insert(assignment.key.clone(), Setting { value: assignment.value.clone(), origin });
}
