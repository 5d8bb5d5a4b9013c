//! Which files a command runs: the programs and scripts that it names. Files that it merely reads are the work, and the
//! agent may change them.
use alloc::string::String;
use alloc::vec::Vec;

use super::CheckCommand;

/// Programs whose first argument is a script.
const INTERPRETERS: &[&str] = &[
    ".", "ash", "bash", "bun", "dash", "deno", "ksh", "lua", "node", "perl", "php", "python", "python3",
    "Rscript", "ruby", "sh", "source", "ts-node", "tsx", "zsh",
];

/// Programs and words of the shell that stand before the program that is meant.
const BEFORE: &[&str] = &[
    "!", "command", "do", "elif", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then", "time",
    "timeout", "until", "while", "xargs", "{",
];

/// How deep a shell in a shell is looked into.
const DEEPEST: u32 = 3;

impl CheckCommand {
    /// Returns the programs and scripts that the command names by a path, as they are written.
    #[must_use]
    pub fn scripts(&self) -> Vec<String> {
        let mut found = Vec::new();
        match self {
            Self::Shell(text) => in_text(text, DEEPEST, &mut found),
            Self::Argv(words) => in_words(words, DEEPEST, &mut found),
        }
        found
    }
}

fn in_text(text: &str, depth: u32, found: &mut Vec<String>) {
    if depth == 0 {
        return;
    }
    for words in simple_commands(text) {
        in_words(&words, depth, found);
    }
}

fn in_words(words: &[String], depth: u32, found: &mut Vec<String>) {
    let mut rest = words.iter().skip_while(|word| stands_before(word));
    let Some(program) = rest.next() else { return };
    let name = program.rsplit('/').next().unwrap_or(program);
    if program.contains('/') {
        found.push(program.clone());
    }
    let rest: Vec<&String> = rest.collect();
    if name == "make" {
        found.extend(after(&rest, "-f"));
    } else if INTERPRETERS.contains(&name) {
        match after(&rest, "-c") {
            Some(text) if name.ends_with("sh") => in_text(&text, depth - 1, found),
            Some(_) => {}
            None => found.extend(script_of(name, &rest)),
        }
    }
}

/// Returns what an interpreter is given to run: its first argument that is no option.
fn script_of(name: &str, rest: &[&String]) -> Option<String> {
    let mut rest = rest.iter().copied();
    loop {
        let word = rest.next()?;
        match word.as_str() {
            "-m" => return None,
            // Code, and no file. To a shell they are other options.
            "-e" | "-p" if !name.ends_with("sh") => return None,
            // `deno run x.ts`, `bun run x.ts`
            "run" if matches!(name, "deno" | "bun") => {}
            option if option.starts_with('-') => {}
            _ => return Some(word.clone()),
        }
    }
}

fn after(rest: &[&String], option: &str) -> Option<String> {
    let mut rest = rest.iter();
    // `sh -ec` and the like end in the letter that takes the text.
    let is_it = |word: &str| {
        word == option
            || option == "-c" && word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
    };
    rest.by_ref().find(|word| is_it(word))?;
    rest.next().map(|word| (*word).clone())
}

fn stands_before(word: &str) -> bool {
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    let is_time = word.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) && !word.contains('/');
    is_assignment || is_time || word.starts_with('-') || BEFORE.contains(&word)
}

/// Parts a text of the shell's into simple commands, each a list of words without their quotes. Targets of redirections
/// are left out.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::from([Vec::new()]);
    let mut word: Option<String> = None;
    let mut is_target = false;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let ends_word = character.is_whitespace() || ";&|()`<>".contains(character);
        if ends_word
            && let Some(word) = word.take()
            && !core::mem::take(&mut is_target)
            && let Some(command) = commands.last_mut()
        {
            command.push(word);
        }
        match character {
            '\n' | ';' | '&' | '|' | '(' | ')' | '`' => commands.push(Vec::new()),
            '<' | '>' => is_target = true,
            '#' if word.is_none() => while rest.next_if(|next| *next != '\n').is_some() {},
            '$' if rest.peek() == Some(&'(') => {}
            '\'' => word.get_or_insert_default().extend(quoted(&mut rest)),
            '"' => word.get_or_insert_default().extend(double_quoted(&mut rest)),
            '\\' => word.get_or_insert_default().extend(rest.next().filter(|next| *next != '\n')),
            space if space.is_whitespace() => {}
            plain => word.get_or_insert_default().push(plain),
        }
    }
    if let (Some(word), false, Some(command)) = (word, is_target, commands.last_mut()) {
        command.push(word);
    }
    commands.retain(|words| !words.is_empty());
    commands
}

fn quoted(rest: &mut impl Iterator<Item = char>) -> Vec<char> {
    rest.take_while(|next| *next != '\'').collect()
}

fn double_quoted(rest: &mut impl Iterator<Item = char>) -> Vec<char> {
    let mut text = Vec::new();
    while let Some(next) = rest.next() {
        match next {
            '"' => break,
            '\\' => text.extend(rest.next()),
            plain => text.push(plain),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;

    // spec: V9
    #[test]
    fn programs_and_scripts_are_named_and_what_is_only_read_is_not() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test", &[]),
            ("sh test.sh", &["test.sh"]),
            ("./check.sh --fast && grep -q done src/main.rs", &["./check.sh"]),
            ("test -f src/a.py && python3 -u tools/verify.py src/a.py", &["tools/verify.py"]),
            ("CI=1 env A=b timeout 30 bash -e 'my check.sh'", &["my check.sh"]),
            ("bash -c 'cd sub; ./run.sh' > out/log.sh", &["./run.sh"]),
            ("make -f build/Check.mk test", &["build/Check.mk"]),
            ("if ./a; then ./b; else ! ./c; fi", &["./a", "./b", "./c"]),
            ("echo $(./inner) `./other` # ./comment", &["./inner", "./other"]),
            ("python -m pytest tests/", &[]),
            ("node --test tests/a.js", &["tests/a.js"]),
            ("npm test", &[]),
            (". ./env.sh; . lib.sh", &["./env.sh", "lib.sh"]),
            ("cat < ./data.sh", &[]),
        ];
        for (text, scripts) in cases {
            assert_eq!(CheckCommand::from(*text).scripts(), *scripts, "{text}");
        }
    }

    // spec: V9
    #[test]
    fn a_list_names_scripts_by_its_words_and_no_shell_reads_them() {
        let scripts = |words: &[&str]| {
            CheckCommand::Argv(words.iter().map(|word| (*word).to_owned()).collect()).scripts()
        };
        assert_eq!(scripts(&["sh", "my check; ./x"]), ["my check; ./x"]);
        assert_eq!(scripts(&["tools/check", "./data"]), ["tools/check"]);
        assert_eq!(scripts(&[]), Vec::<String>::new());
    }

    proptest! {
        // spec: V9
        #[test]
        fn whatever_is_written_is_read_without_harm(text in any::<String>()) {
            let scripts = CheckCommand::Shell(text.clone()).scripts();
            prop_assert!(scripts.iter().all(|script| script.chars().count() <= text.chars().count()));
        }
    }
}
