//! The panels of the board.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panel {
    Inbox,
    Slots,
    Running,
    ToDo,
    Ended,
    Detail,
}

impl Panel {
    /// In the order of the tab key.
    pub(crate) const ALL: [Self; 6] = [Self::Inbox, Self::Slots, Self::Running, Self::ToDo, Self::Ended, Self::Detail];

    /// The panels that list cards or items.
    pub(crate) const LISTS: [Self; 5] = [Self::Inbox, Self::Slots, Self::Running, Self::ToDo, Self::Ended];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Inbox => "Inbox",
            Self::Slots => "Slots",
            Self::Running => "Running",
            Self::ToDo => "To do",
            Self::Ended => "Ended",
            Self::Detail => "Detail",
        }
    }

    /// The key that focuses the panel.
    pub(crate) fn number(self) -> usize {
        self.index() + 1
    }

    pub(crate) fn index(self) -> usize {
        match self {
            Self::Inbox => 0,
            Self::Slots => 1,
            Self::Running => 2,
            Self::ToDo => 3,
            Self::Ended => 4,
            Self::Detail => 5,
        }
    }

    /// Returns the panel `steps` after this one, around the end.
    pub(crate) fn cycle(self, steps: usize) -> Self {
        Self::ALL.iter().copied().cycle().nth(self.index() + steps).unwrap_or(self)
    }
}
