//! Reads TOML and INI files as sections of keyed lines. It never interprets values: two files have the same deciding
//! parts if these are written in the same way.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The deciding keys of a section.
#[derive(Debug, Clone, Copy)]
pub struct DecidingKeys {
    section: &'static str,
    /// Empty: every key, also those of subsections.
    keys: &'static [&'static str],
}

impl DecidingKeys {
    pub const fn all(section: &'static str) -> Self {
        Self { section, keys: &[] }
    }

    pub const fn some(section: &'static str, keys: &'static [&'static str]) -> Self {
        Self { section, keys }
    }

    /// Returns whether a full key, such as `lib.test`, decides. The table of deciding keys written inline decides too.
    fn covers(&self, full_key: &str) -> bool {
        if full_key == self.section {
            return true;
        }
        let Some(key) = full_key.strip_prefix(self.section).and_then(|rest| rest.strip_prefix('.')) else {
            return false;
        };
        self.keys.is_empty() || self.keys.contains(&key)
    }
}

/// A file as sections.
#[derive(Debug, Clone)]
pub struct SectionedText {
    sections: Vec<Section>,
    /// The whole text, if a value is still open at its end or a key has an escape: then nothing can be separated.
    unreadable: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionSyntax {
    Toml,
    /// Values have no quotes or brackets.
    Ini,
}

#[derive(Debug, Clone)]
struct Section {
    /// The header line; empty before the first header.
    header: String,
    /// The name without quotes and spaces.
    name: String,
    items: Vec<Item>,
}

/// The lines of one key. Comments and empty lines have an empty key.
#[derive(Debug, Clone)]
struct Item {
    key: String,
    text: String,
}

impl SectionedText {
    pub fn parse(text: &str, syntax: SectionSyntax) -> Self {
        let mut sections = alloc::vec![Section { header: String::new(), name: String::new(), items: Vec::new() }];
        let mut open = OpenValue::default();
        for line in text.lines() {
            let trimmed = line.trim();
            let Some(section) = sections.last_mut() else { continue };
            if open.is_open()
                || line.starts_with([' ', '\t']) && key_of(trimmed).is_none() && header_name(trimmed).is_none()
            {
                match section.items.last_mut() {
                    Some(item) => item.text.extend([line, "\n"]),
                    None => section.items.push(Item { key: String::new(), text: [line, "\n"].concat() }),
                }
                open.read_line(trimmed, syntax);
            } else if let Some(name) = header_name(trimmed) {
                sections.push(Section { header: [line, "\n"].concat(), name, items: Vec::new() });
            } else {
                let key = key_of(trimmed).unwrap_or_default();
                section.items.push(Item { key, text: [line, "\n"].concat() });
                open.read_line(trimmed, syntax);
            }
        }
        let has_escaped_name = syntax == SectionSyntax::Toml && sections.iter().any(Section::has_escaped_name);
        Self { sections, unreadable: (open.is_open() || has_escaped_name).then(|| text.to_string()) }
    }

    /// Returns whether the parts can be separated.
    pub fn is_readable(&self) -> bool {
        self.unreadable.is_none()
    }

    /// Returns the deciding items, each with its section.
    pub fn deciding_items(&self, keys: &[DecidingKeys]) -> Vec<String> {
        let mut found: Vec<String> = self.unreadable.iter().cloned().collect();
        for section in &self.sections {
            if section.is_deciding(keys) {
                found.push(section.header.trim().to_string());
            }
            let deciding = section.items.iter().filter(|item| item.is_deciding(&section.name, keys));
            found.extend(deciding.map(|item| [section.name.as_str(), ": ", item.text.trim()].concat()));
        }
        found.sort();
        found
    }

    /// Returns the text with its deciding items replaced by those of another file.
    pub fn with_deciding_items_of(&self, base: &Self, keys: &[DecidingKeys]) -> String {
        let (mut text, mut placed) = (String::new(), Vec::new());
        for section in self.sections.iter().filter(|section| !section.is_deciding(keys)) {
            text.push_str(&section.header);
            let is_first = !placed.contains(&section.name);
            if is_first {
                let same = base.sections.iter().filter(|other| other.name == section.name);
                let items = same.flat_map(|other| other.deciding_texts(keys));
                items.for_each(|item| text.push_str(item));
                placed.push(section.name.clone());
            }
            let kept = section.items.iter().filter(|item| !item.is_deciding(&section.name, keys));
            kept.for_each(|item| text.push_str(&item.text));
        }
        for section in &base.sections {
            let is_missing = !placed.contains(&section.name) && section.deciding_texts(keys).next().is_some();
            if section.is_deciding(keys) || is_missing {
                text.push_str(&section.header);
                section.deciding_texts(keys).for_each(|item| text.push_str(item));
            }
        }
        text
    }
}

impl Section {
    /// Returns whether the header or a key is written with an escape, so that its name is unknown.
    fn has_escaped_name(&self) -> bool {
        let is_escaped = |item: &Item| {
            let name = item.text.split_once('=').map_or("", |(name, _)| name).trim();
            !name.starts_with('#') && name.contains('"') && name.contains('\\')
        };
        self.name.contains('\\') || self.items.iter().any(is_escaped)
    }

    /// Returns whether the whole section decides.
    fn is_deciding(&self, keys: &[DecidingKeys]) -> bool {
        keys.iter().any(|deciding| deciding.keys.is_empty() && deciding.covers(&self.name))
    }

    fn deciding_texts<'a>(&'a self, keys: &'a [DecidingKeys]) -> impl Iterator<Item = &'a str> {
        self.items.iter().filter(|item| item.is_deciding(&self.name, keys)).map(|item| item.text.as_str())
    }
}

impl Item {
    fn is_deciding(&self, section: &str, keys: &[DecidingKeys]) -> bool {
        if self.key.is_empty() {
            return false;
        }
        let full_key = if section.is_empty() { self.key.clone() } else { [section, ".", &self.key].concat() };
        keys.iter().any(|deciding| deciding.covers(&full_key))
    }
}

/// Returns the name of a section, if the line is a header: `[name]` or `[[name]]`.
fn header_name(line: &str) -> Option<String> {
    let line = line.split(['#', ';']).next().unwrap_or_default().trim();
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let inside = inside.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')).unwrap_or(inside);
    let name = plain_key(inside);
    (!name.is_empty() && !name.contains([',', '=', '['])).then_some(name)
}

/// Returns the key of a line such as `key = value`.
fn key_of(line: &str) -> Option<String> {
    if line.starts_with(['#', ';', '[']) {
        return None;
    }
    let (key, _) = line.split_once('=')?;
    let key = plain_key(key);
    let is_key = !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || "._-:@/".contains(letter));
    is_key.then_some(key)
}

/// Removes the quotes and the spaces around dots.
fn plain_key(written: &str) -> String {
    written.chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, '"' | '\'')).collect()
}

/// Returns the text behind the end of a string with escapes.
fn skip_basic_string(text: &str) -> &str {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if letter == '"' && !is_escaped {
            return text.get(at + 1..).unwrap_or_default();
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    ""
}

/// Whether a value continues on the next line.
#[derive(Default)]
struct OpenValue {
    depth: usize,
    quote: Option<&'static str>,
}

impl OpenValue {
    fn is_open(&self) -> bool {
        self.depth > 0 || self.quote.is_some()
    }

    /// Reads brackets and long strings of a line. Strings on one line are skipped.
    fn read_line(&mut self, line: &str, syntax: SectionSyntax) {
        let mut rest = match syntax {
            SectionSyntax::Toml => line,
            SectionSyntax::Ini => return,
        };
        while let Some(letter) = rest.chars().next() {
            if let Some(quote) = self.quote {
                let Some((_, after)) = rest.split_once(quote) else { return };
                self.quote = None;
                rest = after;
                continue;
            }
            let long = ["\"\"\"", "'''"].into_iter().find(|quote| rest.starts_with(quote));
            if let Some(quote) = long {
                self.quote = Some(quote);
                rest = rest.get(3..).unwrap_or_default();
                continue;
            }
            let after = rest.get(letter.len_utf8()..).unwrap_or_default();
            rest = match letter {
                '#' => return,
                '\'' => after.split_once(letter).map_or("", |(_, after)| after),
                '"' => skip_basic_string(after),
                '[' | '{' => {
                    self.depth += 1;
                    after
                }
                ']' | '}' => {
                    self.depth = self.depth.saturating_sub(1);
                    after
                }
                _ => after,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[DecidingKeys] = &[DecidingKeys::all("tool.pytest")];

    fn toml_items(text: &str, keys: &[DecidingKeys]) -> Vec<String> {
        SectionedText::parse(text, SectionSyntax::Toml).deciding_items(keys)
    }

    // spec: V15
    #[test]
    fn a_section_cannot_be_hidden_behind_a_value() {
        let values = [
            r#"a = "\" [""#,
            r#"a = [""]"#,
            r#"a = ["x"]"#,
            r#"a = ["xy\\"]"#,
            r#"a = ["x\""]"#,
            "a = '['",
            "a = [\n'x',\n]",
            "a = { b = [1] }",
            "a = '''\n[x\n'''",
            "a = 1 # [",
        ];
        for value in values {
            let text = [value, "\n[tool.pytest]\nb = 1\n"].concat();
            assert_eq!(toml_items(&text, KEYS), ["[tool.pytest]", "tool.pytest: b = 1"], "{value}");
        }
        for open_value in ["a = [", "a = '''", "a = \"\"\""] {
            let text = [open_value, "\n[tool.pytest]\nb = 1\n"].concat();
            assert_eq!(toml_items(&text, KEYS), [text.as_str()], "{open_value}: everything decides");
        }
        let ini = SectionedText::parse("a = [\n[tool.pytest]\nb = 1\n", SectionSyntax::Ini);
        assert_eq!(ini.deciding_items(KEYS), ["[tool.pytest]", "tool.pytest: b = 1"]);
    }

    // spec: V15
    #[test]
    fn a_value_that_looks_like_a_section_is_not_one() {
        let values =
            ["a = [\n[\"tool.pytest\"]\n]", "a = '''\n[tool.pytest]\nb = 1\n'''", "a = \"\"\"\n[tool.pytest]\n\"\"\""];
        for value in values {
            assert_eq!(toml_items(&[value, "\nc = 1\n"].concat(), KEYS), [""; 0], "{value}");
        }
    }

    // spec: V15
    #[test]
    fn names_are_compared_without_quotes_spaces_and_comments() {
        let quoted = "[ tool . \"pytest\" ] # note\n'b' = 1\n";
        assert_eq!(toml_items(quoted, KEYS), ["[ tool . \"pytest\" ] # note", "tool.pytest: 'b' = 1"]);
        assert_eq!(toml_items("[[tool.pytest]]\nb = 1\n", KEYS), ["[[tool.pytest]]", "tool.pytest: b = 1"]);
        assert_eq!(toml_items("[tool.pytest.ini]\nb = 1\n", KEYS), ["[tool.pytest.ini]", "tool.pytest.ini: b = 1"]);
        assert_eq!(toml_items("[tool]\npytest = { b = 1 }\n", KEYS), ["tool: pytest = { b = 1 }"]);
        assert_eq!(toml_items("tool.pytest.b = 1\n", KEYS), [": tool.pytest.b = 1"]);
        let others =
            ["[tool.pytester]\nb = 1\n", "[tool]\nb = 1\n", "[tool.pytest, x]\nb = 1\n", "# tool.pytest = 1\n"];
        for other in others {
            assert_eq!(toml_items(other, KEYS), [""; 0], "{other}");
        }
    }

    // spec: V15
    #[test]
    fn an_indented_line_continues_the_value_of_a_deciding_key() {
        let keys = [DecidingKeys::some("tool:pytest", &["addopts"])];
        let text = "[tool:pytest]\naddopts =\n    -x\n    -p plugin(a=1)\nname = 1\n    more\n  addopts = 2\n";
        let parsed = SectionedText::parse(text, SectionSyntax::Ini);
        let expected = ["tool:pytest: addopts =\n    -x\n    -p plugin(a=1)", "tool:pytest: addopts = 2"];
        assert_eq!(parsed.deciding_items(&keys), expected);
    }

    // spec: V15
    #[test]
    fn the_deciding_items_of_another_file_replace_those_of_the_text() {
        let keys = [
            DecidingKeys::all("tool.pytest"),
            DecidingKeys::some("lib", &["test"]),
            DecidingKeys::some("bench", &["test"]),
            DecidingKeys::some("bin", &["test"]),
        ];
        let parse = |text: &str| SectionedText::parse(text, SectionSyntax::Toml);
        let work = parse(
            "x = 1\n[package]\nname = 'a'\n[lib]\ntest = false\npath = 'p'\n[tool.pytest]\nb = 2\n\
             [[bin]]\nname = 'b'\n[[bin]]\nname = 'c'\n",
        );
        let base = parse(
            "[package]\nname = 'old'\n[lib]\ntest = true\npath = 'old'\n[bench]\ntest = true\nname = 'q'\n\
             [unrelated]\nd = 1\n[[bin]]\ntest = false\n[tool.pytest]\nb = 1\n",
        );
        let expected = "x = 1\n[package]\nname = 'a'\n[lib]\ntest = true\npath = 'p'\n[[bin]]\ntest = false\nname = 'b'\n\
                        [[bin]]\nname = 'c'\n[bench]\ntest = true\n[tool.pytest]\nb = 1\n";
        assert_eq!(work.with_deciding_items_of(&base, &keys), expected);
    }
}
