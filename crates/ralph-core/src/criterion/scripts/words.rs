//! A text of the shell's in words: quotes, redirections and substitutions, as far as needed to see what is run.
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::Chars;

/// What a text is made of, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// A file that a command reads as its standard input.
    Input(Word),
    /// The text of a command whose output is put in here. It stands before the word that it is part of.
    Inner(String),
    /// What ends a command.
    End,
}

/// A word as it is before the shell puts anything in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word(pub(super) Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// The value of a variable.
    Value(String),
    /// What only a shell can tell.
    Unknown,
}

impl Word {
    pub(super) fn of(text: &str) -> Self {
        Self(Vec::from([Piece::Text(text.to_owned())]))
    }

    /// Returns the word, if nothing is put in.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            [Piece::Value(_) | Piece::Unknown] | [_, _, ..] => None,
        }
    }

    /// Returns the word as a shell would read it once more.
    pub(super) fn source(&self) -> String {
        let shown = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(name) => ["${", name, "}"].concat(),
            Piece::Unknown => "$?".to_owned(),
        };
        self.0.iter().map(shown).collect()
    }

    /// Parts `NAME=VALUE`.
    pub(super) fn assignment(&self) -> Option<(String, Self)> {
        let (first, rest) = self.0.split_first()?;
        let Piece::Text(text) = first else { return None };
        let (name, value) = text.split_once('=')?;
        is_name(name).then(|| {
            let value = Word::of(value).0.into_iter().chain(rest.iter().cloned());
            (name.to_owned(), Self(value.collect()))
        })
    }

    fn push(&mut self, character: char) {
        match self.0.last_mut() {
            Some(Piece::Text(text)) => text.push(character),
            Some(Piece::Value(_) | Piece::Unknown) | None => self.0.push(Piece::Text(character.into())),
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(is_letter)
}

fn is_letter(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut reader =
        Reader { rest: text.chars().peekable(), tokens: Vec::new(), word: None, next: Next::Word };
    while let Some(character) = reader.rest.next() {
        reader.read(character);
    }
    reader.end_word();
    reader.tokens
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    tokens: Vec<Token>,
    word: Option<Word>,
    next: Next,
}

/// What the next word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Word,
    Input,
    /// Where output goes: nothing is run there.
    Target,
}

impl Reader<'_> {
    fn read(&mut self, character: char) {
        match character {
            '\n' | ';' | '&' | '|' | '(' | ')' => self.end_command(),
            '<' | '>' => self.redirect(character),
            '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
            '\'' => self.quoted(),
            '"' => self.double_quoted(),
            '$' => self.dollar(),
            '`' => self.backquoted(),
            '\\' => {
                self.rest.next().into_iter().filter(|next| *next != '\n').for_each(|next| self.push(next));
            }
            '*' | '?' => self.piece(Piece::Unknown),
            space if space.is_whitespace() => self.end_word(),
            plain => self.push(plain),
        }
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn piece(&mut self, piece: Piece) {
        self.word.get_or_insert_default().0.push(piece);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match core::mem::replace(&mut self.next, Next::Word) {
            Next::Word => self.tokens.push(Token::Word(word)),
            Next::Input => self.tokens.push(Token::Input(word)),
            Next::Target => {}
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.next = Next::Word;
        self.tokens.push(Token::End);
    }

    /// `2>&1`, `<file`, `<<END`. A number before it is no word.
    fn redirect(&mut self, sign: char) {
        let is_number =
            |word: &Word| word.plain().is_some_and(|text| text.chars().all(|letter| letter.is_ascii_digit()));
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        while self.rest.next_if(|next| "<>&|".contains(*next)).is_some() {}
        self.next = if sign == '<' { Next::Input } else { Next::Target };
    }

    fn quoted(&mut self) {
        let word = self.word.get_or_insert_default();
        self.rest.by_ref().take_while(|next| *next != '\'').for_each(|next| word.push(next));
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(next) = self.rest.next() {
            match next {
                '"' => return,
                '\\' => self.rest.next().into_iter().for_each(|next| self.push(next)),
                '$' => self.dollar(),
                '`' => self.backquoted(),
                plain => self.push(plain),
            }
        }
    }

    fn backquoted(&mut self) {
        let inner: String = self.rest.by_ref().take_while(|next| *next != '`').collect();
        self.substituted(inner);
    }

    fn substituted(&mut self, inner: String) {
        self.piece(if inner.trim() == "pwd" { Piece::Value("PWD".to_owned()) } else { Piece::Unknown });
        self.tokens.push(Token::Inner(inner));
    }

    fn dollar(&mut self) {
        match self.rest.peek() {
            Some('(') => {
                self.rest.next();
                let inner = self.parenthesised();
                self.substituted(inner);
            }
            Some('{') => {
                self.rest.next();
                let inner: String = self.rest.by_ref().take_while(|next| *next != '}').collect();
                self.piece(if is_name(&inner) { Piece::Value(inner) } else { Piece::Unknown });
            }
            Some(first) if is_letter(*first) && !first.is_ascii_digit() => {
                let mut name = String::new();
                while let Some(letter) = self.rest.next_if(|next| is_letter(*next)) {
                    name.push(letter);
                }
                self.piece(Piece::Value(name));
            }
            Some(special) if "0123456789@*#?$!-".contains(*special) => {
                self.rest.next();
                self.piece(Piece::Unknown);
            }
            Some(_) | None => self.push('$'),
        }
    }

    /// Reads to the parenthesis that closes. Those in quotes are none.
    fn parenthesised(&mut self) -> String {
        let (mut inner, mut open, mut quote) = (String::new(), 1_u32, None);
        while let Some(next) = self.rest.next() {
            match (next, quote) {
                ('\\', None | Some('"')) => {
                    inner.push(next);
                    inner.extend(self.rest.next());
                    continue;
                }
                ('\'' | '"', None) => quote = Some(next),
                (sign, Some(begun)) if sign == begun => quote = None,
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
