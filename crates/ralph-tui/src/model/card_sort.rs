//! The order of the cards in a lane.
use std::cmp::Ordering;

use ralph_app::board::BoardCard;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CardSort {
    pub column: SortColumn,
    pub is_reversed: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SortColumn {
    /// The order of the snapshot.
    #[default]
    Urgency,
    Name,
    Title,
    Cost,
    Iteration,
    Changed,
}

impl SortColumn {
    pub(crate) const ALL: [Self; 6] =
        [Self::Urgency, Self::Name, Self::Title, Self::Cost, Self::Iteration, Self::Changed];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Urgency => "urgency",
            Self::Name => "name",
            Self::Title => "title",
            Self::Cost => "cost",
            Self::Iteration => "iteration",
            Self::Changed => "changed",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.as_str() == name)
    }

    pub(crate) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Self::ALL.iter().copied().cycle().nth(at + 1).unwrap_or_default()
    }
}

impl CardSort {
    /// Sorts the positions of cards, which are in the order of the snapshot.
    pub(crate) fn sort(self, cards: &[BoardCard], positions: &mut [usize]) {
        let compare = |a: &usize, b: &usize| match (cards.get(*a), cards.get(*b)) {
            (Some(a), Some(b)) => self.column.compare(a, b),
            (_, _) => Ordering::Equal,
        };
        if self.column != SortColumn::Urgency {
            positions.sort_by(compare);
        }
        if self.is_reversed {
            positions.reverse();
        }
    }
}

impl SortColumn {
    /// The largest cost, the most iterations and the newest change come first.
    fn compare(self, a: &BoardCard, b: &BoardCard) -> Ordering {
        match self {
            Self::Urgency => Ordering::Equal,
            Self::Name => a.id.cmp(&b.id),
            Self::Title => a.title.cmp(&b.title),
            Self::Cost => b.cost_micros.cmp(&a.cost_micros),
            Self::Iteration => b.iteration.cmp(&a.iteration),
            Self::Changed => b.changed_at.cmp(&a.changed_at),
        }
    }
}
