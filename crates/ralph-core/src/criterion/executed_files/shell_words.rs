//! Tokenizes shell text: quotes, redirections and substitutions, as far as needed to find executed files. By hand
//! because the analysis needs only words and redirections, not the syntax tree of a shell parser.
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::Chars;

/// A token of the text, in source order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellToken {
    Word(ShellWord),
    /// A file that a command reads as its standard input.
    StandardInput(ShellWord),
    /// The text of a command substitution. It precedes the word that contains it.
    Substitution(String),
    /// A newline, `;`, `&`, `|` or a parenthesis.
    CommandEnd,
}

/// A word before expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellWord(pub(super) Vec<WordPiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordPiece {
    Text(String),
    /// The value of a variable.
    Variable(String),
    /// A glob, a command substitution or another part that only a shell can resolve.
    Unresolved,
}

impl ShellWord {
    pub(super) fn literal(text: &str) -> Self {
        Self(Vec::from([WordPiece::Text(text.to_owned())]))
    }

    /// Returns the word if it needs no expansion.
    pub(super) fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [WordPiece::Text(text)] => Some(text),
            [WordPiece::Variable(_) | WordPiece::Unresolved] | [_, _, ..] => None,
        }
    }

    /// Returns the word as shell text, for `eval` and for messages.
    pub(super) fn to_source(&self) -> String {
        let source = |piece: &WordPiece| match piece {
            WordPiece::Text(text) => text.clone(),
            WordPiece::Variable(name) => ["${", name, "}"].concat(),
            WordPiece::Unresolved => "$?".to_owned(),
        };
        self.0.iter().map(source).collect()
    }

    /// Splits `NAME=VALUE` into name and value.
    pub(super) fn as_assignment(&self) -> Option<(String, Self)> {
        let (first, rest) = self.0.split_first()?;
        let WordPiece::Text(text) = first else { return None };
        let (name, value) = text.split_once('=')?;
        is_variable_name(name).then(|| {
            let value = ShellWord::literal(value).0.into_iter().chain(rest.iter().cloned());
            (name.to_owned(), Self(value.collect()))
        })
    }

    fn push_char(&mut self, character: char) {
        match self.0.last_mut() {
            Some(WordPiece::Text(text)) => text.push(character),
            Some(WordPiece::Variable(_) | WordPiece::Unresolved) | None => {
                self.0.push(WordPiece::Text(character.into()));
            }
        }
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(is_name_char)
}

fn is_name_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

pub(super) fn tokenize_shell(text: &str) -> Vec<ShellToken> {
    let mut reader = ShellLexer {
        rest: text.chars().peekable(),
        tokens: Vec::new(),
        current_word: None,
        next_word_role: WordRole::CommandWord,
    };
    while let Some(character) = reader.rest.next() {
        reader.read_char(character);
    }
    reader.end_word();
    reader.tokens
}

struct ShellLexer<'a> {
    rest: Peekable<Chars<'a>>,
    tokens: Vec<ShellToken>,
    current_word: Option<ShellWord>,
    next_word_role: WordRole,
}

/// The role of the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordRole {
    CommandWord,
    StandardInput,
    /// The target of an output redirection. It is not executed.
    OutputTarget,
}

impl ShellLexer<'_> {
    fn read_char(&mut self, character: char) {
        match character {
            '\n' | ';' | '&' | '|' | '(' | ')' => self.end_command(),
            '<' | '>' => self.read_redirection(character),
            '#' if self.current_word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
            '\'' => self.read_single_quoted(),
            '"' => self.read_double_quoted(),
            '$' => self.read_expansion(),
            '`' => self.read_backquoted(),
            '\\' => {
                self.rest.next().into_iter().filter(|next| *next != '\n').for_each(|next| self.push_char(next));
            }
            '*' | '?' => self.push_piece(WordPiece::Unresolved),
            space if space.is_whitespace() => self.end_word(),
            plain => self.push_char(plain),
        }
    }

    fn push_char(&mut self, character: char) {
        self.current_word.get_or_insert_default().push_char(character);
    }

    fn push_piece(&mut self, piece: WordPiece) {
        self.current_word.get_or_insert_default().0.push(piece);
    }

    fn end_word(&mut self) {
        let Some(word) = self.current_word.take() else { return };
        match core::mem::replace(&mut self.next_word_role, WordRole::CommandWord) {
            WordRole::CommandWord => self.tokens.push(ShellToken::Word(word)),
            WordRole::StandardInput => self.tokens.push(ShellToken::StandardInput(word)),
            WordRole::OutputTarget => {}
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.next_word_role = WordRole::CommandWord;
        self.tokens.push(ShellToken::CommandEnd);
    }

    /// Reads `2>&1`, `<file` or `<<END`. A number before the sign is a file descriptor, not a word.
    fn read_redirection(&mut self, sign: char) {
        let is_number =
            |word: &ShellWord| word.as_literal().is_some_and(|text| text.chars().all(|letter| letter.is_ascii_digit()));
        if self.current_word.as_ref().is_some_and(is_number) {
            self.current_word = None;
        }
        self.end_word();
        while self.rest.next_if(|next| "<>&|".contains(*next)).is_some() {}
        self.next_word_role = if sign == '<' { WordRole::StandardInput } else { WordRole::OutputTarget };
    }

    fn read_single_quoted(&mut self) {
        let word = self.current_word.get_or_insert_default();
        self.rest.by_ref().take_while(|next| *next != '\'').for_each(|next| word.push_char(next));
    }

    fn read_double_quoted(&mut self) {
        self.current_word.get_or_insert_default();
        while let Some(next) = self.rest.next() {
            match next {
                '"' => return,
                '\\' => self.rest.next().into_iter().for_each(|next| self.push_char(next)),
                '$' => self.read_expansion(),
                '`' => self.read_backquoted(),
                plain => self.push_char(plain),
            }
        }
    }

    fn read_backquoted(&mut self) {
        let inner: String = self.rest.by_ref().take_while(|next| *next != '`').collect();
        self.push_substitution(inner);
    }

    fn push_substitution(&mut self, inner: String) {
        self.push_piece(if inner.trim() == "pwd" {
            WordPiece::Variable("PWD".to_owned())
        } else {
            WordPiece::Unresolved
        });
        self.tokens.push(ShellToken::Substitution(inner));
    }

    fn read_expansion(&mut self) {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                let inner = self.read_parenthesised();
                self.push_substitution(inner);
            }
            Some('{') => {
                self.rest.next();
                let inner: String = self.rest.by_ref().take_while(|next| *next != '}').collect();
                self.push_piece(if is_variable_name(&inner) {
                    WordPiece::Variable(inner)
                } else {
                    WordPiece::Unresolved
                });
            }
            Some(first) if is_name_char(*first) && !first.is_ascii_digit() => {
                let mut name = String::new();
                while let Some(letter) = self.rest.next_if(|next| is_name_char(*next)) {
                    name.push(letter);
                }
                self.push_piece(WordPiece::Variable(name));
            }
            Some(special) if "0123456789@*#?$!-".contains(*special) => {
                self.rest.next();
                self.push_piece(WordPiece::Unresolved);
            }
            Some(_) | None => self.push_char('$'),
        }
    }

    /// Reads to the closing parenthesis. Parentheses in quotes do not count.
    fn read_parenthesised(&mut self) -> String {
        let (mut inner, mut open, mut quote) = (String::new(), 1_u32, None);
        while let Some(next) = self.rest.next() {
            match (next, quote) {
                ('\\', None | Some('"')) => {
                    inner.push(next);
                    inner.extend(self.rest.next());
                    continue;
                }
                ('\'' | '"', None) => quote = Some(next),
                (sign, Some(opening)) if sign == opening => quote = None,
                ('(', None) => open += 1,
                (')', None) => open -= 1,
                (_, _) => {}
            }
            if open == 0 {
                break;
            }
            inner.push(next);
        }
        inner
    }
}
