//! The classic configuration: `KEY=value`. Every key is a variable for prompts, and the names of old keep their meaning
//! as well; an empty value of these is the same as none.
use super::assignments::{self, Assignment};
use super::document::At;
use super::error::{ConfigError, Refusal};
use super::origin::{Setting, Source};
use super::settings::Settings;
use super::slot::{Bounds, Shape, Slot};
use super::templates::Templates;
use ralph_util::shell_words;
use ralph_util::suggest;
use ralph_util::yaml::{Content, Node, Written};

/// A name of old and the place that it fills.
type Known = (&'static str, for<'a> fn(&'a mut Settings) -> Slot<'a>);

/// The agent comes first: the others change the agent that the file chooses.
const KNOWN: &[Known] = &[
    ("AGENT_TYPE", |s| Slot::Text(&mut s.agent)),
    ("AGENT_CLI", |s| Slot::MaybeText(&mut s.agent_now().cli)),
    ("AGENT_ARGS", |s| Slot::MaybeTexts(&mut s.agent_now().args)),
    ("AGENT_OUTPUT_FORMAT", |s| Slot::MaybeFormat(&mut s.agent_now().output_format)),
    ("AGENT_RESPONSE_FILTER", |s| Slot::MaybeText(&mut s.agent_now().response_filter)),
    ("AGENT_DISPLAY_FILTER", |s| Slot::MaybeText(&mut s.agent_now().display_filter)),
    ("SPECS_DIR", |s| Slot::Text(&mut s.specs_dir)),
    ("MAX_RETRIES", |s| Slot::Count(&mut s.limits.max_retries, Bounds::RETRIES)),
];

/// Applies a whole file.
pub(super) fn apply(settings: &mut Settings, text: &str, source: &Source) -> Result<(), ConfigError> {
    let written = assignments::parse(text)
        .map_err(|bad| Refusal::new(bad.what).hint(bad.hint).at(source.place(bad.line, None)))?;
    settings.layer(|settings| {
        for (name, slot) in KNOWN {
            // As in a shell, the last one holds.
            let last = written.iter().rfind(|assignment| assignment.key == *name);
            if let Some(assignment) = last.filter(|assignment| !assignment.value.is_empty()) {
                fill(slot(settings), assignment, source)?;
            }
        }
        written.iter().for_each(|assignment| variable(settings, assignment, source));
        Ok(())
    })
}

fn fill(slot: Slot<'_>, assignment: &Assignment, source: &Source) -> Result<(), ConfigError> {
    let node = |content| Node { line: assignment.line, column: 1, written: Written::Plain, content };
    // A classic file has no key that could name one.
    let none = Templates::default();
    let at = At { source, path: assignment.key.clone(), templates: &none };
    let content = match slot.shape() {
        Shape::Words => {
            words(&assignment.value).map_err(|refusal| at.refuse(&node(Content::Nothing), refusal))?
        }
        Shape::One | Shape::List => Content::Text(assignment.value.clone()),
    };
    slot.fill(&node(content), &at)
}

fn words(line: &str) -> Result<Content, Refusal> {
    let words = shell_words::split(line).map_err(|error| Refusal::new(error.to_string()))?;
    let item = |word| Node { line: 1, column: 1, written: Written::Plain, content: Content::Text(word) };
    Ok(Content::List(words.into_iter().map(item).collect()))
}

fn variable(settings: &mut Settings, assignment: &Assignment, source: &Source) {
    let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
    let is_known = names.contains(&assignment.key.as_str());
    if let Some(name) = suggest::near(&assignment.key, &names).filter(|_| !is_known) {
        settings.warnings.push(format!(
            "{}: {} is only a variable for prompts; did you mean {name}?",
            source.place(assignment.line, None),
            assignment.key
        ));
    }
    let origin = source.origin(assignment.line);
    settings.vars.insert(assignment.key.clone(), Setting { value: assignment.value.clone(), origin });
}
