//! Variables in prompts: `$NAME` and `${NAME}`. The text is expanded once, from left to right; a value is inserted
//! literally and never expanded again.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A text with its variables expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedPrompt {
    pub text: String,
    /// Variables without a value, in the order of their first use. They expand to nothing.
    pub unknown_variables: Vec<String>,
}

/// Expands the variables. Everything other than `$NAME` and `${NAME}` is unchanged: `$5`, `$$`, `${X:-y}`.
#[must_use]
pub fn expand_variables<'a>(text: &str, value_of: impl Fn(&str) -> Option<&'a str>) -> ExpandedPrompt {
    let mut expanded = ExpandedPrompt { text: String::with_capacity(text.len()), unknown_variables: Vec::new() };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.text.push_str(before);
        rest = match parse_variable(after) {
            None => {
                expanded.text.push('$');
                after
            }
            Some((name, remainder)) => {
                expanded.push_value(name, value_of(name));
                remainder
            }
        };
    }
    expanded.text.push_str(rest);
    expanded
}

impl ExpandedPrompt {
    fn push_value(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text.push_str(value),
            None if self.unknown_variables.iter().any(|unknown| unknown == name) => {}
            None => self.unknown_variables.push(name.to_string()),
        }
    }
}

/// Parses the variable after a `$`. Returns its name and the remaining text.
fn parse_variable(after: &str) -> Option<(&str, &str)> {
    match after.strip_prefix('{') {
        Some(inside) => {
            let (name, remainder) = parse_name(inside)?;
            Some((name, remainder.strip_prefix('}')?))
        }
        None => parse_name(after),
    }
}

/// Parses a name, `[A-Za-z_][A-Za-z0-9_]*`. Returns it and the remaining text.
fn parse_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let (name, remainder) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let first = name.chars().next()?;
    (!first.is_ascii_digit()).then_some((name, remainder))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variable_value(name: &str) -> Option<&'static str> {
        match name {
            "SPECS_DIR" => Some("specs"),
            "_x1" => Some("under"),
            "EMPTY" => Some(""),
            "WILD" => Some("$SPECS_DIR ${SPECS_DIR} {{x}} `id` $(id) \\1 %s"),
            _ => None,
        }
    }

    fn expand_text(template: &str) -> String {
        expand_variables(template, variable_value).text
    }

    // spec: C3
    #[test]
    fn both_forms_of_a_variable_are_expanded() {
        assert_eq!(expand_text("read ${SPECS_DIR}/*.md and $SPECS_DIR."), "read specs/*.md and specs.");
        assert_eq!(expand_text("$_x1-${_x1}$SPECS_DIR$_x1"), "under-underspecsunder");
        assert_eq!(expand_text("[$EMPTY]"), "[]");
    }

    // spec: C3
    #[test]
    fn a_name_is_as_long_as_possible() {
        let expanded = expand_variables("$SPECS_DIRS ${SPECS_DIR}S $SPECS_DIR-x", variable_value);
        assert_eq!(expanded.text, " specsS specs-x");
        assert_eq!(expanded.unknown_variables, ["SPECS_DIRS"]);
    }

    // spec: C3
    #[test]
    fn an_unknown_variable_becomes_empty_and_is_reported_once() {
        let expanded = expand_variables("a$NOPE b${OTHER}c ${NOPE}", variable_value);
        assert_eq!(expanded.text, "a bc ");
        assert_eq!(expanded.unknown_variables, ["NOPE", "OTHER"]);
    }

    // spec: C3
    #[test]
    fn text_that_is_not_a_variable_stays_unchanged() {
        for same in [
            "costs $5",
            "$$",
            "$",
            "a $ b",
            "${X:-y}",
            "${",
            "${}",
            "${1}",
            "${SPECS_DIR",
            "${SPECS-DIR}",
            "$(id)",
            "$é",
            "${SPECS_DIR }",
            "$-",
            "$\n",
        ] {
            assert_eq!(expand_text(same), same);
        }
        assert_eq!(expand_text("$$SPECS_DIR"), "$specs", "the second dollar starts a variable");
    }

    // spec: C3
    // fault: 79, 80
    #[test]
    fn a_value_is_never_expanded_again() {
        assert_eq!(expand_text("<$WILD>"), "<$SPECS_DIR ${SPECS_DIR} {{x}} `id` $(id) \\1 %s>");
    }

    proptest! {
        // spec: C3
        // fault: 79
        #[test]
        fn a_value_is_inserted_byte_for_byte(value in any::<String>(), before in "[^$]*", after in "[^$]*") {
            let template = std::format!("{before}${{VALUE}}{after}");
            let expanded = expand_variables(&template, |name| (name == "VALUE").then_some(value.as_str()));
            prop_assert_eq!(expanded.text, std::format!("{before}{value}{after}"));
            prop_assert!(expanded.unknown_variables.is_empty());
        }

        // spec: C3
        // fault: 79
        #[test]
        fn text_without_a_variable_is_unchanged(text in any::<String>()) {
            let plain: String = text.replace('$', "$5");
            prop_assert_eq!(expand_variables(&plain, variable_value).text, plain);
        }

        // spec: C3
        // fault: 80
        #[test]
        fn each_piece_of_a_template_is_expanded_on_its_own(pieces in prop::collection::vec(any_piece(), 0..20)) {
            let template: String = pieces.iter().map(|(written, _)| written.as_str()).collect();
            let expected: String = pieces.iter().map(|(_, expansion)| expansion.as_str()).collect();
            prop_assert_eq!(expand_variables(&template, variable_value).text, expected);
        }
    }

    /// A piece of a template and its expansion. It never runs into the next piece.
    fn any_piece() -> impl Strategy<Value = (String, String)> {
        let variable = |name: &'static str| {
            let value = variable_value(name).unwrap_or_default();
            let braced = (std::format!("${{{name}}}"), value.to_string());
            let bare = (std::format!("${name} "), std::format!("{value} "));
            prop_oneof![Just(braced), Just(bare)]
        };
        let same = |text: &str| Just((text.to_string(), text.to_string()));
        prop_oneof![
            prop::sample::select(std::vec!["SPECS_DIR", "_x1", "EMPTY", "WILD", "NOPE"]).prop_flat_map(variable),
            "[^$]{0,8}".prop_map(|text| (text.clone(), text)),
            same("$5"),
            same("$$ "),
            same("${X:-y}"),
            same("$("),
            same("${ A}"),
        ]
    }
}
