//! Check templates: built-in ones, and those of the project, one YAML file each. A project template replaces a built-in
//! one of the same name.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::criterion::template::{
    CriterionTemplate, CriterionTemplateError, PARAMETER_VARIABLE_PREFIX, ParameterKind, ParameterValues,
    TemplateParameter, built_in_templates,
};

use crate::config::checks::configured_check::{ConfiguredCheck, read_checks, read_strings};
use crate::config::error::{ConfigError, ValueError};
use crate::config::keys::slot::{read_scalar, read_text};
use crate::config::layers::document::{KeyContext, map_entries, parse_yaml};
use crate::config::layers::files::{self, ConfigFileContents};
use crate::config::settings::origin::{FileLayer, SettingOrigin, SettingSource};
use crate::config::settings::project_commands::{ProjectCommand, template_key};
use ralph_util::suggest;
use ralph_util::yaml::{DocumentNode, MapEntry, NodeContent};

/// The built-in templates and those of a folder. A file is read when its template is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateLibrary {
    /// The folder of the project's templates.
    pub folder: Option<PathBuf>,
}

/// A template, with its file if it is not built in.
#[derive(Debug, Clone)]
pub struct KnownTemplate {
    pub template: CriterionTemplate,
    pub file: Option<PathBuf>,
}

impl TemplateLibrary {
    /// Returns the check that a template produces from these values. The place of an error is the faulty part:
    /// `template` or `with.NAME`.
    pub fn instantiate_check(
        &self,
        name: &str,
        values: &BTreeMap<String, ParameterValues>,
    ) -> Result<ConfiguredCheck, ConfigError> {
        self.try_instantiate_check(name, values).map_err(|refusal| {
            let part = refusal.part.clone();
            refusal.at_place(part)
        })
    }

    pub(in crate::config) fn try_instantiate_check(
        &self,
        name: &str,
        values: &BTreeMap<String, ParameterValues>,
    ) -> Result<ConfiguredCheck, ValueError> {
        let KnownTemplate { template, file } =
            self.find_template(name).map_err(|refusal| refusal.with_part("template"))?;
        let criterion = template
            .fill_parameters(values)
            .map_err(|error| explain_template_error(&error).with_part(error.faulty_part()))?;
        let origin = file.map(|path| SettingOrigin::File { layer: FileLayer::Project, path, line: 1 });
        Ok(ConfiguredCheck { criterion, template: origin })
    }

    /// Returns the template with this name, or an error with a suggestion.
    fn find_template(&self, name: &str) -> Result<KnownTemplate, ValueError> {
        let in_file =
            |error: ConfigError| ValueError { hint: error.hint.clone(), ..ValueError::new(error.to_string()) };
        if let Some(path) = self.template_files().into_iter().find(|path| template_name(path) == Some(name)) {
            let template = load_template(&path).map_err(in_file)?;
            return Ok(KnownTemplate { template, file: Some(path) });
        }
        let all = built_in_templates();
        let found = all.iter().find(|template| template.name == name).cloned();
        let files = self.template_files();
        let names: Vec<&str> = all
            .iter()
            .map(|template| template.name.as_str())
            .chain(files.iter().filter_map(|path| template_name(path)))
            .collect();
        let unknown = || {
            ValueError::new(format!("there is no template named {name:?}"))
                .with_hint(suggest::suggestion_hint(name, &names))
        };
        found.map(|template| KnownTemplate { template, file: None }).ok_or_else(unknown)
    }

    /// Returns all templates, sorted by name. Those of the project replace built-in ones.
    pub fn list_templates(&self) -> Result<Vec<KnownTemplate>, ConfigError> {
        let mut all: BTreeMap<String, KnownTemplate> = built_in_templates()
            .into_iter()
            .map(|template| (template.name.clone(), KnownTemplate { template, file: None }))
            .collect();
        for path in self.template_files() {
            let template = load_template(&path)?;
            all.insert(template.name.clone(), KnownTemplate { template, file: Some(path) });
        }
        Ok(all.into_values().collect())
    }

    /// Returns the project's templates as commands that need approval.
    pub(in crate::config) fn project_commands(&self) -> Vec<ProjectCommand> {
        let command = |path: PathBuf| {
            let text = match files::read_config_file(&path) {
                Ok(ConfigFileContents::Text(text)) => text,
                Ok(ConfigFileContents::Missing | ConfigFileContents::PermissionDenied) | Err(_) => String::new(),
            };
            ProjectCommand {
                key: template_key(template_name(&path).unwrap_or_default()),
                value: text,
                origin: SettingOrigin::File { layer: FileLayer::Project, path, line: 1 },
            }
        };
        self.template_files().into_iter().map(command).collect()
    }

    /// Returns the template files of the folder, sorted by name.
    fn template_files(&self) -> Vec<PathBuf> {
        let entries = self.folder.as_deref().and_then(|folder| std::fs::read_dir(folder).ok());
        let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths.filter(|path| template_name(path).is_some()).collect();
        paths.sort();
        paths
    }
}

/// Returns the name of the template in a file: the file name without `.yaml`.
fn template_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".yaml")?;
    is_template_name(name).then_some(name)
}

fn is_template_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_plain)
}

fn explain_template_error(error: &CriterionTemplateError) -> ValueError {
    let refusal = ValueError::new(error.to_string());
    match error {
        CriterionTemplateError::UnknownParameter { name, known, .. } => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            refusal.with_hint(if known.is_empty() {
                "this template takes no parameters".to_owned()
            } else {
                suggest::suggestion_hint(name, &known)
            })
        }
        CriterionTemplateError::MissingParameter { name, .. } => refusal.with_hint(format!("write `with: {{{name}: ...}}`")),
        CriterionTemplateError::InShellCommand { .. } => refusal.with_hint(format!(
            "write the command as a list, [program, argument, ...], or read the variable {PARAMETER_VARIABLE_PREFIX}NAME in it"
        )),
        CriterionTemplateError::InvalidValue { .. }
        | CriterionTemplateError::UnexpectedList { .. }
        | CriterionTemplateError::UnknownPlaceholder { .. }
        | CriterionTemplateError::ListInsideWord { .. } => refusal,
    }
}

const TEMPLATE_KEYS: &[&str] = &["about", "check", "parameters"];
const PARAMETER_KEYS: &[&str] = &["about", "default", "type"];

fn load_template(path: &Path) -> Result<CriterionTemplate, ConfigError> {
    let source = SettingSource::File { layer: FileLayer::Project, path: path.to_path_buf() };
    let no_templates = TemplateLibrary::default();
    let context = KeyContext { source: &source, path: String::new(), templates: &no_templates };
    let ConfigFileContents::Text(text) = files::read_config_file(path)? else {
        return Err(ValueError::new("cannot read the template").at_place(path.display().to_string()));
    };
    let root = parse_yaml(&text, &source)?;
    let written = known_entries(&root, TEMPLATE_KEYS, &context)?;
    let part = |key: &str| written.iter().find(|entry| entry.key == key);
    let Some(check) = part("check") else {
        return Err(context.error_at_node(&root, ValueError::new("a template needs a `check:`")));
    };
    let template = CriterionTemplate {
        name: template_name(path).unwrap_or_default().to_owned(),
        about: part("about").map_or(Ok(String::new()), |entry| read_entry_text(entry, &context))?,
        parameters: part("parameters").map_or(Ok(Vec::new()), |entry| read_parameters(&entry.node, &context))?,
        criterion: read_single_check(&check.node, &context.child("check"))?,
    };
    template
        .check_placeholders()
        .map_err(|error| context.child("check").error_at_node(&check.node, explain_template_error(&error)))?;
    Ok(template)
}

/// Reads the check of a template, in the syntax of an item of `checks`.
fn read_single_check(
    node: &DocumentNode,
    context: &KeyContext<'_>,
) -> Result<ralph_core::criterion::Criterion, ConfigError> {
    let list = DocumentNode { content: NodeContent::List(vec![node.clone()]), ..*node };
    let found = read_checks(&list, context)?.into_iter().next();
    found.map(|check| check.criterion).ok_or_else(|| context.error_at_node(node, ValueError::new("expected a check")))
}

fn read_parameters(node: &DocumentNode, context: &KeyContext<'_>) -> Result<Vec<TemplateParameter>, ConfigError> {
    let context = context.child("parameters");
    map_entries(node, &context)?.iter().map(|entry| read_parameter(entry, &context.child(&entry.key))).collect()
}

fn read_parameter(entry: &MapEntry, context: &KeyContext<'_>) -> Result<TemplateParameter, ConfigError> {
    if !is_template_name(&entry.key) {
        let refusal = ValueError::new("not a valid parameter name")
            .with_hint("use letters, digits, - and _, and begin with a letter");
        return Err(context.error_at_node(&entry.node, refusal));
    }
    let written = known_entries(&entry.node, PARAMETER_KEYS, context)?;
    let part = |key: &str| written.iter().find(|entry| entry.key == key);
    let kind = part("type").map_or(Ok(ParameterKind::Text), |entry| read_parameter_kind(entry, context))?;
    let default = part("default").map(|entry| {
        read_strings(&entry.node).map_err(|refusal| context.child("default").error_at_node(&entry.node, refusal))
    });
    Ok(TemplateParameter {
        name: entry.key.clone(),
        about: part("about").map_or(Ok(String::new()), |entry| read_entry_text(entry, context))?,
        kind,
        default: default.transpose()?,
    })
}

fn read_parameter_kind(entry: &MapEntry, context: &KeyContext<'_>) -> Result<ParameterKind, ConfigError> {
    let names: Vec<&str> = ParameterKind::KIND_NAMES.iter().map(|(name, _)| *name).collect();
    let refuse = |refusal| context.child("type").error_at_node(&entry.node, refusal);
    let written = read_scalar(&entry.node, &names.join(", ")).map_err(refuse)?;
    let found = ParameterKind::KIND_NAMES.iter().find(|(name, _)| *name == written).map(|(_, kind)| *kind);
    found.ok_or_else(|| {
        refuse(
            ValueError::new(format!("{written:?} is not a valid value"))
                .with_hint(suggest::suggestion_hint(written, &names)),
        )
    })
}

fn read_entry_text(entry: &MapEntry, context: &KeyContext<'_>) -> Result<String, ConfigError> {
    read_text(&entry.node).map_err(|refusal| context.child(&entry.key).error_at_node(&entry.node, refusal))
}

/// Returns the entries of a table; any other key is an error.
fn known_entries<'a>(
    node: &'a DocumentNode,
    keys: &[&str],
    context: &KeyContext<'_>,
) -> Result<&'a [MapEntry], ConfigError> {
    let written = map_entries(node, context)?;
    match written.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
        None => Ok(written),
        Some(entry) => {
            let place = context.source.format_place(entry.line, Some(entry.column));
            let message = format!("there is no key {}", context.child(&entry.key).path);
            Err(ValueError::new(message).with_hint(suggest::suggestion_hint(&entry.key, keys)).at_place(place))
        }
    }
}
