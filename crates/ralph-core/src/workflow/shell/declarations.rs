//! The variables that a script declares as arrays or as integers: bash reads their subscripts and values in another way.
use alloc::collections::BTreeSet;

use crate::workflow::references::identifier_len;

/// Commands that declare variables.
const DECLARING_COMMANDS: [&str; 5] = ["declare", "local", "typeset", "readonly", "export"];
/// Variables of bash that evaluate what is assigned to them.
const INTEGER_VARIABLES: [&str; 4] = ["OPTIND", "RANDOM", "SECONDS", "HISTCMD"];

/// The declared variables of a script, wherever the declaration is.
#[derive(Default)]
pub(super) struct Declarations<'a> {
    arrays: BTreeSet<&'a str>,
    associative_arrays: BTreeSet<&'a str>,
    integers: BTreeSet<&'a str>,
}

impl<'a> Declarations<'a> {
    /// Finds the declarations in a script, those in texts and comments too.
    pub fn find(script: &'a str) -> Self {
        let mut found = Self::default();
        for command in script.split(['\n', ';', '&', '|', '(', ')', '{', '}']) {
            found.add_command(command);
        }
        found
    }

    /// Returns these declarations with those of a part of the script.
    pub fn with_declarations_of<'b>(&self, part: &'b str) -> Declarations<'b>
    where
        'a: 'b,
    {
        let mut found = Declarations::find(part);
        found.arrays.extend(&self.arrays);
        found.associative_arrays.extend(&self.associative_arrays);
        found.integers.extend(&self.integers);
        found
    }

    fn add_command(&mut self, command: &'a str) {
        let mut words = command.split_whitespace().skip_while(|word| !DECLARING_COMMANDS.contains(word));
        if words.next().is_none() {
            return;
        }
        let (mut is_array, mut is_associative, mut is_integer) = (false, false, false);
        for word in words {
            match word.strip_prefix('-') {
                Some(options) => {
                    is_array |= options.contains('a');
                    is_associative |= options.contains('A');
                    is_integer |= options.contains('i');
                }
                None => {
                    let name = word.get(..identifier_len(word)).unwrap_or_default();
                    let sets = [
                        (is_array || is_associative, &mut self.arrays),
                        (is_associative, &mut self.associative_arrays),
                        (is_integer, &mut self.integers),
                    ];
                    for (_, set) in sets.into_iter().filter(|(is_member, _)| *is_member && !name.is_empty()) {
                        set.insert(name);
                    }
                }
            }
        }
    }

    pub fn is_array(&self, name: &str) -> bool {
        self.arrays.contains(name)
    }

    /// Whether the subscripts of this variable are texts.
    pub fn is_associative(&self, name: &str) -> bool {
        self.associative_arrays.contains(name)
    }

    /// Whether bash evaluates what is assigned to this variable.
    pub fn is_integer(&self, name: &str) -> bool {
        self.integers.contains(name) || INTEGER_VARIABLES.contains(&name)
    }
}

/// Whether the whole text is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && identifier_len(text) == text.len()
}

/// An assignment word, `NAME=VALUE` or `NAME+=VALUE`, with the distance of its value.
pub(super) fn assigned_name(word: &str) -> Option<(&str, usize)> {
    let length = identifier_len(word);
    let after = word.get(length..)?;
    let operator = if after.starts_with("+=") { 2 } else { usize::from(after.starts_with('=')) };
    (length > 0 && operator > 0).then(|| (word.get(..length).unwrap_or_default(), length + operator))
}
