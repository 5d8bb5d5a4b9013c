//! Puts values into a template.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Parameter, ParameterKind, Template, TemplateError, VARIABLE, Values};
use crate::criterion::{CheckCommand, Criterion, ExternalCheck, Method, PluginCheck, Stage};

impl Template {
    /// Returns the criterion with these values.
    pub fn fill(&self, with: &BTreeMap<String, Values>) -> Result<Criterion, TemplateError> {
        let known = || self.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let is_known = |name: &&String| self.parameters.iter().any(|parameter| parameter.name == **name);
        if let Some(name) = with.keys().find(|name| !is_known(name)) {
            let (template, name) = (self.name.clone(), name.clone());
            return Err(TemplateError::Unknown { template, name, known: known() });
        }
        let mut values = BTreeMap::new();
        for parameter in &self.parameters {
            values.insert(parameter.name.as_str(), Value::of(parameter, with, &self.name)?);
        }
        let name = self.check.name.clone().unwrap_or_else(|| self.name.clone());
        let filled = Filler { values }.criterion(&self.check)?;
        Ok(Criterion { name: Some(name), ..filled })
    }

    /// Looks whether every hole is a parameter's and stands where a value may stand.
    pub fn check(&self) -> Result<(), TemplateError> {
        let parameters = self.parameters.iter();
        let values = parameters.map(|parameter| (parameter.name.as_str(), Value::stand_in(parameter)));
        Filler { values: values.collect() }.criterion(&self.check).map(drop)
    }
}

struct Value {
    is_list: bool,
    values: Values,
}

impl Value {
    fn of(
        parameter: &Parameter,
        with: &BTreeMap<String, Values>,
        template: &str,
    ) -> Result<Self, TemplateError> {
        let given = with.get(&parameter.name).or(parameter.default.as_ref());
        let Some(values) = given else {
            return Err(TemplateError::Missing {
                template: template.to_owned(),
                name: parameter.name.clone(),
                about: parameter.about.clone(),
            });
        };
        let is_list = parameter.kind.is_list();
        if !is_list && values.len() != 1 {
            return Err(TemplateError::List { name: parameter.name.clone() });
        }
        let checked = values.iter().map(|value| checked(parameter, value)).collect::<Result<_, _>>()?;
        Ok(Self { is_list, values: checked })
    }

    fn stand_in(parameter: &Parameter) -> Self {
        Self { is_list: parameter.kind.is_list(), values: [String::new()].into() }
    }
}

/// Holds a value against its kind. A path that looks like an option gets `./` before it.
fn checked(parameter: &Parameter, value: &str) -> Result<String, TemplateError> {
    let refused = |wanted: String| {
        Err(TemplateError::Value { name: parameter.name.clone(), value: value.to_owned(), wanted })
    };
    if value.contains('\0') {
        return refused("text: it holds a NUL character".to_string());
    }
    match parameter.kind {
        ParameterKind::Text | ParameterKind::Words => Ok(value.to_owned()),
        ParameterKind::Path | ParameterKind::Paths if value.is_empty() => refused("a path".to_string()),
        ParameterKind::Path | ParameterKind::Paths if value.starts_with('-') => Ok(format!("./{value}")),
        ParameterKind::Path | ParameterKind::Paths => Ok(value.to_owned()),
        ParameterKind::Whole { least, most } => {
            let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            match value.parse::<u64>().ok().filter(|number| is_plain && (least..=most).contains(number)) {
                Some(number) => Ok(number.to_string()),
                None => refused(format!("a whole number between {least} and {most}")),
            }
        }
        ParameterKind::Url => {
            let is_url = value.starts_with("http://") || value.starts_with("https://");
            let is_plain = !value.contains(|c: char| c.is_whitespace() || c.is_control());
            if is_url && is_plain {
                Ok(value.to_owned())
            } else {
                refused("an http:// or https:// address".to_string())
            }
        }
    }
}

struct Filler<'a> {
    values: BTreeMap<&'a str, Value>,
}

impl Filler<'_> {
    fn criterion(&self, criterion: &Criterion) -> Result<Criterion, TemplateError> {
        Ok(Criterion {
            name: criterion.name.clone(),
            retries: criterion.retries,
            method: self.method(&criterion.method)?,
        })
    }

    fn method(&self, method: &Method) -> Result<Method, TemplateError> {
        Ok(match method {
            Method::StringMatch => Method::StringMatch,
            Method::External(check) => Method::External(self.external(check)?),
            Method::Semantic(check) => {
                let mut check = check.clone();
                check.check_for = self.texts(&check.check_for)?;
                check.negative_patterns = self.texts(&check.negative_patterns)?;
                Method::Semantic(check)
            }
            Method::MultiStage(staged) => {
                let mut staged = staged.clone();
                for Stage { criterion, .. } in &mut staged.stages {
                    *criterion = self.criterion(criterion)?;
                }
                Method::MultiStage(staged)
            }
            // What a plugin is told is JSON: values would have to be quoted there.
            Method::Plugin(check) => Method::Plugin(without_holes(check)?),
        })
    }

    fn external(&self, check: &ExternalCheck) -> Result<ExternalCheck, TemplateError> {
        let mut filled = check.clone();
        filled.command = match &check.command {
            CheckCommand::Shell(text) => match hole(text) {
                Some((_, name, _)) => return Err(TemplateError::Shell { hole: shown(name) }),
                None => check.command.clone(),
            },
            CheckCommand::Argv(words) => CheckCommand::Argv(self.words(words)?),
        };
        let maybe = |text: &Option<String>| text.as_deref().map(|text| self.text(text)).transpose();
        filled.output_contains = maybe(&check.output_contains)?;
        filled.output_not_contains = maybe(&check.output_not_contains)?;
        filled.working_dir = maybe(&check.working_dir)?;
        for value in filled.env.values_mut() {
            *value = self.text(value)?;
        }
        for (name, Value { values, .. }) in &self.values {
            let variable = format!("{VARIABLE}{}", name.to_uppercase().replace('-', "_"));
            filled.env.entry(variable).or_insert_with(|| values.join("\n"));
        }
        Ok(filled)
    }

    /// A word that is nothing but the hole of a list becomes as many words as the list has.
    fn words(&self, words: &[String]) -> Result<Vec<String>, TemplateError> {
        let mut filled = Vec::new();
        for word in words {
            match hole(word) {
                Some(("", name, "")) if self.value(name)?.is_list => {
                    filled.extend(self.value(name)?.values.iter().cloned());
                }
                Some(_) | None => filled.push(self.text(word)?),
            }
        }
        Ok(filled)
    }

    fn texts(&self, texts: &[String]) -> Result<Vec<String>, TemplateError> {
        texts.iter().map(|text| self.text(text)).collect()
    }

    /// Fills the holes of one text, once and literally.
    fn text(&self, text: &str) -> Result<String, TemplateError> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, name, after)) = hole(rest) {
            let value = self.value(name)?;
            let (Some(one), false) = (value.values.first(), value.is_list) else {
                return Err(TemplateError::Inside { hole: shown(name) });
            };
            filled.push_str(before);
            filled.push_str(one);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str) -> Result<&Value, TemplateError> {
        self.values.get(name.trim()).ok_or_else(|| TemplateError::Hole { hole: shown(name) })
    }
}

fn without_holes(check: &PluginCheck) -> Result<PluginCheck, TemplateError> {
    match hole(&check.config) {
        Some((_, name, _)) => Err(TemplateError::Hole { hole: shown(name) }),
        None => Ok(check.clone()),
    }
}

fn shown(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

/// Returns what stands before the first hole, its name, and what follows.
fn hole(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, name, after))
}
