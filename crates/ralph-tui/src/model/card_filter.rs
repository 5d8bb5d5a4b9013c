//! Filters of cards: words for states, comparisons of columns, and regular expressions, each also negated.
use ralph_app::board::{BoardCard, CardLane};
use regex::{Regex, RegexBuilder};

/// Which cards are shown. A card must match every term.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardFilter {
    /// As it was typed.
    pub text: String,
    terms: Vec<FilterTerm>,
}

#[derive(Debug, Clone)]
struct FilterTerm {
    is_negated: bool,
    test: TermTest,
}

#[derive(Debug, Clone)]
enum TermTest {
    Failed,
    Waiting,
    Done,
    Ready,
    Number { column: NumberColumn, relation: Relation, value: f64 },
    Text { column: TextColumn, pattern: Regex },
}

#[derive(Debug, Clone, Copy)]
enum NumberColumn {
    Cost,
    Iteration,
    Priority,
}

#[derive(Debug, Clone, Copy)]
enum TextColumn {
    Any,
    Agent,
    Role,
    Status,
    Id,
}

#[derive(Debug, Clone, Copy)]
enum Relation {
    Above,
    Below,
    Equal,
}

impl CardFilter {
    /// Parses terms separated by spaces. A term that begins with `!` is negated.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let terms = text.split_whitespace().map(FilterTerm::parse).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), terms })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn matches(&self, card: &BoardCard) -> bool {
        self.terms.iter().all(|term| term.test.matches(card) != term.is_negated)
    }
}

impl FilterTerm {
    fn parse(word: &str) -> Result<Self, String> {
        let (is_negated, word) = match word.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        Ok(Self { is_negated, test: TermTest::parse(word)? })
    }
}

impl TermTest {
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "failed" => return Ok(Self::Failed),
            "waiting" => return Ok(Self::Waiting),
            "done" => return Ok(Self::Done),
            "ready" => return Ok(Self::Ready),
            _ => {}
        }
        if let Some(Comparison { name, relation, value }) = split_comparison(word) {
            if let Some(column) = NumberColumn::parse(name) {
                let number = value.trim_start_matches('$').parse();
                let value = number.map_err(|_| format!("{value:?} is not a number"))?;
                return Ok(Self::Number { column, relation, value });
            }
            if let (Some(column), Relation::Equal) = (TextColumn::parse(name), relation) {
                return Ok(Self::Text { column, pattern: build_pattern(value)? });
            }
        }
        Ok(Self::Text { column: TextColumn::Any, pattern: build_pattern(word)? })
    }

    fn matches(&self, card: &BoardCard) -> bool {
        match self {
            Self::Failed => card.has_failed(),
            Self::Waiting => card.live.as_ref().is_some_and(|live| live.wait.is_some()) || !card.waits_for.is_empty(),
            Self::Done => matches!(card.status.as_str(), "done" | "completed"),
            Self::Ready => card.lane == CardLane::ToDo && card.waits_for.is_empty() && card.reason.is_none(),
            Self::Number { column, relation, value } => {
                column.value(card).is_some_and(|found| relation.holds(found, *value))
            }
            Self::Text { column, pattern } => column.matches(card, pattern),
        }
    }
}

fn build_pattern(text: &str) -> Result<Regex, String> {
    // Upper case in the pattern asks for upper case in the text.
    let ignores_case = !text.chars().any(char::is_uppercase);
    let built = RegexBuilder::new(text).case_insensitive(ignores_case).size_limit(1 << 20).build();
    built.map_err(|error| error.to_string().lines().last().unwrap_or_default().trim().to_owned())
}

struct Comparison<'a> {
    name: &'a str,
    relation: Relation,
    value: &'a str,
}

fn split_comparison(word: &str) -> Option<Comparison<'_>> {
    let at = word.find(['>', '<', '='])?;
    let (name, rest) = word.split_at(at);
    let relation = match rest.chars().next()? {
        '>' => Relation::Above,
        '<' => Relation::Below,
        _ => Relation::Equal,
    };
    Some(Comparison { name, relation, value: rest.get(1..)? })
}

impl NumberColumn {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "cost" => Some(Self::Cost),
            "iteration" | "iter" => Some(Self::Iteration),
            "priority" | "prio" => Some(Self::Priority),
            _ => None,
        }
    }

    /// `None`: unknown, which no comparison matches.
    #[expect(clippy::cast_precision_loss, reason = "compared with a number that a person typed")]
    fn value(self, card: &BoardCard) -> Option<f64> {
        match self {
            Self::Cost => card.cost_micros.map(|micros| micros as f64 / 1e6),
            Self::Iteration => Some(card.iteration as f64),
            Self::Priority => card.priority.map(f64::from),
        }
    }
}

impl TextColumn {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "agent" => Some(Self::Agent),
            "role" => Some(Self::Role),
            "status" => Some(Self::Status),
            "id" => Some(Self::Id),
            _ => None,
        }
    }

    fn matches(self, card: &BoardCard, pattern: &Regex) -> bool {
        match self {
            Self::Any => {
                [card.id.as_str(), &card.title, &card.status, &card.role].into_iter().any(|text| pattern.is_match(text))
            }
            Self::Agent => card.agent.as_deref().is_some_and(|agent| pattern.is_match(agent)),
            Self::Role => pattern.is_match(&card.role),
            Self::Status => pattern.is_match(&card.status),
            Self::Id => pattern.is_match(&card.id),
        }
    }
}

impl Relation {
    fn holds(self, found: f64, value: f64) -> bool {
        match self {
            Self::Above => found > value,
            Self::Below => found < value,
            Self::Equal => (found - value).abs() < f64::EPSILON,
        }
    }
}
