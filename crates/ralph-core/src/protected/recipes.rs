//! Reads the commands that make, just and npm run for a target, as far as needed to find the files that they run. It never
//! expands functions or conditions: what it does not understand is left as it is.
use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value};

/// A file of make or just.
#[derive(Debug, Default)]
pub struct MakeFile {
    /// Variables as assignments of a shell.
    assignments: Vec<String>,
    rules: Vec<RecipeRule>,
}

#[derive(Debug, Default)]
struct RecipeRule {
    names: Vec<String>,
    needs: Vec<String>,
    commands: Vec<String>,
}

impl MakeFile {
    pub fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let joined = text.replace("\\\n", " ");
        for line in joined.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
            if line.starts_with(['\t', ' ']) {
                if let Some(rule) = file.rules.last_mut() {
                    rule.commands.push(as_shell(line.trim().trim_start_matches(['@', '-', '+', ' '])));
                }
            } else if let Some(assignment) = as_assignment(line) {
                file.assignments.push(assignment);
            } else if let Some((names, rest)) = line.split_once(':') {
                let (needs, command) = rest.split_once(';').unwrap_or((rest, ""));
                let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<String>>();
                let commands = if command.is_empty() { Vec::new() } else { [as_shell(command.trim())].into() };
                file.rules.push(RecipeRule {
                    names: words(names),
                    needs: words(needs.trim_start_matches(':')),
                    commands,
                });
            }
        }
        file
    }

    /// Returns the files of `include` lines.
    pub fn included_files(text: &str) -> Vec<String> {
        let included = text
            .lines()
            .filter_map(|line| ["include ", "-include ", "sinclude "].iter().find_map(|word| line.strip_prefix(word)));
        included.flat_map(str::split_whitespace).map(ToOwned::to_owned).collect()
    }

    /// Returns the commands of these targets, or of the first one, and of what they need, as shell text. If a target is
    /// not known, all commands are returned.
    pub fn reachable_commands(&self, words: &[String]) -> String {
        let (mut goals, mut skips_value) = (Vec::new(), false);
        for word in words {
            let is_option = word.starts_with('-');
            if !is_option && !skips_value && !word.contains('=') {
                goals.push(word.as_str());
            }
            skips_value = matches!(word.as_str(), "-C" | "-f" | "-o" | "-W" | "-I" | "--directory" | "--file");
        }
        let is_default = |rule: &&RecipeRule| rule.names.first().is_some_and(|name| !name.starts_with('.'));
        if goals.is_empty() {
            goals.extend(self.rules.iter().find(is_default).and_then(|rule| rule.names.first()).map(String::as_str));
        }
        let is_known = |goal: &&str| self.rules.iter().any(|rule| rule.names.iter().any(|name| name == goal));
        let takes_all = !goals.iter().all(is_known);
        let (mut reached, mut at) = (goals, 0);
        while let Some(goal) = reached.get(at).copied() {
            let needed = self.rules.iter().filter(|rule| rule.names.iter().any(|name| name == goal));
            for need in needed.flat_map(|rule| &rule.needs) {
                if !reached.contains(&need.as_str()) {
                    reached.push(need);
                }
            }
            at += 1;
        }
        let is_reached = |rule: &&RecipeRule| {
            takes_all || rule.names.iter().any(|name| name.contains('%') || reached.contains(&name.as_str()))
        };
        let commands = self.rules.iter().filter(is_reached).flat_map(|rule| &rule.commands);
        self.assignments.iter().chain(commands).flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}

/// Returns `NAME = value` as an assignment of a shell.
fn as_assignment(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!', ' ']).trim_start_matches("export ").trim();
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then(|| [name, "='", &as_shell(value.trim()).replace('\'', ""), "'"].concat())
}

/// Returns a command with the variables of make and just as those of a shell.
fn as_shell(command: &str) -> String {
    let command = command.replace("$(MAKE)", "make").replace("${MAKE}", "make").replace("$$", "$");
    let command = command.replace("{{", "${").replace("}}", "}");
    let (mut shell, mut rest) = (String::new(), command.as_str());
    while let Some((before, after)) = rest.split_once("$(") {
        shell.push_str(before);
        match after.split_once(')') {
            Some((name, behind)) if name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') => {
                shell.extend(["${", name, "}"]);
                rest = behind;
            }
            Some(_) | None => {
                shell.push_str("$(");
                rest = after;
            }
        }
    }
    shell.push_str(rest);
    shell
}

/// Returns the scripts of a `package.json` that a call such as `npm run NAME` reaches.
pub fn select_scripts(scripts: &Map<String, Value>, words: &[String]) -> Vec<String> {
    let mut reached: BTreeSet<&String> = BTreeSet::new();
    let mut open: Vec<String> = words.to_vec();
    if words.iter().any(|word| matches!(word.as_str(), "t" | "tst")) {
        open.push("test".to_owned());
    }
    while let Some(word) = open.pop() {
        let names = [["pre", &word].concat(), word.clone(), ["post", &word].concat()];
        for (name, script) in names.iter().filter_map(|name| scripts.get_key_value(name)) {
            if reached.insert(name) {
                let text = script.as_str().unwrap_or_default();
                open.extend(
                    text.split(|letter: char| letter.is_whitespace() || ";&|\"'".contains(letter))
                        .map(ToString::to_string),
                );
            }
        }
    }
    reached.iter().filter_map(|name| scripts.get(*name)?.as_str()).map(ToOwned::to_owned).collect()
}
