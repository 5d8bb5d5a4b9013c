//! Replaces the placeholders of a template with values.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{
    CriterionTemplate, CriterionTemplateError, PARAMETER_VARIABLE_PREFIX, ParameterKind, ParameterValues,
    TemplateParameter,
};
use crate::criterion::{CheckCommand, CheckStage, Criterion, ExternalCheck, PluginCheck, VerificationMethod};

impl CriterionTemplate {
    /// Returns the criterion with these values. Fails if a value is unknown, missing or invalid.
    pub fn fill_parameters(
        &self,
        arguments: &BTreeMap<String, ParameterValues>,
    ) -> Result<Criterion, CriterionTemplateError> {
        let known = || self.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let is_known = |name: &&String| self.parameters.iter().any(|parameter| parameter.name == **name);
        if let Some(name) = arguments.keys().find(|name| !is_known(name)) {
            let (template, name) = (self.name.clone(), name.clone());
            return Err(CriterionTemplateError::UnknownParameter { template, name, known: known() });
        }
        let mut values = BTreeMap::new();
        for parameter in &self.parameters {
            values.insert(parameter.name.as_str(), ParameterValue::from_arguments(parameter, arguments, &self.name)?);
        }
        let name = self.criterion.name.clone().unwrap_or_else(|| self.name.clone());
        let filled = TemplateFiller { values }.fill_criterion(&self.criterion)?;
        Ok(Criterion { name: Some(name), ..filled })
    }

    /// Checks that every placeholder names a parameter and is in a position where a value is allowed.
    pub fn check_placeholders(&self) -> Result<(), CriterionTemplateError> {
        let parameters = self.parameters.iter();
        let values = parameters.map(|parameter| (parameter.name.as_str(), ParameterValue::placeholder_for(parameter)));
        TemplateFiller { values: values.collect() }.fill_criterion(&self.criterion).map(drop)
    }
}

struct ParameterValue {
    is_list: bool,
    values: ParameterValues,
}

impl ParameterValue {
    fn from_arguments(
        parameter: &TemplateParameter,
        arguments: &BTreeMap<String, ParameterValues>,
        template: &str,
    ) -> Result<Self, CriterionTemplateError> {
        let Some(values) = arguments.get(&parameter.name).or(parameter.default.as_ref()) else {
            return Err(CriterionTemplateError::MissingParameter {
                template: template.to_owned(),
                name: parameter.name.clone(),
                about: parameter.about.clone(),
            });
        };
        let is_list = parameter.kind.is_list();
        if !is_list && values.len() != 1 {
            return Err(CriterionTemplateError::UnexpectedList { name: parameter.name.clone() });
        }
        let checked = values.iter().map(|value| validate_value(parameter, value)).collect::<Result<_, _>>()?;
        Ok(Self { is_list, values: checked })
    }

    fn placeholder_for(parameter: &TemplateParameter) -> Self {
        Self { is_list: parameter.kind.is_list(), values: [String::new()].into() }
    }
}

/// Checks a value against the kind of its parameter. Adds `./` to a path that looks like an option.
fn validate_value(parameter: &TemplateParameter, value: &str) -> Result<String, CriterionTemplateError> {
    let refused = |wanted: String| {
        Err(CriterionTemplateError::InvalidValue { name: parameter.name.clone(), value: value.to_owned(), wanted })
    };
    if value.contains('\0') {
        return refused("text: it contains a NUL character".to_string());
    }
    match parameter.kind {
        ParameterKind::Text | ParameterKind::Words => Ok(value.to_owned()),
        ParameterKind::Path | ParameterKind::Paths if value.is_empty() => refused("a path".to_string()),
        ParameterKind::Path | ParameterKind::Paths if value.starts_with('-') => Ok(format!("./{value}")),
        ParameterKind::Path | ParameterKind::Paths => Ok(value.to_owned()),
        ParameterKind::WholeNumber { min, max } => {
            let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            match value.parse::<u64>().ok().filter(|number| is_plain && (min..=max).contains(number)) {
                Some(number) => Ok(number.to_string()),
                None => refused(format!("a whole number between {min} and {max}")),
            }
        }
        ParameterKind::Url => {
            let is_url = value.starts_with("http://") || value.starts_with("https://");
            let is_plain = !value.contains(|c: char| c.is_whitespace() || c.is_control());
            if is_url && is_plain { Ok(value.to_owned()) } else { refused("an http:// or https:// URL".to_string()) }
        }
    }
}

struct TemplateFiller<'a> {
    values: BTreeMap<&'a str, ParameterValue>,
}

impl TemplateFiller<'_> {
    fn fill_criterion(&self, criterion: &Criterion) -> Result<Criterion, CriterionTemplateError> {
        Ok(Criterion {
            name: criterion.name.clone(),
            retries: criterion.retries,
            method: self.fill_method(&criterion.method)?,
        })
    }

    fn fill_method(&self, method: &VerificationMethod) -> Result<VerificationMethod, CriterionTemplateError> {
        Ok(match method {
            VerificationMethod::StringMatch => VerificationMethod::StringMatch,
            VerificationMethod::External(check) => VerificationMethod::External(self.fill_external_check(check)?),
            VerificationMethod::Semantic(check) => {
                let mut check = check.clone();
                check.check_for = self.fill_texts(&check.check_for)?;
                check.negative_patterns = self.fill_texts(&check.negative_patterns)?;
                VerificationMethod::Semantic(check)
            }
            VerificationMethod::MultiStage(staged) => {
                let mut staged = staged.clone();
                for CheckStage { criterion, .. } in &mut staged.stages {
                    *criterion = self.fill_criterion(criterion)?;
                }
                VerificationMethod::MultiStage(staged)
            }
            // The configuration of a plugin is JSON, where values would need escaping.
            VerificationMethod::Plugin(check) => VerificationMethod::Plugin(ensure_no_placeholders(check)?),
        })
    }

    fn fill_external_check(&self, check: &ExternalCheck) -> Result<ExternalCheck, CriterionTemplateError> {
        let mut filled = check.clone();
        filled.command = match &check.command {
            CheckCommand::Shell(text) => match split_placeholder(text) {
                Some((_, name, _)) => {
                    return Err(CriterionTemplateError::InShellCommand { placeholder: format_placeholder(name) });
                }
                None => check.command.clone(),
            },
            CheckCommand::Argv(words) => CheckCommand::Argv(self.fill_words(words)?),
        };
        let fill_optional = |text: &Option<String>| text.as_deref().map(|text| self.fill_text(text)).transpose();
        filled.output_contains = fill_optional(&check.output_contains)?;
        filled.output_not_contains = fill_optional(&check.output_not_contains)?;
        filled.working_dir = fill_optional(&check.working_dir)?;
        for value in filled.env.values_mut() {
            *value = self.fill_text(value)?;
        }
        for (name, ParameterValue { values, .. }) in &self.values {
            let variable = format!("{PARAMETER_VARIABLE_PREFIX}{}", name.to_uppercase().replace('-', "_"));
            filled.env.entry(variable).or_insert_with(|| values.join("\n"));
        }
        Ok(filled)
    }

    /// Fills the words of a command. A word that consists of the placeholder of a list is replaced by one word for each
    /// value.
    fn fill_words(&self, words: &[String]) -> Result<Vec<String>, CriterionTemplateError> {
        let mut filled = Vec::new();
        for word in words {
            match split_placeholder(word) {
                Some(("", name, "")) if self.value_of(name)?.is_list => {
                    filled.extend(self.value_of(name)?.values.iter().cloned());
                }
                Some(_) | None => filled.push(self.fill_text(word)?),
            }
        }
        Ok(filled)
    }

    fn fill_texts(&self, texts: &[String]) -> Result<Vec<String>, CriterionTemplateError> {
        texts.iter().map(|text| self.fill_text(text)).collect()
    }

    /// Fills the placeholders of one text. The inserted values are not expanded again.
    fn fill_text(&self, text: &str) -> Result<String, CriterionTemplateError> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, name, after)) = split_placeholder(rest) {
            let value = self.value_of(name)?;
            let (Some(one), false) = (value.values.first(), value.is_list) else {
                return Err(CriterionTemplateError::ListInsideWord { placeholder: format_placeholder(name) });
            };
            filled.push_str(before);
            filled.push_str(one);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value_of(&self, name: &str) -> Result<&ParameterValue, CriterionTemplateError> {
        self.values
            .get(name.trim())
            .ok_or_else(|| CriterionTemplateError::UnknownPlaceholder { placeholder: format_placeholder(name) })
    }
}

fn ensure_no_placeholders(check: &PluginCheck) -> Result<PluginCheck, CriterionTemplateError> {
    match split_placeholder(&check.config) {
        Some((_, name, _)) => Err(CriterionTemplateError::UnknownPlaceholder { placeholder: format_placeholder(name) }),
        None => Ok(check.clone()),
    }
}

fn format_placeholder(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

/// Splits a text at its first placeholder: the text before it, its name, and the text after it.
fn split_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, name, after))
}
