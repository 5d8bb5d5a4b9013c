//! The templates of checks: those that everybody has, and those of the project, one YAML file each. A file of the same
//! name replaces a built-in one.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::criterion::template::{
    Parameter, ParameterKind, Template, TemplateError, VARIABLE, Values, built_in,
};

use super::checks::{Check, checks, strings};
use super::document::{At, entries, read};
use super::error::{ConfigError, Refusal};
use super::files::{self, Found};
use super::origin::{FileLayer, Origin, Source};
use super::project_commands::{ProjectCommand, template_key};
use super::slot::{scalar, text};
use ralph_util::suggest;
use ralph_util::yaml::{Content, Entry, Node};

/// Where templates are looked for. A file is read when its name is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {
    /// The folder of the project's own.
    pub folder: Option<PathBuf>,
}

/// A template, and its file where it has one.
#[derive(Debug, Clone)]
pub struct KnownTemplate {
    pub template: Template,
    pub file: Option<PathBuf>,
}

impl Templates {
    /// Returns the check that a template makes of these values. What is wrong is told with the part that is to blame:
    /// `template`, or `with.NAME`.
    pub fn criterion(&self, name: &str, with: &BTreeMap<String, Values>) -> Result<Check, ConfigError> {
        self.check(name, with).map_err(|refusal| {
            let part = refusal.part.clone();
            refusal.at(part)
        })
    }

    pub(super) fn check(&self, name: &str, with: &BTreeMap<String, Values>) -> Result<Check, Refusal> {
        let KnownTemplate { template, file } = self.find(name).map_err(|refusal| refusal.part("template"))?;
        let criterion = template.fill(with).map_err(|error| explained(&error).part(error.part()))?;
        let origin = file.map(|path| Origin::File { layer: FileLayer::Project, path, line: 1 });
        Ok(Check { criterion, template: origin })
    }

    /// Returns the template of that name.
    fn find(&self, name: &str) -> Result<KnownTemplate, Refusal> {
        let in_file =
            |error: ConfigError| Refusal { hint: error.hint.clone(), ..Refusal::new(error.to_string()) };
        if let Some(path) = self.files().into_iter().find(|path| name_of(path) == Some(name)) {
            let template = load(&path).map_err(in_file)?;
            return Ok(KnownTemplate { template, file: Some(path) });
        }
        let all = built_in();
        let found = all.iter().find(|template| template.name == name).cloned();
        let files = self.files();
        let names: Vec<&str> = all
            .iter()
            .map(|template| template.name.as_str())
            .chain(files.iter().filter_map(|path| name_of(path)))
            .collect();
        let unknown =
            || Refusal::new(format!("there is no template named {name:?}")).hint(suggest::hint(name, &names));
        found.map(|template| KnownTemplate { template, file: None }).ok_or_else(unknown)
    }

    /// Returns all templates by name; those of the project replace built-in ones.
    pub fn all(&self) -> Result<Vec<KnownTemplate>, ConfigError> {
        let mut all: BTreeMap<String, KnownTemplate> = built_in()
            .into_iter()
            .map(|template| (template.name.clone(), KnownTemplate { template, file: None }))
            .collect();
        for path in self.files() {
            let template = load(&path)?;
            all.insert(template.name.clone(), KnownTemplate { template, file: Some(path) });
        }
        Ok(all.into_values().collect())
    }

    /// Returns what the project's own templates would start, for whoever must approve it.
    pub(super) fn project_commands(&self) -> Vec<ProjectCommand> {
        let command = |path: PathBuf| {
            let text = match files::read(&path) {
                Ok(Found::Text(text)) => text,
                Ok(Found::Nothing | Found::Closed) | Err(_) => String::new(),
            };
            ProjectCommand {
                key: template_key(name_of(&path).unwrap_or_default()),
                value: text,
                origin: Origin::File { layer: FileLayer::Project, path, line: 1 },
            }
        };
        self.files().into_iter().map(command).collect()
    }

    /// Returns the files of the folder, by name.
    fn files(&self) -> Vec<PathBuf> {
        let entries = self.folder.as_deref().and_then(|folder| std::fs::read_dir(folder).ok());
        let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths.filter(|path| name_of(path).is_some()).collect();
        paths.sort();
        paths
    }
}

/// The name of a template is the name of its file.
fn name_of(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".yaml")?;
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_plain)
}

fn explained(error: &TemplateError) -> Refusal {
    let refusal = Refusal::new(error.to_string());
    match error {
        TemplateError::Unknown { name, known, .. } => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            refusal.hint(if known.is_empty() {
                "it takes none".to_owned()
            } else {
                suggest::hint(name, &known)
            })
        }
        TemplateError::Missing { name, .. } => refusal.hint(format!("write `with: {{{name}: ...}}`")),
        TemplateError::Shell { .. } => refusal.hint(format!(
            "write the command as a list, [program, argument, ...], or read the variable {VARIABLE}NAME in it"
        )),
        TemplateError::Value { .. }
        | TemplateError::List { .. }
        | TemplateError::Hole { .. }
        | TemplateError::Inside { .. } => refusal,
    }
}

const KEYS: &[&str] = &["about", "check", "parameters"];
const PARAMETER_KEYS: &[&str] = &["about", "default", "type"];

fn load(path: &Path) -> Result<Template, ConfigError> {
    let source = Source::File { layer: FileLayer::Project, path: path.to_path_buf() };
    let none = Templates::default();
    let at = At { source: &source, path: String::new(), templates: &none };
    let Found::Text(words) = files::read(path)? else {
        return Err(Refusal::new("it cannot be read").at(path.display().to_string()));
    };
    let root = read(&words, &source)?;
    let written = known(&root, KEYS, &at)?;
    let part = |key: &str| written.iter().find(|entry| entry.key == key);
    let Some(check) = part("check") else {
        return Err(at.refuse(&root, Refusal::new("a template needs a `check:`")));
    };
    let template = Template {
        name: name_of(path).unwrap_or_default().to_owned(),
        about: part("about").map_or(Ok(String::new()), |entry| words_of(entry, &at))?,
        parameters: part("parameters").map_or(Ok(Vec::new()), |entry| parameters(&entry.node, &at))?,
        check: one_check(&check.node, &at.below("check"))?,
    };
    template.check().map_err(|error| at.below("check").refuse(&check.node, explained(&error)))?;
    Ok(template)
}

/// The check of a template is written as one of a list.
fn one_check(node: &Node, at: &At<'_>) -> Result<ralph_core::criterion::Criterion, ConfigError> {
    let list = Node { content: Content::List(vec![node.clone()]), ..*node };
    let found = checks(&list, at)?.into_iter().next();
    found.map(|check| check.criterion).ok_or_else(|| at.refuse(node, Refusal::new("a check is expected")))
}

fn parameters(node: &Node, at: &At<'_>) -> Result<Vec<Parameter>, ConfigError> {
    let at = at.below("parameters");
    entries(node, &at)?.iter().map(|entry| parameter(entry, &at.below(&entry.key))).collect()
}

fn parameter(entry: &Entry, at: &At<'_>) -> Result<Parameter, ConfigError> {
    if !is_name(&entry.key) {
        let what = Refusal::new("the name of a parameter has letters, digits, - and _, a letter first");
        return Err(at.refuse(&entry.node, what));
    }
    let written = known(&entry.node, PARAMETER_KEYS, at)?;
    let part = |key: &str| written.iter().find(|entry| entry.key == key);
    let kind = part("type").map_or(Ok(ParameterKind::Text), |entry| kind(entry, at))?;
    let default = part("default").map(|entry| {
        strings(&entry.node).map_err(|refusal| at.below("default").refuse(&entry.node, refusal))
    });
    Ok(Parameter {
        name: entry.key.clone(),
        about: part("about").map_or(Ok(String::new()), |entry| words_of(entry, at))?,
        kind,
        default: default.transpose()?,
    })
}

fn kind(entry: &Entry, at: &At<'_>) -> Result<ParameterKind, ConfigError> {
    let names: Vec<&str> = ParameterKind::NAMES.iter().map(|(name, _)| *name).collect();
    let refuse = |refusal| at.below("type").refuse(&entry.node, refusal);
    let written = scalar(&entry.node, &names.join(", ")).map_err(refuse)?;
    let found = ParameterKind::NAMES.iter().find(|(name, _)| *name == written).map(|(_, kind)| *kind);
    found.ok_or_else(|| {
        refuse(Refusal::new(format!("{written:?} means nothing here")).hint(suggest::hint(written, &names)))
    })
}

fn words_of(entry: &Entry, at: &At<'_>) -> Result<String, ConfigError> {
    text(&entry.node).map_err(|refusal| at.below(&entry.key).refuse(&entry.node, refusal))
}

/// Returns the entries of a table that has these keys and no others.
fn known<'a>(node: &'a Node, keys: &[&str], at: &At<'_>) -> Result<&'a [Entry], ConfigError> {
    let written = entries(node, at)?;
    match written.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
        None => Ok(written),
        Some(entry) => {
            let place = at.source.place(entry.line, Some(entry.column));
            let what = format!("there is no key {}", at.below(&entry.key).path);
            Err(Refusal::new(what).hint(suggest::hint(&entry.key, keys)).at(place))
        }
    }
}
